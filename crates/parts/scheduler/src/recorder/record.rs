//! One decision, as it is kept and shown.

use std::sync::Arc;

use object::{Map, Value, time::Time};
use schedule::diagnosis::unpack;

/// One decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// When it was made.
    pub at: Option<Time>,
    /// About which binding: `namespace/name`, or `name` for cluster-wide ones.
    pub binding: String,
    /// The binding's uid, by which it is told from an earlier one of the same name; empty in files of earlier versions.
    pub uid: String,
    /// Why one was needed.
    pub trigger: String,
    /// The how-many-eth attempt in a row it was.
    pub attempt: u32,
    /// What came of it, in a line.
    pub outcome: String,
    /// How many others were made between this one and the one kept before it, for the same reason and with the same result.
    pub again: u64,
    /// Everything that led there, if it was kept.
    pub(super) diagnosis: Packed,
}

/// A diagnosis as it is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Packed {
    /// The budget did not reach for it.
    #[default]
    Absent,
    /// JSON that nobody has looked at, and the names of the clusters it speaks of by number.
    Here {
        text: Box<str>,
        names: Arc<[Arc<str>]>,
    },
}

/// What comes before the packed diagnosis, which is the last field. It cannot be in a text: there, quotes are escaped.
const PACKED: &str = ",\"packed\":";

impl Record {
    /// Everything that led to the decision; null if the budget did not reach for it.
    #[must_use]
    pub fn diagnosis(&self) -> Value {
        let Packed::Here { text, names } = &self.diagnosis else {
            return Value::Null;
        };
        serde_json::from_str(text).map_or(Value::Null, |packed| unpack(&packed, names))
    }

    /// The record as people are shown it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = self.head();
        let diagnosis = self.diagnosis();
        if !diagnosis.is_null() {
            fields.insert("diagnosis".to_owned(), diagnosis);
        }
        Value::Object(fields)
    }

    /// Whether another decision about the same binding was made for the same reason and with the same result.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.uid, &self.trigger, &self.outcome) == (&other.uid, &other.trigger, &other.outcome)
    }

    /// How much of memory it takes, roughly.
    pub(super) fn weight(&self) -> usize {
        let packed = match &self.diagnosis {
            Packed::Absent => 0,
            Packed::Here { text, .. } => text.len(),
        };
        let texts = [&self.binding, &self.uid, &self.trigger, &self.outcome];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        packed + texts + size_of::<Self>()
    }

    /// The record as a line of the file has it, without the end of the line; clusters are those of the list `roster`.
    pub(super) fn to_line(&self, roster: u64) -> String {
        let mut fields = self.head();
        let Packed::Here { text, .. } = &self.diagnosis else {
            return Value::Object(fields).to_string();
        };
        fields.insert("roster".to_owned(), Value::from(roster));
        let mut line = Value::Object(fields).to_string();
        line.truncate(line.len().saturating_sub(1));
        line.push_str(PACKED);
        line.push_str(text);
        line.push('}');
        line
    }

    /// The record in a line; `None` if it names no binding. `names` finds lists of clusters by number.
    pub(super) fn from_line(
        line: &str,
        names: impl FnOnce(u64) -> Option<Arc<[Arc<str>]>>,
    ) -> Option<Self> {
        let (head, packed) = match line.split_once(PACKED) {
            Some((head, packed)) => (format!("{head}}}"), packed.strip_suffix('}')),
            None => (line.to_owned(), None),
        };
        let Ok(Value::Object(fields)) = serde_json::from_str(&head) else {
            return None;
        };
        let text = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str);
            text.map(str::to_owned)
        };
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let diagnosis = match (packed, fields.get("diagnosis")) {
            (Some(text), _) => Packed::Here {
                text: text.into(),
                names: number("roster").and_then(names).unwrap_or_default(),
            },
            // Files of earlier versions have it whole, with names.
            (None, Some(whole)) => Packed::Here {
                text: whole.to_string().into(),
                names: Arc::default(),
            },
            (None, None) => Packed::Absent,
        };
        Some(Self {
            at: text("at").and_then(|at| at.parse().ok()),
            binding: text("binding")?,
            uid: text("uid").unwrap_or_default(),
            trigger: text("trigger").unwrap_or_default(),
            attempt: number("attempt")
                .and_then(|attempt| u32::try_from(attempt).ok())
                .unwrap_or(0),
            outcome: text("outcome").unwrap_or_default(),
            again: 0,
            diagnosis,
        })
    }

    fn head(&self) -> Map {
        let mut fields = Map::new();
        if let Some(at) = self.at {
            fields.insert("at".to_owned(), Value::from(at.to_string()));
        }
        let texts = [
            ("binding", &self.binding),
            ("uid", &self.uid),
            ("trigger", &self.trigger),
            ("outcome", &self.outcome),
        ];
        for (name, text) in texts {
            fields.insert(name.to_owned(), Value::from(text.as_str()));
        }
        fields.insert("attempt".to_owned(), Value::from(self.attempt));
        if self.again > 0 {
            fields.insert("again".to_owned(), Value::from(self.again));
        }
        fields
    }
}

//! Table columns that are paths into the object, as definitions give them.

use std::sync::Arc;

use builtin::columns::human_duration;
use object::Value;
use object::jsonpath::{JsonPath, MissingKeys};
use object::time::Time;
use serve::resource::Column;

/// Columns that are paths into the object. The name always comes first.
pub struct PathColumns {
    columns: Vec<PathColumn>,
}

struct PathColumn {
    shown: Column,
    path: Option<JsonPath>,
    absent: Value,
}

impl PathColumns {
    /// The name alone, to which others are added.
    #[must_use]
    pub fn with_name() -> Self {
        let mut columns = Self {
            columns: Vec::new(),
        };
        columns.add("Name", "string", ".metadata.name", 0, "");
        if let Some(column) = columns.columns.first_mut() {
            column.shown.format = "name".into();
        }
        columns
    }

    /// Adds a column. A path that cannot be read shows nothing.
    pub fn add(&mut self, name: &str, kind: &str, path: &str, priority: i32, absent: &str) {
        let shown = Column {
            name: name.into(),
            kind: kind.into(),
            format: "".into(),
            description: "".into(),
            priority,
        };
        let absent = if absent.is_empty() {
            Value::Null
        } else {
            Value::from(absent)
        };
        self.columns.push(PathColumn {
            shown,
            path: JsonPath::column(path).ok(),
            absent,
        });
    }

    /// Says of the column added last what form its values have and what they mean.
    pub fn describe_last(&mut self, format: &str, description: &str) {
        if let Some(column) = self.columns.last_mut() {
            column.shown.format = format.into();
            column.shown.description = description.into();
        }
    }

    /// Adds the age, which tables show unless a definition says otherwise.
    pub fn add_age(&mut self) {
        self.add("Age", "date", ".metadata.creationTimestamp", 0, "");
    }

    /// The headlines.
    #[must_use]
    pub fn shown(&self) -> Arc<[Column]> {
        self.columns
            .iter()
            .map(|column| column.shown.clone())
            .collect()
    }

    /// One row.
    #[must_use]
    pub fn cells(&self, object: &Value, now: Time) -> Vec<Value> {
        self.columns
            .iter()
            .map(|column| column.cell(object, now))
            .collect()
    }
}

impl PathColumn {
    fn cell(&self, object: &Value, now: Time) -> Value {
        let found = self
            .path
            .as_ref()
            .and_then(|path| path.find(object, MissingKeys::Skip).ok())
            .unwrap_or_default();
        let found: Vec<&Value> = found
            .into_iter()
            .flatten()
            .filter(|value| !value.is_null())
            .collect();
        let Some(first) = found.first() else {
            return self.absent.clone();
        };
        match &*self.shown.kind {
            "date" => {
                let then: Option<Time> = first.as_str().and_then(|text| text.parse().ok());
                then.map_or_else(
                    || Value::from("<unknown>"),
                    |then| Value::from(human_duration(now.seconds_since(then))),
                )
            }
            "integer" => first
                .as_i64()
                .map_or_else(|| self.absent.clone(), Value::from),
            "number" => first
                .as_f64()
                .map_or_else(|| self.absent.clone(), Value::from),
            "boolean" => first
                .as_bool()
                .map_or_else(|| self.absent.clone(), Value::from),
            _ => {
                let texts: Vec<String> = found.iter().map(|value| text_of(value)).collect();
                Value::from(texts.join(","))
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

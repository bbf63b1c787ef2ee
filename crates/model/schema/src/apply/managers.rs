//! Who owns what: `metadata.managedFields`, read, changed and written.

use std::collections::BTreeMap;

use object::{Map, Value, time::Time};

use super::{codec::CodecError, fieldset::FieldSet};

/// How many managers from updates are told apart; the oldest beyond that are merged.
pub(super) const MAX_UPDATE_MANAGERS: usize = 10;
/// Who owns what the oldest of too many updates wrote.
const ANCIENT: &str = "ancient-changes";

/// How fields came to be owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By a declaration of what they should be.
    Apply,
    /// By any other write.
    Update,
}

/// A manager of fields, as the server tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The name it gives itself.
    pub name: String,
    /// How it writes.
    pub operation: Operation,
    /// The version it writes; empty for those that apply, who are one across versions.
    pub api_version: String,
    /// The subresource it writes through; empty for the object itself.
    pub subresource: String,
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The fields.
    pub fields: FieldSet,
    /// The version they are written in.
    pub api_version: String,
    /// When they last changed.
    pub time: Option<Time>,
}

/// All managers of an object and what they own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers(pub BTreeMap<Manager, Owned>);

/// Why `managedFields` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagersError {
    /// The list or an entry has the wrong shape.
    #[error("managed fields entry {index} is no entry")]
    Shape {
        /// The entry.
        index: usize,
    },
    /// An operation that does not exist.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version is given.
    #[error("apiVersion must not be empty")]
    Version,
    /// The format is missing.
    #[error("missing fieldsType in managed fields entry {index}")]
    NoFormat {
        /// The entry.
        index: usize,
    },
    /// The format is not known.
    #[error("invalid fieldsType {format:?} in managed fields entry {index}")]
    Format {
        /// The entry.
        index: usize,
        /// The format.
        format: String,
    },
    /// The fields cannot be read.
    #[error("cannot read the fields of managed fields entry {index}")]
    Fields {
        /// The entry.
        index: usize,
        /// What is wrong with them.
        source: CodecError,
    },
}

impl Manager {
    pub(super) fn new(
        name: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        let api_version = match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        };
        Self {
            name: name.to_owned(),
            operation,
            api_version,
            subresource: subresource.to_owned(),
        }
    }
}

// Upstream: conflicts are listed by name, operation and version; those with a subresource come first.
impl Ord for Manager {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_name = self
            .name
            .cmp(&other.name)
            .then_with(|| self.operation.cmp(&other.operation));
        by_name
            .then_with(|| self.api_version.cmp(&other.api_version))
            .then_with(|| {
                self.subresource
                    .is_empty()
                    .cmp(&other.subresource.is_empty())
            })
            .then_with(|| self.subresource.cmp(&other.subresource))
    }
}

impl PartialOrd for Manager {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

impl Managers {
    /// Reads the `managedFields` of an object.
    ///
    /// # Errors
    /// When an entry is not what the server writes.
    pub fn of(object: &Value) -> Result<Self, ManagersError> {
        let mut managers = BTreeMap::new();
        let entries = object
            .get("metadata")
            .and_then(|metadata| metadata.get("managedFields"));
        let Some(Value::Array(entries)) = entries else {
            return Ok(Self(managers));
        };
        for (index, entry) in entries.iter().enumerate() {
            let Value::Object(entry) = entry else {
                return Err(ManagersError::Shape { index });
            };
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(ManagersError::Operation),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err(ManagersError::Version);
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(ManagersError::NoFormat { index }),
                format => {
                    return Err(ManagersError::Format {
                        index,
                        format: format.to_owned(),
                    });
                }
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::new(),
                Some(fields) => FieldSet::decode(fields)
                    .map_err(|source| ManagersError::Fields { index, source })?,
            };
            let manager = Manager {
                name: text("manager").to_owned(),
                ..Manager::new("", operation, api_version, text("subresource"))
            };
            let owned = Owned {
                fields,
                api_version: api_version.to_owned(),
                time: text("time").parse().ok(),
            };
            managers.insert(manager, owned);
        }
        Ok(Self(managers))
    }

    /// The list as it is stored: those that apply first, then by time, then by name. `None` for no managers.
    #[must_use]
    pub fn encode(&self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        let mut entries: Vec<(&Manager, &Owned)> = self.0.iter().collect();
        entries.sort_by_key(|(manager, owned)| {
            let seconds = owned.time.map_or(0, Time::unix_seconds);
            (
                manager.operation,
                seconds,
                &manager.name,
                &owned.api_version,
                &manager.subresource,
            )
        });
        Some(Value::Array(
            entries
                .into_iter()
                .map(|(manager, owned)| entry(manager, owned))
                .collect(),
        ))
    }

    /// Takes fields away from everyone, and everyone who owns nothing off the list.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Merges the oldest managers from updates until there are few enough.
    pub(super) fn cap(&mut self) {
        let mut updates: Vec<(i64, Manager)> = (self.0.iter())
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time.map_or(0, Time::unix_seconds), manager.clone()))
            .collect();
        updates.sort();
        let mut count = updates.len();
        let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
        for (_, manager) in updates {
            if count <= MAX_UPDATE_MANAGERS {
                return;
            }
            let Some(version) = self.0.get(&manager).map(|owned| owned.api_version.clone()) else {
                continue;
            };
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, manager);
                continue;
            };
            let bucket = Manager::new(ANCIENT, Operation::Update, &version, "");
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), owned);
            }
            if let Some(owned) = self.0.remove(&manager) {
                let older = self
                    .0
                    .get(&bucket)
                    .map(|older| older.fields.clone())
                    .unwrap_or_default();
                let fields = owned.fields.union(&older);
                self.0.insert(bucket, Owned { fields, ..owned });
                count -= 1;
            }
        }
    }
}

/// One entry of the list.
pub(super) fn entry(manager: &Manager, owned: &Owned) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: &str| {
        if !value.is_empty() {
            fields.insert(name.to_owned(), Value::from(value));
        }
    };
    set("manager", &manager.name);
    set(
        "operation",
        if manager.operation == Operation::Apply {
            "Apply"
        } else {
            "Update"
        },
    );
    set("apiVersion", &owned.api_version);
    if let Some(time) = owned.time {
        set("time", &time.to_string());
    }
    set("fieldsType", "FieldsV1");
    fields.insert("fieldsV1".to_owned(), owned.fields.encode());
    if !manager.subresource.is_empty() {
        fields.insert(
            "subresource".to_owned(),
            Value::from(manager.subresource.as_str()),
        );
    }
    Value::Object(fields)
}

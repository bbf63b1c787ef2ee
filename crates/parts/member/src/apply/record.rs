//! What was last written to a member, so that an object is written again only when one side has changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use object::{GroupKind, Object, ObjectKey, Value};

/// What was written and what the member made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// A hash of the manifest.
    pub(crate) manifest: u64,
    /// The member's state afterwards.
    pub(crate) version: Version,
    /// How it came to be so.
    pub(crate) how: How,
}

/// How a member's object came to say what a manifest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It was made, or found to be so: whose its fields are is not known.
    Made,
    /// It was applied, so that its fields are known to be ours.
    Applied,
    /// It was replaced, because the member cannot apply this manifest.
    Replaced,
}

/// A state of a member's object, as far as its desired side goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Counts changes of the desired side.
    Generation(i64),
    /// For kinds without a generation: counts all changes.
    Revision(String),
}

impl Version {
    pub(crate) fn of(object: &Object) -> Self {
        match object.generation() {
            0 => Self::Revision(object.resource_version().to_owned()),
            generation => Self::Generation(generation),
        }
    }
}

/// The records of one member. Empty after a restart: every object is then compared once.
#[derive(Debug, Default)]
pub(crate) struct Records {
    written: Mutex<HashMap<Place, Written>>,
}

/// Where an object is in a member, in whatever version.
pub(crate) type Place = (GroupKind, ObjectKey);

impl Records {
    pub(crate) fn get(&self, manifest: &Object) -> Option<Written> {
        self.lock().get(&place(manifest)).cloned()
    }

    pub(crate) fn set(&self, manifest: &Object, written: Written) {
        self.lock().insert(place(manifest), written);
    }

    pub(crate) fn forget(&self, manifest: &Object) {
        self.lock().remove(&place(manifest));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, Written>> {
        // Nothing that runs under the lock leaves it half changed.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn place(manifest: &Object) -> Place {
    (manifest.group_version_kind().group_kind(), manifest.key())
}

/// A hash of an object that does not depend on the order of its fields.
pub(crate) fn fingerprint(object: &Object) -> u64 {
    object
        .fields()
        .iter()
        .fold(0, |sum, (name, value)| sum ^ of_field(name, value))
}

fn of_field(name: &str, value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    of_value(value).hash(&mut hasher);
    hasher.finish()
}

fn of_value(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(value) => (1_u8, value).hash(&mut hasher),
        Value::Number(value) => (2_u8, value).hash(&mut hasher),
        Value::String(value) => (3_u8, value).hash(&mut hasher),
        Value::Array(values) => {
            4_u8.hash(&mut hasher);
            for value in values {
                of_value(value).hash(&mut hasher);
            }
        }
        Value::Object(fields) => {
            let sum = fields
                .iter()
                .fold(0, |sum, (name, value)| sum ^ of_field(name, value));
            (5_u8, fields.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

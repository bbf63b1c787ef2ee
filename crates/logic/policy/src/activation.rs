//! Lazy activation: a change of policy waits until the author of the template changes it.
//!
//! What counts as the author's is everything in a template but its status, what the server keeps about it, and the
//! labels and annotations this product writes. A [`Fingerprint`] of that part is kept with a template that is held
//! back, and with a binding that was refreshed; comparing it answers whether the author has been at work since,
//! also after a restart.
//!
//! Upstream: the answer is carried by events, so after a restart every change that is held back is activated.

use std::{fmt, str::FromStr};

use api::well_known::{annotations::ACTIVATION_FINGERPRINT, labels::SKIP_AUTO_PROPAGATION};
use object::{Map, Object, Value};

/// In the key of every label and annotation that this product writes.
const OWN_KEYS: &str = ".karmada.io";

/// Stands for the author's part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

/// A text is not a fingerprint, which has 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a fingerprint of 16 hexadecimal digits")]
pub struct ParseFingerprintError;

/// Who changed a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Nobody: at most its status or what the server keeps about it differs.
    Nobody,
    /// This product, by labels and annotations of its own.
    Control,
    /// The author.
    Author,
}

impl Fingerprint {
    /// Of the author's part of a template, whatever the order of its fields.
    #[must_use]
    pub fn of(template: &Object) -> Self {
        let mut hash = Hash::default();
        hash.fields(template.fields(), Place::Template);
        Self(hash.0)
    }

    /// The one an object was marked with.
    #[must_use]
    pub fn noted_on(object: &Object) -> Option<Self> {
        object.annotation(ACTIVATION_FINGERPRINT)?.parse().ok()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u64::from_str_radix(text, 16) {
            Ok(number) if digits => Ok(Self(number)),
            _ => Err(ParseFingerprintError),
        }
    }
}

/// Who made `after` of `before`.
#[must_use]
pub fn origin(before: &Object, after: &Object) -> Origin {
    if Fingerprint::of(before) != Fingerprint::of(after) {
        return Origin::Author;
    }
    let same_keys =
        before.labels() == after.labels() && before.annotations() == after.annotations();
    if same_keys {
        Origin::Nobody
    } else {
        Origin::Control
    }
}

/// Whether a binding is about the template as it is now. If its author has changed it since, the binding follows, or stays
/// as it is because its policy is lazy or gone; in both cases the members keep what they have until then. Only clusters
/// that have nothing to keep, or are to have another share of it, get the template as it is now.
///
/// Upstream: whatever makes the works anew, such as a restart, lets the change through to all of them.
#[must_use]
pub fn speaks_of(binding: &Object, template: &Object) -> bool {
    Fingerprint::noted_on(binding).is_none_or(|noted| noted == Fingerprint::of(template))
}

/// FNV-1a of 64 bits: needs no dependency and gives the same number everywhere and at any time.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn fields(&mut self, fields: &Map, place: Place) {
        let mut counted: Vec<(&String, &Value, Place)> = fields
            .iter()
            .filter_map(|(key, value)| Some((key, value, place.inside(key, value)?)))
            .collect();
        counted.sort_unstable_by_key(|(key, ..)| *key);
        self.bytes(b"{");
        for (key, value, place) in counted {
            self.text(key);
            self.value(value, place);
        }
        self.bytes(b"}");
    }

    fn value(&mut self, value: &Value, place: Place) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(true) => self.bytes(b"t"),
            Value::Bool(false) => self.bytes(b"f"),
            Value::Number(number) => {
                self.bytes(b"#");
                self.text(&number.to_string());
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.bytes(b"[");
                for item in items {
                    self.value(item, Place::Anywhere);
                }
                self.bytes(b"]");
            }
            Value::Object(fields) => self.fields(fields, place),
        }
    }

    /// With its length before it, so that no two sequences of texts look alike.
    fn text(&mut self, text: &str) {
        self.bytes(b"\"");
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Where in a template the hash is: what counts depends on it.
#[derive(Clone, Copy)]
enum Place {
    Template,
    Metadata,
    Labels,
    Annotations,
    Anywhere,
}

impl Place {
    /// What the field `key` is here, or `None` if it does not count.
    fn inside(self, key: &str, value: &Value) -> Option<Self> {
        match (self, key) {
            (Self::Template, "status")
            | (Self::Metadata, "managedFields" | "resourceVersion" | "generation") => None,
            (Self::Template, "metadata") => Some(Self::Metadata),
            (Self::Metadata, "labels") => Self::Labels.unless_empty(value),
            (Self::Metadata, "annotations") => Self::Annotations.unless_empty(value),
            (Self::Labels, SKIP_AUTO_PROPAGATION) => Some(Self::Anywhere),
            (Self::Labels | Self::Annotations, key) if key.contains(OWN_KEYS) => None,
            _ => Some(Self::Anywhere),
        }
    }

    /// A map in which nothing counts and one that is not there are the same to the author.
    fn unless_empty(self, value: &Value) -> Option<Self> {
        let is_empty = match value {
            Value::Null => true,
            Value::Object(keys) => !keys
                .iter()
                .any(|(key, value)| self.inside(key, value).is_some()),
            _ => false,
        };
        (!is_empty).then_some(self)
    }
}

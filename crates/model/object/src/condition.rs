//! What is currently true of an object, and since when.
//!
//! A list of conditions holds at most one of each type. Writers never edit it in place: [`with_condition`] and
//! [`without_condition`] return the next list and whether it differs, so that nothing is written when nothing changed.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{metadata::null_is_default, time::Time};

/// One observation about an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is observed: `Ready`, or `example.com/Ready` for somebody else's.
    pub r#type: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The object's generation that was looked at; 0 if none was recorded.
    #[serde(
        default,
        skip_serializing_if = "is_zero",
        deserialize_with = "null_is_default"
    )]
    pub observed_generation: i64,
    /// When the status last changed. `None` in a new condition stands for the time it is set.
    #[serde(default)]
    pub last_transition_time: Option<Time>,
    /// Why the status is as it is, as one word for programs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub reason: String,
    /// The same for people; may be empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody could tell.
    Unknown,
}

impl Condition {
    /// A condition about to be set; its time of transition is found when that happens.
    #[must_use]
    pub fn new(
        r#type: impl Into<String>,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            r#type: r#type.into(),
            status,
            observed_generation: 0,
            last_transition_time: None,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// The same, found by looking at that generation of the object.
    #[must_use]
    pub fn observed_at(self, generation: i64) -> Self {
        Self {
            observed_generation: generation,
            ..self
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

impl ConditionStatus {
    /// The word for it in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The condition of that type, if there is one.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], r#type: &str) -> Option<&'a Condition> {
    conditions
        .iter()
        .find(|condition| condition.r#type == r#type)
}

/// Whether there is a condition of that type, and it has that status.
#[must_use]
pub fn has_status(conditions: &[Condition], r#type: &str, status: ConditionStatus) -> bool {
    find(conditions, r#type).is_some_and(|condition| condition.status == status)
}

/// Whether a condition of that type is there and holds.
#[must_use]
pub fn is_true(conditions: &[Condition], r#type: &str) -> bool {
    has_status(conditions, r#type, ConditionStatus::True)
}

/// Whether a condition of that type is there and does not hold.
#[must_use]
pub fn is_false(conditions: &[Condition], r#type: &str) -> bool {
    has_status(conditions, r#type, ConditionStatus::False)
}

/// The list with `new` in the place of its namesake or at the end, and whether that made a difference.
///
/// The time of transition moves only with the status: to the one in `new` if given, else to `now`. While the status
/// stays, the old time stays too, whatever `new` says.
#[must_use]
pub fn with_condition(
    mut conditions: Vec<Condition>,
    new: Condition,
    now: Time,
) -> (Vec<Condition>, bool) {
    let since = new.last_transition_time.or(Some(now));
    let old = conditions.iter_mut().find(|old| old.r#type == new.r#type);
    let Some(old) = old else {
        conditions.push(Condition {
            last_transition_time: since,
            ..new
        });
        return (conditions, true);
    };
    let next = Condition {
        last_transition_time: if old.status == new.status {
            old.last_transition_time
        } else {
            since
        },
        ..new
    };
    let is_changed = *old != next;
    *old = next;
    (conditions, is_changed)
}

/// The list without the condition of that type, and whether there was one.
#[must_use]
pub fn without_condition(mut conditions: Vec<Condition>, r#type: &str) -> (Vec<Condition>, bool) {
    let before = conditions.len();
    conditions.retain(|condition| condition.r#type != r#type);
    let is_changed = conditions.len() != before;
    (conditions, is_changed)
}

/// Written by hand, because what a schema requires and what reading forgives are two things: a condition that another
/// system wrote without a reason is still readable.
impl JsonSchema for Condition {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut time = Time::json_schema(generator);
        time.insert(
            "description".into(),
            "When the status last changed from one value to another.".into(),
        );
        json_schema!({
            "description": "One observation about the object.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": time,
                "message": {
                    "description": "Why the status is as it is, for people. May be empty.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "observedGeneration": {
                    "description": "The generation of the object that was looked at. If it is older than the object's generation, this condition is out of date.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Why the status is as it is, as one CamelCase word for programs.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": {
                    "description": "Whether the condition holds: True, False, or Unknown if nobody could tell.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "What is observed, in CamelCase, with a domain before it where names could clash.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
        })
    }
}

impl JsonSchema for ConditionStatus {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ConditionStatus".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["True", "False", "Unknown"] })
    }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;

//! Faults as a JSON document, for the control path.

use std::collections::BTreeSet;
use std::time::Duration;

use object::{Map, Value};
use serde_json::json;

use crate::faults::FaultState;

/// Why a document of faults is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// It is not an object.
    #[error("faults must be a JSON object")]
    Shape,
    /// A field has a value that means nothing.
    #[error("{field}: {value} is not {wanted}")]
    Field {
        /// Which.
        field: String,
        /// What it says.
        value: String,
        /// What it could say.
        wanted: &'static str,
    },
    /// A name means nothing in this member.
    #[error("{field}: there is no {name:?}; there is {known}")]
    Name {
        /// The field it is in.
        field: &'static str,
        /// Which.
        name: String,
        /// What it could be.
        known: String,
    },
    /// There is no such field.
    #[error("{0}: there is no such fault")]
    Unknown(String),
}

/// The longest delay that is taken: a minute is longer than any client waits.
const LONGEST_DELAY_MILLIS: u64 = 60_000;
/// As many nodes as can be added by command.
const MOST_EXTRA_NODES: u64 = 1_000;

impl FaultState {
    /// The document.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "cutOff": self.cut_off,
            "delayMillis": u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            "failPercent": self.fail_percent,
            "lostNodes": self.lost_nodes,
            "fullNodes": self.full_nodes,
            "failingWorkloads": self.failing_workloads,
            "droppedGroups": self.dropped_groups,
            "extraNodes": self.extra_nodes,
        })
    }

    /// Takes the fields a document names and leaves the others.
    ///
    /// # Errors
    /// When a field is not known or its value means nothing; nothing is changed then.
    pub fn merge(&self, document: &Value) -> Result<Self, FaultError> {
        let fields = document.as_object().ok_or(FaultError::Shape)?;
        let mut state = self.clone();
        for (name, value) in fields {
            match name.as_str() {
                "cutOff" => state.cut_off = boolean(fields, name)?,
                "delayMillis" => {
                    let millis = number(name, value, LONGEST_DELAY_MILLIS)?;
                    state.delay = Duration::from_millis(millis);
                }
                "failPercent" => {
                    state.fail_percent = u8::try_from(number(name, value, 100)?).unwrap_or(100);
                }
                "lostNodes" => state.lost_nodes = names(name, value)?,
                "fullNodes" => state.full_nodes = names(name, value)?,
                "failingWorkloads" => state.failing_workloads = names(name, value)?,
                "droppedGroups" => state.dropped_groups = names(name, value)?,
                "extraNodes" => {
                    let count = number(name, value, MOST_EXTRA_NODES)?;
                    state.extra_nodes = usize::try_from(count).unwrap_or_default();
                }
                other => return Err(FaultError::Unknown(other.to_owned())),
            }
        }
        Ok(state)
    }

    /// Refuses what is new since `before` and is about nodes, groups and workloads that are not there.
    pub(crate) fn check(&self, before: &Self, there: &There<'_>) -> Result<(), FaultError> {
        let look =
            |field, wanted: &BTreeSet<String>, old: &BTreeSet<String>, known: &BTreeSet<&str>| {
                let unknown = wanted
                    .difference(old)
                    .find(|name| !known.contains(name.as_str()));
                match unknown {
                    None => Ok(()),
                    Some(name) => Err(FaultError::Name {
                        field,
                        name: name.clone(),
                        known: spell(known),
                    }),
                }
            };
        let nodes = &there.nodes;
        look("lostNodes", &self.lost_nodes, &before.lost_nodes, nodes)?;
        look("fullNodes", &self.full_nodes, &before.full_nodes, nodes)?;
        let dropped = (&self.dropped_groups, &before.dropped_groups);
        look("droppedGroups", dropped.0, dropped.1, &there.groups)?;
        let odd = self.failing_workloads.iter().find(|name| {
            let parts: Vec<&str> = name.split('/').collect();
            parts.len() != 2 || parts.contains(&"")
        });
        if let Some(name) = odd {
            let wanted = "the namespace and the name of a workload, such as \"shop/web\"";
            return Err(refuse("failingWorkloads", &json!(name), wanted));
        }
        let failing = (&self.failing_workloads, &before.failing_workloads);
        look("failingWorkloads", failing.0, failing.1, &there.workloads)
    }
}

/// What there is in a member that can be in trouble, by name.
pub(crate) struct There<'a> {
    pub(crate) nodes: BTreeSet<&'a str>,
    pub(crate) groups: BTreeSet<&'a str>,
    /// As `namespace/name`.
    pub(crate) workloads: BTreeSet<&'a str>,
}

/// Some of the names there are.
fn spell(known: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 10;
    let named = known.iter().filter(|name| !name.is_empty());
    let mut names: Vec<&str> = named.copied().take(SHOWN).collect();
    if known.len() > SHOWN {
        names.push("and more");
    }
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

fn refuse(field: &str, value: &Value, wanted: &'static str) -> FaultError {
    FaultError::Field {
        field: field.to_owned(),
        value: value.to_string(),
        wanted,
    }
}

fn boolean(fields: &Map, name: &str) -> Result<bool, FaultError> {
    let value = fields.get(name).unwrap_or(&Value::Null);
    value
        .as_bool()
        .ok_or_else(|| refuse(name, value, "true or false"))
}

fn number(name: &str, value: &Value, most: u64) -> Result<u64, FaultError> {
    value
        .as_u64()
        .filter(|number| *number <= most)
        .ok_or_else(|| refuse(name, value, "a number in range"))
}

fn names(name: &str, value: &Value) -> Result<BTreeSet<String>, FaultError> {
    let texts = value.as_array().map(|list| {
        list.iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<BTreeSet<String>>>()
    });
    texts
        .flatten()
        .ok_or_else(|| refuse(name, value, "a list of names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_changes_what_it_names_and_comes_back_the_same() {
        let before = FaultState {
            fail_percent: 30,
            ..FaultState::default()
        };
        let document = json!({"cutOff": true, "lostNodes": ["n1"], "delayMillis": 250});
        let after = before.merge(&document).unwrap();
        assert!(after.cut_off && after.fail_percent == 30 && after.lost_nodes.contains("n1"));
        assert_eq!(FaultState::default().merge(&after.to_value()), Ok(after));
    }

    #[test]
    fn names_must_be_there_unless_they_were_named_before() {
        let there = There {
            nodes: BTreeSet::from(["n1", "n2"]),
            groups: BTreeSet::from(["", "apps"]),
            workloads: BTreeSet::from(["shop/web"]),
        };
        let before = FaultState {
            lost_nodes: BTreeSet::from(["gone".to_owned()]),
            ..FaultState::default()
        };
        for (document, why) in [
            (json!({"lostNodes": ["gone", "n1"]}), ""),
            (
                json!({"failingWorkloads": ["shop/web"], "droppedGroups": ["apps"]}),
                "",
            ),
            (
                json!({"lostNodes": ["n9"]}),
                "lostNodes: there is no \"n9\"; there is n1, n2",
            ),
            (
                json!({"droppedGroups": ["aps"]}),
                "droppedGroups: there is no \"aps\"; there is apps",
            ),
            (
                json!({"failingWorkloads": ["shop/nothing"]}),
                "failingWorkloads: there is no \"shop/nothing\"; there is shop/web",
            ),
            (
                json!({"failingWorkloads": ["web"]}),
                "failingWorkloads: \"web\" is not the namespace and the name of a workload, such as \"shop/web\"",
            ),
        ] {
            let state = before.merge(&document).unwrap();
            let verdict = state.check(&before, &there);
            let said = verdict.err().map(|error| error.to_string());
            assert_eq!(said.unwrap_or_default(), why, "{document}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused_by_name() {
        for (document, why) in [
            (json!([]), "faults must be a JSON object"),
            (json!({"cutOff": 1}), "cutOff: 1 is not true or false"),
            (
                json!({"failPercent": 101}),
                "failPercent: 101 is not a number in range",
            ),
            (
                json!({"lostNodes": "n1"}),
                "lostNodes: \"n1\" is not a list of names",
            ),
            (json!({"fire": true}), "fire: there is no such fault"),
        ] {
            let error = FaultState::default().merge(&document).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }
}

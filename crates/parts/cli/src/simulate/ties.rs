//! Who gets what is left over of a template that is not there yet: nobody knows.
//!
//! Between clusters with the same claim the uid of the template decides, and the server makes one up when the template is
//! created. Here such templates have none, so that the same question has the same answer; and it is said where another
//! uid would lead to another.

use std::collections::{BTreeMap, BTreeSet};

use object::Object;
use schedule::Decision;

use crate::picture::{Placed, completions};

/// A uid by which ties are broken the other way than without any: there are only two.
const OTHER: &str = "0";

/// What each cluster gets.
type Shares = BTreeMap<String, i64>;

/// The templates whose uid decides, by what of them it decides and between which clusters.
#[derive(Debug, Default)]
pub(super) struct Ties {
    open: BTreeMap<(&'static str, String), Vec<String>>,
}

impl Ties {
    /// Takes note of a template if its replicas may be divided otherwise.
    pub(super) fn note_replicas(&mut self, placed: &Placed, one: &Decision, other: &Decision) {
        let of = &placed.spec.resource;
        let name = full_name(&of.kind, &of.namespace, &of.name);
        self.note("replica", name, &replicas(one), &replicas(other));
    }

    /// Takes note of a template if its completions may be divided otherwise.
    pub(super) fn note_completions(&mut self, template: &Object, placed: &Placed) {
        let mut renamed = template.clone();
        if renamed.set(&["metadata", "uid"], OTHER).is_err() {
            return;
        }
        let shares = |template: &Object| -> Shares {
            let all = completions(template, &placed.spec, []).into_iter();
            all.map(|(name, count)| (name.to_owned(), count)).collect()
        };
        let name = full_name(template.kind(), template.namespace(), template.name());
        self.note("completion", name, &shares(template), &shares(&renamed));
    }

    fn note(&mut self, what: &'static str, name: String, one: &Shares, other: &Shares) {
        let all: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let open: Vec<&str> = all
            .into_iter()
            .filter(|cluster| one.get(*cluster) != other.get(*cluster))
            .map(String::as_str)
            .collect();
        if !open.is_empty() {
            let names = self.open.entry((what, open.join(", "))).or_default();
            names.push(name);
        }
    }

    /// A line for all templates that the same is open of.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        self.open.iter().map(|((what, clusters), names)| {
            let first = names.first().map_or("", String::as_str);
            let (others, whose) = match names.len() {
                0 | 1 => (String::new(), "its uid"),
                2 => (" and 1 other".to_owned(), "their uids"),
                more => (format!(" and {} others", more - 1), "their uids"),
            };
            let known = match names.len() {
                0 | 1 => "is",
                _ => "are",
            };
            format!(
                "which of {clusters} gets the odd {what} of {first}{others} is decided by {whose}, which {known} not known yet"
            )
        })
    }
}

/// The binding of the template if that had another uid.
pub(super) fn with_other_uid(placed: &Placed) -> Placed {
    let mut other = placed.clone();
    OTHER.clone_into(&mut other.spec.resource.uid);
    other
}

fn replicas(decision: &Decision) -> Shares {
    let targets = decision.targets_to_write().unwrap_or_default().iter();
    targets
        .map(|target| (target.cluster.to_string(), i64::from(target.replicas)))
        .collect()
}

fn full_name(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind} {name}"),
        _ => format!("{kind} {namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use schedule::assign::apportion;

    use super::*;

    #[test]
    fn the_other_uid_breaks_ties_the_other_way() {
        let by = apportion::Ties::of_template;
        assert_ne!(by(""), by(OTHER));
    }

    #[test]
    fn what_hangs_on_a_uid_is_told_once_for_each_set_of_clusters() {
        let shares = |counts: [i64; 3]| -> Shares {
            let named = ["a", "b", "c"].map(str::to_owned).into_iter();
            named.zip(counts).filter(|(_, count)| *count > 0).collect()
        };
        let mut ties = Ties::default();
        for (name, one, other) in [
            ("even", [1, 1, 1], [1, 1, 1]),
            ("web", [2, 1, 1], [1, 1, 2]),
            ("few", [1, 0, 0], [0, 0, 1]),
            ("two", [1, 1, 0], [0, 1, 1]),
            ("pair", [2, 1, 0], [1, 2, 0]),
        ] {
            ties.note("replica", name.to_owned(), &shares(one), &shares(other));
        }
        assert_eq!(
            ties.told().collect::<Vec<_>>(),
            [
                "which of a, b gets the odd replica of pair is decided by its uid, which is not known yet",
                "which of a, c gets the odd replica of web and 2 others is decided by their uids, which are not known yet",
            ]
        );
    }

    #[test]
    fn completions_hang_on_it_too() {
        let job = |completions: i64| {
            Object::from_value(serde_json::json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
                "spec": {"completions": completions, "parallelism": 2},
            }))
            .unwrap()
        };
        let binding = Object::from_value(serde_json::json!({
            "metadata": {"name": "b", "namespace": "n"},
            "spec": {
                "resource": {"apiVersion": "batch/v1", "kind": "Job", "name": "j"}, "replicas": 2,
                "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
                "clusters": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 1}],
            },
        }))
        .unwrap();
        let placed = Placed::read(&binding).unwrap();
        for (completions, expected) in [
            (4, vec![]),
            (
                5,
                vec![
                    "which of a, b gets the odd completion of Job n/j is decided by its uid, which is not known yet",
                ],
            ),
        ] {
            let mut ties = Ties::default();
            ties.note_completions(&job(completions), &placed);
            assert_eq!(ties.told().collect::<Vec<_>>(), expected);
        }
    }
}

//! What one cluster gets of what is divided.

use std::collections::BTreeMap;

use api::work::v1alpha2::ResourceBindingSpec;
use binding::completions;
use object::Object;
use schedule::assign::apportion::{Ties, shares};

/// A cluster's part of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its replicas; `None` where the template has none.
    pub(crate) replicas: Option<i32>,
    /// Its completions, where those of a Job are divided.
    pub(crate) completions: Option<i64>,
}

/// The completions of each cluster, where those of a Job are divided: in proportion to replicas, and what works speak of
/// stays where it is, as controllers do it.
pub(crate) fn completions<'b, 'w>(
    template: &Object,
    binding: &'b ResourceBindingSpec,
    works: impl IntoIterator<Item = &'w Object>,
) -> BTreeMap<&'b str, i64> {
    let ties = Ties::of_template(template.uid());
    let running = completions::running(works);
    let Some(division) = completions::division(template, binding, &running) else {
        return BTreeMap::new();
    };
    let mut all = shares(division.completions, division.weights, ties);
    all.extend(division.kept);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn completions_go_with_replicas_where_those_are_divided() {
        let job = Object::from_value(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u"}, "spec": {"completions": 6, "parallelism": 3},
        }))
        .unwrap();
        let work = Object::from_value(json!({
            "metadata": {"name": "w", "namespace": "karmada-es-a"},
            "spec": {"workload": {"manifests": [{"spec": {"completions": 5}}]}},
        }))
        .unwrap();
        let cases: [(&str, &[Object], &str); 4] = [
            ("Divided", &[], "a=4 b=2"),
            ("Divided", std::slice::from_ref(&work), "a=5 b=1"),
            ("Duplicated", &[], ""),
            ("Duplicated", std::slice::from_ref(&work), "a=5"),
        ];
        for (kind, works, expected) in cases {
            let binding = Object::from_value(json!({
                "metadata": {"name": "b", "namespace": "n"},
                "spec": {
                    "resource": {"apiVersion": "batch/v1", "kind": "Job", "name": "j"}, "replicas": 3,
                    "placement": {"replicaScheduling": {"replicaSchedulingType": kind}},
                    "clusters": [{"name": "b", "replicas": 1}, {"name": "a", "replicas": 2}],
                },
            }))
            .unwrap();
            let placed = super::super::Placed::read(&binding).unwrap();
            let shares = completions(&job, &placed.spec, works);
            let shown: Vec<String> = shares
                .iter()
                .map(|(name, count)| format!("{name}={count}"))
                .collect();
            assert_eq!(shown.join(" "), expected, "{kind}");
        }
    }
}

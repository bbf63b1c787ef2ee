//! What differs between two states of an object, for whoever asks whether a change concerns it.

use std::sync::Arc;

use object::{Object, Value};

/// Metadata that moves with every write and says nothing by itself.
const BOOKKEEPING: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// What of a binding's spec its template and policy do not say.
const PLACEMENT: [&str; 4] = [
    "clusters",
    "gracefulEvictionTasks",
    "requiredBy",
    "rescheduleTriggeredAt",
];

/// Whether more than the status differs; an object that came or went always does.
#[must_use]
pub(crate) fn is_more_than_status(
    before: Option<&Arc<Object>>,
    after: Option<&Arc<Object>>,
) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    if before.uid() != after.uid() {
        return true;
    }
    let counts = |name: &str| name != "status" && name != "metadata";
    differs(before, after, counts) || metadata_differs(before, after)
}

/// Whether the metadata differs in what people and controllers write.
#[must_use]
pub(crate) fn metadata_differs(before: &Object, after: &Object) -> bool {
    match (before.at(&["metadata"]), after.at(&["metadata"])) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let counts = |name: &str| !BOOKKEEPING.contains(&name);
            maps_differ(before, after, counts)
        }
        (before, after) => before != after,
    }
}

/// Whether a binding differs in more than its status and what others decide: its clusters, evictions and dependents.
#[must_use]
pub(crate) fn is_more_than_placement(
    before: Option<&Arc<Object>>,
    after: Option<&Arc<Object>>,
) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    if before.uid() != after.uid() || metadata_differs(before, after) {
        return true;
    }
    match (before.at(&["spec"]), after.at(&["spec"])) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            maps_differ(before, after, |name| !PLACEMENT.contains(&name))
        }
        (before, after) => before != after,
    }
}

/// Whether the status differs; an object that came or went always does.
#[must_use]
pub(crate) fn is_of_status(before: Option<&Arc<Object>>, after: Option<&Arc<Object>>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    before.at(&["status"]) != after.at(&["status"])
}

fn differs(before: &Object, after: &Object, counts: impl Fn(&str) -> bool) -> bool {
    maps_differ(before.fields(), after.fields(), counts)
}

fn maps_differ(before: &object::Map, after: &object::Map, counts: impl Fn(&str) -> bool) -> bool {
    let kept = |map: &object::Map| map.keys().filter(|name| counts(name)).count();
    kept(before) != kept(after)
        || before
            .iter()
            .filter(|(name, _)| counts(name))
            .any(|(name, value)| after.get(name) != Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_somebody_means_counts() {
        let base = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1},
            "spec": {"replicas": 1}, "status": {"replicas": 1},
        });
        for (pointer, value, more, status) in [
            ("/status/replicas", json!(2), false, true),
            ("/metadata/resourceVersion", json!("2"), false, false),
            ("/metadata/generation", json!(2), false, false),
            ("/metadata/name", json!("b"), true, false),
            ("/metadata/uid", json!("v"), true, false),
            ("/spec/replicas", json!(2), true, false),
        ] {
            let mut changed = base.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            let before = Arc::new(Object::from_value(base.clone()).unwrap());
            let after = Arc::new(Object::from_value(changed).unwrap());
            assert_eq!(
                is_more_than_status(Some(&before), Some(&after)),
                more,
                "{pointer}"
            );
            assert_eq!(
                is_of_status(Some(&before), Some(&after)),
                status,
                "{pointer}"
            );
            assert!(is_more_than_status(None, Some(&after)) && is_of_status(Some(&before), None));
        }
    }

    #[test]
    fn what_the_scheduler_decides_is_no_change_of_terms() {
        let object = |text: Value| Arc::new(Object::from_value(text).unwrap());
        let bare = object(json!({"spec": {"replicas": 1}}));
        for (spec, expected) in [
            (json!({"replicas": 1, "clusters": [{"name": "m1"}]}), false),
            (json!({"replicas": 1, "requiredBy": []}), false),
            (json!({"replicas": 2}), true),
        ] {
            let after = object(json!({ "spec": spec }));
            assert_eq!(is_more_than_placement(Some(&bare), Some(&after)), expected);
        }
        assert!(is_more_than_placement(None, Some(&bare)));
    }

    #[test]
    fn a_field_that_came_or_went_counts() {
        let with = Arc::new(Object::from_value(json!({"data": {"a": 1}})).unwrap());
        let without = Arc::new(Object::default());
        assert!(is_more_than_status(Some(&with), Some(&without)));
        assert!(is_more_than_status(Some(&without), Some(&with)));
    }
}

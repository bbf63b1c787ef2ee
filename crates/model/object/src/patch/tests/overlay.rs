//! Typed edits laid over untyped objects.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Map, Value, patch::overlay};

#[test]
fn an_overlay_carries_over_the_differences_only() {
    for (case, raw, before, after, result) in [
        (
            "a change",
            json!({"z": 1, "a": 1, "y": 2}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!({"z": 1, "a": 2, "y": 2}),
        ),
        (
            "an addition",
            json!({"z": 1}),
            json!({}),
            json!({"a": 2}),
            json!({"z": 1, "a": 2}),
        ),
        (
            "a removal",
            json!({"z": 1, "a": 1, "y": 2}),
            json!({"a": 1}),
            json!({}),
            json!({"z": 1, "y": 2}),
        ),
        (
            "other spelling",
            json!({"q": "1000m", "a": 1}),
            json!({"q": "1", "a": 1}),
            json!({"q": "1", "a": 2}),
            json!({"q": "1000m", "a": 2}),
        ),
        (
            "a printed default",
            json!({"a": 1}),
            json!({"a": 1, "d": 5}),
            json!({"a": 2, "d": 5}),
            json!({"a": 2}),
        ),
        (
            "a changed default",
            json!({"a": 1}),
            json!({"a": 1, "d": 5}),
            json!({"a": 1, "d": 6}),
            json!({"a": 1, "d": 6}),
        ),
        (
            "an unprinted object",
            json!({"s": {"x": 1}}),
            json!({}),
            json!({"s": {"a": 2}}),
            json!({"s": {"x": 1, "a": 2}}),
        ),
        (
            "a null made an object",
            json!({"s": null}),
            json!({}),
            json!({"s": {}}),
            json!({"s": {}}),
        ),
        (
            "a nested change",
            json!({"s": {"x": 1, "a": 1}}),
            json!({"s": {"a": 1}}),
            json!({"s": {"a": 2}}),
            json!({"s": {"x": 1, "a": 2}}),
        ),
        (
            "another type",
            json!({"a": {"x": 1}}),
            json!({"a": {}}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        ),
        (
            "an element changed in place",
            json!({"l": [{"a": 1, "x": 1}, {"a": 2, "x": 2}]}),
            json!({"l": [{"a": 1}, {"a": 2}]}),
            json!({"l": [{"a": 1}, {"a": 3}]}),
            json!({"l": [{"a": 1, "x": 1}, {"a": 3, "x": 2}]}),
        ),
        (
            "an element removed before others",
            json!({"l": [{"a": 1, "x": 1}, {"a": 2, "x": 2}, {"a": 3, "x": 3}]}),
            json!({"l": [{"a": 1}, {"a": 2}, {"a": 3}]}),
            json!({"l": [{"a": 2}, {"a": 3}]}),
            json!({"l": [{"a": 2, "x": 2}, {"a": 3, "x": 3}]}),
        ),
        (
            "elements in another order",
            json!({"l": [{"a": 1, "x": 1}, {"a": 2, "x": 2}, {"a": 3, "x": 3}]}),
            json!({"l": [{"a": 1}, {"a": 2}, {"a": 3}]}),
            json!({"l": [{"a": 3}, {"a": 2}, {"a": 1}]}),
            json!({"l": [{"a": 3, "x": 3}, {"a": 2, "x": 2}, {"a": 1, "x": 1}]}),
        ),
        (
            "an insertion before an unchanged element",
            json!({"l": [{"a": 1, "x": 1}]}),
            json!({"l": [{"a": 1}]}),
            json!({"l": [{"a": 0}, {"a": 1}]}),
            json!({"l": [{"a": 0}, {"a": 1, "x": 1}]}),
        ),
        (
            "an insertion before a changed, named element",
            json!({"l": [{"name": "m", "a": 1, "x": 1}, {"name": "n", "a": 1, "x": 2}]}),
            json!({"l": [{"name": "m", "a": 1}, {"name": "n", "a": 1}]}),
            json!({"l": [{"name": "k", "a": 0}, {"name": "m", "a": 2}, {"name": "n", "a": 2}]}),
            json!({"l": [{"name": "k", "a": 0}, {"name": "m", "a": 2, "x": 1}, {"name": "n", "a": 2, "x": 2}]}),
        ),
        (
            "a renamed element is a new one",
            json!({"l": [{"name": "m", "x": 1}]}),
            json!({"l": [{"name": "m"}]}),
            json!({"l": [{"name": "n"}]}),
            json!({"l": [{"name": "n"}]}),
        ),
        (
            "equal elements are told apart by order",
            json!({"l": [{"a": 1, "x": 1}, {"a": 1, "x": 2}]}),
            json!({"l": [{"a": 1}, {"a": 1}]}),
            json!({"l": [{"a": 0}, {"a": 1}, {"a": 1}]}),
            json!({"l": [{"a": 0}, {"a": 1, "x": 1}, {"a": 1, "x": 2}]}),
        ),
        (
            "lists in lists",
            json!([[{"a": 1, "x": 1}], [{"a": 2, "x": 2}]]),
            json!([[{"a": 1}], [{"a": 2}]]),
            json!([[{"a": 2}], [{"a": 4}]]),
            json!([[{"a": 2, "x": 2}], [{"a": 4}]]),
        ),
        (
            "a view of part of a list",
            json!([1, 2]),
            json!([1]),
            json!([3]),
            json!([3]),
        ),
    ] {
        assert_eq!(
            overlay(raw, &before, &after).to_string(),
            result.to_string(),
            "{case}"
        );
    }
}

#[test]
fn long_lists_are_paired_in_time() {
    let element = |number: usize| json!({"a": number});
    let raw: Vec<Value> = (0..20_000)
        .map(|number| json!({"a": number, "x": number}))
        .collect();
    let before: Vec<Value> = (0..20_000).map(element).collect();
    let after: Vec<Value> = (0..20_000).rev().map(element).collect();
    let mut reversed = raw.clone();
    reversed.reverse();
    assert_eq!(
        overlay(raw.into(), &before.into(), &after.into()),
        Value::from(reversed)
    );
}

/// A typed view for the laws of [`overlay`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct View {
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<i64>,
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner: Option<Box<View>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Part {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
}

fn any_view() -> impl Strategy<Value = View> {
    let part =
        ("[ab]{0,1}", prop::option::of(0..3i64)).prop_map(|(name, size)| Part { name, size });
    let flat = (
        prop::option::of(0..3i64),
        prop::collection::btree_map("[ab]", "[ab]{0,1}", 0..3),
        prop::collection::vec(part, 0..5),
    )
        .prop_map(|(count, labels, parts)| View {
            count,
            labels,
            parts,
            inner: None,
        });
    flat.prop_recursive(2, 8, 1, move |inner| {
        (inner.clone(), prop::option::of(inner)).prop_map(|(mut view, inner)| {
            view.inner = inner.map(Box::new);
            view
        })
    })
}

/// The view as a user might have written it: with unknown fields in every object that is a struct of the view.
fn with_unknown_fields(view: &View, seed: usize) -> Value {
    let mut raw = Map::new();
    raw.insert("x-first".to_owned(), json!(seed));
    raw.extend(json!(view).as_object().cloned().unwrap_or_default());
    if let Some(Value::Array(parts)) = raw.get_mut("parts") {
        for (position, part) in parts.iter_mut().enumerate() {
            part["x-part"] = json!([seed, position]);
        }
    }
    if let Some(inner) = &view.inner {
        raw.insert("inner".to_owned(), with_unknown_fields(inner, seed + 100));
    }
    raw.insert("x-last".to_owned(), json!({"deep": seed}));
    Value::Object(raw)
}

proptest! {
    #[test]
    fn an_overlay_of_no_change_is_the_object_byte_for_byte(view in any_view()) {
        let raw = with_unknown_fields(&view, 1);
        let printed = json!(view);
        prop_assert_eq!(overlay(raw.clone(), &printed, &printed).to_string(), raw.to_string());
    }

    #[test]
    fn an_overlay_reads_back_as_the_edited_view_and_keeps_unknown_fields(was in any_view(), now in any_view()) {
        let raw = with_unknown_fields(&was, 1);
        let laid = overlay(raw.clone(), &json!(was), &json!(now));
        prop_assert_eq!(&serde_json::from_value::<View>(laid.clone()).unwrap(), &now);
        prop_assert_eq!(&laid["x-first"], &raw["x-first"]);
        prop_assert_eq!(&laid["x-last"], &raw["x-last"]);
        if was.inner.is_some() && now.inner.is_some() {
            prop_assert_eq!(&laid["inner"]["x-last"], &raw["inner"]["x-last"]);
        }
        // As many parts keep their unknown fields as are there before and after.
        let mut left = was.parts.clone();
        let kept = now.parts.iter().filter(|part| {
            let found = left.iter().position(|other| other == *part);
            found.map(|position| left.remove(position)).is_some()
        }).count();
        let known = laid["parts"].as_array().into_iter().flatten().filter(|part| part.get("x-part").is_some()).count();
        prop_assert!(known >= kept, "{} of {} in {}", known, kept, laid);
    }
}

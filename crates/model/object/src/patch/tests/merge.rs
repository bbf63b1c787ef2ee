//! JSON merge patch.

use proptest::prelude::*;
use serde_json::json;

use crate::{
    Value,
    patch::{diff, merge},
};

#[test]
fn merge_patches_do_what_the_standard_says() {
    for (target, patch, merged) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        ),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (
            json!({"a": "b", "b": "c", "d": 1}),
            json!({"a": null}),
            json!({"b": "c", "d": 1}),
        ),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({"a": [{"b": "c"}]}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        ),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (
            json!({"e": null}),
            json!({"a": 1}),
            json!({"e": null, "a": 1}),
        ),
        (
            json!([1, 2]),
            json!({"a": "b", "c": null}),
            json!({"a": "b"}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
        (
            json!({"a": {"x": 1}}),
            json!({"a": {}}),
            json!({"a": {"x": 1}}),
        ),
        (json!({"a": 1}), json!({"a": {"b": null}}), json!({"a": {}})),
        (json!({}), json!({"a": null}), json!({})),
        // Kubernetes prunes nulls in lists too, but not null elements.
        (
            json!({}),
            json!({"l": [{"a": null, "b": {"c": null}}, null]}),
            json!({"l": [{"b": {}}, null]}),
        ),
        (
            json!({"l": [1]}),
            json!({"l": [{"a": null}]}),
            json!({"l": [{}]}),
        ),
        (
            json!({"b": 1, "a": 2, "c": 3}),
            json!({"a": 5, "d": 4}),
            json!({"b": 1, "a": 5, "c": 3, "d": 4}),
        ),
    ] {
        assert_eq!(
            merge(&target, &patch).to_string(),
            merged.to_string(),
            "{target} {patch}"
        );
    }
}

#[test]
fn a_diff_holds_only_what_changed() {
    for (before, after, patch) in [
        (json!({"a": 1}), json!({"a": 1}), json!({})),
        (json!({"a": 1}), json!({"a": 2}), json!({"a": 2})),
        (json!({"a": 1, "b": 2}), json!({"b": 2}), json!({"a": null})),
        (
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": 1, "c": 3}}),
            json!({"a": {"c": 3}}),
        ),
        (
            json!({"a": {"b": 1}}),
            json!({"a": {}}),
            json!({"a": {"b": null}}),
        ),
        (json!({"a": 1}), json!({"a": {}}), json!({"a": {}})),
        (json!({"a": {"b": 1}}), json!({"a": 1}), json!({"a": 1})),
        (json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(1), json!({"a": 1}), json!({"a": 1})),
        (json!({"a": 1}), json!([1]), json!([1])),
    ] {
        assert_eq!(diff(&before, &after), patch, "{before} {after}");
        assert_eq!(merge(&before, &patch), after);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[abc]", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_diff_applied_gives_the_other_document(a in any_json(), b in any_json()) {
        prop_assert_eq!(merge(&a, &diff(&a, &b)), b);
    }
}

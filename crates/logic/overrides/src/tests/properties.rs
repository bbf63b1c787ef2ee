//! What holds for any documents and rules.

use object::{Object, Value, patch::Replace};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use super::{policy, rendered};
use crate::{Overrides, PolicyId, Template, change, overrider::image::Image};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5_i32).prop_map(Value::from),
        select(vec!["", "a", "b", "web:v1", "<&>"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((select(vec!["a", "b", "a/b", "~"]), inner), 0..4).prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

/// Any text that some reader of YAML takes for something else, or that needs care to be written.
fn any_tricky_text() -> impl Strategy<Value = String> {
    let whole = select(vec![
        "",
        "0644",
        "0o17",
        "1e3",
        "1_0",
        "on",
        "y",
        "null",
        "~",
        "<<",
        "=",
        ".inf",
        "12:30",
        "2026-01-01",
        "a b",
    ]);
    let parts = select(vec![
        "a", "0", ":", " ", "-", "#", "?", "\n", "\t", "'", "\"", "\\", "&", "*", "!", "|", ">",
        "%", "{", "]", ",", "é", "\u{feff}", "\u{2028}", "\r", "---", "\u{85}", "\u{1}",
    ]);
    prop_oneof![
        whole.prop_map(str::to_owned),
        vec(parts, 0..6).prop_map(|parts| parts.concat()),
    ]
}

fn any_tricky_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any_tricky_text().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any_tricky_text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A text with a field more; or what is wrong.
fn changed(format: &str, text: &str, value: &Value) -> Result<String, String> {
    let rules = json!([{"overriders": {"fieldOverrider": [{"fieldPath": "/data/c", format: [{"subPath": "/new", "operator": "add", "value": value}]}]}}]);
    let document = json!({"kind": "OverridePolicy", "metadata": {"name": "op", "namespace": "test"}, "spec": {"overrideRules": rules}});
    let overrides: Overrides = [policy(&Object::from_value(document).unwrap())]
        .into_iter()
        .collect();
    let object = json!({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "test"}, "data": {"c": text}});
    let rendered = rendered(&overrides, &Object::from_value(object).unwrap());
    let object = rendered
        .map_err(|error| super::chain(&error))?
        .object
        .into_value();
    Ok(object["data"]["c"].as_str().unwrap().to_owned())
}

/// Any text that comes close to an image reference.
fn any_image() -> impl Strategy<Value = String> {
    vec(
        select(vec![
            "a",
            "B",
            "0",
            ".",
            ":",
            "/",
            "@",
            "_",
            "-",
            "[",
            "]",
            "localhost",
            "reg.io",
            "v1",
            "é",
            "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ]),
        0..8,
    )
    .prop_map(|parts| parts.concat())
}

fn any_overriders() -> impl Strategy<Value = Value> {
    let operator = || select(vec!["add", "remove", "replace"]);
    let path = || {
        select(vec![
            "",
            "/",
            "/spec",
            "/spec/a",
            "/spec/containers/0/image",
            "/spec/containers/-1",
            "/metadata/labels/a",
            "/metadata/labels",
            "/kind",
            "spec",
            "/data/a~1b",
        ])
    };
    let plaintext = (path(), operator(), any_value())
        .prop_map(|(path, operator, value)| json!({"plaintext": [{"path": path, "operator": operator, "value": value}]}));
    let image = (
        path(),
        any::<bool>(),
        operator(),
        select(vec!["Registry", "Repository", "Tag"]),
        any_image(),
    )
        .prop_map(|(path, with_path, operator, component, value)| {
            let mut change = json!({"component": component, "operator": operator, "value": value});
            if with_path {
                change["predicate"] = json!({"path": path});
            }
            json!({"imageOverrider": [change]})
        });
    let words = (operator(), vec(select(vec!["a", "b"]), 0..3), select(vec!["commandOverrider", "argsOverrider"]))
        .prop_map(|(operator, value, field)| json!({field: [{"containerName": "a", "operator": operator, "value": value}]}));
    let keys = (
        operator(),
        vec(select(vec!["a", "b"]), 0..3),
        select(vec!["labelsOverrider", "annotationsOverrider"]),
    )
        .prop_map(|(operator, keys, field)| {
            let value: Value = keys.into_iter().map(|key| (key, "v")).collect();
            json!({field: [{"operator": operator, "value": value}]})
        });
    let document = (path(), path(), operator(), any_value(), select(vec!["json", "yaml"]))
        .prop_map(|(field, sub_path, operator, value, format)| json!({"fieldOverrider": [{"fieldPath": field, format: [{"subPath": sub_path, "operator": operator, "value": value}]}]}));
    prop_oneof![plaintext, image, words, keys, document]
}

fn any_object() -> impl Strategy<Value = Object> {
    (any_value(), any_value(), any_value(), select(vec!["Pod", "Deployment", "ConfigMap"])).prop_map(
        |(labels, container, spec, kind)| {
            let pod = json!({"containers": [container, {"name": "a", "image": "web:v1"}], "a": spec});
            let spec = if kind == "Deployment" { json!({"template": {"spec": pod}}) } else { pod };
            let object = json!({"novel": {"z": 1, "a": 2}, "kind": kind, "metadata": {"name": "x", "namespace": "test", "labels": labels}, "spec": spec, "data": {"a/b": "{\"a\": [1]}"}});
            Object::from_value(object).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changes_make_the_one_document_of_the_other(before in any_value(), after in any_value()) {
        let changes = change::changes(&before, &after);
        let patched = change::to_patch(&changes).apply(&before, Replace::Existing).unwrap();
        prop_assert_eq!(&patched, &after);
        prop_assert_eq!(changes.is_empty(), before == after);
    }

    #[test]
    fn a_reference_that_parses_prints_as_it_was_but_for_a_second_version(text in any_image()) {
        if let Ok(image) = Image::parse(&text) {
            let printed = image.to_string();
            let (name, _) = text.split_once('@').unwrap_or((&text, ""));
            prop_assert!(printed == text || printed == name, "{printed} {text}");
            prop_assert_eq!(Image::parse(&printed), Ok(image.clone()));
        }
    }

    #[test]
    fn a_changed_document_has_the_change_and_all_that_was_there(mut before in any_tricky_value(), value in any_tricky_value()) {
        if !before.is_object() {
            before = json!({"a": before});
        }
        let mut after = before.clone();
        after["new"] = value.clone();
        let json = changed("json", &before.to_string(), &value).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), after.clone());
        after.sort_all_objects();
        // JSON is YAML.
        let yaml = changed("yaml", &before.to_string(), &value).unwrap();
        prop_assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), after, "{}", yaml);
    }

    #[test]
    fn no_text_is_changed_twice_otherwise_than_once(parts in vec(select(vec![
        "a", "b", ": ", ":", "- ", "-", "\n", "\n  ", " ", "{", "}", "[", "]", ", ", "&x ", "*x", "<<", "!t ", "!!str ", "? ", "| ", ">", "'", "\"", "0644", "on", "~", "#",
    ]), 0..14)) {
        let text = parts.concat();
        if let Ok(once) = changed("yaml", &text, &json!(1)) {
            prop_assert_eq!(changed("yaml", &once, &json!(1)), Ok(once));
        }
    }

    #[test]
    fn no_rule_panics_and_an_object_stays_what_it_is(object in any_object(), rules in vec(any_overriders(), 1..4)) {
        let rules: Vec<Value> = rules.into_iter().map(|overriders| json!({"overriders": overriders})).collect();
        let document = json!({"kind": "OverridePolicy", "metadata": {"name": "op", "namespace": "test"}, "spec": {"overrideRules": rules}});
        let overrides: Overrides = [policy(&Object::from_value(document).unwrap())].into_iter().collect();
        let before = object.clone();
        if let Ok(rendered) = rendered(&overrides, &object) {
            prop_assert!(!rendered.object.kind().is_empty());
            prop_assert_eq!(rendered.applied.len(), overrides.policies().map(|policy| policy.rules.len()).sum::<usize>());
        }
        prop_assert_eq!(object, before);
    }

    #[test]
    fn a_collection_answers_as_trying_every_policy_does(
        lines in vec((select(vec!["a", "b", "c"]), select(vec!["", "test"]), vec((select(vec!["X", "Y"]), select(vec!["", "x"])), 0..3)), 0..8),
        removed in select(vec!["a", "b", "c"]),
        kind in select(vec!["X", "Y", "Z"]),
    ) {
        let mut overrides: Overrides = lines
            .iter()
            .map(|(name, namespace, selectors)| {
                let selectors: Vec<Value> = selectors.iter().map(|(kind, name)| json!({"apiVersion": "v1", "kind": kind, "name": name})).collect();
                let document = json!({
                    "kind": if namespace.is_empty() { "ClusterOverridePolicy" } else { "OverridePolicy" },
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"resourceSelectors": selectors},
                });
                policy(&Object::from_value(document).unwrap())
            })
            .collect();
        overrides.remove(&PolicyId { namespace: String::new(), name: removed.to_owned() });
        let object = Object::from_value(json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "test"}})).unwrap();
        let template = Template::new(&object);
        for namespace in ["", "test"] {
            let mut expected: Vec<_> = overrides
                .policies()
                .filter(|policy| policy.id.namespace == namespace)
                .filter_map(|policy| Some((policy.select(&template)?, policy.id.name.as_str())))
                .collect();
            expected.sort_unstable();
            let found: Vec<_> = overrides.matches(namespace, &template).iter().map(|found| (found.specificity, found.policy.id.name.as_str())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

//! Definitions as a server judges them before they are stored.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::slice::from_ref;

use karavel_kinds::builtin_resources;
use object::Value;
use serde_json::json;
use serve::resource::Resource;

fn definitions() -> Resource {
    let mut all = builtin_resources().into_iter();
    all.find(|resource| &*resource.plural == "customresourcedefinitions")
        .unwrap()
}

fn definition(schemas: &[Value]) -> Value {
    let versions: Vec<Value> = schemas
        .iter()
        .enumerate()
        .map(|(place, schema)| {
            json!({"name": format!("v{}", place + 1), "served": true, "storage": place == 0,
                   "schema": {"openAPIV3Schema": schema}})
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.test.io", "resourceVersion": "1"},
        "spec": {
            "group": "test.io", "scope": "Namespaced", "conversion": {"strategy": "None"},
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": versions,
        },
    })
}

#[test]
fn a_schema_that_is_not_structural_is_refused_with_the_field() {
    let good = json!({"type": "object"});
    let untyped = json!({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}});
    let rules = definitions().rules;
    let check = |old: Option<&Value>, schemas: &[Value], expected: &[&str]| {
        let errors = rules.validate("v1", old, &definition(schemas), "");
        let paths: Vec<String> = errors.iter().map(|error| error.path.to_string()).collect();
        assert_eq!(paths, expected, "{schemas:?}: {errors:?}");
    };
    check(None, from_ref(&good), &[]);
    check(
        None,
        from_ref(&untyped),
        &["spec.validation.openAPIV3Schema.properties[spec].type"],
    );
    check(
        None,
        &[good, untyped.clone()],
        &["spec.versions[1].schema.openAPIV3Schema.properties[spec].type"],
    );
    // What is there already is not held against a change of something else.
    check(
        Some(&definition(from_ref(&untyped))),
        from_ref(&untyped),
        &[],
    );
}

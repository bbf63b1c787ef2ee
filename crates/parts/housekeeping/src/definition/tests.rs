use serde_json::{Value, json};

use super::plan::{CLEANUP, Inputs, defined, plan};
use object::Object;
use object::time::Time;

fn definition(metadata: Value) -> Object {
    let definition = json!({
        "metadata": metadata,
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
                 "versions": [{"name": "v1alpha1", "served": false}, {"name": "v1", "served": true}]},
    });
    Object::from_value(definition).unwrap()
}

fn ending() -> Object {
    definition(
        json!({"name": "gadgets.x.io", "uid": "u", "resourceVersion": "5",
                      "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["mine", CLEANUP]}),
    )
}

fn gadget(name: &str, ends: bool) -> Object {
    let mut gadget = json!({"metadata": {"name": name, "namespace": "n", "uid": name}});
    if ends {
        gadget["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    Object::from_value(gadget).unwrap()
}

fn planned(definition: &Object, objects: &[Object]) -> Vec<String> {
    let resource = defined(definition);
    let plan = plan(&Inputs {
        definition,
        resource: resource.as_ref(),
        objects,
        now: Time::from_unix_seconds(0),
    });
    let show = |action: &intent::Action| match action {
        intent::Action::Patch { patch, .. } => format!("patch {patch}"),
        other => format!("{} {}", other.verb(), other.key()),
    };
    plan.actions.iter().map(show).collect()
}

#[test]
fn an_ending_definition_takes_its_objects_along_and_goes_last() {
    let found = planned(&ending(), &[gadget("a", false), gadget("b", true)]);
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("InstanceDeletionInProgress"), "{found:?}");
    assert_eq!(found[1], "delete n/a");
    assert_eq!(
        planned(&ending(), &[]),
        [r#"patch {"metadata":{"finalizers":["mine"]}}"#]
    );
}

#[test]
fn a_definition_is_held_from_the_start_and_otherwise_left_alone() {
    let fresh = definition(json!({"name": "gadgets.x.io", "finalizers": ["mine"]}));
    let held = format!(r#"patch {{"metadata":{{"finalizers":["mine","{CLEANUP}"]}}}}"#);
    assert_eq!(planned(&fresh, &[]), [held]);
    let live = definition(json!({"name": "gadgets.x.io", "finalizers": [CLEANUP]}));
    assert!(planned(&live, &[gadget("a", false)]).is_empty());
    // Whoever took the finalizer away knows why.
    let others = definition(
        json!({"name": "gadgets.x.io", "deletionTimestamp": "2026-01-01T00:00:00Z",
                                   "finalizers": ["mine"]}),
    );
    assert!(planned(&others, &[gadget("a", false)]).is_empty());
}

#[test]
fn the_kind_is_found_in_a_served_version() {
    let resource = defined(&ending()).unwrap();
    assert_eq!(resource.path("n"), "/apis/x.io/v1/namespaces/n/gadgets");
    assert!(defined(&Object::default()).is_none());
}

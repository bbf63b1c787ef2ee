use serde_json::{Value, json};

use super::plan::{CLEANUP, Content, Inputs, content, plan};
use crate::BuiltIn;
use object::Object;
use object::time::Time;

fn definition(metadata: Value) -> Object {
    let definition = json!({
        "metadata": metadata,
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
                 "versions": [{"name": "v1alpha1", "served": false}, {"name": "v1", "served": true}]},
        "status": {"conditions": [condition("Established", "True")]},
    });
    Object::from_value(definition).unwrap()
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
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
    planned_beside(&BuiltIn::new(), definition, objects)
}

fn planned_beside(built_in: &BuiltIn, definition: &Object, objects: &[Object]) -> Vec<String> {
    let plan = plan(&Inputs {
        definition,
        content: &content(definition, built_in),
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
fn what_a_definition_did_not_bring_stays_when_it_goes() {
    let goes = [r#"patch {"metadata":{"finalizers":["mine"]}}"#];
    let objects = [gadget("a", false)];
    let of_server = BuiltIn::from([("x.io", "gadgets")]);
    let others = BuiltIn::from([("y.io", "gadgets"), ("x.io", "gizmos"), ("", "gadgets")]);
    let said = |conditions: Value| {
        let mut definition = ending();
        definition
            .set(&["status"], json!({"conditions": conditions}))
            .unwrap();
        definition
    };
    for (what, built_in, definition, stays) in [
        ("its own", &others, ending(), false),
        (
            "a built-in kind, said to be established",
            &of_server,
            ending(),
            true,
        ),
        (
            "a built-in kind, refused",
            &of_server,
            said(json!([condition("Established", "False")])),
            true,
        ),
        (
            "never established",
            &others,
            said(json!([condition("Established", "False")])),
            true,
        ),
        (
            "something else is true of it",
            &others,
            said(json!([condition("NamesAccepted", "True")])),
            true,
        ),
        ("never looked at", &others, said(json!([])), true),
    ] {
        let found = planned_beside(built_in, &definition, &objects);
        assert_eq!(found == goes, stays, "{what}: {found:?}");
        let deletes = found.iter().any(|line| line.starts_with("delete"));
        assert_eq!(deletes, !stays, "{what}: {found:?}");
    }
}

#[test]
fn the_kind_is_found_in_a_served_version() {
    let Content::Own(resource) = content(&ending(), &BuiltIn::new()) else {
        panic!("it is its own");
    };
    assert_eq!(resource.path("n"), "/apis/x.io/v1/namespaces/n/gadgets");
    let nothing = content(&Object::default(), &BuiltIn::new());
    assert_eq!(nothing, Content::Nothing);
}

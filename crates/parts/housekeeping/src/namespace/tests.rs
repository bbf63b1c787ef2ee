use serde_json::{Value, json};

use super::plan::{Content, KUBERNETES, Progress, in_turn, plan_content, plan_progress};
use object::time::Time;
use object::{Object, ResourceType};

fn namespace(conditions: &Value) -> Object {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "uid": "u", "resourceVersion": "5", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"finalizers": [KUBERNETES, "mine"]},
        "status": {"phase": "Terminating", "conditions": conditions},
    });
    Object::from_value(namespace).unwrap()
}

fn pods(objects: &[Value]) -> Content {
    Content {
        resource: ResourceType::namespaced("", "v1", "Pod", "pods"),
        objects: objects
            .iter()
            .map(|object| Object::from_value(object.clone()).unwrap())
            .collect(),
    }
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": name}})
}

fn ending(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": name, "finalizers": ["x.io/hold"],
                        "deletionTimestamp": "2026-01-01T00:00:00Z"}})
}

/// `type=status reason: message` of each condition that is written, or the other actions.
fn planned(
    namespace: &Object,
    remaining: &[Content],
    undiscovered: &[&str],
    failures: &[&str],
) -> Vec<String> {
    let owned = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let plan = plan_progress(&Progress {
        namespace,
        remaining,
        undiscovered: &owned(undiscovered),
        failures: &owned(failures),
        now: Time::from_unix_seconds(0),
    });
    let mut lines = Vec::new();
    for action in &plan.actions {
        match action {
            intent::Action::Patch { patch, .. } => {
                for condition in patch["status"]["conditions"].as_array().unwrap() {
                    let text = |name: &str| condition[name].as_str().unwrap().to_owned();
                    lines.push(format!(
                        "{}={} {}: {}",
                        text("type"),
                        text("status"),
                        text("reason"),
                        text("message")
                    ));
                }
            }
            intent::Action::Replace { object, part, .. } => {
                let finalizers = object.at(&["spec", "finalizers"]).unwrap();
                lines.push(format!("{} {finalizers}", part.subresource().unwrap()));
            }
            other => lines.push(other.verb().to_owned()),
        }
    }
    lines
}

#[test]
fn content_that_is_not_ending_already_is_deleted() {
    let content = pods(&[pod("a"), ending("b"), pod("c")]);
    let plans = plan_content(&namespace(&json!([])), &content);
    let deleted = plans.iter().map(|plan| {
        let [
            intent::Action::Delete {
                key, uid, cause, ..
            },
        ] = plan.actions.as_slice()
        else {
            panic!("{plan:?}");
        };
        assert_eq!(cause, "its namespace shop is being deleted");
        format!("{key} {uid}")
    });
    // Each by itself: one that is refused holds no other up.
    assert_eq!(deleted.collect::<Vec<_>>(), ["shop/a a", "shop/c c"]);
}

#[test]
fn what_is_left_is_told_and_held_on_to() {
    let content = [pods(&[ending("a"), ending("b")])];
    assert_eq!(
        planned(&namespace(&json!([])), &content, &[], &[]),
        [
            "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered",
            "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed",
            "NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization",
            "NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: pods. has 2 resource instances",
            "NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: x.io/hold in 2 resource instances",
        ]
    );
    let failing = planned(
        &namespace(&json!([])),
        &content,
        &["x.io/v1: away"],
        &["denied"],
    );
    assert!(failing.contains(&"NamespaceDeletionDiscoveryFailure=True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: x.io/v1: away".to_owned()));
    assert!(failing.contains(&"NamespaceDeletionContentFailure=True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: denied".to_owned()));
}

#[test]
fn an_empty_namespace_says_so_and_then_goes() {
    let told = planned(&namespace(&json!([])), &[], &[], &[]);
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|line| line.contains("=False ")), "{told:?}");
    let conditions: Vec<Value> = told
        .iter()
        .map(|line| {
            let (r#type, rest) = line.split_once("=False ").unwrap();
            let (reason, message) = rest.split_once(": ").unwrap();
            json!({"type": r#type, "status": "False", "reason": reason, "message": message,
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .collect();
    assert_eq!(
        planned(&namespace(&json!(conditions)), &[], &[], &[]),
        [r#"finalize ["mine"]"#]
    );
}

#[test]
fn nothing_goes_while_something_is_not_known() {
    for (undiscovered, failures) in [(&["x.io/v1: away"][..], &[][..]), (&[], &["denied"])] {
        let told = planned(&namespace(&json!([])), &[], undiscovered, failures);
        assert!(
            !told.iter().any(|line| line.starts_with("finalize")),
            "{told:?}"
        );
    }
}

#[test]
fn pods_go_before_everything_else() {
    let maps = Content {
        resource: ResourceType::namespaced("", "v1", "ConfigMap", "configmaps"),
        objects: Vec::new(),
    };
    let metrics = Content {
        resource: ResourceType::namespaced("metrics.k8s.io", "v1beta1", "Pod", "pods"),
        objects: Vec::new(),
    };
    let turns = in_turn(vec![maps, pods(&[pod("a")]), metrics]);
    let names = turns.map(|turn| {
        let kinds = turn.iter().map(|content| content.resource.kind.to_string());
        kinds.collect::<Vec<_>>()
    });
    assert_eq!(names[0].len(), 1, "{names:?}");
    assert_eq!(names[1].len(), 2, "{names:?}");
}

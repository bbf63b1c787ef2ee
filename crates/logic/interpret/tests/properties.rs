//! What holds for every template and every report, not only for those somebody thought of.

use api::work::v1alpha2::AggregatedStatusItem;
use karavel_interpret::{Interpreter, KindRef, Native, Operation, RuleError, ThirdParty};
use object::{Object, Value};
use proptest::prelude::*;
use serde_json::json;

/// Kinds whose status is a set of sums, with the fields that are summed.
const SUMS: [(&str, &str, &[&str]); 6] = [
    (
        "apps/v1",
        "Deployment",
        &[
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        ],
    ),
    (
        "apps/v1",
        "ReplicaSet",
        &["replicas", "readyReplicas", "availableReplicas"],
    ),
    (
        "apps/v1",
        "StatefulSet",
        &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
    ),
    (
        "apps/v1",
        "DaemonSet",
        &[
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberAvailable",
            "numberMisscheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberUnavailable",
        ],
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        &[
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ],
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        &["currentReplicas", "desiredReplicas"],
    ),
];

/// Kinds whose replicas can be set, and where.
const SCALED: [(&str, &str, &str); 4] = [
    ("apps/v1", "Deployment", "replicas"),
    ("apps/v1", "ReplicaSet", "replicas"),
    ("apps/v1", "StatefulSet", "replicas"),
    ("batch/v1", "Job", "parallelism"),
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(0.5)),
        "[a-z1-9.]{0,6}".prop_map(Value::from),
        Just(json!("2026-01-01T00:00:00Z")),
        Just(json!("Running")),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((field_name(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names that rules look at, so that values of every shape turn up where rules look.
fn field_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "name",
        "spec",
        "status",
        "template",
        "metadata",
        "labels",
        "annotations",
        "replicas",
        "parallelism",
        "containers",
        "initContainers",
        "volumes",
        "volumeMounts",
        "resources",
        "requests",
        "limits",
        "cpu",
        "memory",
        "env",
        "envFrom",
        "configMap",
        "secret",
        "secretName",
        "tls",
        "secrets",
        "data",
        "type",
        "conditions",
        "phase",
        "loadBalancer",
        "ingress",
        "ip",
        "ports",
        "active",
        "startTime",
        "selector",
        "matchLabels",
        "webhooks",
        "clientConfig",
        "caBundle",
        "clusterIP",
        "tasks",
        "headGroupSpec",
        "workerGroupSpecs",
        "rayClusterConfig",
        "replicaStatuses",
        "taskStatusCount",
        "runningDuration",
        "containerState",
        "applicationState",
        "activeServiceStatus",
        "applicationStatuses",
        "rulecount",
        "desiredCPU",
        "memory",
        "resource",
        "driver",
        "jobManager",
        "suspend",
        "novel",
    ])
    .prop_map(str::to_owned)
}

fn any_kind() -> impl Strategy<Value = KindRef<'static>> {
    let kinds = Native::kinds().chain(ThirdParty::kinds());
    prop::sample::select(kinds.collect::<Vec<_>>())
}

fn object_of(kind: KindRef<'_>, spec: Value, status: Value, more: Value) -> Object {
    let mut fields = more.as_object().cloned().unwrap_or_default();
    fields.insert("apiVersion".to_owned(), kind.api_version.into());
    fields.insert("kind".to_owned(), kind.kind.into());
    fields.insert("spec".to_owned(), spec);
    fields.insert("status".to_owned(), status);
    Object::from_value(Value::Object(fields)).expect("fields make an object")
}

fn item(cluster: &str, status: Option<Value>) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: cluster.to_owned(),
        status,
        ..AggregatedStatusItem::default()
    }
}

proptest! {
    #[test]
    fn no_input_makes_a_rule_panic_or_answer_twice_differently(
        kind in any_kind(),
        spec in any_value(),
        status in any_value(),
        more in any_value(),
        other in any_value(),
        reported in prop::collection::vec(prop::option::of(any_value()), 0..4),
    ) {
        let interpreter = Interpreter::default();
        let object = object_of(kind, spec, status, more);
        let observed = object_of(kind, other.clone(), other.clone(), other);
        let items: Vec<_> = reported
            .into_iter()
            .enumerate()
            .map(|(position, status)| item(&format!("m{position}"), status))
            .collect();
        let ask = || format!(
            "{:?}",
            (
                interpreter.replicas(&object),
                interpreter.components(&object),
                interpreter.revise(&object, 3),
                interpreter.retain_all(&object, &observed),
                interpreter.aggregate(&object, &items),
                interpreter.reflect(&object),
                interpreter.health(&object),
                interpreter.dependencies(&object),
            )
        );
        prop_assert_eq!(ask(), ask());
    }

    #[test]
    fn revised_replicas_are_the_replicas(
        (api_version, kind, field) in prop::sample::select(SCALED.to_vec()),
        before in 0..i32::MAX,
        after in 0..i32::MAX,
        novel in any_value(),
    ) {
        let interpreter = Interpreter::default();
        let template = object_of(
            KindRef { api_version, kind },
            json!({"novel": novel, field: before}),
            Value::Null,
            Value::Null,
        );
        let revised = interpreter.revise(&template, after).unwrap();
        prop_assert_eq!(interpreter.replicas(&revised).unwrap().replicas, after);
        let back = interpreter.revise(&revised, before).unwrap();
        prop_assert_eq!(back, template);
    }

    #[test]
    fn one_member_s_numbers_are_the_template_s(
        (api_version, kind, fields) in prop::sample::select(SUMS.to_vec()),
        numbers in prop::collection::vec(0..i32::MAX, 7),
        generation in 1..1000_i64,
    ) {
        let interpreter = Interpreter::default();
        let kind = KindRef { api_version, kind };
        let status: Value = fields
            .iter()
            .zip(&numbers)
            .map(|(name, number)| ((*name).to_owned(), json!(number)))
            .chain([("observedGeneration".to_owned(), json!(generation))])
            .collect::<serde_json::Map<_, _>>()
            .into();
        let metadata = json!({"metadata": {
            "generation": generation,
            "annotations": {"resourcetemplate.karmada.io/generation": "5"},
        }});
        let observed = object_of(kind, json!({}), status, metadata);
        let reflected = interpreter.reflect(&observed).unwrap();
        let template = object_of(kind, json!({}), Value::Null, json!({"metadata": {"generation": 5}}));
        let aggregated = interpreter.aggregate(&template, &[item("m1", reflected.clone())]).unwrap();
        let (reflected, aggregated) = (reflected.unwrap(), aggregated.unwrap());
        for name in fields {
            prop_assert_eq!(reflected.get(name), aggregated.get(name), "{}", name);
        }
        prop_assert_eq!(&aggregated["observedGeneration"], &json!(5));
    }

    #[test]
    fn the_order_of_members_does_not_matter_to_sums(
        (api_version, kind, fields) in prop::sample::select(SUMS.to_vec()),
        numbers in prop::collection::vec(0..1_000_000, 3),
    ) {
        let interpreter = Interpreter::default();
        let template = object_of(
            KindRef { api_version, kind },
            json!({}),
            Value::Null,
            json!({"metadata": {"generation": 2}}),
        );
        let mut items: Vec<_> = numbers
            .iter()
            .enumerate()
            .map(|(position, number)| {
                let status = fields.iter().map(|name| ((*name).to_owned(), json!(number)));
                let status = Value::Object(status.collect());
                item(&format!("m{position}"), Some(status))
            })
            .collect();
        let forth = interpreter.aggregate(&template, &items).unwrap();
        items.reverse();
        prop_assert_eq!(interpreter.aggregate(&template, &items).unwrap(), forth);
    }

    #[test]
    fn what_was_aggregated_is_not_written_again(
        kind in any_kind(),
        spec in any_value(),
        reported in prop::collection::vec(prop::option::of(any_value()), 0..4),
    ) {
        let interpreter = Interpreter::default();
        let mut template = object_of(kind, spec, Value::Null, Value::Null);
        let items: Vec<_> = reported
            .into_iter()
            .enumerate()
            .map(|(position, status)| item(&format!("m{position}"), status))
            .collect();
        if let Ok(Some(status)) = interpreter.aggregate(&template, &items) {
            template.set(&["status"], status).unwrap();
            prop_assert_eq!(interpreter.aggregate(&template, &items).unwrap(), None);
        }
    }

    #[test]
    fn retaining_again_changes_nothing_and_what_both_have_alike_stays(
        kind in any_kind(),
        spec in any_value(),
        more in any_value(),
        other in any_value(),
    ) {
        let interpreter = Interpreter::default();
        let desired = object_of(kind, spec, Value::Null, more);
        let observed = object_of(kind, other.clone(), Value::Null, other);
        if let Ok(once) = interpreter.retain_all(&desired, &observed) {
            let twice = interpreter.retain_all(&once, &observed).unwrap();
            prop_assert_eq!(twice, once);
        }
        // An object that is in the member exactly as desired is written as it is.
        if let Ok(same) = interpreter.retain_all(&desired, &desired) {
            prop_assert_eq!(same, desired);
        }
    }

    #[test]
    fn retaining_loses_no_field_but_those_the_member_owns(
        kind in any_kind(),
        spec in any_value(),
        other in any_value(),
    ) {
        let interpreter = Interpreter::default();
        let mut desired = object_of(kind, json!({"novel": spec.clone()}), Value::Null, json!({"novel": spec}));
        desired.set(&["metadata", "labels", "ours"], "kept").unwrap();
        let observed = object_of(kind, other.clone(), Value::Null, other);
        if let Ok(retained) = interpreter.retain_all(&desired, &observed) {
            for path in [&["novel"][..], &["spec", "novel"], &["metadata", "labels", "ours"]] {
                prop_assert_eq!(retained.at(path), desired.at(path), "{:?}", path);
            }
        }
    }

    #[test]
    fn references_are_sorted_and_different(spec in any_value()) {
        let kind = KindRef { api_version: "v1", kind: "Pod" };
        let pod = object_of(kind, spec, Value::Null, json!({"metadata": {"namespace": "test"}}));
        if let Ok(references) = Interpreter::default().dependencies(&pod) {
            let keys: Vec<_> = references.iter().map(|to| (&to.kind, &to.name)).collect();
            let mut sorted = keys.clone();
            sorted.sort();
            sorted.dedup();
            prop_assert_eq!(keys, sorted);
        }
    }
}

#[test]
fn errors_of_native_rules_name_a_field() {
    let interpreter = Interpreter::default();
    let kind = KindRef {
        api_version: "apps/v1",
        kind: "Deployment",
    };
    assert!(interpreter.covers(kind, Operation::InterpretReplica));
    let broken = object_of(kind, json!({"template": 7}), Value::Null, Value::Null);
    let error = interpreter.replicas(&broken).unwrap_err();
    let karavel_interpret::InterpretError::Rule { source, .. } = error else {
        panic!("a rule failed: {error}");
    };
    assert!(matches!(source, RuleError::Shape { path, .. } if path.as_str() == "spec.template"));
}

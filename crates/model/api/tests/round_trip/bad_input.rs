//! Input that no client should send: it is refused by name, never by a panic.

use karavel_api::{
    cluster::Cluster,
    policy::PropagationPolicy,
    read::{ReadError, read},
    work::v1alpha2::ResourceBinding,
};
use object::{Object, parse::parse_json};
use serde_json::{Value, json};

fn problem<T: karavel_api::Kind>(value: Value) -> String {
    let object = Object::from_value(value).expect("the case is an object");
    match read::<T>(&object).expect_err("must be refused") {
        ReadError::Field { source, .. } => source.to_string(),
        error @ ReadError::Kind { .. } => error.to_string(),
    }
}

#[test]
fn the_field_that_does_not_fit_is_named() {
    for (spec, expected) in [
        (
            json!({ "resourceSelectors": "all" }),
            r#"spec.resourceSelectors: invalid type: string "all", expected a sequence"#,
        ),
        (
            json!({ "placement": { "clusterAffinities": [{ "affinityName": "a", "clusterNames": [1] }] } }),
            "spec.placement.clusterAffinities[0].clusterNames[0]: invalid type: integer `1`, expected a string",
        ),
        (
            json!({ "placement": { "clusterAffinities": ["a"] } }),
            r#"spec.placement.clusterAffinities[0]: invalid type: string "a", expected an object"#,
        ),
        (
            json!({ "priority": 2_147_483_648_u32 }),
            "spec.priority: invalid value: integer `2147483648`, expected i32",
        ),
        (
            json!({ "priority": 1.5 }),
            "spec.priority: invalid type: floating point `1.5`, expected i32",
        ),
        (
            json!({ "preemption": "Sometimes" }),
            "spec.preemption: unknown variant `Sometimes`, expected `Always` or `Never`",
        ),
        (
            json!({ "schedulePriority": { "priorityClassName": "high" } }),
            "spec.schedulePriority: missing field `priorityClassSource`",
        ),
    ] {
        assert_eq!(
            problem::<PropagationPolicy>(json!({ "spec": spec })),
            expected
        );
    }
}

#[test]
fn numbers_beyond_all_bounds_are_refused() {
    for text in ["99999999999999999999", "-1", "1e300"] {
        let document =
            format!(r#"{{"spec": {{"resourceModels": [{{"grade": {text}, "ranges": []}}]}}}}"#);
        let value = parse_json(document.as_bytes())
            .expect("numbers of JSON")
            .value;
        let refusal = problem::<Cluster>(value);
        assert!(
            refusal.starts_with("spec.resourceModels[0].grade: invalid"),
            "{refusal}"
        );
    }
    let refusal = problem::<ResourceBinding>(json!({ "spec": { "replicaRequirements": {
        "resourceRequest": { "cpu": "a lot" } } } }));
    assert!(
        refusal.starts_with("spec.replicaRequirements.resourceRequest.cpu: "),
        "{refusal}"
    );
}

#[test]
fn an_object_of_another_kind_says_what_was_expected() {
    let refusal = problem::<Cluster>(json!({ "apiVersion": "v1", "kind": "Pod" }));
    assert_eq!(
        refusal,
        "expected cluster.karmada.io/v1alpha1, Kind=Cluster, found v1, Kind=Pod"
    );
}

#[test]
fn deep_nesting_is_refused_before_the_stack_is_spent() {
    for depth in [200, 100_000] {
        let document = format!(
            r#"{{"spec": {{"workload": {{"manifests": [{}{}]}}}}}}"#,
            r#"{"a":"#.repeat(depth),
            "}".repeat(depth),
        );
        let refusal = parse_json(document.as_bytes())
            .expect_err("too deep")
            .to_string();
        assert!(
            refusal.starts_with("spec.workload.manifests[0].a.a"),
            "{refusal}"
        );
        let typed =
            serde_json::from_slice::<karavel_api::work::v1alpha1::Work>(document.as_bytes());
        assert!(typed.is_err());
    }
}

#[test]
fn null_stands_for_nothing_wherever_go_accepts_it() {
    let policy: PropagationPolicy = serde_json::from_value(json!({
        "metadata": null,
        "spec": {
            "resourceSelectors": null, "association": null, "placement": null, "priority": null, "schedulerName": null,
            "dependentOverrides": null, "suspension": { "dispatchingOnClusters": { "clusterNames": null } },
        },
    }))
    .expect("nulls are nothing");
    assert_eq!(policy.spec.resource_selectors, []);
    let binding: ResourceBinding = serde_json::from_value(json!({
        "spec": {
            "clusters": null, "replicas": null, "suspension": { "dispatching": null, "scheduling": null },
            "placement": { "clusterAffinities": [{ "affinityName": null, "clusterNames": null }] },
        },
        "status": null,
    }))
    .expect("nulls are nothing");
    assert_eq!(binding.spec.replicas, 0);
}

//! Quotas, works and bindings in, what is written out.

use std::collections::BTreeSet;

use api::work::v1alpha2::ResourceBindingSpec;
use intent::Plan;
use object::{Object, ObjectKey};

use super::plan::{Inputs, Quota, count, share};
use crate::{
    told::{done, one},
    views::UNTIL_IN_VIEW,
};

const QUOTA: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: q, namespace: shop, uid: u, resourceVersion: '3'}, spec: {overall: {cpu: '10', memory: 1Gi}, staticAssignments: [{clusterName: m1, hard: {cpu: '4'}}, {clusterName: m9, hard: {cpu: '1'}}]}, status: STATUS}";

struct Case<'a> {
    quota: Option<&'a str>,
    works: &'a [Object],
    bindings: Option<&'a [ResourceBindingSpec]>,
}

/// What is shared and what is counted, one after the other.
fn plans(case: &Case<'_>) -> (String, String) {
    let (shared, counted) = decide(case, true);
    (done(&shared), done(&counted))
}

fn decide(case: &Case<'_>, are_all: bool) -> (Plan, Plan) {
    let object = case.quota.map(one);
    let quota = object
        .as_ref()
        .map(|object| api::read::read(object).unwrap());
    let works: Vec<&Object> = case.works.iter().collect();
    let clusters: BTreeSet<String> = ["m1", "m2"].map(str::to_owned).into();
    let inputs = Inputs {
        key: &ObjectKey::namespaced("shop", "q"),
        quota: object
            .as_ref()
            .zip(quota.as_ref())
            .map(|(object, quota)| Quota { object, quota }),
        clusters: &clusters,
        works: &works,
        are_all,
        bindings: case.bindings,
    };
    (share(&inputs), count(&inputs))
}

fn work(cluster: &str, status: &str) -> Object {
    one(&format!(
        "{{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {{name: q-74857b9d, namespace: karmada-es-{cluster}, uid: w, resourceVersion: '5', labels: {{federatedresourcequota.karmada.io/namespace: shop, federatedresourcequota.karmada.io/name: q}}}}, status: {status}}}"
    ))
}

#[test]
fn a_share_becomes_a_work_in_a_member_that_is_there() {
    let quota = QUOTA.replace("STATUS", "{}");
    let (shared, counted) = plans(&Case {
        quota: Some(&quota),
        works: &[],
        bindings: None,
    });
    let lines: Vec<&str> = shared.lines().collect();
    assert_eq!(
        lines.len(),
        1,
        "no work for a cluster that is not there: {shared}"
    );
    assert!(
        lines[0].starts_with("create Work karmada-es-m1/q-"),
        "{shared}"
    );
    for part in [
        r#""kind":"ResourceQuota""#,
        r#""hard":{"cpu":"4"}"#,
        r#""karmada.io/managed":"true""#,
        r#""federatedresourcequota.karmada.io/name":"q""#,
        r#""finalizers":["karmada.io/execution-controller"]"#,
    ] {
        assert!(shared.contains(part), "{part} in {shared}");
    }
    assert_eq!(
        counted,
        r#"patch FederatedResourceQuota shop/q/status@3 {"status":{"overall":{"cpu":"10","memory":"1Gi"}}}"#
    );
}

#[test]
fn works_go_with_their_share_and_with_their_quota() {
    let quota = QUOTA.replace("STATUS", "{overall: {cpu: '10', memory: 1Gi}}");
    let stray = [work("m2", "{}")];
    let (shared, _) = plans(&Case {
        quota: Some(&quota),
        works: &stray,
        bindings: None,
    });
    assert!(
        shared.contains(
            "delete Work karmada-es-m2/q-74857b9d: quota shop/q assigns nothing to cluster m2"
        ),
        "{shared}"
    );
    let (shared, counted) = plans(&Case {
        quota: None,
        works: &stray,
        bindings: None,
    });
    assert_eq!(
        (shared.as_str(), counted.as_str()),
        (
            "delete Work karmada-es-m2/q-74857b9d: its quota shop/q is gone",
            "nothing"
        )
    );
}

#[test]
fn a_quota_that_may_be_gone_is_looked_for_again() {
    let case = Case {
        quota: None,
        works: &[work("m1", "{}")],
        bindings: None,
    };
    let (shared, counted) = decide(&case, false);
    assert_eq!(
        (done(&shared).as_str(), shared.wake, done(&counted).as_str()),
        ("nothing", UNTIL_IN_VIEW, "nothing")
    );
}

#[test]
fn what_members_use_is_summed_and_what_bindings_ask_for_where_it_is_enforced() {
    let quota = QUOTA.replace("STATUS", "{overall: {cpu: '10', memory: 1Gi}}");
    let reports = [
        work(
            "m1",
            "{conditions: [{type: Applied, status: 'True'}], manifestStatuses: [{status: {hard: {cpu: '4'}, used: {cpu: 1500m}}}]}",
        ),
        work(
            "m2",
            "{conditions: [{type: Applied, status: 'True'}], manifestStatuses: [{status: {hard: {cpu: '2'}, used: {cpu: '1'}}}]}",
        ),
    ];
    let (_, counted) = plans(&Case {
        quota: Some(&quota),
        works: &reports,
        bindings: None,
    });
    assert_eq!(
        counted,
        r#"patch FederatedResourceQuota shop/q/status@3 {"status":{"overallUsed":{"cpu":"2500m"},"aggregatedStatus":[{"clusterName":"m1","hard":{"cpu":"4"},"used":{"cpu":"1500m"}},{"clusterName":"m2","hard":{"cpu":"2"},"used":{"cpu":"1"}}]}}"#
    );
    let binding = |text: &str| serde_saphyr::from_str::<ResourceBindingSpec>(text).unwrap();
    let asked = [
        binding(
            "{replicaRequirements: {resourceRequest: {cpu: 500m, example.com/gpu: '1'}}, clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 1}]}",
        ),
        binding("{replicaRequirements: {resourceRequest: {cpu: '1'}}}"),
    ];
    let (_, counted) = plans(&Case {
        quota: Some(&quota),
        works: &[],
        bindings: Some(&asked),
    });
    assert_eq!(
        counted,
        r#"patch FederatedResourceQuota shop/q/status@3 {"status":{"overallUsed":{"cpu":"1500m"}}}"#
    );
}

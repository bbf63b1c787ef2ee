//! Which clusters a rule is for.

use api::{affinity::Affinity, policy::ClusterAffinity};
use object::field::FieldPath;

use super::cluster;
use crate::ClusterFacts;

const M1: &str = "{kind: Cluster, metadata: {name: m1, labels: {env: prod}}, spec: {provider: acme, region: eu, zones: [z1, z2]}}";
const BARE: &str = "{kind: Cluster, metadata: {name: bare}}";

/// What is said of m1 and of a cluster that says nothing about itself.
fn check(affinity: &str, of_m1: &str, of_bare: &str) {
    let affinity: ClusterAffinity = serde_saphyr::from_str(affinity).unwrap();
    let compiled = Affinity::compile(&affinity, &FieldPath::new("targetCluster"));
    for (document, expected) in [(M1, of_m1), (BARE, of_bare)] {
        let cluster = cluster(document);
        let found = match compiled.check(&ClusterFacts::from(&cluster)) {
            Ok(()) => "yes".to_owned(),
            Err(mismatch) => mismatch.to_string(),
        };
        assert_eq!(found, expected, "{affinity:?}");
    }
}

#[test]
fn names_and_exclusions() {
    check("{}", "yes", "yes");
    check(
        "{clusterNames: [m1, m2]}",
        "yes",
        "the cluster is not named",
    );
    check(
        "{clusterNames: [m1], exclude: [m1]}",
        "the cluster is excluded",
        "the cluster is not named",
    );
}

#[test]
fn labels() {
    check(
        "{labelSelector: {matchLabels: {env: prod}}}",
        "yes",
        "the cluster's labels do not satisfy env=prod",
    );
    check("{labelSelector: {}}", "yes", "yes");
    check(
        "{labelSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}",
        "the cluster's labels do not satisfy !env",
        "yes",
    );
}

#[test]
fn fields() {
    let by =
        |expression: &str| format!("{{fieldSelector: {{matchExpressions: [{{{expression}}}]}}}}");
    check(
        &by("key: provider, operator: In, values: [acme]"),
        "yes",
        "the cluster's fields do not satisfy provider in (acme)",
    );
    check(
        &by("key: provider, operator: NotIn, values: [acme]"),
        "the cluster's fields do not satisfy provider notin (acme)",
        "yes",
    );
    check(
        &by("key: region, operator: Exists"),
        "yes",
        "the cluster's fields do not satisfy region",
    );
    check(
        &by("key: region, operator: DoesNotExist"),
        "the cluster's fields do not satisfy !region",
        "yes",
    );
    check(
        &by("key: zone, operator: In, values: [z2, z9]"),
        "yes",
        "the cluster's fields do not satisfy zone In (z2,z9)",
    );
    check(
        &by("key: zone, operator: NotIn, values: [z2]"),
        "the cluster's fields do not satisfy zone NotIn (z2)",
        "yes",
    );
    check(
        &by("key: zone, operator: Exists"),
        "yes",
        "the cluster's fields do not satisfy zone Exists",
    );
    check(
        &by("key: zone, operator: DoesNotExist"),
        "the cluster's fields do not satisfy zone DoesNotExist",
        "yes",
    );
    check(
        &by("key: zone, operator: Gt, values: ['1']"),
        "the cluster's fields do not satisfy zone Gt (1)",
        "the cluster's fields do not satisfy zone Gt (1)",
    );
    check("{fieldSelector: {}}", "yes", "yes");
}

#[test]
fn all_parts_must_hold() {
    check(
        "{clusterNames: [m1], labelSelector: {matchLabels: {env: dev}}}",
        "the cluster's labels do not satisfy env=dev",
        "the cluster's labels do not satisfy env=dev",
    );
}

#[test]
fn what_cannot_be_understood_is_for_no_cluster_and_says_why() {
    let like = "the affinity is not valid: targetCluster.fieldSelector.matchExpressions[0].operator: \"Like\" is not an operator";
    check(
        "{fieldSelector: {matchExpressions: [{key: provider, operator: Like}]}}",
        like,
        like,
    );
    let bad = "the affinity is not valid: targetCluster.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator";
    check(
        "{labelSelector: {matchExpressions: [{key: a, operator: Like}]}}",
        bad,
        bad,
    );
}

//! Clusters with conditions in, what is written on them out.

use api::policy::ClusterTaintPolicy;
use failover::remedy::Prescription;
use object::time::Time;

use super::plan::{prescribe, taint};
use crate::told::{done, one};

fn cluster(labels: &str, taints: &str, status: &str) -> object::Object {
    one(&format!(
        "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: m1, uid: u, resourceVersion: '7', labels: {labels}}}, spec: {{taints: {taints}}}, status: {status}}}"
    ))
}

fn policy(name: &str, spec: &str) -> ClusterTaintPolicy {
    // Names are ages: `a` is the oldest.
    let age = name.bytes().next().unwrap_or_default() % 60;
    let text = format!(
        "{{metadata: {{name: {name}, creationTimestamp: '2026-01-02T03:00:{age:02}Z'}}, spec: {spec}}}"
    );
    serde_saphyr::from_str(&text).unwrap()
}

fn now() -> Time {
    "2026-01-02T04:00:00Z".parse().unwrap()
}

#[test]
fn conditions_put_taints_on_and_take_them_off() {
    let down = "{conditions: [{type: DnsReady, status: 'False'}]}";
    let up = "{conditions: [{type: DnsReady, status: 'True'}]}";
    let taints = "taints: [{key: dns, value: down, effect: NoSchedule}]";
    let both = format!(
        "{{addOnConditions: [{{conditionType: DnsReady, operator: In, statusValues: ['False']}}], removeOnConditions: [{{conditionType: DnsReady, operator: NotIn, statusValues: ['False']}}], {taints}}}"
    );
    let none = format!("{{addOnConditions: [], {taints}}}");
    let odd = format!(
        "{{addOnConditions: [{{conditionType: DnsReady, operator: Like, statusValues: ['False']}}], {taints}}}"
    );
    let prod = both.replacen(
        '{',
        "{targetClusters: {labelSelector: {matchLabels: {tier: prod}}}, ",
        1,
    );
    let added = r#"patch Cluster m1@7 {"spec":{"taints":[{"key":"dns","value":"down","effect":"NoSchedule","timeAdded":"2026-01-02T04:00:00Z"}]}}"#;
    let tainted = "[{key: dns, value: other, effect: NoSchedule}]";
    for (spec, labels, has, status, expected) in [
        (both.as_str(), "{}", "[]", down, added),
        (&both, "{}", "[]", up, "nothing"),
        // Value differences are not looked at.
        (&both, "{}", tainted, down, "nothing"),
        (
            &both,
            "{}",
            tainted,
            up,
            r#"patch Cluster m1@7 {"spec":{"taints":[]}}"#,
        ),
        // A condition that is not there matches nothing, not even `NotIn`.
        (&both, "{}", tainted, "{}", "nothing"),
        (&none, "{}", "[]", down, "nothing"),
        (&odd, "{}", "[]", down, "nothing"),
        (&prod, "{}", "[]", down, "nothing"),
        (&prod, "{tier: prod}", "[]", down, added),
    ] {
        let plan = taint(&cluster(labels, has, status), &[policy("a", spec)], now());
        assert_eq!(done(&plan), expected, "{spec} {labels} {has} {status}");
    }
}

#[test]
fn the_younger_policy_wins_whatever_order_they_come_in() {
    let down = "{conditions: [{type: Ready, status: 'False'}]}";
    let rule = |list: &str| {
        format!(
            "{{{list}: [{{conditionType: Ready, operator: In, statusValues: ['False']}}], taints: [{{key: k, effect: NoExecute}}]}}"
        )
    };
    let (adds, removes) = (rule("addOnConditions"), rule("removeOnConditions"));
    let older_adds = [policy("b", &removes), policy("a", &adds)];
    assert_eq!(
        done(&taint(&cluster("{}", "[]", down), &older_adds, now())),
        "nothing"
    );
    let older_removes = [policy("b", &adds), policy("a", &removes)];
    assert!(
        done(&taint(&cluster("{}", "[]", down), &older_removes, now())).contains(r#""key":"k""#)
    );
}

#[test]
fn remedies_are_called_for_by_conditions() {
    let prescription = |spec: &str| {
        let object = one(&format!("{{metadata: {{name: r}}, spec: {spec}}}"));
        Prescription {
            is_conditional: object.at(&["spec", "decisionMatches"]).is_some(),
            remedy: serde_saphyr::from_str(&format!("{{spec: {spec}}}")).unwrap(),
        }
    };
    let act = "actions: [TrafficControl]";
    let matches = |operator: &str| {
        format!(
            "{{{act}, decisionMatches: [{{clusterConditionMatch: {{conditionType: Dns, operator: {operator}, conditionStatus: 'False'}}}}]}}"
        )
    };
    let on = r#"patch Cluster m1/status {"status":{"remedyActions":["TrafficControl"]}}"#;
    let off = r#"patch Cluster m1/status {"status":{"remedyActions":null}}"#;
    let down = "{conditions: [{type: Dns, status: 'False'}]}";
    let acting = "{remedyActions: [TrafficControl], conditions: [{type: Dns, status: 'True'}]}";
    for (spec, status, expected) in [
        (format!("{{{act}}}"), "{}", on),
        (format!("{{{act}, decisionMatches: []}}"), "{}", "nothing"),
        (format!("{{{act}, clusterAffinity: {{}}}}"), "{}", "nothing"),
        (
            format!("{{{act}, clusterAffinity: {{clusterNames: [m1]}}}}"),
            "{}",
            on,
        ),
        (
            format!("{{{act}, clusterAffinity: {{clusterNames: [m2]}}}}"),
            "{}",
            "nothing",
        ),
        (matches("Equal"), down, on),
        (matches("NotEqual"), down, "nothing"),
        (matches("NotEqual"), "{}", "nothing"),
        (matches("Equal"), acting, off),
        (matches("NotEqual"), acting, "nothing"),
    ] {
        let plan = prescribe(&cluster("{}", "[]", status), &[prescription(&spec)]);
        assert_eq!(done(&plan), expected, "{spec} {status}");
    }
    let plan = prescribe(&cluster("{}", "[]", acting), &[]);
    assert_eq!(done(&plan), off, "deleted");
}

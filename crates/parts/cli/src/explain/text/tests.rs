//! Pages as people see them.

use serde_json::json;

use super::*;

fn check(told: Value, expected: &str) {
    let page = write(&told);
    assert_eq!(page.trim_end(), expected.trim());
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
}

#[test]
fn a_template_nobody_claims_says_so() {
    check(
        json!({
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
            "policy": {"state": "unclaimed"},
        }),
        "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     none",
    );
}

#[test]
fn clusters_may_get_another_version_than_the_one_asked_for() {
    for (sent, expected) in [
        ("autoscaling/v1", "clusters get it as autoscaling/v1"),
        ("autoscaling/v2", ""),
    ] {
        let page = write(&json!({
            "template": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "a", "namespace": "shop"},
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-horizontalpodautoscaler", "sentAs": sent},
        }));
        let mut lines = page.lines().map(str::trim_start);
        let found = lines.find(|line| line.starts_with("clusters get it"));
        assert_eq!(found.unwrap_or_default(), expected);
    }
}

#[test]
fn what_found_no_place_was_looked_at_and_doubts_are_told() {
    let told = |conditions: Value| {
        json!({
            "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "shop", "generation": 1},
            "policy": {"state": "unclaimed"},
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-deployment", "generation": 2, "conditions": conditions},
            "decision": null,
            "doubts": ["nobody knows"],
        })
    };
    check(
        told(
            json!([{"type": "Scheduled", "status": "False", "reason": "NoClusterFit", "message": "0/3"}]),
        ),
        "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Note        nobody knows
Binding     ResourceBinding shop/a-deployment
            Scheduled False (NoClusterFit): 0/3
Decision    none is on record
Clusters    none",
    );
    check(
        told(json!([])),
        "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Note        nobody knows
Binding     ResourceBinding shop/a-deployment
            the scheduler has not looked at its newest state yet
Decision    none is on record
Clusters    none",
    );
}

#[test]
fn what_comes_along_with_others_says_with_whom_and_where() {
    check(
        json!({
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "namespace": "shop", "generation": 0},
            "policy": {"state": "unclaimed"},
            "requiredBy": [{
                "binding": {"namespace": "shop", "name": "web-deployment"},
                "template": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
                "clusters": [{"name": "east", "replicas": 2}, {"name": "west", "replicas": 1}],
            }],
            "leftAlone": "where it goes is decided with those that need it",
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "settings-configmap", "generation": 3},
            "clusters": [
                {"name": "east", "target": true, "replicas": null, "works": [{"namespace": "karmada-es-east", "name": "w"}], "member": {"present": true, "generation": 0}},
                {"name": "west", "target": true, "replicas": null, "works": [], "health": "Healthy", "member": {"present": null, "why": "it cannot be asked now (no answer)"}},
            ],
        }),
        "
ConfigMap   shop/settings (v1, generation 0)
Policy      none of its own: it comes along with others
            Deployment shop/web needs it in east, west
Binding     ResourceBinding shop/settings-configmap
            where it goes is decided with those that need it

east        chosen
            Work karmada-es-east/w
            in the member: generation 0

west        chosen, Healthy
            no Work
            in the member: it cannot be asked now (no answer)",
    );
}

#[test]
fn a_namespace_goes_everywhere_or_says_why_not() {
    let told = |travels: Value, clusters: Value| {
        json!({
            "template": {"apiVersion": "v1", "kind": "Namespace", "name": "shop", "generation": 0},
            "policy": {"state": "unclaimed"}, "travels": travels, "clusters": clusters,
        })
    };
    check(
        told(
            json!({"everywhere": true}),
            json!([{"name": "east", "target": true, "works": [{"namespace": "karmada-es-east", "name": "w"}], "member": {"present": true, "generation": 0, "status": {"phase": "Active"}}}]),
        ),
        "
Namespace   shop (v1, generation 0)
Policy      none is needed: namespaces go to every cluster by themselves
Binding     none

east        chosen
            Work karmada-es-east/w
            in the member: generation 0 phase=\"Active\"",
    );
    check(
        told(
            json!({"everywhere": false, "why": "it has opted out"}),
            json!([]),
        ),
        "
Namespace   shop (v1, generation 0)
Policy      none: it goes to no cluster: it has opted out
Binding     none
Clusters    none",
    );
}

#[test]
fn why_something_did_not_arrive_is_said_once() {
    let told = |works: Value| {
        json!({
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
            "policy": {"state": "unclaimed"},
            "leftAlone": "nobody decides",
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
            "clusters": [{"name": "east", "target": true, "works": works, "appliedMessage": "it stands in the way", "member": null}],
        })
    };
    let head = "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-configmap
            nobody decides

east        chosen";
    let condition = json!({"type": "Applied", "status": "False", "reason": "AppliedFailed", "message": "it stands in the way"});
    check(
        told(
            json!([{"namespace": "karmada-es-east", "name": "w", "conditions": [condition.clone()]}]),
        ),
        &format!(
            "{head}
            Work karmada-es-east/w
            Applied False (AppliedFailed): it stands in the way"
        ),
    );
    check(
        told(
            json!([{"namespace": "karmada-es-east", "name": "w", "suspended": true, "deleting": true, "conditions": [condition]}]),
        ),
        &format!(
            "{head}
            Work karmada-es-east/w, being deleted
            Applied False (AppliedFailed): it stands in the way"
        ),
    );
    // Whoever may not see works is told by the binding.
    check(
        told(Value::Null),
        &format!(
            "{head}
            it stands in the way"
        ),
    );
}

#[test]
fn a_cluster_that_was_asked_for_is_told_of_and_decisions_are_not_repeated() {
    let made = |at: &str| json!({"at": at, "outcome": "{west:1}", "trigger": "every cluster gets the same"});
    let mut decision = made("T3");
    decision["diagnosis"] = json!({"attempts": []});
    check(
        json!({
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
            "policy": {"state": "unclaimed"},
            "asked": "east",
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
            "decision": decision,
            "earlier": [made("T2"), made("T1"), {"at": "T0", "outcome": "{east:1}", "trigger": "it had no place"}],
            "clusters": [{
                "name": "east", "target": false, "notChosen": "refused by ClusterAffinity", "works": [],
                "verdict": {"passed": false, "refusals": [{"filter": "ClusterAffinity", "reason": "it is not named"}]},
            }],
        }),
        "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-configmap
Decision    T3 {west:1} (every cluster gets the same); the same 3 times since T1
            before: T0 {east:1} (it had no place)

CLUSTER   VERDICT   SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
east      refused   -       -      -     -        -       -
east: ClusterAffinity says: it is not named

east        not chosen: refused by ClusterAffinity",
    );
}

#[test]
fn a_cluster_that_came_later_is_not_refused_and_one_that_is_not_there_is_named() {
    check(
        json!({
            "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
            "policy": {"state": "unclaimed"},
            "unknownClusters": ["the placement names the cluster \"tokyo\", and there is none"],
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
            "decision": {"at": "T1", "outcome": "{west:1}", "trigger": "it had no place", "diagnosis": {"attempts": []}},
            "clusters": [
                {"name": "east", "target": false, "verdict": {"considered": false, "passed": false, "refusals": []}},
                {"name": "west", "target": false, "verdict": {"considered": true, "passed": true, "selected": true}},
            ],
        }),
        "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Note        the placement names the cluster \"tokyo\", and there is none
Binding     ResourceBinding shop/a-configmap
Decision    T1 {west:1} (it had no place)

CLUSTER   VERDICT    SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
west      selected   -       -      -     -        -       -
east      not seen   -       -      -     -        -       -
east: not there at the last decision, and not considered yet
Clusters    none",
    );
}

#[test]
fn where_there_is_no_room_it_says_for_want_of_what_and_who_was_not_heard() {
    let full = |name: &str, limit: &str| json!({"name": name, "target": false, "verdict": {"considered": true, "passed": true, "fits": 0, "estimate": limit}});
    check(
        json!({
            "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "shop", "generation": 1},
            "policy": {"state": "unclaimed"},
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-deployment"},
            "decision": {"at": "T1", "outcome": "Unschedulable: no room", "trigger": "it had no place",
                "diagnosis": {"attempts": [], "unheard": [{"plugin": "Carbon", "why": "it answered 500"}]}},
            "clusters": [full("east", "limited by cpu"), full("north", "limited by modelled nodes"), full("west", "limited by cpu")],
        }),
        "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-deployment
Decision    T1 Unschedulable: no room (it had no place)
            without the plugin Carbon: it answered 500

CLUSTER   VERDICT   SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
east      passed    -       0      -     -        -       -
north     passed    -       0      -     -        -       -
west      passed    -       0      -     -        -       -
no room in east, west: limited by cpu
no room in north: limited by modelled nodes
Clusters    none",
    );
}

#[test]
fn what_another_scheduler_decides_is_not_waited_for_here() {
    check(
        json!({
            "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "shop", "generation": 1},
            "policy": {"state": "unclaimed"},
            "leftAlone": "where it goes is left to the scheduler \"mine\"",
            "heldBack": "what its author changes is held back",
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-deployment", "generation": 2, "placement": {},
                "conditions": [{"type": "FullyApplied", "status": "True", "reason": "Fine"}, {"type": "Scheduled", "status": "True", "reason": "Fine"}]},
            "decision": null,
        }),
        "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-deployment
            where it goes is left to the scheduler \"mine\"
            what its author changes is held back
            Scheduled True (Fine)
            FullyApplied True (Fine)
Clusters    none",
    );
}

#[test]
fn every_cluster_says_why_it_was_chosen_and_what_became_of_it() {
    let condition = json!({"type": "Applied", "status": "True", "reason": "Fine", "message": ""});
    check(
        json!({
            "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop", "generation": 3},
            "policy": {
                "state": "applied",
                "chosen": {"kind": "PropagationPolicy", "namespace": "shop", "name": "p", "selects": "by name", "priority": 0},
                "others": [{"kind": "ClusterPropagationPolicy", "name": "all", "lost": "it lost"}],
            },
            "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "web-deployment", "replicas": 3, "generation": 2, "schedulerObservedGeneration": 2},
            "decision": {"at": "2026-01-01T00:00:00Z", "outcome": "{west:3}", "trigger": "replicas changed", "attempt": 2, "diagnosis": {"attempts": [
                {"steps": [{"mode": "static weights", "replicas": 3}]},
            ]}},
            "changed": ["3 replicas are wanted instead of 2"],
            "earlier": [],
            "clusters": [
                {"name": "east", "target": false, "verdict": {"passed": false, "refusals": [{"filter": "TaintToleration", "reason": "it is tainted"}]}},
                {
                    "name": "west", "target": true, "replicas": 3, "health": "Healthy",
                    "verdict": {"passed": true, "selected": true, "scores": {"a": 100}, "fits": 9, "running": 2, "shares": [{"weight": 1, "quota": "3"}]},
                    "overrides": {"rules": [
                        {"kind": "OverridePolicy", "namespace": "shop", "name": "o", "rule": 0, "applied": true, "changes": [{"path": "/spec/x", "before": 1, "after": 2}]},
                        {"kind": "OverridePolicy", "namespace": "shop", "name": "q", "rule": 0, "applied": false, "why": "the cluster is excluded"},
                    ]},
                    "works": [{"namespace": "karmada-es-west", "name": "w", "conditions": [condition]}],
                    "member": {"present": true, "generation": 4, "status": {"replicas": 3, "conditions": []}},
                },
            ],
        }),
        "
Deployment  shop/web (apps/v1, generation 3)
Policy      PropagationPolicy shop/p, selects by name, priority 0
            not ClusterPropagationPolicy all: it lost
Binding     ResourceBinding shop/web-deployment, 3 replicas
Decision    2026-01-01T00:00:00Z {west:3} (replicas changed, attempt 2)
            changed: 3 replicas are wanted instead of 2
Division    static weights of 3 replicas

CLUSTER   VERDICT    SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
west      selected   100     9      2     1        3       3
east      refused    -       -      -     -        -       -
east: TaintToleration says: it is tainted

west        3 replicas, Healthy
            OverridePolicy shop/o, rule 1
              ~ /spec/x 1 -> 2
            OverridePolicy shop/q, rule 1: not for it: the cluster is excluded
            Work karmada-es-west/w
            Applied True (Fine)
            in the member: generation 4 replicas=3",
    );
}

#[test]
fn a_tie_that_was_broken_is_told() {
    let rows = |rows: &[(&str, i64, i64)]| -> Vec<Value> {
        let rows = rows.iter();
        rows.map(|(cluster, weight, given)| json!({"cluster": cluster, "weight": weight, "given": given}))
            .collect()
    };
    for (step, expected) in [
        (vec![("a", 1, 2), ("b", 1, 1), ("c", 1, 1)], Some("first")),
        (vec![("c", 1, 2), ("b", 1, 1), ("a", 1, 1)], Some("last")),
        (vec![("a", 2, 2), ("b", 1, 1)], None),
        (vec![("a", 1, 1), ("b", 1, 1)], None),
        (vec![], None),
    ] {
        assert_eq!(broken_tie(&rows(&step)), expected, "{step:?}");
    }
}

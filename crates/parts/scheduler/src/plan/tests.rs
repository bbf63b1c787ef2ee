//! What is written for which decision, as patches.

use std::{collections::BTreeMap, sync::Arc};

use object::condition::find;
use schedule::{
    Inputs, Options, Step,
    cluster::{ClusterFacts, Pool, Snapshot},
    plugin::{Peer, Peers, Registry, Unheard, WorkloadGroups},
};
use serde_json::json;

use super::*;
use crate::placements::Placements;

const TEN: i64 = 10;

fn now() -> Time {
    Time::from_unix_seconds(TEN)
}

/// A world of one binding: a Deployment with 4 replicas, divided by room over m1 (10 free) and m2 (30 free).
struct World {
    object: Object,
    clusters: Vec<Value>,
    trigger: Trigger,
    unheard: Vec<Unheard>,
    peers: Peers,
}

impl World {
    fn new(changes: Value) -> Self {
        let base = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "shop", "name": "web-deployment", "uid": "u", "resourceVersion": "7", "generation": 3},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "t"},
                "replicas": 4,
                "placement": {"replicaScheduling": {
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
                }},
            },
        });
        let cluster = |name: &str, pods: &str| {
            json!({
                "metadata": {"name": name},
                "status": {
                    "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}],
                    "resourceSummary": {"allocatable": {"pods": pods}},
                },
            })
        };
        Self {
            object: Object::from_value(patch::merge(&base, &changes)).unwrap(),
            clusters: vec![cluster("m1", "10"), cluster("m2", "30")],
            trigger: Trigger::PlacementChanged,
            unheard: Vec::new(),
            peers: Peers::default(),
        }
    }

    fn decide(&self, bound: &Bound, prepared: &Prepared) -> Decision {
        let mut plugins = Registry::in_tree(WorkloadGroups::On).enable(&["*"]);
        plugins.unheard.clone_from(&self.unheard);
        let mut pool = Pool::default();
        let clusters = self.clusters.iter().map(|value| {
            let cluster = object::parse::shape(value).unwrap();
            Arc::new(ClusterFacts::of(&cluster, &mut pool))
        });
        schedule::schedule(&Inputs {
            binding: bound.view(),
            placement: &prepared.compiled,
            clusters: &Snapshot::new(clusters.collect::<Vec<_>>()),
            estimates: &[],
            assumed: &BTreeMap::new(),
            peers: &self.peers,
            plugins: &plugins,
            options: Options::default(),
        })
    }

    fn prepared(&self) -> Arc<Prepared> {
        let placement = self.object.at(&["spec", "placement"]).unwrap();
        Placements::default().prepare(placement).unwrap()
    }

    /// The patches of result and status, what becomes of the binding in the queue, and how many events there are.
    fn play(&self, writing: Writing) -> (Option<Value>, Option<Value>, Ending, usize) {
        self.play_again(writing, 1)
    }

    /// The same in the so many-eth attempt in a row.
    fn play_again(
        &self,
        writing: Writing,
        attempt: u32,
    ) -> (Option<Value>, Option<Value>, Ending, usize) {
        let bound = Bound::read(&self.object).unwrap();
        let prepared = self.prepared();
        let decision = self.decide(&bound, &prepared);
        let result = result(&bound, &prepared, &decision);
        let is_changed = result.is_some() && writing == Writing::Done;
        let written = Written {
            writing,
            is_changed,
            status: &bound.status,
            generation: bound.metadata.generation + i64::from(is_changed),
        };
        let status = status(&decision, &written, self.trigger, now());
        let news = News::of(attempt, status.is_some());
        let events = events(&bound, &self.object, &decision, &written, news);
        (result, status, ending(&decision, &written), events.len())
    }
}

const PLACEMENT: &str = r#"{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"dynamicWeight":"AvailableReplicas"}}}"#;

/// A binding that was decided, with all that says so.
fn decided() -> Value {
    json!({
        "metadata": {"annotations": {"policy.karmada.io/applied-placement": PLACEMENT}},
        "spec": {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 3}]},
        "status": {
            "schedulerObservedGeneration": 3, "lastScheduledTime": "1970-01-01T00:00:05Z",
            "conditions": [
                {"type": "FullyApplied", "status": "True", "reason": "FullyAppliedSuccess", "message": "", "lastTransitionTime": "1970-01-01T00:00:06Z"},
                {"type": "Scheduled", "status": "True", "reason": "Success", "message": "Binding has been scheduled successfully.", "lastTransitionTime": "1970-01-01T00:00:05Z"},
            ],
        },
    })
}

#[test]
fn a_first_decision_is_one_patch_of_each_part() {
    let (result, status, ending, events) = World::new(json!({})).play(Writing::Done);
    assert_eq!(
        result.unwrap(),
        json!({
            "metadata": {"annotations": {"policy.karmada.io/applied-placement": PLACEMENT}},
            "spec": {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 3}]},
        })
    );
    assert_eq!(
        status.unwrap(),
        json!({"status": {
            "schedulerObservedGeneration": 4, "lastScheduledTime": "1970-01-01T00:00:10Z",
            "conditions": [{
                "type": "Scheduled", "status": "True", "reason": "Success",
                "message": "Binding has been scheduled successfully.", "lastTransitionTime": "1970-01-01T00:00:10Z",
            }],
        }})
    );
    // On the binding and on the template.
    assert_eq!((ending, events), (Ending::Settled(4), 2));
}

#[test]
fn a_decision_that_changes_nothing_writes_nothing() {
    let played = World::new(decided()).play(Writing::Done);
    assert_eq!(played, (None, None, Ending::Settled(3), 0));
    // The list of targets is a set.
    let mut turned = decided();
    turned["spec"]["clusters"].as_array_mut().unwrap().reverse();
    assert_eq!(World::new(turned).play(Writing::Done).0, None);
}

#[test]
fn a_fresh_decision_that_was_asked_for_is_dated_even_so() {
    let mut world = World::new(decided());
    world.trigger = Trigger::FreshWanted;
    let (result, status, ..) = world.play(Writing::Done);
    assert_eq!(result, None);
    assert_eq!(
        status.unwrap(),
        json!({"status": {"lastScheduledTime": "1970-01-01T00:00:10Z"}})
    );
}

#[test]
fn for_want_of_room_targets_stay_and_the_condition_says_why() {
    let mut world = World::new(decided());
    world.object.set(&["spec", "replicas"], 100).unwrap();
    let (result, status, ending, events) = world.play(Writing::Done);
    assert_eq!((result, ending, events), (None, Ending::Unschedulable, 2));
    let patch = status.unwrap();
    let conditions = object::parse::shape::<Vec<_>, _>(&patch["status"]["conditions"]).unwrap();
    let scheduled = find(&conditions, "Scheduled").unwrap();
    assert_eq!(scheduled.reason, "Unschedulable");
    // Other conditions are carried along, because the list is written whole; nothing else is touched.
    assert!(find(&conditions, "FullyApplied").is_some());
    assert_eq!(patch["status"].as_object().unwrap().len(), 1);
    // The same failure once more is not worth a write.
    let again = patch::merge(&world.object.clone().into_value(), &patch);
    world.object = Object::from_value(again).unwrap();
    // The first attempts after it come soon and say nothing new; later ones tell it again.
    for (attempt, expected) in [(1, 2), (2, 0), (5, 0), (6, 2)] {
        let (_, status, ending, events) = world.play_again(Writing::Done, attempt);
        assert_eq!((status, ending), (None, Ending::Unschedulable));
        assert_eq!(events, expected, "attempt {attempt}");
    }
}

#[test]
fn room_that_spread_constraints_ask_for_is_waited_for_like_any() {
    let mut world = World::new(decided());
    world.object.set(&["spec", "replicas"], 100).unwrap();
    let spread = json!([{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]);
    let path = ["spec", "placement", "spreadConstraints"];
    world.object.set(&path, spread).unwrap();
    let (_, status, ending, _) = world.play(Writing::Done);
    assert_eq!(ending, Ending::Unschedulable);
    let condition = &status.unwrap()["status"]["conditions"][1];
    assert_eq!(condition["reason"], "SchedulerError");
}

#[test]
fn without_somebody_who_must_be_heard_targets_stay_and_it_is_tried_again_soon() {
    let mut changes = decided();
    changes["spec"]["replicas"] = json!(6);
    let mut world = World::new(changes);
    for (ends, is_placed, expected) in [
        (None, true, Ending::Settled(4)),
        (Some(Step::Filter), false, Ending::Unheard),
        (Some(Step::Score), false, Ending::Unheard),
    ] {
        world.unheard = vec![Unheard {
            plugin: "Carbon".into(),
            why: "late".into(),
            ends,
        }];
        let (result, _, ending, events) = world.play(Writing::Done);
        assert_eq!((result.is_some(), ending, events), (is_placed, expected, 2));
    }
}

#[test]
fn nothing_is_taken_away_while_somebody_is_to_be_heard_about_a_later_group() {
    let late = |ends| Unheard {
        plugin: "Carbon".into(),
        why: "late".into(),
        ends: Some(ends),
    };
    let cleared = Some(json!({"clusters": null}));
    // The first group is m1, which it is told to leave.
    for (second, ends, spec, expected) in [
        ("m2", Step::Filter, None, Ending::Unheard),
        ("m2", Step::Score, None, Ending::Unheard),
        // Nobody is to be heard about a group without clusters.
        ("m9", Step::Filter, cleared, Ending::Settled(4)),
    ] {
        let group = |name: &str, cluster| json!({"affinityName": name, "clusterNames": [cluster]});
        let mut changes = decided();
        changes["spec"] = json!({
            "clusters": [{"name": "m1", "replicas": 4}],
            "gracefulEvictionTasks": [{"fromCluster": "m1", "producer": "test", "reason": "test"}],
            "placement": {"clusterAffinities": [group("primary", "m1"), group("backup", second)]},
        });
        let mut world = World::new(changes);
        world.unheard = vec![late(ends)];
        let (result, _, ending, _) = world.play(Writing::Done);
        let result = result.map(|result| result["spec"].clone());
        assert_eq!((result, ending), (spec, expected), "{second} {ends:?}");
    }
}

#[test]
fn a_refusal_waits_for_others_of_its_groups_only_where_they_matter() {
    let peer = |cluster: &str, is_meant| Peer {
        clusters: vec![cluster.into()],
        is_meant,
        ..Peer::default()
    };
    for (clusters, peers, expected) in [
        (["m1"], vec![peer("m1", true)], true),
        (["m1"], vec![peer("m1", false)], false),
        (["m1"], vec![peer("m1", false), peer("m2", true)], true),
        // Its group has nothing against it.
        (["m9"], vec![], false),
        // It has a place.
        (["m2"], vec![peer("m1", true)], false),
    ] {
        let mut world = World::new(json!({"spec": {
            "workloadAffinityGroups": {"antiAffinityGroup": "app=web"},
            "placement": {"clusterAffinity": {"clusterNames": clusters}},
        }}));
        world.peers.anti_affinity = peers;
        let bound = Bound::read(&world.object).unwrap();
        let decision = world.decide(&bound, &world.prepared());
        let hangs = hangs_on_peers(&decision, &world.peers);
        assert_eq!(hangs, expected, "{clusters:?} {:?}", world.peers);
    }
}

#[test]
fn where_no_cluster_is_allowed_targets_go_and_nobody_tries_again() {
    let mut changes = decided();
    changes["spec"]["placement"] = json!({"clusterAffinity": {"clusterNames": ["m9"]}});
    let (result, status, ending, _) = World::new(changes).play(Writing::Done);
    let result = result.unwrap();
    assert_eq!(result["spec"], json!({"clusters": null}));
    assert_eq!(ending, Ending::Settled(4));
    let condition = &status.unwrap()["status"]["conditions"][1];
    assert_eq!(condition["reason"], "NoClusterFit");
    assert_eq!(
        condition["message"],
        "0/2 clusters are available: 2 cluster(s) did not match the placement cluster affinity constraint."
    );
}

#[test]
fn whom_a_division_goes_without_is_noted_until_it_serves_the_kind() {
    let note = "karavel.io/clusters-without-kind";
    let mut world = World::new(json!({}));
    world.clusters[1]["status"]["apiEnablements"] = json!([]);
    let result = world.play(Writing::Done).0.unwrap();
    assert_eq!(
        result,
        json!({
            "metadata": {"annotations": {"policy.karmada.io/applied-placement": PLACEMENT, note: "m2"}},
            "spec": {"clusters": [{"name": "m1", "replicas": 4}]},
        })
    );
    // The part for decisions takes no note but that of the placement.
    assert!(!is_for_placing(&result));
    let mut taken = patch::merge(&world.object.clone().into_value(), &result);
    taken["status"] = decided()["status"].clone();
    world.object = Object::from_value(taken).unwrap();
    assert_eq!(
        world.play(Writing::Done),
        (None, None, Ending::Settled(3), 0)
    );
    world.clusters = World::new(json!({})).clusters;
    let result = world.play(Writing::Done).0.unwrap();
    assert_eq!(
        result,
        json!({
            "metadata": {"annotations": {note: null}},
            "spec": {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 3}]},
        })
    );
    assert!(is_for_placing(
        &World::new(json!({})).play(Writing::Done).0.unwrap()
    ));
}

#[test]
fn a_cluster_that_goes_is_let_go_even_if_nothing_else_fits() {
    let mut world = World::new(decided());
    world.object.set(&["spec", "replicas"], 100).unwrap();
    world.clusters[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let (result, status, ending, events) = world.play(Writing::Done);
    // The placement has led to nothing, so its note is not touched.
    assert_eq!(
        result.unwrap(),
        json!({"spec": {"clusters": [{"name": "m2", "replicas": 3}]}})
    );
    assert_eq!((ending, events), (Ending::Unschedulable, 2));
    let condition = &status.unwrap()["status"]["conditions"][1];
    assert_eq!(condition["reason"], "Unschedulable");
    let message = condition["message"].as_str().unwrap();
    assert!(
        message
            .ends_with("(taken off m1: removed from the fleet; what was there waits for a place)"),
        "{message}"
    );
}

#[test]
fn a_result_that_cannot_be_written_is_tried_again() {
    let cases = [
        (Writing::QuotaExceeded("quota".to_owned()), "QuotaExceeded"),
        (Writing::Failed("down".to_owned()), "SchedulerError"),
    ];
    for (writing, reason) in cases {
        let (_, status, ending, events) = World::new(json!({})).play(writing);
        let status = status.unwrap();
        assert_eq!(status["status"]["conditions"][0]["reason"], reason);
        assert_eq!(status["status"].get("schedulerObservedGeneration"), None);
        assert_eq!((ending, events), (Ending::Failed, 2));
    }
}

#[test]
fn a_binding_that_needs_nothing_is_marked_as_seen() {
    let mut edited = decided();
    edited["metadata"]["generation"] = json!(8);
    let world = World::new(edited);
    let bound = Bound::read(&world.object).unwrap();
    assert_eq!(
        seen(&bound, now()),
        Some(json!({"status": {"schedulerObservedGeneration": 8}}))
    );
    let bound = Bound::read(&World::new(decided()).object).unwrap();
    assert_eq!(seen(&bound, now()), None);
}

#[test]
fn a_binding_that_could_not_be_placed_and_needs_nothing_any_more_is_placed() {
    let mut refused = decided();
    let conditions = &mut refused["status"]["conditions"];
    *conditions = json!([{"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": "no", "lastTransitionTime": "2020-01-01T00:00:00Z"}]);
    let bound = Bound::read(&World::new(refused).object).unwrap();
    let patch = seen(&bound, now()).unwrap();
    let condition = &patch["status"]["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("Success"))
    );
}

#[test]
fn patches_are_for_the_state_that_was_looked_at() {
    let world = World::new(json!({}));
    assert_eq!(
        guarded(&world.object, json!({"spec": {"clusters": null}})),
        json!({"spec": {"clusters": null}, "metadata": {"uid": "u", "resourceVersion": "7"}})
    );
}

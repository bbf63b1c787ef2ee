//! The acceptance checks of the specification, as far as decisions go.

use api::{
    cluster::Cluster,
    policy::Placement,
    work::{
        ResourceHealth,
        v1alpha2::{
            AggregatedStatusItem, ClusterResourceBinding, ResourceBinding, SchedulePriority,
            Suspension,
        },
    },
};
use object::{Object, condition::ConditionStatus, time::Time};

use super::{
    check, decide, decision, show,
    world::{World, cluster},
};
use crate::{
    Decision, Outcome,
    assume::Assumptions,
    binding::{self, BindingView},
    cluster::{ClusterFacts, Pool},
    intake::{
        ClusterChange, DEFAULT_SCHEDULER, Glance, Intake, binding_changed, cluster_changed,
        is_affected, is_taken,
    },
    placement::PreparedPlacement,
    report::{Writing, condition, deleting_event, events, no_placement, status},
    trigger::{Applied, Trigger, is_placement_changed, needs_cycle},
};

const NOW: i64 = 1000;

fn now() -> Time {
    Time::from_unix_seconds(NOW)
}

/// What the condition says, in one line.
pub(super) fn condition_text(decision: &Decision) -> String {
    let condition = condition(decision, &Writing::Done);
    format!(
        "{}/{}: {}",
        condition.status, condition.reason, condition.message
    )
}

impl World {
    /// Why the binding needs a decision when `applied` led to its targets.
    pub(super) fn trigger(&self, applied: &Placement) -> Option<Trigger> {
        let binding = BindingView::from(&self.binding);
        needs_cycle(
            &binding,
            Applied::Placement(applied),
            &self.snapshot(),
            self.options,
        )
    }

    /// Decides and takes the decision over.
    pub(super) fn settle(&mut self) -> String {
        let decision = self.decide();
        self.take(&decision);
        show(&decision)
    }

    fn replace_placement(&mut self, story: &str) {
        self.placement = World::tell(story).placement;
        self.binding.spec.placement = Some(self.placement.clone());
    }
}

#[test]
fn without_a_strategy_every_cluster_gets_all_replicas() {
    let world = World::tell("clusters m1 m2 m3 m4; affinity m1 m2; replicas 3");
    let decision = world.decide();
    assert_eq!(show(&decision), "m1=3 m2=3");
    assert_eq!(
        condition_text(&decision),
        "True/Success: Binding has been scheduled successfully."
    );
    let binding = BindingView::from(&world.binding);
    let events = events(&binding, &decision, &Writing::Done);
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0].message,
        "Binding has been scheduled successfully. Result: {m1:3, m2:3}"
    );
    assert_eq!(events[0].reason, "ScheduleBindingSucceed");
}

#[test]
fn cluster_wide_bindings_are_announced_without_the_colon() {
    let world = World::tell("clusters m1; replicas 3");
    let object = ClusterResourceBinding {
        spec: world.binding.spec.clone(),
        ..Default::default()
    };
    let binding = BindingView::from(&object);
    let events = events(&binding, &world.decide(), &Writing::Done);
    assert_eq!(
        events[0].message,
        "Binding has been scheduled successfully. Result {m1:3}"
    );
}

#[test]
fn what_has_no_replicas_goes_everywhere_uncounted() {
    check(&[
        (
            "clusters m1 m2; kind ConfigMap; replicas 0; mode aggregated",
            "m1 m2",
        ),
        ("clusters m1 m2; kind ConfigMap; replicas 0", "m1 m2"),
    ]);
}

#[test]
fn static_weights_follow_the_template_and_the_policy() {
    let mut world = World::tell("clusters m1 m2; replicas 9; mode static m1=1 m2=2");
    assert_eq!(world.settle(), "m1=3 m2=6");
    world.binding.spec.replicas = 10;
    assert_eq!(
        world.trigger(&world.placement),
        Some(Trigger::ReplicasChanged)
    );
    assert_eq!(world.settle(), "m1=3 m2=7");
    let applied = world.placement.clone();
    world.replace_placement("mode static m1=2 m2=1");
    assert_eq!(world.trigger(&applied), Some(Trigger::PlacementChanged));
    assert_eq!(world.settle(), "m1=7 m2=3");
}

#[test]
fn the_odd_replica_goes_first_or_last_by_template() {
    let story = "clusters m1 m2 m3; replicas 10; mode even";
    assert_eq!(decide(&format!("{story}; uid a")), "m1=4 m2=3 m3=3");
    assert_eq!(decide(&format!("{story}; uid b")), "m1=3 m2=3 m3=4");
}

#[test]
fn a_cluster_without_a_weight_is_left_out_unless_empty_workloads_propagate() {
    let story = "clusters m1 m2; affinity m1 m2; replicas 4; mode static m1=1";
    assert_eq!(decide(story), "m1=4");
    assert_eq!(decide(&format!("{story}; empty-workloads")), "m1=4 m2");
}

#[test]
fn a_shortage_keeps_the_targets_until_there_is_room() {
    let mut world = World::tell("clusters A=3; now A=1; replicas 11; mode dynamic");
    let decision = world.decide();
    assert_eq!(decision.targets_to_write(), None);
    assert!(condition_text(&decision).starts_with("False/Unschedulable: "));
    let refusal = decision.refusal().unwrap();
    assert!(refusal.is_for_room() && refusal.is_retried(), "{refusal}");
    assert!(
        refusal.to_string().contains("replicas 3 are not enough"),
        "{refusal}"
    );
    world.clusters = vec![cluster("A", 20)];
    assert_eq!(world.settle(), "A=11");
}

#[test]
fn an_affinity_that_matches_nothing_clears_the_targets_and_is_not_retried() {
    let decision = decision("clusters m1 m2 m3 m4; affinity m9; now m1=3; replicas 3");
    assert_eq!(
        condition_text(&decision),
        "False/NoClusterFit: 0/4 clusters are available: 4 cluster(s) did not match the placement cluster affinity \
         constraint."
    );
    assert_eq!(decision.targets_to_write(), Some(&[][..]));
    assert!(!decision.refusal().unwrap().is_retried());
    check(&[
        (
            "replicas 3",
            "NoClusterFit: 0/0 clusters are available: no cluster exists.",
        ),
        (
            "clusters m1; deleting m1; replicas 3",
            "NoClusterFit: 0/1 clusters are available: no cluster exists.",
        ),
    ]);
}

#[test]
fn a_matching_cluster_that_becomes_ready_wakes_the_binding() {
    let world = World::tell("clusters m9; affinity m9; replicas 3");
    let before =
        &World::tell("clusters m9; taint cluster.karmada.io/not-ready:NoSchedule: m9").clusters[0];
    let mut after: Cluster = world.clusters[0].clone();
    after.metadata.generation = 2;
    assert_eq!(
        cluster_changed(&before.metadata, &after.metadata),
        ClusterChange::Matching
    );
    let facts = ClusterFacts::of(&after, &mut Pool::default());
    let placement = PreparedPlacement::compile(&world.placement);
    assert!(is_affected(
        &Glance::from(&BindingView::from(&world.binding)),
        &placement,
        &facts,
        DEFAULT_SCHEDULER
    ));
    assert_eq!(show(&world.decide()), "m9=3");
}

#[test]
fn taints_keep_new_work_away_and_leave_what_is_there() {
    let world = "clusters m1 m2; taint dedicated=x:NoSchedule: m2; replicas 1";
    check(&[
        (world, "m1=1"),
        (
            &format!("{world}; affinity m2"),
            "NoClusterFit: 0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity \
             constraint, 1 cluster(s) had untolerated taint {dedicated=x:NoSchedule}.",
        ),
        (
            &format!("{world}; affinity m2; tolerate dedicated=x:NoSchedule"),
            "m2=1",
        ),
        (
            &format!("{world}; affinity m2; tolerate dedicated=y:NoSchedule"),
            REFUSED,
        ),
        (&format!("{world}; now m2=1"), "m1=1 m2=1"),
        (
            "clusters m1; taint a:PreferNoSchedule: m1; replicas 1",
            "m1=1",
        ),
        (
            "clusters m1; taint a:NoExecute: m1; taint b:NoSchedule: m1; replicas 1",
            "NoClusterFit: 0/1 clusters are available: 1 cluster(s) had untolerated taint {a:NoExecute}.",
        ),
    ]);
}

const REFUSED: &str = "NoClusterFit: 0/2 clusters are available: 1 cluster(s) did not match the placement cluster \
                       affinity constraint, 1 cluster(s) had untolerated taint {dedicated=x:NoSchedule}.";

#[test]
fn a_kind_that_a_cluster_does_not_serve_keeps_it_out_but_not_away() {
    check(&[
        ("clusters m1 m2; without-api m2; replicas 1", "m1=1"),
        (
            "clusters m1 m2; without-api m1 m2; now m1=1; replicas 1",
            "m1=1",
        ),
        (
            "clusters m1 m2; without-api m1 m2; replicas 1",
            "NoClusterFit: 0/2 clusters are available: 2 cluster(s) did not have the API resource.",
        ),
    ]);
}

#[test]
fn groups_are_tried_in_order_and_never_backwards() {
    let mut world =
        World::tell("clusters m1=0 m2; group g1: m1; group g2: m2; mode dynamic; replicas 4");
    let first = world.decide();
    assert_eq!(
        (show(&first), first.term.as_deref()),
        ("m2=4".to_owned(), Some("g2"))
    );
    let told = events(&BindingView::from(&world.binding), &first, &Writing::Done);
    let messages: Vec<&str> = told.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "failed to schedule ResourceBinding(default/web-deployment) with clusterAffiliates index(0): failed to \
             assign replicas: failed to scale up: Clusters available replicas 0 are not enough to schedule.",
            "Binding has been scheduled successfully. Result: {m2:4}",
        ]
    );
    world.take(&first);

    // Room on m1 and a fresh decision do not bring it back.
    world.clusters[0] = cluster("m1", 10);
    world.binding.spec.reschedule_triggered_at = Some(Time::from_unix_seconds(200));
    world.binding.status.last_scheduled_time = Some(Time::from_unix_seconds(100));
    assert_eq!(world.trigger(&world.placement), Some(Trigger::FreshWanted));
    assert_eq!(world.settle(), "m2=4");

    // Renaming the group does.
    let applied = world.placement.clone();
    world.replace_placement("group g1: m1; group g3: m2; mode dynamic");
    assert_eq!(world.trigger(&applied), Some(Trigger::PlacementChanged));
    let moved = world.decide();
    assert_eq!(
        (show(&moved), moved.term.as_deref()),
        ("m1=4".to_owned(), Some("g1"))
    );
}

#[test]
fn only_the_group_in_use_counts_as_changed() {
    let applied = World::tell("group g1: m1; group g2: m2 > m3; mode dynamic").placement;
    let changed = |story: &str, observed: &str| {
        is_placement_changed(
            Applied::Placement(&applied),
            &World::tell(story).placement,
            observed,
        )
    };
    assert!(!changed(
        "group g1: m1; group g2: m2 > m3; mode dynamic",
        ""
    ));
    assert!(!changed(
        "group g1: m1 m4; group g2: m2 > m3; mode dynamic",
        "g2"
    ));
    assert!(!changed("group g2: m2 > m3; mode dynamic", "g2"));
    assert!(changed(
        "group g1: m1; group g2: m2 m4 > m3; mode dynamic",
        "g2"
    ));
    assert!(changed(
        "group g1: m1; group g2: m2 > m4; mode dynamic",
        "g2"
    ));
    assert!(changed("group g1: m1; mode dynamic", "g2"));
    assert!(changed(
        "group g1: m1 m4; group g2: m2 > m3; mode dynamic",
        ""
    ));
    assert!(changed(
        "group g1: m1; group g2: m2 > m3; mode aggregated",
        "g2"
    ));
    assert!(changed(
        "group g1: m1; group g2: m2 > m3; mode dynamic; tolerate a=b:NoSchedule",
        "g2"
    ));
    assert!(changed(
        "group g1: m1; group g2: m2 > m3; mode dynamic; spread cluster 1..1",
        "g2"
    ));
    assert!(is_placement_changed(Applied::Absent, &applied, "g2"));
    assert!(!is_placement_changed(Applied::Unreadable, &applied, "g2"));
}

#[test]
fn the_first_groups_failure_says_what_becomes_of_the_targets() {
    let none =
        decision("clusters m1 m2; group g1: x; group g2: y; mode dynamic; now m1=2; replicas 2");
    assert_eq!(none.targets_to_write(), Some(&[][..]));
    assert_eq!(none.refusal().unwrap().reason(), "NoClusterFit");
    let short =
        decision("clusters m1=0 m2; group g1: m1; group g2: y; mode dynamic; now m2=2; replicas 2");
    assert_eq!(short.targets_to_write(), None);
    assert_eq!(short.refusal().unwrap().reason(), "Unschedulable");
    assert_eq!(short.term, None);
}

#[test]
fn targets_win_over_room_when_clusters_are_few() {
    let mut world = World::tell("clusters m1=9 m2=8 m3=7 m4=6; spread cluster 1..2; replicas 3");
    assert_eq!(world.settle(), "m1=3 m2=3");
    world.clusters = World::tell("clusters m1=0 m2=0 m3=90 m4=90").clusters;
    assert_eq!(world.settle(), "m1=3 m2=3");
}

#[test]
fn too_few_clusters_for_the_constraint_are_retried() {
    let mut world = World::tell("clusters m1 m2; spread cluster 3..3; replicas 3");
    let decision = world.decide();
    assert_eq!(
        show(&decision),
        "SchedulerError: failed to select clusters: the number of feasible clusters is less than \
         spreadConstraint.MinGroups"
    );
    assert!(decision.refusal().unwrap().is_retried());
    world.clusters.push(cluster("m3", 10));
    assert_eq!(world.settle(), "m1=3 m2=3 m3=3");
}

#[test]
fn regions_are_spread_over_and_clusters_without_one_left_out() {
    let story = "clusters a b c d e; region x: a b; region y: c; region z: d; spread region 2..2; \
                 spread cluster 2..2; replicas 1";
    assert_eq!(decide(story), "a=1 c=1");
    let refusals = decision(story);
    let refusals = refusals.diagnosis.refusals("e");
    assert_eq!(
        refusals
            .iter()
            .map(|(filter, _)| *filter)
            .collect::<Vec<_>>(),
        ["SpreadConstraint"]
    );
    assert_eq!(
        refusals[0].1.summary(),
        "cluster(s) did not have region property"
    );
}

#[test]
fn zones_only_filter_and_labels_cannot_select() {
    check(&[
        (
            "clusters m1 m2 m3; zone z: m2 m3; spread zone 1..1; spread cluster 1..1; replicas 1",
            "m2=1",
        ),
        (
            "clusters m1; spread rack 1..1; replicas 1",
            "SchedulerError: failed to select clusters: just support cluster and region spread constraint",
        ),
        (
            "clusters m1; spread provider 1..1; spread cluster 1..1; replicas 1",
            "NoClusterFit: 0/1 clusters are available: 1 cluster(s) did not have provider property.",
        ),
        (
            "clusters m1; spread zone 1..1; spread cluster 1..1; replicas 1",
            "NoClusterFit: 0/1 clusters are available: 1 cluster(s) did not have zones property.",
        ),
    ]);
}

#[test]
fn divided_workloads_are_left_alone_when_clusters_come() {
    let mut divided = World::tell("clusters m1 m2; replicas 4; mode dynamic");
    assert_eq!(divided.settle(), "m1=2 m2=2");
    divided.clusters.push(cluster("m3", 100));
    assert_eq!(divided.trigger(&divided.placement), None);
    let mut copied = World::tell("clusters m1 m2; replicas 4; mode duplicated");
    assert_eq!(copied.settle(), "m1=4 m2=4");
    copied.clusters.push(cluster("m3", 100));
    assert_eq!(copied.trigger(&copied.placement), Some(Trigger::NotDivided));
    assert_eq!(copied.settle(), "m1=4 m2=4 m3=4");
}

#[test]
fn replicas_move_away_from_a_cluster_that_is_deleted() {
    let mut world = World::tell("clusters m1 m2; now m1=4 m2=2; replicas 6; mode dynamic");
    assert_eq!(world.trigger(&world.placement), None);
    world.clusters = World::tell("clusters m1 m2; deleting m1").clusters;
    assert_eq!(
        world.trigger(&world.placement),
        Some(Trigger::ClusterDeleting)
    );
    assert_eq!(
        Trigger::ClusterDeleting.schedule_type(),
        "ReconcileSchedule"
    );
    assert_eq!(world.settle(), "m2=6");
}

#[test]
fn an_eviction_keeps_the_cluster_out_while_it_lasts() {
    check(&[
        ("clusters m1 m2; now m2=3; replicas 3; evict m1", "m2=3"),
        (
            "clusters m1 m2; now m1=3 m2=3; replicas 3; evict m1",
            "m2=3",
        ),
        ("clusters m1 m2; now m2=3; replicas 3", "m1=3 m2=3"),
    ]);
}

#[test]
fn only_bindings_that_are_ours_and_not_held_back_are_taken_in() {
    let mut world = World::tell("clusters m1; replicas 1");
    let label = "propagationpolicy.karmada.io/permanent-id";
    let taken = |binding: &ResourceBinding, scheduler: &str| {
        let view = BindingView::from(binding);
        let glance = Glance::from(&view);
        // What is read from the object as it comes is the same.
        let object = Object::from_value(serde_json::to_value(binding).unwrap()).unwrap();
        assert_eq!(Glance::at(&object), glance);
        is_taken(&glance, scheduler)
    };
    assert!(!taken(&world.binding, DEFAULT_SCHEDULER));
    world
        .binding
        .metadata
        .labels
        .insert(label.to_owned(), "id".to_owned());
    let ours = world.binding.clone();
    assert!(taken(&ours, DEFAULT_SCHEDULER));
    let mut suspended = ours.clone();
    suspended.spec.suspension = Some(Suspension {
        scheduling: Some(true),
        ..Default::default()
    });
    let mut foreign = ours.clone();
    foreign.spec.scheduler_name = "other".to_owned();
    assert!(!taken(&foreign, DEFAULT_SCHEDULER));
    assert!(taken(&foreign, "other"));
    let mut edited = ours.clone();
    edited.metadata.generation += 1;

    assert!(!taken(&suspended, DEFAULT_SCHEDULER));

    let intake = |before: Option<&ResourceBinding>, after: &ResourceBinding| {
        let before = before.map(BindingView::from);
        let before = before.as_ref().map(Glance::from);
        let after = BindingView::from(after);
        binding_changed(before.as_ref(), &Glance::from(&after), DEFAULT_SCHEDULER)
    };
    assert_eq!(intake(None, &ours), Intake::Enqueue);
    assert_eq!(intake(None, &suspended), Intake::Ignore);
    assert_eq!(intake(Some(&suspended), &ours), Intake::Enqueue);
    assert_eq!(intake(Some(&ours), &suspended), Intake::Release);
    assert_eq!(intake(Some(&ours), &ours), Intake::Ignore);
    assert_eq!(intake(Some(&ours), &edited), Intake::Edited);
}

#[test]
fn a_changed_cluster_concerns_the_bindings_it_matches() {
    let affected = |story: &str, name: &str| {
        let world = World::tell(story);
        let facts = ClusterFacts::of(&cluster(name, 1), &mut Pool::default());
        let placement = PreparedPlacement::compile(&world.placement);
        let mut binding = world.binding.clone();
        binding.status.scheduler_observed_generation = binding.metadata.generation;
        is_affected(
            &Glance::from(&BindingView::from(&binding)),
            &placement,
            &facts,
            DEFAULT_SCHEDULER,
        )
    };
    assert!(affected("replicas 1", "any"));
    assert!(affected("affinity m1", "m1"));
    assert!(!affected("affinity m1", "m2"));
    assert!(affected(
        "group g1: m1; group g2: m2 > m3; observed g2",
        "m2"
    ));
    assert!(!affected(
        "group g1: m1; group g2: m2 > m3; observed g2",
        "m1"
    ));
    assert!(!affected(
        "group g1: m1; group g2: m2 > m3; observed g2",
        "m3"
    ));
    assert!(affected("group g1: m1; group g2: m2; observed gone", "m1"));
    let world = World::tell("group g1: m1; observed g1");
    let facts = ClusterFacts::of(&cluster("m9", 1), &mut Pool::default());
    let placement = PreparedPlacement::compile(&world.placement);
    assert!(is_affected(
        &Glance::from(&BindingView::from(&world.binding)),
        &placement,
        &facts,
        DEFAULT_SCHEDULER
    ));
    let before = cluster("m1", 1);
    let mut after = cluster("m1", 9);
    assert_eq!(
        cluster_changed(&before.metadata, &after.metadata),
        ClusterChange::Irrelevant
    );
    after.metadata.labels.insert("a".to_owned(), "b".to_owned());
    assert_eq!(
        cluster_changed(&before.metadata, &after.metadata),
        ClusterChange::Matching
    );
    after.metadata.deletion_timestamp = Some(now());
    assert_eq!(
        cluster_changed(&before.metadata, &after.metadata),
        ClusterChange::Deleting
    );
}

#[test]
fn zero_replicas_go_nowhere_with_requirements_and_everywhere_without() {
    let mut world =
        World::tell("clusters m1 m2; now m1=3 m2=3; replicas 0; requests cpu=1; mode dynamic");
    world.clusters = World::tell("clusters m1 m2; free m1 m2: cpu=100 pods=100").clusters;
    assert_eq!(
        world.trigger(&world.placement),
        Some(Trigger::ReplicasChanged)
    );
    let decision = world.decide();
    assert_eq!(show(&decision), "nowhere");
    assert_eq!(
        condition_text(&decision),
        "True/Success: Binding has been scheduled successfully."
    );
    world.take(&decision);
    world.binding.spec.replicas = 6;
    assert_eq!(world.settle(), "m1=3 m2=3");
    check(&[
        ("clusters m1 m2; replicas 0; mode dynamic", "m1 m2"),
        (
            "clusters m1 m2; replicas 0; requests cpu=1; mode dynamic; empty-workloads",
            "m1 m2",
        ),
        ("clusters m1 m2; replicas 0; requests cpu=1", "nowhere"),
    ]);
}

#[test]
fn estimators_set_the_weights() {
    check(&[
        (
            "clusters m1=20 m2=20; accurate m1=5 m2=8; replicas 13; mode dynamic",
            "m1=5 m2=8",
        ),
        (
            "clusters m1=20 m2=20; accurate m1=5 m2=!; replicas 25; mode dynamic",
            "m1=5 m2=20",
        ),
        (
            "clusters m1=20 m2=20; accurate m1=5 m2=!; whole-answer; replicas 20; mode dynamic",
            "m1=10 m2=10",
        ),
    ]);
}

#[test]
fn a_resource_that_models_do_not_describe_has_no_room() {
    let cluster = "clusters m1; free m1: cpu=64 pods=100 nvidia.com/gpu=8; model m1: 4 x cpu=16";
    let wants = "requests cpu=1 nvidia.com/gpu=1; replicas 4; mode aggregated";
    assert!(decide(&format!("{cluster}; {wants}")).starts_with("Unschedulable: "));
    assert_eq!(decide(&format!("{cluster}; {wants}; no-models")), "m1=4");
    let described = "clusters m1; free m1: cpu=64 pods=100 nvidia.com/gpu=8; model m1: 4 x cpu=16 nvidia.com/gpu=2";
    assert_eq!(decide(&format!("{described}; {wants}")), "m1=4");
}

#[test]
fn a_set_of_components_goes_whole_to_one_cluster() {
    let small = "free m1: cpu=5 memory=64Gi pods=50; free m2: cpu=20 memory=64Gi pods=50";
    let set = "component jm 1 cpu=1 memory=2Gi; component tm 3 cpu=2 memory=4Gi; sets; spread cluster 1..1";
    check(&[
        (
            &format!("clusters m1 m2; {small}; {set}; mode aggregated"),
            "m2",
        ),
        (
            &format!("clusters m1; free m1: cpu=5 memory=64Gi pods=50; {set}; mode aggregated"),
            "SchedulerError: failed to select clusters: no enough resource when selecting 1 clusters",
        ),
        (
            &format!("clusters m1 m2; free m1 m2: cpu=1 pods=50; {set}; mode duplicated"),
            "m1",
        ),
        (
            &format!("clusters m1 m2; {small}; {set}; mode even"),
            "m1 m2",
        ),
    ]);
    let mut world = World::tell(&format!("clusters m1 m2; {small}; {set}; mode aggregated"));
    assert_eq!(
        world.trigger(&world.placement),
        Some(Trigger::ReplicasChanged)
    );
    world.settle();
    assert_eq!(world.trigger(&world.placement), None);
}

#[test]
fn what_was_just_promised_is_not_promised_again() {
    let story = "clusters m1; free m1: cpu=10 pods=100; requests cpu=1; replicas 6; mode dynamic";
    let mut first = World::tell(story);
    let decision = first.decide();
    assert_eq!(show(&decision), "m1=6");
    let mut assumptions = Assumptions::default();
    let Outcome::Placed(targets) = decision.outcome() else {
        panic!("not placed")
    };
    let view = assumptions.view(now());
    assumptions
        .promise(&view, "default/first", &first.binding.spec, targets, now())
        .unwrap();
    // Who decided from the same view is too late on this cluster, and decides again.
    let late = assumptions.promise(&view, "default/other", &first.binding.spec, targets, now());
    assert_eq!(
        late.unwrap_err().to_string(),
        "room on cluster m1 was promised to another binding meanwhile"
    );
    first.take(&decision);

    let second = |assumptions: &Assumptions, at: Time| {
        let mut world = World::tell(story);
        world.assumed = (*assumptions.clone().view(at).by_cluster).clone();
        show(&world.decide())
    };
    assert!(second(&assumptions, now()).contains("available replicas 4 are not enough"));

    let item = |health| AggregatedStatusItem {
        cluster_name: "m1".to_owned(),
        health,
        ..Default::default()
    };
    let mut healthy = assumptions.clone();
    healthy.release_healthy(
        "default/first",
        &[item(None)],
        &[item(Some(ResourceHealth::Healthy))],
    );
    assert_eq!(second(&healthy, now()), "m1=6");
    let mut steady = assumptions.clone();
    let was_healthy = [item(Some(ResourceHealth::Healthy))];
    steady.release_healthy("default/first", &was_healthy, &was_healthy);
    assert!(second(&steady, now()).starts_with("Unschedulable"));

    assert!(second(&assumptions, now().plus_seconds(299)).starts_with("Unschedulable"));
    assert_eq!(second(&assumptions, now().plus_seconds(300)), "m1=6");
    assumptions.release("default/first");
    assert_eq!(second(&assumptions, now()), "m1=6");
}

#[test]
fn a_refused_write_shows_in_the_condition() {
    let decision = decision("clusters m1; replicas 1");
    let quota = condition(
        &decision,
        &Writing::QuotaExceeded("exceeds the quota".to_owned()),
    );
    assert_eq!(
        (quota.status, &*quota.reason),
        (ConditionStatus::False, "QuotaExceeded")
    );
    let failed = condition(&decision, &Writing::Failed("conflict".to_owned()));
    assert_eq!(
        (&*failed.reason, &*failed.message),
        ("SchedulerError", "conflict")
    );
    let none = super::decision("clusters m1; affinity x; replicas 1");
    assert_eq!(
        condition(&none, &Writing::Failed("conflict".to_owned())).reason,
        "NoClusterFit"
    );
}

#[test]
fn status_moves_on_success_and_stays_put_on_a_repeated_failure() {
    let world = World::tell("clusters m1; group g1: m1; replicas 1");
    let done = status(
        &world.binding.status,
        &world.decide(),
        &Writing::Done,
        7,
        now(),
    );
    assert_eq!(done.scheduler_observed_generation, 7);
    assert_eq!(done.last_scheduled_time, Some(now()));
    assert_eq!(done.scheduler_observed_affinity_name, "g1");
    let refused = World::tell("clusters m1; group g1: x; replicas 1").decide();
    let failed = status(&done, &refused, &Writing::Done, 8, now().plus_seconds(5));
    assert_eq!(failed.scheduler_observed_generation, 7);
    assert_eq!(failed.scheduler_observed_affinity_name, "g1");
    assert_eq!(
        failed.conditions[0].last_transition_time,
        Some(now().plus_seconds(5))
    );
    let again = status(&failed, &refused, &Writing::Done, 8, now().plus_seconds(50));
    assert_eq!(again, failed);
}

#[test]
fn texts_without_a_decision() {
    let world = World::tell("clusters m1; replicas 1");
    let binding = BindingView::from(&world.binding);
    assert_eq!(
        deleting_event(&binding).message,
        "skip schedule deleting resourceBinding: default/web-deployment"
    );
    assert_eq!(
        no_placement(&binding),
        "failed to get placement from resourceBinding(default/web-deployment)"
    );
    assert_eq!(binding::priority(&binding), 0);
    let mut urgent = world.binding.clone();
    urgent.spec.schedule_priority = Some(SchedulePriority { priority: 10 });
    assert_eq!(binding::priority(&BindingView::from(&urgent)), 10);
}

#[test]
fn a_division_without_a_preference_is_refused() {
    check(&[(
        "clusters m1; replicas 1; mode unsaid",
        "SchedulerError: failed to assign replicas: unsupported replica scheduling strategy, replicaSchedulingType: \
         Divided, replicaDivisionPreference: , please try another scheduling strategy",
    )]);
}

//! What becomes of divisions when clusters begin to serve a kind, and when clusters go.

use api::work::v1alpha2::GracefulEvictionTask;

use super::{World, acceptance::condition_text};
use crate::{
    awaited,
    binding::BindingView,
    trigger::{Applied, Trigger, needs_cycle},
};

/// The clusters as another story has them.
fn turn(world: &mut World, story: &str) {
    world.clusters = World::tell(story).clusters;
}

fn trigger(world: &World) -> Option<Trigger> {
    world.trigger(&world.placement)
}

fn note(world: &World) -> &str {
    let note = world.binding.metadata.annotations.get(awaited::ANNOTATION);
    note.map_or("", String::as_str)
}

/// Tells a story with B not serving the kind, then lets B serve it: where replicas are first, and where afterwards.
fn check_newcomer(story: &str, first: &str, then: &str) {
    let mut world = World::tell(&format!("clusters A=100 B=100; without-api B; {story}"));
    assert_eq!(world.settle(), first, "{story}");
    let waits = note(&world) == "B";
    assert_eq!(trigger(&world), None, "{story}: nothing has changed");
    turn(&mut world, "clusters A=100 B=100");
    if !waits {
        assert_eq!((trigger(&world), first), (None, then), "{story}");
        return;
    }
    assert_eq!(trigger(&world), Some(Trigger::KindServed), "{story}");
    assert_eq!(world.settle(), then, "{story}");
    assert_eq!((note(&world), trigger(&world)), ("", None), "{story}");
}

#[test]
fn replicas_are_divided_anew_when_a_cluster_begins_to_serve_the_kind() {
    check_newcomer("replicas 5; mode static A=2 B=3", "A=5", "A=2 B=3");
    check_newcomer("replicas 4; mode even", "A=4", "A=2 B=2");
    // A has four of its hundred already, and as much room beside them as B.
    check_newcomer("replicas 4; mode dynamic", "A=4", "A=2 B=2");
    check_newcomer(
        "replicas 5; mode static A=2 B=3; group g: A B; group h: A",
        "A=5",
        "A=2 B=3",
    );
}

#[test]
fn a_division_that_the_newcomer_has_no_part_in_stays() {
    // Gathered on few clusters is where they shall be.
    check_newcomer("replicas 4; mode aggregated", "A=4", "A=4");
    // The placement does not allow it, or something else stood in the way, too.
    check_newcomer("replicas 4; mode dynamic; affinity A", "A=4", "A=4");
    check_newcomer("replicas 4; mode dynamic; evict B", "A=4", "A=4");
    // One cluster is wanted, and has been found.
    check_newcomer(
        "replicas 4; mode dynamic; spread cluster 1..1",
        "A=4",
        "A=4",
    );
    // The weights leave it out.
    check_newcomer("replicas 4; mode static A=1", "A=4", "A=4");
}

#[test]
fn a_cluster_that_was_not_ready_either_is_not_waited_for() {
    let taint = "taint cluster.karmada.io/not-ready=:NoSchedule: B";
    let mut world = World::tell(&format!(
        "clusters A=100 B=100; without-api B; {taint}; replicas 4; mode dynamic"
    ));
    assert_eq!(world.settle(), "A=4");
    turn(&mut world, "clusters A=100 B=100");
    assert_eq!((note(&world), trigger(&world)), ("", None));
}

#[test]
fn not_more_clusters_are_noted_than_an_object_can_bear() {
    let names: Vec<String> = (0..300).map(|at| format!("c{at:03}")).collect();
    let mut world = World::tell(&format!(
        "clusters A {}; without-api {}; replicas 4; mode even",
        names.join(" "),
        names.join(" ")
    ));
    assert_eq!(world.settle(), "A=4");
    assert_eq!(note(&world).split(',').count(), 100);
    assert!(note(&world).starts_with("c000,c001,"));
}

const FEW: &str = "SchedulerError: failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups";

/// Whom a refused binding leaves: the clusters, where it was, where it is then, and what the condition says.
fn check_leaving(fleet: &str, story: &str, targets: &str, said: &str) {
    let mut world = World::tell(&format!("{fleet}; {story}"));
    let decision = world.decide();
    assert!(decision.refusal().is_some(), "{fleet}; {story}");
    world.take(&decision);
    let clusters = world.binding.spec.clusters.iter();
    let mut found: Vec<String> = clusters
        .map(|target| format!("{}={}", target.name, target.replicas))
        .collect();
    found.sort();
    assert_eq!(found.join(" "), targets, "{fleet}; {story}");
    assert_eq!(condition_text(&decision), said, "{fleet}; {story}");
}

#[test]
fn a_cluster_that_goes_is_left_even_if_nothing_else_fits() {
    let (spread, short) = (
        "spread cluster 2..2; now A=3 B=3; replicas 3",
        "False/Unschedulable: failed to assign replicas: failed to scale up: Clusters available replicas 1 are not enough to schedule.",
    );
    let few = FEW.replace("SchedulerError", "False/SchedulerError");
    let gone = "(taken off B: removed from the fleet; what was there waits for a place)";
    check_leaving(
        "clusters A B; deleting B",
        spread,
        "A=3",
        &format!("{few} {gone}"),
    );
    check_leaving("clusters A", spread, "A=3", &format!("{few} {gone}"));
    check_leaving(
        "clusters A=1 B; deleting B",
        "now A=3 B=3; replicas 6; mode dynamic",
        "A=3",
        &format!("{short} {gone}"),
    );
    // Who stays keeps what it has, whatever the reason of the refusal.
    check_leaving(
        "clusters A; ",
        spread.replace("B=3", "A=3").as_str(),
        "A=3 A=3",
        &few,
    );
}

#[test]
fn what_was_let_go_is_told_until_something_else_is_to_be_said() {
    use crate::report::{Writing, status};
    use object::time::Time;

    let mut world =
        World::tell("clusters A B; deleting B; spread cluster 2..2; now A=3 B=3; replicas 3");
    let message = |world: &World| world.binding.status.conditions[0].message.clone();
    let at = Time::from_unix_seconds(1);
    for _ in 0..2 {
        let decision = world.decide();
        world.take(&decision);
        let status = status(&world.binding.status, &decision, &Writing::Done, 2, at);
        world.binding.status = status;
        assert!(
            message(&world).contains("taken off B"),
            "{}",
            message(&world)
        );
    }
    world.clusters = World::tell("clusters A C").clusters;
    let decision = world.decide();
    let status = status(&world.binding.status, &decision, &Writing::Done, 2, at);
    world.binding.status = status;
    assert_eq!(message(&world), crate::report::SUCCESS_MESSAGE);
}

#[test]
fn replicas_on_what_is_no_cluster_any_more_are_divided_anew() {
    let mut world = World::tell("clusters A B; now A=2 B=4; replicas 6; mode dynamic");
    assert_eq!(trigger(&world), None);
    turn(&mut world, "clusters A");
    assert_eq!(trigger(&world), Some(Trigger::ClusterGone));
    assert_eq!(world.settle(), "A=6");
    assert_eq!(trigger(&world), None);
}

#[test]
fn an_eviction_is_told_from_a_change_of_replicas() {
    let task = |cluster: &str, replicas: i32| GracefulEvictionTask {
        from_cluster: cluster.to_owned(),
        replicas: Some(replicas),
        ..GracefulEvictionTask::default()
    };
    for (tasks, replicas, expected) in [
        (vec![task("m2", 6)], 9, Trigger::Evicted),
        (Vec::new(), 9, Trigger::ReplicasChanged),
        // The copy that leaves does not say all.
        (vec![task("m2", 6)], 12, Trigger::ReplicasChanged),
        // It came back since.
        (vec![task("m1", 6)], 9, Trigger::ReplicasChanged),
    ] {
        let mut world = World::tell("clusters m1 m2; now m1=3; replicas 9; mode dynamic");
        world.binding.spec.replicas = replicas;
        world.binding.spec.graceful_eviction_tasks = tasks;
        assert_eq!(world.trigger(&world.placement), Some(expected));
        assert_eq!(expected.schedule_type(), "ScaleSchedule");
    }
    let world = World::tell("clusters m1 m2; replicas 9; mode dynamic");
    let binding = BindingView::from(&world.binding);
    let first = needs_cycle(&binding, Applied::Absent, &world.snapshot(), world.options);
    assert_eq!(first, Some(Trigger::Unplaced));
}

//! Spread constraints.

use super::{check, decision};
use crate::select::How;

#[test]
fn clusters_are_exchanged_for_roomier_ones_until_all_fits() {
    // Targets score 100, so m1 and m2 come first although m3 and m4 have more room.
    let world = "clusters m1=4 m2=3 m3=9 m4=7; now m1=0 m2=0; spread cluster 1..2; mode aggregated";
    let selected = |replicas: i32| {
        let decision = decision(&format!("{world}; replicas {replicas}"));
        let attempt = &decision.diagnosis.attempts()[0];
        if let Some(refusal) = decision.refusal() {
            return refusal.to_string();
        }
        let names: Vec<String> = attempt
            .selected
            .iter()
            .map(|position| decision.diagnosis.clusters().name(*position).to_string())
            .collect();
        names.join(" ")
    };
    assert_eq!(selected(7), "m1 m2");
    assert_eq!(selected(12), "m1 m3");
    assert_eq!(selected(15), "m4 m3");
    assert_eq!(
        selected(17),
        "failed to select clusters: no enough resource when selecting 2 clusters"
    );
}

#[test]
fn copies_go_to_the_regions_with_most_clusters_that_can_take_them() {
    let story = "clusters m1=12 m2=3 m3=20 m4=11 m5=10; region r1: m1 m2; region r2: m3; region r3: m4 m5; \
                 spread region 2..2; spread cluster 2..3; replicas 10";
    check(&[(story, "m1=10 m4=10 m5=10")]);
    let decision = decision(story);
    let selected = decision.diagnosis.attempts()[0].selected.iter();
    let names: Vec<_> = selected
        .map(|position| decision.diagnosis.clusters().name(*position))
        .collect();
    assert_eq!(names.join(" "), "m4 m1 m5");
    assert_eq!(regions(story), "r1:2:1000:2 r2:1:1000:- r3:2:2000:1");
}

#[test]
fn divided_replicas_go_to_the_regions_that_can_take_their_share() {
    let story = "clusters e1=9 e2=2 w1=30 n1=6 n2=5; region east: e1 e2; region west: w1; region north: n1 n2; \
                 spread region 2..2; spread cluster 2..3; replicas 24; mode dynamic";
    check(&[(story, "e1=5 e2=1 w1=18")]);
    assert_eq!(
        regions(story),
        "east:2:11000:2 north:2:11000:- west:1:12000:1"
    );
}

/// `name:clusters:weight:rank` of every region.
fn regions(story: &str) -> String {
    let decision = decision(story);
    let Some(How::ByRegion { regions, .. }) = &decision.diagnosis.attempts()[0].selection else {
        panic!("not selected by region")
    };
    let shown: Vec<String> = regions
        .iter()
        .map(|region| {
            let rank = region
                .rank
                .map_or("-".to_owned(), |rank| (rank + 1).to_string());
            format!(
                "{}:{}:{}:{rank}",
                region.name, region.clusters, region.weight
            )
        })
        .collect();
    shown.join(" ")
}

#[test]
fn a_constraint_without_upper_bound_allows_no_cluster() {
    check(&[
        (
            "clusters m1 m2; replicas 2; spread cluster 1..",
            "SchedulerError: failed to assign replicas: no clusters available to schedule",
        ),
        (
            "clusters m1 m2; replicas 2; spread cluster 1..; mode aggregated",
            "SchedulerError: failed to select clusters: no enough resource when selecting 0 clusters",
        ),
        (
            "clusters m1 m2; replicas 2; spread cluster 1..; mode dynamic",
            "SchedulerError: failed to select clusters: no enough resource when selecting 0 clusters",
        ),
    ]);
}

#[test]
fn one_cluster_of_each_region_even_beyond_the_most_clusters() {
    let regions = "clusters a b c d; region x: a b; region y: c; region z: d; replicas 2";
    check(&[
        (
            &format!("{regions}; spread region 3..3; spread cluster 1.."),
            "a=2 c=2 d=2",
        ),
        (
            &format!("{regions}; spread region 3..3; spread cluster 1..2"),
            "a=2 c=2 d=2",
        ),
        (
            &format!("{regions}; spread region 2..2; spread cluster 2..2"),
            "a=2 c=2",
        ),
        (
            &format!("{regions}; spread region 1..; spread cluster 1..2"),
            "SchedulerError: failed to select clusters: the number of clusters is less than the cluster \
             spreadConstraint.MinGroups",
        ),
        (
            &format!("{regions}; spread region 4..4; spread cluster 1..4"),
            "SchedulerError: failed to select clusters: the number of feasible region is less than \
             spreadConstraint.MinGroups",
        ),
    ]);
}

#[test]
fn fixed_weights_override_constraints_unless_the_preference_is_empty() {
    check(&[
        (
            "clusters m1 m2; replicas 4; spread cluster 1..1; mode static m1=1 m2=1",
            "m1=2 m2=2",
        ),
        (
            "clusters m1 m2; replicas 4; spread cluster 1..1; mode even",
            "m1=2 m2=2",
        ),
        (
            "clusters m1 m2; replicas 4; spread cluster 1..1; mode static-empty",
            "m1=4",
        ),
    ]);
}

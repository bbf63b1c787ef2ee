//! Dynamic weights and aggregation.

use super::{check, decision};

#[test]
fn dynamic_weights_follow_what_fits() {
    check(&[
        (
            "clusters A=6 B=12 C=18; replicas 12; mode dynamic",
            "A=2 B=4 C=6",
        ),
        (
            "clusters A=5 B=9 C=2; replicas 10; mode dynamic",
            "A=3 B=6 C=1",
        ),
        ("clusters A=3; replicas 10; mode dynamic", NOT_ENOUGH_FOR_UP),
    ]);
}

const NOT_ENOUGH_FOR_UP: &str = "Unschedulable: failed to assign replicas: failed to scale up: Clusters available \
                                 replicas 3 are not enough to schedule.";

#[test]
fn scaling_up_shares_only_what_is_missing() {
    check(&[
        (
            "clusters A=2 B=6; replicas 9; now A=4 B=2; mode dynamic",
            "A=5 B=4",
        ),
        (
            "clusters A=1 B=1 C=7; replicas 11; now A=4 B=2; mode dynamic",
            "A=5 B=3 C=3",
        ),
        // C is no longer a candidate, so its three are missing.
        (
            "clusters A=4 B=1 C; affinity A B; replicas 9; now A=3 B=3 C=3; mode dynamic",
            "A=5 B=4",
        ),
    ]);
}

#[test]
fn scaling_down_takes_in_proportion_to_what_runs() {
    check(&[
        (
            "clusters A=0 B=0 C=0; replicas 7; now A=2 B=4 C=6; mode dynamic",
            "A=1 B=2 C=4",
        ),
        (
            "clusters A B; replicas 3; now A=3 B=3; mode dynamic",
            "A=2 B=1",
        ),
        (
            "clusters A B; replicas 3; now A=3 B=3; mode dynamic; uid b",
            "A=1 B=2",
        ),
        (
            "clusters A B C; replicas 2; now A=6 B=1 C=1; mode dynamic",
            "A=2",
        ),
        (
            "clusters A B C; affinity A B; replicas 4; now A=4 B=2 C=6; mode dynamic",
            "A=3 B=1",
        ),
    ]);
}

#[test]
fn what_is_right_stays_unless_a_fresh_decision_is_asked_for() {
    check(&[
        ("clusters A=0 B=9; replicas 9; now A=9; mode dynamic", "A=9"),
        (
            "clusters A=0 B=9; replicas 9; now A=9; mode dynamic; fresh",
            "A=5 B=4",
        ),
        (
            "clusters A=2 B=10 C=6; replicas 12; now A=10 B=2; mode dynamic; fresh",
            "A=5 B=5 C=2",
        ),
        (
            "clusters A=4 B=0; replicas 6; now A=3 B=3; mode aggregated; fresh",
            "A=6",
        ),
    ]);
}

#[test]
fn a_shortage_names_what_was_being_done() {
    check(&[
        (
            "clusters A=1 B=1; replicas 9; now A=3; mode dynamic; fresh",
            "Unschedulable: failed to assign replicas: failed to do fresh scale: Clusters available replicas 5 are not \
             enough to schedule.",
        ),
        (
            "clusters A=1 B=1; replicas 9; now A=3; mode aggregated",
            "Unschedulable: failed to assign replicas: failed to scale up: Clusters available replicas 2 are not \
             enough to schedule.",
        ),
    ]);
}

#[test]
fn aggregation_uses_as_few_clusters_as_fit() {
    check(&[
        (
            "clusters A=6 B=8 C=10; replicas 12; mode aggregated",
            "B=5 C=7",
        ),
        (
            "clusters A=12 B=8 C=10; replicas 12; mode aggregated",
            "A=12",
        ),
        ("clusters A=6 B=4; replicas 7; mode aggregated", "A=4 B=3"),
        (
            "clusters A=6 B=6 C=6; replicas 12; mode aggregated",
            "A=6 B=6",
        ),
    ]);
}

#[test]
fn aggregation_scales_clusters_in_use_first() {
    check(&[
        (
            "clusters A=3 B=10; replicas 7; now A=5; mode aggregated",
            "A=7",
        ),
        (
            "clusters A=3 B=10; replicas 9; now A=5; mode aggregated",
            "A=6 B=3",
        ),
        (
            "clusters A B; replicas 6; now A=4 B=8; mode aggregated",
            "B=6",
        ),
        (
            "clusters A B; replicas 10; now A=4 B=8; mode aggregated",
            "A=3 B=7",
        ),
    ]);
}

#[test]
fn a_cluster_that_takes_no_part_in_scaling_up_keeps_what_it_has() {
    check(&[(
        "clusters A=9 B=1 C=1; replicas 9; now A=2 B=2 C=2; mode aggregated",
        "A=5 B=2 C=2",
    )]);
}

#[test]
fn clusters_without_limit_do_not_wrap_into_a_shortage() {
    check(&[
        (
            "clusters A B; replicas 0; requests cpu=1; mode dynamic; fresh",
            "nowhere",
        ),
        (
            "clusters A=2147483647 B=2147483647; replicas 10; mode dynamic",
            "A=5 B=5",
        ),
    ]);
}

#[test]
fn the_smallest_estimate_counts_and_one_failure_costs_one_answer() {
    let weights = |story: &str| {
        let decision = decision(story);
        let attempt = &decision.diagnosis.attempts()[0];
        let rows: Vec<String> = attempt
            .candidates
            .iter()
            .map(|candidacy| format!("{} {}", candidacy.candidate.allocatable, candidacy.source))
            .collect();
        rows.join(", ")
    };
    let own = "limited by pods";
    let said = "said by scheduler-estimator";
    assert_eq!(
        weights("clusters A=20 B=8; accurate A=5 B=-1; replicas 10; mode dynamic"),
        format!("5 {said}, 8 {own}")
    );
    assert_eq!(
        weights("clusters A=20 B=8; accurate A=5 B=!; replicas 10; mode dynamic"),
        format!("5 {said}, 8 {own}")
    );
    assert_eq!(
        weights("clusters A=20 B=8; accurate A=5 B=!; whole-answer; replicas 10; mode dynamic"),
        format!("20 {own}, 8 {own}")
    );
}

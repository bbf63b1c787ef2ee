//! What holds of every decision.

use proptest::prelude::*;

use super::{show, world::World};
use crate::{Outcome, candidates};

/// A story about up to nine clusters in some state.
fn any_story() -> impl Strategy<Value = String> {
    let clusters = prop::collection::vec(
        (
            0_i64..40,
            0_i64..8,
            0_u8..3,
            prop::bool::weighted(0.2),
            any::<bool>(),
        ),
        1..9,
    );
    let mode = prop::sample::select(vec![
        "duplicated",
        "dynamic",
        "aggregated",
        "even",
        "static c1=2 c2=3 c5=1",
    ]);
    let spread = prop::sample::select(vec![
        "",
        "spread cluster 1..3",
        "spread cluster 2..2",
        "spread region 1..2; spread cluster 2..4",
    ]);
    let groups = prop::sample::select(vec![
        "",
        "group g: c0 c1 c2 > c3 c4 > c5",
        "affinity c0 c1 c2 c3 c6",
    ]);
    let uid = prop::sample::select(vec!["", "a", "b"]);
    (clusters, 0_i64..60, mode, spread, groups, uid, any::<bool>()).prop_map(
        |(clusters, replicas, mode, spread, groups, uid, is_fresh)| {
            let mut story = String::new();
            let mut now = String::new();
            for (index, (pods, running, region, is_tainted, is_target)) in clusters.into_iter().enumerate() {
                story.push_str(&format!("clusters c{index}={pods}; region r{region}: c{index}; "));
                if is_tainted {
                    story.push_str(&format!("taint a=b:NoSchedule: c{index}; "));
                }
                if is_target {
                    now.push_str(&format!(" c{index}={running}"));
                }
            }
            let now = if now.is_empty() { String::new() } else { format!("now{now}") };
            let fresh = if is_fresh { "fresh" } else { "" };
            let uid = if uid.is_empty() { String::new() } else { format!("uid {uid}") };
            format!("{story}{now}; replicas {replicas}; mode {mode}; {spread}; {groups}; {uid}; {fresh}")
        },
    )
}

proptest! {
    #[test]
    fn totals_are_right_and_nothing_refused_is_used(story in any_story()) {
        let world = World::tell(&story);
        let decision = world.decide();
        let diagnosis = &decision.diagnosis;
        // Admission does not let copies overflow.
        prop_assume!(!story.contains("mode duplicated") || !story.contains("group"));
        if let Outcome::Placed(targets) = decision.outcome() {
            let total: i64 = targets.iter().map(|target| i64::from(target.replicas)).sum();
            let wanted = i64::from(world.binding.spec.replicas);
            if story.contains("mode duplicated") || wanted == 0 {
                prop_assert!(targets.iter().all(|target| i64::from(target.replicas) == wanted));
            } else {
                prop_assert_eq!(total, wanted);
            }
            for target in targets {
                prop_assert!(diagnosis.refusals(&target.cluster).is_empty());
            }
        }
    }

    #[test]
    fn where_replicas_follow_room_nobody_gets_more_than_fits(story in any_story()) {
        let decision = World::tell(&story).decide();
        if !story.contains("mode dynamic") && !story.contains("mode aggregated") {
            return Ok(());
        }
        let Outcome::Placed(targets) = decision.outcome() else { return Ok(()) };
        let attempt = decision.diagnosis.attempts().last().unwrap();
        for target in targets.iter().filter(|target| target.replicas > 0) {
            let position = decision.diagnosis.clusters().position(&target.cluster).unwrap();
            let candidacy = attempt.candidates.iter().find(|known| known.candidate.cluster == position).unwrap();
            prop_assert!(i64::from(target.replicas) <= candidacy.candidate.available());
        }
    }

    #[test]
    fn the_order_of_clusters_does_not_matter(story in any_story(), turn in 0_usize..9) {
        let world = World::tell(&story);
        let mut turned = world.clone();
        let turn = turn % turned.clusters.len();
        turned.clusters.rotate_left(turn);
        turned.clusters.reverse();
        let (one, other) = (world.decide(), turned.decide());
        prop_assert_eq!(one.outcome(), other.outcome());
        prop_assert_eq!(one.diagnosis.to_string(), other.diagnosis.to_string());
    }

    #[test]
    fn whoever_is_estimated_was_a_candidate_to_ask_about_or_nobody_matters(story in any_story(), said in 0_i64..9) {
        let world = World::tell(&story);
        let asked = world.with_inputs(candidates);
        let decision = world.decide();
        if asked.is_empty() {
            // Whatever estimators would have said, the targets are the same.
            let told: String = (0..9).map(|index| format!(" c{index}={said}")).collect();
            let other = World::tell(&format!("{story}; accurate{told}")).decide();
            prop_assert_eq!(show(&decision), show(&other));
            return Ok(());
        }
        for attempt in decision.diagnosis.attempts() {
            for candidacy in &attempt.candidates {
                prop_assert!(asked.contains(&candidacy.candidate.cluster));
            }
        }
    }

    #[test]
    fn a_decision_taken_over_is_kept(story in any_story()) {
        // Divided replicas that add up need no decision; deciding all the same must not move them.
        let mut world = World::tell(&story.replace("; fresh", ";"));
        if !story.contains("mode dynamic") || story.contains("group") || story.contains("spread") {
            return Ok(());
        }
        let first = world.decide();
        let Outcome::Placed(_) = first.outcome() else { return Ok(()) };
        world.take(&first);
        prop_assert_eq!(show(&world.decide()), show(&first));
    }
}

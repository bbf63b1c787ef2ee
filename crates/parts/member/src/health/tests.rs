//! Probes and what is believed of them.

use object::condition::{Condition, ConditionStatus};

use crate::health::{Answer, Damping, Thresholds, condition};
use crate::testing::at;

/// Follows probes `(second, answer)` from a stored state; shows what the condition says after each.
fn follow(stored: Option<u16>, probes: &[(i64, Answer)]) -> String {
    let mut stored: Option<Condition> = stored.map(|code| condition(Answer::Status(code)));
    let mut damping = Damping::default();
    let mut shown = Vec::new();
    for (second, answer) in probes {
        let settled = damping.settle(
            stored.as_ref(),
            condition(*answer),
            Thresholds::default(),
            at(*second),
        );
        shown.push(match settled.status {
            ConditionStatus::True => "T",
            ConditionStatus::False => "F",
            ConditionStatus::Unknown => "U",
        });
        stored = Some(settled);
    }
    shown.join("")
}

#[test]
fn a_blip_is_not_believed_and_an_outage_is() {
    let ok = Answer::Status(200);
    let bad = Answer::Status(500);
    let down = Answer::Silence;
    // Twenty seconds of failure.
    assert_eq!(
        follow(
            Some(200),
            &[(0, ok), (10, bad), (20, bad), (30, ok), (40, bad)]
        ),
        "TTTTT"
    );
    // A minute of it, then recovery, which takes thirty seconds to be believed.
    assert_eq!(
        follow(
            Some(200),
            &[
                (0, ok),
                (10, down),
                (20, down),
                (30, down),
                (40, down),
                (50, ok),
                (60, ok),
                (70, ok),
                (80, ok)
            ]
        ),
        "TTTTFFFFT"
    );
}

#[test]
fn the_first_look_is_believed_at_once() {
    assert_eq!(follow(Some(200), &[(0, Answer::Silence)]), "F");
    assert_eq!(follow(Some(500), &[(0, Answer::Status(200))]), "T");
    assert_eq!(
        follow(None, &[(0, Answer::Silence), (1, Answer::Silence)]),
        "FF"
    );
}

#[test]
fn answers_mean_what_the_reference_says() {
    for (answer, expected) in [
        (
            Answer::Status(200),
            "True ClusterReady: cluster is healthy and ready to accept workloads",
        ),
        (
            Answer::Status(202),
            "False ClusterNotReady: cluster is reachable but health endpoint responded without ok",
        ),
        (
            Answer::Status(500),
            "False ClusterNotReachable: cluster is not reachable",
        ),
        (
            Answer::Status(404),
            "False ClusterNotReachable: cluster is not reachable",
        ),
        (
            Answer::Silence,
            "False ClusterNotReachable: cluster is not reachable",
        ),
    ] {
        let Condition {
            status,
            reason,
            message,
            ..
        } = condition(answer);
        assert_eq!(format!("{status} {reason}: {message}"), expected);
    }
}

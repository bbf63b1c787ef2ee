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
fn a_member_that_is_cut_off_is_found_out_as_soon_as_one_that_refuses() {
    let mut damping = Damping::default();
    let mut stored = condition(Answer::Status(200));
    let mut look = |answer, begun, now| {
        let observed = condition(answer);
        let thresholds = Thresholds::default();
        stored = damping.settle(Some(&stored), observed, thresholds, at(begun), at(now));
        stored.is_true()
    };
    assert!(look(Answer::Status(200), 0, 0));
    // Each look waits ten seconds for an answer that does not come.
    assert!(look(Answer::Silence, 10, 20));
    assert!(look(Answer::Silence, 20, 30));
    assert!(!look(Answer::Silence, 30, 40));
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
        (
            Answer::Status(401),
            "False ClusterNotReachable: cluster is not reachable: it does not know the credentials of the control plane any more; put a good token into the secret that spec.secretRef names, or unjoin the cluster with --force and join it again",
        ),
        (
            Answer::Status(403),
            "False ClusterNotReachable: cluster is not reachable: the account of the control plane may not ask whether it is well; give it back its role, or unjoin the cluster with --force and join it again",
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

//! When silence means something.

use object::condition::{Condition, ConditionStatus};
use object::time::MicroTime;

use crate::monitor::plan::{Grace, Record, Reporter, Sight, judge};
use crate::testing::at;

/// What is seen at one moment: the second, the Ready condition's status and reason, the lease.
type Moment = (i64, Option<(ConditionStatus, &'static str)>, Option<i64>);

/// Shows the verdict at each moment, as the reason written or `-`.
fn follow(reporter: Reporter, moments: &[Moment]) -> Vec<String> {
    let mut record: Option<Record> = None;
    let mut verdicts = Vec::new();
    for (second, ready, renewed) in moments {
        let ready = ready.map(|(status, reason)| Condition::new("Ready", status, reason, ""));
        let sight = Sight {
            created: Some(at(0)),
            ready: ready.as_ref(),
            renewed: renewed.map(MicroTime::from_unix_micros),
            reporter,
            now: at(*second),
        };
        let judgement = judge(record.take(), &sight, Grace::default());
        record = Some(judgement.record);
        verdicts.push(judgement.verdict.map_or("-".to_owned(), |condition| {
            assert_eq!(condition.status, ConditionStatus::Unknown);
            condition.reason
        }));
    }
    verdicts
}

const TRUE: Option<(ConditionStatus, &str)> = Some((ConditionStatus::True, "ClusterReady"));
const UNKNOWN: Option<(ConditionStatus, &str)> =
    Some((ConditionStatus::Unknown, "ClusterStatusUnknown"));

#[test]
fn a_cluster_nobody_reports_on_becomes_unknown_after_its_first_grace() {
    let moments = [(5, None, None), (60, None, None), (61, None, None)];
    assert_eq!(
        follow(Reporter::Elsewhere, &moments),
        ["-", "-", "ClusterStatusNeverUpdated"]
    );
}

#[test]
fn a_reporter_that_falls_silent_is_given_forty_seconds() {
    let moments = [
        (100, TRUE, Some(1)),
        (140, TRUE, Some(1)),
        (141, TRUE, Some(1)),
        (200, UNKNOWN, Some(1)),
        (300, UNKNOWN, Some(1)),
    ];
    assert_eq!(
        follow(Reporter::Elsewhere, &moments),
        ["-", "-", "ClusterStatusUnknown", "-", "-"]
    );
}

#[test]
fn a_renewed_lease_is_a_sign_of_life_whatever_its_clock_says() {
    // The reporter's clock is years behind, and its status never changes.
    let moments = [
        (0, TRUE, Some(10)),
        (40, TRUE, Some(20)),
        (80, TRUE, Some(30)),
        (120, TRUE, Some(30)),
        (121, TRUE, Some(30)),
    ];
    assert_eq!(
        follow(Reporter::Elsewhere, &moments),
        ["-", "-", "-", "-", "ClusterStatusUnknown"]
    );
    // A clock set back is no sign of life, and neither is a lease that vanished.
    let moments = [(0, TRUE, Some(10)), (40, TRUE, Some(5)), (41, TRUE, None)];
    assert_eq!(
        follow(Reporter::Elsewhere, &moments),
        ["-", "-", "ClusterStatusUnknown"]
    );
}

#[test]
fn a_changed_condition_is_a_sign_of_life() {
    let again = Some((ConditionStatus::True, "Other"));
    let moments = [
        (0, TRUE, None),
        (39, again, None),
        (79, again, None),
        (80, again, None),
    ];
    assert_eq!(
        follow(Reporter::Elsewhere, &moments),
        ["-", "-", "-", "ClusterStatusUnknown"]
    );
}

#[test]
fn what_this_process_reports_never_becomes_unknown() {
    let moments = [(0, TRUE, None), (1_000, TRUE, None), (9_000, None, None)];
    assert_eq!(follow(Reporter::Here, &moments), ["-", "-", "-"]);
}

//! Whether whoever reports on a cluster still does.

use std::time::Duration;

use api::well_known::conditions::cluster::{
    CLUSTER_STATUS_NEVER_UPDATED, CLUSTER_STATUS_UNKNOWN, READY,
};
use object::condition::{Condition, ConditionStatus};
use object::time::{MicroTime, Time};

/// How long silence is borne.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// Once something has been reported.
    pub running: Duration,
    /// Until the first report.
    pub startup: Duration,
}

/// Upstream: `--cluster-monitor-grace-period` and `--cluster-startup-grace-period`.
impl Default for Grace {
    fn default() -> Self {
        Self {
            running: Duration::from_secs(40),
            startup: Duration::from_secs(60),
        }
    }
}

/// Who must be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reporter {
    /// This process: as long as it lives it reports, so that silence is its own.
    Here,
    /// Somebody who renews a lease.
    Elsewhere,
}

/// What was last seen of a cluster's reporter, and when that was, by the clock here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    ready: Option<Condition>,
    renewed: Option<MicroTime>,
    heard: Time,
}

/// What is seen now.
pub(crate) struct Sight<'a> {
    pub(crate) created: Option<Time>,
    pub(crate) ready: Option<&'a Condition>,
    /// When the lease was last renewed, by the clock of whoever did: it is compared with earlier values of its own,
    /// never with a clock here, so that a clock that is wrong there does no harm.
    pub(crate) renewed: Option<MicroTime>,
    pub(crate) reporter: Reporter,
    pub(crate) now: Time,
}

/// What follows: the record to keep, the condition to write if there is one, and when silence will have lasted too long.
#[derive(Debug, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) record: Record,
    pub(crate) verdict: Option<Condition>,
    pub(crate) look_again: Option<Time>,
}

/// Judges one cluster.
pub(crate) fn judge(record: Option<Record>, sight: &Sight<'_>, grace: Grace) -> Judgement {
    let record = hear(record, sight);
    if sight.reporter == Reporter::Here {
        return Judgement {
            record,
            verdict: None,
            look_again: None,
        };
    }
    let bearable = match sight.ready {
        None => grace.startup,
        Some(_) => grace.running,
    };
    let seconds = i64::try_from(bearable.as_secs()).unwrap_or(i64::MAX);
    let end = record.heard.plus_seconds(seconds);
    if sight.now <= end {
        return Judgement {
            record,
            verdict: None,
            look_again: Some(end.plus_seconds(1)),
        };
    }
    let verdict = match sight.ready {
        None => Some(Condition::new(
            READY,
            ConditionStatus::Unknown,
            CLUSTER_STATUS_NEVER_UPDATED,
            "Cluster status controller never posted cluster status.",
        )),
        Some(ready) if ready.status != ConditionStatus::Unknown => Some(Condition::new(
            READY,
            ConditionStatus::Unknown,
            CLUSTER_STATUS_UNKNOWN,
            "Cluster status controller stopped posting cluster status.",
        )),
        Some(_) => None,
    };
    Judgement {
        record,
        verdict,
        look_again: None,
    }
}

/// The record after what is seen now.
fn hear(record: Option<Record>, sight: &Sight<'_>) -> Record {
    let Some(mut record) = record else {
        // A cluster that nobody has reported on yet has been silent since it was made; one that somebody has reported on
        // gets a full grace, because how long it has been silent was not watched.
        let heard = match sight.ready {
            None => sight.created.unwrap_or(sight.now),
            Some(_) => sight.now,
        };
        return Record {
            ready: sight.ready.cloned(),
            renewed: sight.renewed,
            heard,
        };
    };
    if record.ready.as_ref() != sight.ready {
        record.ready = sight.ready.cloned();
        record.heard = sight.now;
    }
    // The first lease seen is news as well.
    if sight.reporter == Reporter::Elsewhere && sight.renewed > record.renewed {
        record.renewed = sight.renewed;
        record.heard = sight.now;
    }
    record
}

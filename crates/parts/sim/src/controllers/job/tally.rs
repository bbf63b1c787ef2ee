//! What has become of the pods of a Job.

use std::collections::{BTreeMap, BTreeSet};

use object::time::Time;
use object::{Object, Value};

use crate::controllers::job::indexes;
use crate::controllers::job::plan::Inputs;
use crate::controllers::job::policy::{self, Verdict};
use crate::read;

pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The pods of a Job, counted.
pub(crate) struct Tally<'a> {
    /// Neither ended nor going, the oldest first.
    pub(crate) active: Vec<&'a Object>,
    pub(crate) ready: usize,
    /// On their way out and not ended yet.
    pub(crate) terminating: Vec<&'a Object>,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    /// Indexes that have ended well.
    pub(crate) done: BTreeSet<i64>,
    /// Indexes that have failed for good.
    pub(crate) lost: BTreeSet<i64>,
    /// Why the Job fails at once, if a rule says so.
    pub(crate) doom: Option<String>,
    /// When the last failure that counts was, and how many there were of each index.
    pub(crate) last_failure: Option<Time>,
    pub(crate) failures_of: BTreeMap<i64, i64>,
}

/// Whether every index counts for itself.
pub(crate) fn is_indexed(job: &Object) -> bool {
    job.text_at(&["spec", "completionMode"]) == Some("Indexed")
}

/// Whether a pod on its way out is replaced only when it has ended.
pub(crate) fn waits_for_failure(job: &Object) -> bool {
    job.text_at(&["spec", "podReplacementPolicy"]) == Some("Failed")
}

/// The index of a pod.
pub(crate) fn index_of(pod: &Object) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok()
}

/// Counts the pods of a Job.
pub(crate) fn tally<'a>(inputs: &Inputs<'a>) -> Tally<'a> {
    let job = inputs.job;
    let pods = || inputs.pods.iter().map(|pod| &***pod);
    let mut active: Vec<&Object> = pods().filter(|pod| read::is_active(pod)).collect();
    active.sort_by_key(|pod| (read::created(pod), pod.name().to_owned()));
    let wanted = job.integer_at(&["spec", "completions"]).unwrap_or(0);
    let told = |name: &str| {
        let text = job.text_at(&["status", name]).unwrap_or_default();
        indexes::read(text, wanted)
    };
    let mut tally = Tally {
        ready: active.iter().filter(|pod| read::is_ready(pod)).count(),
        active,
        terminating: pods()
            .filter(|pod| pod.is_terminating() && !read::has_ended(pod))
            .collect(),
        succeeded: 0,
        failed: 0,
        done: told("completedIndexes"),
        lost: told("failedIndexes"),
        doom: None,
        last_failure: None,
        failures_of: BTreeMap::new(),
    };
    let mut failed = 0_i64;
    // What was stopped on its way out did not fail by itself, unless that is what its successor waits for.
    let is_awaited = waits_for_failure(job);
    let has_failed =
        |pod: &&Object| read::phase(pod) == "Failed" && (is_awaited || !pod.is_terminating());
    for pod in pods().filter(has_failed) {
        let verdict = policy::judge(job, pod);
        if verdict == Verdict::Ignored {
            continue;
        }
        failed += 1;
        tally.last_failure = tally.last_failure.max(ended_at(pod));
        if let Some(index) = index_of(pod) {
            *tally.failures_of.entry(index).or_default() += 1;
            if verdict == Verdict::FailsIndex {
                tally.lost.insert(index);
            }
        }
        if let Verdict::FailsJob(why) = verdict {
            tally.doom.get_or_insert(why);
        }
    }
    let before = |name: &str| job.integer_at(&["status", name]).unwrap_or(0);
    // Pods that were counted and taken away stay counted.
    tally.failed = failed.max(before("failed"));
    let well = pods().filter(|pod| read::phase(pod) == "Succeeded");
    tally.succeeded = if is_indexed(job) {
        tally
            .done
            .extend(well.filter_map(index_of).filter(|index| *index < wanted));
        i64::try_from(tally.done.len()).unwrap_or(i64::MAX)
    } else {
        let well = i64::try_from(well.count()).unwrap_or(i64::MAX);
        well.max(before("succeeded"))
    };
    if let Some(limit) = job.integer_at(&["spec", "backoffLimitPerIndex"]) {
        let over = tally
            .failures_of
            .iter()
            .filter(|(_, count)| **count > limit);
        tally.lost.extend(over.map(|(index, _)| *index));
    }
    tally.lost.retain(|index| !tally.done.contains(index));
    tally
}

/// When the last container of a pod ended.
pub(crate) fn ended_at(pod: &Object) -> Option<Time> {
    read::list(pod, &["status", "containerStatuses"])
        .iter()
        .filter_map(|status| read::time(status.pointer("/state/terminated")?, "finishedAt"))
        .max()
}

/// How often containers of pods that run were restarted: the failures of a Job whose pods stay.
pub(crate) fn restarts(tally: &Tally<'_>) -> i64 {
    tally
        .active
        .iter()
        .flat_map(|pod| read::list(pod, &["status", "containerStatuses"]))
        .filter_map(|status| status.get("restartCount").and_then(Value::as_i64))
        .fold(0, i64::saturating_add)
}

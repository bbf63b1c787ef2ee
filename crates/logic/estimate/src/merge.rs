//! Bringing the answers of several estimators together: the smallest counts.

use std::{fmt, sync::Arc};

use crate::general::{Basis, Estimate, UNBOUNDED};

/// What an estimator beside a cluster said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// So many fit.
    Count(i64),
    /// It cannot say; `-1` on the wire.
    NoOpinion,
    /// It could not be asked, did not answer in time, or answered with an error.
    Failed,
}

/// The answers of one estimator, gathered before the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    estimator: Arc<str>,
    // Invariant: sorted by cluster, each once.
    by_cluster: Vec<(Arc<str>, Answer)>,
}

/// What the failure for one cluster means for the answers about the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Nothing: the failed cluster is judged by the remaining estimators, all others as before.
    ///
    /// Upstream: one failure discards the estimator's answers for every cluster, so that a single unreachable member
    /// makes the scheduler blind for all of them.
    #[default]
    SkipCluster,
    /// All answers of that estimator are discarded for this decision, as upstream does.
    SkipEstimator,
}

/// Where an estimate came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody was asked: there is nothing to count.
    NotAsked,
    /// The cluster's own report.
    Report(Basis),
    /// The estimator of this name.
    Estimator(Arc<str>),
    /// Nobody could say, so the cluster is taken to have room for all that is asked.
    Nobody,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("nothing to count"),
            Self::Report(basis) => write!(f, "{basis}"),
            Self::Estimator(name) => write!(f, "said by {name}"),
            Self::Nobody => f.write_str("nobody answered"),
        }
    }
}

impl Answers {
    /// The answers of the estimator called `name`, in any order; of several for one cluster the last counts.
    #[must_use]
    pub fn new(name: &str, answers: impl IntoIterator<Item = (Arc<str>, Answer)>) -> Self {
        let mut by_cluster: Vec<_> = answers.into_iter().collect();
        by_cluster.sort_by(|(a, _), (b, _)| a.cmp(b));
        by_cluster.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        Self {
            estimator: name.into(),
            by_cluster,
        }
    }

    /// The estimator's name.
    #[must_use]
    pub fn estimator(&self) -> &str {
        &self.estimator
    }

    /// What it said of `cluster`; a cluster it was not asked about has no opinion.
    #[must_use]
    pub fn about(&self, cluster: &str) -> Answer {
        self.by_cluster
            .binary_search_by(|(name, _)| (**name).cmp(cluster))
            .ok()
            .and_then(|position| self.by_cluster.get(position))
            .map_or(Answer::NoOpinion, |(_, answer)| *answer)
    }

    /// Whether it failed for some cluster.
    #[must_use]
    pub fn has_failure(&self) -> bool {
        self.by_cluster
            .iter()
            .any(|(_, answer)| *answer == Answer::Failed)
    }
}

/// The estimators whose answers count under this rule.
#[must_use]
pub fn usable(answers: &[Answers], on_failure: OnFailure) -> Vec<&Answers> {
    let counts =
        |answers: &&Answers| on_failure == OnFailure::SkipCluster || !answers.has_failure();
    answers.iter().filter(counts).collect()
}

/// The smallest of the cluster's own report and what `estimators` said; `wanted` when nobody said anything.
#[must_use]
pub fn merge(
    report: Option<Estimate>,
    estimators: &[&Answers],
    cluster: &str,
    wanted: i64,
) -> (i64, Source) {
    let mut least = report.map(|estimate| (estimate.count, Source::Report(estimate.basis)));
    for answers in estimators {
        let Answer::Count(count) = answers.about(cluster) else {
            continue;
        };
        // A negative count other than "no opinion" can only come from a faulty estimator; nothing fits less than none.
        let count = count.clamp(0, UNBOUNDED);
        if least.as_ref().is_none_or(|(smallest, _)| count < *smallest) {
            least = Some((count, Source::Estimator(Arc::clone(&answers.estimator))));
        }
    }
    least.unwrap_or((wanted, Source::Nobody))
}

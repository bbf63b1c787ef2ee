//! What a decision came to, in the words that conditions and events use.

use std::{borrow::Cow, cmp::Reverse, fmt, sync::Arc};

use api::{well_known::conditions::binding as reason, work::v1alpha2::TargetCluster};

use crate::{assign::AssignError, diagnosis::Diagnosis, plugin::ScoreError, select::SelectError};

/// Where a binding goes, or why nowhere, and everything that led there.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The group of clusters that succeeded, if there are groups; the binding's status shall show it.
    pub term: Option<Arc<str>>,
    /// The clusters that replicas are to be divided anew for once they serve the kind, as the binding notes them; see
    /// [`crate::awaited`].
    pub awaited: String,
    /// The present targets without those that go, where that is all that a refusal changes.
    pub(crate) staying: Option<Vec<Target>>,
    /// What came of it, and why.
    pub diagnosis: Diagnosis,
}

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The binding goes to these clusters; the list is a set.
    Placed(Vec<Target>),
    /// It cannot be placed.
    Refused(Refusal),
}

/// A cluster and its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The cluster.
    pub cluster: Arc<str>,
    /// Its replicas; 0 where none are counted.
    pub replicas: i32,
}

/// Why a binding cannot be placed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Filters refused every cluster.
    #[error(transparent)]
    NoClusterFit(FitError),
    /// Somebody who must be heard about which clusters are allowed was not.
    #[error("failed to filter clusters: plugin \"{plugin}\" failed with: {why}")]
    Filter {
        /// Who.
        plugin: Arc<str>,
        /// Why.
        why: Arc<str>,
    },
    /// A score could not be computed.
    #[error("failed to prioritize clusters: plugin \"{plugin}\" failed with: {error}")]
    Score {
        /// Whose score.
        plugin: Arc<str>,
        /// Why.
        error: ScoreError,
    },
    /// The clusters left do not satisfy the spread constraints.
    #[error("failed to select clusters: {0}")]
    Select(SelectError),
    /// The replicas could not be shared out.
    #[error("failed to assign replicas: {0}")]
    Assign(AssignError),
}

/// Filters refused every cluster: how many for which reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct FitError {
    /// How many clusters there are, those about to go included.
    pub clusters: usize,
    /// The reasons, with how many clusters were refused for each.
    pub reasons: Vec<(Cow<'static, str>, usize)>,
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0/{} clusters are available: ", self.clusters)?;
        if self.clusters == 0 || self.reasons.is_empty() {
            return f.write_str("no cluster exists.");
        }
        let item = |(reason, count): &(Cow<'static, str>, usize)| {
            (*count, format!("{count} {}", cut(reason, LONGEST_REASON)))
        };
        let mut items: Vec<(usize, String)> = self.reasons.iter().map(item).collect();
        // Sorted as texts, so that 10 comes before 2; that is how people find it in upstream's messages.
        items.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        let whole: usize = items.iter().map(|(_, text)| text.len() + 2).sum();
        if whole > LONGEST_REASONS {
            items.sort_by_key(|(count, _)| Reverse(*count));
        }
        let mut room = LONGEST_REASONS;
        let fits = items.iter().take_while(|(_, text)| {
            let left = room.checked_sub(text.len() + 2);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let told: Vec<&str> = fits.map(|(_, text)| text.as_str()).collect();
        f.write_str(&told.join(", "))?;
        match items.len() - told.len() {
            0 => f.write_str("."),
            1 => f.write_str(", and 1 more reason."),
            more => write!(f, ", and {more} more reasons."),
        }
    }
}

/// How long the reasons of a [`FitError`] may be together, in bytes. A condition takes 32,768 characters, and what is said
/// beside them needs some; beyond that the most frequent reasons are told, and how many there are more.
const LONGEST_REASONS: usize = 16_384;

/// How long one of them may be: the words of a plugin from outside have any length.
const LONGEST_REASON: usize = 1_024;

/// The text, or as much of its beginning as has `most` bytes with three dots after it.
#[must_use]
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let mut end = most.saturating_sub(3);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default()))
}

impl Refusal {
    /// The reason that the condition `Scheduled` gives.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoClusterFit(_) => reason::NO_CLUSTER_FIT,
            Self::Assign(error) if error.is_shortage() => reason::UNSCHEDULABLE,
            _ => reason::SCHEDULER_ERROR,
        }
    }

    /// Whether more room would help: as a whole, or in so many clusters as the spread constraints allow.
    #[must_use]
    pub fn is_for_room(&self) -> bool {
        match self {
            Self::Assign(error) => error.is_shortage(),
            Self::Select(error) => matches!(error, SelectError::NotEnoughRoom { .. }),
            _ => false,
        }
    }

    /// Whether present targets are taken away: only when no cluster at all is allowed.
    #[must_use]
    pub fn clears_targets(&self) -> bool {
        matches!(self, Self::NoClusterFit(_))
    }

    /// Whether to try again without being asked. Not when no cluster is allowed: only a change of clusters or policy
    /// can help then, and each of those brings the binding back.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        !self.clears_targets()
    }
}

impl Decision {
    /// What came of it.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        self.diagnosis.outcome()
    }

    /// The targets to write: the new ones, none at all, the present ones without those that go, or `None` where the
    /// present ones stay.
    ///
    /// Upstream: a cluster that goes stays a target while nothing else fits, and with that it cannot go.
    #[must_use]
    pub fn targets_to_write(&self) -> Option<&[Target]> {
        match self.outcome() {
            Outcome::Placed(targets) => Some(targets),
            Outcome::Refused(refusal) if refusal.clears_targets() => Some(&[]),
            Outcome::Refused(_) => self.staying.as_deref(),
        }
    }

    /// Whether it is a refusal whose one effect is that clusters which go are no targets any more.
    #[must_use]
    pub fn only_lets_go(&self) -> bool {
        self.staying.is_some()
    }

    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self.outcome() {
            Outcome::Placed(_) => None,
            Outcome::Refused(refusal) => Some(refusal),
        }
    }
}

impl Target {
    /// The target as the binding's spec writes it.
    #[must_use]
    pub fn to_api(&self) -> TargetCluster {
        TargetCluster {
            name: self.cluster.to_string(),
            replicas: self.replicas,
        }
    }
}

/// `{m1:2, m2:1}`, as events write it.
#[derive(Clone, Copy, Debug)]
pub struct TargetsText<'a>(pub &'a [Target]);

impl fmt::Display for TargetsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (position, target) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{}:{}", target.cluster, target.replicas)?;
        }
        f.write_str("}")
    }
}

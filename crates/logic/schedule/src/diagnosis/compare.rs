//! What became different since an earlier decision about the same binding.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{Attempt, Diagnosis};
use crate::{decision::Outcome, plugin::Unheard};

/// What differs on one cluster, or overall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A cluster that was not there before.
    Joined(Arc<str>),
    /// A cluster that is no longer there.
    Left(Arc<str>),
    /// A filter that used to let the cluster pass refuses it; or the reason is another.
    Refused(Arc<str>, String),
    /// The cluster passes, and did not before.
    Admitted(Arc<str>),
    /// The cluster's score changed: before, now.
    Score(Arc<str>, i64, i64),
    /// How many more replicas fit changed: before, now.
    Estimate(Arc<str>, i64, i64),
    /// The cluster is selected, and was not before.
    Selected(Arc<str>),
    /// The cluster is not selected any more.
    Deselected(Arc<str>),
    /// A plugin was not heard, and was before; why.
    Unheard(Arc<str>, Arc<str>),
    /// A plugin was heard, and was not before.
    Heard(Arc<str>),
    /// The number of replicas changed: before, now.
    Replicas(i64, i64),
    /// What came of it changed: before, now.
    Outcome(String, String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined(cluster) => write!(f, "{cluster} is new"),
            Self::Left(cluster) => write!(f, "{cluster} is gone"),
            Self::Refused(cluster, reason) => write!(f, "{cluster} {reason}"),
            Self::Admitted(cluster) => write!(f, "{cluster} passes all filters now"),
            Self::Score(cluster, before, now) => {
                write!(f, "{cluster} scores {now} instead of {before}")
            }
            Self::Estimate(cluster, before, now) => {
                write!(f, "{cluster} has room for {now} more instead of {before}")
            }
            Self::Selected(cluster) => write!(f, "{cluster} is selected now"),
            Self::Deselected(cluster) => write!(f, "{cluster} is not selected any more"),
            Self::Unheard(plugin, why) => write!(f, "the plugin {plugin} is not heard: {why}"),
            Self::Heard(plugin) => write!(f, "the plugin {plugin} is heard again"),
            Self::Replicas(before, now) => {
                write!(f, "{now} replicas are wanted instead of {before}")
            }
            Self::Outcome(before, now) => write!(f, "the result is {now} instead of {before}"),
        }
    }
}

/// What a decision held of one cluster.
#[derive(Default)]
struct View {
    refusal: Option<String>,
    numbers: Option<(i64, i64)>,
    is_selected: bool,
}

impl Diagnosis {
    /// What differs from `earlier`, in the last group of clusters that each tried.
    #[must_use]
    pub fn differences_from(&self, earlier: &Self) -> Vec<Difference> {
        let mut differences = Vec::new();
        if earlier.replicas != self.replicas {
            differences.push(Difference::Replicas(earlier.replicas, self.replicas));
        }
        differences.extend(self.newly_unheard(earlier));
        let (before, now) = (views(earlier), views(self));
        for cluster in before.keys().filter(|cluster| !now.contains_key(*cluster)) {
            differences.push(Difference::Left(Arc::clone(cluster)));
        }
        for (cluster, now) in now {
            match before.get(&cluster) {
                None => differences.push(Difference::Joined(cluster)),
                Some(before) => compare(&cluster, before, &now, &mut differences),
            }
        }
        let (before, now) = (outcome_text(&earlier.outcome), outcome_text(&self.outcome));
        if before != now {
            differences.push(Difference::Outcome(before, now));
        }
        differences
    }

    fn newly_unheard<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = Difference> + 'a {
        let lacks = |those: &[Unheard], plugin: &Unheard| {
            let mut those = those.iter();
            those.all(|unheard| unheard.plugin != plugin.plugin)
        };
        let unheard = self.unheard.iter();
        let unheard = unheard.filter(move |plugin| lacks(&earlier.unheard, plugin));
        let unheard = unheard
            .map(|plugin| Difference::Unheard(Arc::clone(&plugin.plugin), Arc::clone(&plugin.why)));
        let heard = earlier.unheard.iter();
        let heard = heard.filter(move |plugin| lacks(&self.unheard, plugin));
        let heard = heard.map(|plugin| Difference::Heard(Arc::clone(&plugin.plugin)));
        unheard.chain(heard)
    }
}

fn compare(cluster: &Arc<str>, before: &View, now: &View, differences: &mut Vec<Difference>) {
    let name = || Arc::clone(cluster);
    match (&before.refusal, &now.refusal) {
        (before, Some(reason)) if before.as_ref() != Some(reason) => {
            differences.push(Difference::Refused(name(), reason.clone()));
        }
        (Some(_), None) => differences.push(Difference::Admitted(name())),
        _ => {}
    }
    if let (Some((old_score, old_room)), Some((score, room))) = (before.numbers, now.numbers) {
        if old_score != score {
            differences.push(Difference::Score(name(), old_score, score));
        }
        if old_room != room {
            differences.push(Difference::Estimate(name(), old_room, room));
        }
    }
    match (before.is_selected, now.is_selected) {
        (false, true) => differences.push(Difference::Selected(name())),
        (true, false) => differences.push(Difference::Deselected(name())),
        _ => {}
    }
}

fn views(diagnosis: &Diagnosis) -> BTreeMap<Arc<str>, View> {
    let mut views: Vec<View> = Vec::new();
    views.resize_with(diagnosis.clusters.len(), View::default);
    if let Some(attempt) = diagnosis.attempts.last() {
        fill(attempt, &mut views);
    }
    views
        .into_iter()
        .enumerate()
        .map(|(position, view)| (diagnosis.clusters.name(position), view))
        .collect()
}

fn fill(attempt: &Attempt, views: &mut [View]) {
    for refusal in &attempt.refusals {
        if let Some(view) = views.get_mut(refusal.cluster) {
            view.refusal
                .get_or_insert_with(|| refusal.reason.to_string());
        }
    }
    for position in &attempt.deleting {
        if let Some(view) = views.get_mut(*position) {
            view.refusal = Some("is being deleted".to_owned());
        }
    }
    for candidacy in &attempt.candidates {
        if let Some(view) = views.get_mut(candidacy.candidate.cluster) {
            view.numbers = Some((candidacy.candidate.score, candidacy.candidate.allocatable));
        }
    }
    for position in &attempt.selected {
        if let Some(view) = views.get_mut(*position) {
            view.is_selected = true;
        }
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Placed(targets) => crate::decision::TargetsText(targets).to_string(),
        Outcome::Refused(refusal) => refusal.reason().to_owned(),
    }
}

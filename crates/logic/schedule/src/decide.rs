//! The decision: filter, score, estimate, select, assign; for each group of clusters until one succeeds.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use estimate::{Assumed, Component, Estimate, Source, demand, general, merge};

use crate::{
    assign::Assignment,
    awaited,
    candidate::Candidate,
    cycle::{Cycle, EmptyWorkloads, Inputs},
    decision::{Decision, FitError, Outcome, Refusal, Target},
    diagnosis::{Attempt, Candidacy, Diagnosis, FilterRefusal},
    placement::Strategy,
    plugin::{Judge, ScoreError, Verdict},
    select::Selection,
};

/// Decides where the binding goes, and says why.
///
/// A placement with groups of clusters starts at the group in use and never goes back to an earlier one; the first
/// group that succeeds is taken.
#[must_use]
pub fn schedule(inputs: &Inputs<'_>) -> Decision {
    schedule_watched(inputs, &Nobody)
}

/// The steps of a decision, as the reference names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Filters.
    Filter,
    /// Scores, and the estimates that clusters are ordered by.
    Score,
    /// Spread constraints.
    Select,
    /// Sharing the replicas out.
    AssignReplicas,
}

/// Where plugins take part in a decision, as the reference names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A filter judged a cluster.
    Filter,
    /// A cluster was scored.
    Score,
    /// The scores of all clusters were brought into range.
    ScoreExtensionNormalize,
}

/// How a plugin fared, as the reference names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// It has nothing against it.
    Success,
    /// It refused the cluster.
    Unschedulable,
    /// It failed.
    Error,
}

/// Somebody with a clock, who hears how far a decision is.
pub trait Watch {
    /// A step is done.
    fn done(&self, step: Step);

    /// Whether to hear of every plugin and every cluster, too. Telling takes longer than most plugins do.
    fn is_close(&self) -> bool {
        false
    }

    /// A plugin is done, with one cluster or, where it brings scores into range, with all.
    fn ran(&self, _plugin: &Arc<str>, _point: Point, _run: Run) {}
}

/// Whoever does not care.
struct Nobody;

impl Watch for Nobody {
    fn done(&self, _: Step) {}
}

/// Like [`schedule`], before the eyes of `watch`.
#[must_use]
pub fn schedule_watched(inputs: &Inputs<'_>, watch: &dyn Watch) -> Decision {
    let placement = inputs.placement;
    if !placement.is_ordered() || placement.affinity.is_some() {
        let cycle = Cycle::new(inputs, None);
        let mut attempt = Attempt::default();
        let placed = run(&cycle, &mut attempt, watch);
        let outcome = placed.map_or_else(Outcome::Refused, Outcome::Placed);
        return Decision::new(cycle, outcome, vec![attempt]);
    }
    let first = placement.first_term(&inputs.binding.status.scheduler_observed_affinity_name);
    let mut attempts = Vec::new();
    let mut cycle = Cycle::new(inputs, Some(first));
    for (index, term) in placement.terms.iter().enumerate().skip(first) {
        cycle = cycle.with_term(index);
        let mut attempt = Attempt {
            term: Some((index, Arc::clone(&term.name))),
            ..Attempt::default()
        };
        match run(&cycle, &mut attempt, watch) {
            Ok(targets) => {
                attempts.push(attempt);
                return Decision::new(cycle, Outcome::Placed(targets), attempts);
            }
            Err(why) => {
                attempt.refusal = Some(why);
                attempts.push(attempt);
            }
        }
    }
    let refusals = || {
        attempts
            .iter()
            .filter_map(|attempt| attempt.refusal.as_ref())
    };
    // The first group's refusal says what becomes of the present targets. But while somebody is to be heard about any of
    // them nobody knows that there is no place: nothing is taken away, and it is tried again.
    let refusal = refusals().find(|refusal| is_unheard(inputs, refusal));
    let refusal = refusal.or_else(|| refusals().next()).cloned();
    // `first` is a position within the groups, of which there is at least one.
    let refusal = refusal.unwrap_or_else(|| Refusal::NoClusterFit(FitError::default()));
    Decision::new(cycle, Outcome::Refused(refusal), attempts)
}

/// The clusters that an estimator should be asked about: those that pass every filter of some group to be tried.
///
/// Empty where nothing is to be counted, and where room decides nothing. Positions in the snapshot, ascending.
///
/// Upstream: asks for every binding, because the answers order the list of targets, which is a set.
#[must_use]
pub fn candidates(inputs: &Inputs<'_>) -> Vec<usize> {
    if is_uncounted(inputs) || is_room_ignored(inputs) {
        return Vec::new();
    }
    passing(inputs)
}

/// The clusters that pass every filter of some group to be tried. Positions in the snapshot, ascending.
#[must_use]
pub fn passing(inputs: &Inputs<'_>) -> Vec<usize> {
    let placement = inputs.placement;
    if !placement.is_ordered() || placement.affinity.is_some() {
        return filter(&Cycle::new(inputs, None), &mut Attempt::default(), &Nobody);
    }
    let first = placement.first_term(&inputs.binding.status.scheduler_observed_affinity_name);
    let mut passed = Vec::new();
    let mut cycle = Cycle::new(inputs, Some(first));
    for index in first..placement.terms.len() {
        cycle = cycle.with_term(index);
        passed.extend(filter(&cycle, &mut Attempt::default(), &Nobody));
    }
    passed.sort_unstable();
    passed.dedup();
    passed
}

fn run(
    cycle: &Cycle<'_>,
    attempt: &mut Attempt,
    watch: &dyn Watch,
) -> Result<Vec<Target>, Refusal> {
    let passed = filter(cycle, attempt, watch);
    watch.done(Step::Filter);
    if passed.is_empty() {
        return Err(Refusal::NoClusterFit(histogram(cycle, attempt)));
    }
    if let Some((plugin, why)) = unheard(cycle, Step::Filter) {
        if watch.is_close() {
            watch.ran(&plugin, Point::Filter, Run::Error);
        }
        attempt.passed = passed;
        return Err(Refusal::Filter { plugin, why });
    }
    let totals = match score(cycle, &passed, attempt, watch) {
        Ok(totals) => totals,
        Err(refusal) => {
            attempt.passed = passed;
            return Err(refusal);
        }
    };
    let ranked = rank(cycle, &passed, &totals, attempt);
    watch.done(Step::Score);

    let Selection { chosen, how } = cycle.inputs.plugins.select.select(cycle, &ranked);
    attempt.selection = Some(how);
    watch.done(Step::Select);
    let chosen = chosen.map_err(Refusal::Select)?;

    let Assignment { shares, steps } = cycle.inputs.plugins.assign.assign(cycle, &chosen);
    attempt.steps = steps;
    watch.done(Step::AssignReplicas);
    let shares = shares.map_err(Refusal::Assign)?;
    attempt.selected = chosen.iter().map(|candidate| candidate.cluster).collect();
    Ok(targets(cycle, &chosen, &shares))
}

/// Who must be heard for a step and was not, and why.
fn unheard(cycle: &Cycle<'_>, step: Step) -> Option<(Arc<str>, Arc<str>)> {
    let mut unheard = cycle.inputs.plugins.unheard.iter();
    let found = unheard.find(|unheard| unheard.ends == Some(step))?;
    Some((Arc::clone(&found.plugin), Arc::clone(&found.why)))
}

/// Whether a group was given up because somebody who must be heard about it was not.
fn is_unheard(inputs: &Inputs<'_>, refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Filter { .. } => true,
        // Others fail to score, too, and those were heard.
        Refusal::Score { plugin, .. } => {
            let mut unheard = inputs.plugins.unheard.iter();
            unheard.any(|unheard| unheard.ends.is_some() && unheard.plugin == *plugin)
        }
        Refusal::NoClusterFit(_) | Refusal::Select(_) | Refusal::Assign(_) => false,
    }
}

/// Asks every filter about every cluster; a cluster passes if none refuses it.
///
/// All are asked even after one refused, because whoever asks why wants to hear all of it. Clusters about to go are
/// passed over without a reason.
fn filter(cycle: &Cycle<'_>, attempt: &mut Attempt, watch: &dyn Watch) -> Vec<usize> {
    let is_close = watch.is_close();
    let filters = &cycle.inputs.plugins.filters;
    attempt.filters = filters.iter().map(|(name, _)| Arc::clone(name)).collect();
    let mut judges: Vec<Judge<'_>> = filters
        .iter()
        .map(|(_, filter)| filter.begin(cycle))
        .collect();
    let mut passed = Vec::with_capacity(cycle.inputs.clusters.len());
    for (position, cluster) in cycle.inputs.clusters.iter().enumerate() {
        if cluster.is_deleting {
            attempt.deleting.push(position);
            continue;
        }
        let refused_before = attempt.refusals.len();
        for (filter, judge) in judges.iter_mut().enumerate() {
            let verdict: Verdict = judge(position, cluster);
            if is_close && let Some((name, _)) = filters.get(filter) {
                let run = if verdict.is_ok() {
                    Run::Success
                } else {
                    Run::Unschedulable
                };
                watch.ran(name, Point::Filter, run);
            }
            if let Err(reason) = verdict {
                attempt.refusals.push(FilterRefusal {
                    cluster: position,
                    filter,
                    reason,
                });
            }
        }
        if attempt.refusals.len() == refused_before {
            passed.push(position);
        }
    }
    passed
}

/// Counts the first reason of each refused cluster.
fn histogram(cycle: &Cycle<'_>, attempt: &Attempt) -> FitError {
    let mut counts: BTreeMap<Cow<'static, str>, usize> = BTreeMap::new();
    for refusals in attempt.refusals.chunk_by(|a, b| a.cluster == b.cluster) {
        if let Some(first) = refusals.first() {
            *counts.entry(first.reason.summary()).or_default() += 1;
        }
    }
    FitError {
        clusters: cycle.inputs.clusters.len(),
        reasons: counts.into_iter().collect(),
    }
}

/// The sum of all scores of each cluster that passed.
fn score(
    cycle: &Cycle<'_>,
    passed: &[usize],
    attempt: &mut Attempt,
    watch: &dyn Watch,
) -> Result<Vec<i64>, Refusal> {
    let is_close = watch.is_close();
    if let Some((plugin, why)) = unheard(cycle, Step::Score) {
        if is_close {
            watch.ran(&plugin, Point::Score, Run::Error);
        }
        let error = ScoreError(why);
        return Err(Refusal::Score { plugin, error });
    }
    let mut totals = vec![0_i64; passed.len()];
    for (name, plugin) in &cycle.inputs.plugins.scores {
        let refuse = |error| Refusal::Score {
            plugin: Arc::clone(name),
            error,
        };
        let ran = |point, is_ok| {
            if is_close {
                let run = if is_ok { Run::Success } else { Run::Error };
                watch.ran(name, point, run);
            }
        };
        let mut scorer = plugin.begin(cycle);
        let mut scores = Vec::with_capacity(passed.len());
        for position in passed {
            let Some(cluster) = cycle.inputs.clusters.at(*position) else {
                continue;
            };
            let score = scorer(*position, cluster);
            ran(Point::Score, score.is_ok());
            scores.push(score.map_err(refuse)?);
        }
        drop(scorer);
        let normalised = plugin.normalise(cycle, &mut scores);
        ran(Point::ScoreExtensionNormalize, normalised.is_ok());
        normalised.map_err(refuse)?;
        for (total, score) in totals.iter_mut().zip(&scores) {
            *total = total.saturating_add(*score);
        }
        attempt.scores.push((Arc::clone(name), scores));
    }
    Ok(totals)
}

/// The clusters that passed with all their numbers, in canonical order.
fn rank(
    cycle: &Cycle<'_>,
    passed: &[usize],
    totals: &[i64],
    attempt: &mut Attempt,
) -> Vec<Candidate> {
    let question = Question::new(cycle);
    let mut ranked = Vec::with_capacity(passed.len());
    attempt.candidates.reserve_exact(passed.len());
    for (position, score) in passed.iter().zip(totals) {
        let Some(cluster) = cycle.inputs.clusters.at(*position) else {
            continue;
        };
        let (allocatable, source) = question.ask(cluster);
        let candidate = Candidate {
            cluster: *position,
            tier: cycle.tier(cluster),
            score: *score,
            allocatable,
            assigned: cycle.assigned(*position),
        };
        attempt.candidates.push(Candidacy { candidate, source });
        ranked.push(candidate);
    }
    ranked.sort_unstable_by(Candidate::order);
    ranked
}

/// What is asked of the estimators, the same for all clusters.
struct Question<'c> {
    cycle: &'c Cycle<'c>,
    kind: Kind,
    estimators: Vec<&'c estimate::Answers>,
}

/// What is assumed of a cluster that nothing was promised on.
static NOTHING: Assumed = Assumed::NOTHING;

enum Kind {
    /// Nothing is to be counted.
    Nothing,
    /// How many replicas; `None` where nothing is known of what they request.
    Replicas(Option<estimate::Amounts>),
    /// How many sets.
    Sets(Vec<Component>),
}

impl<'c> Question<'c> {
    fn new(cycle: &'c Cycle<'c>) -> Self {
        let spec = cycle.binding().spec;
        let kind = if is_uncounted(cycle.inputs) {
            Kind::Nothing
        } else if cycle.is_component_set() {
            Kind::Sets(spec.components.iter().map(Component::of).collect())
        } else {
            Kind::Replicas(spec.replica_requirements.as_ref().map(demand::request))
        };
        let estimators = merge::usable(cycle.inputs.estimates, cycle.inputs.options.on_failure);
        Self {
            cycle,
            kind,
            estimators,
        }
    }

    fn ask(&self, cluster: &crate::cluster::ClusterFacts) -> (i64, Source) {
        let Some(report) = self.report(cluster) else {
            return (general::UNBOUNDED, Source::NotAsked);
        };
        merge::merge(
            Some(report),
            &self.estimators,
            &cluster.name,
            self.cycle.replicas(),
        )
    }

    /// What the cluster's own report says.
    fn report(&self, cluster: &crate::cluster::ClusterFacts) -> Option<Estimate> {
        let Inputs {
            assumed, options, ..
        } = self.cycle.inputs;
        let assumed = if assumed.is_empty() {
            None
        } else {
            assumed.get(&cluster.name)
        };
        let assumed = assumed.map_or(&NOTHING, |assumed| &**assumed);
        match &self.kind {
            Kind::Nothing => None,
            Kind::Replicas(request) => Some(general::replicas(
                &cluster.capacity,
                request.as_ref(),
                assumed,
                options.models,
            )),
            Kind::Sets(components) => Some(general::sets(
                &cluster.capacity,
                components,
                assumed,
                options.models,
            )),
        }
    }
}

/// Whether there is nothing to estimate: no replicas and no components.
fn is_uncounted(inputs: &Inputs<'_>) -> bool {
    inputs.binding.spec.replicas <= 0 && inputs.binding.spec.components.is_empty()
}

/// Whether targets and replicas are the same whatever room there is: copies and fixed weights on all clusters that pass.
fn is_room_ignored(inputs: &Inputs<'_>) -> bool {
    let Inputs {
        placement, plugins, ..
    } = inputs;
    let is_fixed = matches!(
        placement.strategy,
        Strategy::Duplicated | Strategy::StaticWeight(_)
    );
    let overflows = placement.terms.iter().any(|term| !term.overflow.is_empty());
    is_fixed && !overflows && !placement.is_spread() && !plugins.has_foreign_steps
}

/// The shares as targets, with selected clusters that got none where those are wanted.
fn targets(cycle: &Cycle<'_>, chosen: &[Candidate], shares: &[(usize, i64)]) -> Vec<Target> {
    let clusters = cycle.inputs.clusters;
    let target = |cluster: usize, replicas: i64| Target {
        cluster: clusters.name(cluster),
        replicas: i32::try_from(replicas).unwrap_or(i32::MAX),
    };
    let mut targets: Vec<Target> = shares
        .iter()
        .map(|(cluster, replicas)| target(*cluster, *replicas))
        .collect();
    if cycle.inputs.options.empty_workloads == EmptyWorkloads::Propagated {
        let mut has_share = vec![false; clusters.len()];
        for (cluster, _) in shares {
            if let Some(slot) = has_share.get_mut(*cluster) {
                *slot = true;
            }
        }
        let empty = chosen.iter().map(|candidate| candidate.cluster);
        let mut empty: Vec<usize> = empty
            .filter(|cluster| has_share.get(*cluster) == Some(&false))
            .collect();
        empty.sort_unstable();
        targets.extend(empty.into_iter().map(|cluster| target(cluster, 0)));
    }
    targets
}

impl Decision {
    fn new(cycle: Cycle<'_>, outcome: Outcome, attempts: Vec<Attempt>) -> Self {
        let succeeded = matches!(outcome, Outcome::Placed(_));
        let last = attempts.last().filter(|_| succeeded);
        let term = last
            .and_then(|attempt| attempt.term.as_ref())
            .map(|(_, name)| Arc::clone(name));
        let awaited = last.map_or_else(String::new, |attempt| awaited::note(&cycle, attempt));
        let stays = matches!(&outcome, Outcome::Refused(refusal) if !refusal.clears_targets());
        let diagnosis = Diagnosis::new(cycle, outcome, attempts);
        Self {
            term,
            awaited,
            staying: if stays { diagnosis.staying() } else { None },
            diagnosis,
        }
    }
}

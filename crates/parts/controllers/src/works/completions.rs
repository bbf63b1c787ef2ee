//! What a Job's clusters get of its completions, and what is told of it.

use std::collections::BTreeMap;

use api::{well_known::events, work::v1alpha2::ResourceBindingSpec};
use binding::completions::{Division, division, running};
use object::Object;
use schedule::assign::apportion::{Ties, shares};

use super::plan::Inputs;
use crate::setback::Setback;

/// For how many seconds after a binding was placed works may be missing from view that were made right before. Times are
/// whole seconds, so it is at least two: long enough for a watch that is behind, and short enough for a Job that moves.
const UNTIL_SEEN: i64 = 3;

/// The generation of a binding that was made and then placed: it had no clusters before.
const FIRST_PLACED: i64 = 2;

/// The completions of a Job, shared.
pub(super) struct Completions<'b> {
    /// By cluster.
    pub(super) shares: BTreeMap<&'b str, i64>,
    /// How many the template asks for.
    all: i64,
    /// How many no cluster is left for.
    missing: i64,
    /// The clusters that have the Job, if one of them goes on with another share than it would get now.
    kept: Vec<(&'b str, i64)>,
    /// The clusters that get what the others leave, and have to keep it.
    newcomers: Vec<&'b str>,
}

impl<'b> Completions<'b> {
    /// What each cluster gets, given the binding's works; `None` where each gets what the template says.
    pub(super) fn of<'w>(
        template: &Object,
        binding: &'b ResourceBindingSpec,
        works: impl IntoIterator<Item = &'w Object>,
    ) -> Option<Self> {
        let ties = Ties::of_template(template.uid());
        let share = |division: Division<'b>| {
            let mut all = shares(division.completions, division.weights, ties);
            all.extend(division.kept);
            all
        };
        let divided = division(template, binding, &running(works))?;
        let all = template.integer_at(&["spec", "completions"])?;
        let afresh = division(template, binding, &BTreeMap::new()).map(share);
        let afresh = afresh.unwrap_or_default();
        let is_other = |(cluster, has): (&&str, &i64)| afresh.get(cluster).unwrap_or(&all) != has;
        // What may change yet is not kept for good, and no share of it is.
        let is_final = !divided.is_elastic;
        let kept = match is_final && divided.kept.iter().any(is_other) {
            true => divided.kept.clone().into_iter().collect(),
            false => Vec::new(),
        };
        let newcomers = divided.weights.iter().map(|(cluster, _)| *cluster);
        Some(Self {
            all,
            missing: divided.missing(),
            kept,
            newcomers: newcomers.filter(|_| is_final).collect(),
            shares: share(divided),
        })
    }

    /// The clusters that wait for their shares because others may have works that are not in view.
    ///
    /// What such a cluster has would be given away a second time, for good. One cluster without a work in view need not
    /// wait: what the others leave is its share whether or not it has it.
    pub(super) fn waiting(&self, inputs: &Inputs<'_>) -> Vec<&'b str> {
        let seen = inputs.clusters_with_work();
        let newcomers = self.newcomers.iter().copied();
        let unseen: Vec<&str> = newcomers.filter(|name| !seen.contains(name)).collect();
        let is_ambiguous = unseen.len() > 1 && has_just_moved(inputs);
        match is_ambiguous || !inputs.works.are_all {
            true => unseen,
            false => Vec::new(),
        }
    }

    /// What is told where clusters go on with what they have.
    pub(super) fn kept(&self) -> Option<String> {
        (!self.kept.is_empty()).then(|| {
            format!(
                "completions of a Job that is there cannot change: of {} in all {}",
                self.all,
                self.who_has()
            )
        })
    }

    /// What is told where completions have no cluster left.
    pub(super) fn missing(&self) -> Option<Setback> {
        (self.missing > 0).then(|| Setback {
            reason: events::template::COMPLETIONS_MISSING,
            message: format!(
                "{} of {} completions have no cluster left, and those of a Job that is there cannot change: {}; run what is missing by another Job",
                self.missing,
                self.all,
                self.who_has()
            ),
        })
    }

    fn who_has(&self) -> String {
        let each = self.shares.iter();
        let each = each.map(|(cluster, count)| format!("{cluster} has {count}"));
        each.collect::<Vec<String>>().join(", ")
    }
}

/// Whether the binding had other clusters a moment ago, so that works may have been made for those which are not in view.
fn has_just_moved(inputs: &Inputs<'_>) -> bool {
    let placed = inputs.view.status.last_scheduled_time;
    let is_recent = placed.is_some_and(|placed| {
        // A time to come is another server's clock, and no reason to wait for it.
        (0..UNTIL_SEEN).contains(&inputs.now.seconds_since(placed))
    });
    is_recent && inputs.binding.generation() > FIRST_PLACED
}

//! What a Job's clusters get of its completions, and what is told of it.

use std::collections::BTreeMap;

use api::{well_known::events, work::v1alpha2::ResourceBindingSpec};
use binding::completions::{Division, division, running};
use object::Object;
use schedule::assign::apportion::{Ties, shares};

use crate::setback::Setback;

/// Whether clusters are to get a share of a Job's completions that they then keep, given these works of its binding.
///
/// Invariant: whoever decides about such shares has asked the server itself for the binding and its works. What is in view
/// may be older than what this controller itself has written, and what is given away a second time is run twice, for good.
pub(super) fn are_to_be_given<'w>(
    template: &Object,
    binding: &ResourceBindingSpec,
    works: impl IntoIterator<Item = &'w Object>,
) -> bool {
    let divided = division(template, binding, &running(works));
    divided.is_some_and(|divided| !divided.is_elastic && !divided.weights.is_empty())
}

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
        // What may change yet is not kept for good.
        let kept = match !divided.is_elastic && divided.kept.iter().any(is_other) {
            true => divided.kept.clone().into_iter().collect(),
            false => Vec::new(),
        };
        Some(Self {
            all,
            missing: divided.missing(),
            kept,
            shares: share(divided),
        })
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

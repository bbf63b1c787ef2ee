//! What is written of the reports of a binding's works.

use std::collections::BTreeSet;

use api::{
    well_known::{conditions, events},
    work::v1alpha2::{AggregatedStatusItem, ResourceBindingStatus},
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Object, ResourceType, Value, condition, time::Time};
use status::Folded;

use crate::binding_view;

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The binding.
    pub binding: &'a Object,
    /// Its status as it is.
    pub current: &'a ResourceBindingStatus,
    /// What the works say.
    pub folded: &'a Folded,
    /// The template, where it is, and its next status as the interpreter made it.
    pub template: Option<TemplateInputs<'a>>,
    /// Now.
    pub now: Time,
}

/// The template's part.
#[derive(Clone, Debug)]
pub struct TemplateInputs<'a> {
    /// Where templates of the kind are.
    pub resource: &'a ResourceType,
    /// The template.
    pub object: &'a Object,
    /// Whether objects of the kind have a status that can be written.
    pub has_status: bool,
    /// Its next status; `None` if its kind has none that could be made, or nothing changes.
    pub next: Result<Option<&'a Value>, &'a str>,
}

/// What is written of the reports.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if inputs.binding.is_terminating() || inputs.is_untouched() {
        return plan;
    }
    if let Some(patch) = inputs.folded.patch(inputs.current, inputs.now) {
        plan.push(Action::patch(
            binding_view::resource(inputs.binding.namespace()),
            inputs.binding,
            patch,
            Part::Status,
        ));
        inputs.tell_fulfilment(&mut plan);
    }
    if let Some(template) = &inputs.template {
        inputs.write_template(&mut plan, template);
    }
    plan
}

/// Whether this would be the first report on a binding, and some of its clusters have said nothing yet.
#[must_use]
pub fn is_partial(
    current: &ResourceBindingStatus,
    folded: &Folded,
    expected: &BTreeSet<&str>,
) -> bool {
    let is_first = current.aggregated_status.is_empty()
        && condition::find(&current.conditions, conditions::binding::FULLY_APPLIED).is_none();
    let spoken = folded.items.iter().filter(|item| !is_silent(item)).count();
    is_first && spoken < expected.len()
}

/// Whether nobody has tried to bring the template to the cluster yet.
fn is_silent(item: &AggregatedStatusItem) -> bool {
    !item.applied && item.status.is_none() && item.applied_message == status::NOT_APPLIED_YET
}

/// The items that the template's status is made of: one for each cluster that should have it, whether or not it has a
/// work yet, so that no generation counts as observed before all of them have seen it.
#[must_use]
pub fn template_items(folded: &Folded, expected: &BTreeSet<&str>) -> Vec<AggregatedStatusItem> {
    let mut items = folded.items.clone();
    for cluster in expected {
        if !items.iter().any(|item| item.cluster_name == *cluster) {
            items.push(AggregatedStatusItem {
                cluster_name: (*cluster).to_owned(),
                ..AggregatedStatusItem::default()
            });
        }
    }
    items.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    items
}

impl Inputs<'_> {
    /// Whether no member has said anything yet, so that there is nothing to tell.
    fn is_untouched(&self) -> bool {
        self.current.aggregated_status.is_empty()
            && condition::find(&self.current.conditions, conditions::binding::FULLY_APPLIED)
                .is_none()
            && !self.folded.items.is_empty()
            && self.folded.items.iter().all(is_silent)
            || self.is_unscheduled()
    }

    /// Whether there is nothing to fold: no work, and the scheduler has not looked at the binding yet.
    fn is_unscheduled(&self) -> bool {
        self.folded.items.is_empty()
            && self.current.aggregated_status.is_empty()
            && self.current.last_scheduled_time.is_none()
    }

    /// Tells when all clusters have it, after some had it not. What each of them says is in the status, and what keeps it
    /// from one of them is told by whoever found out.
    fn tell_fulfilment(&self, plan: &mut Plan) {
        let next = &self.folded.condition;
        let conditions = &self.current.conditions;
        if !next.is_true() || condition::is_true(conditions, &next.r#type) {
            return;
        }
        // How a binding starts is told by its status; news is what comes after.
        let kind = if condition::is_false(conditions, &next.r#type) {
            EventKind::Normal
        } else {
            EventKind::Progress
        };
        // Of a template that does not show it nothing is told that it would.
        let shows = |template: &&TemplateInputs<'_>| template.next_patch().is_ok();
        let template = self.template.as_ref().filter(shows);
        let template = template.map(|template| template.object);
        for about in [Some(self.binding), template].into_iter().flatten() {
            plan.push(Action::report(
                ObjectRef::of(about),
                kind,
                events::binding::AGGREGATE_STATUS_SUCCEED,
                &next.message,
            ));
        }
    }

    fn write_template(&self, plan: &mut Plan, template: &TemplateInputs<'_>) {
        match template.next_patch() {
            Ok(None) => {}
            Ok(Some(patch)) => {
                // Nobody else writes this status, so whatever the author does meanwhile is no conflict.
                plan.push(Action::Patch {
                    resource: template.resource.clone(),
                    key: template.object.key(),
                    uid: Some(template.object.uid().to_owned()),
                    revision: None,
                    patch,
                    part: Part::Status,
                });
            }
            Err(message) => {
                plan.problem(template.object.key().to_string(), &message);
                for about in [template.object, self.binding] {
                    plan.push(Action::report(
                        ObjectRef::of(about),
                        EventKind::Warning,
                        events::binding::AGGREGATE_STATUS_FAILED,
                        message.as_str(),
                    ));
                }
            }
        }
    }
}

impl TemplateInputs<'_> {
    /// What makes the template's status say what it should; `None` if it does.
    ///
    /// Upstream: a status that cannot be written is tried again and again, and told in the same event each time.
    fn next_patch(&self) -> Result<Option<Value>, String> {
        let Some(next) = self.next? else {
            return Ok(None);
        };
        let patch = status::template_patch(self.object, next);
        if patch.is_some() && !self.has_status {
            let kind = &self.resource.kind;
            return Err(format!(
                "the status of the template cannot be written: {} {} has no subresource status; what clusters report is in \
                 the status of the binding",
                kind.api_version(),
                kind.kind
            ));
        }
        Ok(patch)
    }
}

//! Brings what members report back to the binding and to the template.
//!
//! Reads:  works, bindings, clusters, templates; asks the interpreter for the template's status.
//! Writes: `aggregatedStatus` and the condition `FullyApplied` of bindings; the status of templates.
//! Keeps:  nothing is written before a member has said something, and nothing that says nothing new.

pub mod keys;
pub mod plan;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::work::v1alpha2::{ResourceBindingSpec, ResourceBindingStatus};
use binding::targets;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use interpret::InterpretError;
use object::{Object, ObjectKey, Value};
use runtime::Spawner;
use status::{Folded, fold};
use telemetry::chain;
use tokio::time::Instant;

use self::plan::{Inputs, TemplateInputs, plan, template_items};
use crate::{
    answers::{Answers, IN_THE_BACKGROUND, unanswered},
    binding_view::Binding,
    bindings::cluster_of,
    setback,
    templates::{Found, TemplateKey},
    views::Views,
};

/// How long the first report of a member waits for those of others: they come in flocks, and one write tells of all.
const GATHERING: Duration = Duration::from_millis(10);
/// How long it waits while templates do not get on their way as fast as they come.
const GIVING_WAY: Duration = Duration::from_secs(2);
/// How long the first report on a binding waits for clusters that have said nothing yet: most of them will in a moment, and
/// then there is one write and no word of clusters that do not have it.
const FIRST: Duration = Duration::from_millis(100);

/// The controller.
#[derive(Debug)]
pub struct Aggregator {
    views: Views,
    answers: Answers,
    /// Since when bindings wait for their first report to be complete; none is in it for longer than [`FIRST`].
    waiting: Mutex<HashMap<ObjectKey, Instant>>,
}

impl Aggregator {
    /// Starts the controller; `workers` bindings are looked at at once.
    pub fn start(views: &Views, answers: &Answers, workers: usize, spawner: &Spawner, cx: &Cx) {
        let aggregator = Self {
            views: views.clone(),
            answers: answers.clone(),
            waiting: Mutex::default(),
        };
        let bindings = views.bindings.clone();
        let controller = Controller::new("bindingStatus", aggregator).workers(workers);
        let (queue, pressure) = (controller.queue(), cx.pressure.clone());
        let reports = views.bindings.works.on_change(move |change| {
            for key in keys::of_work(change) {
                let wait = match keys::is_silent_news(change) {
                    true => FIRST,
                    false if pressure.is_high() => GIVING_WAY,
                    false => GATHERING,
                };
                queue.add_after(key, wait);
            }
        });
        let (queue, known) = (controller.queue(), views.bindings.clone());
        views.templates.on_other_versions(move |template| {
            for key in known.keys_of_template(template) {
                queue.add(key);
            }
        });
        let (queue, pressure) = (controller.queue(), cx.pressure.clone());
        let known = views.bindings.clone();
        views.templates.on_change(move |kind, change| {
            if change.before.is_some() {
                return;
            }
            // Members may have reported while it was not in view.
            let wait = match pressure.is_high() {
                true => GIVING_WAY,
                false => GATHERING,
            };
            let (kind, key) = (kind.clone(), change.key());
            for key in known.keys_of_template(&TemplateKey { kind, key }) {
                queue.add_after(key, wait);
            }
        });
        let queue = controller.queue();
        answers.on_new_rules(&views.bindings, spawner, move |binding| {
            queue.add_with(binding.key(), Instant::now(), IN_THE_BACKGROUND);
        });
        let placements = [&views.bindings.namespaced, &views.bindings.cluster].map(|cache| {
            let (queue, pressure) = (controller.queue(), cx.pressure.clone());
            cache.on_change(move |change| {
                if let Some(key) = keys::of_binding(change) {
                    let first = if pressure.is_high() {
                        GIVING_WAY
                    } else {
                        FIRST
                    };
                    queue.add_after(key, keys::wait_of_binding(change, first));
                }
            })
        });
        spawner.spawn("bindingStatus reports", |stop| async move {
            stop.cancelled().await;
            drop((reports, placements));
        });
        controller
            .needs(&views.bindings.works)
            .needs(&views.bindings.namespaced)
            .needs(&views.bindings.cluster)
            .watch(&views.clusters, move |change| {
                keys::of_cluster(change, |cluster| bindings.on_cluster(cluster))
            })
            .run(spawner, cx.clone());
    }

    fn fold(
        &self,
        object: &Object,
        spec: &ResourceBindingSpec,
        expected: &BTreeSet<&str>,
    ) -> Folded {
        let key = &object.key();
        let (works, _) = self.views.bindings.works_of(key);
        let works: Vec<&Object> = works.iter().map(Arc::as_ref).collect();
        let silent = works
            .iter()
            .filter_map(|work| cluster_of(work))
            .filter(|cluster| self.views.members.is_silent(cluster))
            .collect();
        fold(&status::Inputs {
            template: &spec.resource,
            expected,
            works: &works,
            silent: &silent,
            setbacks: &setback::of_binding(object),
        })
    }

    /// How long to wait for the rest of a first report; `None` if it is not the first, or complete, or has waited.
    fn wait_for_rest(
        &self,
        key: &ObjectKey,
        current: &ResourceBindingStatus,
        folded: &Folded,
        expected: &BTreeSet<&str>,
    ) -> Option<Duration> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !plan::is_partial(current, folded, expected) {
            waiting.remove(key);
            return None;
        }
        let since = *waiting.entry(key.clone()).or_insert_with(Instant::now);
        let left = FIRST.checked_sub(since.elapsed());
        if left.is_none_or(|left| left.is_zero()) {
            waiting.remove(key);
            return None;
        }
        left
    }

    async fn next_status(
        &self,
        template: &Object,
        folded: &Folded,
        expected: &BTreeSet<&str>,
    ) -> Result<Option<Value>, InterpretError> {
        let items = template_items(folded, expected);
        self.answers.aggregate(template, &items).await
    }

    fn template(&self, object: &Object, spec: &ResourceBindingSpec) -> Option<Found> {
        let found = self.views.templates.of_binding(object)?;
        let uid = spec.resource.uid.as_str();
        (uid.is_empty() || uid == found.object.uid()).then_some(found)
    }
}

impl Reconcile for Aggregator {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(object) = self.views.bindings.get(key) else {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.remove(key);
            return Ok(Wake::OnChange);
        };
        let binding =
            Binding::read(&object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let expected = targets::expected(&binding.spec);
        let folded = self.fold(&object, &binding.spec, &expected);
        if let Some(wait) = self.wait_for_rest(key, &binding.status, &folded, &expected) {
            return Ok(Wake::After(wait));
        }
        let found = self.template(&object, &binding.spec);
        let next = match &found {
            Some(found) => {
                let template = as_bound(&found.object, &binding.spec);
                self.next_status(&template, &folded, &expected).await
            }
            None => Ok(None),
        };
        let mut again = None;
        let next = next.map_err(|error| {
            let message = chain(&error).to_string();
            again = Some(unanswered(&object, error));
            message
        });
        let plan = plan(&Inputs {
            binding: &object,
            current: &binding.status,
            folded: &folded,
            template: found.as_ref().map(|found| TemplateInputs {
                resource: &found.resource,
                object: &found.object,
                has_status: found.has_status,
                next: next.as_ref().map(Option::as_ref).map_err(String::as_str),
            }),
            now: cx.now(),
        });
        if !plan.is_empty() {
            let _turn = cx.pressure.turn().await;
            cx.carry_out(&plan).await?;
        }
        again.map_or(Ok(plan.wake), Err)
    }
}

/// The template in the version that its binding names, be it that this is served no longer: members go on reporting in it,
/// and rules are written for it. Then it has the fields of the version it is found in.
fn as_bound<'t>(template: &'t Object, spec: &ResourceBindingSpec) -> Cow<'t, Object> {
    let api_version = spec.resource.api_version.as_str();
    if api_version == template.api_version() {
        return Cow::Borrowed(template);
    }
    let mut bound = template.clone();
    let fields = bound.fields_mut();
    fields.insert("apiVersion".to_owned(), api_version.into());
    Cow::Owned(bound)
}

//! Sends what a template refers to after it: ConfigMaps, Secrets and the like go to the clusters of whoever needs them.
//!
//! Two controllers. The first looks at a binding whose policy asks for it (`propagateDeps`), finds out what its template
//! refers to, and notes that on the binding. The second looks at an object that is referred to, and keeps its binding
//! listing all who refer to it, with their clusters. So a thousand workloads with one ConfigMap are one list with one
//! writer, written as often as it changes and no binding is written because of its neighbours.
//!
//! Upstream: each binding writes itself into the lists of all it refers to, so that bindings which share a reference get
//! into each other's way.
//!
//! Reads:  ResourceBindings, templates; asks the interpreter for references.
//! Writes: the note of references and the finalizer of bindings that refer; `requiredBy` and its labels on bindings that are
//!         referred to, and those bindings as a whole while no policy claims them.
//! Keeps:  a binding that refers to others goes only when none of them lists it any more; what no policy claims goes along
//!         in a version of its kind that those name who refer to it, if it is served in one of them.

pub mod attachment;
pub mod keys;
pub mod reference;
pub mod referrer;
#[cfg(test)]
mod tests;

use api::{names, well_known::labels::permanent_id};
use binding::terms;
use client::Change;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{GroupKind, GroupVersionKind, ObjectKey};
use runtime::{Queue, Spawner};
use telemetry::chain;
use tokio::time::Instant;

use self::{attachment::Referrer, reference::DependencyKey};
use crate::{
    answers::{Answers, IN_THE_BACKGROUND, unanswered},
    binding_view::Binding,
    templates::{Absence, Found, TemplateKey},
    views::{UNTIL_IN_VIEW, Views, ending},
};

/// Notes on bindings what their templates refer to.
#[derive(Debug)]
pub struct Referrers {
    views: Views,
    answers: Answers,
}

/// Keeps the bindings of what is referred to.
#[derive(Debug)]
pub struct Attachments {
    views: Views,
}

/// Starts both controllers.
pub fn start(views: &Views, answers: &Answers, workers: usize, spawner: &Spawner, cx: &Cx) {
    let attachments = Attachments {
        views: views.clone(),
    };
    let controller = Controller::new("dependencies attach", attachments).workers(workers);
    wake_attachments(views, &controller.queue());
    let looked_up = views.clone();
    controller
        .watch(&views.bindings.namespaced, move |change| {
            keys::attachments_of_binding(change, |kind, namespace| {
                looked_up.templates.of_kind(kind, namespace)
            })
        })
        .run(spawner, cx.clone());

    let referrers = Referrers {
        views: views.clone(),
        answers: answers.clone(),
    };
    let controller = Controller::new("dependencies", referrers)
        .workers(workers)
        .watch(&views.bindings.namespaced, keys::referrers_of_binding);
    let (queue, bindings) = (controller.queue(), views.bindings.clone());
    views.templates.on_change(move |kind, change| {
        for key in keys::referrers_of_template(kind, change, |key| bindings.may_refer(key)) {
            queue.add(key);
        }
    });
    let (queue, bindings) = (controller.queue(), views.bindings.clone());
    views.templates.on_other_versions(move |template| {
        for key in bindings.may_refer(template) {
            queue.add(key);
        }
    });
    let queue = controller.queue();
    answers.on_new_rules(&views.bindings, spawner, move |binding| {
        if keys::may_refer(binding) && !binding.namespace().is_empty() {
            queue.add_with(binding.key(), Instant::now(), IN_THE_BACKGROUND);
        }
    });
    controller.run(spawner, cx.clone());
}

/// Something that is referred to came, went or changed, or is served in other versions: its binding follows.
fn wake_attachments(views: &Views, queue: &Queue<DependencyKey>) {
    let (waking, bindings) = (queue.clone(), views.bindings.clone());
    views.templates.on_change(move |kind, change: &Change| {
        for key in keys::attachments_of_object(kind, change, |entry| bindings.referring(entry)) {
            waking.add(key);
        }
    });
    let (queue, bindings) = (queue.clone(), views.bindings.clone());
    views.templates.on_other_versions(move |template| {
        for key in keys::attachments_of(template, |entry| bindings.referring(entry)) {
            queue.add(key);
        }
    });
}

impl Referrers {
    fn template(&self, binding: &object::Object) -> Option<Found> {
        self.views.templates.of_binding(binding)
    }
}

impl Reconcile for Referrers {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(object) = self.views.bindings.get(key) else {
            return Ok(Wake::OnChange);
        };
        let binding =
            Binding::read(&object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let template = self.template(&object);
        let references = match &template {
            Some(found) if binding.spec.propagate_deps => {
                self.answers.dependencies(&found.object).await
            }
            _ => Ok(None),
        };
        let mut again = None;
        let references = references.map_err(|error| {
            let message = chain(&error).to_string();
            again = Some(unanswered(&object, error));
            message
        });
        let is_complete = self.views.bindings.namespaced.complete().is_some();
        let plan = referrer::plan(&referrer::Inputs {
            binding: &object,
            spec: &binding.spec,
            template: template.as_ref().map(|found| &*found.object),
            references: references
                .as_ref()
                .map(Option::as_deref)
                .map_err(String::as_str),
            attached: is_complete.then(|| self.views.bindings.attached_to(key).len()),
        });
        cx.carry_out(&plan).await?;
        ending(plan.wake, again)
    }
}

impl Attachments {
    /// The bindings that refer to an object. To one that is gone and has left its binding behind (`None`) all refer that may
    /// have: which labels it had is not known any more.
    fn referrers(&self, key: &DependencyKey, dependency: Option<&object::Object>) -> Vec<Referrer> {
        let kind = GroupVersionKind::new(&*key.group, "", &*key.kind);
        let bindings = &self.views.bindings;
        let mut referrers: Vec<Referrer> = reference::entries_for(&kind, &key.object)
            .iter()
            .flat_map(|entry| bindings.referring(entry))
            .filter(|binding| binding.namespace() == key.namespace)
            .filter_map(|binding| {
                let versions = dependency
                    .map(|object| reference::versions_named(&binding, &kind, object))
                    .unwrap_or_default();
                if dependency.is_some() && versions.is_empty() {
                    return None;
                }
                Some(Referrer {
                    versions,
                    key: binding.key(),
                    permanent_id: binding
                        .label(permanent_id::RESOURCE_BINDING)
                        .unwrap_or_default()
                        .to_owned(),
                    spec: Binding::read(&binding).ok()?.spec,
                })
            })
            .collect();
        referrers.sort_by(|a, b| a.key.cmp(&b.key));
        referrers.dedup_by(|a, b| a.key == b.key);
        referrers
    }

    /// An object in the version in which it is sent; `None` while it is not in view in that. A version that is followed from
    /// now on has nothing in view at first, and of two that bore the same name one after the other, each may have another.
    fn as_named(
        &self,
        key: &TemplateKey,
        liked_best: Found,
        binding: Option<&object::Object>,
        referrers: &[Referrer],
    ) -> Option<Found> {
        let Views {
            templates,
            bindings,
            ..
        } = &self.views;
        // What those name that are not in view is not known to be over.
        let is_known = binding.is_none() || bindings.namespaced.complete().is_some();
        let referrers = if is_known { referrers } else { &[] };
        let is_served = |version: &str| templates.is_served_in(version, &key.kind);
        let Some(version) = attachment::version(binding, referrers, is_served) else {
            return Some(liked_best);
        };
        let found = templates.find_in(version, key)?;
        (found.object.uid() == liked_best.object.uid()).then_some(found)
    }
}

impl Reconcile for Attachments {
    type Key = DependencyKey;

    async fn reconcile(&self, key: &DependencyKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let template = TemplateKey {
            kind: GroupKind::new(&*key.group, &*key.kind),
            key: key.object.clone(),
        };
        let name = names::binding_name(&key.kind, &key.object.name);
        let binding = self
            .views
            .bindings
            .get(&ObjectKey::namespaced(&*key.namespace, name));
        let templates = &self.views.templates;
        // Which object it is, and who refers to it, is the same in every version.
        let liked_best = templates.find(&template);
        let referrers = match (&liked_best, binding.as_deref()) {
            (Some(found), _) => self.referrers(key, Some(&found.object)),
            // What it made stays for as long as those need it who did before.
            (None, Some(binding)) if terms::is_left(binding) => {
                let mut referrers = self.referrers(key, None);
                referrers.retain(|referrer| attachment::is_listed(binding, &referrer.key));
                referrers
            }
            (None, _) => Vec::new(),
        };
        let found = match liked_best {
            Some(liked_best) => {
                let binding = binding.as_deref();
                let Some(found) = self.as_named(&template, liked_best, binding, &referrers) else {
                    return Ok(UNTIL_IN_VIEW);
                };
                Some(found)
            }
            None => None,
        };
        let is_known = found.is_some() || templates.absence(&template) != Absence::Unseen;
        if let (Some(found), Some(binding)) = (&found, binding.as_deref())
            && terms::takes_over(&found.object, binding)
            && !found.is_there_to_stay(&cx.client).await?
        {
            // What became of it is about to be seen.
            return Ok(Wake::OnChange);
        }
        let plan = attachment::plan(&attachment::Inputs {
            namespace: &key.namespace,
            dependency: found.as_ref().map(|found| &*found.object),
            binding: binding.as_deref(),
            referrers: &referrers,
            are_all: is_known && self.views.bindings.namespaced.complete().is_some(),
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

//! Whose templates would be, once the supposed objects have come one after the other, as a file has them.
//!
//! A claim is sticky, and a lazy policy waits for a template's next change: the order decides. After every object the
//! templates that it concerns are decided about, and what the control plane would note of that is noted, on copies.

use std::collections::BTreeMap;

use object::{Object, ObjectKey};
use policy::{Exemption, MetadataEdit, Outcome, Policy, PolicyId, Reach};

use super::stage::Supposed;
use super::templates::is_edited;
use super::{Template, Templates};
use crate::picture::{Forms, Picture, speaks_of, version_of};

/// Revisions of what is supposed: later than any that a server has given, which counts from one.
const FIRST_REVISION: u64 = 1 << 62;

/// Whose every template would be.
#[derive(Default)]
pub(super) struct Claims {
    settled: BTreeMap<Id, Settled>,
}

/// A template by kind and name.
type Id = (String, ObjectKey);

/// Whose a template would be, and what its binding would say.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// The policy that holds it, or is to.
    pub(super) policy: Option<Policy>,
    pub(super) standing: Standing,
    /// The policy that its binding was last made by, and what the template was then; `None` if the binding is as it was
    /// before.
    pub(super) applied: Option<(Policy, Object)>,
    /// The version in which its binding names it, or would.
    pub(super) version: String,
    /// Whether the binding is about the template as it would be at last.
    pub(super) is_spoken_of: bool,
}

/// How a template and its policy stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is none of the policies' business.
    Exempt(Exemption),
    /// No policy selects it.
    Unclaimed,
    /// Its policy waits for these override policies.
    Awaiting(Vec<String>),
    /// Its policy is lazy, and waits for the template's next change.
    Held,
    /// Its binding says what the policy says.
    Applied,
}

impl Settled {
    /// Whether nobody claims it.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.standing, Standing::Exempt(_) | Standing::Unclaimed)
    }

    /// Whether its policy is another than before, or says something else.
    pub(super) fn is_news(&self, was: &Self) -> bool {
        let both = self.policy.as_ref().zip(was.policy.as_ref());
        both.is_none_or(|(now, was)| now.id != was.id || !now.says_the_same(was))
    }

    /// Whether its policy wants what it leaves to stay in clusters. What a lazy one says is not meant for what it holds
    /// already.
    pub(super) fn preserves(&self) -> bool {
        let policy = self.policy.as_ref().filter(|policy| !policy.is_lazy());
        policy.is_some_and(|policy| policy.spec.preserve_resources_on_deletion == Some(true))
    }

    /// A template as its binding names it, or would.
    pub(super) fn form<'t>(&self, template: &'t Template) -> &'t Object {
        template.object.in_version(&self.version)
    }

    /// The name of the policy that holds it.
    pub(super) fn holder(&self) -> Option<String> {
        Some(self.policy.as_ref()?.id.to_string())
    }
}

/// A template and its binding on the way.
#[derive(Clone, Debug, Default)]
struct State {
    object: Forms,
    /// Its binding; only what is noted on it is kept up.
    binding: Option<Object>,
    /// What has been noted on the template so far, which its author's changes leave in place.
    notes: MetadataEdit,
    policy: Option<Policy>,
    standing: Option<Standing>,
    applied: Option<(Policy, Object)>,
    /// The version that this policy means, or that its binding names.
    version: Option<String>,
}

impl Claims {
    /// Lets the supposed objects come, one after the other, from how it is to how it would be.
    pub(super) fn after_each(
        (before, after): (&Picture, &Picture),
        templates: &Templates,
        order: &[Supposed],
    ) -> Self {
        let mut picture = before.clone();
        // A version that comes to be served is as good as served already for those that name it.
        picture.versions = after.versions.clone();
        let mut states: BTreeMap<Id, State> = BTreeMap::new();
        for (number, supposed) in order.iter().enumerate() {
            if !supposed.is_written() {
                continue;
            }
            let object = supposed.numbered(number);
            let Some(reach) = amend(&mut picture, object.main()) else {
                let id = id(object.main());
                let state = states.remove(&id).unwrap_or_else(|| State {
                    binding: templates.binding_of(object.main()).cloned(),
                    ..State::default()
                });
                let state = State { object, ..state }.noted();
                states.insert(id, state.decided(&picture));
                continue;
            };
            for template in templates.all() {
                let known = states.get(&template.id());
                let Some(current) = known.map(|known| &known.object).or(template.former()) else {
                    continue;
                };
                if reach.covers(&picture.template(current.main())) {
                    let state = known.cloned().unwrap_or_else(|| State {
                        object: current.clone(),
                        binding: templates.binding_of(current.main()).cloned(),
                        ..State::default()
                    });
                    states.insert(template.id(), state.decided(&picture));
                }
            }
        }
        let settled = states.into_iter();
        Self {
            settled: settled.map(|(id, state)| (id, state.settled())).collect(),
        }
    }

    /// Decides about all others, whom nothing that is supposed concerns.
    pub(super) fn complete(&mut self, after: &Picture, templates: &Templates) {
        for template in templates.all() {
            self.settled
                .entry(template.id())
                .or_insert_with(|| settle(after, templates, &template.object));
        }
    }

    /// Whose a template would be.
    pub(super) fn of(&self, template: &Template) -> Option<&Settled> {
        self.settled.get(&template.id())
    }
}

/// Whose a template is by what a picture shows.
pub(super) fn settle(picture: &Picture, templates: &Templates, object: &Forms) -> Settled {
    let state = State {
        object: object.clone(),
        binding: templates.binding_of(object.main()).cloned(),
        ..State::default()
    };
    state.decided(picture).settled()
}

fn id(object: &Object) -> Id {
    (object.kind().to_owned(), object.key())
}

/// Takes in what claims templates, or is waited for by that; gives the templates it concerns, `None` for anything else.
fn amend(picture: &mut Picture, object: &Object) -> Option<Reach> {
    match object.kind() {
        "PropagationPolicy" | "ClusterPropagationPolicy" => {
            let id = PolicyId {
                namespace: object.namespace().to_owned(),
                name: object.name().to_owned(),
            };
            let was = picture.policies.policy(&id).cloned();
            picture.take(object);
            Some(Reach::of_policy(was.as_ref(), picture.policies.policy(&id)))
        }
        "OverridePolicy" | "ClusterOverridePolicy" => {
            picture.take(object);
            let (namespace, name) = (object.namespace(), object.name());
            Some(Reach::of_override(&picture.policies, namespace, name))
        }
        _ => None,
    }
}

impl Supposed {
    /// Whether applying it writes anything.
    pub(super) fn is_written(&self) -> bool {
        let was = self.was.as_ref();
        was.is_none_or(|was| is_edited(was, self.object.main()))
    }

    /// The object with the revision that it has as the so-manieth one to be written.
    pub(super) fn numbered(&self, number: usize) -> Forms {
        let mut object = self.object.clone();
        let revision = FIRST_REVISION.saturating_add(number as u64).to_string();
        // What has no metadata has been refused before.
        object.edit(|form| drop(form.set(&["metadata", "resourceVersion"], revision.as_str())));
        object
    }
}

impl State {
    /// The template with what has been noted on it.
    fn noted(mut self) -> Self {
        self.object.edit(|form| write(form, &self.notes));
        self
    }

    /// What the control plane makes of it now.
    fn decided(mut self, picture: &Picture) -> Self {
        let main = self.object.main();
        let meant = picture.version_meant(main, self.binding.as_ref());
        let meant = meant.unwrap_or_else(|| version_of(main).to_owned());
        let object = self.object.in_version(&meant);
        let decision = picture.claim(object, self.binding.as_ref());
        let chosen = decision.claim.chosen.map(|found| found.policy.clone());
        let edit = decision.template_edit(object);
        let (standing, is_applied) = match &decision.outcome {
            Outcome::Exempt(why) => (Standing::Exempt(why.clone()), false),
            Outcome::Unclaimed => (Standing::Unclaimed, false),
            Outcome::Awaiting { missing, .. } => {
                let missing = missing.iter().map(|name| (*name).to_owned());
                (Standing::Awaiting(missing.collect()), false)
            }
            Outcome::Held(_) => (Standing::Held, false),
            Outcome::Applied(_) => (Standing::Applied, true),
        };
        let mut binding = self.binding.clone();
        if is_applied {
            binding.get_or_insert_default();
        }
        if let Some(binding) = &mut binding {
            let edit = decision.binding_edit(object, binding);
            write(binding, &edit);
        }
        if let Some(policy) = chosen.clone().filter(|_| is_applied) {
            self.applied = Some((policy, object.clone()));
            self.version = Some(meant);
        } else if self.version.is_none() {
            let binding = self.binding.as_ref();
            self.version = binding.and_then(|binding| picture.version_bound(main, binding));
        }
        self.object.edit(|form| write(form, &edit));
        self.notes.labels.extend(edit.labels);
        self.notes.annotations.extend(edit.annotations);
        Self {
            binding,
            policy: chosen,
            standing: Some(standing),
            ..self
        }
    }

    fn settled(self) -> Settled {
        let main = self.object.main();
        let version = self.version.unwrap_or_else(|| version_of(main).to_owned());
        let is_spoken_of = match &self.binding {
            Some(binding) => speaks_of(binding, self.object.in_version(&version)),
            None => true,
        };
        Settled {
            version,
            is_spoken_of,
            policy: self.policy,
            standing: self.standing.unwrap_or(Standing::Unclaimed),
            applied: self.applied,
        }
    }
}

/// Writes labels and annotations onto an object.
fn write(object: &mut Object, edit: &MetadataEdit) {
    for (field, edits) in [("labels", &edit.labels), ("annotations", &edit.annotations)] {
        for (key, value) in edits {
            let path = ["metadata", field, key];
            match value {
                // Labels that are no labels are left alone: nothing can be noted there.
                Some(value) => drop(object.set(&path, value.as_str())),
                None => drop(object.remove(&path)),
            }
        }
    }
}

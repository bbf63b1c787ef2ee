//! Cases: YAML in, the decision as text out.

mod claims;
mod exemptions;
mod lazy;
mod metadata;
mod preemption;
mod properties;
mod reach;

use std::{collections::BTreeSet, fmt::Write};

use api::{
    policy::{ClusterPropagationPolicy, PropagationPolicy},
    read::read,
};
use object::{Object, ObjectKey};

use crate::{
    Decision, Exemptions, Holder, Index, Inputs, Outcome, Policy, Preemption, Template, decide,
    exemption::DEFAULT_SKIPPED_NAMESPACES, holder::MetadataEdit,
};

/// What the documents of a case say.
pub(crate) struct Scene {
    pub(crate) policies: Index,
    pub(crate) overrides: BTreeSet<ObjectKey>,
    pub(crate) template: Object,
    pub(crate) binding: Option<Object>,
    pub(crate) preemption: Preemption,
}

/// Reads policies, override policies, a binding and, as whatever else there is, the template.
pub(crate) fn scene(documents: &str) -> Scene {
    let documents: Vec<Object> = serde_saphyr::from_multiple(documents).unwrap();
    let mut scene = Scene {
        policies: Index::default(),
        overrides: BTreeSet::new(),
        template: Object::default(),
        binding: None,
        preemption: Preemption::Off,
    };
    for document in documents {
        match document.kind() {
            "PropagationPolicy" | "ClusterPropagationPolicy" => {
                scene.policies.insert(policy(document));
            }
            "OverridePolicy" | "ClusterOverridePolicy" => {
                scene.overrides.insert(document.key());
            }
            "ResourceBinding" | "ClusterResourceBinding" => scene.binding = Some(document),
            _ => scene.template = document,
        }
    }
    scene
}

/// The policy a document describes; its permanent id is its name with `-id` behind it, unless it says otherwise.
pub(crate) fn policy(document: Object) -> Policy {
    let mut policy = if document.kind() == "PropagationPolicy" {
        Policy::from(&read::<PropagationPolicy>(&document).unwrap())
    } else {
        Policy::from(&read::<ClusterPropagationPolicy>(&document).unwrap())
    };
    if policy.permanent_id.is_empty() {
        policy.permanent_id = format!("{}-id", policy.id.name);
    }
    policy
}

pub(crate) fn one(document: &str) -> Object {
    serde_saphyr::from_str(document).unwrap()
}

impl Scene {
    pub(crate) fn with_preemption(mut self) -> Self {
        self.preemption = Preemption::On;
        self
    }

    pub(crate) fn decide<T>(&self, look: impl FnOnce(&Decision<'_>) -> T) -> T {
        let exemptions = Exemptions::parse("", [DEFAULT_SKIPPED_NAMESPACES]).unwrap();
        look(&decide(&Inputs {
            template: Template::new(&self.template),
            binding: self.binding.as_ref(),
            policies: &self.policies,
            overrides: &self.overrides,
            exemptions: &exemptions,
            preemption: self.preemption,
        }))
    }

    /// The outcome, who lets go, and why the others lost.
    pub(crate) fn story(&self) -> String {
        self.decide(|decision| {
            let mut text = outcome(&decision.outcome);
            if let Some(release) = &decision.release {
                write!(
                    text,
                    "\nreleased by {}: {:?}, {:?}",
                    release.holder,
                    release.cause,
                    release.cause.order()
                )
                .unwrap();
            }
            for (other, verdict) in &decision.claim.considered {
                write!(text, "\nnot {}: {verdict}", other.policy.id).unwrap();
            }
            text
        })
    }

    /// What is written on the template and on the binding.
    pub(crate) fn edits(&self) -> String {
        self.decide(|decision| {
            let template = decision.template_edit(&self.template);
            let mut text = format!("template {}", edit(&template));
            if let Some(binding) = &self.binding {
                let binding = decision.binding_edit(&self.template, binding);
                write!(text, "\nbinding {}", edit(&binding)).unwrap();
            }
            text
        })
    }

    /// The scene once the decision's edits are written.
    pub(crate) fn settled(mut self) -> Self {
        let (template, binding) = self.decide(|decision| {
            let binding = self
                .binding
                .as_ref()
                .map(|binding| decision.binding_edit(&self.template, binding));
            (decision.template_edit(&self.template), binding)
        });
        self.template = written(&self.template, &template);
        if let (Some(object), Some(edit)) = (&self.binding, binding) {
            self.binding = Some(written(object, &edit));
        }
        self
    }
}

/// The object with an edit written on it.
pub(crate) fn written(object: &Object, edit: &MetadataEdit) -> Object {
    let patched = object::patch::merge(&object.clone().into_value(), &edit.to_merge_patch());
    Object::from_value(patched).unwrap()
}

/// An object that carries the claim of a policy.
pub(crate) fn claimed(object: &Object, policy: &Policy) -> Object {
    let claimed = written(object, &crate::holder::claim(object, policy));
    assert_eq!(Holder::of(&claimed), Some(Holder::from(policy)));
    claimed
}

fn outcome(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Exempt(exemption) => format!("exempt: {exemption}"),
        Outcome::Unclaimed => "unclaimed".to_owned(),
        Outcome::Awaiting { policy, missing } => {
            format!("{} awaits {}", policy.id, missing.join(", "))
        }
        Outcome::Held(policy) => format!("held by {}", policy.id),
        Outcome::Applied(policy) => format!("applied: {}", policy.id),
    }
}

fn edit(edit: &MetadataEdit) -> String {
    let patch = edit.to_merge_patch();
    match patch.get("metadata") {
        None => "as it is".to_owned(),
        Some(metadata) => serde_json::to_string(metadata).unwrap(),
    }
}

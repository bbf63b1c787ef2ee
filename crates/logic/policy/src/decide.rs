//! What becomes of a template: whose it is to be, what its former holder lets go, and whether its binding moves now.

use std::collections::BTreeSet;

use api::well_known::annotations::ACTIVATION_FINGERPRINT;
use object::{Object, ObjectKey};

use crate::{
    activation::Fingerprint,
    claim::{Claim, Preemption, challenge, contest},
    exemption::{Exemption, Exemptions},
    holder::{self, Holder, MetadataEdit},
    index::{Index, Match},
    policy::Policy,
    template::Template,
};

/// Everything the decision may look at.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The template.
    pub template: Template<'a>,
    /// Its binding, if there is one.
    pub binding: Option<&'a Object>,
    /// All policies.
    pub policies: &'a Index,
    /// The override policies that exist; without a namespace for ClusterOverridePolicies.
    pub overrides: &'a BTreeSet<ObjectKey>,
    /// What is never a template.
    pub exemptions: &'a Exemptions,
    /// Whether policies may take templates over.
    pub preemption: Preemption,
}

/// What becomes of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<'a> {
    /// The contest.
    pub claim: Claim<'a>,
    /// Who lets go of the template, if somebody does.
    pub release: Option<Release>,
    /// What happens now.
    pub outcome: Outcome<'a>,
    /// Whether the template has a binding already, which then keeps the note of what its author wrote.
    pub has_binding: bool,
}

/// What happens to a template now.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<'a> {
    /// It is none of the policies' business, whatever they say; nothing is touched.
    Exempt(Exemption),
    /// No policy selects it.
    Unclaimed,
    /// The policy that should act waits for override policies.
    Awaiting {
        /// The policy.
        policy: &'a Policy,
        /// The names that do not exist.
        missing: Vec<&'a str>,
    },
    /// A lazy policy holds the template, and its binding stays as it is until the author's next change.
    Held(&'a Policy),
    /// The policy holds the template, and its binding is to say what the policy says.
    Applied(&'a Policy),
}

/// The end of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Whose claim ends.
    pub holder: Holder,
    /// Why.
    pub cause: ReleaseCause,
}

/// Why a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseCause {
    /// The policy does not exist; or one of the same name does, but it is another one.
    PolicyGone,
    /// The policy is being deleted.
    PolicyTerminating,
    /// The policy selects the template no longer.
    NoLongerSelected,
    /// Another policy takes over.
    Preempted,
}

/// Which of two objects is written first when a claim is taken off both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOrder {
    /// The binding, then the template.
    BindingFirst,
    /// The template, then the binding.
    TemplateFirst,
}

impl ReleaseCause {
    /// The order in which claims come off. Whichever object is written last still carries the claim if the writer dies
    /// in between, so that the next decision finds it again.
    #[must_use]
    pub fn order(self) -> ReleaseOrder {
        match self {
            Self::PolicyGone | Self::PolicyTerminating | Self::Preempted => {
                ReleaseOrder::BindingFirst
            }
            Self::NoLongerSelected => ReleaseOrder::TemplateFirst,
        }
    }
}

/// Decides what becomes of a template.
///
/// A claim is sticky: its holder keeps the template as long as it exists and selects it, unless another policy may
/// take over. It does not matter what woke the decision.
#[must_use]
pub fn decide<'a>(inputs: &Inputs<'a>) -> Decision<'a> {
    if let Some(exemption) = inputs.exemptions.check(inputs.template.object) {
        return Decision {
            claim: Claim::default(),
            release: None,
            outcome: Outcome::Exempt(exemption),
            has_binding: inputs.binding.is_some(),
        };
    }
    let (claim, release) = match Holder::of(inputs.template.object) {
        None => (contest(inputs.policies, &inputs.template), None),
        Some(holder) => match inputs.current(&holder) {
            Ok(current) => inputs.defend(holder, current),
            Err(cause) => {
                let release = Release { holder, cause };
                (contest(inputs.policies, &inputs.template), Some(release))
            }
        },
    };
    let outcome = inputs.outcome(&claim);
    Decision {
        claim,
        release,
        outcome,
        has_binding: inputs.binding.is_some(),
    }
}

impl<'a> Inputs<'a> {
    /// The holder's policy, as long as it may keep the template.
    fn current(&self, holder: &Holder) -> Result<Match<'a>, ReleaseCause> {
        let policy = self
            .policies
            .policy(&holder.policy)
            .filter(|policy| holder.is(policy))
            .ok_or(ReleaseCause::PolicyGone)?;
        if policy.is_terminating {
            return Err(ReleaseCause::PolicyTerminating);
        }
        let specificity = policy
            .select(&self.template)
            .ok_or(ReleaseCause::NoLongerSelected)?;
        Ok(Match {
            policy,
            specificity,
        })
    }

    fn defend(&self, holder: Holder, current: Match<'a>) -> (Claim<'a>, Option<Release>) {
        let is_ready = |policy: &Policy| self.missing_overrides(policy).next().is_none();
        let claim = challenge(
            self.policies,
            &self.template,
            current,
            self.preemption,
            is_ready,
        );
        let is_kept = claim
            .chosen
            .is_some_and(|chosen| chosen.policy.id == current.policy.id);
        let release = (!is_kept).then_some(Release {
            holder,
            cause: ReleaseCause::Preempted,
        });
        (claim, release)
    }

    fn outcome(&self, claim: &Claim<'a>) -> Outcome<'a> {
        let Some(Match { policy, .. }) = claim.chosen else {
            return Outcome::Unclaimed;
        };
        let missing: Vec<&str> = self.missing_overrides(policy).collect();
        if !missing.is_empty() {
            return Outcome::Awaiting { policy, missing };
        }
        if policy.is_lazy() && self.is_held_back(policy) {
            return Outcome::Held(policy);
        }
        Outcome::Applied(policy)
    }

    /// The override policies that a policy waits for and that do not exist: of its own namespace, or cluster-wide for
    /// a ClusterPropagationPolicy.
    fn missing_overrides<'p>(&self, policy: &'p Policy) -> impl Iterator<Item = &'p str> {
        policy
            .spec
            .dependent_overrides
            .iter()
            .filter(|name| {
                let key = ObjectKey::namespaced(&policy.id.namespace, name.as_str());
                !self.overrides.contains(&key)
            })
            .map(String::as_str)
    }

    /// Whether the author has left the template alone since a lazy policy met it, or since its binding was refreshed.
    fn is_held_back(&self, policy: &Policy) -> bool {
        let template = self.template.object;
        match self.binding {
            // Without a note the binding is from before notes were written; it stays until the author's next change.
            Some(binding) => Fingerprint::noted_on(binding)
                .is_none_or(|noted| noted == Fingerprint::of(template)),
            None => match Fingerprint::noted_on(template) {
                Some(noted) => noted == Fingerprint::of(template),
                None => !is_newer(template, policy),
            },
        }
    }
}

impl Decision<'_> {
    /// What is to be written on the template.
    #[must_use]
    pub fn template_edit(&self, template: &Object) -> MetadataEdit {
        match &self.outcome {
            Outcome::Exempt(_) => MetadataEdit::default(),
            Outcome::Unclaimed | Outcome::Awaiting { .. } => self.released(template),
            Outcome::Held(policy) => {
                let mut edit = holder::claim(template, policy);
                if !self.has_binding && Fingerprint::noted_on(template).is_none() {
                    note(&mut edit, Fingerprint::of(template));
                }
                edit
            }
            Outcome::Applied(policy) => {
                let mut edit = holder::claim(template, policy);
                if template.annotation(ACTIVATION_FINGERPRINT).is_some() {
                    edit.annotations.insert(ACTIVATION_FINGERPRINT, None);
                }
                edit
            }
        }
    }

    /// What is to be written on the labels and annotations of the binding, given the template as it is now.
    #[must_use]
    pub fn binding_edit(&self, template: &Object, binding: &Object) -> MetadataEdit {
        match &self.outcome {
            Outcome::Exempt(_) => MetadataEdit::default(),
            Outcome::Unclaimed | Outcome::Awaiting { .. } => {
                self.without_strangers(template, binding)
            }
            Outcome::Held(_) => {
                let mut edit = self.without_strangers(template, binding);
                if Fingerprint::noted_on(binding).is_none() {
                    note(&mut edit, Fingerprint::of(template));
                }
                edit
            }
            Outcome::Applied(policy) => {
                let mut edit = holder::claim(binding, policy);
                let now = Fingerprint::of(template);
                if Fingerprint::noted_on(binding) != Some(now) {
                    note(&mut edit, now);
                }
                edit
            }
        }
    }

    /// What takes the claim of the former holder off the template.
    fn released(&self, template: &Object) -> MetadataEdit {
        match &self.release {
            Some(release) => holder::release(template, &release.holder),
            None => MetadataEdit::default(),
        }
    }

    /// What takes any claim off a binding that is not the template's. It need not be one that ends just now: a writer
    /// may have died after the template and before the binding.
    fn without_strangers(&self, template: &Object, binding: &Object) -> MetadataEdit {
        let rightful = match &self.outcome {
            Outcome::Held(policy) => Some(Holder::from(*policy)),
            _ if self.release.is_some() => None,
            _ => Holder::of(template),
        };
        match Holder::of(binding) {
            Some(noted) if Some(&noted) != rightful.as_ref() => holder::release(binding, &noted),
            _ => MetadataEdit::default(),
        }
    }
}

fn note(edit: &mut MetadataEdit, fingerprint: Fingerprint) {
    edit.annotations
        .insert(ACTIVATION_FINGERPRINT, Some(fingerprint.to_string()));
}

/// Whether the template was last written after the policy. Revisions count writes over all objects; where they are no
/// numbers, as in another server's store, the times of creation answer as well as they can.
fn is_newer(template: &Object, policy: &Policy) -> bool {
    let revisions: (Result<u64, _>, Result<u64, _>) = (
        template.resource_version().parse(),
        policy.resource_version.parse(),
    );
    if let (Ok(template), Ok(policy)) = revisions {
        return template > policy;
    }
    let created = template
        .text_at(&["metadata", "creationTimestamp"])
        .and_then(|text| text.parse().ok());
    created >= policy.created
}

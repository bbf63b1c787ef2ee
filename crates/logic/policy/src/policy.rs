//! Propagation policies as decisions look at them: prepared once when a policy changes, shared until it does.

use std::fmt;

use api::{
    TypeName,
    policy::{
        ActivationPreference, ClusterPropagationPolicy, PreemptionBehavior, PropagationPolicy,
        PropagationSpec,
    },
    registry::Scope,
    twins::PropagationView,
};
use object::{field::FieldPath, time::Time};

use crate::{
    selector::{Selector, Specificity},
    template::Template,
};

/// Names a policy among all others of both kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId {
    /// Empty for a ClusterPropagationPolicy.
    pub namespace: String,
    /// Unique in the namespace.
    pub name: String,
}

/// A policy with its selectors compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which policy.
    pub id: PolicyId,
    /// Its identity over time, which claims carry; empty if admission never saw the policy.
    pub permanent_id: String,
    /// When it was created.
    pub created: Option<Time>,
    /// The revision of its last change.
    pub resource_version: String,
    /// Whether its deletion has been asked for. Such a policy claims nothing and lets go of what it has.
    pub is_terminating: bool,
    /// Its selectors, in the order of the spec.
    pub selectors: Vec<Selector>,
    /// What it says.
    pub spec: PropagationSpec,
}

impl PolicyId {
    /// Whether it is a PropagationPolicy or a ClusterPropagationPolicy.
    #[must_use]
    pub fn scope(&self) -> Scope {
        if self.namespace.is_empty() {
            Scope::Cluster
        } else {
            Scope::Namespaced
        }
    }

    /// The kind of the policy.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.scope() {
            Scope::Namespaced => PropagationPolicy::KIND,
            Scope::Cluster => ClusterPropagationPolicy::KIND,
        }
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name } = self;
        match self.scope() {
            Scope::Namespaced => write!(f, "{} {namespace}/{name}", self.kind()),
            Scope::Cluster => write!(f, "{} {name}", self.kind()),
        }
    }
}

impl Policy {
    /// Prepares a policy of either kind.
    #[must_use]
    pub fn prepare(policy: PropagationView<'_>) -> Self {
        let namespace = match policy.scope {
            Scope::Namespaced => policy.metadata.namespace.clone(),
            Scope::Cluster => String::new(),
        };
        let path = FieldPath::new("spec").child("resourceSelectors");
        let selectors = policy.spec.resource_selectors.iter().enumerate();
        Self {
            id: PolicyId {
                namespace,
                name: policy.metadata.name.clone(),
            },
            permanent_id: policy.permanent_id().unwrap_or_default().to_owned(),
            created: policy.metadata.creation_timestamp,
            resource_version: policy.metadata.resource_version.clone(),
            is_terminating: policy.metadata.is_terminating(),
            selectors: selectors
                .map(|(position, selector)| Selector::compile(selector, &path.index(position)))
                .collect(),
            spec: policy.spec.clone(),
        }
    }

    /// The explicit priority.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or_default()
    }

    /// Whether the policy may take templates over from others.
    #[must_use]
    pub fn may_preempt(&self) -> bool {
        self.spec.preemption == Some(PreemptionBehavior::Always)
    }

    /// Whether templates that the policy claims wait for their author's next change.
    #[must_use]
    pub fn is_lazy(&self) -> bool {
        self.spec.activation_preference == Some(ActivationPreference::Lazy)
    }

    /// Whether nothing that decides about templates differs: the same policy, saying the same.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.id == other.id
            && self.permanent_id == other.permanent_id
            && self.is_terminating == other.is_terminating
            && self.spec == other.spec
    }

    /// How closely the policy describes a template that it selects: the best of its selectors. `None` if it does not
    /// select it.
    #[must_use]
    pub fn select(&self, template: &Template<'_>) -> Option<Specificity> {
        self.closest(template).map(|(specificity, _)| specificity)
    }

    /// The version in which the policy means a template that it selects: the one that the best of its selectors names.
    #[must_use]
    pub fn version_meant(&self, template: &Template<'_>) -> Option<&str> {
        self.closest(template)
            .map(|(_, selector)| selector.version.as_str())
    }

    /// The best of the selectors that select a template; of several that are as good, the first.
    fn closest(&self, template: &Template<'_>) -> Option<(Specificity, &Selector)> {
        if !self.can_see(template) {
            return None;
        }
        let selectors = self.selectors.iter().rev();
        selectors
            .filter_map(|selector| Some((selector.select(template)?, selector)))
            .max_by_key(|(specificity, _)| *specificity)
    }

    /// Whether the template is in reach at all: a PropagationPolicy sees only its own namespace.
    fn can_see(&self, template: &Template<'_>) -> bool {
        self.id.namespace.is_empty() || self.id.namespace == template.object.namespace()
    }
}

impl From<&PropagationPolicy> for Policy {
    fn from(policy: &PropagationPolicy) -> Self {
        Self::prepare(policy.into())
    }
}

impl From<&ClusterPropagationPolicy> for Policy {
    fn from(policy: &ClusterPropagationPolicy) -> Self {
        Self::prepare(policy.into())
    }
}

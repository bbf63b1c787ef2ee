//! Override policies, prepared once when they change and shared until they do.

use std::{fmt, sync::Arc};

use api::{
    TypeName,
    affinity::{Affinity, Mismatch},
    policy::{ClusterOverridePolicy, OverridePolicy, Overriders},
    registry::Scope,
    twins::OverrideView,
};
use object::field::FieldPath;

use crate::{
    cluster::ClusterFacts,
    template::{Selector, Specificity, Template},
};

/// Names an override policy among all others of both kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId {
    /// Empty for a ClusterOverridePolicy.
    pub namespace: String,
    /// Unique in the namespace.
    pub name: String,
}

/// An override policy with its selectors and affinities compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which policy.
    pub id: PolicyId,
    /// Its identity in time, by which it is told what is wrong with it; empty if it was never stored.
    pub uid: String,
    /// The templates it is about; empty means all that it can see.
    pub selectors: Vec<Selector>,
    /// What it changes, in the order of application.
    pub rules: Vec<Rule>,
}

/// Changes for a group of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where in the policy it stands.
    pub place: RulePlace,
    /// The clusters it is for; `None` means all.
    pub clusters: Option<Affinity>,
    /// The changes.
    pub overriders: Arc<Overriders>,
}

/// Where in a policy a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// In the list, at this position.
    Listed(usize),
    /// In the two fields that came before the list.
    Alone,
}

impl PolicyId {
    /// The kind of the policy.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.namespace.is_empty() {
            ClusterOverridePolicy::KIND
        } else {
            OverridePolicy::KIND
        }
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name } = self;
        if namespace.is_empty() {
            return write!(f, "{} {name}", self.kind());
        }
        write!(f, "{} {namespace}/{name}", self.kind())
    }
}

/// The path of the rule's overriders below `spec`.
impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(position) => write!(f, "overrideRules[{position}].overriders"),
            Self::Alone => f.write_str("overriders"),
        }
    }
}

impl Policy {
    /// Prepares a policy of either kind.
    #[must_use]
    pub fn prepare(policy: OverrideView<'_>) -> Self {
        let spec = FieldPath::new("spec");
        let selectors = policy.spec.resource_selectors.iter().enumerate();
        let selector_path = spec.child("resourceSelectors");
        Self {
            id: PolicyId {
                namespace: match policy.scope {
                    Scope::Namespaced => policy.metadata.namespace.clone(),
                    Scope::Cluster => String::new(),
                },
                name: policy.metadata.name.clone(),
            },
            uid: policy.metadata.uid.clone(),
            selectors: selectors
                .map(|(position, selector)| {
                    Selector::compile(selector, &selector_path.index(position))
                })
                .collect(),
            rules: rules(policy, &spec),
        }
    }

    /// How closely the policy describes a template that it is about; `None` if it is not about it. The closer, the later it
    /// is applied.
    #[must_use]
    pub fn select(&self, template: &Template<'_>) -> Option<Specificity> {
        if !self.id.namespace.is_empty() && self.id.namespace != template.object.namespace() {
            return None;
        }
        if self.selectors.is_empty() {
            return Some(Specificity::All);
        }
        self.selectors
            .iter()
            .filter_map(|selector| selector.select(template))
            .max()
    }
}

impl Rule {
    /// Whether the rule is for the cluster, or why it is not.
    pub fn check(&self, cluster: &ClusterFacts<'_>) -> Result<(), Mismatch> {
        self.clusters
            .as_ref()
            .map_or(Ok(()), |affinity| affinity.check(cluster))
    }
}

impl From<&OverridePolicy> for Policy {
    fn from(policy: &OverridePolicy) -> Self {
        Self::prepare(policy.into())
    }
}

impl From<&ClusterOverridePolicy> for Policy {
    fn from(policy: &ClusterOverridePolicy) -> Self {
        Self::prepare(policy.into())
    }
}

/// The rules of a policy. The two older fields are one rule, which counts only where there is no list.
fn rules(policy: OverrideView<'_>, spec: &FieldPath) -> Vec<Rule> {
    if !policy.spec.override_rules.is_empty() {
        let list = policy.spec.override_rules.iter().enumerate();
        let path = spec.child("overrideRules");
        return list
            .map(|(position, rule)| Rule {
                place: RulePlace::Listed(position),
                clusters: rule.target_cluster.as_ref().map(|affinity| {
                    Affinity::compile(affinity, &path.index(position).child("targetCluster"))
                }),
                overriders: Arc::new(rule.overriders.clone()),
            })
            .collect();
    }
    if policy.spec.overriders.is_empty() {
        return Vec::new();
    }
    let clusters = policy
        .spec
        .target_cluster
        .as_ref()
        .map(|affinity| Affinity::compile(affinity, &spec.child("targetCluster")));
    vec![Rule {
        place: RulePlace::Alone,
        clusters,
        overriders: Arc::new(policy.spec.overriders.clone()),
    }]
}

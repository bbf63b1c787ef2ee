//! Override policies, prepared once when they change and shared until they do.

use std::{fmt, sync::Arc};

use api::{
    TypeName,
    affinity::{Affinity, Mismatch},
    policy::{ClusterOverridePolicy, OverridePolicy, Overriders, ResourceSelector},
    registry::Scope,
    twins::OverrideView,
};
use object::{field::FieldPath, selector::Selector};

use crate::{cluster::ClusterFacts, template::Template};

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
    /// The templates it is about; empty means all that it can see.
    pub selectors: Vec<TemplateSelector>,
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

/// How closely a policy describes a template: the implicit priority. The closer, the later it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Specificity {
    /// Every template, or every one of the kind.
    All = 1,
    /// The templates with some labels.
    Labels = 2,
    /// The template of one name.
    Name = 3,
}

/// A resource selector ready for matching.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateSelector {
    /// The API version, as the author of the policy wrote it.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    namespace: String,
    name: String,
    /// `None` where the field is absent; an error where it is not valid, so that it selects nothing.
    labels: Option<Result<Selector, String>>,
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
            selectors: selectors
                .map(|(position, selector)| {
                    TemplateSelector::compile(selector, &selector_path.index(position))
                })
                .collect(),
            rules: rules(policy, &spec),
        }
    }

    /// How closely the policy describes a template that it is about; `None` if it is not about it.
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

impl TemplateSelector {
    fn compile(selector: &ResourceSelector, path: &FieldPath) -> Self {
        Self {
            api_version: selector.api_version.clone(),
            kind: selector.kind.clone(),
            namespace: selector.namespace.clone(),
            name: selector.name.clone(),
            labels: selector.label_selector.as_ref().map(|labels| {
                labels
                    .compile(&path.child("labelSelector"))
                    .map_err(|problems| object::field::join(&problems))
            }),
        }
    }

    fn select(&self, template: &Template<'_>) -> Option<Specificity> {
        let object = template.object;
        let fits = self.kind == object.kind()
            && template.has_api_version(&self.api_version)
            && (self.namespace.is_empty() || self.namespace == object.namespace());
        if !fits {
            return None;
        }
        if !self.name.is_empty() {
            return (self.name == object.name()).then_some(Specificity::Name);
        }
        match &self.labels {
            None => Some(Specificity::All),
            Some(Err(_)) => None,
            Some(Ok(labels)) => labels
                .matches(|key| object.label(key))
                .then_some(Specificity::Labels),
        }
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

//! Which clusters an affinity means: compiled once and then asked about every cluster.
//!
//! Placements, fixed weights and override rules all choose clusters with a [`ClusterAffinity`]; this is what it says.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use object::{
    field::FieldPath,
    selector::{LabelSelector, Operator, Requirement},
};

use crate::{
    cluster::Cluster,
    kubernetes::scheduling::{NodeSelectorRequirement, selector_operator},
    policy::{ClusterAffinity, FieldSelector, cluster_field},
};

/// What an affinity may ask about a cluster.
pub trait ClusterTraits {
    /// Its name.
    fn name(&self) -> &str;
    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str>;
    /// Who runs it; empty if not said.
    fn provider(&self) -> &str;
    /// Where it is; empty if not said.
    fn region(&self) -> &str;
    /// Whether it spans any of these failure domains.
    fn has_zone_of(&self, zones: &[String]) -> bool;
    /// Whether it says which failure domains it spans.
    fn has_zones(&self) -> bool;
}

/// A cluster affinity ready for matching.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affinity {
    exclude: Vec<Box<str>>,
    labels: Vec<(Requirement, Arc<str>)>,
    fields: Vec<(FieldRule, Arc<str>)>,
    /// Part of the affinity cannot be understood, so it matches nothing.
    invalid: Option<Arc<str>>,
    names: Vec<Box<str>>,
}

/// Why a cluster does not match an affinity: the first part that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is listed in `exclude`.
    Excluded,
    /// Its labels do not satisfy this requirement.
    Label(Arc<str>),
    /// Its provider, region or zones do not satisfy this requirement.
    Field(Arc<str>),
    /// It is not listed in `clusterNames`.
    NotNamed,
    /// The selector itself is wrong and matches no cluster.
    Invalid(Arc<str>),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded => f.write_str("the cluster is excluded"),
            Self::Label(rule) => write!(f, "the cluster's labels do not satisfy {rule}"),
            Self::Field(rule) => write!(f, "the cluster's fields do not satisfy {rule}"),
            Self::NotNamed => f.write_str("the cluster is not named"),
            Self::Invalid(problem) => write!(f, "the affinity is not valid: {problem}"),
        }
    }
}

/// What one expression of a field selector asks for.
#[derive(Clone, Debug, PartialEq)]
enum FieldRule {
    /// Of the set of zones.
    Zone(NodeSelectorRequirement),
    /// Of the provider or region, with the meaning of a label selector.
    Single(Requirement),
}

impl Affinity {
    /// Compiles the affinity that stands at `path` of its object. What is invalid in it is kept as the reason why
    /// nothing matches.
    #[must_use]
    pub fn compile(affinity: &ClusterAffinity, path: &FieldPath) -> Self {
        let mut compiled = Self {
            exclude: sorted(&affinity.exclude),
            names: sorted(&affinity.cluster_names),
            ..Self::default()
        };
        if let Some(selector) = &affinity.label_selector {
            compiled.compile_labels(selector, &path.child("labelSelector"));
        }
        if let Some(selector) = &affinity.field_selector {
            let path = path.child("fieldSelector").child("matchExpressions");
            compiled.compile_fields(selector, &path);
        }
        compiled
    }

    /// Whether the cluster matches, or the first part that it fails.
    pub fn check(&self, cluster: &impl ClusterTraits) -> Result<(), Mismatch> {
        if contains(&self.exclude, cluster.name()) {
            return Err(Mismatch::Excluded);
        }
        if let Some(problem) = &self.invalid {
            return Err(Mismatch::Invalid(Arc::clone(problem)));
        }
        for (requirement, text) in &self.labels {
            if !requirement.accepts(cluster.label(requirement.key())) {
                return Err(Mismatch::Label(Arc::clone(text)));
            }
        }
        for (rule, text) in &self.fields {
            if !rule.accepts(cluster) {
                return Err(Mismatch::Field(Arc::clone(text)));
            }
        }
        if !self.names.is_empty() && !contains(&self.names, cluster.name()) {
            return Err(Mismatch::NotNamed);
        }
        Ok(())
    }

    /// Whether the cluster matches.
    #[must_use]
    pub fn matches(&self, cluster: &impl ClusterTraits) -> bool {
        self.check(cluster).is_ok()
    }

    fn compile_labels(&mut self, selector: &LabelSelector, path: &FieldPath) {
        match selector.compile(path) {
            Ok(selector) => {
                let with_text = |requirement: &Requirement| {
                    (requirement.clone(), requirement.to_string().into())
                };
                self.labels = selector.requirements().iter().map(with_text).collect();
            }
            Err(problems) => self.invalid = Some(object::field::join(&problems).into()),
        }
    }

    fn compile_fields(&mut self, selector: &FieldSelector, path: &FieldPath) {
        for (position, expression) in selector.match_expressions.iter().enumerate() {
            match FieldRule::compile(expression, &path.index(position)) {
                Ok(rule) => self.fields.push(rule),
                Err(problem) => self.invalid = Some(problem.into()),
            }
        }
    }
}

impl FieldRule {
    fn compile(
        expression: &NodeSelectorRequirement,
        path: &FieldPath,
    ) -> Result<(Self, Arc<str>), String> {
        let NodeSelectorRequirement {
            key,
            operator,
            values,
        } = expression;
        if key == cluster_field::ZONE {
            let text = if values.is_empty() {
                format!("zone {operator}")
            } else {
                format!("zone {operator} ({})", values.join(","))
            };
            return Ok((Self::Zone(expression.clone()), text.into()));
        }
        let operator = match operator.as_str() {
            selector_operator::IN => Operator::In,
            selector_operator::NOT_IN => Operator::NotIn,
            selector_operator::EXISTS => Operator::Exists,
            selector_operator::DOES_NOT_EXIST => Operator::DoesNotExist,
            selector_operator::GT => Operator::GreaterThan,
            selector_operator::LT => Operator::LessThan,
            other => {
                return Err(format!(
                    "{}: {other:?} is not an operator",
                    path.child("operator")
                ));
            }
        };
        let requirement = Requirement::new(path, key, operator, values.iter().map(String::as_str))
            .map_err(|problems| object::field::join(&problems))?;
        let text = requirement.to_string().into();
        Ok((Self::Single(requirement), text))
    }

    fn accepts(&self, cluster: &impl ClusterTraits) -> bool {
        match self {
            Self::Zone(NodeSelectorRequirement {
                operator, values, ..
            }) => match operator.as_str() {
                selector_operator::IN => cluster.has_zone_of(values),
                selector_operator::NOT_IN => !cluster.has_zone_of(values),
                selector_operator::EXISTS => cluster.has_zones(),
                selector_operator::DOES_NOT_EXIST => !cluster.has_zones(),
                _ => false,
            },
            Self::Single(requirement) => {
                let value = match requirement.key() {
                    cluster_field::PROVIDER => cluster.provider(),
                    cluster_field::REGION => cluster.region(),
                    _ => "",
                };
                requirement.accepts(Some(value).filter(|value| !value.is_empty()))
            }
        }
    }
}

impl ClusterTraits for Cluster {
    fn name(&self) -> &str {
        &self.metadata.name
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    fn provider(&self) -> &str {
        &self.spec.provider
    }

    fn region(&self) -> &str {
        &self.spec.region
    }

    fn has_zone_of(&self, zones: &[String]) -> bool {
        self.spec.zones.iter().any(|zone| zones.contains(zone))
    }

    fn has_zones(&self) -> bool {
        !self.spec.zones.is_empty()
    }
}

fn sorted(names: &[String]) -> Vec<Box<str>> {
    let mut names: Vec<Box<str>> = names.iter().map(|name| name.as_str().into()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn contains(names: &[Box<str>], name: &str) -> bool {
    names.binary_search_by(|known| (**known).cmp(name)).is_ok()
}

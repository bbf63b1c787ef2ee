//! The clusters that a rule is for, compiled once and then asked about every cluster.

use std::fmt;

use api::{
    kubernetes::scheduling::{NodeSelectorRequirement, selector_operator},
    policy::{ClusterAffinity, cluster_field},
};
use object::{
    field::FieldPath,
    selector::{Operator, Requirement, Selector},
};

use crate::cluster::ClusterFacts;

/// A cluster affinity ready for matching.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affinity {
    exclude: Vec<String>,
    labels: Selector,
    fields: Vec<FieldRule>,
    names: Vec<String>,
    /// Part of the affinity cannot be understood, so it matches nothing.
    invalid: Option<String>,
}

/// Why a rule is not for a cluster: the first part that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The cluster is listed in `exclude`.
    Excluded,
    /// Its labels do not satisfy this requirement.
    Label(String),
    /// Its provider, region or zones do not satisfy this requirement.
    Field(String),
    /// It is not listed in `clusterNames`.
    NotNamed,
    /// The affinity itself is wrong and matches no cluster.
    Invalid(String),
}

/// What one expression of a field selector asks for.
#[derive(Clone, Debug, PartialEq)]
enum FieldRule {
    /// Of the set of zones.
    Zones(NodeSelectorRequirement),
    /// Of the provider or the region, with the meaning of a label selector; an empty field is an absent label.
    Single(Requirement),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded => f.write_str("the cluster is excluded"),
            Self::Label(requirement) => {
                write!(f, "the cluster's labels do not satisfy {requirement}")
            }
            Self::Field(requirement) => {
                write!(f, "the cluster's fields do not satisfy {requirement}")
            }
            Self::NotNamed => f.write_str("the cluster is not named"),
            Self::Invalid(problem) => write!(f, "the affinity is not valid: {problem}"),
        }
    }
}

impl Affinity {
    /// Compiles the affinity that stands at `path` of its policy. What is invalid in it is kept as the reason why
    /// nothing matches.
    #[must_use]
    pub fn compile(affinity: &ClusterAffinity, path: &FieldPath) -> Self {
        let mut compiled = Self {
            exclude: affinity.exclude.clone(),
            names: affinity.cluster_names.clone(),
            ..Self::default()
        };
        if let Some(selector) = &affinity.label_selector {
            match selector.compile(&path.child("labelSelector")) {
                Ok(labels) => compiled.labels = labels,
                Err(problems) => compiled.invalid = Some(object::field::join(&problems)),
            }
        }
        if let Some(selector) = &affinity.field_selector {
            let path = path.child("fieldSelector").child("matchExpressions");
            for (position, expression) in selector.match_expressions.iter().enumerate() {
                match FieldRule::compile(expression, &path.index(position)) {
                    Ok(rule) => compiled.fields.push(rule),
                    Err(problem) => compiled.invalid = Some(problem),
                }
            }
        }
        compiled
    }

    /// Whether the cluster is meant, or the first part that it fails.
    pub fn check(&self, cluster: &ClusterFacts<'_>) -> Result<(), Mismatch> {
        let is_in = |names: &[String]| names.iter().any(|name| name == cluster.name);
        if is_in(&self.exclude) {
            return Err(Mismatch::Excluded);
        }
        if let Some(problem) = &self.invalid {
            return Err(Mismatch::Invalid(problem.clone()));
        }
        for requirement in self.labels.requirements() {
            let label = cluster.labels.get(requirement.key()).map(String::as_str);
            if !requirement.accepts(label) {
                return Err(Mismatch::Label(requirement.to_string()));
            }
        }
        for rule in &self.fields {
            if !rule.accepts(cluster) {
                return Err(Mismatch::Field(rule.to_string()));
            }
        }
        if !self.names.is_empty() && !is_in(&self.names) {
            return Err(Mismatch::NotNamed);
        }
        Ok(())
    }
}

impl FieldRule {
    fn compile(expression: &NodeSelectorRequirement, path: &FieldPath) -> Result<Self, String> {
        if expression.key == cluster_field::ZONE {
            return Ok(Self::Zones(expression.clone()));
        }
        let operator = match expression.operator.as_str() {
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
        let values = expression.values.iter().map(String::as_str);
        Requirement::new(path, &expression.key, operator, values)
            .map(Self::Single)
            .map_err(|problems| object::field::join(&problems))
    }

    fn accepts(&self, cluster: &ClusterFacts<'_>) -> bool {
        match self {
            Self::Zones(NodeSelectorRequirement {
                operator, values, ..
            }) => {
                let overlaps = || cluster.zones.iter().any(|zone| values.contains(zone));
                match operator.as_str() {
                    selector_operator::IN => overlaps(),
                    selector_operator::NOT_IN => !overlaps(),
                    selector_operator::EXISTS => !cluster.zones.is_empty(),
                    selector_operator::DOES_NOT_EXIST => cluster.zones.is_empty(),
                    _ => false,
                }
            }
            Self::Single(requirement) => {
                let value = match requirement.key() {
                    cluster_field::PROVIDER => cluster.provider,
                    cluster_field::REGION => cluster.region,
                    _ => "",
                };
                requirement.accepts(Some(value).filter(|value| !value.is_empty()))
            }
        }
    }
}

impl fmt::Display for FieldRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(requirement) => requirement.fmt(f),
            Self::Zones(NodeSelectorRequirement {
                key,
                operator,
                values,
            }) => {
                write!(f, "{key} {operator}")?;
                if !values.is_empty() {
                    write!(f, " ({})", values.join(","))?;
                }
                Ok(())
            }
        }
    }
}

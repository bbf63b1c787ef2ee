//! The label selector as API objects carry it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::label::{Operator, Requirement, Selector};
use crate::{
    field::{FieldError, FieldPath},
    names::{check_label_value, check_qualified_name},
};

/// Selects objects by their labels. All of `matchLabels` and `matchExpressions` must hold; an empty selector selects
/// every object.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Conditions on single labels.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Labels that must be there with exactly these values.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub match_labels: BTreeMap<String, String>,
}

/// A condition on one label.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelectorRequirement {
    /// The key of the label.
    pub key: String,
    /// How the label relates to the values: `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// What `In` and `NotIn` compare with, at least one; empty for `Exists` and `DoesNotExist`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// The selector that asks for exactly these labels, beside any others.
    #[must_use]
    pub fn with_labels(labels: BTreeMap<String, String>) -> Self {
        Self {
            match_labels: labels,
            match_expressions: Vec::new(),
        }
    }

    /// Whether nothing is asked for, so that every object matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Everything that is wrong with the selector standing at `path`.
    #[must_use]
    pub fn validate(&self, path: &FieldPath) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let labels_path = path.child("matchLabels");
        for (key, value) in &self.match_labels {
            for problem in check_qualified_name(key) {
                errors.push(FieldError::invalid(
                    labels_path.clone(),
                    key.as_str(),
                    problem,
                ));
            }
            for problem in check_label_value(value) {
                errors.push(FieldError::invalid(
                    labels_path.clone(),
                    value.as_str(),
                    problem,
                ));
            }
        }
        let expressions_path = path.child("matchExpressions");
        for (position, expression) in self.match_expressions.iter().enumerate() {
            expression.validate_into(&expressions_path.index(position), &mut errors);
        }
        errors
    }

    /// The selector ready for matching, or everything that is wrong with the one standing at `path`.
    pub fn compile(&self, path: &FieldPath) -> Result<Selector, Vec<FieldError>> {
        let errors = self.validate(path);
        if !errors.is_empty() {
            return Err(errors);
        }
        let labels = self.match_labels.iter().map(|(key, value)| {
            Requirement::trusted(key.clone(), Operator::Equals, vec![value.clone()])
        });
        let expressions = self.match_expressions.iter().filter_map(|expression| {
            let operator = expression.parsed_operator()?;
            Some(Requirement::trusted(
                expression.key.clone(),
                operator,
                expression.values.clone(),
            ))
        });
        Ok(Selector::all_of(labels.chain(expressions)))
    }
}

impl LabelSelectorRequirement {
    /// What `operator` means; `None` if nothing.
    fn parsed_operator(&self) -> Option<Operator> {
        match self.operator.as_str() {
            "In" => Some(Operator::In),
            "NotIn" => Some(Operator::NotIn),
            "Exists" => Some(Operator::Exists),
            "DoesNotExist" => Some(Operator::DoesNotExist),
            _ => None,
        }
    }

    fn validate_into(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        let values_path = path.child("values");
        match self.parsed_operator() {
            Some(Operator::In | Operator::NotIn) if self.values.is_empty() => {
                errors.push(FieldError::required(
                    values_path.clone(),
                    "the operators In and NotIn need values",
                ));
            }
            Some(Operator::Exists | Operator::DoesNotExist) if !self.values.is_empty() => {
                errors.push(FieldError::forbidden(
                    values_path.clone(),
                    "the operators Exists and DoesNotExist take no values",
                ));
            }
            Some(_) => {}
            None => errors.push(FieldError::invalid(
                path.child("operator"),
                self.operator.as_str(),
                "not a valid selector operator",
            )),
        }
        for problem in check_qualified_name(&self.key) {
            errors.push(FieldError::invalid(
                path.child("key"),
                self.key.as_str(),
                problem,
            ));
        }
        for (position, value) in self.values.iter().enumerate() {
            for problem in check_label_value(value) {
                errors.push(FieldError::invalid(
                    values_path.index(position),
                    value.as_str(),
                    problem,
                ));
            }
        }
    }
}

/// Clients written in Go send `null` for an empty list or map.
fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

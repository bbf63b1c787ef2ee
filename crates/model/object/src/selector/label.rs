//! The compiled label selector: requirements that all must hold.

use std::{collections::BTreeMap, fmt};

use crate::{
    field::{FieldError, FieldPath},
    names::{check_label_value, check_qualified_name},
};

/// Up to this many values a scan beats a binary search.
const SCAN_LIMIT: usize = 8;

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// `key=value`: the label is there and has this value.
    Equals,
    /// `key==value`: the same; kept apart only to print as it was written.
    DoubleEquals,
    /// `key!=value`: the label is missing or has another value.
    NotEquals,
    /// `key in (a,b)`: the label is there and has one of the values.
    In,
    /// `key notin (a,b)`: the label is missing or has none of the values.
    NotIn,
    /// `key`: the label is there.
    Exists,
    /// `!key`: the label is missing.
    DoesNotExist,
    /// `key>5`: the label is there, is an integer, and is greater.
    GreaterThan,
    /// `key<5`: the label is there, is an integer, and is less.
    LessThan,
}

impl Operator {
    fn takes_integer(self) -> bool {
        matches!(self, Self::GreaterThan | Self::LessThan)
    }
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    // Invariant: sorted, without duplicates, and as many as the operator takes.
    values: Vec<String>,
    // Invariant: the only value as a number for `>` and `<`, zero otherwise.
    bound: i64,
}

impl Requirement {
    /// A requirement, unless the key, the values or their number are wrong; then everything that is.
    ///
    /// Errors are reported at `key` and `values` below `path`.
    pub fn new(
        path: &FieldPath,
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, Vec<FieldError>> {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        let mut errors = Vec::new();
        for problem in check_qualified_name(key) {
            errors.push(FieldError::invalid(path.child("key"), key, problem));
        }
        let values_path = path.child("values");
        if let Some(problem) = check_count(operator, values.len()) {
            errors.push(FieldError::invalid(
                values_path.clone(),
                values.clone(),
                problem,
            ));
        }
        for (position, value) in values.iter().enumerate() {
            for problem in check_value(operator, value) {
                errors.push(FieldError::invalid(
                    values_path.index(position),
                    value.as_str(),
                    problem,
                ));
            }
        }
        if errors.is_empty() {
            Ok(Self::trusted(key.to_owned(), operator, values))
        } else {
            Err(errors)
        }
    }

    /// A requirement from parts that were checked already.
    pub(super) fn trusted(key: String, operator: Operator, mut values: Vec<String>) -> Self {
        // Upstream: keeps duplicates of a typed selector when printing; the set, and so the meaning, is the same.
        values.sort_unstable();
        values.dedup();
        let bound = match values.first() {
            Some(value) if operator.takes_integer() => value.parse().unwrap_or_default(),
            _ => 0,
        };
        Self {
            key,
            operator,
            values,
            bound,
        }
    }

    /// The label's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of the label.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What the label is compared with; sorted, each once.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label with this value, or with `None` a missing label, satisfies the requirement.
    #[must_use]
    pub fn accepts(&self, label: Option<&str>) -> bool {
        match (self.operator, label) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, Some(value)) => {
                self.has_value(value)
            }
            (Operator::NotEquals | Operator::NotIn, Some(value)) => !self.has_value(value),
            (Operator::GreaterThan, Some(value)) => {
                value.parse().is_ok_and(|number: i64| number > self.bound)
            }
            (Operator::LessThan, Some(value)) => {
                value.parse().is_ok_and(|number: i64| number < self.bound)
            }
            (Operator::Exists, present) => present.is_some(),
            (Operator::DoesNotExist, present) => present.is_none(),
            (operator, None) => matches!(operator, Operator::NotEquals | Operator::NotIn),
        }
    }

    fn has_value(&self, wanted: &str) -> bool {
        if self.values.len() <= SCAN_LIMIT {
            return self.values.iter().any(|value| value == wanted);
        }
        self.values
            .binary_search_by(|value| value.as_str().cmp(wanted))
            .is_ok()
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
            ..
        } = self;
        let only = values.first().map_or("", String::as_str);
        match operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Equals => write!(f, "{key}={only}"),
            Operator::DoubleEquals => write!(f, "{key}=={only}"),
            Operator::NotEquals => write!(f, "{key}!={only}"),
            Operator::GreaterThan => write!(f, "{key}>{only}"),
            Operator::LessThan => write!(f, "{key}<{only}"),
            Operator::In => write!(f, "{key} in ({})", values.join(",")),
            Operator::NotIn => write!(f, "{key} notin ({})", values.join(",")),
        }
    }
}

/// A label selector ready for matching.
///
/// Without requirements it matches everything. It prints as Kubernetes prints it: requirements by key, values of a set
/// in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    // Invariant: sorted by key; requirements on one key stay in the order they were given.
    requirements: Vec<Requirement>,
}

impl Selector {
    /// The selector that matches every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that asks for all of `requirements`.
    #[must_use]
    pub fn all_of(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<Requirement> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }

    /// The selector that asks for exactly these labels with these values, beside any others.
    ///
    /// Errors are reported as for [`Requirement::new`].
    pub fn with_labels(
        path: &FieldPath,
        labels: &BTreeMap<String, String>,
    ) -> Result<Self, Vec<FieldError>> {
        let mut requirements = Vec::with_capacity(labels.len());
        let mut errors = Vec::new();
        for (key, value) in labels {
            match Requirement::new(path, key, Operator::Equals, [value.as_str()]) {
                Ok(requirement) => requirements.push(requirement),
                Err(problems) => errors.extend(problems),
            }
        }
        if errors.is_empty() {
            Ok(Self { requirements })
        } else {
            Err(errors)
        }
    }

    /// What must hold, by key.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether every object matches, because nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object matches whose label `key` has the value `lookup(key)`, `None` meaning that it has no such label.
    #[must_use]
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.accepts(lookup(&requirement.key)))
    }

    /// Whether an object with these labels matches.
    #[must_use]
    pub fn matches_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches(|key| labels.get(key).map(String::as_str))
    }

    /// The one value that the label `key` must have for a match, if the selector allows just one; for index lookups.
    #[must_use]
    pub fn exact_value(&self, key: &str) -> Option<&str> {
        let of_key = self
            .requirements
            .iter()
            .filter(|requirement| requirement.key == key);
        of_key
            .filter(|requirement| {
                matches!(
                    requirement.operator,
                    Operator::Equals | Operator::DoubleEquals | Operator::In
                )
            })
            .find_map(|requirement| match requirement.values.as_slice() {
                [only] => Some(only.as_str()),
                _ => None,
            })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

/// What is wrong with the number of values, if anything.
fn check_count(operator: Operator, count: usize) -> Option<&'static str> {
    match operator {
        Operator::In | Operator::NotIn => {
            (count == 0).then_some("'in' and 'notin' need at least one value")
        }
        Operator::Exists | Operator::DoesNotExist => {
            (count != 0).then_some("a test for existence takes no values")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
            (count != 1).then_some("an exact match takes exactly one value")
        }
        Operator::GreaterThan | Operator::LessThan => {
            (count != 1).then_some("'>' and '<' take exactly one value")
        }
    }
}

/// What is wrong with one value.
pub(super) fn check_value(operator: Operator, value: &str) -> Vec<String> {
    let mut problems = check_label_value(value);
    if operator.takes_integer() && value.parse::<i64>().is_err() {
        problems.push("'>' and '<' compare with an integer of 64 bits".to_owned());
    }
    problems
}

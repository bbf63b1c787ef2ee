//! Resource selectors, compiled once for a policy and then asked about every template.

use std::fmt;

use api::policy::ResourceSelector;
use object::{field::FieldPath, selector};

use crate::template::{Template, split_api_version};

/// How closely a selector describes the templates it selects: the implicit priority of its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Specificity {
    /// Every template of the kind.
    All = 1,
    /// The templates with some labels.
    Labels = 2,
    /// The template of one name.
    Name = 3,
}

impl fmt::Display for Specificity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all of the kind",
            Self::Labels => "by labels",
            Self::Name => "by name",
        })
    }
}

/// A resource selector ready for matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The group of the kind; empty for the core group.
    pub group: String,
    /// The version that the author wrote.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The namespace that is meant; empty means any.
    pub namespace: String,
    /// Which templates of the kind.
    pub which: Which,
}

/// Which templates of a kind are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those with such labels.
    Labels(selector::Selector),
    /// The one of this name.
    Name(String),
    /// None, because the label selector is not valid: the reason.
    ///
    /// Upstream: admission refuses such a policy; one that got past it selects nothing here as there.
    Nothing(String),
}

impl Selector {
    /// Compiles the selector that stands at `path` of its policy.
    #[must_use]
    pub fn compile(selector: &ResourceSelector, path: &FieldPath) -> Self {
        let (group, version) = split_api_version(&selector.api_version);
        let which = match &selector.label_selector {
            // Upstream: with a name the label selector is not looked at, not even for being valid.
            _ if !selector.name.is_empty() => Which::Name(selector.name.clone()),
            None => Which::All,
            Some(labels) => match labels.compile(&path.child("labelSelector")) {
                Ok(labels) => Which::Labels(labels),
                Err(problems) => Which::Nothing(object::field::join(&problems)),
            },
        };
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: selector.kind.clone(),
            namespace: selector.namespace.clone(),
            which,
        }
    }

    /// How closely the selector describes a template that it selects; `None` if it does not select it.
    #[must_use]
    pub fn select(&self, template: &Template<'_>) -> Option<Specificity> {
        let object = template.object;
        let fits = self.kind == object.kind()
            && self.group == template.group()
            && template.has_version(&self.version)
            && (self.namespace.is_empty() || self.namespace == object.namespace());
        if !fits {
            return None;
        }
        match &self.which {
            Which::All => Some(Specificity::All),
            Which::Labels(labels) => labels
                .matches(|key| object.label(key))
                .then_some(Specificity::Labels),
            Which::Name(name) => (name == object.name()).then_some(Specificity::Name),
            Which::Nothing(_) => None,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.version, self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        match &self.which {
            Which::All => Ok(()),
            Which::Labels(labels) if labels.is_empty() => f.write_str(" with any labels"),
            Which::Labels(labels) => write!(f, " with {labels}"),
            Which::Name(name) => write!(f, " named {name}"),
            Which::Nothing(problem) => write!(f, " selected by nothing: {problem}"),
        }
    }
}

//! Which templates a policy means: resource selectors, compiled once for a policy and then asked about every template.
//!
//! Policies that claim templates and policies that override them choose with the same selectors, and mean the same.

use std::fmt;

use object::{Object, field::FieldPath, selector};

use crate::policy::ResourceSelector;

/// A template and what is known of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// What the author wrote, perhaps with the replicas for one cluster.
    pub object: &'a Object,
    /// Versions of the kind that are served beside the one the object is in. A selector may name any of them.
    ///
    /// Upstream: only the preferred version is watched, so a policy that names another one silently selects nothing.
    pub other_versions: &'a [String],
}

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

impl<'a> Template<'a> {
    /// A template of a kind that is served in one version.
    #[must_use]
    pub fn new(object: &'a Object) -> Self {
        Self {
            object,
            other_versions: &[],
        }
    }

    /// The group of its kind; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &'a str {
        split_api_version(self.object.api_version()).0
    }

    /// Whether `version` of the template's own group and kind is served.
    fn has_version(&self, version: &str) -> bool {
        split_api_version(self.object.api_version()).1 == version
            || self.other_versions.iter().any(|other| other == version)
    }
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

impl fmt::Display for Specificity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all of the kind",
            Self::Labels => "by labels",
            Self::Name => "by name",
        })
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

/// The group and the version of an `apiVersion`; whatever follows a second slash belongs to the version, which then
/// equals none that is served.
fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

//! Templates as policies look at them.

use object::{GroupVersionKind, Object, ObjectKey};

/// A template and what is known of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// What the author wrote.
    pub object: &'a Object,
    /// Versions of the kind that are served beside the one the object is in. A selector may name any of them.
    ///
    /// Upstream: only the preferred version is watched, so a policy that names another one silently selects nothing.
    pub other_versions: &'a [String],
}

/// Names a template among all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateKey {
    /// What it is.
    pub kind: GroupVersionKind,
    /// Which one.
    pub key: ObjectKey,
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

    /// Names the template.
    #[must_use]
    pub fn key(&self) -> TemplateKey {
        TemplateKey {
            kind: self.object.group_version_kind(),
            key: self.object.key(),
        }
    }

    /// The group of its kind; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &'a str {
        split_api_version(self.object.api_version()).0
    }

    /// Whether `version` of the template's own group and kind is served.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        split_api_version(self.object.api_version()).1 == version
            || self.other_versions.iter().any(|other| other == version)
    }
}

/// The group and the version of an `apiVersion`; whatever follows a second slash belongs to the version, which then
/// equals none that is served.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

//! Templates as override policies look at them.

use object::Object;

/// An object on its way to clusters, and what is known of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// The object: what the author wrote, with the replicas for the cluster.
    pub object: &'a Object,
    /// Versions of the kind that are served beside the one the object is in. A selector may name any of them.
    ///
    /// Upstream: a selector that names another version than the object's silently selects nothing.
    pub other_versions: &'a [String],
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

    /// Whether this API version is the object's, or another one of its group in which the kind is served.
    pub(crate) fn has_api_version(&self, api_version: &str) -> bool {
        let own = self.object.api_version();
        if own == api_version {
            return true;
        }
        let ((own_group, _), (group, version)) = (split(own), split(api_version));
        own_group == group && self.other_versions.iter().any(|other| other == version)
    }
}

/// The group, empty for the core group, and the version.
fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

//! Templates as policies look at them.

use object::{GroupVersionKind, ObjectKey};

pub use api::selection::Template;

/// Names a template among all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateKey {
    /// What it is.
    pub kind: GroupVersionKind,
    /// Which one.
    pub key: ObjectKey,
}

impl From<&Template<'_>> for TemplateKey {
    fn from(template: &Template<'_>) -> Self {
        Self {
            kind: template.object.group_version_kind(),
            key: template.object.key(),
        }
    }
}

//! The kinds these controllers read and write, as a client must know them.

use api::{Kind, registry::Scope};
use object::{GroupVersionKind, ResourceType};

/// Where objects of a multi-cluster kind are.
#[must_use]
pub(crate) fn of<T: Kind>() -> ResourceType {
    ResourceType {
        kind: GroupVersionKind::new(T::RESOURCE.group, T::VERSION, T::KIND),
        plural: T::RESOURCE.plural.to_owned(),
        namespaced: T::RESOURCE.scope == Scope::Namespaced,
    }
}

/// Where CustomResourceDefinitions are.
#[must_use]
pub(crate) fn definitions() -> ResourceType {
    ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
}

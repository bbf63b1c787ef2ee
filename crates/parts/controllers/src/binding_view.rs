//! A binding of either kind, read once for a decision.

use api::{
    read::{ReadError, read},
    registry::Scope,
    twins::BindingView,
    work::v1alpha2::{
        ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus,
    },
};
use object::{Object, ObjectMeta, ResourceType};

use crate::kinds;

/// A ResourceBinding or a ClusterResourceBinding.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    scope: Scope,
    metadata: ObjectMeta,
    /// What it says.
    pub spec: ResourceBindingSpec,
    /// What became of it.
    pub status: ResourceBindingStatus,
}

impl Binding {
    /// Reads a binding of either kind; the kinds are told apart by having a namespace.
    pub fn read(object: &Object) -> Result<Self, ReadError> {
        if object.namespace().is_empty() {
            let binding: ClusterResourceBinding = read(object)?;
            return Ok(Self {
                scope: Scope::Cluster,
                metadata: binding.metadata,
                spec: binding.spec,
                status: binding.status,
            });
        }
        let binding: ResourceBinding = read(object)?;
        Ok(Self {
            scope: Scope::Namespaced,
            metadata: binding.metadata,
            spec: binding.spec,
            status: binding.status,
        })
    }

    /// The view that decisions take.
    #[must_use]
    pub fn view(&self) -> BindingView<'_> {
        BindingView {
            scope: self.scope,
            metadata: &self.metadata,
            spec: &self.spec,
            status: &self.status,
        }
    }
}

/// Where bindings of a namespace are; those without namespace are ClusterResourceBindings.
#[must_use]
pub fn resource(namespace: &str) -> ResourceType {
    if namespace.is_empty() {
        kinds::of::<ClusterResourceBinding>()
    } else {
        kinds::of::<ResourceBinding>()
    }
}

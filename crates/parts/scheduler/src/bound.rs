//! A binding of either scope, read once for one decision.

use api::{
    registry::Scope,
    twins::BindingView,
    work::v1alpha2::{
        ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus,
    },
};
use object::{Object, ObjectMeta, parse::ShapeError};

/// A ResourceBinding or a ClusterResourceBinding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    /// Which of the two it is.
    pub scope: Scope,
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its spec.
    pub spec: ResourceBindingSpec,
    /// Its status.
    pub status: ResourceBindingStatus,
}

impl Bound {
    /// Reads a binding; one without namespace is cluster-wide.
    pub(crate) fn read(object: &Object) -> Result<Self, ShapeError> {
        if object.namespace().is_empty() {
            let ClusterResourceBinding {
                metadata,
                spec,
                status,
                ..
            } = object.read()?;
            return Ok(Self {
                scope: Scope::Cluster,
                metadata,
                spec,
                status,
            });
        }
        let ResourceBinding {
            metadata,
            spec,
            status,
            ..
        } = object.read()?;
        Ok(Self {
            scope: Scope::Namespaced,
            metadata,
            spec,
            status,
        })
    }

    /// As decisions look at it.
    #[must_use]
    pub(crate) fn view(&self) -> BindingView<'_> {
        BindingView {
            scope: self.scope,
            metadata: &self.metadata,
            spec: &self.spec,
            status: &self.status,
        }
    }
}

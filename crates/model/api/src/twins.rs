//! Namespaced and cluster-wide kinds that are otherwise the same, seen as one.
//!
//! A view borrows from either twin and answers what differs between them (scope, kind, label, finalizer), so that
//! below the edge nobody asks which of the two it is.

use object::{ObjectKey, ObjectMeta};

use crate::{
    kind::TypeName,
    policy::{
        ClusterOverridePolicy, ClusterPropagationPolicy, OverridePolicy, OverrideSpec,
        PropagationPolicy, PropagationSpec,
    },
    registry::Scope,
    well_known::{finalizers, labels::permanent_id},
    work::v1alpha2::{
        ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus,
    },
};

/// A PropagationPolicy or a ClusterPropagationPolicy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropagationView<'a> {
    /// Which of the two it is.
    pub scope: Scope,
    /// The policy's metadata.
    pub metadata: &'a ObjectMeta,
    /// The policy's spec.
    pub spec: &'a PropagationSpec,
}

/// An OverridePolicy or a ClusterOverridePolicy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverrideView<'a> {
    /// Which of the two it is.
    pub scope: Scope,
    /// The policy's metadata.
    pub metadata: &'a ObjectMeta,
    /// The policy's spec.
    pub spec: &'a OverrideSpec,
}

/// A ResourceBinding or a ClusterResourceBinding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BindingView<'a> {
    /// Which of the two it is.
    pub scope: Scope,
    /// The binding's metadata.
    pub metadata: &'a ObjectMeta,
    /// The binding's spec.
    pub spec: &'a ResourceBindingSpec,
    /// The binding's status.
    pub status: &'a ResourceBindingStatus,
}

/// Makes the view of each twin, and what all views can say.
macro_rules! view {
    ($view:ident { $($field:ident),+ }, $namespaced:ty, $cluster:ty) => {
        impl<'a> From<&'a $namespaced> for $view<'a> {
            fn from(object: &'a $namespaced) -> Self {
                Self { scope: Scope::Namespaced, metadata: &object.metadata, $($field: &object.$field),+ }
            }
        }

        impl<'a> From<&'a $cluster> for $view<'a> {
            fn from(object: &'a $cluster) -> Self {
                Self { scope: Scope::Cluster, metadata: &object.metadata, $($field: &object.$field),+ }
            }
        }

        impl $view<'_> {
            /// The kind of the object.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self.scope {
                    Scope::Namespaced => <$namespaced>::KIND,
                    Scope::Cluster => <$cluster>::KIND,
                }
            }

            /// Namespace and name of the object; the namespace is empty for cluster-wide ones.
            #[must_use]
            pub fn key(&self) -> ObjectKey {
                ObjectKey::namespaced(&self.metadata.namespace, &self.metadata.name)
            }
        }
    };
}

view!(
    PropagationView { spec },
    PropagationPolicy,
    ClusterPropagationPolicy
);
view!(OverrideView { spec }, OverridePolicy, ClusterOverridePolicy);
view!(
    BindingView { spec, status },
    ResourceBinding,
    ClusterResourceBinding
);

impl<'a> PropagationView<'a> {
    /// Key of the label that carries the policy's permanent id, on the policy and on what it claims.
    #[must_use]
    pub fn permanent_id_label(&self) -> &'static str {
        match self.scope {
            Scope::Namespaced => permanent_id::PROPAGATION_POLICY,
            Scope::Cluster => permanent_id::CLUSTER_PROPAGATION_POLICY,
        }
    }

    /// The policy's permanent id.
    #[must_use]
    pub fn permanent_id(&self) -> Option<&'a str> {
        self.metadata
            .labels
            .get(self.permanent_id_label())
            .map(String::as_str)
    }

    /// The finalizer that holds the policy until it has let go of its templates.
    #[must_use]
    pub fn finalizer(&self) -> &'static str {
        match self.scope {
            Scope::Namespaced => finalizers::PROPAGATION_POLICY,
            Scope::Cluster => finalizers::CLUSTER_PROPAGATION_POLICY,
        }
    }
}

impl<'a> BindingView<'a> {
    /// Key of the label that carries the binding's permanent id, on the binding and on its works.
    #[must_use]
    pub fn permanent_id_label(&self) -> &'static str {
        match self.scope {
            Scope::Namespaced => permanent_id::RESOURCE_BINDING,
            Scope::Cluster => permanent_id::CLUSTER_RESOURCE_BINDING,
        }
    }

    /// The binding's permanent id.
    #[must_use]
    pub fn permanent_id(&self) -> Option<&'a str> {
        self.metadata
            .labels
            .get(self.permanent_id_label())
            .map(String::as_str)
    }

    /// The finalizer that holds the binding until its works are gone.
    #[must_use]
    pub fn finalizer(&self) -> &'static str {
        match self.scope {
            Scope::Namespaced => finalizers::BINDING,
            Scope::Cluster => finalizers::CLUSTER_RESOURCE_BINDING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_differ_in_name_label_and_finalizer_only() {
        let mut metadata = ObjectMeta::namespaced("shop", "web");
        metadata
            .labels
            .insert(permanent_id::PROPAGATION_POLICY.to_owned(), "n".to_owned());
        metadata.labels.insert(
            permanent_id::CLUSTER_PROPAGATION_POLICY.to_owned(),
            "c".to_owned(),
        );
        let namespaced = PropagationPolicy {
            metadata: metadata.clone(),
            ..Default::default()
        };
        let cluster = ClusterPropagationPolicy {
            metadata,
            ..Default::default()
        };
        let (one, other) = (
            PropagationView::from(&namespaced),
            PropagationView::from(&cluster),
        );
        assert_eq!(one.spec, other.spec);
        assert_eq!(
            (one.kind(), other.kind()),
            ("PropagationPolicy", "ClusterPropagationPolicy")
        );
        assert_eq!(
            (one.permanent_id(), other.permanent_id()),
            (Some("n"), Some("c"))
        );
        assert_ne!(one.finalizer(), other.finalizer());
        assert_eq!(one.key().to_string(), "shop/web");
    }

    #[test]
    fn bindings_and_overrides_have_views_too() {
        let binding = ClusterResourceBinding {
            metadata: ObjectMeta::cluster("b"),
            ..Default::default()
        };
        let view = BindingView::from(&binding);
        assert_eq!(
            (view.kind(), view.key().to_string()),
            ("ClusterResourceBinding", "b".to_owned())
        );
        assert_eq!(view.finalizer(), finalizers::CLUSTER_RESOURCE_BINDING);
        assert_eq!(view.permanent_id(), None);
        let policy = OverridePolicy::default();
        assert_eq!(OverrideView::from(&policy).kind(), "OverridePolicy");
    }
}

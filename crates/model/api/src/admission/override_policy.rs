//! OverridePolicy and ClusterOverridePolicy: how templates differ from cluster to cluster.

use std::{marker::PhantomData, sync::LazyLock};

use object::{
    Object,
    field::{FieldError, FieldPath},
};
use serde_json::Value;

use super::{
    AdmissionRules, Refusal, Request, Verdict, affinity, overriders,
    problems::shown,
    propagation::{check_namespaces, fill_namespaces},
    rewrite::rewrite,
    verdict::{read, webhook_verdict},
};
use crate::{
    Kind,
    policy::{ClusterOverridePolicy, OverridePolicy, OverrideSpec, Overriders},
    registry::Scope,
    schema::structural_schema,
};

/// The rules of either twin.
pub(super) struct Rules<T>(pub(super) PhantomData<fn() -> T>);

/// What the twins differ in.
pub(super) trait Twin: Kind {
    const WEBHOOK: &'static str;

    fn spec(&self) -> &OverrideSpec;
}

impl<T: Twin> AdmissionRules for Rules<T> {
    fn mutate(
        &self,
        request: &Request<'_>,
        _old: Option<&Object>,
        new: Object,
    ) -> Result<Object, Refusal> {
        static SCHEMA: LazyLock<Value> = LazyLock::new(structural_schema::<OverridePolicy>);
        // Upstream: the cluster-wide twin has no mutation, so its empty lists stay.
        if T::RESOURCE.scope == Scope::Cluster {
            return Ok(new);
        }
        rewrite::<OverridePolicy>(&new, &SCHEMA, |policy| {
            fill_namespaces(&mut policy.spec.resource_selectors, request.namespace);
        })
    }

    fn validate(&self, request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let policy: T = read(new)?;
        let spec = policy.spec();
        let path = FieldPath::new("spec");
        // Upstream: an empty list counts as being there.
        let has_rules = new
            .at(&["spec", "overrideRules"])
            .is_some_and(|rules| !rules.is_null());
        let mut errors = Vec::new();
        if let Some(target) = &spec.target_cluster {
            let path = path.child("targetCluster");
            errors.extend(affinity::check(target, &path));
            if has_rules {
                let detail = "targetCluster and overrideRules exclude each other";
                errors.push(FieldError::invalid(path, shown(target), detail));
            }
        }
        if has_rules && is_noticed(&spec.overriders) {
            let detail = "overriders and overrideRules exclude each other";
            errors.push(FieldError::invalid(
                path.child("overriders"),
                shown(&spec.overriders),
                detail,
            ));
        }
        for (position, rule) in spec.override_rules.iter().enumerate() {
            let path = path.child("overrideRules").index(position);
            errors.extend(overriders::check(
                &rule.overriders,
                &path.child("overriders"),
            ));
            if let Some(target) = &rule.target_cluster {
                errors.extend(affinity::check(target, &path.child("targetCluster")));
            }
        }
        if T::RESOURCE.scope == Scope::Namespaced {
            errors.extend(check_namespaces(
                &spec.resource_selectors,
                request.namespace,
            ));
        }
        webhook_verdict(T::WEBHOOK, errors)
    }
}

impl Twin for OverridePolicy {
    const WEBHOOK: &'static str = "overridepolicy.karmada.io";

    fn spec(&self) -> &OverrideSpec {
        &self.spec
    }
}

impl Twin for ClusterOverridePolicy {
    const WEBHOOK: &'static str = "clusteroverridepolicy.karmada.io";

    fn spec(&self) -> &OverrideSpec {
        &self.spec
    }
}

/// Upstream: `fieldOverrider` is newer than the deprecated form and does not count here.
fn is_noticed(overriders: &Overriders) -> bool {
    let others = Overriders {
        field_overrider: Vec::new(),
        ..overriders.clone()
    };
    !others.is_empty()
}

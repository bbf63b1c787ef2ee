//! PropagationPolicy and ClusterPropagationPolicy: which templates go to which clusters.

use std::{marker::PhantomData, sync::LazyLock};

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};
use serde_json::Value;

use super::{
    AdmissionRules, Operation, Refusal, Request, Verdict,
    metadata::NOT_NEGATIVE,
    placement,
    problems::{self, shown},
    rewrite::rewrite,
    verdict::{read, read_old, webhook_verdict},
};
use crate::{
    Kind,
    kind::TypeName,
    multicluster::ServiceImport,
    policy::{
        ApplicationFailoverBehavior, ClusterPropagationPolicy, FailoverBehavior,
        PreemptionBehavior, PropagationPolicy, PropagationSpec, PurgeMode,
        ReplicaDivisionPreference, ReplicaSchedulingType, ResourceSelector, SpreadField,
        StatePreservation, Suspension,
    },
    registry::Scope,
    schema::structural_schema,
    well_known::{finalizers, labels::permanent_id},
};

/// How long, in seconds, an old copy is kept at most, unless the policy says.
const GRACE_PERIOD: i32 = 600;

/// The rules of either twin.
pub(super) struct Rules<T>(pub(super) PhantomData<fn() -> T>);

/// What the twins differ in.
pub(super) trait Twin: Kind {
    const WEBHOOK: &'static str;
    const PERMANENT_ID: &'static str;
    const FINALIZER: &'static str;

    fn spec(&self) -> &PropagationSpec;
    fn spec_mut(&mut self) -> &mut PropagationSpec;
    fn schema() -> &'static Value;
}

impl<T: Twin> AdmissionRules for Rules<T> {
    fn mutate(
        &self,
        request: &Request<'_>,
        _old: Option<&Object>,
        new: Object,
    ) -> Result<Object, Refusal> {
        rewrite::<T>(&new, T::schema(), |policy| {
            if T::RESOURCE.scope == Scope::Namespaced {
                fill_namespaces(&mut policy.spec_mut().resource_selectors, request.namespace);
            }
            fill(policy.spec_mut());
            if request.operation == Operation::Create {
                let metadata = policy.metadata_mut();
                // A policy made from a copy of another one must not claim the other's templates.
                metadata
                    .labels
                    .insert(T::PERMANENT_ID.to_owned(), (request.fresh_id)());
                if !metadata.finalizers.iter().any(|name| name == T::FINALIZER) {
                    metadata.finalizers.push(T::FINALIZER.to_owned());
                }
            }
        })
    }

    fn validate(&self, request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let policy: T = read(new)?;
        let mut errors = Vec::new();
        if let Some(old) = read_old::<T>(old)? {
            errors.extend(check_update(&old, &policy));
        }
        if !policy.metadata().labels.contains_key(T::PERMANENT_ID) {
            errors.push(FieldError::required(
                FieldPath::from("metadata.labels").key(T::PERMANENT_ID),
                "the label is set when the policy is created and must stay",
            ));
        }
        let namespace = (T::RESOURCE.scope == Scope::Namespaced).then_some(request.namespace);
        errors.extend(check_spec(policy.spec(), namespace));
        webhook_verdict(T::WEBHOOK, errors)
    }
}

/// Fills the namespace of a policy into its selectors that have none.
pub(super) fn fill_namespaces(selectors: &mut [ResourceSelector], namespace: &str) {
    for selector in selectors
        .iter_mut()
        .filter(|selector| selector.namespace.is_empty())
    {
        namespace.clone_into(&mut selector.namespace);
    }
}

/// Checks that the selectors of a namespaced policy stay in its namespace.
pub(super) fn check_namespaces(selectors: &[ResourceSelector], namespace: &str) -> Vec<FieldError> {
    let list = FieldPath::from("spec.resourceSelectors");
    let strays = selectors
        .iter()
        .enumerate()
        .filter(|(_, selector)| selector.namespace != namespace);
    strays
        .map(|(position, selector)| {
            FieldError::invalid(
                list.index(position).child("namespace"),
                selector.namespace.as_str(),
                "must be the namespace of the policy",
            )
        })
        .collect()
}

fn fill(spec: &mut PropagationSpec) {
    for constraint in &mut spec.placement.spread_constraints {
        if constraint.spread_by_field.is_none() && constraint.spread_by_label.is_empty() {
            constraint.spread_by_field = Some(SpreadField::Cluster);
        }
        if constraint.min_groups == 0 {
            constraint.min_groups = 1;
        }
    }
    let is_import = |selector: &ResourceSelector| {
        selector.kind == ServiceImport::KIND && selector.api_version == ServiceImport::API_VERSION
    };
    if spec.resource_selectors.iter().any(is_import) {
        // What is imported is of no use without its endpoints.
        spec.propagate_deps = true;
    }
    if let Some(scheduling) = &mut spec.placement.replica_scheduling
        && scheduling.replica_scheduling_type != Some(ReplicaSchedulingType::Duplicated)
    {
        scheduling
            .replica_division_preference
            .get_or_insert(ReplicaDivisionPreference::Weighted);
    }
    if let Some(FailoverBehavior {
        application: Some(application),
        ..
    }) = &mut spec.failover
        && is_graceful(application)
    {
        application.grace_period_seconds.get_or_insert(GRACE_PERIOD);
    }
}

fn check_update<T: Twin>(old: &T, new: &T) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.spec().scheduler_name != new.spec().scheduler_name {
        errors.push(FieldError::invalid(
            FieldPath::from("spec.schedulerName"),
            new.spec().scheduler_name.as_str(),
            "cannot be changed after creation",
        ));
    }
    let id = |policy: &T| {
        policy
            .metadata()
            .labels
            .get(T::PERMANENT_ID)
            .cloned()
            .unwrap_or_default()
    };
    if id(old) != id(new) {
        errors.push(FieldError::invalid(
            FieldPath::from("metadata.labels").key(T::PERMANENT_ID),
            id(new),
            "the label is given at creation and cannot be changed",
        ));
    }
    errors
}

fn check_spec(spec: &PropagationSpec, namespace: Option<&str>) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = placement::check(&spec.placement, &path.child("placement"));
    if let Some(failover) = &spec.failover {
        if failover.application.is_some() && !spec.propagate_deps {
            let detail = "must be true when application failover is set";
            errors.push(FieldError::invalid(
                path.child("propagateDeps"),
                false,
                detail,
            ));
        }
        errors.extend(check_failover(failover, &path.child("failover")));
    }
    if let Some(namespace) = namespace {
        errors.extend(check_namespaces(&spec.resource_selectors, namespace));
    }
    if spec.preemption == Some(PreemptionBehavior::Always) {
        for (position, _) in spec
            .resource_selectors
            .iter()
            .enumerate()
            .filter(|(_, selector)| selector.name.is_empty())
        {
            errors.push(FieldError::invalid(
                path.child("resourceSelectors")
                    .index(position)
                    .child("name"),
                "",
                "is required when preemption is Always, so that nothing is taken over by accident",
            ));
        }
    }
    errors.extend(spec.suspension.as_ref().and_then(check_suspension));
    errors
}

fn check_failover(failover: &FailoverBehavior, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(application) = &failover.application {
        errors.extend(check_application_failover(
            application,
            &path.child("application"),
        ));
    }
    if let Some(kept) = failover
        .cluster
        .as_ref()
        .and_then(|cluster| cluster.state_preservation.as_ref())
    {
        errors.extend(check_kept_state(kept, &path.child("cluster")));
    }
    errors
}

fn check_application_failover(
    failover: &ApplicationFailoverBehavior,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(seconds) = failover
        .decision_conditions
        .toleration_seconds
        .filter(|seconds| *seconds < 0)
    {
        let path = path.child("decisionConditions").child("tolerationSeconds");
        errors.push(FieldError::invalid(path, seconds, NOT_NEGATIVE));
    }
    let period_path = path.child("gracePeriodSeconds");
    match (is_graceful(failover), failover.grace_period_seconds) {
        (true, None) => errors.push(FieldError::invalid(
            period_path.clone(),
            Value::Null,
            "is required with purgeMode Gracefully",
        )),
        (false, Some(seconds)) => errors.push(FieldError::invalid(
            period_path.clone(),
            seconds,
            "is only allowed with purgeMode Gracefully",
        )),
        _ => {}
    }
    if let Some(seconds) = failover
        .grace_period_seconds
        .filter(|seconds| *seconds <= 0)
    {
        errors.push(FieldError::invalid(
            period_path,
            seconds,
            "must be greater than 0",
        ));
    }
    if let Some(kept) = &failover.state_preservation {
        errors.extend(check_kept_state(kept, path));
    }
    errors
}

fn check_kept_state(kept: &StatePreservation, path: &FieldPath) -> Vec<FieldError> {
    let list = path.child("statePreservation").child("rules");
    let mut errors = Vec::new();
    for (position, rule) in kept.rules.iter().enumerate() {
        let name = &rule.alias_label_name;
        let path = list.index(position).child("aliasLabelName");
        errors.extend(problems::each(
            &path,
            name,
            names::check_qualified_name(name),
        ));
    }
    errors
}

fn check_suspension(suspension: &Suspension) -> Option<FieldError> {
    let names = &suspension.dispatching_on_clusters.as_ref()?.cluster_names;
    if suspension.dispatching != Some(true) || names.is_empty() {
        return None;
    }
    Some(FieldError::invalid(
        // Upstream: the word is there twice.
        FieldPath::from("spec.suspension.suspension"),
        shown(suspension),
        "dispatching cannot be true for all clusters and dispatchingOnClusters name some",
    ))
}

/// Whether the old copy stays until the new one is up. Absent is what the schema fills in: `Gracefully`.
fn is_graceful(failover: &ApplicationFailoverBehavior) -> bool {
    failover
        .purge_mode
        .is_none_or(|mode| mode.current() == PurgeMode::Gracefully)
}

/// Ties a twin to what sets it apart.
macro_rules! twin {
    ($kind:ident, $webhook:literal, $name:ident) => {
        impl Twin for $kind {
            const WEBHOOK: &'static str = $webhook;
            const PERMANENT_ID: &'static str = permanent_id::$name;
            const FINALIZER: &'static str = finalizers::$name;

            fn spec(&self) -> &PropagationSpec {
                &self.spec
            }

            fn spec_mut(&mut self) -> &mut PropagationSpec {
                &mut self.spec
            }

            fn schema() -> &'static Value {
                static SCHEMA: LazyLock<Value> = LazyLock::new(structural_schema::<$kind>);
                &SCHEMA
            }
        }
    };
}

twin!(
    PropagationPolicy,
    "propagationpolicy.karmada.io",
    PROPAGATION_POLICY
);
twin!(
    ClusterPropagationPolicy,
    "clusterpropagationpolicy.karmada.io",
    CLUSTER_PROPAGATION_POLICY
);

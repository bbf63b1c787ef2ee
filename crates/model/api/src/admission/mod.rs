//! What happens to an object on its way in: what is filled in, what is changed, and what is refused.
//!
//! The API server asks [`rules`] for the rules of a kind and calls them without knowing which kind it is:
//!
//! ```text
//! decode ─> schema defaults ─> mutate ─> schema defaults ─> schema checks ─> validate ─> finish ─> store
//! delete ─> check_deletion ─> check_binding_deletion
//! ```
//!
//! Objects arrive in the version in which they are stored. Writes to `/status` take none of these steps; the server
//! keeps everything but the status from the stored object.
//!
//! Invariants:
//! - Everything is a function of its arguments: time, fresh ids, time zones and the syntax of scripts come in with the
//!   [`Request`].
//! - Mutating a mutated object changes nothing (given the same fresh id), and fields no type knows stay as they are.
//! - A refusal names every field that is wrong, not only the first.
//!
//! Where the rules differ from those of the system whose API this is, `compat/admission-differences.md` says how.

mod address;
mod affinity;
mod binding;
mod cluster;
mod cron;
mod cron_federated_hpa;
mod customization;
mod deletion;
mod federated_hpa;
mod ingress;
mod interpreter_webhook;
mod metadata;
mod metrics;
mod override_policy;
mod overriders;
mod permanent_id;
mod placement;
mod problems;
mod propagation;
mod quota;
mod resource_models;
mod resource_names;
mod resource_registry;
mod rewrite;
mod service;
mod taint_policy;
mod url;
mod usage;
mod verdict;
mod work;

use std::marker::PhantomData;

use object::{GroupVersionKind, Object, time::Time};

pub use self::{
    cron::{ScheduleError, check_schedule},
    deletion::{check_binding_deletion, check_deletion},
    usage::{Charge, Excess, charge, delta, usage},
    verdict::{Allowed, Refusal, StatusWrite, Verdict},
};
use crate::{
    autoscaling::{CronFederatedHPA, FederatedHPA},
    cluster::Cluster,
    config::{ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration},
    kind::TypeName,
    networking::{MultiClusterIngress, MultiClusterService},
    policy::{
        ClusterOverridePolicy, ClusterPropagationPolicy, ClusterTaintPolicy,
        FederatedResourceQuota, OverridePolicy, PropagationPolicy,
    },
    registry::{self, Resource},
    search::ResourceRegistry,
    well_known::feature_gates::FeatureGates,
    work::{
        v1alpha1::Work,
        v1alpha2::{ClusterResourceBinding, ResourceBinding},
    },
};

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It is new.
    Create,
    /// It takes the place of a stored one.
    Update,
}

/// A write, apart from the object itself, and all that the rules may know of the world.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// What is being done.
    pub operation: Operation,
    /// The namespace in the URL; empty for cluster-wide kinds.
    pub namespace: &'a str,
    /// Which features are on.
    pub gates: &'a FeatureGates,
    /// Whether a ClusterTaintPolicy may put `NoExecute` taints on clusters.
    pub allow_no_execute: bool,
    /// The time of the write.
    pub now: Time,
    /// Makes an id that nobody has had before: a random UUID as text.
    pub fresh_id: &'a dyn Fn() -> String,
    /// Whether a time zone of that name is known.
    pub is_time_zone: &'a dyn Fn(&str) -> bool,
    /// Whether a text parses as a Lua script; if not, why.
    pub check_script: &'a dyn Fn(&str) -> Result<(), String>,
    /// The objects that [`AdmissionRules::related`] asks for.
    pub related: &'a [&'a Object],
}

/// Other objects that rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Related {
    /// Their kind.
    pub resource: &'static Resource,
    /// Which of them.
    pub reach: Reach,
}

/// How far rules look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Objects in the namespace of the request.
    Namespace,
    /// All objects.
    Everywhere,
}

/// How much of an object rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// All of it, but for its managed fields.
    Everything,
    /// What it is and its metadata, but for its managed fields; the stored object not at all.
    Metadata,
}

/// The rules of one kind.
pub trait AdmissionRules: Sync {
    /// The objects to pass as [`Request::related`] to [`validate`](Self::validate); `None` spares the caller a list.
    fn related(&self, request: &Request<'_>) -> Option<Related> {
        let _ = request;
        None
    }

    /// How much of objects [`validate`](Self::validate) looks at; less spares the caller a copy.
    fn looks_at(&self, request: &Request<'_>) -> Looks {
        let _ = request;
        Looks::Everything
    }

    /// The object with what is filled in or changed before it is checked. `old` is the stored object of an update.
    fn mutate(
        &self,
        request: &Request<'_>,
        old: Option<&Object>,
        new: Object,
    ) -> Result<Object, Refusal> {
        let _ = (request, old);
        Ok(new)
    }

    /// Whether the object may be stored, and what has to be written along with it.
    fn validate(&self, request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict;

    /// The object in the form it is stored in, after it has been found valid.
    fn finish(&self, request: &Request<'_>, new: Object) -> Result<Object, Refusal> {
        let _ = request;
        Ok(new)
    }
}

/// The rules of a kind; `None` for kinds that have none beyond their schema. The version does not matter here, but the
/// rules refuse an object that is not in the version it is stored in.
#[must_use]
pub fn rules(kind: &GroupVersionKind) -> Option<&'static dyn AdmissionRules> {
    let resource = registry::find(&kind.group, &kind.kind)?;
    let found: &'static dyn AdmissionRules = match resource.kind {
        PropagationPolicy::KIND => &propagation::Rules::<PropagationPolicy>(PhantomData),
        ClusterPropagationPolicy::KIND => {
            &propagation::Rules::<ClusterPropagationPolicy>(PhantomData)
        }
        OverridePolicy::KIND => &override_policy::Rules::<OverridePolicy>(PhantomData),
        ClusterOverridePolicy::KIND => {
            &override_policy::Rules::<ClusterOverridePolicy>(PhantomData)
        }
        ClusterTaintPolicy::KIND => &taint_policy::Rules,
        FederatedResourceQuota::KIND => &quota::Rules,
        ResourceBinding::KIND => &binding::NamespacedRules,
        ClusterResourceBinding::KIND => &binding::ClusterRules,
        Work::KIND => &work::Rules,
        FederatedHPA::KIND => &federated_hpa::Rules,
        CronFederatedHPA::KIND => &cron_federated_hpa::Rules,
        MultiClusterService::KIND => &service::Rules,
        MultiClusterIngress::KIND => &ingress::Rules,
        ResourceInterpreterWebhookConfiguration::KIND => &interpreter_webhook::Rules,
        ResourceInterpreterCustomization::KIND => &customization::Rules,
        Cluster::KIND => &cluster::Rules,
        ResourceRegistry::KIND => &resource_registry::Rules,
        _ => return None,
    };
    Some(found)
}

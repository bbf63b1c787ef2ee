//! What is written for a quota: its shares as works, and what is used of it.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    admission::usage,
    kubernetes::ResourceList,
    names,
    policy::{
        ClusterQuotaStatus, FederatedResourceQuota, FederatedResourceQuotaStatus,
        StaticClusterAssignment,
    },
    well_known::{
        annotations::{WORK_NAME, WORK_NAMESPACE},
        conditions,
        events::quota as events,
        finalizers,
        labels::{
            FEDERATED_RESOURCE_QUOTA_NAME, FEDERATED_RESOURCE_QUOTA_NAMESPACE, MANAGED, TRUE,
            permanent_id,
        },
    },
    work::{v1alpha1::Work, v1alpha2::ResourceBindingSpec},
};
use binding::manifest;
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{GroupVersionKind, Object, ObjectKey, Value, object::SetError};
use serde::Deserialize;
use serde_json::json;

use crate::{kinds, views::UNTIL_IN_VIEW};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// Which quota.
    pub key: &'a ObjectKey,
    /// The quota; `None` if it is not seen.
    pub quota: Option<Quota<'a>>,
    /// The names of the members there are.
    pub clusters: &'a BTreeSet<String>,
    /// The works that carry the quota's labels.
    pub works: &'a [&'a Object],
    /// Whether these are all, and a quota that is not seen is gone.
    pub are_all: bool,
    /// The bindings of the namespace, if what they ask for is counted (`FederatedQuotaEnforcement`).
    pub bindings: Option<&'a [ResourceBindingSpec]>,
}

/// A quota that is there.
#[derive(Clone, Copy, Debug)]
pub struct Quota<'a> {
    /// As it is stored.
    pub object: &'a Object,
    /// The same, read.
    pub quota: &'a FederatedResourceQuota,
}

/// The works that make the quota's shares into ResourceQuotas of members.
#[must_use]
pub fn share(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let shares = inputs.shares();
    for (cluster, assignment) in &shares {
        match inputs.write(cluster, assignment) {
            Ok(action) => plan.extend(action),
            Err(error) => plan.problem(*cluster, error.to_string()),
        }
    }
    if let Some(quota) = inputs.quota.filter(|_| !plan.actions.is_empty()) {
        let reason = events::SYNC_WORK_SUCCEED;
        plan.push(progress(
            quota.object,
            reason,
            "the shares are on their way",
        ));
    }
    if !inputs.are_all {
        plan.wake = UNTIL_IN_VIEW;
    } else {
        for work in inputs.works.iter().filter(|work| !work.is_terminating()) {
            let cluster = names::cluster_of_execution_space(work.namespace()).unwrap_or_default();
            if !shares.contains_key(cluster) {
                let cause = match inputs.quota {
                    Some(_) => format!("quota {} assigns nothing to cluster {cluster}", inputs.key),
                    None => format!("its quota {} is gone", inputs.key),
                };
                plan.push(Action::delete(kinds::of::<Work>(), work, cause));
            }
        }
    }
    plan
}

/// What is used of the quota, over all and in each member that has a share.
#[must_use]
pub fn count(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let Some(Quota { object, quota }) = inputs.quota else {
        return plan;
    };
    let aggregated_status = inputs.reported();
    let overall_used = match inputs.bindings {
        Some(bindings) => requested(&quota.spec.overall, bindings),
        None => used(&aggregated_status),
    };
    let next = FederatedResourceQuotaStatus {
        overall: quota.spec.overall.clone(),
        overall_used,
        aggregated_status,
    };
    if next == quota.status {
        return plan;
    }
    // A merge patch keeps what it does not name, so what is no longer there is named as nothing.
    let mut patch = object::patch::diff(&json!(quota.status), &json!(next));
    if let Value::Object(fields) = &mut patch
        && fields.contains_key("aggregatedStatus")
    {
        fields.insert("aggregatedStatus".to_owned(), json!(next.aggregated_status));
    }
    plan.push(Action::patch(
        kinds::of::<FederatedResourceQuota>(),
        object,
        json!({ "status": patch }),
        Part::Status,
    ));
    if next.aggregated_status != quota.status.aggregated_status {
        let reason = events::AGGREGATE_STATUS_SUCCEED;
        plan.push(progress(object, reason, "what members use of it is known"));
    }
    if next.overall_used != quota.status.overall_used || next.overall != quota.status.overall {
        let reason = events::COLLECT_OVERALL_STATUS_SUCCEED;
        plan.push(progress(object, reason, "what is used of it is known"));
    }
    plan
}

fn progress(quota: &Object, reason: &str, message: &str) -> Action {
    Action::report(ObjectRef::of(quota), EventKind::Progress, reason, message)
}

/// What the bindings of the quota's namespace ask for, of what the quota limits.
#[must_use]
pub fn requested(limits: &ResourceList, bindings: &[ResourceBindingSpec]) -> ResourceList {
    let mut total = ResourceList::new();
    for binding in bindings {
        add(&mut total, &usage(binding));
    }
    total.retain(|name, _| limits.contains_key(name));
    total
}

impl<'a> Inputs<'a> {
    /// The shares of members that are there.
    fn shares(&self) -> BTreeMap<&'a str, &'a StaticClusterAssignment> {
        let quota = self
            .quota
            .filter(|quota| !quota.object.is_terminating())
            .map(|quota| quota.quota);
        quota
            .into_iter()
            .flat_map(|quota| &quota.spec.static_assignments)
            .filter(|share| self.clusters.contains(&share.cluster_name))
            .map(|share| (share.cluster_name.as_str(), share))
            .collect()
    }

    /// The work that brings a share to its member; `None` if it is there, or the old one is still going.
    fn write(
        &self,
        cluster: &str,
        share: &StaticClusterAssignment,
    ) -> Result<Option<Action>, SetError> {
        let name = names::work_name("ResourceQuota", &self.key.name, &self.key.namespace);
        let key = ObjectKey::namespaced(names::execution_space(cluster), name);
        let existing = self.works.iter().find(|work| work.key() == key);
        let manifest = self.manifest(&key, share, existing.copied())?;
        let Some(existing) = existing else {
            return self.create(&key, manifest).map(Some);
        };
        let path = &["spec", "workload", "manifests"];
        let manifests = json!([manifest]);
        if existing.is_terminating() || existing.at(path) == Some(&manifests) {
            return Ok(None);
        }
        Ok(Some(Action::Patch {
            resource: kinds::of::<Work>(),
            key,
            uid: Some(existing.uid().to_owned()),
            revision: None,
            patch: json!({"spec": {"workload": {"manifests": manifests}}}),
            part: Part::Object,
        }))
    }

    fn create(&self, key: &ObjectKey, manifest: Object) -> Result<Action, SetError> {
        let resource = kinds::of::<Work>();
        let mut work = Object::new(&resource.kind, key);
        let ObjectKey { namespace, name } = self.key;
        work.set(
            &["metadata", "labels"],
            json!({FEDERATED_RESOURCE_QUOTA_NAMESPACE: namespace, FEDERATED_RESOURCE_QUOTA_NAME: name}),
        )?;
        work.set(&["metadata", "finalizers"], json!([finalizers::EXECUTION]))?;
        work.set(&["spec", "workload", "manifests"], json!([manifest]))?;
        Ok(Action::Create {
            resource,
            object: work,
        })
    }

    /// The ResourceQuota of a member.
    fn manifest(
        &self,
        work: &ObjectKey,
        share: &StaticClusterAssignment,
        existing: Option<&Object>,
    ) -> Result<Object, SetError> {
        let kind = GroupVersionKind::new("", "v1", "ResourceQuota");
        let mut quota = Object::new(&kind, self.key);
        quota.set(&["metadata", "labels"], json!({MANAGED: TRUE}))?;
        quota.set(
            &["metadata", "annotations"],
            json!({WORK_NAMESPACE: work.namespace, WORK_NAME: work.name}),
        )?;
        quota.set(&["spec", "hard"], json!(share.hard))?;
        manifest::finish(
            quota,
            existing.and_then(|work| work.label(permanent_id::WORK)),
        )
    }

    /// What each member says of its share, by the names of the members.
    fn reported(&self) -> Vec<ClusterQuotaStatus> {
        let mut reported: Vec<ClusterQuotaStatus> = self
            .works
            .iter()
            .filter(|work| !work.is_terminating() && is_applied(work))
            .filter_map(|work| {
                let statuses = work.at(&["status", "manifestStatuses"])?.as_array()?;
                let status = statuses.first()?.get("status")?;
                let share = Report::deserialize(status).ok()?;
                Some(ClusterQuotaStatus {
                    cluster_name: names::cluster_of_execution_space(work.namespace())?.to_owned(),
                    hard: share.hard,
                    used: share.used,
                })
            })
            .collect();
        reported.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
        reported
    }
}

/// What a ResourceQuota says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Report {
    hard: ResourceList,
    used: ResourceList,
}

fn is_applied(work: &Object) -> bool {
    let conditions = work.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let text = |field: &str| condition.get(field).and_then(Value::as_str);
        text("type") == Some(conditions::work::APPLIED) && text("status") == Some("True")
    })
}

fn used(reported: &[ClusterQuotaStatus]) -> ResourceList {
    let mut total = ResourceList::new();
    for status in reported {
        add(&mut total, &status.used);
    }
    total
}

fn add(total: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        match total.get_mut(name) {
            Some(sum) => *sum += *amount,
            None => drop(total.insert(name.clone(), *amount)),
        }
    }
}

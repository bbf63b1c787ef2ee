//! What one work says of its cluster.

use api::{
    names,
    well_known::conditions::work::{APPLIED, CONTESTED, UNREACHED},
    work::{
        ResourceHealth,
        v1alpha2::{AggregatedStatusItem, ObjectReference},
    },
};
use object::{Object, Value};

/// Whether a member can be asked at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// It answers, so that its works are up to date.
    Answering,
    /// It has fallen silent; what its works say is what it last said.
    Silent,
}

/// What an item says of a work that its member has not looked at yet.
pub const NOT_APPLIED_YET: &str = "not applied yet";

/// What an item says while its member does not answer.
const SILENT: &str = "the cluster does not answer; this is what it last reported";

/// The item of a binding for one of its works; `None` for a work that lies in no execution space.
///
/// Upstream: a work whose manifest has another name or version than the template fails the whole binding; here the only
/// manifest of a work is taken for the template's, because an override policy may rename it.
#[must_use]
pub fn item(
    work: &Object,
    template: &ObjectReference,
    contact: Contact,
) -> Option<AggregatedStatusItem> {
    let cluster = names::cluster_of_execution_space(work.namespace())?;
    let mut item = AggregatedStatusItem {
        cluster_name: cluster.to_owned(),
        health: Some(ResourceHealth::Unknown),
        ..AggregatedStatusItem::default()
    };
    let condition = applied_condition(work);
    item.applied = condition
        .and_then(|condition| condition.get("status"))
        .is_some_and(|status| status == "True");
    let reason = condition.and_then(|condition| condition.get("reason"));
    // What the cluster has runs on, and says so or was the last that it said.
    let is_there = reason.is_some_and(|reason| reason == UNREACHED || reason == CONTESTED);
    if let Some(report) = report(work, template).filter(|_| item.applied || is_there) {
        let status = report.get("status").filter(|status| !status.is_null());
        item.status = status.cloned();
        if item.applied {
            item.health = Some(health(report));
        }
    }
    if !item.applied {
        item.applied_message = condition
            .and_then(|condition| condition.get("message"))
            .and_then(Value::as_str)
            .unwrap_or(NOT_APPLIED_YET)
            .to_owned();
    }
    if contact == Contact::Silent {
        item.health = Some(ResourceHealth::Unknown);
        if item.applied {
            SILENT.clone_into(&mut item.applied_message);
        }
    }
    Some(item)
}

fn applied_condition(work: &Object) -> Option<&Value> {
    work.at(&["status", "conditions"])
        .and_then(Value::as_array)?
        .iter()
        .find(|condition| condition.get("type").is_some_and(|found| found == APPLIED))
}

/// The report about the template's manifest.
fn report<'w>(work: &'w Object, template: &ObjectReference) -> Option<&'w Value> {
    let position = manifest_position(work, template)?;
    work.at(&["status", "manifestStatuses"])
        .and_then(Value::as_array)?
        .iter()
        .find(|report| {
            let ordinal = report
                .get("identifier")
                .and_then(|identifier| identifier.get("ordinal"))
                .and_then(Value::as_u64)
                .unwrap_or_default();
            usize::try_from(ordinal) == Ok(position)
        })
}

fn manifest_position(work: &Object, template: &ObjectReference) -> Option<usize> {
    let manifests = work
        .at(&["spec", "workload", "manifests"])
        .and_then(Value::as_array)?;
    if manifests.len() == 1 {
        return Some(0);
    }
    let text = |manifest: &'_ Value, path: &str| {
        manifest
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    manifests.iter().position(|manifest| {
        text(manifest, "/apiVersion") == template.api_version
            && text(manifest, "/kind") == template.kind
            && text(manifest, "/metadata/namespace") == template.namespace
            && text(manifest, "/metadata/name") == template.name
    })
}

fn health(report: &Value) -> ResourceHealth {
    match report.get("health").and_then(Value::as_str) {
        Some("Healthy") => ResourceHealth::Healthy,
        Some("Unhealthy") => ResourceHealth::Unhealthy,
        _ => ResourceHealth::Unknown,
    }
}

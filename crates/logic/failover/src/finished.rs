//! Workloads that have run to their end: taking them elsewhere would run them again.

use api::work::v1alpha2::{ResourceBindingSpec, ResourceBindingStatus};
use object::{Object, Value};

/// Whether a workload, or the share of it that the cluster has, has run to its end, as the template or the cluster says.
///
/// Upstream: a finished Job leaves a tainted cluster like any other workload, and the cluster it goes to runs it again.
#[must_use]
pub fn is_over(
    spec: &ResourceBindingSpec,
    status: &ResourceBindingStatus,
    template: Option<&Object>,
    cluster: &str,
) -> bool {
    let has_ended: fn(&Value) -> bool = match spec.resource.kind.as_str() {
        "Job" if spec.resource.api_version.starts_with("batch/") => has_job_ended,
        "Pod" if spec.resource.api_version == "v1" => has_pod_ended,
        _ => return false,
    };
    let mut items = status.aggregated_status.iter();
    let share = items.find(|item| item.cluster_name == cluster);
    let reports = [
        template.and_then(|template| template.at(&["status"])),
        share.and_then(|item| item.status.as_ref()),
    ];
    reports.into_iter().flatten().any(has_ended)
}

fn has_job_ended(status: &Value) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        text(condition, "status") == "True"
            && matches!(text(condition, "type"), "Complete" | "Failed")
    })
}

fn has_pod_ended(status: &Value) -> bool {
    matches!(text(status, "phase"), "Succeeded" | "Failed")
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

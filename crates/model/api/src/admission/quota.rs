//! FederatedResourceQuota: how much a namespace may use over all clusters together.

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
    quantity::Quantity,
};

use super::{
    AdmissionRules, Request, Verdict,
    cluster::check_cluster_name,
    problems::joined,
    resource_names::check_quota_amounts,
    verdict::{read, webhook_verdict},
};
use crate::policy::{
    FederatedResourceQuota, FederatedResourceQuotaSpec, FederatedResourceQuotaStatus,
};

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, _request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let quota: FederatedResourceQuota = read(new)?;
        let mut errors = Vec::new();
        let name = &quota.metadata.name;
        // The name becomes the value of a label.
        if name.len() > names::LABEL_LENGTH {
            let detail = format!("must be no more than {} characters", names::LABEL_LENGTH);
            errors.push(FieldError::invalid(
                FieldPath::from("metadata.name"),
                name.as_str(),
                detail,
            ));
        }
        errors.extend(check_spec(&quota.spec));
        errors.extend(check_status(&quota.status));
        webhook_verdict("federatedresourcequota.karmada.io", errors)
    }
}

fn check_spec(spec: &FederatedResourceQuotaSpec) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let overall = path.child("overall");
    let shares = path.child("staticAssignments");
    let mut errors = check_quota_amounts(&spec.overall, &overall);
    for (position, share) in spec.static_assignments.iter().enumerate() {
        let path = shares.index(position);
        errors.extend(check_cluster(&path, &share.cluster_name));
        errors.extend(check_quota_amounts(&share.hard, &path.child("hard")));
    }
    for (name, limit) in &spec.overall {
        let assigned: Quantity = spec
            .static_assignments
            .iter()
            .filter_map(|share| share.hard.get(name))
            .sum();
        if *limit < assigned {
            let detail = "overall is less than assignments";
            errors.push(FieldError::invalid(
                overall.key(name),
                limit.to_string(),
                detail,
            ));
        }
    }
    for (position, share) in spec.static_assignments.iter().enumerate() {
        for name in share
            .hard
            .keys()
            .filter(|name| !spec.overall.contains_key(*name))
        {
            errors.push(FieldError::invalid(
                shares.index(position).child("hard").key(name),
                name.as_str(),
                "assignment resourceName is not exist in overall",
            ));
        }
    }
    errors
}

fn check_status(status: &FederatedResourceQuotaStatus) -> Vec<FieldError> {
    let path = FieldPath::new("status");
    let mut errors = check_quota_amounts(&status.overall, &path.child("overall"));
    errors.extend(check_quota_amounts(
        &status.overall_used,
        &path.child("overallUsed"),
    ));
    for (position, cluster) in status.aggregated_status.iter().enumerate() {
        let path = path.child("aggregatedStatus").index(position);
        errors.extend(check_cluster(&path, &cluster.cluster_name));
        errors.extend(check_quota_amounts(&cluster.hard, &path.child("hard")));
        errors.extend(check_quota_amounts(&cluster.used, &path.child("used")));
    }
    errors
}

fn check_cluster(path: &FieldPath, name: &str) -> Option<FieldError> {
    joined(
        path.child("clusterName"),
        name,
        &check_cluster_name(name),
        ",",
    )
}

//! Names of amounts: which are standard, which are counted in whole numbers, which quotas keep track of.

use object::{
    field::{FieldError, FieldPath},
    names,
    quantity::Quantity,
};

use super::{metadata::NOT_NEGATIVE, problems};
use crate::kubernetes::ResourceList;

/// What a quota can limit without a prefix, apart from huge pages.
const QUOTA_NAMES: &[&str] = &[
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// What is counted in pieces.
const COUNTED_NAMES: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// What a container can ask for without a prefix, apart from huge pages.
const CONTAINER_NAMES: &[&str] = &["cpu", "ephemeral-storage", "memory"];

const HUGE_PAGES: &str = "hugepages-";

/// Checks names and amounts of what a quota limits.
pub(super) fn check_quota_amounts(amounts: &ResourceList, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, amount) in amounts {
        let path = path.key(name);
        errors.extend(check_name(name, &path));
        let is_quota_name = QUOTA_NAMES.contains(&name.as_str()) || is_quota_huge_page(name);
        if !name.contains('/') && !is_quota_name {
            let detail = "is not a resource that a quota can limit";
            errors.push(FieldError::invalid(path.clone(), name.as_str(), detail));
        }
        errors.extend(check_amount(name, *amount, path));
    }
    errors
}

/// Checks the name of a resource that containers ask for.
pub(super) fn check_container_name(name: &str, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = check_name(name, path);
    let detail = if name.contains('/') {
        if is_native(name) || is_extended(name) {
            return errors;
        }
        "is not the name of an extended resource"
    } else {
        if CONTAINER_NAMES.contains(&name) || name.starts_with(HUGE_PAGES) {
            return errors;
        }
        "is not a resource that containers can ask for"
    };
    errors.push(FieldError::invalid(path.clone(), name, detail));
    errors
}

/// Whether the resource is counted by a name of its own beside cpu, memory, pods and ephemeral storage.
pub(super) fn is_scalar(name: &str) -> bool {
    is_extended(name)
        || is_huge_page(name)
        || is_prefixed_native(name)
        || name.starts_with("attachable-volumes-")
}

/// Whether the resource is memory in huge pages.
pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

fn check_name(name: &str, path: &FieldPath) -> Vec<FieldError> {
    let problems = names::check_qualified_name(name);
    if !problems.is_empty() {
        return problems::each(path, name, problems).collect();
    }
    let is_standard = QUOTA_NAMES.contains(&name) || name == "storage" || is_quota_huge_page(name);
    if name.contains('/') || is_standard {
        return Vec::new();
    }
    let detail = "must be a standard resource or have a domain before it";
    vec![FieldError::invalid(path.clone(), name, detail)]
}

fn check_amount(name: &str, amount: Quantity, path: FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if amount.signum() < 0 {
        errors.push(FieldError::invalid(
            path.clone(),
            amount.to_string(),
            NOT_NEGATIVE,
        ));
    }
    let is_whole = amount.round_up(object::quantity::Scale::Unit) == amount;
    if (COUNTED_NAMES.contains(&name) || is_extended(name)) && !is_whole {
        errors.push(FieldError::invalid(
            path,
            amount.to_string(),
            "must be an integer",
        ));
    }
    errors
}

/// Resources of a domain other than Kubernetes' own, such as `nvidia.com/gpu`.
fn is_extended(name: &str) -> bool {
    const REQUESTS: &str = "requests.";
    !is_native(name)
        && !name.starts_with(REQUESTS)
        && names::check_qualified_name(&format!("{REQUESTS}{name}")).is_empty()
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || is_prefixed_native(name)
}

fn is_prefixed_native(name: &str) -> bool {
    name.contains("kubernetes.io/")
}

fn is_quota_huge_page(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}

//! Rules about quotas and limit ranges: what can be bounded, by how much, and for which objects.

use std::collections::BTreeSet;

use object::{Value, field::FieldError, names};

use super::{
    container::{is_overcommittable, quantity, resource_name},
    spot::{Errors, Spot},
    words::{IMMUTABLE, NOT_NEGATIVE},
};

/// What is counted by number.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// What is counted by amount.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// Scopes that leave nothing to count together.
const OPPOSITES: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];

pub(super) fn quota(spec: &Spot<'_>, errors: &mut Errors) {
    let hard = spec.field("hard");
    for (resource, amount) in hard.entries() {
        quota_name(resource, &amount, errors);
        let Some(most) = quantity(&amount) else {
            continue;
        };
        if most.signum() < 0 {
            errors.push(amount.invalid(NOT_NEGATIVE));
        }
        if is_counted(resource) && most.exact_value().is_none() {
            errors.push(amount.invalid("must be an integer"));
        }
    }
    quota_scopes(&hard, &spec.field("scopes"), errors);
    quota_selector(&hard, &spec.field("scopeSelector"), errors);
}

/// The scopes of a quota stay as they are, in any order.
pub(super) fn quota_update(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let (before, after) = (old.field("spec"), new.field("spec"));
    let (before, after) = (before.field("scopes"), after.field("scopes"));
    let texts = |scopes: &Spot<'_>| -> BTreeSet<String> {
        let scopes = scopes.value.as_array().into_iter().flatten();
        scopes
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    if texts(&before) != texts(&after) {
        errors.push(after.invalid(IMMUTABLE));
    }
}

fn quota_name(resource: &str, amount: &Spot<'_>, errors: &mut Errors) {
    let wrong = |problem: String| FieldError::invalid(amount.path(), resource, problem);
    let problems = names::check_qualified_name(resource);
    if !problems.is_empty() {
        errors.extend(problems.into_iter().map(wrong));
    } else if !resource.contains('/') && !is_standard(resource) {
        // Of storage only what is requested is counted.
        if resource != "storage" {
            let problem = "must be a standard resource type or fully qualified";
            errors.push(wrong(problem.to_owned()));
        }
        errors.push(wrong("must be a standard resource for quota".to_owned()));
    }
}

fn is_standard(resource: &str) -> bool {
    COUNTED.contains(&resource)
        || MEASURED.contains(&resource)
        || resource.starts_with("hugepages-")
        || resource.starts_with("requests.hugepages-")
}

/// Whether there is no half of it: objects, and what other systems call their own.
fn is_counted(resource: &str) -> bool {
    let is_extended = resource.contains('/')
        && !resource.contains("kubernetes.io/")
        && !resource.starts_with("requests.");
    COUNTED.contains(&resource) || is_extended
}

/// Whether there is anything of a resource among the objects of a scope.
fn is_in_scope(resource: &str, scope: &str) -> bool {
    let of_pods = ["cpu", "memory"].iter().any(|amount| {
        let bare = resource
            .strip_prefix("requests.")
            .or_else(|| resource.strip_prefix("limits."));
        bare.unwrap_or(resource) == *amount
    });
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => resource == "pods" || of_pods,
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => true,
    }
}

fn quota_scopes(hard: &Spot<'_>, scopes: &Spot<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for scope in scopes.elements() {
        misplaced(hard, scope.text(), scopes, errors);
        seen.insert(scope.text().to_owned());
    }
    conflicting(&seen, scopes, errors);
}

fn quota_selector(hard: &Spot<'_>, selector: &Spot<'_>, errors: &mut Errors) {
    let expressions = selector.field("matchExpressions");
    let mut seen = BTreeSet::new();
    for expression in expressions.elements() {
        let scope = expression.field("scopeName").text().to_owned();
        let (operator, values) = (expression.field("operator"), expression.field("values"));
        misplaced(hard, &scope, &expressions, errors);
        let takes_values = matches!(&*scope, "PriorityClass" | "VolumeAttributesClass");
        if !takes_values && operator.text() != "Exists" {
            errors.push(operator.invalid(
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                 ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                 ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => errors.push(values.required(
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(values.invalid(
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            _ => {}
        }
        seen.insert(scope);
    }
    conflicting(&seen, &expressions, errors);
}

/// Reports each bound that a scope leaves nothing of.
fn misplaced(hard: &Spot<'_>, scope: &str, at: &Spot<'_>, errors: &mut Errors) {
    for (resource, _) in hard.entries() {
        if is_standard(resource) && !is_in_scope(resource, scope) {
            errors.push(at.invalid("unsupported scope applied to resource"));
        }
    }
}

fn conflicting(scopes: &BTreeSet<String>, at: &Spot<'_>, errors: &mut Errors) {
    for pair in OPPOSITES {
        if pair.iter().all(|scope| scopes.contains(*scope)) {
            errors.push(at.invalid("conflicting scopes"));
        }
    }
}

/// Each sort of thing has its limits once.
pub(super) fn limit_range(spec: &Spot<'_>, errors: &mut Errors) {
    let limits = spec.field("limits");
    let mut seen = BTreeSet::new();
    for item in limits.elements() {
        let sort = item.field("type");
        if !seen.insert(sort.text().to_owned()) {
            errors.push(sort.duplicate());
        }
    }
}

pub(super) fn limit_range_item(item: &Spot<'_>, errors: &mut Errors) {
    let sort = item.field("type");
    limit_sort(&sort, errors);
    let is_pod = sort.text() == "Pod";
    for name in [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ] {
        let list = item.field(name);
        if is_pod && matches!(name, "default" | "defaultRequest") {
            if !list.is_empty() {
                errors.push(list.forbidden("may not be specified when `type` is 'Pod'"));
            }
            continue;
        }
        for (resource, amount) in list.entries() {
            match sort.text() {
                "Pod" | "Container" => resource_name(resource, &amount, errors),
                _ => limited_name(resource, &amount, errors),
            }
        }
    }
    let has_storage = |name: &str| item.field(name).key("storage").is_set();
    if sort.text() == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        errors.push(item.field("limits").required(
            "either minimum or maximum storage value is required, but neither was provided",
        ));
    }
    limit_order(item, errors);
    limit_ratios(item, errors);
}

fn limit_sort(sort: &Spot<'_>, errors: &mut Errors) {
    let text = sort.text();
    // That there is none is told by its type.
    if text.is_empty() {
        return;
    }
    let problems = names::check_qualified_name(text);
    let is_known = matches!(text, "Pod" | "Container" | "PersistentVolumeClaim");
    if problems.is_empty() && !text.contains('/') && !is_known {
        errors.push(sort.invalid("must be a standard limit type or fully qualified"));
    }
    sort.complain(problems, errors);
}

fn limited_name(resource: &str, amount: &Spot<'_>, errors: &mut Errors) {
    let wrong = |problem: String| FieldError::invalid(amount.path(), resource, problem);
    let problems = names::check_qualified_name(resource);
    let is_known = resource.contains('/') || is_standard(resource) || resource == "storage";
    if problems.is_empty() && !is_known {
        let problem = "must be a standard resource type or fully qualified";
        errors.push(wrong(problem.to_owned()));
    }
    errors.extend(problems.into_iter().map(wrong));
}

/// The least is not more than the usual, nor that more than the most.
fn limit_order(item: &Spot<'_>, errors: &mut Errors) {
    let lists = ["min", "defaultRequest", "default", "max"].map(|name| item.field(name));
    let [min, request, usual, max] = &lists;
    let mut ordered =
        |low: &Spot<'_>, low_name: &str, high: &Spot<'_>, high_name: &str, at: &Spot<'_>| {
            for (resource, amount) in low.entries() {
                let (Some(less), Some(more)) = (quantity(&amount), quantity(&high.key(resource)))
                else {
                    continue;
                };
                if less > more {
                    let detail =
                        format!("{low_name} value {less} is greater than {high_name} value {more}");
                    let shown = quantity(&at.key(resource)).unwrap_or(less).to_string();
                    errors.push(FieldError::invalid(at.path().key(resource), shown, detail));
                }
            }
        };
    ordered(min, "min", max, "max", min);
    ordered(min, "min", request, "default request", request);
    ordered(request, "default request", max, "max", request);
    ordered(request, "default request", usual, "default limit", request);
    ordered(min, "min", usual, "default", usual);
    ordered(usual, "default", max, "max", usual);
    for (resource, amount) in request.entries() {
        let (Some(asked), Some(given)) = (quantity(&amount), quantity(&usual.key(resource))) else {
            continue;
        };
        if !is_overcommittable(resource) && asked != given {
            let detail = format!(
                "default value {given} must equal to defaultRequest value {asked} in {resource}"
            );
            errors.push(FieldError::invalid(
                amount.path(),
                asked.to_string(),
                detail,
            ));
        }
    }
}

fn limit_ratios(item: &Spot<'_>, errors: &mut Errors) {
    let (min, max) = (item.field("min"), item.field("max"));
    for (resource, amount) in item.field("maxLimitRequestRatio").entries() {
        let Some(ratio) = quantity(&amount) else {
            continue;
        };
        let mut wrong = |detail: String| {
            errors.push(FieldError::invalid(
                amount.path(),
                ratio.to_string(),
                detail,
            ));
        };
        if ratio.to_f64() < 1.0 {
            wrong(format!("ratio {ratio} is less than 1"));
        }
        let bounds = (quantity(&min.key(resource)), quantity(&max.key(resource)));
        let (Some(least), Some(most)) = bounds else {
            continue;
        };
        let widest = most.to_f64() / least.to_f64();
        if ratio.to_f64() > widest {
            wrong(format!(
                "ratio {ratio} is greater than max/min = {widest:.6}"
            ));
        }
    }
}

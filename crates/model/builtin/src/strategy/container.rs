//! Rules about containers: image, ports, variables, probes and resources.

use std::collections::BTreeSet;

use object::{field::FieldError, names, quantity::Quantity};

use super::{
    spot::{Errors, Spot},
    words::{self, NOT_NEGATIVE, not_negative, port_name, port_number},
};

/// A container of a pod or template.
pub(super) fn container(container: &Spot<'_>, errors: &mut Errors) {
    common(container, errors);
    ports(&container.field("ports"), errors);
    for field in ["livenessProbe", "startupProbe"] {
        let probe = container.field(field);
        let threshold = probe.field("successThreshold");
        if threshold.number().is_some_and(|number| number != 1) {
            errors.push(threshold.invalid("must be 1"));
        }
    }
    let readiness = container.field("readinessProbe");
    let grace = readiness.field("terminationGracePeriodSeconds");
    if grace.is_set() {
        errors.push(grace.invalid("must not be set for readinessProbes"));
    }
}

/// What all sorts of containers share.
pub(super) fn common(container: &Spot<'_>, errors: &mut Errors) {
    let name = container.field("name");
    if !name.is_empty() {
        name.complain(names::check_dns1123_label(name.text()), errors);
    }
    let image = container.field("image");
    if image.is_empty() {
        errors.push(image.required(""));
    } else if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
}

/// An environment variable.
pub(super) fn variable(variable: &Spot<'_>, errors: &mut Errors) {
    let name = variable.field("name");
    name.complain(words::variable_name(name.text()), errors);
    let from = variable.field("valueFrom");
    if !from.is_set() {
        return;
    }
    let sources = from.map().map_or(0, |fields| {
        fields.values().filter(|value| !value.is_null()).count()
    });
    let problem = if sources == 0 {
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
    } else if !variable.field("value").is_empty() {
        "may not be specified when `value` is not empty"
    } else if sources > 1 {
        "may not have more than one field specified at a time"
    } else {
        return;
    };
    errors.push(FieldError::invalid(from.path(), "", problem));
}

/// All variables of a config map or a secret.
pub(super) fn variables(from: &Spot<'_>, errors: &mut Errors) {
    let prefix = from.field("prefix");
    prefix.complain(words::variable_name(prefix.text()), errors);
    let mut sources = 0;
    for field in ["configMapRef", "secretRef"] {
        let source = from.field(field);
        if source.is_set() {
            sources += 1;
            let name = source.field("name");
            if name.is_empty() {
                errors.push(name.required(""));
            }
        }
    }
    let problem = match sources {
        0 => "must specify one of: `configMapRef` or `secretRef`",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    // Upstream: told at the list, not at its element.
    let list = from.above().unwrap_or(from);
    errors.push(FieldError::invalid(list.path(), "", problem));
}

/// A command that is run in a container.
pub(super) fn command(action: &Spot<'_>, errors: &mut Errors) {
    let command = action.field("command");
    if command.is_empty() {
        errors.push(command.required(""));
    }
}

/// A check that is run at intervals.
pub(super) fn probe(probe: &Spot<'_>, errors: &mut Errors) {
    one_handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], errors);
    let numbers = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    for field in numbers {
        not_negative(&probe.field(field), errors);
    }
    let grace = probe.field("terminationGracePeriodSeconds");
    if grace.number().is_some_and(|seconds| seconds <= 0) {
        errors.push(grace.invalid("must be greater than 0"));
    }
}

/// What is done at a point of a container's life.
pub(super) fn handler(handler: &Spot<'_>, errors: &mut Errors) {
    one_handler(handler, &["exec", "httpGet", "tcpSocket", "sleep"], errors);
}

/// Where a check connects to.
pub(super) fn address(address: &Spot<'_>, errors: &mut Errors) {
    words::port(&address.field("port"), errors);
}

/// Where a gRPC check connects to.
pub(super) fn rpc(address: &Spot<'_>, errors: &mut Errors) {
    port_number(&address.field("port"), errors);
}

/// What a container asks for and may not exceed.
pub(super) fn resources(resources: &Spot<'_>, errors: &mut Errors) {
    let (limits, requests) = (resources.field("limits"), resources.field("requests"));
    for list in [&limits, &requests] {
        for (resource, amount) in list.entries() {
            resource_name(resource, &amount, errors);
            resource_amount(resource, &amount, errors);
        }
    }
    for (resource, request) in requests.entries() {
        let (Some(asked), Some(limit)) = (quantity(&request), quantity(&limits.key(resource)))
        else {
            continue;
        };
        // What cannot be overcommitted is requested exactly as it is limited.
        let exact = !is_overcommittable(resource);
        if exact && asked != limit {
            let detail = format!("must be equal to {resource} limit of {limit}");
            errors.push(FieldError::invalid(
                requests.path(),
                asked.to_string(),
                detail,
            ));
        } else if asked > limit {
            let detail = format!("must be less than or equal to {resource} limit of {limit}");
            errors.push(FieldError::invalid(
                requests.path(),
                asked.to_string(),
                detail,
            ));
        }
    }
    for (resource, _) in requests.entries() {
        if !is_overcommittable(resource) && !limits.key(resource).is_set() {
            errors.push(limits.required("Limit must be set for non overcommitable resources"));
        }
    }
}

/// Reports an amount that there cannot be: less than nothing, or a part of what another system counts.
pub(super) fn resource_amount(resource: &str, amount: &Spot<'_>, errors: &mut Errors) {
    let Some(quantity) = quantity(amount) else {
        return;
    };
    if quantity.signum() < 0 {
        errors.push(amount.invalid(NOT_NEGATIVE));
    }
    if is_extended(resource) && quantity.exact_value().is_none() {
        errors.push(amount.invalid("must be an integer"));
    }
}

/// Reports a name of what containers cannot ask for.
pub(super) fn resource_name(resource: &str, amount: &Spot<'_>, errors: &mut Errors) {
    let problems = names::check_qualified_name(resource);
    let wrong = |problem: String| FieldError::invalid(amount.path(), resource, problem);
    if !problems.is_empty() {
        errors.extend(problems.into_iter().map(wrong));
    } else if !resource.contains('/') && !is_standard(resource) {
        errors.push(wrong(
            "must be a standard resource type or fully qualified".to_owned(),
        ));
        errors.push(wrong(
            "must be a standard resource for containers".to_owned(),
        ));
    } else if resource.contains('/') && !is_native(resource) && !is_extended(resource) {
        errors.push(wrong(
            "doesn't follow extended resource name standard".to_owned(),
        ));
    }
}

fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

/// Whether it is what another system calls its own, and a quota can name what is requested of it.
fn is_extended(resource: &str) -> bool {
    !is_native(resource)
        && !resource.starts_with("requests.")
        && names::check_qualified_name(&format!("requests.{resource}")).is_empty()
}

fn is_standard(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "ephemeral-storage") || resource.starts_with("hugepages-")
}

/// Whether more can be promised of it than there is.
pub(super) fn is_overcommittable(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "ephemeral-storage")
        || resource.contains("kubernetes.io/")
}

/// The quantity there; `None` where there is none that can be read.
pub(super) fn quantity(spot: &Spot<'_>) -> Option<Quantity> {
    match spot.value {
        object::Value::String(text) => text.parse().ok(),
        object::Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn one_handler(spot: &Spot<'_>, kinds: &[&str], errors: &mut Errors) {
    let mut set = kinds.iter().filter(|kind| spot.field(kind).is_set());
    if set.next().is_none() {
        errors.push(spot.required("must specify a handler type"));
    }
    for more in set {
        errors.push(
            spot.field(more)
                .forbidden("may not specify more than 1 handler type"),
        );
    }
}

fn ports(ports: &Spot<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for port in ports.elements() {
        let name = port.field("name");
        if !name.is_empty() {
            let problems = port_name(name.text());
            if problems.is_empty() && !seen.insert(name.text().to_owned()) {
                errors.push(name.duplicate());
            }
            name.complain(problems, errors);
        }
        let number = port.field("containerPort");
        if number.number().unwrap_or(0) == 0 {
            errors.push(number.required(""));
        } else {
            port_number(&number, errors);
        }
        let host = port.field("hostPort");
        if host.number().is_some_and(|number| number != 0) {
            port_number(&host, errors);
        }
    }
}

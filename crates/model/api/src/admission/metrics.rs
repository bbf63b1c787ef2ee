//! Rules for the metrics of an autoscaler.

use object::{
    field::{FieldError, FieldPath},
    names,
};

use super::{federated_hpa::check_reference, problems, resource_names::check_container_name};
use crate::kubernetes::autoscaling::{
    MetricIdentifier, MetricSpec, MetricTarget, metric_source_type, metric_target_type,
};

/// Checks that a metric has exactly the source its type names, and that the source is complete.
pub(super) fn check(metric: &MetricSpec, path: &FieldPath) -> Vec<FieldError> {
    use metric_source_type::{CONTAINER_RESOURCE, OBJECT, PODS, RESOURCE};
    let sources = [
        (OBJECT, "object", metric.object.is_some()),
        (PODS, "pods", metric.pods.is_some()),
        (RESOURCE, "resource", metric.resource.is_some()),
        (
            CONTAINER_RESOURCE,
            "containerResource",
            metric.container_resource.is_some(),
        ),
        (
            metric_source_type::EXTERNAL,
            "external",
            metric.external.is_some(),
        ),
    ];
    let mut errors = Vec::new();
    let r#type = metric.r#type.as_str();
    if r#type.is_empty() {
        errors.push(FieldError::required(
            path.child("type"),
            "the type of the metric must be given",
        ));
    }
    let supported = [CONTAINER_RESOURCE, OBJECT, PODS, RESOURCE];
    if !supported.contains(&r#type) {
        errors.push(FieldError::not_supported(
            path.child("type"),
            r#type,
            &supported,
        ));
        return errors;
    }
    for (name, field, is_there) in sources {
        match (name == r#type, is_there) {
            (true, false) => errors.push(FieldError::required(
                path.child(field),
                "is required by the type of the metric",
            )),
            (false, true) => errors.push(FieldError::forbidden(
                path.child(field),
                "does not fit the type of the metric",
            )),
            _ => {}
        }
    }
    match r#type {
        OBJECT => errors.extend(check_object(metric, &path.child("object"))),
        PODS => errors.extend(check_pods(metric, &path.child("pods"))),
        RESOURCE => errors.extend(check_resource(metric, &path.child("resource"))),
        _ => errors.extend(check_container_resource(
            metric,
            &path.child("containerResource"),
        )),
    }
    errors
}

fn check_object(metric: &MetricSpec, path: &FieldPath) -> Vec<FieldError> {
    let Some(source) = &metric.object else {
        return Vec::new();
    };
    let mut errors = check_reference(&source.described_object, &path.child("describedObject"));
    errors.extend(check_identifier(&source.metric, &path.child("metric")));
    let target = path.child("target");
    errors.extend(check_target(&source.target, &target));
    if source.target.value.is_none() && source.target.average_value.is_none() {
        let detail = "one of value and averageValue must be set";
        errors.push(FieldError::required(target.child("averageValue"), detail));
    }
    errors
}

fn check_pods(metric: &MetricSpec, path: &FieldPath) -> Vec<FieldError> {
    let Some(source) = &metric.pods else {
        return Vec::new();
    };
    let mut errors = check_identifier(&source.metric, &path.child("metric"));
    let target = path.child("target");
    errors.extend(check_target(&source.target, &target));
    if source.target.average_value.is_none() {
        let detail = "must be set, and positive";
        errors.push(FieldError::required(target.child("averageValue"), detail));
    }
    errors
}

fn check_resource(metric: &MetricSpec, path: &FieldPath) -> Vec<FieldError> {
    let Some(source) = &metric.resource else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if source.name.is_empty() {
        errors.push(FieldError::required(
            path.child("name"),
            "the name of the resource must be given",
        ));
    }
    errors.extend(check_resource_target(&source.target, &path.child("target")));
    errors
}

fn check_container_resource(metric: &MetricSpec, path: &FieldPath) -> Vec<FieldError> {
    let Some(source) = &metric.container_resource else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    let name = path.child("name");
    if source.name.is_empty() {
        errors.push(FieldError::required(
            name,
            "the name of the resource must be given",
        ));
    } else {
        errors.extend(check_container_name(&source.name, &name));
    }
    let container = path.child("container");
    if source.container.is_empty() {
        errors.push(FieldError::required(
            container,
            "the name of the container must be given",
        ));
    } else {
        let problems = names::check_dns1123_label(&source.container);
        errors.extend(problems::each(&container, &source.container, problems));
    }
    errors.extend(check_resource_target(&source.target, &path.child("target")));
    errors
}

fn check_resource_target(target: &MetricTarget, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = check_target(target, path);
    match (
        target.average_utilization.is_some(),
        target.average_value.is_some(),
    ) {
        (false, false) => {
            let detail = "one of averageUtilization and averageValue must be set";
            errors.push(FieldError::required(
                path.child("averageUtilization"),
                detail,
            ));
        }
        (true, true) => {
            let detail = "averageUtilization and averageValue exclude each other";
            errors.push(FieldError::forbidden(path.child("averageValue"), detail));
        }
        _ => {}
    }
    errors
}

fn check_target(target: &MetricTarget, path: &FieldPath) -> Vec<FieldError> {
    use metric_target_type::{AVERAGE_VALUE, UTILIZATION, VALUE};
    let mut errors = Vec::new();
    let r#type = target.r#type.as_str();
    if r#type.is_empty() {
        errors.push(FieldError::required(
            path.child("type"),
            "the type of the target must be given",
        ));
    }
    if ![UTILIZATION, VALUE, AVERAGE_VALUE].contains(&r#type) {
        let detail = "must be Utilization, Value or AverageValue";
        errors.push(FieldError::invalid(path.child("type"), r#type, detail));
    }
    for (field, value) in [
        ("value", target.value),
        ("averageValue", target.average_value),
    ] {
        if let Some(value) = value.filter(|value| value.signum() <= 0) {
            errors.push(FieldError::invalid(
                path.child(field),
                value.to_string(),
                "must be positive",
            ));
        }
    }
    if let Some(share) = target.average_utilization.filter(|share| *share < 1) {
        let path = path.child("averageUtilization");
        errors.push(FieldError::invalid(path, share, "must be greater than 0"));
    }
    errors
}

fn check_identifier(metric: &MetricIdentifier, path: &FieldPath) -> Vec<FieldError> {
    let path = path.child("name");
    if metric.name.is_empty() {
        return vec![FieldError::required(
            path,
            "the name of the metric must be given",
        )];
    }
    problems::each(&path, &metric.name, names::check_path_segment(&metric.name)).collect()
}

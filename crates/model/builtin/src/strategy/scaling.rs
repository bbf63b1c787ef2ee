//! Rules about autoscalers, the scale subresource and disruption budgets.

use object::names;

use super::{
    container::quantity,
    rules::counts,
    spot::{Errors, Spot},
    words::{at_most_all, count_or_percent},
};

/// Longest looks back: an hour for stabilisation, half an hour for one policy.
const STABILIZATION_SECONDS: i64 = 3600;
const PERIOD_SECONDS: i64 = 1800;

pub(super) fn autoscaler(spec: &Spot<'_>, errors: &mut Errors) {
    let (fewest, most) = (spec.field("minReplicas"), spec.field("maxReplicas"));
    if fewest.number().is_some_and(|number| number < 1) {
        errors.push(fewest.invalid("must be greater than or equal to 1"));
    }
    let limit = most.number().unwrap_or(0);
    if limit < 1 {
        errors.push(most.invalid("must be greater than 0"));
    }
    if fewest.number().is_some_and(|number| limit < number) {
        errors.push(most.invalid("must be greater than or equal to `minReplicas`"));
    }
    let target = spec.field("scaleTargetRef");
    for field in ["kind", "name"] {
        let field = target.field(field);
        field.complain(names::check_path_segment(field.text()), errors);
    }
    let percent = spec.field("targetCPUUtilizationPercentage");
    if percent.number().is_some_and(|percent| percent < 1) {
        errors.push(percent.invalid("must be greater than 0"));
    }
}

/// How fast the number may change in one direction.
pub(super) fn scaling_rules(rules: &Spot<'_>, errors: &mut Errors) {
    let window = rules.field("stabilizationWindowSeconds");
    match window.number() {
        Some(seconds) if seconds < 0 => {
            errors.push(window.invalid("must be greater than or equal to zero"))
        }
        Some(seconds) if seconds > STABILIZATION_SECONDS => {
            errors.push(window.invalid(format!(
                "must be less than or equal to {STABILIZATION_SECONDS}"
            )));
        }
        _ => {}
    }
    let select = rules.field("selectPolicy");
    if !select.is_empty() && !matches!(select.text(), "Disabled" | "Max" | "Min") {
        errors.push(select.not_supported(&["Disabled", "Max", "Min"]));
    }
    let policies = rules.field("policies");
    if policies.is_empty() {
        errors.push(policies.required("must specify at least one Policy"));
    }
}

/// One limit on change.
pub(super) fn scaling_policy(policy: &Spot<'_>, errors: &mut Errors) {
    let ty = policy.field("type");
    if !ty.is_empty() && !matches!(ty.text(), "Percent" | "Pods") {
        errors.push(ty.not_supported(&["Percent", "Pods"]));
    }
    for field in ["value", "periodSeconds"] {
        let number = policy.field(field);
        if number.number().is_some_and(|number| number <= 0) {
            errors.push(number.invalid("must be greater than zero"));
        }
    }
    let period = policy.field("periodSeconds");
    if period
        .number()
        .is_some_and(|seconds| seconds > PERIOD_SECONDS)
    {
        errors.push(period.invalid(format!("must be less than or equal to {PERIOD_SECONDS}")));
    }
}

/// One metric: the field that its type names, and no other.
pub(super) fn metric(metric: &Spot<'_>, errors: &mut Errors) {
    const SOURCES: [(&str, &str); 5] = [
        ("ContainerResource", "containerResource"),
        ("External", "external"),
        ("Object", "object"),
        ("Pods", "pods"),
        ("Resource", "resource"),
    ];
    let ty = metric.field("type");
    let Some((_, expected)) = SOURCES.iter().find(|(name, _)| *name == ty.text()) else {
        if !ty.is_empty() {
            errors.push(ty.not_supported(&SOURCES.map(|(name, _)| name)));
        }
        return;
    };
    let source = metric.field(expected);
    if !source.is_set() {
        errors.push(source.required("must populate information for the given metric source"));
    }
    for (_, other) in SOURCES.iter().filter(|(_, other)| other != expected) {
        let other = metric.field(other);
        if other.is_set() {
            errors.push(other.forbidden("must populate the given metric source only"));
        }
    }
}

/// The value aimed at.
pub(super) fn metric_target(target: &Spot<'_>, errors: &mut Errors) {
    let ty = target.field("type");
    // That there is none is told by its type.
    if !ty.is_empty() && !matches!(ty.text(), "Utilization" | "Value" | "AverageValue") {
        errors.push(ty.invalid("must be either Utilization, Value, or AverageValue"));
    }
    for field in ["value", "averageValue"] {
        let amount = target.field(field);
        if quantity(&amount).is_some_and(|quantity| quantity.signum() <= 0) {
            errors.push(amount.invalid("must be positive"));
        }
    }
    let percent = target.field("averageUtilization");
    if percent.number().is_some_and(|percent| percent < 1) {
        errors.push(percent.invalid("must be greater than 0"));
    }
}

/// A metric of another object.
pub(super) fn object_metric(metric: &Spot<'_>, errors: &mut Errors) {
    metric_name(metric, errors);
    let target = metric.field("target");
    let average = target.field("averageValue");
    if !target.field("value").is_set() && !average.is_set() {
        errors.push(average.required("must set either a target value or averageValue"));
    }
}

/// A metric of something outside the cluster.
pub(super) fn external_metric(metric: &Spot<'_>, errors: &mut Errors) {
    metric_name(metric, errors);
    let target = metric.field("target");
    let (value, average) = (target.field("value"), target.field("averageValue"));
    match (value.is_set(), average.is_set()) {
        (false, false) => errors.push(
            average.required("must set either a target value for metric or a per-pod target"),
        ),
        (true, true) => errors.push(
            value.forbidden("may not set both a target value for metric and a per-pod target"),
        ),
        _ => {}
    }
}

/// A metric of the pods themselves.
pub(super) fn pods_metric(metric: &Spot<'_>, errors: &mut Errors) {
    metric_name(metric, errors);
    let target = metric.field("target");
    let average = target.field("averageValue");
    if !average.is_set() {
        errors.push(average.required("must specify a positive target averageValue"));
    }
}

/// Resource use of the pods, or of one container of them.
pub(super) fn resource_metric(metric: &Spot<'_>, errors: &mut Errors) {
    let target = metric.field("target");
    let (percent, average) = (
        target.field("averageUtilization"),
        target.field("averageValue"),
    );
    match (percent.is_set(), average.is_set()) {
        (false, false) => errors
            .push(percent.required("must set either a target raw value or a target utilization")),
        (true, true) => errors.push(
            average.forbidden("may not set both a target raw value and a target utilization"),
        ),
        _ => {}
    }
}

fn metric_name(metric: &Spot<'_>, errors: &mut Errors) {
    let metric = metric.field("metric");
    let name = metric.field("name");
    name.complain(names::check_path_segment(name.text()), errors);
}

/// The size of a workload, seen alone.
pub(super) fn scale(scale: &Spot<'_>, errors: &mut Errors) {
    counts(&scale.field("spec"), &["replicas"], errors);
}

pub(super) fn disruption_budget(spec: &Spot<'_>, errors: &mut Errors) {
    let (stay, miss) = (spec.field("minAvailable"), spec.field("maxUnavailable"));
    if stay.is_set() && miss.is_set() {
        errors.push(spec.invalid("minAvailable and maxUnavailable cannot be both set"));
    }
    for bound in [&stay, &miss] {
        if bound.is_set() {
            count_or_percent(bound, errors);
            at_most_all(bound, errors);
        }
    }
}

//! FederatedHPA: scaling by metrics.

use std::sync::LazyLock;

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};
use serde_json::Value;

use super::{
    AdmissionRules, Refusal, Request, Verdict,
    metadata::{self, NOT_NEGATIVE},
    metrics, problems,
    rewrite::rewrite,
    verdict::{read, webhook_verdict},
};
use crate::{
    autoscaling::{FederatedHPA, FederatedHPASpec},
    kubernetes::autoscaling::{
        CrossVersionObjectReference, HorizontalPodAutoscalerBehavior, HpaScalingPolicy,
        HpaScalingRules, MetricSpec, MetricTarget, ResourceMetricSource, metric_source_type,
        metric_target_type, scaling_policy_select, scaling_policy_type,
    },
    registry::Scope,
    schema::structural_schema,
};

/// The share of the requested cpu, in per cent, that is steered towards unless other metrics are given.
const CPU_UTILIZATION: i32 = 80;
/// The period, in seconds, of the policies that are filled in.
const PERIOD: i32 = 15;
/// Within one period, replicas may grow by this many pods or be doubled, and shrink as far as it goes.
const GROWTH_PODS: i32 = 4;
const GROWTH_PERCENT: i32 = 100;
const SHRINK_PERCENT: i32 = 100;
/// The longest period of a policy, in seconds.
const LONGEST_PERIOD: i32 = 1800;
/// The longest stabilization window, in seconds.
const LONGEST_WINDOW: i32 = 3600;

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn mutate(
        &self,
        _request: &Request<'_>,
        _old: Option<&Object>,
        new: Object,
    ) -> Result<Object, Refusal> {
        static SCHEMA: LazyLock<Value> = LazyLock::new(structural_schema::<FederatedHPA>);
        rewrite::<FederatedHPA>(&new, &SCHEMA, |autoscaler| fill(&mut autoscaler.spec))
    }

    fn validate(&self, _request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let autoscaler: FederatedHPA = read(new)?;
        let mut errors = metadata::check(
            &autoscaler.metadata,
            Scope::Namespaced,
            names::check_dns1123_subdomain,
        );
        errors.extend(check_spec(&autoscaler.spec, &FieldPath::new("spec")));
        let status = &autoscaler.status;
        for (field, replicas) in [
            ("currentReplicas", status.current_replicas),
            ("desiredReplicas", status.desired_replicas),
        ] {
            if replicas < 0 {
                let path = FieldPath::new("status").child(field);
                errors.push(FieldError::invalid(path, replicas, NOT_NEGATIVE));
            }
        }
        webhook_verdict("federatedhpa.karmada.io", errors)
    }
}

/// Checks that a reference names something, in words that fit into a URL.
pub(super) fn check_reference(
    reference: &CrossVersionObjectReference,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, value) in [("kind", &reference.kind), ("name", &reference.name)] {
        let path = path.child(field);
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        errors.extend(problems::each(
            &path,
            value,
            names::check_path_segment(value),
        ));
    }
    errors
}

fn fill(spec: &mut FederatedHPASpec) {
    spec.min_replicas.get_or_insert(1);
    if spec.metrics.is_empty() {
        let target = MetricTarget {
            r#type: metric_target_type::UTILIZATION.to_owned(),
            average_utilization: Some(CPU_UTILIZATION),
            ..MetricTarget::default()
        };
        spec.metrics.push(MetricSpec {
            r#type: metric_source_type::RESOURCE.to_owned(),
            resource: Some(ResourceMetricSource {
                name: "cpu".to_owned(),
                target,
            }),
            ..MetricSpec::default()
        });
    }
    if let Some(behavior) = &mut spec.behavior {
        let policy = |r#type: &str, value: i32| HpaScalingPolicy {
            r#type: r#type.to_owned(),
            value,
            period_seconds: PERIOD,
        };
        use scaling_policy_type::{PERCENT, PODS};
        let up = [policy(PODS, GROWTH_PODS), policy(PERCENT, GROWTH_PERCENT)];
        fill_rules(behavior.scale_up.get_or_insert_default(), Some(0), &up);
        // The window for scaling down is a setting of the controller, so it stays open.
        let down = [policy(PERCENT, SHRINK_PERCENT)];
        fill_rules(behavior.scale_down.get_or_insert_default(), None, &down);
    }
}

fn fill_rules(rules: &mut HpaScalingRules, window: Option<i32>, policies: &[HpaScalingPolicy]) {
    rules.stabilization_window_seconds = rules.stabilization_window_seconds.or(window);
    rules
        .select_policy
        .get_or_insert_with(|| scaling_policy_select::MAX.to_owned());
    if rules.policies.is_empty() {
        rules.policies = policies.to_vec();
    }
}

fn check_spec(spec: &FederatedHPASpec, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (spec.min_replicas, spec.max_replicas);
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid(
            path.child("minReplicas"),
            least,
            detail,
        ));
    }
    if most < 1 {
        errors.push(FieldError::invalid(
            path.child("maxReplicas"),
            most,
            "must be greater than 0",
        ));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must not be below minReplicas";
        errors.push(FieldError::invalid(path.child("maxReplicas"), most, detail));
    }
    errors.extend(check_reference(
        &spec.scale_target_ref,
        &path.child("scaleTargetRef"),
    ));
    for (position, metric) in spec.metrics.iter().enumerate() {
        errors.extend(metrics::check(
            metric,
            &path.child("metrics").index(position),
        ));
    }
    if let Some(behavior) = &spec.behavior {
        errors.extend(check_behavior(behavior, &path.child("behavior")));
    }
    errors
}

fn check_behavior(behavior: &HorizontalPodAutoscalerBehavior, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (direction, rules) in [
        ("scaleUp", &behavior.scale_up),
        ("scaleDown", &behavior.scale_down),
    ] {
        if let Some(rules) = rules {
            errors.extend(check_rules(rules, &path.child(direction)));
        }
    }
    errors
}

fn check_rules(rules: &HpaScalingRules, path: &FieldPath) -> Vec<FieldError> {
    use scaling_policy_select::{DISABLED, MAX, MIN};
    let mut errors = Vec::new();
    if let Some(window) = rules.stabilization_window_seconds {
        let path = path.child("stabilizationWindowSeconds");
        if window < 0 {
            errors.push(FieldError::invalid(
                path,
                window,
                "must be greater than or equal to zero",
            ));
        } else if window > LONGEST_WINDOW {
            let detail = format!("must be less than or equal to {LONGEST_WINDOW}");
            errors.push(FieldError::invalid(path, window, detail));
        }
    }
    if let Some(select) = rules
        .select_policy
        .as_deref()
        .filter(|select| ![MAX, MIN, DISABLED].contains(select))
    {
        let path = path.child("selectPolicy");
        errors.push(FieldError::not_supported(
            path,
            select,
            &[DISABLED, MAX, MIN],
        ));
    }
    // Upstream: `tolerance` is lost on the way and so has no rule; Kubernetes itself wants it not to be negative.
    if let Some(tolerance) = rules.tolerance.filter(|tolerance| tolerance.signum() < 0) {
        let path = path.child("tolerance");
        errors.push(FieldError::invalid(
            path,
            tolerance.to_string(),
            "must be greater than or equal to zero",
        ));
    }
    let list = path.child("policies");
    if rules.policies.is_empty() {
        errors.push(FieldError::required(
            list.clone(),
            "at least one policy is needed",
        ));
    }
    for (position, policy) in rules.policies.iter().enumerate() {
        errors.extend(check_policy(policy, &list.index(position)));
    }
    errors
}

fn check_policy(policy: &HpaScalingPolicy, path: &FieldPath) -> Vec<FieldError> {
    use scaling_policy_type::{PERCENT, PODS};
    let mut errors = Vec::new();
    if ![PODS, PERCENT].contains(&&*policy.r#type) {
        let value = policy.r#type.as_str();
        errors.push(FieldError::not_supported(
            path.child("type"),
            value,
            &[PERCENT, PODS],
        ));
    }
    for (field, number) in [
        ("value", policy.value),
        ("periodSeconds", policy.period_seconds),
    ] {
        if number <= 0 {
            errors.push(FieldError::invalid(
                path.child(field),
                number,
                "must be greater than zero",
            ));
        }
    }
    if policy.period_seconds > LONGEST_PERIOD {
        let detail = format!("must be less than or equal to {LONGEST_PERIOD}");
        errors.push(FieldError::invalid(
            path.child("periodSeconds"),
            policy.period_seconds,
            detail,
        ));
    }
    errors
}

use super::*;

const AUTOSCALER: (&str, &str) = ("autoscaling", "HorizontalPodAutoscaler");

#[test]
fn metrics_aim_at_a_value_of_their_own_sort() {
    let metric = json!({"name": "rps"});
    for (sort, part, source, errors) in [
        (
            "Pods",
            "pods",
            json!({"metric": metric, "target": {"type": "AverageValue", "averageValue": "1k"}}),
            &[][..],
        ),
        (
            "Pods",
            "pods",
            json!({"metric": metric, "target": {"type": "AverageValue"}}),
            &[
                "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue",
            ],
        ),
        (
            "External",
            "external",
            json!({"metric": metric, "target": {"type": "Value"}}),
            &[
                "spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
            ],
        ),
        (
            "Object",
            "object",
            json!({"metric": metric, "describedObject": {"kind": "Ingress", "name": "i"}, "target": {"type": "Value", "value": "-1"}}),
            &["spec.metrics[0].object.target.value: Invalid value: \"-1\": must be positive"],
        ),
        (
            "Resource",
            "resource",
            json!({"name": "cpu", "target": {"type": "Odd", "averageUtilization": 50, "averageValue": "1"}}),
            &[
                "spec.metrics[0].resource.target.type: Invalid value: \"Odd\": must be either Utilization, Value, or AverageValue",
                "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
            ],
        ),
    ] {
        let over = json!({"spec": {"metrics": [{"type": sort, part: source}]}});
        check(AUTOSCALER, over, errors);
    }
}

#[test]
fn no_policies_are_others_than_none_given() {
    let rules = |rules: Value| json!({"spec": {"behavior": {"scaleUp": rules}}});
    check(AUTOSCALER, rules(json!({})), &[]);
    check(
        AUTOSCALER,
        rules(json!({"policies": []})),
        &["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"],
    );
}

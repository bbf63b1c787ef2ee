use serde_json::json;

use super::*;

#[test]
fn events_keep_everything_under_other_names() {
    let core = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"},
        "message": "m", "reason": "R", "reportingComponent": "c", "reportingInstance": "i",
        "source": {"component": "s"}, "count": 2, "firstTimestamp": "2026-01-01T00:00:00Z", "type": "Normal",
    });
    let newer = event_to_events(&core);
    assert_eq!(
        newer,
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "regarding": {"kind": "Pod"},
            "note": "m", "reason": "R", "reportingController": "c", "reportingInstance": "i",
            "deprecatedSource": {"component": "s"}, "deprecatedCount": 2,
            "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z", "type": "Normal",
        })
    );
    assert_eq!(event_to_core(&newer), core);
}

#[test]
fn autoscalers_lose_nothing_on_a_round_trip() {
    let object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": {"a": "b"}},
        "spec": {
            "maxReplicas": 5,
            "metrics": [
                {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "x",
                    "target": {"type": "Utilization", "averageUtilization": 30}}},
                {"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "AverageValue", "averageValue": "1k"}}},
                {"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "i"}, "metric": {"name": "rps"},
                    "target": {"type": "Value", "value": "10k"}}},
                {"type": "External", "external": {"metric": {"name": "q", "selector": {}}, "target": {"type": "Value", "value": "30"}}},
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            ],
            "behavior": {"scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 10, "periodSeconds": 15}]}},
        },
        "status": {
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 41, "averageValue": "410m"}}}],
            "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": null}],
            "desiredReplicas": 2,
        },
    });
    let first = autoscaler_to_v1(&object);
    assert_eq!(first["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(
        first["status"],
        json!({"currentCPUUtilizationPercentage": 41, "currentReplicas": 0, "desiredReplicas": 2})
    );
    let annotations = first["metadata"]["annotations"].as_object().unwrap();
    let behavior = annotations["autoscaling.alpha.kubernetes.io/behavior"]
        .as_str()
        .unwrap();
    assert!(
        behavior.starts_with(r#"{"ScaleDown":{"SelectPolicy":"Max","Policies":[{"Type":"Percent""#),
        "{behavior}"
    );
    let metrics = annotations["autoscaling.alpha.kubernetes.io/metrics"]
        .as_str()
        .unwrap();
    assert!(metrics.contains(r#"{"type":"Object","object":{"targetValue":"10k","metricName":"rps","target":{"kind":"Ingress""#), "{metrics}");
    assert_eq!(autoscaler_to_v2(&first), object);
}

#[test]
fn each_version_of_an_autoscaler_shows_the_numbers_its_clients_require() {
    let bare = json!({"spec": {"maxReplicas": 3}});
    for (converted, expected) in [
        (
            autoscaler_to_v1(&bare),
            json!({"currentReplicas": 0, "desiredReplicas": 0}),
        ),
        (
            autoscaler_to_v2(&bare),
            json!({"desiredReplicas": 0, "currentMetrics": null}),
        ),
        (
            autoscaler_to_v2(&autoscaler_to_v1(&bare)),
            json!({"desiredReplicas": 0, "currentMetrics": null}),
        ),
    ] {
        assert_eq!(converted["status"], expected);
    }
}

#[test]
fn an_autoscaler_of_the_first_version_aims_at_cpu_use() {
    let metric =
        |object: serde_json::Value| autoscaler_to_v2(&object)["spec"]["metrics"][0].clone();
    let percent =
        |metric: serde_json::Value| metric["resource"]["target"]["averageUtilization"].clone();
    assert_eq!(
        percent(metric(
            json!({"spec": {"targetCPUUtilizationPercentage": 50}})
        )),
        50
    );
    assert_eq!(percent(metric(json!({"spec": {}}))), 80);
    let broken = json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "{"}}, "spec": "?"});
    assert_eq!(percent(metric(broken)), 80);
    assert_eq!(autoscaler_to_v2(&json!(7)), json!(7));
}

#[test]
fn only_kinds_with_two_names_are_converted() {
    for kind in crate::kinds::kinds() {
        let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind});
        assert_eq!(
            to_stored(kind, &object).is_some(),
            kind.stored.is_some(),
            "{}",
            kind.kind
        );
        assert_eq!(
            from_stored(kind, &object).is_some(),
            kind.stored.is_some(),
            "{}",
            kind.kind
        );
        if let (Some(stored), Some(home)) = (to_stored(kind, &object), kind.stored) {
            let home = crate::kinds::find(home.group, home.version, home.kind).unwrap();
            assert_eq!(stored["apiVersion"], home.api_version());
        }
    }
}

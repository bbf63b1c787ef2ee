//! What autoscalers decide, as tables.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use super::pace::{Past, pace};
use super::plan::{Inputs, Sample, plan};
use crate::engine::action::Action;
use crate::engine::kind::Kind;

fn at(second: i64) -> Time {
    Time::from_unix_seconds(1_800_000_000 + second)
}

fn scaler(behavior: Value) -> Object {
    let scaler = json!({
        "metadata": {"name": "web", "namespace": "d", "uid": "u"},
        "spec": {
            "minReplicas": 1, "maxReplicas": 20, "behavior": behavior,
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
            }}],
        },
    });
    Object::from_value(scaler).unwrap()
}

/// Wishes are given as (second, replicas); the last one is paced. What was changed, as (second, by).
fn paced(
    behavior: Value,
    present: i64,
    wishes: &[(i64, i64)],
    changes: &[(i64, i64)],
) -> (i64, String) {
    let mut past = Past::default();
    for (second, by) in changes {
        past.change(*by, at(*second));
    }
    for (second, wish) in wishes {
        past.wish(present, *wish, at(*second));
    }
    let past = Past::read(Some(&past.note()));
    let now = at(wishes.last().unwrap().0);
    let paced = pace(&scaler(behavior), &past, present, now);
    let why = paced
        .held
        .or(paced.limited)
        .map_or("", |(reason, _)| reason);
    (paced.replicas, why.to_owned())
}

#[test]
fn the_pace_is_what_the_behaviour_says() {
    let fast = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    let two = json!({"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}});
    let both = |choice: &str| {
        json!({"scaleUp": {"selectPolicy": choice, "policies": [
            {"type": "Pods", "value": 2, "periodSeconds": 60},
            {"type": "Percent", "value": 50, "periodSeconds": 60},
        ]}})
    };
    let slow_down = json!({"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [
        {"type": "Percent", "value": 10, "periodSeconds": 60},
    ]}});
    let frozen =
        json!({"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}});
    let patient = json!({"scaleUp": {"stabilizationWindowSeconds": 60}});
    for (behavior, present, wishes, changes, expected) in [
        // As much as wished, as long as it is not more than double or four more.
        (json!(null), 2, vec![(0, 5)], vec![], (5, "")),
        (json!(null), 1, vec![(0, 9)], vec![], (5, "ScaleUpLimit")),
        (json!(null), 10, vec![(0, 30)], vec![], (20, "ScaleUpLimit")),
        // What was added in the same period counts.
        (
            json!(null),
            5,
            vec![(10, 9)],
            vec![(0, 4)],
            (5, "ScaleUpLimit"),
        ),
        (json!(null), 5, vec![(20, 9)], vec![(0, 4)], (9, "")),
        // Down only when nothing more was wished for five minutes.
        (
            json!(null),
            5,
            vec![(0, 1)],
            vec![],
            (5, "ScaleDownStabilized"),
        ),
        (
            json!(null),
            5,
            vec![(0, 5), (299, 1)],
            vec![],
            (5, "ScaleDownStabilized"),
        ),
        (
            json!(null),
            5,
            vec![(0, 5), (10, 3), (301, 1)],
            vec![],
            (3, "ScaleDownStabilized"),
        ),
        (json!(null), 5, vec![(0, 5), (400, 1)], vec![], (1, "")),
        (fast, 5, vec![(0, 1)], vec![], (1, "")),
        (two, 4, vec![(0, 10)], vec![], (6, "ScaleUpLimit")),
        (both("Max"), 10, vec![(0, 20)], vec![], (15, "ScaleUpLimit")),
        (both("Min"), 10, vec![(0, 20)], vec![], (12, "ScaleUpLimit")),
        (slow_down, 10, vec![(0, 2)], vec![], (9, "ScaleDownLimit")),
        (frozen, 10, vec![(0, 2)], vec![], (10, "ScaleDownLimit")),
        (
            patient.clone(),
            2,
            vec![(0, 2), (30, 4)],
            vec![],
            (2, "ScaleUpStabilized"),
        ),
        (patient, 2, vec![(0, 2), (70, 4)], vec![], (4, "")),
    ] {
        let shown = format!("{behavior} {present} {wishes:?} {changes:?}");
        let found = paced(behavior, present, &wishes, &changes);
        assert_eq!((found.0, found.1.as_str()), expected, "{shown}");
    }
}

fn sample(percent: i64, is_ready: bool) -> Sample {
    Sample {
        is_ready,
        cpu: percent,
        cpu_asked: 100,
        ..Sample::default()
    }
}

#[test]
fn pods_that_are_not_ready_may_be_the_answer() {
    let target = json!({"metadata": {"name": "web", "namespace": "d"}, "spec": {"replicas": 4}});
    let target = Object::from_value(target).unwrap();
    for (ready, unready, size) in [
        (vec![100, 100], 0, None),
        (vec![100, 100], 2, None),
        (vec![200, 200], 2, Some(8)),
        (vec![200, 200, 200, 200], 0, Some(8)),
        (vec![10, 10], 2, Some(1)),
    ] {
        let samples: Vec<Sample> = ready
            .iter()
            .map(|percent| sample(*percent, true))
            .chain((0..unready).map(|_| sample(0, false)))
            .collect();
        let fast = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let found = plan(&Inputs {
            scaler: &scaler(fast),
            target: Some((Kind::Deployment, &target)),
            samples: &samples,
            noted: None,
            now: at(0),
        });
        assert_eq!(sized(&found.actions), size, "{ready:?} and {unready}");
    }
}

#[test]
fn a_target_without_pods_yet_is_looked_at_again_soon() {
    let target = json!({"metadata": {"name": "web", "namespace": "d"}, "spec": {"replicas": 4}});
    let target = Object::from_value(target).unwrap();
    let found = plan(&Inputs {
        scaler: &scaler(json!({})),
        target: Some((Kind::Deployment, &target)),
        samples: &[],
        noted: None,
        now: at(0),
    });
    assert_eq!(found.wake, Some(at(2)));
}

fn sized(actions: &[Action]) -> Option<i64> {
    actions.iter().find_map(|action| match action {
        Action::Merge { patch, .. } => patch.pointer("/spec/replicas").and_then(Value::as_i64),
        _ => None,
    })
}

fn conditions(actions: &[Action]) -> String {
    let status = actions.iter().find_map(|action| match action {
        Action::Status { status, .. } => Some(status),
        _ => None,
    });
    let list = status.and_then(|status| status["conditions"].as_array());
    let shown = list.into_iter().flatten().map(|condition| {
        let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
        format!("{}={}", text("type"), text("reason"))
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn replicas_follow_usage_within_the_bounds() {
    let fast = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    for (present, usages, size, said) in [
        (
            Some(2),
            vec![100, 100],
            Some(4),
            "ScalingActive=ValidMetricFound ScalingLimited=DesiredWithinRange AbleToScale=SucceededRescale",
        ),
        (
            Some(2),
            vec![54, 50],
            None,
            "ScalingActive=ValidMetricFound ScalingLimited=DesiredWithinRange AbleToScale=ReadyForNewScale",
        ),
        (
            Some(4),
            vec![25, 25, 25, 25],
            Some(2),
            "ScalingActive=ValidMetricFound ScalingLimited=DesiredWithinRange AbleToScale=SucceededRescale",
        ),
        (
            Some(18),
            vec![100; 18],
            Some(20),
            "ScalingActive=ValidMetricFound ScalingLimited=TooManyReplicas AbleToScale=SucceededRescale",
        ),
        (
            Some(2),
            vec![],
            None,
            "ScalingActive=FailedGetResourceMetric ScalingLimited=DesiredWithinRange AbleToScale=ReadyForNewScale",
        ),
        (Some(0), vec![], None, "ScalingActive=ScalingDisabled"),
        (None, vec![], None, "AbleToScale=FailedGetScale"),
    ] {
        let target = present.map(|replicas| {
            let target = json!({
                "metadata": {"name": "web", "namespace": "d"},
                "spec": {"replicas": replicas}, "status": {"replicas": replicas},
            });
            Object::from_value(target).unwrap()
        });
        let samples: Vec<Sample> = usages
            .iter()
            .map(|percent| sample(*percent, true))
            .collect();
        let found = plan(&Inputs {
            scaler: &scaler(fast.clone()),
            target: target.as_ref().map(|target| (Kind::Deployment, target)),
            samples: &samples,
            noted: None,
            now: at(0),
        });
        assert_eq!(
            (sized(&found.actions), conditions(&found.actions).as_str()),
            (size, said),
            "{present:?} {usages:?}"
        );
        assert_eq!(found.wake, Some(at(15)));
    }
}

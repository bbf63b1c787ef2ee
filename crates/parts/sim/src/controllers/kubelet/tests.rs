//! What becomes of pods, as tables: phases, readiness, restarts, second by second.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use super::configuration;
use super::container::Setting;
use super::pod::{Step, step};
use super::resize::Verdict;
use crate::behaviour::Rules;
use crate::read;

const START: i64 = 1_800_000_000;

fn at(second: i64) -> Time {
    Time::from_unix_seconds(START + second)
}

/// A pod that was placed at second 0.
fn pod(annotations: Value, spec: Value) -> Object {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", "uid": "u", "annotations": {}},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Pending"},
    });
    for (name, value) in annotations.as_object().into_iter().flatten() {
        pod["metadata"]["annotations"][format!("sim.karavel.io/{name}")] = value.clone();
    }
    for (name, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][name] = value.clone();
    }
    Object::from_value(pod).unwrap()
}

fn shown(pod: &Object) -> String {
    let status = &read::list(pod, &["status", "containerStatuses"])[0];
    let state = status["state"].as_object().unwrap();
    let (name, details) = state.iter().next().unwrap();
    let details = match name.as_str() {
        "waiting" => details["reason"].as_str().unwrap().to_owned(),
        "terminated" => format!("exit {}", details["exitCode"]),
        _ => "running".to_owned(),
    };
    let ready = if read::is_ready(pod) { " ready" } else { "" };
    let restarts = match status["restartCount"].as_i64() {
        Some(0) => String::new(),
        Some(count) => format!(" restarted {count}"),
        None => " ?".to_owned(),
    };
    format!("{} {details}{ready}{restarts}", read::phase(pod))
}

/// Looks at a pod at a second: its next status, when to look again, and the reasons of what is told. There is no
/// configuration, and whoever was connected to the container `left` has gone.
fn look(pod: &Object, second: i64) -> (Step, Vec<&'static str>) {
    let rules = Rules::defaults();
    let behaviour = rules.behaviour(pod);
    let find = |_, _: &str| None;
    let setting = Setting {
        pod,
        resize: &Verdict::Settled,
        behaviour: &behaviour,
        lacks: &|container| configuration::lacking("d", container, &find),
        left: &|name, _| (name == "left").then_some(3),
        now: at(second),
    };
    let step = step(&setting, &find, "1.1.1.1", "2.2.2.2");
    let told = step.events.iter().map(|told| told.1).collect();
    (step, told)
}

fn with_status(pod: &Object, status: Value) -> Object {
    let mut value = Value::Object(pod.fields().clone());
    value["status"] = status;
    Object::from_value(value).unwrap()
}

/// Lives a pod's life: what it shows whenever that changes, with the second; it is looked at when it asks to be.
fn live(mut pod: Object, until: i64) -> Vec<String> {
    let (mut lines, mut second) = (Vec::new(), 0);
    while second <= until {
        let (Step { status, wake, .. }, _) = look(&pod, second);
        if let Some(status) = status {
            pod = with_status(&pod, status);
            lines.push(format!("{second} {}", shown(&pod)));
        }
        let Some(wake) = wake else { break };
        second = (wake.unix_seconds() - START).max(second + 1);
    }
    lines
}

#[test]
fn pods_live_as_their_behaviour_says() {
    let never = json!({"restartPolicy": "Never"});
    let on_failure = json!({"restartPolicy": "OnFailure"});
    for (annotations, spec, expected) in [
        (
            json!({}),
            json!({}),
            vec!["0 Pending ContainerCreating", "1 Running running ready"],
        ),
        (
            json!({"start-after": "3s", "ready-after": "5s"}),
            json!({}),
            vec![
                "0 Pending ContainerCreating",
                "3 Running running",
                "8 Running running ready",
            ],
        ),
        (
            json!({"ready-after": "never"}),
            json!({}),
            vec!["0 Pending ContainerCreating", "1 Running running"],
        ),
        (
            json!({"unready-after": "10s"}),
            json!({}),
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "11 Running running",
            ],
        ),
        (
            json!({"complete-after": "4s"}),
            never.clone(),
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "5 Succeeded exit 0",
            ],
        ),
        (
            json!({"crash-after": "4s", "exit-code": "3"}),
            never,
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "5 Failed exit 3",
            ],
        ),
        (
            json!({"complete-after": "4s"}),
            on_failure,
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "5 Succeeded exit 0",
            ],
        ),
        // Restarted at once the first time, then after waits that double.
        (
            json!({"crash-after": "2s"}),
            json!({}),
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "3 Running running ready restarted 1",
                "5 Running CrashLoopBackOff restarted 1",
                "15 Running running ready restarted 2",
                "17 Running CrashLoopBackOff restarted 2",
                "37 Running running ready restarted 3",
                "39 Running CrashLoopBackOff restarted 3",
            ],
        ),
        (
            json!({"image": "missing"}),
            json!({}),
            vec![
                "0 Pending ContainerCreating",
                "1 Pending ErrImagePull",
                "3 Pending ImagePullBackOff",
                "13 Pending ErrImagePull",
                "15 Pending ImagePullBackOff",
                "35 Pending ErrImagePull",
                "37 Pending ImagePullBackOff",
            ],
        ),
        (
            json!({}),
            json!({"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "gone"}}]}]}),
            vec![
                "0 Pending ContainerCreating",
                "1 Pending CreateContainerConfigError",
            ],
        ),
        (
            json!({}),
            json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v"}]}],
                "volumes": [{"name": "v", "secret": {"secretName": "gone"}}]}),
            vec!["0 Pending ContainerCreating"],
        ),
        (
            json!({}),
            json!({"restartPolicy": "Never", "containers": [{"name": "left", "image": "i"}]}),
            vec!["0 Pending ContainerCreating", "1 Failed exit 3"],
        ),
        (
            json!({}),
            json!({"activeDeadlineSeconds": 7}),
            vec![
                "0 Pending ContainerCreating",
                "1 Running running ready",
                "7 Failed exit 137",
            ],
        ),
        (
            json!({"init-after": "2s"}),
            json!({"initContainers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}),
            vec![
                "0 Pending PodInitializing",
                "1 Pending PodInitializing",
                "3 Pending PodInitializing",
                "5 Running running ready",
            ],
        ),
    ] {
        let case = format!("{annotations} {spec}");
        assert_eq!(live(pod(annotations, spec), 50), expected, "{case}");
    }
}

#[test]
fn what_happens_to_a_pod_is_told_once() {
    for (annotations, spec, expected) in [
        (
            json!({}),
            json!({}),
            vec![vec![], vec!["Pulled", "Created", "Started"]],
        ),
        (
            json!({}),
            json!({"containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always"}]}),
            vec![vec![], vec!["Pulling", "Pulled", "Created", "Started"]],
        ),
        (
            json!({"image": "missing"}),
            json!({}),
            vec![vec![], vec!["Pulling", "Failed", "Failed"]],
        ),
        (
            json!({}),
            json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v"}]}],
                "volumes": [{"name": "v", "secret": {"secretName": "gone"}}]}),
            vec![vec!["FailedMount"], vec![]],
        ),
        (
            json!({}),
            json!({"initContainers": [{"name": "a", "image": "i"}]}),
            vec![vec![], vec!["Pulled", "Created", "Started"]],
        ),
    ] {
        let case = format!("{annotations} {spec}");
        let mut pod = pod(annotations, spec);
        for (second, expected) in (0..).zip(expected) {
            let (step, told) = look(&pod, second);
            assert_eq!(told, expected, "{case} at {second}");
            if let Some(status) = step.status {
                pod = with_status(&pod, status);
            }
            assert_eq!(
                look(&pod, second).1,
                Vec::<&str>::new(),
                "{case} at {second} again"
            );
        }
    }
}

#[test]
fn containers_that_look_into_a_pod_run_until_they_are_left() {
    let guests = json!([{"name": "g", "image": "i"}, {"name": "left", "image": "i"}]);
    let mut pod = pod(json!({}), json!({"ephemeralContainers": guests}));
    for second in [0, 1, 2] {
        if let Some(status) = look(&pod, second).0.status {
            pod = with_status(&pod, status);
        }
    }
    let states: Vec<&Value> = read::list(&pod, &["status", "ephemeralContainerStatuses"])
        .iter()
        .map(|status| &status["state"])
        .collect();
    assert_eq!(states[0]["running"]["startedAt"], at(1).to_string());
    assert_eq!(states[1]["terminated"]["exitCode"], 3);
    assert!(read::is_ready(&pod));
    assert_eq!(look(&pod, 3).0.status, None);
}

#[test]
fn containers_that_come_first_are_told_apart_like_the_others() {
    let sidecar = json!({"name": "side", "image": "i", "restartPolicy": "Always"});
    let spec = json!({"initContainers": [sidecar, {"name": "init", "image": "i"}]});
    let mut pod = pod(json!({}), spec);
    for second in [0, 1, 2] {
        if let Some(status) = look(&pod, second).0.status {
            pod = with_status(&pod, status);
        }
    }
    let main = &read::list(&pod, &["status", "containerStatuses"])[0];
    let mut ids = vec![&main["containerID"]];
    for status in read::list(&pod, &["status", "initContainerStatuses"]) {
        assert_eq!(status["imageID"], main["imageID"]);
        assert!(!ids.contains(&&status["containerID"]), "{status}");
        ids.push(&status["containerID"]);
    }
    assert!(ids.iter().all(|id| id.is_string()), "{ids:?}");
    assert_eq!(ids.len(), 3);
}

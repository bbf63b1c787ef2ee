//! One container: waiting, running, ended, waiting to be started again.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::behaviour::Behaviour;
use crate::controllers::template::hash_of;
use crate::read;

/// The first wait between two starts of a container that keeps ending.
const FIRST_WAIT: i64 = 10;
/// The longest.
const LONGEST_WAIT: i64 = 300;

/// What a container ends with that is killed.
const KILLED: i64 = 137;

/// An event: whether it is bad news, the reason, the message.
pub(crate) type Told = (bool, &'static str, String);

/// What becomes of a container.
pub(crate) struct Next {
    pub(crate) status: Value,
    pub(crate) wake: Option<Time>,
    pub(crate) told: Vec<Told>,
}

/// The status of a container that has not been started.
pub(crate) fn waiting(container: &Value, reason: &str, message: Option<String>) -> Value {
    let mut waiting = json!({"reason": reason});
    if let (Some(fields), Some(message)) = (waiting.as_object_mut(), message) {
        fields.insert("message".to_owned(), json!(message));
    }
    json!({
        "name": container.get("name"), "image": container.get("image"), "imageID": "",
        "ready": false, "started": false, "restartCount": 0, "lastState": {}, "state": {"waiting": waiting},
    })
}

/// The next state of a container that may run.
pub(crate) fn next(
    pod: &Object,
    container: &Value,
    known: Option<&Value>,
    behaviour: &Behaviour,
    now: Time,
) -> Next {
    let name = read::text(container, "name");
    if behaviour.image_missing {
        let image = read::text(container, "image");
        let message = format!("Back-off pulling image {image:?}");
        return Next {
            status: waiting(container, "ImagePullBackOff", Some(message.clone())),
            wake: None,
            told: vec![
                (true, "Failed", "Error: ImagePullBackOff".to_owned()),
                (false, "BackOff", message),
            ],
        };
    }
    let state = known.and_then(|known| known.get("state"));
    let running = state.and_then(|state| state.get("running"));
    let restarts = known
        .and_then(|known| known.get("restartCount")?.as_i64())
        .unwrap_or(0);
    let last = known
        .and_then(|known| known.get("lastState").cloned())
        .unwrap_or_else(|| json!({}));
    if let Some(started) = running.and_then(|running| read::time(running, "startedAt")) {
        return while_running(pod, container, behaviour, started, restarts, last, now);
    }
    if state.is_some_and(|state| state.get("terminated").is_some())
        && let Some(known) = known
    {
        return Next {
            status: known.clone(),
            wake: None,
            told: Vec::new(),
        };
    }
    let ended = last
        .get("terminated")
        .and_then(|terminated| read::time(terminated, "finishedAt"));
    if let Some(ended) = ended {
        let again = ended.plus_seconds(wait_before(restarts));
        if now < again {
            return Next {
                status: known.cloned().unwrap_or_default(),
                wake: Some(again),
                told: Vec::new(),
            };
        }
        return start(
            pod,
            container,
            behaviour,
            restarts.saturating_add(1),
            last,
            now,
        );
    }
    let mut next = start(pod, container, behaviour, 0, last, now);
    let image = read::text(container, "image");
    let pulled = format!("Container image {image:?} already present on machine");
    next.told.insert(0, (false, "Pulled", pulled));
    next.told
        .insert(1, (false, "Created", format!("Created container: {name}")));
    next
}

fn start(
    pod: &Object,
    container: &Value,
    behaviour: &Behaviour,
    restarts: i64,
    last: Value,
    now: Time,
) -> Next {
    let mut next = while_running(pod, container, behaviour, now, restarts, last, now);
    let started = format!("Started container {}", read::text(container, "name"));
    next.told.push((false, "Started", started));
    next
}

/// A container that has been running since `started`.
fn while_running(
    pod: &Object,
    container: &Value,
    behaviour: &Behaviour,
    started: Time,
    restarts: i64,
    last: Value,
    now: Time,
) -> Next {
    let ends = behaviour
        .ending
        .map(|ending| (started.plus_seconds(ending.after), ending.code));
    if let Some((at, code)) = ends
        && now >= at
    {
        return ended(pod, container, behaviour, started, restarts, code, now);
    }
    let probe = container
        .pointer("/readinessProbe/initialDelaySeconds")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let ready_at = behaviour
        .ready
        .map(|after| started.plus_seconds(after.max(probe)));
    let unready_at = behaviour.unready.map(|after| started.plus_seconds(after));
    let is_ready = ready_at.is_some_and(|at| now >= at) && unready_at.is_none_or(|at| now < at);
    let moments = [ready_at, unready_at, ends.map(|(at, _)| at)];
    Next {
        status: json!({
            "name": container.get("name"), "image": container.get("image"), "imageID": image_id(container),
            "containerID": container_id(pod, container, restarts), "ready": is_ready, "started": true,
            "restartCount": restarts, "lastState": last, "state": {"running": {"startedAt": started.to_string()}},
        }),
        wake: moments.into_iter().flatten().filter(|at| *at > now).min(),
        told: Vec::new(),
    }
}

/// A container that ended, and what its pod's restart policy makes of it.
fn ended(
    pod: &Object,
    container: &Value,
    behaviour: &Behaviour,
    started: Time,
    restarts: i64,
    code: i64,
    now: Time,
) -> Next {
    let id = container_id(pod, container, restarts);
    let terminated = json!({
        "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
        "startedAt": started.to_string(), "finishedAt": now.to_string(), "containerID": id,
    });
    let restarts_again = match pod.text_at(&["spec", "restartPolicy"]) {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    };
    let status = |state: Value, last: Value| {
        json!({
            "name": container.get("name"), "image": container.get("image"), "imageID": image_id(container),
            "containerID": id, "ready": false, "started": false, "restartCount": restarts,
            "lastState": last, "state": state,
        })
    };
    if !restarts_again {
        return Next {
            status: status(json!({"terminated": terminated}), json!({})),
            wake: None,
            told: Vec::new(),
        };
    }
    let last = json!({"terminated": terminated});
    let wait = wait_before(restarts);
    if wait == 0 {
        return start(
            pod,
            container,
            behaviour,
            restarts.saturating_add(1),
            last,
            now,
        );
    }
    let name = read::text(container, "name");
    let message = format!(
        "back-off {} restarting failed container={name} pod={}_{}({})",
        spell(wait),
        pod.name(),
        pod.namespace(),
        pod.uid()
    );
    let told = format!(
        "Back-off restarting failed container {name} in pod {}_{}({})",
        pod.name(),
        pod.namespace(),
        pod.uid()
    );
    Next {
        status: status(
            json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}}),
            last,
        ),
        wake: Some(now.plus_seconds(wait)),
        told: vec![(true, "BackOff", told)],
    }
}

/// Ends a container that runs, as a kubelet does whose patience is over.
pub(crate) fn kill(status: &mut Value, now: Time) {
    let id = status.get("containerID").cloned().unwrap_or_default();
    let started = status.pointer("/state/running/startedAt").cloned();
    let (Some(fields), Some(started)) = (status.as_object_mut(), started) else {
        return;
    };
    fields.insert("ready".to_owned(), json!(false));
    fields.insert("started".to_owned(), json!(false));
    let terminated = json!({
        "exitCode": KILLED, "reason": "Error", "startedAt": started, "finishedAt": now.to_string(),
        "containerID": id,
    });
    fields.insert("state".to_owned(), json!({"terminated": terminated}));
}

/// How long a container waits before it is started again: not at all the first time, then longer and longer.
fn wait_before(restarts: i64) -> i64 {
    if restarts == 0 {
        return 0;
    }
    let doublings = u32::try_from(restarts.saturating_sub(1).min(10)).unwrap_or(10);
    FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
}

/// As Go writes durations of whole seconds.
fn spell(seconds: i64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

fn image_id(container: &Value) -> String {
    let image = read::text(container, "image");
    let name = image.split(['@', ':']).next().unwrap_or_default();
    format!("{name}@sha256:{}", digest(image))
}

fn container_id(pod: &Object, container: &Value, restarts: i64) -> String {
    let seed = format!("{}/{}/{restarts}", pod.uid(), read::text(container, "name"));
    format!("containerd://{}", digest(&seed))
}

/// Sixty-four digits that are always the same for the same text; nothing depends on what they are.
fn digest(text: &str) -> String {
    let seed = hash_of(&json!(text), 0);
    let mut state: u64 = seed.bytes().fold(17, |sum, byte| {
        sum.wrapping_mul(131).wrapping_add(u64::from(byte))
    });
    let parts = (0..4).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    });
    parts.collect()
}

//! One container: waiting, running, ended, waiting to be started again.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::behaviour::Behaviour;
use crate::controllers::kubelet::ending::exit_code;
use crate::controllers::kubelet::identity::{container_id, image_id};
use crate::controllers::kubelet::image;
use crate::controllers::kubelet::resize::Verdict;
use crate::read;

/// The first wait between two starts of a container that keeps ending.
const FIRST_WAIT: i64 = 10;
/// The longest.
const LONGEST_WAIT: i64 = 300;

/// An event: whether it is bad news, the reason, the message.
pub(crate) type Told = (bool, &'static str, String);

/// What containers of a pod find where they run.
pub(crate) struct Setting<'a> {
    pub(crate) pod: &'a Object,
    pub(crate) behaviour: &'a Behaviour,
    /// What becomes of resources its containers do not have.
    pub(crate) resize: &'a Verdict,
    /// What a container refers to and is not there, in words.
    pub(crate) lacks: &'a dyn Fn(&Value) -> Option<String>,
    /// What a container that has been running since a time was left with by whoever was connected to it.
    pub(crate) left: &'a dyn Fn(&str, Time) -> Option<i64>,
    pub(crate) now: Time,
}

/// What becomes of a container.
pub(crate) struct Next {
    pub(crate) status: Value,
    pub(crate) wake: Option<Time>,
    pub(crate) told: Vec<Told>,
}

/// What a container has behind it.
pub(super) struct Past {
    pub(super) restarts: i64,
    pub(super) last: Value,
}

impl Past {
    /// That of a container that never ran.
    pub(super) fn none() -> Self {
        Self {
            restarts: 0,
            last: json!({}),
        }
    }
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

/// The next state of a container that may run, and could since a time.
pub(crate) fn next(
    setting: &Setting<'_>,
    container: &Value,
    known: Option<&Value>,
    since: Time,
) -> Next {
    let state = known.and_then(|known| known.get("state"));
    let running = state.and_then(|state| state.get("running"));
    let past = Past {
        restarts: known
            .and_then(|known| known.get("restartCount")?.as_i64())
            .unwrap_or(0),
        last: known
            .and_then(|known| known.get("lastState").cloned())
            .unwrap_or_else(|| json!({})),
    };
    if let Some(started) = running.and_then(|running| read::time(running, "startedAt")) {
        let is_outdated = |known: &&Value| {
            is_outdated(known, container) || setting.resize.restarts(container, known)
        };
        if let Some(known) = known.filter(is_outdated) {
            let last = replaced(setting, known);
            let mut next = begin(setting, container, Past { last, ..past }, setting.now, true);
            next.told.insert(0, replacement(container));
            return next;
        }
        return while_running(setting, container, started, past);
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
    let ended = past
        .last
        .get("terminated")
        .and_then(|terminated| read::time(terminated, "finishedAt"));
    let Some(ended) = ended else {
        return begin(setting, container, past, since, false);
    };
    let again = ended.plus_seconds(wait_before(past.restarts));
    if setting.now < again {
        return Next {
            status: known.cloned().unwrap_or_default(),
            wake: Some(again),
            told: Vec::new(),
        };
    }
    begin(setting, container, past, again, true)
}

/// A container that is to be started, for the first time or again, if it has everything it needs.
fn begin(
    setting: &Setting<'_>,
    container: &Value,
    past: Past,
    since: Time,
    is_again: bool,
) -> Next {
    let stalled = |reason: &str, message: String| {
        let mut status = waiting(container, reason, Some(message));
        if let Some(fields) = status.as_object_mut() {
            fields.insert("restartCount".to_owned(), json!(past.restarts));
            fields.insert("lastState".to_owned(), past.last.clone());
        }
        status
    };
    if setting.behaviour.image_missing {
        let stage = image::stage(read::text(container, "image"), since, setting.now);
        return Next {
            status: stalled(stage.reason, stage.message),
            wake: Some(stage.until),
            told: stage.told,
        };
    }
    if let Some(lack) = (setting.lacks)(container) {
        let told = (true, "Failed", format!("Error: {lack}"));
        return Next {
            status: stalled("CreateContainerConfigError", lack),
            wake: None,
            told: vec![told],
        };
    }
    let past = Past {
        restarts: past.restarts.saturating_add(i64::from(is_again)),
        ..past
    };
    let mut next = while_running(setting, container, setting.now, past);
    next.told = starts(container);
    next
}

/// Whether a container runs an image that its pod no longer names.
pub(super) fn is_outdated(known: &Value, container: &Value) -> bool {
    read::text(known, "image") != read::text(container, "image")
}

/// The last state of a container that makes way for its new definition.
pub(super) fn replaced(setting: &Setting<'_>, known: &Value) -> Value {
    let mut old = known.clone();
    end(&mut old, exit_code(setting.pod, false), setting.now);
    old.get("state").cloned().unwrap_or_default()
}

/// What is told of it. Upstream: no restart policy keeps it from being started again.
pub(super) fn replacement(container: &Value) -> Told {
    let name = read::text(container, "name");
    let message = format!("Container {name} definition changed, will be restarted");
    (false, "Killing", message)
}

/// What is told when a container is started.
pub(crate) fn starts(container: &Value) -> Vec<Told> {
    let name = read::text(container, "name");
    let mut told = image::pulled(container);
    told.push((false, "Created", format!("Created container: {name}")));
    told.push((false, "Started", format!("Started container {name}")));
    told
}

/// A container that has been running since `started`.
fn while_running(setting: &Setting<'_>, container: &Value, started: Time, past: Past) -> Next {
    let (behaviour, now) = (setting.behaviour, setting.now);
    if let Some(code) = (setting.left)(read::text(container, "name"), started) {
        return ended(setting, container, started, past.restarts, code);
    }
    let ends = behaviour
        .ending
        .map(|ending| (started.plus_seconds(ending.after), ending.code));
    if let Some((at, code)) = ends
        && now >= at
    {
        return ended(setting, container, started, past.restarts, code);
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
        status: running(setting.pod, container, started, past, is_ready),
        wake: moments.into_iter().flatten().filter(|at| *at > now).min(),
        told: Vec::new(),
    }
}

pub(super) fn running(
    pod: &Object,
    container: &Value,
    started: Time,
    past: Past,
    is_ready: bool,
) -> Value {
    json!({
        "name": container.get("name"), "image": container.get("image"), "imageID": image_id(container),
        "containerID": container_id(pod, container, past.restarts), "ready": is_ready, "started": true,
        "restartCount": past.restarts, "lastState": past.last,
        "state": {"running": {"startedAt": started.to_string()}},
    })
}

/// A container that ended, and what its pod's restart policy makes of it.
fn ended(
    setting: &Setting<'_>,
    container: &Value,
    started: Time,
    restarts: i64,
    code: i64,
) -> Next {
    let (pod, now) = (setting.pod, setting.now);
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
        return begin(setting, container, Past { restarts, last }, now, true);
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

/// Ends a container that runs; says whether it did.
pub(crate) fn end(status: &mut Value, code: i64, now: Time) -> bool {
    let id = status.get("containerID").cloned().unwrap_or_default();
    let started = status.pointer("/state/running/startedAt").cloned();
    let (Some(fields), Some(started)) = (status.as_object_mut(), started) else {
        return false;
    };
    fields.insert("ready".to_owned(), json!(false));
    fields.insert("started".to_owned(), json!(false));
    let terminated = json!({
        "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
        "startedAt": started, "finishedAt": now.to_string(), "containerID": id,
    });
    fields.insert("state".to_owned(), json!({"terminated": terminated}));
    true
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

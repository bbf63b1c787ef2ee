//! One pod: from placed to running to ended.

use object::time::Time;
use object::{Map, Object, Value};
use serde_json::json;

use crate::controllers::kubelet::companion;
use crate::controllers::kubelet::configuration::{self, Lookup};
use crate::controllers::kubelet::container::{self, Setting, Told};
use crate::controllers::kubelet::ending::KILLED;
use crate::controllers::kubelet::resize::Verdict;
use crate::read;

/// What becomes of a pod.
#[derive(Default)]
pub(crate) struct Step {
    /// Its whole next status, if it differs.
    pub(crate) status: Option<Value>,
    pub(crate) wake: Option<Time>,
    pub(crate) events: Vec<Told>,
}

/// The containers of a pod in their next states.
struct Containers {
    init: Vec<Value>,
    main: Vec<Value>,
    /// Those that were added to look into the pod.
    guests: Vec<Value>,
    /// Everything that must be there before the first container starts is there.
    is_prepared: bool,
    is_initialized: bool,
    wake: Option<Time>,
    told: Vec<Told>,
}

/// The next step of a pod that was not asked to go. `find` looks configuration up.
pub(crate) fn step(setting: &Setting<'_>, find: Lookup<'_>, host: &str, address: &str) -> Step {
    let (pod, now) = (setting.pod, setting.now);
    if read::has_ended(pod) {
        return Step::default();
    }
    let known_start = pod
        .text_at(&["status", "startTime"])
        .and_then(|text| text.parse().ok());
    let began = known_start.unwrap_or(now);
    if let Some(step) = overdue(pod, began, now) {
        return step;
    }
    // What was mounted once stays.
    let unmounted = match read::phase(pod) {
        "Running" => None,
        _ => configuration::unmountable(pod, find),
    };
    let mut containers = advance(setting, began, unmounted.is_none());
    if let (Some((volume, why)), None) = (unmounted, known_start) {
        let message = format!("MountVolume.SetUp failed for volume {volume:?} : {why}");
        containers.told.push((true, "FailedMount", message));
    }
    let phase = phase_of(&containers);
    let mut wake = containers.wake;
    if let Some(deadline) = pod.integer_at(&["spec", "activeDeadlineSeconds"]) {
        let due = began.plus_seconds(deadline);
        wake = Some(wake.map_or(due, |wake| wake.min(due)));
    }
    let mut status = Map::new();
    status.insert("phase".to_owned(), json!(phase));
    if *setting.resize == Verdict::Granted {
        let message = "Pod resize completed".to_owned();
        containers.told.push((false, "ResizeCompleted", message));
    }
    let mut conditions = conditions(pod, &containers, phase, now);
    setting.resize.show(&mut conditions, now);
    status.insert("conditions".to_owned(), conditions.into());
    status.insert("hostIP".to_owned(), json!(host));
    status.insert("hostIPs".to_owned(), json!([{"ip": host}]));
    if containers.is_prepared || pod.text_at(&["status", "podIP"]).is_some() {
        status.insert("podIP".to_owned(), json!(address));
        status.insert("podIPs".to_owned(), json!([{"ip": address}]));
    }
    status.insert("startTime".to_owned(), json!(began.to_string()));
    if !containers.init.is_empty() {
        status.insert("initContainerStatuses".to_owned(), containers.init.into());
    }
    status.insert("containerStatuses".to_owned(), containers.main.into());
    if !containers.guests.is_empty() {
        let guests = containers.guests.into();
        status.insert("ephemeralContainerStatuses".to_owned(), guests);
    }
    // What others wrote stays: the class of service, nominations, resize.
    let known = pod.at(&["status"]).and_then(Value::as_object);
    for (name, value) in known.into_iter().flatten() {
        if !status.contains_key(name) {
            status.insert(name.clone(), value.clone());
        }
    }
    let status = Value::Object(status);
    let differs = pod.at(&["status"]) != Some(&status);
    Step {
        status: differs.then_some(status),
        wake,
        events: containers.told,
    }
}

/// A pod that ran for longer than it may.
fn overdue(pod: &Object, began: Time, now: Time) -> Option<Step> {
    let deadline = pod.integer_at(&["spec", "activeDeadlineSeconds"])?;
    if now < began.plus_seconds(deadline) || pod.text_at(&["status", "startTime"]).is_none() {
        return None;
    }
    let mut status = pod.at(&["status"])?.clone();
    let message = "Pod was active on the node longer than the specified deadline";
    if let Some(fields) = status.as_object_mut() {
        fields.insert("phase".to_owned(), json!("Failed"));
        fields.insert("reason".to_owned(), json!("DeadlineExceeded"));
        fields.insert("message".to_owned(), json!(message));
        for list in read::CONTAINER_STATUSES {
            let containers = fields.get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                container::end(container, KILLED, now);
            }
        }
        let mut conditions = read::conditions(pod);
        for kind in ["ContainersReady", "Ready"] {
            let condition = json!({
                "type": kind, "status": "False", "lastProbeTime": null, "reason": "PodFailed",
            });
            read::put_condition(&mut conditions, condition, now);
        }
        fields.insert("conditions".to_owned(), conditions.into());
    }
    Some(Step {
        status: Some(status),
        wake: None,
        events: vec![(false, "DeadlineExceeded", message.to_owned())],
    })
}

fn advance(setting: &Setting<'_>, began: Time, is_mounted: bool) -> Containers {
    let (pod, behaviour, now) = (setting.pod, setting.behaviour, setting.now);
    let init = read::list(pod, &["spec", "initContainers"]);
    let main = read::list(pod, &["spec", "containers"]);
    let steps = init
        .iter()
        .filter(|container| !is_sidecar(container))
        .count();
    let steps = i64::try_from(steps).unwrap_or(i64::MAX);
    let pulled = began.plus_seconds(behaviour.start);
    let initialized = pulled.plus_seconds(behaviour.init.saturating_mul(steps));
    let mut containers = Containers {
        init: Vec::new(),
        main: Vec::new(),
        guests: Vec::new(),
        is_prepared: is_mounted && now >= pulled,
        is_initialized: is_mounted && now >= initialized,
        wake: None,
        told: Vec::new(),
    };
    initialize(setting, init, pulled, &mut containers);
    if !containers.is_initialized {
        let reason = if init.is_empty() {
            "ContainerCreating"
        } else {
            "PodInitializing"
        };
        containers.main = main
            .iter()
            .map(|container| container::waiting(container, reason, None))
            .collect();
        let next = if now < pulled {
            pulled
        } else {
            now.plus_seconds(behaviour.init.max(1)).min(initialized)
        };
        // What cannot be mounted is looked at again when it may have come.
        containers.wake = is_mounted.then_some(next);
        return containers;
    }
    let known = read::list(pod, &["status", "containerStatuses"]);
    for container in main {
        let status = named(known, container);
        let next = container::next(setting, container, status, initialized);
        let mut next_status = next.status;
        allot(setting, container, status, &mut next_status);
        if status != Some(&next_status) {
            containers.told.extend(next.told);
        }
        containers.main.push(next_status);
        containers.wake = match (containers.wake, next.wake) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    let known = read::list(pod, &["status", "ephemeralContainerStatuses"]);
    for guest in read::list(pod, &["spec", "ephemeralContainers"]) {
        let next = companion::guest(setting, guest, named(known, guest));
        containers.told.extend(next.told);
        containers.guests.push(next.status);
    }
    dismiss_sidecars(init, now, &mut containers);
    containers
}

/// Says what a container that runs has of the node.
fn allot(setting: &Setting<'_>, container: &Value, before: Option<&Value>, status: &mut Value) {
    let resources = setting.resize.resources(container, before);
    let Some(fields) = status.as_object_mut().filter(|fields| {
        let state = fields.get("state");
        state.is_some_and(|state| state.get("running").is_some())
    }) else {
        return;
    };
    let requests = resources.and_then(|resources| resources.get("requests"));
    for (field, value) in [("allocatedResources", requests), ("resources", resources)] {
        match value {
            Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
            None => drop(fields.shift_remove(field)),
        }
    }
}

/// Sidecars stop when nothing is left to stand beside. Asked to stop, they end well.
fn dismiss_sidecars(init: &[Value], now: Time, containers: &mut Containers) {
    if !have_all_ended(&containers.main) {
        return;
    }
    for (container, status) in init.iter().zip(&mut containers.init) {
        if is_sidecar(container) && container::end(status, 0, now) {
            let message = format!("Stopping container {}", read::text(container, "name"));
            containers.told.push((false, "Killing", message));
        }
    }
}

/// The init containers, one after the other, and the sidecars among them.
fn initialize(setting: &Setting<'_>, init: &[Value], pulled: Time, containers: &mut Containers) {
    let known = read::list(setting.pod, &["status", "initContainerStatuses"]);
    let mut turn = pulled;
    for container in init {
        let before = named(known, container);
        if !containers.is_prepared || setting.now < turn {
            let status = container::waiting(container, "PodInitializing", None);
            containers.init.push(status);
            continue;
        }
        if is_sidecar(container) {
            let next = companion::sidecar(setting, container, before, turn);
            containers.told.extend(next.told);
            containers.init.push(next.status);
            continue;
        }
        let from = turn;
        turn = turn.plus_seconds(setting.behaviour.init);
        if before.is_none_or(|known| has_state(known, "waiting")) {
            containers.told.extend(container::starts(container));
        }
        // What is done stays as it was, whatever becomes of its definition.
        let status = match before.filter(|known| has_state(known, "terminated")) {
            Some(known) => known.clone(),
            None => companion::initial(setting, container, from, turn),
        };
        containers.init.push(status);
    }
}

fn is_sidecar(container: &Value) -> bool {
    read::text(container, "restartPolicy") == "Always"
}

/// The status of a container among many.
fn named<'s>(statuses: &'s [Value], container: &Value) -> Option<&'s Value> {
    let name = read::text(container, "name");
    let mut statuses = statuses.iter();
    statuses.find(|status| read::text(status, "name") == name)
}

fn has_state(status: &Value, state: &str) -> bool {
    status
        .get("state")
        .is_some_and(|known| known.get(state).is_some())
}

fn have_all_ended(main: &[Value]) -> bool {
    !main.is_empty() && main.iter().all(|status| has_state(status, "terminated"))
}

fn phase_of(containers: &Containers) -> &'static str {
    if !containers.is_initialized {
        return "Pending";
    }
    let main = &containers.main;
    if have_all_ended(main) {
        let is_good = |status: &Value| {
            status
                .pointer("/state/terminated/exitCode")
                .and_then(Value::as_i64)
                == Some(0)
        };
        return if main.iter().all(is_good) {
            "Succeeded"
        } else {
            "Failed"
        };
    }
    let never_ran = |status: &Value| {
        has_state(status, "waiting") && status.pointer("/lastState/terminated").is_none()
    };
    if main.iter().any(never_ran) {
        return "Pending";
    }
    "Running"
}

fn conditions(pod: &Object, containers: &Containers, phase: &str, now: Time) -> Vec<Value> {
    let mut conditions = read::conditions(pod);
    let mut put = |kind: &str, verdict: Result<(), (&str, String)>| {
        let condition = match verdict {
            Ok(()) => json!({"type": kind, "status": "True", "lastProbeTime": null}),
            Err((reason, message)) if message.is_empty() => {
                json!({"type": kind, "status": "False", "lastProbeTime": null, "reason": reason})
            }
            Err((reason, message)) => json!({
                "type": kind, "status": "False", "lastProbeTime": null, "reason": reason, "message": message,
            }),
        };
        read::put_condition(&mut conditions, condition, now);
    };
    let names = |statuses: &[Value], is_amiss: &dyn Fn(&Value) -> bool| {
        let amiss = statuses.iter().filter(|status| is_amiss(status));
        amiss
            .map(|status| read::text(status, "name").to_owned())
            .collect::<Vec<_>>()
    };
    let is_unready = |status: &Value| status.get("ready").and_then(Value::as_bool) != Some(true);
    put(
        "PodReadyToStartContainers",
        if containers.is_prepared {
            Ok(())
        } else {
            Err(("", String::new()))
        },
    );
    let incomplete = names(&containers.init, &is_unready);
    put(
        "Initialized",
        if containers.is_initialized || incomplete.is_empty() {
            Ok(())
        } else {
            let message = format!(
                "containers with incomplete status: [{}]",
                incomplete.join(" ")
            );
            Err(("ContainersNotInitialized", message))
        },
    );
    let unready = names(&containers.main, &is_unready);
    let verdict = || match phase {
        "Succeeded" => Err(("PodCompleted", String::new())),
        "Failed" => Err(("PodFailed", String::new())),
        _ if unready.is_empty() => Ok(()),
        _ => Err((
            "ContainersNotReady",
            format!("containers with unready status: [{}]", unready.join(" ")),
        )),
    };
    put("ContainersReady", verdict());
    let gates = read::list(pod, &["spec", "readinessGates"]);
    let is_open = |gate: &Value| {
        read::condition(pod, read::text(gate, "conditionType"))
            .is_some_and(|condition| read::text(condition, "status") == "True")
    };
    let closed: Vec<&str> = gates
        .iter()
        .filter(|gate| !is_open(gate))
        .map(|gate| read::text(gate, "conditionType"))
        .collect();
    put(
        "Ready",
        match verdict() {
            Ok(()) if !closed.is_empty() => {
                let message =
                    format!("the status of pod readiness gates {closed:?} is not \"True\"");
                Err(("ReadinessGatesNotReady", message))
            }
            other => other,
        },
    );
    conditions
}

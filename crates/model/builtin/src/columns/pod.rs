//! The cells of a pod: what its phase, conditions and container states come down to.

use std::collections::BTreeSet;

use object::{Value, time::Time};

use super::{Cell, duration, or};
use crate::path;

/// Ready, Status, Restarts, Readiness Gates.
pub(super) fn pod(pod: &Value, now: Time) -> Vec<Cell> {
    let init_containers = path::list(pod, "spec.initContainers");
    let sidecars = init_containers
        .iter()
        .filter(|container| is_sidecar(container))
        .count();
    let total = path::list(pod, "spec.containers").len() + sidecars;

    let mut init = read_init_containers(pod, init_containers);
    let started = init.trouble.is_none() || condition_is_true(pod, "Initialized");
    let mut status = init.trouble.take().unwrap_or_else(|| overall_status(pod));
    let (ready, restarts) = if started {
        let mut restarts = init.sidecar_restarts;
        let ready = read_containers(pod, &mut status, &mut restarts);
        (init.ready + ready, restarts)
    } else {
        (init.ready, init.restarts)
    };
    if path::is_set(pod, "metadata.deletionTimestamp") {
        if path::text(pod, "status.reason") == "NodeLost" {
            status = "Unknown".to_owned();
        } else if !matches!(path::text(pod, "status.phase"), "Succeeded" | "Failed") {
            status = "Terminating".to_owned();
        }
    }
    vec![
        format!("{ready}/{total}").into(),
        status.into(),
        restarts.text(now).into(),
        readiness_gates(pod).into(),
    ]
}

/// How often containers were started again, and when the latest of them had ended.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Time>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self
            .count
            .saturating_add(path::number(container, "restartCount"));
        let ended = path::text(container, "lastState.terminated.finishedAt")
            .parse::<Time>()
            .ok();
        self.last = self.last.max(ended);
    }

    fn text(self, now: Time) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!(
                    "{} ({} ago)",
                    self.count,
                    duration::human_duration(now.seconds_since(last))
                )
            }
            _ => self.count.to_string(),
        }
    }
}

/// What the init containers come down to.
#[derive(Default)]
struct Init {
    /// The status to show while one of them holds the others up.
    trouble: Option<String>,
    /// Sidecars that are ready.
    ready: usize,
    restarts: Restarts,
    sidecar_restarts: Restarts,
}

fn read_init_containers(pod: &Value, specs: &[Value]) -> Init {
    let mut init = Init::default();
    let sidecars: BTreeSet<&str> = specs
        .iter()
        .filter(|spec| is_sidecar(spec))
        .map(|spec| path::text(spec, "name"))
        .collect();
    for (position, container) in path::list(pod, "status.initContainerStatuses")
        .iter()
        .enumerate()
    {
        let name = path::text(container, "name");
        let sidecar = sidecars.contains(name);
        init.restarts.add(container);
        if sidecar {
            init.sidecar_restarts.add(container);
        }
        let terminated = path::at(container, "state.terminated").filter(|state| !state.is_null());
        let waiting = path::text(container, "state.waiting.reason");
        init.trouble = Some(match terminated {
            Some(state) if path::number(state, "exitCode") == 0 => continue,
            _ if sidecar && path::flag(container, "started") => {
                init.ready += usize::from(path::flag(container, "ready"));
                continue;
            }
            Some(state) => format!("Init:{}", end_of(state)),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{position}/{}", specs.len()),
        });
        break;
    }
    init
}

/// Reads the main containers, the first of them last so that its state wins, and counts those that are ready.
fn read_containers(pod: &Value, status: &mut String, restarts: &mut Restarts) -> usize {
    let mut ready = 0;
    for container in path::list(pod, "status.containerStatuses").iter().rev() {
        restarts.add(container);
        let waiting = path::text(container, "state.waiting.reason");
        let terminated = path::at(container, "state.terminated").filter(|state| !state.is_null());
        if !waiting.is_empty() {
            waiting.clone_into(status);
        } else if let Some(state) = terminated {
            *status = end_of(state);
        } else if path::flag(container, "ready") && path::is_set(container, "state.running") {
            ready += 1;
        }
    }
    // One container has ended well, but others still run.
    if status == "Completed" && ready > 0 {
        let now = if condition_is_true(pod, "Ready") {
            "Running"
        } else {
            "NotReady"
        };
        now.clone_into(status);
    }
    ready
}

/// Why a container ended: its reason, or else its signal or exit code.
fn end_of(terminated: &Value) -> String {
    let reason = path::text(terminated, "reason");
    if !reason.is_empty() {
        return reason.to_owned();
    }
    match path::number(terminated, "signal") {
        0 => format!("ExitCode:{}", path::number(terminated, "exitCode")),
        signal => format!("Signal:{signal}"),
    }
}

/// The status before any container is looked at.
fn overall_status(pod: &Value) -> String {
    let gated = path::list(pod, "status.conditions")
        .iter()
        .any(|condition| {
            path::text(condition, "type") == "PodScheduled"
                && path::text(condition, "reason") == "SchedulingGated"
        });
    if gated {
        return "SchedulingGated".to_owned();
    }
    or(
        path::text(pod, "status.reason"),
        path::text(pod, "status.phase"),
    )
    .to_owned()
}

fn readiness_gates(pod: &Value) -> String {
    let gates = path::list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| condition_is_true(pod, path::text(gate, "conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}

fn condition_is_true(pod: &Value, ty: &str) -> bool {
    let conditions = path::list(pod, "status.conditions");
    let found = conditions
        .iter()
        .find(|condition| path::text(condition, "type") == ty);
    found.is_some_and(|condition| path::text(condition, "status") == "True")
}

/// An init container that keeps running beside the others.
fn is_sidecar(container: &Value) -> bool {
    path::text(container, "restartPolicy") == "Always"
}

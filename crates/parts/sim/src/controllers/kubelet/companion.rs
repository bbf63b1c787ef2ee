//! Containers beside those that do a pod's work: before them, with them, and to look into them.

use object::Value;
use object::time::Time;
use serde_json::json;

use crate::controllers::kubelet::container::{
    Next, Past, Setting, end, is_outdated, replaced, replacement, running, starts,
};
use crate::read;

/// The status of a container that was started just now beside those of the pod, to look into it. It is never ready and
/// not started again.
pub(crate) fn guest(setting: &Setting<'_>, container: &Value, known: Option<&Value>) -> Next {
    let started = known.and_then(|known| read::time(known.pointer("/state/running")?, "startedAt"));
    let name = read::text(container, "name");
    let mut next = Next {
        status: known.cloned().unwrap_or_default(),
        wake: None,
        told: Vec::new(),
    };
    match (known, started) {
        (None, _) => {
            next.status = running(setting.pod, container, setting.now, Past::none(), false);
            next.told = starts(container);
        }
        (Some(_), Some(started)) => {
            if let Some(code) = (setting.left)(name, started) {
                end(&mut next.status, code, setting.now);
            }
        }
        (Some(_), None) => {}
    }
    next
}

/// The status of an init container whose turn began and is over at times.
pub(crate) fn initial(setting: &Setting<'_>, container: &Value, from: Time, done: Time) -> Value {
    let mut status = running(setting.pod, container, from, Past::none(), false);
    if setting.now >= done {
        end(&mut status, 0, done);
        if let Some(fields) = status.as_object_mut() {
            // Upstream: an init container is ready once it has done its work.
            fields.insert("ready".to_owned(), json!(true));
        }
    }
    status
}

/// The status of a sidecar whose turn began at a time. It runs from then on and is no trouble.
pub(crate) fn sidecar(
    setting: &Setting<'_>,
    container: &Value,
    known: Option<&Value>,
    turn: Time,
) -> Next {
    let has_begun = |known: &&Value| known.pointer("/state/waiting").is_none();
    let mut next = Next {
        status: known.cloned().unwrap_or_default(),
        wake: None,
        told: Vec::new(),
    };
    let Some(known) = known.filter(has_begun) else {
        next.status = running(setting.pod, container, turn, Past::none(), true);
        next.told = starts(container);
        return next;
    };
    if known.pointer("/state/running").is_some() && is_outdated(known, container) {
        let restarts = known.get("restartCount").and_then(Value::as_i64);
        let past = Past {
            restarts: restarts.unwrap_or(0).saturating_add(1),
            last: replaced(setting, known),
        };
        next.status = running(setting.pod, container, setting.now, past, true);
        next.told = vec![replacement(container)];
        next.told.extend(starts(container));
    }
    next
}

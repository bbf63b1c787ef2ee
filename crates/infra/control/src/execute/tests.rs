//! Plans carried out against a small API.

use std::sync::{Arc, Mutex};

use intent::{EventKind, ObjectRef, Part, Wake};
use object::time::Time;
use runtime::Clock;

use super::*;
use crate::events::Recorder;
use crate::observe::Observer;
use crate::scripted::{Api, status};

const WEB: &str = "/api/v1/namespaces/shop/pods/web";

fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

fn cx(api: &Api) -> Cx {
    let clock = Clock::tied(Time::from_unix_seconds(0));
    Cx::new(api.client(), clock, Recorder::silent(), "tester")
}

fn web(uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": uid}})
}

fn plan(actions: Vec<Action>) -> Plan {
    Plan {
        actions,
        ..Plan::default()
    }
}

/// An API with the pod `web`, and the pod as it was looked at.
fn with_web() -> (Api, Object) {
    let api = Api::default();
    api.put(WEB, web("u1"));
    let looked_at = api.get(WEB).unwrap();
    (api, looked_at)
}

#[tokio::test(start_paused = true)]
async fn actions_are_carried_out_in_order_up_to_the_first_that_fails() {
    let (api, pod) = with_web();
    let mut other = pod.clone();
    other.set(&["metadata", "name"], "other").unwrap();
    let create = |object: &Object| Action::Create {
        resource: pods(),
        object: object.clone(),
    };
    let plan = plan(vec![create(&other), create(&pod), create(&other)]);
    let error = cx(&api).carry_out(&plan).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot create Pod shop/web");
    assert!(error.is_stale() && !error.is_terminal());
    assert_eq!(
        api.log(),
        [
            "POST /api/v1/namespaces/shop/pods",
            "POST /api/v1/namespaces/shop/pods"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_patch_meets_only_the_object_and_state_it_was_made_for() {
    let patch = json!({"status": {"phase": "Running"}});
    let (api, pod) = with_web();
    let action = Action::patch(pods(), &pod, patch, Part::Object);
    cx(&api)
        .carry_out(&plan(vec![action.clone()]))
        .await
        .unwrap();
    assert_eq!(
        api.get(WEB).unwrap().text_at(&["status", "phase"]),
        Some("Running")
    );
    // The state has changed by the patch itself.
    let error = cx(&api).carry_out(&plan(vec![action])).await.unwrap_err();
    assert!(error.is_stale());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_done_when_the_object_is_gone_however_that_came() {
    for (name, now, left) in [
        ("there", Some("u1"), false),
        ("gone", None, false),
        ("replaced", Some("u2"), true),
    ] {
        let (api, pod) = with_web();
        match now {
            Some(uid) => api.put(WEB, web(uid)),
            None => {
                let gone = Action::delete(pods(), &pod, "first");
                cx(&api).carry_out(&plan(vec![gone])).await.unwrap();
            }
        }
        let action = Action::delete(pods(), &pod, "its owner is gone");
        cx(&api).carry_out(&plan(vec![action])).await.unwrap();
        assert_eq!(api.get(WEB).is_some(), left, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_told_apart() {
    for (code, reason, terminal, stale) in [
        (422, "Invalid", true, false),
        (400, "BadRequest", true, false),
        (403, "Forbidden", false, false),
        (409, "Conflict", false, true),
        (503, "ServiceUnavailable", false, false),
    ] {
        let (api, pod) = with_web();
        api.refuse(Some(status(code, reason)));
        let action = Action::Replace {
            resource: pods(),
            object: pod,
            part: Part::Status,
        };
        let error = cx(&api).carry_out(&plan(vec![action])).await.unwrap_err();
        assert_eq!(
            (error.is_terminal(), error.is_stale()),
            (terminal, stale),
            "{reason}"
        );
    }
}

/// Writes down what it is told.
#[derive(Default)]
struct Journal {
    lines: Mutex<Vec<String>>,
}

impl Observer for Journal {
    fn acted(&self, action: &Action, failure: Option<&CarryOutError>) {
        let line = format!("{} {} {}", action.verb(), action.key(), failure.is_some());
        self.lines.lock().unwrap().push(line);
    }

    fn wants_bodies(&self) -> bool {
        true
    }

    fn deleting(&self, action: &Action, body: Option<&Object>) {
        let Action::Delete { cause, .. } = action else {
            return;
        };
        let uid = body.map_or("nothing", |body| body.uid());
        self.lines.lock().unwrap().push(format!("{cause}: {uid}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_journaled_with_its_body_and_cause() {
    let (api, pod) = with_web();
    let journal = Arc::new(Journal::default());
    let cx = cx(&api).observed_by(Arc::clone(&journal) as Arc<dyn Observer>);
    let action = Action::delete(pods(), &pod, "no longer wanted");
    cx.carry_out(&plan(vec![action])).await.unwrap();
    assert_eq!(
        *journal.lines.lock().unwrap(),
        ["no longer wanted: u1", "delete shop/web false"]
    );
}

#[tokio::test(start_paused = true)]
async fn events_are_written_beside_the_plan_and_counted() {
    let (api, pod) = with_web();
    let tasks = runtime::Tasks::new();
    let clock = Clock::tied(Time::from_unix_seconds(1_767_225_600));
    let sink = crate::events::EventSink {
        client: api.client(),
        component: "tester",
        namespace: "default",
    };
    let events = Recorder::start(sink, clock.clone(), &tasks.spawner());
    let cx = Cx::new(api.client(), clock, events, "tester");
    let report = Action::report(
        ObjectRef::of(&pod),
        EventKind::Warning,
        "Failed",
        "it failed",
    );
    let plan = Plan {
        actions: vec![report],
        problems: Vec::new(),
        wake: Wake::OnChange,
    };
    for _ in 0..3 {
        cx.carry_out(&plan).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    let found = api.below("/api/v1/namespaces/shop/events/");
    let [event] = found.as_slice() else {
        panic!("expected one event, found {}", found.len());
    };
    assert_eq!(event.integer_at(&["count"]), Some(3));
    assert_eq!(
        event.text_at(&["lastTimestamp"]),
        Some("2026-01-01T00:00:02Z")
    );
    assert_eq!(
        event.text_at(&["firstTimestamp"]),
        Some("2026-01-01T00:00:00Z")
    );
    assert_eq!(event.text_at(&["type"]), Some("Warning"));
    assert_eq!(event.text_at(&["involvedObject", "uid"]), Some("u1"));
    assert_eq!(event.text_at(&["source", "component"]), Some("tester"));
}

#[tokio::test(start_paused = true)]
async fn several_who_delete_one_object_leave_one_event_with_the_cause_of_the_first() {
    let (api, pod) = with_web();
    let tasks = runtime::Tasks::new();
    let clock = Clock::tied(Time::from_unix_seconds(1_767_225_600));
    let about = ObjectRef::of(&pod);
    for (component, cause) in [
        ("controller", "its template is gone"),
        ("collector", "its owner is gone"),
    ] {
        let sink = crate::events::EventSink {
            client: api.client(),
            component,
            namespace: "default",
        };
        let events = Recorder::start(sink, clock.clone(), &tasks.spawner());
        events.record(&about, EventKind::Normal, DELETED, cause);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    let found = api.below("/api/v1/namespaces/shop/events/");
    let told: Vec<_> = found
        .iter()
        .map(|event| event.text_at(&["message"]))
        .collect();
    assert_eq!(told, [Some("its template is gone")]);
}

#[test]
fn preconditions_join_what_the_patch_says_of_the_metadata() {
    let patch = json!({"metadata": {"labels": {"a": null}}});
    assert_eq!(
        with_preconditions(&patch, Some("u"), Some("7")),
        json!({"metadata": {"labels": {"a": null}, "uid": "u", "resourceVersion": "7"}})
    );
    assert_eq!(with_preconditions(&json!({}), None, None), json!({}));
    assert_eq!(with_preconditions(&json!([1]), Some("u"), None), json!([1]));
}

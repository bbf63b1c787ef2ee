//! The loop, in the test's own time.

use std::collections::BTreeMap;
use std::sync::Mutex;

use object::time::Time;
use runtime::{Clock, Tasks};

use super::*;
use crate::aside;
use crate::events::Recorder;
use crate::pressure::Pressure;
use crate::scripted::Api;

/// Does what the key says, and notes when.
#[derive(Clone, Default)]
struct Script {
    log: Arc<Mutex<Vec<(String, u64)>>>,
    tries: Arc<Mutex<BTreeMap<String, u32>>>,
    origin: Option<Instant>,
}

impl Reconcile for Script {
    type Key = String;

    async fn reconcile(&self, key: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let passed = self.origin.map(|origin| origin.elapsed().as_millis());
        let passed = u64::try_from(passed.unwrap_or_default()).unwrap();
        self.log.lock().unwrap().push((key.clone(), passed));
        let tries = {
            let mut tries = self.tries.lock().unwrap();
            let tries = tries.entry(key.clone()).or_default();
            *tries += 1;
            *tries
        };
        match key.as_str() {
            "panics twice" if tries < 3 => panic!("an invariant broke"),
            "fails twice" if tries < 3 => Err(ReconcileError::Failed {
                doing: "cannot".to_owned(),
                source: "trouble".into(),
            }),
            "never will" => Err(ReconcileError::Terminal("bad input".to_owned())),
            "is refused" if tries < 3 => {
                let refusal = client::Refusal {
                    request: "POST /x".to_owned(),
                    code: 422,
                    reason: "Invalid".to_owned(),
                    message: "not now".to_owned(),
                    details: object::Value::Null,
                    retry_after: None,
                };
                Err(CallError::Refused(Box::new(refusal)).into())
            }
            "hangs once" if tries == 1 => std::future::pending().await,
            "waits once" if tries == 1 => aside::wait(std::future::pending()).await,
            "asks in vain" if tries < 4 => {
                let answer = Duration::from_secs(1);
                aside::wait(tokio::time::sleep(answer)).await;
                aside::ask_again_within(answer * 2, answer * 3);
                Err(ReconcileError::Failed {
                    doing: "cannot".to_owned(),
                    source: "nobody answers".into(),
                })
            }
            "in a minute" if tries == 1 => Ok(Wake::After(Duration::from_secs(60))),
            "at the hour" if tries == 1 => Ok(Wake::At(cx.now().plus_seconds(3_600))),
            _ => Ok(Wake::OnChange),
        }
    }
}

/// Runs the keys for an hour and more; when each was looked at, in milliseconds.
async fn looks(keys: &[&str]) -> Vec<(String, u64)> {
    let api = Api::default();
    let tasks = Tasks::new();
    let clock = Clock::tied(Time::from_unix_seconds(0));
    let script = Script {
        origin: Some(Instant::now()),
        ..Script::default()
    };
    let cx = Cx::new(api.client(), clock, Recorder::silent(), "tester");
    let running = Controller::new("test", script.clone())
        .workers(2)
        .run(&tasks.spawner(), cx);
    for key in keys {
        running.queue.add((*key).to_owned());
    }
    let hours = tokio::time::sleep(Duration::from_secs(7_200));
    let outcome = tasks.run_until(hours, Duration::from_secs(5)).await;
    assert_eq!(outcome, runtime::Outcome::Clean);
    let log = script.log.lock().unwrap();
    log.clone()
}

#[tokio::test(start_paused = true)]
async fn what_is_looked_at_is_counted_until_the_controller_ends() {
    let tasks = Tasks::new();
    let clock = Clock::tied(Time::from_unix_seconds(0));
    let metrics = Registry::default();
    let cx = Cx::new(Api::default().client(), clock, Recorder::silent(), "tester")
        .measured_by(metrics.clone());
    let running = Controller::new("test", Script::default())
        .workers(3)
        .run(&tasks.spawner(), cx);
    for key in [
        "is well",
        "fails twice",
        "never will",
        "panics twice",
        "in a minute",
    ] {
        running.queue.add(key.to_owned());
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    let text = metrics.text();
    for line in [
        // One that was well at once, and two that were in the end.
        "controller_runtime_reconcile_total{controller=\"test\",result=\"success\"} 3",
        "controller_runtime_reconcile_total{controller=\"test\",result=\"requeue_after\"} 1",
        "controller_runtime_reconcile_total{controller=\"test\",result=\"error\"} 5",
        "controller_runtime_reconcile_errors_total{controller=\"test\"} 5",
        "controller_runtime_reconcile_panics_total{controller=\"test\"} 2",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"test\"} 1",
        "controller_runtime_reconcile_time_seconds_count{controller=\"test\"} 9",
        "controller_runtime_max_concurrent_reconciles{controller=\"test\"} 3",
        "controller_runtime_active_workers{controller=\"test\"} 0",
        "workqueue_depth{name=\"test\",controller=\"test\"} 0",
        // In the test's time nobody waits for a worker, nor do workers take any.
        "workqueue_queue_duration_seconds_sum{name=\"test\",controller=\"test\"} 0",
        "workqueue_queue_duration_seconds_count{name=\"test\",controller=\"test\"} 9",
        "workqueue_work_duration_seconds_bucket{name=\"test\",controller=\"test\",le=\"0.00000001\"} 9",
    ] {
        assert!(text.lines().any(|have| have == line), "{line}\n{text}");
    }
    running.queue.close();
    assert!(!metrics.text().contains("workqueue_depth"));
    drop(tasks);
}

async fn check(key: &str, times: &[u64]) {
    let found: Vec<u64> = looks(&[key]).await.into_iter().map(|(_, at)| at).collect();
    assert_eq!(found, times, "{key}");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_looked_at_again_when_it_asks_for_it() {
    check("is well", &[0]).await;
    check("in a minute", &[0, 60_000]).await;
    check("at the hour", &[0, 3_600_000]).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_fails_waits_longer_each_time_and_a_hopeless_one_for_a_change() {
    check("fails twice", &[0, 5, 15]).await;
    check("never will", &[0]).await;
    // Who refused it may think otherwise one day.
    check("is refused", &[0, 300_000, 600_000]).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_its_key_a_backoff_and_nobody_else_anything() {
    check("panics twice", &[0, 5, 15]).await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_is_cut_off() {
    check("hangs once", &[0, 300_005]).await;
}

#[tokio::test(start_paused = true)]
async fn one_stuck_key_does_not_hold_the_others_up() {
    let looks = looks(&["hangs once", "a", "b", "c"]).await;
    let quick = looks.iter().filter(|(key, at)| key.len() == 1 && *at == 0);
    assert_eq!(quick.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_somebody_outside_needs_no_worker() {
    let keys: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let all: Vec<&str> = ["waits once", "hangs once", "asks in vain"]
        .into_iter()
        .chain(keys.iter().map(String::as_str))
        .collect();
    let looks = looks(&all).await;
    let quick = looks.iter().filter(|(_, at)| *at == 0);
    assert_eq!(quick.count(), all.len());
    let of = |wanted: &str| {
        let at = looks.iter().filter(|(key, _)| key == wanted);
        at.map(|(_, at)| *at).collect::<Vec<_>>()
    };
    assert_eq!(of("asks in vain"), [0, 3_000, 6_000, 9_000]);
    // It is cut off as any other.
    assert_eq!(of("waits once"), [0, 300_005]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_somebody_in_the_background_lets_others_have_their_turn() {
    let api = Api::default();
    let tasks = Tasks::new();
    let script = Script {
        origin: Some(Instant::now()),
        ..Script::default()
    };
    let clock = Clock::tied(Time::from_unix_seconds(0));
    let cx = Cx::new(api.client(), clock, Recorder::silent(), "tester")
        .pressed_by(Pressure::for_looks(1));
    let controllers = ["stuck", "well"].map(|name| {
        let controller = Controller::new(name, script.clone());
        controller.run(&tasks.spawner(), cx.clone()).queue
    });
    runtime::in_the_background(0, || controllers[0].add("hangs once".to_owned()));
    runtime::in_the_background(1, || controllers[1].add("a".to_owned()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let log = script.log.lock().unwrap().clone();
    let turn = LONGEST_TURN.as_millis() as u64;
    assert_eq!(log, [("hangs once".to_owned(), 0), ("a".to_owned(), turn)]);
    drop(tasks);
}

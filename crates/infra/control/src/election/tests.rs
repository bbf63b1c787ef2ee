//! Candidates in the test's own time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use object::time::Time;
use runtime::Tasks;

use super::*;
use crate::scripted::Api;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/system/leases/boss";

/// A candidate with tasks of its own, as in a process of its own.
struct Process {
    tasks: Tasks,
    leads: Arc<Mutex<bool>>,
    metrics: Registry,
}

impl Process {
    fn start(api: &Api, name: &str, clock: &Clock, leaders: &Arc<AtomicUsize>) -> Self {
        let tasks = Tasks::new();
        let leads = Arc::new(Mutex::new(false));
        let metrics = Registry::default();
        let election = Election::new(ObjectKey::namespaced("system", "boss"), name)
            .measured_by(metrics.clone());
        let (flag, leaders) = (Arc::clone(&leads), Arc::clone(leaders));
        election.run(
            api.client(),
            clock.clone(),
            &tasks.spawner(),
            move |branch| {
                let (flag, leaders) = (Arc::clone(&flag), Arc::clone(&leaders));
                branch.spawn("lead", |stop| async move {
                    *flag.lock().unwrap() = true;
                    // Invariant: never two at once.
                    assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0);
                    stop.cancelled().await;
                    leaders.fetch_sub(1, Ordering::SeqCst);
                    *flag.lock().unwrap() = false;
                });
            },
        );
        Self {
            tasks,
            leads,
            metrics,
        }
    }

    fn leads(&self) -> bool {
        let leads = *self.leads.lock().unwrap();
        let status = format!(
            "leader_election_master_status{{name=\"boss\"}} {}",
            u8::from(leads)
        );
        let text = self.metrics.text();
        assert!(text.contains(&status), "{text}");
        leads
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn clock() -> Clock {
    Clock::tied(Time::from_unix_seconds(1_767_225_600))
}

fn holder(api: &Api) -> String {
    let lease = api.get(LEASE).unwrap();
    lease
        .text_at(&["spec", "holderIdentity"])
        .unwrap()
        .to_owned()
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_takes_over_at_once_when_it_stops() {
    let (api, clock, leaders) = (Api::default(), clock(), Arc::default());
    let a = Process::start(&api, "a", &clock, &leaders);
    pass(1).await;
    let b = Process::start(&api, "b", &clock, &leaders);
    pass(60).await;
    assert!(a.leads() && !b.leads());
    assert_eq!(holder(&api), "a");
    let stopped = a
        .tasks
        .run_until(std::future::ready(()), Duration::from_secs(5));
    stopped.await;
    assert_eq!(holder(&api), "");
    pass(4).await;
    assert!(b.leads());
    let lease = api.get(LEASE).unwrap();
    assert_eq!(lease.integer_at(&["spec", "leaseTransitions"]), Some(1));
    assert_eq!(
        lease.integer_at(&["spec", "leaseDurationSeconds"]),
        Some(15)
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_died_is_succeeded_after_its_lease() {
    let (api, clock, leaders) = (Api::default(), clock(), Arc::new(AtomicUsize::new(0)));
    let a = Process::start(&api, "a", &clock, &leaders);
    pass(10).await;
    let b = Process::start(&api, "b", &clock, &leaders);
    pass(10).await;
    assert!(a.leads());
    drop(a);
    leaders.store(0, Ordering::SeqCst);
    pass(11).await;
    assert!(!b.leads());
    pass(8).await;
    assert!(b.leads());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_anybody_may_follow() {
    let (api, clock, leaders) = (Api::default(), clock(), Arc::default());
    let a = Process::start(&api, "a", &clock, &leaders);
    pass(20).await;
    assert!(a.leads());
    for trouble in ["hang", "refuse"] {
        match trouble {
            "hang" => api.hang(true),
            _ => api.refuse(Some(crate::scripted::status(503, "ServiceUnavailable"))),
        }
        pass(9).await;
        assert!(a.leads(), "a moment of trouble is borne");
        pass(5).await;
        assert!(!a.leads(), "it stops within its deadline, before 15 s");
        api.hang(false);
        api.refuse(None);
        // What hung is cut off by the client's own deadline.
        pass(40).await;
        assert!(a.leads(), "and stands again");
    }
}

//! A burst of Deployments to two members, with stand-ins for the scheduler and the members: how long until every template
//! has works in both and shows their status. `cargo bench -p karavel-controllers --bench burst -- 1000`.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark tells its figures to whoever runs it"
)]

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the plane of the tests, of which a burst needs a part"
)]
#[path = "../tests/flow/plane.rs"]
mod plane;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use api::work::{v1alpha1::Work, v1alpha2::ResourceBinding};
use client::{Cache, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Recorder, Wake};
use intent::{Action, Part, Plan};
use object::{Object, ObjectKey};
use serde_json::json;
use tokio::sync::Notify;

use crate::plane::{Plane, deployments, of};

/// Chooses both members for every binding that has none.
struct Scheduler {
    bindings: Cache,
}

impl Reconcile for Scheduler {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(binding) = self.bindings.get(key) else {
            return Ok(Wake::OnChange);
        };
        if binding.at(&["spec", "clusters"]).is_none() {
            let mut plan = Plan::default();
            let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1}]);
            plan.push(change(
                &binding,
                json!({"spec": {"clusters": clusters}}),
                Part::Object,
            ));
            let now = cx.now();
            plan.push(change(
                &binding,
                json!({"status": {"lastScheduledTime": now}}),
                Part::Status,
            ));
            cx.carry_out(&plan).await?;
        }
        Ok(Wake::OnChange)
    }
}

/// Reports every work as applied and healthy.
struct Member {
    works: Cache,
}

impl Reconcile for Member {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(work) = self.works.get(key) else {
            return Ok(Wake::OnChange);
        };
        if work.at(&["status"]).is_none() {
            let now = cx.now();
            let patch = json!({"status": {
                "conditions": [{"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "", "lastTransitionTime": now}],
                "manifestStatuses": [{"identifier": {"ordinal": 0, "version": "v1", "kind": "Deployment", "resource": "deployments", "name": "web"}, "status": {"replicas": 1, "readyReplicas": 1}, "health": "Healthy"}],
            }});
            let mut plan = Plan::default();
            plan.push(change(&work, patch, Part::Status));
            cx.carry_out(&plan).await?;
        }
        Ok(Wake::OnChange)
    }
}

fn change(object: &Object, patch: serde_json::Value, part: Part) -> Action {
    let resource = match object.kind() {
        "Work" => of::<Work>(),
        _ => of::<ResourceBinding>(),
    };
    Action::Patch {
        resource,
        key: object.key(),
        uid: Some(object.uid().to_owned()),
        revision: None,
        patch,
        part,
    }
}

fn main() {
    let number = std::env::args()
        .filter_map(|argument| argument.parse::<usize>().ok())
        .next()
        .unwrap_or(100);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(burst(number));
}

async fn burst(number: usize) {
    let plane = Plane::new().await;
    let spawner = plane.tasks.spawner();
    let cx = Cx::new(
        plane.client.clone(),
        plane.clock.clone(),
        Recorder::silent(),
        "bench",
    );
    let bindings = plane.caches.follow(&of::<ResourceBinding>(), Scope::all());
    Controller::new(
        "scheduler",
        Scheduler {
            bindings: bindings.clone(),
        },
    )
    .workers(4)
    .watch(&bindings, |change| Some(change.key()))
    .run(&spawner, cx.clone());
    let works = plane.caches.follow(&of::<Work>(), Scope::all());
    Controller::new(
        "member",
        Member {
            works: works.clone(),
        },
    )
    .workers(4)
    .watch(&works, |change| Some(change.key()))
    .run(&spawner, cx);
    plane
        .create("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: pp, namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: id}}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {}}}")
        .await;
    plane.settle().await;

    let templates = plane.caches.follow(&deployments(), Scope::all());
    let is_ready = |web: &Arc<Object>| web.integer_at(&["status", "readyReplicas"]) == Some(2);
    let (ready, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counted, told) = (Arc::clone(&ready), Arc::clone(&done));
    let _watch = templates.on_change(move |change| {
        let was_ready = change.before.as_ref().is_some_and(is_ready);
        if !was_ready && change.after.as_ref().is_some_and(is_ready) {
            counted.fetch_add(1, Ordering::Relaxed);
            told.notify_one();
        }
    });
    let before = plane.revision().await;
    let start = Instant::now();
    for n in 0..number {
        plane
            .create(&format!("{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web-{n}, namespace: test}}, spec: {{replicas: 2, selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: web, image: 'nginx:1'}}]}}}}}}}}"))
            .await;
    }
    let created = start.elapsed();
    while ready.load(Ordering::Relaxed) < number {
        done.notified().await;
    }
    let took = start.elapsed();
    plane.settle().await;
    let writes = plane.revision().await - before;
    println!(
        "{number} Deployments to 2 members: created in {created:.2?}, status on every template after {took:.2?}; {writes} writes"
    );
}

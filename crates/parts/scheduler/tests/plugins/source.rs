//! Who the scheduler's events come from.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use api::registry::{CLUSTER, RESOURCE_BINDING};
use bytes::Bytes;
use client::Client;
use control::{EventSink, Recorder};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use karavel_scheduler::Settings;
use object::Value;
use serde_json::json;

use crate::world::{World, binding, cluster, start};

/// An API that takes whatever it is sent, and keeps it.
#[derive(Clone, Default)]
struct Taking(Arc<Mutex<Vec<Value>>>);

impl tower_service::Service<Request<client::Body>> for Taking {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let taken = self.clone();
        Box::pin(async move {
            let body = request.into_body().collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            let value = serde_json::from_slice(&body).unwrap_or_default();
            taken.0.lock().unwrap().push(value);
            Ok(Response::new(Full::new(body)))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn events_come_from_the_scheduler_by_its_name() {
    for name in ["default-scheduler", "mine"] {
        let mut world = World::new(start()).await;
        let taking = Taking::default();
        let sink = EventSink {
            client: Client::in_process(taking.clone()),
            component: "karmada-scheduler",
            namespace: "default",
        };
        world.cx.events = Recorder::start(sink, start(), &world.tasks.spawner());
        world.create(&CLUSTER, cluster("m1", 10)).await;
        world.report("m1", cluster("m1", 10)).await;
        let mut web = binding("web", 1, &json!({}));
        web.set(&["spec", "schedulerName"], json!(name)).unwrap();
        world.schedule(Settings {
            name: name.to_owned(),
            ..Settings::default()
        });
        world.create(&RESOURCE_BINDING, web).await;
        world.expect("shop/web", "m1=1 Success").await;
        for _ in 0..10_000 {
            if taking.0.lock().unwrap().len() >= 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let events = taking.0.lock().unwrap().clone();
        assert_eq!(
            events.len(),
            2,
            "one on the binding and one on its template"
        );
        for event in events {
            assert_eq!(event["source"]["component"], name, "{event}");
            assert_eq!(event["reportingComponent"], name, "{event}");
        }
    }
}

//! Requests counted and timed, under the names Kubernetes gives these figures.

use std::sync::Weak;

use futures_util::StreamExt;
use http::Response;
use telemetry::metrics::{Metric, Registry};
use tokio::time::Instant;

use crate::body::Body;
use crate::cache::Cache;
use crate::call::Call;
use crate::status::Status;
use crate::target::Verb;

/// A request while it is answered.
pub(crate) struct Measured {
    registry: Registry,
    started: Instant,
    labels: [Box<str>; 8],
    /// Counted as present until this goes.
    presence: Presence,
}

/// Lowers a gauge when the request it stands for is over, however it ends.
struct Presence {
    registry: Registry,
    metric: Metric,
    labels: Vec<Box<str>>,
}

impl Measured {
    /// Begins to measure a call.
    pub(crate) fn begin(registry: &Registry, call: &Call) -> Self {
        let target = &call.target;
        let scope = match (target.name.as_str(), target.namespace.as_str(), call.verb) {
            (_, _, Verb::Create) => "resource",
            ("", "", _) => "cluster",
            ("", _, _) => "namespace",
            _ => "resource",
        };
        let verb = match call.verb {
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch if call.applies => "APPLY",
            Verb::Patch => "PATCH",
            Verb::Get => "GET",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Delete => "DELETE",
            Verb::DeleteCollection => "DELETECOLLECTION",
        };
        let dry_run = if call.options.dry_run { "All" } else { "" };
        let labels = [
            "apiserver",
            dry_run,
            &target.group,
            &target.resource,
            scope,
            &target.subresource,
            verb,
            &target.version,
        ]
        .map(Box::from);
        let presence = match call.verb {
            Verb::Watch => Presence::of(
                registry,
                Metric::ApiserverLongrunningRequests,
                labels.to_vec(),
            ),
            verb => {
                let reads = matches!(verb, Verb::Get | Verb::List);
                let kind = if reads { "readOnly" } else { "mutating" };
                Presence::of(
                    registry,
                    Metric::ApiserverCurrentInflightRequests,
                    vec![kind.into()],
                )
            }
        };
        Self {
            registry: registry.clone(),
            started: Instant::now(),
            labels,
            presence,
        }
    }

    /// Counts what came of the call. A watch stays present as long as its stream lasts.
    pub(crate) fn finish(
        self,
        outcome: Result<Response<Body>, Status>,
    ) -> Result<Response<Body>, Status> {
        let code = match &outcome {
            Ok(response) => response.status().as_u16(),
            Err(status) => status.code,
        };
        let code = code.to_string();
        let mut labels: Vec<&str> = self.labels.iter().map(|label| &**label).collect();
        let took = self.started.elapsed();
        self.registry
            .observe(Metric::ApiserverRequestDurationSeconds, &labels, took);
        labels.push(&code);
        self.registry
            .add(Metric::ApiserverRequestTotal, &labels, 1.0);
        outcome.map(|response| self.presence.stay_with(response))
    }
}

impl Presence {
    fn of(registry: &Registry, metric: Metric, labels: Vec<Box<str>>) -> Self {
        let presence = Self {
            registry: registry.clone(),
            metric,
            labels,
        };
        presence.add(1.0);
        presence
    }

    fn add(&self, amount: f64) {
        let labels: Vec<&str> = self.labels.iter().map(|label| &**label).collect();
        self.registry.add(self.metric, &labels, amount);
    }

    fn stay_with(self, response: Response<Body>) -> Response<Body> {
        if self.metric != Metric::ApiserverLongrunningRequests {
            return response;
        }
        response.map(|body| match body {
            Body::Stream(stream) => Body::Stream(Box::pin(stream.inspect(move |_| {
                let _stays = &self;
            }))),
            whole => whole,
        })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.add(-1.0);
    }
}

/// Has the number of objects of each resource read whenever the registry is.
pub(crate) fn count_objects(registry: &Registry, cache: Weak<Cache>) {
    registry.on_reading(move |registry| {
        let Some(cache) = cache.upgrade() else {
            return;
        };
        for (name, collection) in cache.collections() {
            // Collections are named group first, as in the store; these figures the other way round.
            let (group, resource) = name.split_once('/').unwrap_or(("", &name));
            let resource = match group {
                "" | "core" => resource.to_owned(),
                group => format!("{resource}.{group}"),
            };
            let count = collection.snapshot().objects.len();
            registry.set(Metric::ApiserverStorageObjects, &[&resource], count as f64);
        }
    });
}

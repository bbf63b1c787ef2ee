//! A sign of life for a cluster that is reported on from beside it.
//!
//! Writes: the Lease of the cluster's name in `karmada-cluster`.
//! Keeps:  the lease begins when the cluster is ready for the first time, and is renewed whatever happens afterwards.

use std::time::Duration;

use api::names::CLUSTER_NAMESPACE;
use client::{Cache, CallError, Client, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey};
use runtime::{Backoff, CancellationToken, Clock};
use telemetry::chain;

use crate::health;
use crate::resources;

/// The field manager of leases.
const MANAGER: &str = "karavel-agent";

/// How often a sign of life is given.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    /// How long one sign of life lasts. Upstream: `--cluster-lease-duration`.
    pub duration: Duration,
    /// The part of it after which the next one is given. Upstream: `--cluster-lease-renew-interval-fraction`.
    pub renew_fraction: f64,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(40),
            renew_fraction: 0.25,
        }
    }
}

/// Renews the lease of one cluster until it is stopped.
pub(crate) struct Renewal {
    pub(crate) cluster: String,
    pub(crate) clusters: Cache,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) heartbeat: Heartbeat,
}

impl Renewal {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let interval = self
            .heartbeat
            .duration
            .mul_f64(self.heartbeat.renew_fraction.clamp(0.01, 1.0));
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(7), 1);
        let mut has_begun = false;
        loop {
            has_begun = has_begun || self.is_ready();
            let wait = if has_begun {
                match self.renew().await {
                    Ok(()) => {
                        backoff.succeed();
                        interval
                    }
                    Err(error) => {
                        tracing::warn!(cluster = self.cluster, error = %chain(&error), "cannot renew the lease");
                        backoff.fail()
                    }
                }
            } else {
                Duration::from_secs(1)
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn is_ready(&self) -> bool {
        let cluster = self
            .clusters
            .get(&ObjectKey::cluster(self.cluster.as_str()));
        cluster.is_some_and(|cluster| health::is_ready(&cluster))
    }

    async fn renew(&self) -> Result<(), CallError> {
        let Some(cluster) = self
            .clusters
            .get(&ObjectKey::cluster(self.cluster.as_str()))
        else {
            return Ok(());
        };
        let key = ObjectKey::namespaced(CLUSTER_NAMESPACE, self.cluster.as_str());
        let mut lease = Object::new(&resources::leases().kind, &key);
        let seconds = self.heartbeat.duration.as_secs();
        let parts = [
            (
                ["metadata", "ownerReferences"],
                serde_json::json!([{
                    "apiVersion": cluster.api_version(), "kind": cluster.kind(),
                    "name": cluster.name(), "uid": cluster.uid(),
                }]),
            ),
            (["spec", "holderIdentity"], self.cluster.as_str().into()),
            (["spec", "leaseDurationSeconds"], seconds.into()),
            (
                ["spec", "renewTime"],
                self.clock.now_micros().to_string().into(),
            ),
        ];
        for (path, value) in parts {
            lease
                .set(&path, value)
                .expect("invariant: a new object has nothing in the way");
        }
        // Applied: the first makes it, the others renew it, and neither needs to know which it is.
        let options = WriteOptions::by(MANAGER);
        self.client
            .apply(&resources::leases(), &lease, true, &Part::Object, &options)
            .await
            .map(drop)
    }
}

//! Estimators in the process of the control plane: a ledger for every member it reaches itself.

use std::{fmt, sync::Arc};

use api::cluster::{Cluster, sync_mode};
use client::{Caches, Client, Scope};
use estimator::{Connecting, Ledgers, Way};
use member::connect::{self, Connect};
use object::{Object, ResourceType};
use protocol::Question;
use runtime::{Clock, Spawner};
use scheduler::estimator::{Answering, Nearby};
use telemetry::metrics::Registry;

/// Keeps ledgers of all members in push mode, and tells what they count.
pub(crate) fn nearby(
    settings: estimator::Settings,
    caches: &Caches,
    client: Client,
    connector: Arc<dyn Connect>,
    clock: Clock,
    metrics: &Registry,
    spawner: &Spawner,
) -> Arc<dyn Nearby> {
    let clusters = ResourceType::from(&api::registry::CLUSTER);
    let clusters = caches.follow(&clusters, Scope::all());
    let way = Arc::new(Reach { client, connector });
    let ledgers = Ledgers::keep(&clusters, settings, way, clock, spawner);
    let counts = ledgers.metrics();
    metrics.include("estimator", move || counts.render());
    Arc::new(Near(ledgers))
}

/// Reaches members as the loops that face them do.
struct Reach {
    client: Client,
    connector: Arc<dyn Connect>,
}

impl Way for Reach {
    fn reach(&self, cluster: &Arc<Object>) -> Option<Connecting> {
        let cluster: Cluster = cluster.read().ok()?;
        if cluster.spec.sync_mode != sync_mode::PUSH {
            return None;
        }
        let (client, connector) = (self.client.clone(), Arc::clone(&self.connector));
        Some(Box::pin(async move {
            let secrets = ResourceType::namespaced("", "v1", "Secret", "secrets");
            let secret = match &cluster.spec.secret_ref {
                None => None,
                Some(reference) => {
                    let key = connect::secret_key(reference);
                    Some(client.get(&secrets, &key).await?)
                }
            };
            let link = connect::link(&cluster, secret.as_ref())?;
            connector
                .connect(&cluster.metadata.name, &link.endpoint)
                .await
        }))
    }
}

/// The ledgers as the scheduler asks them.
struct Near(Ledgers);

impl Nearby for Near {
    fn knows(&self, cluster: &str) -> bool {
        self.0.has(cluster)
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Option<Answering<'a>> {
        if !self.0.has(question.cluster()) {
            return None;
        }
        let ledger = self.0.ledger(question.cluster());
        Some(Box::pin(async move {
            let ledger = ledger.ok_or_else(|| "the member is not reached yet".to_owned())?;
            let answered = ledger.answer(question).await;
            answered.map_err(|refusal| telemetry::chain(&refusal).to_string())
        }))
    }
}

impl fmt::Debug for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Near")
    }
}

//! Asking the estimators that stand beside clusters how much fits.
//!
//! Each member may have an estimator that sees its nodes. They are found by name, spoken to by the reference's gRPC
//! protocol, and asked all at once before a decision. One that fails or does not answer in time costs only its own
//! cluster's answer, and is left alone for a while, so that it holds no further decision up.

mod message;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{CallError, Client};
use estimate::{Answer, Answers};
use futures_util::{StreamExt as _, stream};
use http::uri::PathAndQuery;
use object::{ObjectKey, ResourceType, Value};
use schedule::assume::ByCluster;
use telemetry::chain;
use tokio::time::{Instant, timeout_at};
use tonic::{
    Request,
    client::Grpc,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tonic_prost::ProstCodec;
use tracing::debug;

use self::message::{Count, MaxReplicasRequest, MaxSetsRequest, path};
use crate::bound::Bound;

/// What answers of estimators are called in a diagnosis.
const NAME: &str = "scheduler-estimator";

/// How many are asked at once for one decision.
const AT_ONCE: usize = 64;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How long one that failed is left alone.
const PAUSE: Duration = Duration::from_secs(10);

/// How estimators are found and spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstimatorSettings {
    /// How long all answers for one decision may take: `--scheduler-estimator-timeout`.
    pub timeout: Duration,
    /// Where their Services are: `--scheduler-estimator-service-namespace`.
    pub namespace: String,
    /// What their Services' names begin with: `--scheduler-estimator-service-prefix`.
    pub prefix: String,
    /// The port of their Services: `--scheduler-estimator-port`.
    pub port: u16,
    /// How they are trusted; `None` speaks in the clear.
    pub tls: Option<Tls>,
}

/// Who is trusted, and as whom to appear; PEM texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The authority that signs the estimators' certificates.
    pub authority: String,
    /// The own certificate and key, if estimators want to see one.
    pub identity: Option<(String, String)>,
}

impl Default for EstimatorSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(3),
            namespace: "karmada-system".to_owned(),
            prefix: "karmada-scheduler-estimator".to_owned(),
            port: 10352,
            tls: None,
        }
    }
}

/// All estimators there are.
pub(crate) struct Estimators {
    settings: EstimatorSettings,
    client: Client,
    by_cluster: Mutex<HashMap<Arc<str>, Peer>>,
}

/// What is known of one estimator.
#[derive(Clone)]
enum Peer {
    Known(Channel),
    /// It failed; not before this is it looked for again.
    Paused(Instant),
}

/// Why an estimator did not answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("its Service cannot be read")]
    Service(#[source] CallError),
    #[error("its Service is {0}; only ExternalName is usable from here")]
    ServiceType(String),
    #[error("its Service has no port {0} with a number as its target")]
    Port(u16),
    #[error("its address cannot be used")]
    Address(#[source] tonic::transport::Error),
    #[error("it answered with an error")]
    Refused(#[source] tonic::Status),
    #[error("it did not answer in time")]
    Late,
    #[error("it failed a moment ago")]
    Paused,
}

impl Estimators {
    pub(crate) fn new(settings: EstimatorSettings, client: Client) -> Self {
        Self {
            settings,
            client,
            by_cluster: Mutex::new(HashMap::new()),
        }
    }

    /// What the estimators of `clusters` say of a binding; sets of its components, or replicas.
    pub(crate) async fn ask(
        &self,
        bound: &Bound,
        is_set: bool,
        clusters: &[Arc<str>],
        assumed: &ByCluster,
    ) -> Answers {
        let deadline = Instant::now() + self.settings.timeout;
        let mut asked = Vec::with_capacity(clusters.len());
        for cluster in clusters {
            asked.push(self.ask_until(deadline, bound, is_set, cluster, assumed));
        }
        let answers: Vec<(Arc<str>, Answer)> = stream::iter(asked)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        Answers::new(NAME, answers)
    }

    /// Forgets how a cluster's estimator is reached: the cluster changed, or is gone.
    pub(crate) fn forget(&self, cluster: &str) {
        self.lock().remove(cluster);
    }

    fn judge(&self, cluster: &Arc<str>, answer: Result<i32, AskError>) -> Answer {
        match answer {
            Ok(-1) => Answer::NoOpinion,
            Ok(count) => Answer::Count(i64::from(count)),
            Err(problem) => {
                debug!(cluster = %cluster, error = %chain(&problem), "an estimator is not heard");
                if !matches!(problem, AskError::Paused) {
                    let until = Instant::now() + PAUSE;
                    self.lock().insert(Arc::clone(cluster), Peer::Paused(until));
                }
                Answer::Failed
            }
        }
    }

    async fn ask_until(
        &self,
        deadline: Instant,
        bound: &Bound,
        is_set: bool,
        cluster: &Arc<str>,
        assumed: &ByCluster,
    ) -> (Arc<str>, Answer) {
        let asked = self.ask_one(bound, is_set, cluster, assumed);
        let answer = match timeout_at(deadline, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(AskError::Late),
        };
        (Arc::clone(cluster), self.judge(cluster, answer))
    }

    async fn ask_one(
        &self,
        bound: &Bound,
        is_set: bool,
        cluster: &Arc<str>,
        assumed: &ByCluster,
    ) -> Result<i32, AskError> {
        let channel = self.channel(cluster).await?;
        let promised = assumed.get(cluster);
        let promised = promised
            .map(|assumed| message::assumed(assumed))
            .unwrap_or_default();
        if is_set {
            let request = MaxSetsRequest {
                cluster: cluster.to_string(),
                components: bound
                    .spec
                    .components
                    .iter()
                    .map(message::component)
                    .collect(),
                namespace: bound.spec.resource.namespace.clone(),
                assumed: promised,
            };
            return call(channel, path::MAX_SETS, self.request(request, bound)).await;
        }
        let request = MaxReplicasRequest {
            cluster: cluster.to_string(),
            requirements: bound
                .spec
                .replica_requirements
                .as_ref()
                .map(message::requirements),
            assumed: promised,
        };
        call(channel, path::MAX_REPLICAS, self.request(request, bound)).await
    }

    fn request<T>(&self, message: T, bound: &Bound) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.settings.timeout);
        let resource = &bound.spec.resource;
        let object = format!(
            "kind={}, name={}/{}",
            resource.kind, resource.namespace, resource.name
        );
        // For the estimator's log; a name that cannot be a header is left out.
        if let Ok(object) = object.parse() {
            request.metadata_mut().insert("object", object);
        }
        request
    }

    async fn channel(&self, cluster: &Arc<str>) -> Result<Channel, AskError> {
        match self.lock().get(cluster).cloned() {
            Some(Peer::Known(channel)) => return Ok(channel),
            Some(Peer::Paused(until)) if Instant::now() < until => return Err(AskError::Paused),
            Some(Peer::Paused(_)) | None => {}
        }
        let address = self.address(cluster).await?;
        let channel = self
            .endpoint(address)
            .map_err(AskError::Address)?
            .connect_lazy();
        let known = Peer::Known(channel.clone());
        self.lock().insert(Arc::clone(cluster), known);
        Ok(channel)
    }

    fn endpoint(&self, address: String) -> Result<Endpoint, tonic::transport::Error> {
        let scheme = if self.settings.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let endpoint =
            Endpoint::from_shared(format!("{scheme}://{address}"))?.connect_timeout(CONNECT);
        let Some(tls) = &self.settings.tls else {
            return Ok(endpoint);
        };
        let mut config =
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authority));
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        endpoint.tls_config(config)
    }

    /// Where a cluster's estimator is: what its Service in the control plane says, or where such Services are found in
    /// the cluster that the control plane runs in.
    async fn address(&self, cluster: &str) -> Result<String, AskError> {
        let EstimatorSettings {
            namespace,
            prefix,
            port,
            ..
        } = &self.settings;
        let name = format!("{prefix}-{cluster}");
        let services = ResourceType::namespaced("", "v1", "Service", "services");
        let key = ObjectKey::namespaced(namespace, &name);
        let service = match self.client.get(&services, &key).await {
            Ok(service) => service,
            Err(error) if error.is_not_found() => {
                return Ok(format!("{name}.{namespace}.svc.cluster.local:{port}"));
            }
            Err(error) => return Err(AskError::Service(error)),
        };
        external_address(&service, *port)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Peer>> {
        // Each change is one insertion or removal.
        self.by_cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn call<Q>(channel: Channel, path: &'static str, request: Request<Q>) -> Result<i32, AskError>
where
    Q: prost::Message + 'static,
{
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.map_err(AskError::Address)?;
    let codec = ProstCodec::<Q, Count>::default();
    let answer = grpc
        .unary(request, PathAndQuery::from_static(path), codec)
        .await;
    Ok(answer.map_err(AskError::Refused)?.into_inner().count)
}

/// The address that an ExternalName Service stands for.
fn external_address(service: &object::Object, port: u16) -> Result<String, AskError> {
    let sort = service.text_at(&["spec", "type"]).unwrap_or("ClusterIP");
    if sort != "ExternalName" {
        return Err(AskError::ServiceType(sort.to_owned()));
    }
    let host = service
        .text_at(&["spec", "externalName"])
        .unwrap_or_default();
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_array);
    let target = ports.into_iter().flatten().find_map(|entry| {
        let is_ours = entry.get("port")?.as_u64() == Some(u64::from(port));
        let target = entry.get("targetPort")?.as_u64();
        target.filter(|target| is_ours && *target > 0)
    });
    let target = target.ok_or(AskError::Port(port))?;
    Ok(format!("{host}:{target}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_says_where_an_estimator_is() {
        let address = |spec: Value| {
            let service = object::Object::from_value(json!({"spec": spec})).unwrap();
            external_address(&service, 10352).map_err(|problem| problem.to_string())
        };
        let named = |port: Value, target: Value| json!({"type": "ExternalName", "externalName": "m1.example.com", "ports": [{"port": port, "targetPort": target}]});
        assert_eq!(
            address(named(json!(10352), json!(30123))).unwrap(),
            "m1.example.com:30123"
        );
        let no_port = "its Service has no port 10352 with a number as its target";
        for (port, target) in [
            (json!(1), json!(2)),
            (json!(10352), json!("grpc")),
            (json!("x"), json!(2)),
        ] {
            assert_eq!(address(named(port, target)).unwrap_err(), no_port);
        }
        let foreign = "its Service is ClusterIP; only ExternalName is usable from here";
        assert_eq!(address(json!({})).unwrap_err(), foreign);
    }
}

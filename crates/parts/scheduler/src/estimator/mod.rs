//! Asking the estimators that stand beside clusters how much fits.
//!
//! Each member may have an estimator that sees its nodes: in this process, or beside the member. Those are found by name,
//! spoken to by the reference's gRPC protocol, and asked all at once before a decision. One that fails or does not answer
//! in time costs only its own cluster's answer, and holds no further decision up (`trust`). All are greeted once before
//! the first decision, so that none waits for one that was never there.

mod address;
mod unverified;

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{Cache, CallError, Client};
use estimate::{Answer, Answers, Assumed, Component as Promised, Resource};
use futures_util::{StreamExt as _, stream};
use http::uri::PathAndQuery;
use object::ObjectKey;
use protocol::{
    OBJECT_HEADER, Question,
    message::{
        AssumedWorkload, Component, Count, MaxReplicasRequest, MaxSetsRequest, ObjectReference,
        ReplicaRequirements, UnschedulableRequest,
    },
    object_note,
};
use runtime::Spawner;
use schedule::assume::ByCluster;
use telemetry::chain;
use tokio::time::Instant;
use tonic::{Code, Request, client::Grpc, transport::Channel};
use tonic_prost::ProstCodec;
use tracing::debug;

use self::address::AddressError;
pub use self::address::{EstimatorSettings, Tls, Trusted};
use crate::{
    bound::Bound,
    trust::{Failure, NotAsked, Trust, Wait},
};

/// What answers of estimators are called in a diagnosis.
const NAME: &str = "scheduler-estimator";

/// How many are asked at once for one decision.
const AT_ONCE: usize = 64;

/// How many are greeted at once.
const GREETED_AT_ONCE: usize = 256;

/// How long an estimator may take at least, however quick it usually is, before decisions go on without it.
const LEAST_WAIT: Duration = Duration::from_millis(100);

/// An answer on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<i32, String>> + Send + 'a>>;

/// Estimators in this process.
pub trait Nearby: fmt::Debug + Send + Sync {
    /// Whether a cluster is counted here, be it that this has only begun; if not, the estimator beside it is asked.
    fn knows(&self, cluster: &str) -> bool;

    /// Answers a question; `None` if its cluster is not counted here.
    fn ask<'a>(&'a self, question: &'a Question) -> Option<Answering<'a>>;
}

/// All estimators there are; clones are the same.
#[derive(Clone)]
pub(crate) struct Estimators {
    inner: Arc<Inner>,
}

struct Inner {
    settings: EstimatorSettings,
    client: Client,
    clusters: Cache,
    spawner: Spawner,
    by_cluster: Mutex<HashMap<Arc<str>, Peer>>,
}

/// What is known of one estimator.
#[derive(Clone, Default)]
struct Peer {
    channel: Option<Channel>,
    /// In the one in this process.
    near: Trust,
    /// In the one beside the member.
    far: Trust,
}

/// Why an estimator did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("its Service cannot be read")]
    Service(#[source] CallError),
    #[error("it cannot be found")]
    Address(#[from] AddressError),
    #[error("it cannot be reached")]
    Unreachable(#[source] tonic::transport::Error),
    #[error("it answered with an error")]
    Refused(#[source] tonic::Status),
    #[error("it cannot say: {0}")]
    Nearby(String),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
}

impl Failure for AskError {
    fn is_outage(&self) -> bool {
        match self {
            Self::Service(_) | Self::Address(_) | Self::Unreachable(_) | Self::NotAsked(_) => true,
            // What one in this process cannot say is known at once, and another question may do better.
            Self::Nearby(_) => false,
            Self::Refused(status) => matches!(
                status.code(),
                Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled
            ),
        }
    }
}

impl Estimators {
    pub(crate) fn new(
        settings: EstimatorSettings,
        client: Client,
        clusters: Cache,
        spawner: Spawner,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings,
                client,
                clusters,
                spawner,
                by_cluster: Mutex::new(HashMap::new()),
            }),
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
        let note: Arc<str> = note(bound).into();
        let question = |cluster: &Arc<str>| {
            let promised = assumed.get(cluster);
            let promised = promised
                .map(|assumed| promises(assumed))
                .unwrap_or_default();
            question(bound, is_set, cluster, promised)
        };
        let asked = clusters.iter().filter(|cluster| self.is_asked(cluster));
        let asked: Vec<(Arc<str>, Question)> = asked
            .map(|cluster| (Arc::clone(cluster), question(cluster)))
            .collect();
        let answers = self.ask_all(asked, LEAST_WAIT, &note).await;
        let judged = answers.into_iter().map(|(cluster, answer)| {
            let answer = match answer {
                Ok(-1) => Answer::NoOpinion,
                Ok(count) => Answer::Count(i64::from(count)),
                Err(problem) => {
                    debug!(cluster = %cluster, error = %chain(&problem), "an estimator is not heard");
                    Answer::Failed
                }
            };
            (cluster, answer)
        });
        Answers::new(NAME, judged.collect::<Vec<_>>())
    }

    /// How many pods of a binding found no node, on each of `clusters`.
    pub(crate) async fn unschedulable(
        &self,
        bound: &Bound,
        threshold: Duration,
        clusters: Vec<Arc<str>>,
    ) -> Vec<(Arc<str>, Result<i32, AskError>)> {
        let nanos = i64::try_from(threshold.as_nanos()).unwrap_or(i64::MAX);
        let question = |cluster: Arc<str>| {
            let question = Question::Unschedulable(UnschedulableRequest {
                cluster: cluster.to_string(),
                resource: Some(ObjectReference::of(&bound.spec.resource)),
                threshold_nanos: nanos,
            });
            (cluster, question)
        };
        let asked = clusters.into_iter().map(question).collect();
        // Nobody is held up by this: each may take all the time there is.
        let least = self.inner.settings.timeout;
        self.ask_all(asked, least, &note(bound).into()).await
    }

    /// Asks every estimator of `clusters` something, so that it is known before the first decision who answers. Returns
    /// when all are known, or after `patience`; then the rest goes on beside the decisions.
    pub(crate) async fn greet(&self, clusters: Vec<Arc<str>>, patience: Duration) {
        let (done, all_known) = tokio::sync::oneshot::channel::<()>();
        let estimators = self.clone();
        let spawner = &self.inner.spawner;
        spawner.spawn_brief("greeting estimators", move |stop| async move {
            let greeting = stream::iter(clusters)
                .for_each_concurrent(GREETED_AT_ONCE, |cluster| estimators.greet_one(cluster));
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = greeting => {}
            }
            drop(done);
        });
        // Either way the decisions begin.
        let _ = tokio::time::timeout(patience, all_known).await;
    }

    /// Greets the estimator of one more cluster.
    pub(crate) fn greet_later(&self, cluster: Arc<str>) {
        let estimators = self.clone();
        let spawner = &self.inner.spawner;
        spawner.spawn_brief("greeting an estimator", move |stop| async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = estimators.greet_one(cluster) => {}
            }
        });
    }

    async fn greet_one(&self, cluster: Arc<str>) {
        if !self.is_asked(&cluster) {
            return;
        }
        // Room for pods of no requirements: the least there is to ask.
        let question = Question::Replicas(MaxReplicasRequest {
            cluster: cluster.to_string(),
            requirements: None,
            assumed: Vec::new(),
        });
        let trust = self.trust(&cluster);
        let call = self.clone().call(cluster, question, "".into());
        trust.greet(self.inner.settings.timeout, call).await;
    }

    /// Forgets how a cluster's estimator is reached: the cluster changed, or is gone.
    pub(crate) fn forget(&self, cluster: &str) {
        self.lock().remove(cluster);
    }

    /// Upstream: with `--disable-scheduler-estimator-in-pull-mode` a pull-mode cluster in a placement makes all others be
    /// judged without their estimators too; here only that cluster is.
    fn is_asked(&self, cluster: &str) -> bool {
        if self.inner.settings.asks_pull_mode {
            return true;
        }
        let cluster = self.inner.clusters.get(&ObjectKey::cluster(cluster));
        cluster.is_none_or(|cluster| cluster.text_at(&["spec", "syncMode"]) != Some("Pull"))
    }

    async fn ask_all(
        &self,
        asked: Vec<(Arc<str>, Question)>,
        least: Duration,
        note: &Arc<str>,
    ) -> Vec<(Arc<str>, Result<i32, AskError>)> {
        let most = self.inner.settings.timeout;
        let until = Instant::now() + most;
        let wait = Wait { until, most, least };
        let asking = asked.into_iter().map(|(cluster, question)| async move {
            let trust = self.trust(&cluster);
            let call = || {
                let (cluster, note) = (Arc::clone(&cluster), Arc::clone(note));
                self.clone().call(cluster, question, note)
            };
            let answered = trust.ask(note, wait, &self.inner.spawner, call).await;
            (cluster, answered.unwrap_or_else(|why| Err(why.into())))
        });
        // Made before they are polled: closures that borrow do not go through a stream.
        let asking: Vec<_> = asking.collect();
        stream::iter(asking)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    /// Asks without regard to whether it makes sense; goes on by itself if nobody waits any more.
    async fn call(
        self,
        cluster: Arc<str>,
        question: Question,
        note: Arc<str>,
    ) -> Result<i32, AskError> {
        let nearby = self.inner.settings.nearby.as_ref();
        if let Some(answer) = nearby.and_then(|nearby| nearby.ask(&question)) {
            return answer.await.map_err(AskError::Nearby);
        }
        let mut grpc = Grpc::new(self.channel(&cluster).await?);
        grpc.ready().await.map_err(AskError::Unreachable)?;
        let path = PathAndQuery::from_static(question.path());
        let timeout = self.inner.settings.timeout;
        let answer = match question {
            Question::Replicas(asked) => {
                let codec = ProstCodec::<MaxReplicasRequest, Count>::default();
                let request = request(asked, timeout, &note);
                grpc.unary(request, path, codec).await
            }
            Question::Sets(asked) => {
                let codec = ProstCodec::<MaxSetsRequest, Count>::default();
                let request = request(asked, timeout, &note);
                grpc.unary(request, path, codec).await
            }
            Question::Unschedulable(asked) => {
                let codec = ProstCodec::<UnschedulableRequest, Count>::default();
                let request = request(asked, timeout, &note);
                grpc.unary(request, path, codec).await
            }
        };
        match answer {
            Ok(answer) => Ok(answer.into_inner().count),
            Err(status) => {
                // It may have moved: where it is is looked up again.
                if let Some(peer) = self.lock().get_mut(&cluster) {
                    peer.channel = None;
                }
                Err(AskError::Refused(status))
            }
        }
    }

    async fn channel(&self, cluster: &Arc<str>) -> Result<Channel, AskError> {
        if let Some(channel) = self.peer(cluster).channel {
            return Ok(channel);
        }
        let Inner {
            settings, client, ..
        } = &*self.inner;
        let channel = match settings.find(client, cluster).await? {
            address::Found::At(address) => settings.way(&address)?.lazily(),
            address::Found::Either(first, second) => {
                // Upstream: one after the other. The second form is for clusters with a domain of their own.
                match settings.way(&first)?.now().await {
                    Ok(channel) => channel,
                    Err(_) => settings.way(&second)?.lazily(),
                }
            }
        };
        if let Some(peer) = self.lock().get_mut(cluster) {
            peer.channel = Some(channel.clone());
        }
        Ok(channel)
    }

    /// In whoever would be asked about a cluster.
    fn trust(&self, cluster: &Arc<str>) -> Trust {
        let nearby = self.inner.settings.nearby.as_ref();
        let Peer { near, far, .. } = self.peer(cluster);
        if nearby.is_some_and(|nearby| nearby.knows(cluster)) {
            near
        } else {
            far
        }
    }

    fn peer(&self, cluster: &Arc<str>) -> Peer {
        self.lock().entry(Arc::clone(cluster)).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Peer>> {
        // Each change is one insertion or removal.
        self.inner
            .by_cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(bound: &Bound, is_set: bool, cluster: &str, assumed: Vec<AssumedWorkload>) -> Question {
    let spec = &bound.spec;
    if is_set {
        return Question::Sets(MaxSetsRequest {
            cluster: cluster.to_owned(),
            components: spec.components.iter().map(Component::of).collect(),
            namespace: spec.resource.namespace.clone(),
            assumed,
        });
    }
    Question::Replicas(MaxReplicasRequest {
        cluster: cluster.to_owned(),
        requirements: spec
            .replica_requirements
            .as_ref()
            .map(ReplicaRequirements::of),
        assumed,
    })
}

/// What was promised on a cluster.
fn promises(assumed: &Assumed) -> Vec<AssumedWorkload> {
    let component = |promised: &Promised| {
        let amounts = promised.request.iter().map(|(resource, amount)| {
            let text = match resource {
                Resource::Cpu => format!("{amount}m"),
                _ => amount.to_string(),
            };
            (resource.as_str().to_owned(), text)
        });
        let replicas = i32::try_from(promised.replicas).unwrap_or(i32::MAX);
        Component::of_amounts(amounts, &promised.priority_class, replicas)
    };
    let workloads = assumed.workloads().iter();
    workloads
        .map(|workload| AssumedWorkload {
            namespace: workload.namespace.clone(),
            components: workload.components.iter().map(component).collect(),
        })
        .collect()
}

fn note(bound: &Bound) -> String {
    let resource = &bound.spec.resource;
    object_note(&resource.kind, &resource.namespace, &resource.name)
}

fn request<Q>(message: Q, timeout: Duration, note: &str) -> Request<Q> {
    let mut request = Request::new(message);
    request.set_timeout(timeout);
    // For the estimator's log; a name that cannot be a header is left out.
    if let Ok(note) = note.parse() {
        request.metadata_mut().insert(OBJECT_HEADER, note);
    }
    request
}

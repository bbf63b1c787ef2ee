//! From a question to a number.

use std::{sync::Arc, time::Duration};

use client::{CallError, ListOptions};
use estimate::{
    Amounts, Assumed, Component, Workload, demand,
    general::UNBOUNDED,
    nodes::{self, Node},
    quota, rollout,
};
use object::{Object, ObjectKey, ResourceType};
use protocol::{
    Question, ReadError,
    message::{
        AssumedWorkload, MaxReplicasRequest, MaxSetsRequest, ObjectReference, UnschedulableRequest,
    },
};
use tokio::time::Instant;

use crate::{
    ledger::Ledger,
    metrics::{Limit, Point, Step},
};

/// Why there is no answer. The texts that the reference has are the reference's.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Another member is meant.
    #[error("cluster name does not match, got: {got}, desire: {own}")]
    OtherCluster {
        /// Whom the question is for.
        got: String,
        /// Whose estimator this is.
        own: String,
    },
    /// The question cannot be understood.
    #[error("the question cannot be understood")]
    Unreadable(#[from] ReadError),
    /// Pods of nothing are asked for.
    #[error("resource is nil")]
    NoResource,
    /// Only Deployments are known to make pods here.
    #[error("kind({kind}) of workload({namespace}/{name}) is not supported")]
    Kind {
        /// The kind asked for.
        kind: String,
        /// Where.
        namespace: String,
        /// Which.
        name: String,
    },
    /// The member does not say what is needed to know.
    #[error("cannot read the workload from the member")]
    Member(#[from] CallError),
    /// Nodes and pods are being listed.
    #[error("the nodes and pods of {0} are not all known yet")]
    NotWhole(String),
}

impl Ledger {
    /// Answers a question.
    pub async fn answer(&self, question: &Question) -> Result<i32, Refusal> {
        let begun = tokio::time::Instant::now();
        let answered = self.judge(question).await;
        self.shared
            .metrics
            .answered(question, answered.is_ok(), begun.elapsed());
        answered
    }

    async fn judge(&self, question: &Question) -> Result<i32, Refusal> {
        if question.cluster() != self.cluster() {
            return Err(Refusal::OtherCluster {
                got: question.cluster().to_owned(),
                own: self.cluster().to_owned(),
            });
        }
        let count = match question {
            Question::Replicas(asked) => {
                let metrics = &self.shared.metrics;
                metrics.estimating(Point::Replicas, || self.replicas(asked))?
            }
            Question::Sets(asked) => {
                let metrics = &self.shared.metrics;
                metrics.estimating(Point::Sets, || self.sets(asked))?
            }
            Question::Unschedulable(asked) => return self.unschedulable(asked).await,
        };
        Ok(i32::try_from(count.clamp(0, UNBOUNDED)).unwrap_or(i32::MAX))
    }

    fn replicas(&self, asked: &MaxReplicasRequest) -> Result<i64, Refusal> {
        let nodes = self.known_nodes()?;
        let needs = asked.requirements.as_ref();
        let needs = needs.map(|needs| needs.read()).transpose()?;
        let request = needs.as_ref().map(demand::request);
        let claim = needs.as_ref().and_then(|needs| needs.node_claim.as_ref());
        let assumed = self.assumed(&asked.assumed)?;
        let metrics = &self.shared.metrics;
        let room = metrics.limiting(Limit::Nodes, Point::Replicas, || {
            nodes::replicas(&nodes, request.as_ref(), claim, &assumed)
        });
        let Some(needs) = needs.filter(|_| self.shared.settings.heeds_quotas) else {
            return Ok(room);
        };
        let allowed = metrics.limiting(Limit::Quotas, Point::Replicas, || {
            let quotas = self.quotas(&needs.namespace);
            let assumed = within(&needs.namespace, &assumed);
            let request = request.unwrap_or(Amounts::NONE);
            quota::replicas(&quotas, &request, &needs.priority_class_name, &assumed)
        });
        Ok(allowed.map_or(room, |allowed| allowed.min(room)))
    }

    fn sets(&self, asked: &MaxSetsRequest) -> Result<i64, Refusal> {
        let nodes = self.known_nodes()?;
        let components = asked.components.iter().map(|component| component.read());
        let components: Vec<_> = components.collect::<Result<_, _>>()?;
        if components.is_empty() {
            // Upstream: nothing to place is no constraint.
            return Ok(UNBOUNDED);
        }
        let wanted: Vec<_> = components
            .iter()
            .map(|component| {
                let needs = component.replica_requirements.as_ref();
                let claim = needs.and_then(|needs| needs.node_claim.as_ref());
                (Component::of(component), claim)
            })
            .collect();
        let assumed = self.assumed(&asked.assumed)?;
        let metrics = &self.shared.metrics;
        let room = metrics.limiting(Limit::Nodes, Point::Sets, || {
            nodes::sets(&nodes, &wanted, &assumed, UNBOUNDED)
        });
        if !self.shared.settings.heeds_quotas {
            return Ok(room);
        }
        let wanted: Vec<Component> = wanted.into_iter().map(|(component, _)| component).collect();
        let allowed = metrics.limiting(Limit::Quotas, Point::Sets, || {
            let quotas = self.quotas(&asked.namespace);
            quota::sets(&quotas, &wanted, &within(&asked.namespace, &assumed))
        });
        Ok(allowed.map_or(room, |allowed| allowed.min(room)))
    }

    async fn unschedulable(&self, asked: &UnschedulableRequest) -> Result<i32, Refusal> {
        let resource = asked.resource.as_ref().ok_or(Refusal::NoResource)?;
        let ObjectReference {
            api_version,
            kind,
            namespace,
            name,
        } = resource;
        if kind != "Deployment" || api_version != "apps/v1" {
            return Err(Refusal::Kind {
                kind: kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            });
        }
        let metrics = &self.shared.metrics;
        let begun = Instant::now();
        let deployments = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
        let key = ObjectKey::namespaced(namespace, name);
        let deployment = self.shared.client.get(&deployments, &key).await;
        metrics.stepped(Step::Workload, deployment.is_ok(), begun);
        let deployment = deployment?;
        let begun = Instant::now();
        let counted = self.unplaced_of(&deployment, asked).await;
        metrics.stepped(Step::Pods, counted.is_ok(), begun);
        counted
    }

    /// How many pods of the newest kind of a Deployment have found no node for too long.
    async fn unplaced_of(
        &self,
        deployment: &Object,
        asked: &UnschedulableRequest,
    ) -> Result<i32, Refusal> {
        let client = &self.shared.client;
        let sets = ResourceType::namespaced("apps", "v1", "ReplicaSet", "replicasets");
        // All of the namespace: whose they are is decided by owners, and a selector may be of any form.
        let options = ListOptions::default();
        let listed = client
            .list_all(&sets, deployment.namespace(), &options)
            .await?;
        let Some(current) = rollout::current(deployment, &listed.items) else {
            return Ok(0);
        };
        let threshold = Duration::from_nanos(u64::try_from(asked.threshold_nanos).unwrap_or(0));
        let seconds = i64::try_from(threshold.as_secs()).unwrap_or(i64::MAX);
        let now = self.shared.clock.now();
        self.unplaced(current.uid(), seconds, now)
            .ok_or_else(|| self.not_whole())
    }

    fn known_nodes(&self) -> Result<Arc<[Node]>, Refusal> {
        self.nodes().ok_or_else(|| self.not_whole())
    }

    fn not_whole(&self) -> Refusal {
        Refusal::NotWhole(self.cluster().to_owned())
    }

    /// What schedulers promised to others, if that is to be set aside.
    fn assumed(&self, workloads: &[AssumedWorkload]) -> Result<Assumed, Refusal> {
        if !self.shared.settings.heeds_promises {
            return Ok(Assumed::NOTHING);
        }
        let workload = |workload: &AssumedWorkload| {
            let components = workload.components.iter();
            let components = components.map(|component| Ok(Component::of(&component.read()?)));
            Ok(Workload {
                namespace: workload.namespace.clone(),
                components: components.collect::<Result<_, ReadError>>()?,
            })
        };
        let workloads: Result<_, ReadError> = workloads.iter().map(workload).collect();
        Ok(Assumed::of(workloads?))
    }
}

/// What was promised in one namespace.
fn within(namespace: &str, assumed: &Assumed) -> Assumed {
    let workloads = assumed.workloads().iter();
    let workloads = workloads.filter(|workload| workload.namespace == namespace);
    Assumed::of(workloads.cloned().collect())
}

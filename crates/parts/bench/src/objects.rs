//! The objects workloads are made of.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

/// A kind of template.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    /// With pods that members start at once.
    Deployment,
    /// Without pods: members have nothing to do but to hold it, so that what is seen is the control plane's work even where
    /// simulated members share its machine.
    PausedDeployment,
}

impl Kind {
    /// The path of a namespace's collection.
    pub(crate) fn path(self, namespace: &str) -> String {
        match self {
            Self::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Deployment | Self::PausedDeployment => {
                format!("/apis/apps/v1/namespaces/{namespace}/deployments")
            }
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1",
            Self::Deployment | Self::PausedDeployment => "apps/v1",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Deployment | Self::PausedDeployment => "Deployment",
        }
    }

    /// An object as a person would write it.
    pub(crate) fn object(self, name: &str, generation: usize) -> Bytes {
        let head = format!(
            r#"{{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{name}","labels":{{"app":"bench","part":"p{}","shard":"s{}"}}}},"#,
            self.version(),
            self.name(),
            number(name) % PARTS,
            number(name) % SHARDS,
        );
        let rest = match self {
            Self::ConfigMap => {
                format!(r#""data":{{"colour":"green","turn":"{generation}","motto":"{MOTTO}"}}}}"#)
            }
            Self::Deployment | Self::PausedDeployment => format!(
                r#""spec":{{"paused":{},"replicas":2,"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{{"metadata":{{"labels":{{"app":"{name}"}},"annotations":{{"sim.karavel.io/start-after":"0s","sim.karavel.io/ready-after":"0s"}}}},"spec":{{"containers":[{{"name":"web","image":"nginx:1.{generation}","resources":{{"requests":{{"cpu":"1m","memory":"1Mi"}}}}}}]}}}}}}}}"#,
                self == Self::PausedDeployment
            ),
        };
        (head + &rest).into()
    }
}

/// Makes an object as large as those of everyday life.
const MOTTO: &str =
    "The wind and the waves are always on the side of the ablest navigator, and so is a good map.";

/// Selectors that take one object in so many.
const PARTS: usize = 100;
/// Into so many shares templates can be divided among members.
const SHARDS: usize = 1000;

/// The number at the end of a name.
fn number(name: &str) -> usize {
    let last = name.rsplit('-').next();
    last.and_then(|last| last.parse().ok()).unwrap_or_default()
}

pub(crate) fn namespace(name: &str) -> Bytes {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        .to_string()
        .into()
}

pub(crate) fn policies(namespace: &str) -> String {
    format!("/apis/policy.karmada.io/v1alpha1/namespaces/{namespace}/propagationpolicies")
}

/// A policy that sends everything to all members, as copies.
pub(crate) fn policy(name: &str) -> Bytes {
    send(name, &json!({"matchLabels": {"app": "bench"}}), &json!({}))
}

/// A policy that sends one member its share: the templates whose number leaves `index` when divided by `members`.
pub(crate) fn policy_for(member: &str, index: usize, members: usize) -> Bytes {
    let shards: Vec<String> = (index..SHARDS)
        .step_by(members)
        .map(|shard| format!("s{shard}"))
        .collect();
    let selector =
        json!({"matchExpressions": [{"key": "shard", "operator": "In", "values": shards}]});
    let placement = json!({"clusterAffinity": {"clusterNames": [member]}});
    send(member, &selector, &placement)
}

fn send(name: &str, selector: &Value, placement: &Value) -> Bytes {
    let selectors: Vec<Value> = [Kind::ConfigMap, Kind::Deployment]
        .iter()
        .map(|kind| {
            json!({
                "apiVersion": kind.version(),
                "kind": kind.name(),
                "labelSelector": selector,
            })
        })
        .collect();
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": selectors, "placement": placement},
    })
    .to_string()
    .into()
}

pub(crate) const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

/// A cluster that nobody is behind, and the status that makes it one to choose.
pub(crate) fn cluster(name: &str) -> (Bytes, Value) {
    let object = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Pull", "apiEndpoint": "", "region": region(name)},
    });
    let status = json!({
        "kubernetesVersion": "v1.34.0",
        "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "ClusterReady", "message": "cluster is healthy and ready to accept workloads",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
        "nodeSummary": {"totalNum": 100, "readyNum": 100},
        "resourceSummary": {
            "allocatable": {"cpu": "3200", "memory": "12800Gi", "pods": "11000"},
            "allocated": {"cpu": format!("{}", 100 + number(name) % PARTS), "memory": "400Gi", "pods": "1000"},
        },
    });
    (object.to_string().into(), status)
}

fn region(name: &str) -> String {
    format!("region-{}", number(name) % 10)
}

pub(crate) fn bindings(namespace: &str) -> String {
    format!("/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings")
}

/// The policy bindings say they come from; it need not be there.
const POLICY: &str = "5f0e4b5e-0b0f-4d0a-9d0a-0e4b5e0b0f4d";

/// A binding of ten replicas, placed in one of the ways there are.
pub(crate) fn binding(name: &str, namespace: &str, placement: &Value) -> Bytes {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        // Schedulers look at what a policy has claimed, and at nothing else.
        "metadata": {"name": name, "labels": {"propagationpolicy.karmada.io/permanent-id": POLICY}},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name},
            "replicas": 10,
            "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "128Mi"}},
            "schedulerName": "default-scheduler",
            "placement": placement,
        },
    })
    .to_string()
    .into()
}

/// How replicas are divided.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Copies in three clusters.
    Duplicated,
    /// By equal weights over all.
    StaticWeights,
    /// By how much room there is.
    DynamicWeights,
    /// In as few clusters as have room.
    Aggregated,
    /// Over two clusters in each of three regions.
    Spread,
}

impl Mode {
    pub(crate) fn placement(self) -> Value {
        let divided = |preference: &str| json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference});
        match self {
            Self::Duplicated => json!({
                "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 3}],
                "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
            }),
            Self::StaticWeights => json!({"replicaScheduling": divided("Weighted")}),
            Self::DynamicWeights => {
                let mut scheduling = divided("Weighted");
                scheduling["weightPreference"] = json!({"dynamicWeight": "AvailableReplicas"});
                json!({"replicaScheduling": scheduling})
            }
            Self::Aggregated => json!({"replicaScheduling": divided("Aggregated")}),
            Self::Spread => json!({
                "spreadConstraints": [
                    {"spreadByField": "region", "minGroups": 1, "maxGroups": 3},
                    {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 6},
                ],
                "replicaScheduling": divided("Aggregated"),
            }),
        }
    }
}

//! The objects workloads are made of.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

/// A kind of template.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    Deployment,
}

impl Kind {
    /// The path of a namespace's collection.
    pub(crate) fn path(self, namespace: &str) -> String {
        match self {
            Self::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Deployment => format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1",
            Self::Deployment => "apps/v1",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Deployment => "Deployment",
        }
    }

    /// An object as a person would write it.
    pub(crate) fn object(self, name: &str, generation: usize) -> Bytes {
        let head = format!(
            r#"{{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{name}","labels":{{"app":"bench","part":"p{}"}}}},"#,
            self.version(),
            self.name(),
            part(name)
        );
        let rest = match self {
            Self::ConfigMap => {
                format!(r#""data":{{"colour":"green","turn":"{generation}","motto":"{MOTTO}"}}}}"#)
            }
            Self::Deployment => format!(
                r#""spec":{{"replicas":2,"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{{"metadata":{{"labels":{{"app":"{name}"}}}},"spec":{{"containers":[{{"name":"web","image":"nginx:1.{generation}","resources":{{"requests":{{"cpu":"1m","memory":"1Mi"}}}}}}]}}}}}}}}"#
            ),
        };
        (head + &rest).into()
    }
}

/// Makes an object as large as those of everyday life.
const MOTTO: &str =
    "The wind and the waves are always on the side of the ablest navigator, and so is a good map.";

/// Which of a hundred parts a name belongs to, for selectors that take one in a hundred.
fn part(name: &str) -> u32 {
    let number: u32 = name
        .rsplit('-')
        .next()
        .and_then(|last| last.parse().ok())
        .unwrap_or_default();
    number % 100
}

pub(crate) fn namespace(name: &str) -> Bytes {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        .to_string()
        .into()
}

/// A policy that sends everything of these kinds to all members, as copies.
pub(crate) fn policy(name: &str) -> Bytes {
    let selectors: Vec<Value> = [Kind::ConfigMap, Kind::Deployment]
        .iter()
        .map(|kind| {
            json!({
                "apiVersion": kind.version(),
                "kind": kind.name(),
                "labelSelector": {"matchLabels": {"app": "bench"}},
            })
        })
        .collect();
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": selectors, "placement": {}},
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
            "allocated": {"cpu": format!("{}", 100 + part(name)), "memory": "400Gi", "pods": "1000"},
        },
    });
    (object.to_string().into(), status)
}

fn region(name: &str) -> String {
    format!("region-{}", part(name) % 10)
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

//! A decision of the scheduler.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use api::cluster::Cluster;
use api::read::read;
use api::work::v1alpha2::ResourceBinding;
use object::Object;
use schedule::binding::BindingView;
use schedule::cluster::{ClusterFacts, Pool, Snapshot};
use schedule::placement::PreparedPlacement;
use schedule::plugin::{Peers, Registry, WorkloadGroups};
use schedule::{Inputs, Options, schedule};
use serde_json::json;

const CLUSTERS: usize = 100;

pub(super) fn run(rounds: u32) -> Result<()> {
    let mut pool = Pool::default();
    let mut facts = Vec::new();
    for index in 0..CLUSTERS {
        facts.push(Arc::new(ClusterFacts::of(&cluster(index)?, &mut pool)));
    }
    let clusters = Snapshot::new(facts);
    let binding = binding()?;
    let placement = binding.spec.placement.as_ref().context("a placement")?;
    let prepared = PreparedPlacement::compile(placement);
    let plugins = Registry::in_tree(WorkloadGroups::On).enable(&["*"]);
    for _ in 0..rounds {
        let decision = schedule(black_box(&Inputs {
            binding: BindingView::from(&binding),
            placement: &prepared,
            clusters: &clusters,
            estimates: &[],
            assumed: &BTreeMap::new(),
            peers: &Peers::default(),
            plugins: &plugins,
            options: Options::default(),
        }));
        ensure!(decision.targets_to_write().is_some(), "nothing was placed");
    }
    Ok(())
}

fn cluster(index: usize) -> Result<Cluster> {
    let object = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": format!("member-{index}"), "labels": {"env": "prod"}},
        "spec": {"syncMode": "Push", "region": format!("region-{}", index % 10)},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}],
            "resourceSummary": {
                "allocatable": {"cpu": "160", "memory": "640Gi", "pods": "1100"},
                "allocated": {"cpu": (index % 50).to_string(), "memory": "20Gi", "pods": "40"},
            },
        },
    });
    Ok(read(&Object::from_value(object)?)?)
}

fn binding() -> Result<ResourceBinding> {
    let object = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "shop"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop"},
            "replicas": 300,
            "replicaRequirements": {"resourceRequest": {"cpu": "250m", "memory": "256Mi"}},
            "placement": {
                "clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
                },
            },
        },
    });
    Ok(read(&Object::from_value(object)?)?)
}

//! What a cluster gets of a template.

use std::hint::black_box;

use anyhow::{Result, ensure};
use api::cluster::Cluster;
use api::policy::OverridePolicy;
use api::read::read;
use object::Object;
use overrides::{ClusterFacts, Overrides, Policy, Template, render};

use super::DEPLOYMENT;

const RULES: &str = "
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: five, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules:
  - targetCluster: {clusterNames: [m1, m2]}
    overriders: {imageOverrider: [{component: Registry, operator: replace, value: mirror.example}]}
  - targetCluster: {labelSelector: {matchLabels: {env: prod}}}
    overriders: {argsOverrider: [{containerName: web, operator: add, value: [--quiet]}]}
  - overriders: {labelsOverrider: [{operator: add, value: {tier: front}}]}
  - overriders: {annotationsOverrider: [{operator: add, value: {note: here}}]}
  - overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 5}]}
";

const CLUSTER: &str =
    "{kind: Cluster, metadata: {name: m1, labels: {env: prod}}, spec: {region: eu}}";

pub(super) fn run(rounds: u32) -> Result<()> {
    let document: Object = serde_saphyr::from_str(RULES)?;
    let policy: OverridePolicy = read(&document)?;
    let overrides: Overrides = [Policy::from(&policy)].into_iter().collect();
    let deployment: Object = serde_saphyr::from_str(DEPLOYMENT)?;
    let document: Object = serde_saphyr::from_str(CLUSTER)?;
    let cluster: Cluster = read(&document)?;
    let facts = ClusterFacts::from(&cluster);
    let template = Template::new(&deployment);
    for _ in 0..rounds {
        let rendered = render(black_box(&overrides), &template, &facts)?;
        ensure!(rendered.applied.len() == 5, "not all rules were applied");
    }
    Ok(())
}

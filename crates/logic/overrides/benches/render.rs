//! How long it takes to make an object what a cluster gets.
//!
//! `cargo bench -p karavel-overrides --bench render`

use std::hint::black_box;

use api::{cluster::Cluster, policy::OverridePolicy, read::read};
use criterion::{Criterion, criterion_group, criterion_main};
use karavel_overrides::{ClusterFacts, Overrides, Policy, Template, explain, render};
use object::Object;

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
  - targetCluster: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [eu]}]}}
    overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 5}]}
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {team: blue}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: reg.io/shop/web:v1
        args: [--port, '8080']
        ports: [{containerPort: 8080}]
        env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 200m, memory: 256Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      - name: proxy
        image: reg.io/shop/proxy:v2
      volumes: [{name: config, configMap: {name: web}}]
";

fn renders(c: &mut Criterion) {
    let document: Object = serde_saphyr::from_str(RULES).expect("a document");
    let policy: OverridePolicy = read(&document).expect("a policy");
    let overrides: Overrides = [Policy::from(&policy)].into_iter().collect();
    let deployment: Object = serde_saphyr::from_str(DEPLOYMENT).expect("a document");
    let document: Object = serde_saphyr::from_str(
        "{kind: Cluster, metadata: {name: m1, labels: {env: prod}}, spec: {region: eu}}",
    )
    .expect("a document");
    let cluster: Cluster = read(&document).expect("a cluster");
    let facts = ClusterFacts::from(&cluster);
    let template = Template::new(&deployment);
    let applied = render(&overrides, &template, &facts).expect("fits").applied;
    assert_eq!(applied.len(), 5);
    c.bench_function("override a Deployment/five rules", |b| {
        b.iter(|| render(black_box(&overrides), black_box(&template), &facts).map(drop));
    });
    c.bench_function("override a Deployment/five rules, explained", |b| {
        b.iter(|| {
            explain(black_box(&overrides), black_box(&template), &facts)
                .0
                .len()
        });
    });
    c.bench_function("override a Deployment/copy alone", |b| {
        b.iter(|| black_box(&deployment).clone());
    });
}

criterion_group!(benches, renders);
criterion_main!(benches);

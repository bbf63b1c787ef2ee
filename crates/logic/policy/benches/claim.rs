//! How long it takes to find the policy of a template among many.
//!
//! `cargo bench -p karavel-policy --bench claim`

use std::{collections::BTreeSet, hint::black_box};

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_policy::{Exemptions, Index, Inputs, Policy, Preemption, Template, decide};
use object::Object;

/// Policies for Deployments of one namespace, half by name and half by label, and one for all.
fn policies(count: usize) -> Vec<Policy> {
    let policy = |position: usize| -> Policy {
        let which = match position {
            0 => String::new(),
            odd if odd % 2 == 1 => format!("name: web-{odd}"),
            even => format!("labelSelector: {{matchLabels: {{app: web-{even}}}}}"),
        };
        let document: Object = serde_saphyr::from_str(&format!(
            "
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{namespace: shop, name: p{position}, labels: {{propagationpolicy.karmada.io/permanent-id: id{position}}}}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, namespace: shop, {which}}}]
  placement: {{clusterAffinity: {{clusterNames: [m1, m2]}}}}
"
        ))
        .expect("a document");
        let policy: api::policy::PropagationPolicy = api::read::read(&document).expect("a policy");
        Policy::from(&policy)
    };
    (0..count).map(policy).collect()
}

fn template() -> Object {
    serde_saphyr::from_str(
        "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-501
  namespace: shop
  labels: {app: web-500, tier: front, app.kubernetes.io/part-of: shop}
spec: {replicas: 3}
",
    )
    .expect("a document")
}

fn claims(c: &mut Criterion) {
    let template = template();
    let overrides = BTreeSet::new();
    let exemptions = Exemptions::parse("", ["kube-.*"]).expect("exemptions");
    let mut group = c.benchmark_group("claim a template");
    for count in [10, 1_000, 10_000] {
        let index: Index = policies(count).into_iter().collect();
        let inputs = Inputs {
            template: Template::new(&template),
            binding: None,
            policies: &index,
            overrides: &overrides,
            exemptions: &exemptions,
            preemption: Preemption::Off,
        };
        group.bench_function(format!("{count} policies"), |b| {
            b.iter(|| decide(black_box(&inputs)).claim.considered.len());
        });
    }
    group.finish();
    let all = policies(1_000);
    c.bench_function("claim a template/1000 policies, plain scan", |b| {
        let template = Template::new(&template);
        b.iter(|| {
            all.iter()
                .filter_map(|policy| policy.select(black_box(&template)))
                .count()
        });
    });
    c.bench_function("file 1000 policies", |b| {
        b.iter(|| all.iter().cloned().collect::<Index>());
    });
}

criterion_group!(benches, claims);
criterion_main!(benches);

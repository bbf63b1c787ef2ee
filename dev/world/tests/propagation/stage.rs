//! What all of these tests begin with: members that are ready, a namespace, and short words for templates and policies.

use std::ops::Deref;
use std::time::Duration;

use api::well_known::feature_gates::FeatureGates;
use object::{Object, Value};
use world::{Builder, World, json};

/// How long anything may take, in virtual time.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// How long nothing must happen for a claim that nothing happens.
pub(crate) const WHILE: Duration = Duration::from_secs(20);

/// A world with the namespace `test`.
pub(crate) struct Stage(World);

impl Stage {
    /// Members `m1`, `m2`, … and the namespace.
    pub(crate) async fn with(members: usize) -> Self {
        Self::build(World::build().members(members)).await
    }

    /// The same with features switched on, such as `PropagationPolicyPreemption=true`.
    pub(crate) async fn gated(members: usize, gates: &str) -> Self {
        let gates: FeatureGates = gates.parse().expect("the gates are known");
        let world = World::build().members(members);
        Self::build(world.settings(|settings| settings.controllers.gates = gates)).await
    }

    /// A world of another shape.
    pub(crate) async fn build(builder: Builder) -> Self {
        let stage = Self(builder.start().await);
        stage
            .apply("{apiVersion: v1, kind: Namespace, metadata: {name: test}}")
            .await;
        stage
    }

    /// Waits until something has a value.
    pub(crate) async fn see(
        &self,
        what: &str,
        expected: impl Into<Value>,
        found: impl AsyncFnMut() -> Value,
    ) {
        self.0.until_is(what, SOON, expected, found).await;
    }

    /// Who claims a Deployment of the namespace: `pp/name`, `cpp/name` or nothing.
    pub(crate) async fn claim(&self, kind: &str, name: &str) -> Value {
        let Some(object) = self.get(kind, name).await else {
            return Value::Null;
        };
        let name = |key: &str| object.annotation(key).map(str::to_owned);
        match (
            name("propagationpolicy.karmada.io/name"),
            name("clusterpropagationpolicy.karmada.io/name"),
        ) {
            (Some(name), _) => json!(format!("pp/{name}")),
            (None, Some(name)) => json!(format!("cpp/{name}")),
            (None, None) => Value::Null,
        }
    }

    /// Waits until a Deployment of the namespace is claimed by this policy.
    pub(crate) async fn claimed(&self, name: &str, by: &str) {
        let what = format!("{name} is claimed by {by}");
        let name = format!("test/{name}");
        let expected = if by.is_empty() {
            Value::Null
        } else {
            json!(by)
        };
        self.see(&what, expected, async || {
            self.claim("deployments", &name).await
        })
        .await;
    }

    /// The events about an object of the control plane: `Reason: message`, in order.
    pub(crate) async fn events(&self, kind: &str, name: &str) -> Vec<String> {
        let about = name.rsplit('/').next().unwrap_or(name);
        let mut found: Vec<(String, String)> = Vec::new();
        for event in self.0.list("events", "").await {
            let text = |path: &[&str]| event.text_at(path).unwrap_or_default().to_owned();
            if text(&["involvedObject", "kind"]) == kind
                && text(&["involvedObject", "name"]) == about
            {
                let line = format!("{}: {}", text(&["reason"]), text(&["message"]));
                found.push((text(&["lastTimestamp"]), line));
            }
        }
        found.sort();
        found.into_iter().map(|(_, line)| line).collect()
    }

    /// Waits for an event about an object that has both texts in it, reason and message.
    pub(crate) async fn told(&self, kind: &str, name: &str, reason: &str, message: &str) {
        let what = format!("an event {reason} on {kind} {name} with {message:?}");
        let mut last = Vec::new();
        let found = tokio::time::timeout(SOON, async {
            loop {
                last = self.events(kind, name).await;
                if last
                    .iter()
                    .any(|line| line.starts_with(reason) && line.contains(message))
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        if found.await.is_err() {
            panic!("there is not {what}, but {last:#?}");
        }
    }

    /// The works that are there for an object, by cluster.
    pub(crate) async fn works_of(&self, kind: &str, name: &str) -> Vec<Object> {
        let all = self.0.list("works", "").await;
        let short = name.rsplit('/').next().unwrap_or(name);
        all.into_iter()
            .filter(|work| {
                let manifest = work.at(&["spec", "workload", "manifests"]);
                let manifest = manifest.and_then(|list| list.get(0));
                manifest.is_some_and(|manifest| {
                    manifest["kind"] == json!(kind) && manifest["metadata"]["name"] == json!(short)
                })
            })
            .collect()
    }

    /// The one work for an object in a cluster.
    pub(crate) async fn work(&self, kind: &str, name: &str, cluster: &str) -> Option<Object> {
        let space = format!("karmada-es-{cluster}");
        let works = self.works_of(kind, name).await;
        works.into_iter().find(|work| work.namespace() == space)
    }
}

impl Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

/// A Deployment in `test`.
pub(crate) fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: test}}, spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: web, image: 'reg.io/app/web:v1'}}]}}}}}}}}"
    )
}

/// A ConfigMap in `test`.
pub(crate) fn config_map(name: &str, data: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: test}}, data: {data}}}"
    )
}

/// A PropagationPolicy in `test` with this spec beside its selectors.
pub(crate) fn policy(name: &str, selectors: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {{name: {name}, namespace: test}}, spec: {{resourceSelectors: [{selectors}], {spec}}}}}"
    )
}

/// A ClusterPropagationPolicy.
pub(crate) fn cluster_policy(name: &str, selectors: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {{name: {name}}}, spec: {{resourceSelectors: [{selectors}], {spec}}}}}"
    )
}

/// An OverridePolicy in `test` with one rule for all clusters, or for those of `target`.
pub(crate) fn overriding(name: &str, selectors: &str, target: &str, overriders: &str) -> String {
    let target = if target.is_empty() {
        String::new()
    } else {
        format!("targetCluster: {{clusterNames: [{target}]}}, ")
    };
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {{name: {name}, namespace: test}}, spec: {{resourceSelectors: [{selectors}], overrideRules: [{{{target}overriders: {overriders}}}]}}}}"
    )
}

/// A ResourceInterpreterCustomization of a kind (`apps/v1/Deployment`) with these operations and scripts.
pub(crate) fn customization(name: &str, kind: &str, scripts: &[(&str, &str)]) -> String {
    let scripts: Vec<String> = scripts
        .iter()
        .map(|(operation, script)| format!("{operation}: {{luaScript: {}}}", json!(script)))
        .collect();
    let (api_version, kind) = kind.rsplit_once('/').unwrap();
    format!(
        "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {{name: {name}}}, spec: {{target: {{apiVersion: {api_version}, kind: {kind}}}, customizations: {{{}}}}}}}",
        scripts.join(", ")
    )
}

/// A selector of all Deployments.
pub(crate) const DEPLOYMENTS: &str = "{apiVersion: apps/v1, kind: Deployment}";
/// A selector of all ConfigMaps.
pub(crate) const CONFIG_MAPS: &str = "{apiVersion: v1, kind: ConfigMap}";

/// A selector of one Deployment.
pub(crate) fn one_deployment(name: &str) -> String {
    format!("{{apiVersion: apps/v1, kind: Deployment, name: {name}}}")
}

/// The field of a spec that places on these clusters.
pub(crate) fn on(clusters: &str) -> String {
    format!("placement: {{clusterAffinity: {{clusterNames: [{clusters}]}}}}")
}

/// The field of a spec that divides replicas between clusters by these weights.
pub(crate) fn divided(weights: &[(&str, u32)]) -> String {
    let list: Vec<String> = weights
        .iter()
        .map(|(cluster, weight)| {
            format!("{{targetCluster: {{clusterNames: [{cluster}]}}, weight: {weight}}}")
        })
        .collect();
    format!(
        "placement: {{replicaScheduling: {{replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {{staticWeightList: [{}]}}}}}}",
        list.join(", ")
    )
}

/// Several documents.
pub(crate) fn all(documents: &[String]) -> String {
    documents.join("\n---\n")
}

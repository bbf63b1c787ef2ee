//! Applications that fail where they are: when they go elsewhere, and what becomes of the copy that failed.

use object::Value;
use world::{World, json};

use crate::{SOON, WEB, seconds};

const BINDING: &str = "default/web-deployment";

/// A Deployment is well unless an annotation says that it is sick, which an override puts on it in one cluster.
const RULE: &str = "
    apiVersion: config.karmada.io/v1alpha1
    kind: ResourceInterpreterCustomization
    metadata: {name: well-or-sick}
    spec:
      target: {apiVersion: apps/v1, kind: Deployment}
      customizations:
        healthInterpretation:
          luaScript: |
            function InterpretHealth(o)
              return o.metadata.annotations.sick == nil and o.status ~= nil and o.status.readyReplicas == 2
            end
";

/// One cluster out of all, left when the application fails there for half a minute.
fn moving(failover: &str) -> String {
    format!(
        "
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {{name: web}}
        spec:
          resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
          propagateDeps: true
          placement:
            spreadConstraints: [{{spreadByField: cluster, minGroups: 1, maxGroups: 1}}]
          failover: {{application: {{decisionConditions: {{tolerationSeconds: 30}}, {failover}}}}}
        "
    )
}

/// A world in which the application is well, where it is, and where else it could be.
async fn running(gates: &str, failover: &str) -> (World, String, String) {
    let world = World::build()
        .members(2)
        .settings(|settings| {
            settings.controllers.gates = gates.parse().expect("the gates are known");
        })
        .start()
        .await;
    world.apply(RULE).await;
    world.apply(&moving(failover)).await;
    world.apply(WEB).await;
    let mut place = String::new();
    world
        .until("it runs somewhere", SOON, async || {
            place = target(&world).await;
            health(&world, &place).await == "Healthy"
        })
        .await;
    let other = if place == "m1" { "m2" } else { "m1" };
    (world, place, other.to_owned())
}

async fn target(world: &World) -> String {
    let path = "spec.clusters.0.name";
    let name = world.field("resourcebindings", BINDING, path).await;
    name.as_str().unwrap_or_default().to_owned()
}

async fn health(world: &World, cluster: &str) -> Value {
    let path = format!("status.aggregatedStatus.clusterName={cluster}.health");
    world.field("resourcebindings", BINDING, &path).await
}

async fn is_in(world: &World, cluster: &str) -> bool {
    let member = world.member(cluster);
    member.get("deployments", "default/web").await.is_some()
}

/// Makes the application fail in one cluster, and waits until that is known.
async fn fail(world: &World, cluster: &str) {
    world
        .apply(&format!(
            "
            apiVersion: policy.karmada.io/v1alpha1
            kind: OverridePolicy
            metadata: {{name: sick}}
            spec:
              resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
              overrideRules:
              - targetCluster: {{clusterNames: [{cluster}]}}
                overriders: {{annotationsOverrider: [{{operator: add, value: {{sick: 'yes'}}}}]}}
            "
        ))
        .await;
    world
        .until("it is known to fail", SOON, async || {
            health(world, cluster).await == "Unhealthy"
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c27_an_application_that_fails_is_moved_after_its_toleration_and_with_what_it_needs() {
    let world = World::with_members(1).await;
    let alone = moving("purgeMode: Gracefully").replace("propagateDeps: true", "");
    let refused = world.try_apply(&alone).await.unwrap_err().to_string();
    assert!(refused.contains("propagateDeps"), "{refused}");

    let (world, place, other) = running("", "purgeMode: Gracefully").await;
    fail(&world, &place).await;
    world
        .stays("it is borne", seconds(27), async || {
            target(&world).await == place
        })
        .await;
    let mut task = Value::Null;
    world
        .until("it moves", seconds(10), async || {
            let path = "spec.gracefulEvictionTasks.0";
            let found = world.field("resourcebindings", BINDING, path).await;
            if found.is_object() {
                task = found;
            }
            target(&world).await == other
        })
        .await;
    assert_eq!(
        (&task["fromCluster"], &task["reason"], &task["producer"]),
        (
            &json!(place),
            &json!("ApplicationFailure"),
            &json!("resource-binding-application-failover-controller")
        )
    );
    world
        .until("the old copy goes", SOON * 2, async || {
            is_in(&world, &other).await && !is_in(&world, &place).await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c28_a_copy_that_is_never_purged_keeps_running() {
    let (world, place, other) = running("", "purgeMode: Never").await;
    fail(&world, &place).await;
    world
        .until("it runs elsewhere too", SOON * 2, async || {
            health(&world, &other).await == "Healthy"
        })
        .await;
    let path = "spec.gracefulEvictionTasks.0.suppressDeletion";
    let held = world.field("resourcebindings", BINDING, path).await;
    assert_eq!(held, json!(true));
    world
        .stays("the old copy runs", seconds(20 * 60), async || {
            is_in(&world, &place).await && is_in(&world, &other).await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c29_state_goes_along_where_the_old_copy_goes_directly() {
    let preserving = |mode: &str| {
        format!(
            "purgeMode: {mode}, statePreservation: {{rules: [{{aliasLabelName: example.com/ready, jsonPath: '{{.readyReplicas}}'}}]}}"
        )
    };
    for (mode, expected) in [("Directly", json!("2")), ("Gracefully", Value::Null)] {
        let gates = "StatefulFailoverInjection=true";
        let (world, place, other) = running(gates, &preserving(mode)).await;
        fail(&world, &place).await;
        let mut label = Value::Null;
        world
            .until("it has moved", SOON * 3, async || {
                let copy = world.member(&other).get("deployments", "default/web").await;
                if let Some(copy) = &copy {
                    label = json!(copy.label("example.com/ready"));
                }
                copy.is_some()
            })
            .await;
        assert_eq!(label, expected, "{mode}");
    }
}

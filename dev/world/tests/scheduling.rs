//! Where templates go, seen from outside: policies and workloads in, targets, conditions and pods out.

use std::time::Duration;

use object::Value;
use scheduler::{DeschedulerSettings, estimator::EstimatorSettings};
use world::{World, json, sized};

const MINUTE: Duration = Duration::from_secs(60);
const WEB: &str = "default/web-deployment";

/// A Deployment whose pods request a processor each, or as many as given.
fn deployment(name: &str, replicas: u32, cpu: &str) -> String {
    format!(
        "
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: {name}, labels: {{app: {name}}}}}
    spec:
      replicas: {replicas}
      selector: {{matchLabels: {{app: {name}}}}}
      template:
        metadata: {{labels: {{app: {name}}}}}
        spec: {{containers: [{{name: c, image: nginx, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}
"
    )
}

/// A policy for the Deployment of that name.
fn policy(name: &str, placement: &Value) -> String {
    format!(
        "
    apiVersion: policy.karmada.io/v1alpha1
    kind: PropagationPolicy
    metadata: {{name: {name}}}
    spec:
      resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: {name}}}]
      placement: {placement}
"
    )
}

fn divided(preference: Value) -> Value {
    let mut strategy = json!({"replicaSchedulingType": "Divided"});
    for (name, value) in preference.as_object().into_iter().flatten() {
        strategy[name.as_str()] = value.clone();
    }
    json!({"replicaScheduling": strategy})
}

fn by_room() -> Value {
    divided(json!({
        "replicaDivisionPreference": "Weighted", "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }))
}

fn by_weight(weights: &[(&str, u32)]) -> Value {
    let weight = |(cluster, weight): &(&str, u32)| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": weight});
    let weights: Vec<Value> = weights.iter().map(weight).collect();
    divided(json!({
        "replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": weights},
    }))
}

/// `m1=3 m2=6 Success`
async fn placed(world: &World, binding: &str) -> Value {
    let targets = world
        .field("resourcebindings", binding, "spec.clusters")
        .await;
    let target = |target: &Value| {
        let name = target["name"].as_str().unwrap_or_default();
        match target.get("replicas") {
            Some(replicas) => format!("{name}={replicas}"),
            None => name.to_owned(),
        }
    };
    let mut words: Vec<String> = targets
        .as_array()
        .into_iter()
        .flatten()
        .map(target)
        .collect();
    words.sort();
    let conditions = world
        .field("resourcebindings", binding, "status.conditions")
        .await;
    let mut conditions = conditions
        .as_array()
        .cloned()
        .unwrap_or_default()
        .into_iter();
    let scheduled = conditions.find(|condition| condition["type"] == "Scheduled");
    words.extend(scheduled.and_then(|scheduled| scheduled["reason"].as_str().map(str::to_owned)));
    Value::from(words.join(" "))
}

async fn until_placed(world: &World, binding: &str, expected: &str) {
    world
        .until_is("placed", MINUTE, json!(expected), async || {
            placed(world, binding).await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_decision_is_told_by_condition_annotation_and_events() {
    let world = World::with_members(3).await;
    let placement = json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}});
    world.apply(&policy("web", &placement)).await;
    world.apply(&deployment("web", 3, "1")).await;
    until_placed(&world, WEB, "m1=3 m2=3 Success").await;
    let binding = world.get("resourcebindings", WEB).await.expect("a binding");
    let applied = binding.annotation("policy.karmada.io/applied-placement");
    let applied: Value = applied
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    assert_eq!(applied["clusterAffinity"], placement["clusterAffinity"]);
    assert_eq!(
        binding.integer_at(&["status", "schedulerObservedGeneration"]),
        Some(binding.generation())
    );
    world
        .until("both hear of it", MINUTE, async || {
            let events = world.list("events", "default").await;
            let told = events.iter().filter(|event| {
                let message = event.text_at(&["message"]).unwrap_or_default();
                event.text_at(&["reason"]) == Some("ScheduleBindingSucceed")
                    && message.starts_with(
                        "Binding has been scheduled successfully. Result: {m1:3, m2:3}",
                    )
            });
            let mut kinds: Vec<&str> = told
                .filter_map(|event| event.text_at(&["involvedObject", "kind"]))
                .collect();
            kinds.sort_unstable();
            kinds == ["Deployment", "ResourceBinding"]
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn static_weights_are_followed_anew_each_time() {
    let world = World::with_members(2).await;
    world
        .apply(&policy("web", &by_weight(&[("m1", 1), ("m2", 2)])))
        .await;
    world.apply(&deployment("web", 9, "100m")).await;
    until_placed(&world, WEB, "m1=3 m2=6 Success").await;
    world
        .patch(
            "deployments",
            "default/web",
            json!({"spec": {"replicas": 10}}),
        )
        .await;
    until_placed(&world, WEB, "m1=3 m2=7 Success").await;
    world
        .apply(&policy("web", &by_weight(&[("m1", 2), ("m2", 1)])))
        .await;
    until_placed(&world, WEB, "m1=7 m2=3 Success").await;
}

#[tokio::test(start_paused = true)]
async fn what_finds_no_room_is_placed_when_there_is_some() {
    let world = World::build()
        .member(sized("m1", 1, "8", "16Gi"))
        // The sum alone: grades of nodes see no more than two processors beside so little memory.
        .settings(|settings| settings.scheduler.options.models = estimate::Models::Ignored)
        .start()
        .await;
    world.apply(&policy("ballast", &json!({}))).await;
    world.apply(&deployment("ballast", 5, "1")).await;
    world
        .until_is(
            "the ballast runs and is reported",
            2 * MINUTE,
            json!("5"),
            async || {
                let allocated = "status.resourceSummary.allocated.cpu";
                world.field("clusters", "m1", allocated).await
            },
        )
        .await;
    world.apply(&policy("web", &by_room())).await;
    world.apply(&deployment("web", 6, "1")).await;
    until_placed(&world, WEB, "Unschedulable").await;
    world.delete("deployments", "default/ballast").await;
    world
        .until_is("placed", 5 * MINUTE, json!("m1=6 Success"), async || {
            placed(&world, WEB).await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn where_no_cluster_is_allowed_the_condition_counts_why() {
    let world = World::with_members(2).await;
    let nowhere = json!({"clusterAffinity": {"clusterNames": ["m9"]}});
    world.apply(&policy("web", &nowhere)).await;
    world.apply(&deployment("web", 1, "1")).await;
    until_placed(&world, WEB, "NoClusterFit").await;
    let conditions = world
        .field("resourcebindings", WEB, "status.conditions")
        .await;
    let scheduled = conditions.as_array().and_then(|conditions| {
        conditions
            .iter()
            .find(|condition| condition["type"] == "Scheduled")
    });
    assert_eq!(
        scheduled.map(|scheduled| &scheduled["message"]),
        Some(&json!(
            "0/2 clusters are available: 2 cluster(s) did not match the placement cluster affinity constraint."
        ))
    );
}

#[tokio::test(start_paused = true)]
async fn groups_of_clusters_are_tried_in_order() {
    let world = World::with_members(2).await;
    let groups = json!({
        "clusterAffinities": [
            {"affinityName": "first", "clusterNames": ["m9"]},
            {"affinityName": "second", "clusterNames": ["m2"]},
        ],
    });
    world.apply(&policy("web", &groups)).await;
    world.apply(&deployment("web", 2, "1")).await;
    until_placed(&world, WEB, "m2=2 Success").await;
    let observed = world.field(
        "resourcebindings",
        WEB,
        "status.schedulerObservingAffinityName",
    );
    assert_eq!(observed.await, json!("second"));
}

#[tokio::test(start_paused = true)]
async fn two_replicas_on_a_cluster_to_go_move_to_the_other() {
    let world = World::with_members(2).await;
    world.apply(&policy("web", &by_room())).await;
    world.apply(&deployment("web", 6, "1")).await;
    until_placed(&world, WEB, "m1=3 m2=3 Success").await;
    world
        .unjoin("m1", &member::join::UnjoinOptions::new("m1"))
        .await;
    until_placed(&world, WEB, "m2=6 Success").await;
}

/// A kind with replicas, as its author would explain it.
const CRATES: &str = "
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: crates.shop.example}
    spec:
      group: shop.example
      names: {kind: Crate, plural: crates}
      scope: Namespaced
      versions:
      - name: v1
        served: true
        storage: true
        schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const CRATES_EXPLAINED: &str = "
    apiVersion: config.karmada.io/v1alpha1
    kind: ResourceInterpreterCustomization
    metadata: {name: crates}
    spec:
      target: {apiVersion: shop.example/v1, kind: Crate}
      customizations:
        replicaResource: {luaScript: 'function GetReplicas(o) return o.spec.replicas, nil end'}
        replicaRevision: {luaScript: 'function ReviseReplica(o, n) o.spec.replicas = n return o end'}
";

#[tokio::test(start_paused = true)]
async fn a_custom_object_is_divided_among_all_once_all_serve_its_kind() {
    for placement in [by_weight(&[("m1", 2), ("m2", 3)]), by_room()] {
        let world = World::with_members(2).await;
        world.apply(CRATES).await;
        world.apply(CRATES_EXPLAINED).await;
        world.member("m1").apply(CRATES).await;
        let policy = policy("box", &placement).replace(
            "apiVersion: apps/v1, kind: Deployment",
            "apiVersion: shop.example/v1, kind: Crate",
        );
        world.apply(&policy).await;
        world
            .apply("{apiVersion: shop.example/v1, kind: Crate, metadata: {name: box}, spec: {replicas: 5}}")
            .await;
        let replicas = async |member: &str| {
            let path = "spec.replicas";
            world
                .member(member)
                .field("crates", "default/box", path)
                .await
        };
        until_placed(&world, "default/box-crate", "m1=5 Success").await;
        world
            .until_is("it is in the one", MINUTE, json!(5), async || {
                replicas("m1").await
            })
            .await;
        // Whoever starts anew knows whom the division goes without.
        world.restart().await;
        world.member("m2").apply(CRATES).await;
        world
            .until("it is in both", MINUTE * 2, async || {
                let (here, there) = (replicas("m1").await, replicas("m2").await);
                here.as_i64().unwrap_or(5) < 5 && there.as_i64().unwrap_or(0) > 0
            })
            .await;
        let total = [replicas("m1").await, replicas("m2").await].map(|count| count.as_i64());
        assert_eq!(total.into_iter().flatten().sum::<i64>(), 5, "{total:?}");
        if placement != by_room() {
            until_placed(&world, "default/box-crate", "m1=2 m2=3 Success").await;
        }
    }
}

/// Four processors in one piece in m2, and in four pieces in m1.
async fn fragmented(is_counted: bool) -> World {
    let pieces = World::build()
        .member(sized("m1", 4, "1", "4Gi"))
        .member(sized("m2", 1, "8", "16Gi"));
    let settled = pieces.settings(|settings| {
        // The report's sum alone, which cannot see pieces.
        settings.scheduler.options.models = estimate::Models::Ignored;
        if is_counted {
            settings.ledgers = Some(Default::default());
            settings.scheduler.estimators = Some(EstimatorSettings::default());
        }
    });
    settled.start().await
}

#[tokio::test(start_paused = true)]
async fn counting_on_nodes_sees_that_room_in_pieces_is_none() {
    let summed = fragmented(false).await;
    summed.apply(&policy("web", &by_room())).await;
    summed.apply(&deployment("web", 3, "2")).await;
    until_placed(&summed, WEB, "m1=1 m2=2 Success").await;
    let counted = fragmented(true).await;
    counted.advance(MINUTE).await;
    counted.apply(&policy("web", &by_room())).await;
    counted.apply(&deployment("web", 3, "2")).await;
    until_placed(&counted, WEB, "m2=3 Success").await;
}

#[tokio::test(start_paused = true)]
async fn replicas_that_found_no_node_are_taken_back_and_placed_elsewhere() {
    let world = World::build()
        .member(sized("m1", 1, "8", "16Gi"))
        .member(sized("m2", 1, "8", "16Gi"))
        .settings(|settings| {
            settings.scheduler.options.models = estimate::Models::Ignored;
            settings.ledgers = Some(Default::default());
            settings.descheduler = Some(DeschedulerSettings::default());
        })
        .start()
        .await;
    // Somebody fills m1 without a word to the control plane, just before a workload comes.
    world
        .member("m1")
        .apply(&deployment("stowaway", 8, "1"))
        .await;
    world.apply(&policy("web", &by_room())).await;
    world.apply(&deployment("web", 6, "1")).await;
    until_placed(&world, WEB, "m1=3 m2=3 Success").await;
    world
        .until_is("all six run", 15 * MINUTE, json!(6), async || {
            world
                .field("deployments", "default/web", "status.readyReplicas")
                .await
        })
        .await;
    // The scheduler drops the target that was left with nothing.
    assert_eq!(placed(&world, WEB).await, json!("m2=6 Success"));
    let events = world.list("events", "default").await;
    let told = events.iter().find(|event| {
        event.text_at(&["reason"]) == Some("DescheduleBindingSucceed")
            && event.text_at(&["involvedObject", "kind"]) == Some("ResourceBinding")
    });
    assert_eq!(
        told.and_then(|event| event.text_at(&["message"])),
        Some(
            "Binding has been descheduled, 3 replica(s) in cluster(m1), 3 total descheduled replica(s)"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_rebalancer_divides_anew_what_runs_where_it_was_put() {
    let world = World::build()
        .member(sized("m1", 1, "9", "36Gi"))
        .member(sized("m2", 1, "9", "36Gi"))
        .settings(|settings| settings.scheduler.options.models = estimate::Models::Ignored)
        .start()
        .await;
    let allocated = async |cluster: &str| {
        let field = "status.resourceSummary.allocated.cpu";
        world.field("clusters", cluster, field).await
    };
    let second = json!({"clusterAffinity": {"clusterNames": ["m2"]}});
    world.apply(&policy("ballast", &second)).await;
    world.apply(&deployment("ballast", 9, "1")).await;
    world
        .until_is("m2 is full", 2 * MINUTE, json!("9"), async || {
            allocated("m2").await
        })
        .await;
    world.apply(&policy("web", &by_room())).await;
    world.apply(&deployment("web", 9, "1")).await;
    until_placed(&world, WEB, "m1=9 Success").await;
    world.delete("deployments", "default/ballast").await;
    world
        .until("m1 is full and m2 is not", 5 * MINUTE, async || {
            allocated("m1").await == json!("9") && allocated("m2").await != json!("9")
        })
        .await;
    assert_eq!(placed(&world, WEB).await, json!("m1=9 Success"));
    world
        .apply(
            "
    apiVersion: apps.karmada.io/v1alpha1
    kind: WorkloadRebalancer
    metadata: {name: anew}
    spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}]}
",
        )
        .await;
    // Which of the two gets the odd one follows from the template's uid.
    world
        .until("both have their share", MINUTE, async || {
            let placed = placed(&world, WEB).await;
            placed == json!("m1=5 m2=4 Success") || placed == json!("m1=4 m2=5 Success")
        })
        .await;
    let observed = world
        .field("workloadrebalancers", "anew", "status.observedWorkloads")
        .await;
    assert_eq!(observed[0]["result"], json!("Successful"));
    // It goes when its time is over.
    let brief = json!({"spec": {"ttlSecondsAfterFinished": 5}});
    world.patch("workloadrebalancers", "anew", brief).await;
    world
        .until("it is gone", MINUTE, async || {
            world.get("workloadrebalancers", "anew").await.is_none()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn workloads_that_shall_be_apart_share_no_cluster() {
    let world = World::build()
        .members(2)
        .settings(|settings| {
            let gates = "WorkloadAffinity=true".parse().unwrap_or_default();
            settings.scheduler = scheduler::Settings::with_gates(&gates);
            settings.controllers.gates = gates;
        })
        .start()
        .await;
    let placement = json!({
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
        "workloadAffinity": {"antiAffinity": {"groupByLabelKey": "team"}},
    });
    for (name, expected) in [
        ("a", "m1=1 Success"),
        ("b", "m2=1 Success"),
        ("c", "NoClusterFit"),
    ] {
        let labelled = deployment(name, 1, "1").replacen("labels: {", "labels: {team: blue, ", 1);
        world.apply(&policy(name, &placement)).await;
        world.apply(&labelled).await;
        until_placed(&world, &format!("default/{name}-deployment"), expected).await;
    }
}

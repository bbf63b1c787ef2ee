//! Taints that drive workloads away: what has to be switched on for it, and how they go.

use std::time::Duration;

use member::join::UnjoinOptions;
use object::Value;
use world::{World, json};

use crate::{SOON, WEB, figures::metrics, seconds};

/// One cluster out of all, with tolerations and further fields of the policy.
fn one_of_all(tolerations: &str, more: &str) -> String {
    format!(
        "
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {{name: web}}
        spec:
          resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
          placement:
            clusterTolerations: [{tolerations}]
            spreadConstraints: [{{spreadByField: cluster, minGroups: 1, maxGroups: 1}}]
          {more}
        "
    )
}

/// What is switched on.
#[derive(Clone, Copy)]
struct Switches {
    gate: bool,
    eviction: bool,
}

async fn running(switches: Switches, policy: &str) -> (World, String) {
    let world = World::build()
        .members(2)
        .settings(|settings| {
            if switches.gate {
                let gates = "Failover=true".parse();
                settings.controllers.gates = gates.expect("the gate is one");
            }
            settings.controllers.eviction.heeds_taints = switches.eviction;
        })
        .start()
        .await;
    world.apply(policy).await;
    world.apply(WEB).await;
    let mut place = String::new();
    world
        .until("it runs somewhere", SOON, async || {
            place = clusters(&world).await.join(",");
            ["m1", "m2"].contains(&place.as_str()) && is_healthy(&world, &place).await
        })
        .await;
    (world, place)
}

async fn clusters(world: &World) -> Vec<String> {
    let binding = world
        .field(
            "resourcebindings",
            "default/web-deployment",
            "spec.clusters",
        )
        .await;
    let targets = binding.as_array().cloned().unwrap_or_default();
    let name = |target: &Value| target["name"].as_str().unwrap_or_default().to_owned();
    targets.iter().map(name).collect()
}

async fn is_healthy(world: &World, cluster: &str) -> bool {
    let path = format!("status.aggregatedStatus.clusterName={cluster}.health");
    let health = world
        .field("resourcebindings", "default/web-deployment", &path)
        .await;
    health == json!("Healthy")
}

/// The clusters that are being left; null for none.
async fn tasks(world: &World) -> Value {
    let binding = "default/web-deployment";
    let path = "spec.gracefulEvictionTasks";
    match world.field("resourcebindings", binding, path).await {
        Value::Array(tasks) if tasks.is_empty() => Value::Null,
        tasks => tasks,
    }
}

async fn taint(world: &World, cluster: &str) {
    let taint = json!([{"key": "broken", "effect": "NoExecute"}]);
    let patch = json!({"spec": {"taints": taint}});
    world.patch("clusters", cluster, patch).await;
}

fn other(place: &str) -> &'static str {
    if place == "m1" { "m2" } else { "m1" }
}

#[tokio::test(start_paused = true)]
async fn c23_taints_move_nothing_unless_everything_is_switched_on() {
    for (gate, eviction) in [(false, false), (true, false), (false, true)] {
        let switches = Switches { gate, eviction };
        let (world, place) = running(switches, &one_of_all("", "")).await;
        taint(&world, &place).await;
        world
            .stays("nothing moves", seconds(60), async || {
                clusters(&world).await == [place.clone()] && tasks(&world).await.is_null()
            })
            .await;
    }
}

const ON: Switches = Switches {
    gate: true,
    eviction: true,
};

#[tokio::test(start_paused = true)]
async fn c24_a_taint_is_borne_as_long_as_the_toleration_says() {
    let tolerated = "{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 60}";
    let (world, place) = running(ON, &one_of_all(tolerated, "")).await;
    taint(&world, &place).await;
    world
        .stays("it is borne", seconds(55), async || {
            clusters(&world).await == [place.clone()]
        })
        .await;
    world
        .until("it is left", seconds(10), async || {
            clusters(&world).await != [place.clone()]
        })
        .await;
    let tasks = tasks(&world).await;
    assert_eq!(tasks[0]["fromCluster"], json!(place), "{tasks}");
    assert_eq!(tasks[0]["reason"], "TaintUntolerated");
    assert_eq!(tasks[0]["producer"], "TaintManager");
}

#[tokio::test(start_paused = true)]
async fn c25_a_copy_stays_until_its_replacement_is_healthy() {
    let (world, place) = running(ON, &one_of_all("", "")).await;
    let other = other(&place);
    // The replacement does not come up for a while.
    world.member(other).faults().cut_off(true);
    taint(&world, &place).await;
    world
        .until("it is to go elsewhere", SOON, async || {
            clusters(&world).await == [other.to_owned()]
        })
        .await;
    world
        .stays("the old copy stays", seconds(25), async || {
            let old = world.member(&place).get("deployments", "default/web").await;
            old.is_some()
        })
        .await;
    world.member(other).faults().heal();
    world
        .until("the old copy goes", seconds(120), async || {
            let old = world.member(&place).get("deployments", "default/web").await;
            old.is_none() && tasks(&world).await.is_null()
        })
        .await;
    assert!(is_healthy(&world, other).await);
    for kind in ["ResourceBinding", "Deployment"] {
        let told = async || {
            let events = world.list("events", "").await;
            events.iter().any(|event| {
                event.text_at(&["involvedObject", "kind"]) == Some(kind)
                    && event.text_at(&["reason"]) == Some("EvictWorkloadFromClusterSucceed")
            })
        };
        world.until(kind, SOON, told).await;
    }
}

#[tokio::test(start_paused = true)]
async fn c25_a_copy_that_is_held_stays_until_it_is_released() {
    let limited = one_of_all("", "").replace(
        "clusterTolerations",
        "clusterAffinity: {clusterNames: [m1]}\n            clusterTolerations",
    );
    let (world, _) = running(ON, &limited).await;
    taint(&world, "m1").await;
    world
        .until("it is to go", SOON, async || tasks(&world).await.is_array())
        .await;
    let hold = async |held: bool| {
        let mut tasks = tasks(&world).await;
        tasks[0]["suppressDeletion"] = json!(held);
        let patch = json!({"spec": {"gracefulEvictionTasks": tasks}});
        world
            .patch("resourcebindings", "default/web-deployment", patch)
            .await;
    };
    let is_there = async || {
        let copy = world.member("m1").get("deployments", "default/web").await;
        copy.is_some()
    };
    hold(true).await;
    world.stays("it is held", seconds(15 * 60), is_there).await;
    hold(false).await;
    world
        .until("it goes at once", seconds(10), async || !is_there().await)
        .await;
}

#[tokio::test(start_paused = true)]
async fn c25_a_copy_that_nothing_replaces_goes_when_its_time_is_up() {
    let limited = one_of_all("", "").replace(
        "clusterTolerations",
        "clusterAffinity: {clusterNames: [m1]}\n            clusterTolerations",
    );
    let (world, place) = running(ON, &limited).await;
    taint(&world, &place).await;
    let is_there = async || {
        world
            .member("m1")
            .get("deployments", "default/web")
            .await
            .is_some()
    };
    world
        .until("it is to go", SOON, async || !tasks(&world).await.is_null())
        .await;
    world.stays("it stays", seconds(9 * 60), is_there).await;
    world
        .until("it goes", seconds(120), async || !is_there().await)
        .await;
}

/// What waits for a cluster that is gone waits for nothing, and would keep away from the one that joins by its name.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_joins_again_takes_what_had_to_leave_it() {
    let limited = one_of_all("", "").replace(
        "clusterTolerations",
        "clusterAffinity: {clusterNames: [m1]}\n            clusterTolerations",
    );
    let (world, place) = running(ON, &limited).await;
    taint(&world, &place).await;
    world
        .until("it is to go", SOON, async || !tasks(&world).await.is_null())
        .await;
    let options = UnjoinOptions {
        wait: seconds(120),
        force: true,
        ..UnjoinOptions::new("m1")
    };
    world.unjoin("m1", &options).await;
    assert_eq!(world.get("clusters", "m1").await, None);
    world
        .until("nothing is left to wait for", SOON, async || {
            tasks(&world).await.is_null()
        })
        .await;
    world.join("m1").await;
    world
        .until("it runs there again", SOON, async || {
            clusters(&world).await == ["m1"] && is_healthy(&world, "m1").await
        })
        .await;
}

/// What a copy needs is there for as long as the copy is.
#[tokio::test(start_paused = true)]
async fn a_copy_that_stays_for_a_while_keeps_what_it_needs() {
    let limited = one_of_all("", "propagateDeps: true").replace(
        "clusterTolerations",
        "clusterAffinity: {clusterNames: [m1]}\n            clusterTolerations",
    );
    let (world, place) = running(ON, &limited).await;
    let m1 = world.member("m1");
    world.apply(&crate::config_map("settings", "a")).await;
    let needs = json!({"spec": {"template": {"spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}}});
    world.patch("deployments", "default/web", needs).await;
    let has = async |kind: &str, name: &str| m1.get(kind, name).await.is_some();
    let settings = "default/settings";
    world
        .until("it has what it needs", SOON, async || {
            has("configmaps", settings).await && is_healthy(&world, "m1").await
        })
        .await;
    taint(&world, &place).await;
    world
        .until("it is to go", SOON, async || !tasks(&world).await.is_null())
        .await;
    world
        .stays("both stay", seconds(9 * 60), async || {
            has("configmaps", settings).await && has("deployments", "default/web").await
        })
        .await;
    // What is written meanwhile still comes.
    let data = json!({"data": {"value": "b"}});
    world.patch("configmaps", settings, data).await;
    world
        .until_is("it is up to date", seconds(20), json!("b"), async || {
            m1.field("configmaps", settings, "data.value").await
        })
        .await;
    world
        .until("both go", seconds(120), async || {
            !has("configmaps", settings).await && !has("deployments", "default/web").await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c26_a_copy_that_goes_directly_is_gone_before_the_next_comes() {
    let directly = "failover: {cluster: {purgeMode: Directly}}";
    let (world, place) = running(ON, &one_of_all("", directly)).await;
    taint(&world, &place).await;
    let other = other(&place);
    let mut both = 0;
    world
        .until("it has moved", SOON, async || {
            let old = world.member(&place).get("deployments", "default/web").await;
            let new = world.member(other).get("deployments", "default/web").await;
            both += usize::from(old.is_some() && new.is_some());
            old.is_none() && new.is_some()
        })
        .await;
    assert_eq!(both, 0, "no two copies at once");
}

/// A whole cluster does not leave at once: three workers take one every two seconds each.
#[tokio::test(start_paused = true)]
async fn workloads_leave_a_tainted_cluster_at_the_rate_that_was_set() {
    let world = World::build()
        .members(2)
        .settings(|settings| {
            settings.controllers.gates = "Failover=true".parse().expect("the gate is one");
            settings.controllers.eviction.heeds_taints = true;
            settings.controllers.eviction.rest = Duration::from_secs(10);
        })
        .start()
        .await;
    let policy = one_of_all("", "").replace("maxGroups: 1}", "maxGroups: 2}");
    world.apply(&policy).await;
    for number in 0..9 {
        let name = format!("name: web-{number}");
        world.apply(&WEB.replacen("name: web", &name, 1)).await;
    }
    // How many bindings name so many clusters.
    let count = async |clusters: usize| {
        let bindings = world.list("resourcebindings", "default").await;
        let names = |binding: &&object::Object| {
            let named = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
            named.is_some_and(|named| named.len() == clusters)
        };
        bindings.iter().filter(names).count()
    };
    world
        .until("all are placed", SOON, async || count(2).await == 9)
        .await;
    taint(&world, "m1").await;
    for left in [3, 6, 9] {
        world.advance(seconds(5)).await;
        assert_eq!(count(1).await, left);
        let waiting =
            "eviction_kind_total{member_cluster=\"m1\",resource_kind=\"ResourceBinding\"}";
        let figures = metrics(&world).await;
        let told = figures.lines().find_map(|line| line.strip_prefix(waiting));
        let expected = (left < 9).then(|| format!(" {}", 9 - left));
        assert_eq!(told, expected.as_deref());
        world.advance(seconds(5)).await;
    }
}

/// A taint that goes before anybody has taken over leaves the workload as it is, and the scheduler has nothing to mourn.
#[tokio::test(start_paused = true)]
async fn a_taint_that_is_lifted_in_time_leaves_the_workload_where_it_is() {
    let divided = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}";
    for strategy in [
        "replicaScheduling: {replicaSchedulingType: Duplicated}",
        divided,
    ] {
        let limited = one_of_all("", "").replace(
            "clusterTolerations",
            &format!(
                "clusterAffinity: {{clusterNames: [m1]}}\n            {strategy}\n            clusterTolerations"
            ),
        );
        let (world, _) = running(ON, &limited).await;
        let uid = async || {
            world
                .member("m1")
                .field("deployments", "default/web", "metadata.uid")
                .await
        };
        let before = uid().await;
        taint(&world, "m1").await;
        let binding = "default/web-deployment";
        world
            .until("it finds no other place", SOON, async || {
                let scheduled = world
                    .condition("resourcebindings", binding, "Scheduled")
                    .await;
                !tasks(&world).await.is_null() && scheduled.starts_with("False")
            })
            .await;
        world
            .patch("clusters", "m1", json!({"spec": {"taints": null}}))
            .await;
        world
            .until("it stays after all", SOON, async || {
                let scheduled = world
                    .condition("resourcebindings", binding, "Scheduled")
                    .await;
                clusters(&world).await == ["m1"]
                    && tasks(&world).await.is_null()
                    && scheduled.starts_with("True")
            })
            .await;
        world
            .stays("the copy is the same", seconds(15 * 60), async || {
                uid().await == before
            })
            .await;
    }
}

/// A Job that is done would be done again elsewhere.
#[tokio::test(start_paused = true)]
async fn a_finished_job_is_not_run_again_because_its_cluster_is_tainted() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: default}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
    let world = World::build()
        .members(2)
        .settings(|settings| {
            settings.controllers.gates = "Failover=true".parse().expect("the gate is one");
            settings.controllers.eviction.heeds_taints = true;
        })
        .start()
        .await;
    let policy = one_of_all("", "").replace("apps/v1, kind: Deployment", "batch/v1, kind: Job");
    world.apply(&policy).await;
    world.apply(job).await;
    let binding = "default/web-job";
    let place = async || {
        let path = "spec.clusters.0.name";
        world.field("resourcebindings", binding, path).await
    };
    world
        .until("it is placed", SOON, async || place().await.is_string())
        .await;
    let first = place().await;
    let here = first.as_str().unwrap_or_default().to_owned();
    world
        .until("it is done", SOON * 10, async || {
            world
                .condition("jobs", "default/web", "Complete")
                .await
                .starts_with("True")
        })
        .await;
    taint(&world, &here).await;
    world
        .stays("nobody runs it again", seconds(15 * 60), async || {
            let elsewhere = world.member(other(&here)).get("jobs", "default/web").await;
            place().await == first && elsewhere.is_none()
        })
        .await;
}

/// Policies may put such taints on clusters only where the administrator lets them.
#[tokio::test(start_paused = true)]
async fn c30_policies_put_taints_that_drive_away_only_where_that_is_allowed() {
    let policy = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: p}, spec: {addOnConditions: [{conditionType: Ready, operator: In, statusValues: ['False']}], taints: [{key: broken, effect: NoExecute}]}}";
    for allowed in [false, true] {
        let world = World::build()
            .settings(|settings| settings.allows_no_execute_policies = allowed)
            .start()
            .await;
        let tried = world.try_apply(policy).await;
        assert_eq!(tried.is_ok(), allowed, "{tried:?}");
        if let Err(error) = tried {
            assert!(error.to_string().contains("spec.taints[0]"), "{error}");
        }
    }
}

/// What a condition is not said to be it is only once somebody says what it is.
#[tokio::test(start_paused = true)]
async fn c30_and_p14_a_condition_that_is_not_there_is_in_no_state() {
    let world = World::build()
        .members(1)
        .settings(|settings| {
            let gates = "Failover=true".parse();
            settings.controllers.gates = gates.expect("the gate is one");
        })
        .start()
        .await;
    world
        .apply("{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: p}, spec: {addOnConditions: [{conditionType: DnsReady, operator: NotIn, statusValues: ['True']}], taints: [{key: dns, effect: NoSchedule}]}}")
        .await;
    let is_tainted = async || {
        let taints = world.field("clusters", "m1", "spec.taints").await;
        taints.to_string().contains("dns")
    };
    world
        .stays("nothing is known", SOON, async || !is_tainted().await)
        .await;
    let mut conditions = world.field("clusters", "m1", "status.conditions").await;
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.push(
            json!({"type": "DnsReady", "status": "Unknown", "reason": "Test", "message": "",
                               "lastTransitionTime": world.now().to_string()}),
        );
    }
    let status = json!({"status": {"conditions": conditions}});
    world.patch_status("clusters", "m1", status).await;
    world.until("it is tainted", SOON, is_tainted).await;
    // And stays so when the policy goes.
    world.delete("clustertaintpolicies", "p").await;
    world.stays("it is still tainted", SOON, is_tainted).await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_policy_is_gone_moves_on_like_any_other() {
    for purge in ["Gracefully", "Directly"] {
        let more = format!("failover: {{cluster: {{purgeMode: {purge}}}}}");
        let (world, place) = running(ON, &one_of_all("", &more)).await;
        let next = other(&place);
        world.delete("propagationpolicies", "default/web").await;
        let claim = "propagationpolicy.karmada.io/permanent-id";
        world
            .until("nobody claims the binding", SOON, async || {
                let binding = world.get("rb", "default/web-deployment").await;
                binding.is_some_and(|binding| binding.label(claim).is_none())
            })
            .await;
        let edit = json!({"metadata": {"annotations": {"edited": "yes"}}});
        world.patch("deployments", "default/web", edit).await;
        taint(&world, &place).await;
        world
            .until("it runs elsewhere", SOON, async || {
                clusters(&world).await == [next] && is_healthy(&world, next).await
            })
            .await;
        let copy = world.member(next).get("deployments", "default/web").await;
        let copy = copy.unwrap_or_else(|| panic!("{purge}: {next} has no copy"));
        assert_eq!(copy.annotation("edited"), Some("yes"), "{purge}");
        world
            .until("the old copy has gone", SOON, async || {
                let old = world.member(&place).get("deployments", "default/web");
                old.await.is_none() && tasks(&world).await.is_null()
            })
            .await;
    }
}

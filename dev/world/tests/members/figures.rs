//! What the control plane tells about members in `/metrics`.

use http::Request;
use http_body_util::BodyExt as _;
use scheduler::estimator::EstimatorSettings;
use world::{World, json, sized};

use crate::{SOON, WEB, config_map, everywhere};

/// What `/metrics` says.
pub(crate) async fn metrics(world: &World) -> String {
    let request = Request::builder()
        .uri("/metrics")
        .body(client::Body::empty())
        .expect("the path is a path");
    let response = world.client().send(request).await;
    let response = response.unwrap_or_else(|error| panic!("{error}"));
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until all lines are there.
async fn shows(world: &World, lines: &[&str]) {
    for line in lines {
        world
            .until(line, SOON, async || {
                metrics(world).await.lines().any(|have| have == *line)
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn c40_members_are_in_the_figures_until_they_are_gone() {
    let world = World::with_members(2).await;
    shows(
        &world,
        &[
            "cluster_ready_state{member_cluster=\"m1\"} 1",
            "cluster_node_number{member_cluster=\"m1\"} 3",
            "cluster_ready_node_number{member_cluster=\"m1\"} 3",
            "cluster_cpu_allocatable_number{member_cluster=\"m1\"} 24",
            "cluster_memory_allocatable_bytes{member_cluster=\"m1\"} 51539607552",
            "cluster_pod_allocatable_number{member_cluster=\"m1\"} 330",
            "cluster_pod_allocated_number{member_cluster=\"m1\"} 0",
        ],
    )
    .await;
    assert!(metrics(&world).await.contains(
        "cluster_sync_status_duration_seconds_bucket{member_cluster=\"m1\",le=\"0.005\"}"
    ));
    world.member("m1").faults().cut_off(true);
    shows(&world, &["cluster_ready_state{member_cluster=\"m1\"} 0"]).await;
    world.member("m1").faults().heal();
    world.until_ready("m1").await;
    world
        .unjoin("m1", &member::join::UnjoinOptions::new("m1"))
        .await;
    world
        .until("its figures are gone", SOON, async || {
            !metrics(&world).await.contains("member_cluster=\"m1\"")
        })
        .await;
    shows(&world, &["cluster_ready_state{member_cluster=\"m2\"} 1"]).await;
}

#[tokio::test(start_paused = true)]
async fn c40_what_is_brought_to_members_is_counted() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    let value = async || m1.field("configmaps", "default/a", "data.value").await;
    world.until_is("it is there", SOON, json!("1"), value).await;
    world
        .patch("configmaps", "default/a", json!({"data": {"value": "2"}}))
        .await;
    world.until_is("it changes", SOON, json!("2"), value).await;
    m1.delete("configmaps", "default/a").await;
    world
        .until_is("it comes back", SOON, json!("2"), value)
        .await;
    world.delete("configmaps", "default/a").await;
    world.until_is("it goes", SOON, json!(null), value).await;
    let about = "apiversion=\"v1\",kind=\"ConfigMap\",member_cluster=\"m1\"";
    let line = |name: &str, more: &str| format!("{name}{{result=\"success\",{about}{more}}}");
    for line in [
        line("create_resource_to_cluster", ",recreate=\"false\""),
        line("create_resource_to_cluster", ",recreate=\"true\""),
        line("update_resource_to_cluster", ",operationResult=\"updated\""),
        line("delete_resource_from_cluster", ""),
    ] {
        world
            .until(&line, SOON, async || metrics(&world).await.contains(&line))
            .await;
    }
    let text = metrics(&world).await;
    for name in [
        "work_sync_workload_duration_seconds_count{result=\"success\"}",
        "binding_sync_work_duration_seconds_count{result=\"success\"}",
        "resource_match_policy_duration_seconds_count ",
        "resource_apply_policy_duration_seconds_count{result=\"success\"}",
        "policy_apply_attempts_total{result=\"success\"}",
        "karmada_build_info{git_version=\"v",
        "pool_get_operation_total{name=\"luavm\",from=\"new\"}",
        "pool_put_operation_total{name=\"luavm\",to=\"pool\"}",
        "controller_runtime_reconcile_total{controller=\"execution\",result=\"success\"}",
        "workqueue_depth{name=\"binding\",controller=\"binding\"} 0",
        "workqueue_queue_duration_seconds_sum{name=\"binding\",controller=\"binding\"}",
        "workqueue_work_duration_seconds_sum{name=\"binding\",controller=\"binding\"}",
        "karmada_scheduler_schedule_attempts_total{result=\"scheduled\"",
        "leader_election_master_status{name=\"karavel-controllers\"} 1",
        "leader_election_master_status{name=\"karavel-apiserver\"} 1",
    ] {
        assert!(text.contains(name), "{name}\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_estimators_in_the_process_answer_is_counted_once_for_all_members() {
    let world = World::build()
        .member(sized("m1", 1, "8", "16Gi"))
        .member(sized("m2", 1, "8", "16Gi"))
        .settings(|settings| {
            settings.ledgers = Some(Default::default());
            settings.scheduler.estimators = Some(EstimatorSettings::default());
        })
        .start()
        .await;
    let policy = "
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {name: web}
        spec:
          resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
          placement:
            replicaScheduling:
              replicaSchedulingType: Divided
              replicaDivisionPreference: Weighted
              weightPreference: {dynamicWeight: AvailableReplicas}
    ";
    world.apply(policy).await;
    world.apply(WEB).await;
    let answered = "karmada_scheduler_estimator_estimating_request_total{result=\"success\",type=\"MaxAvailableReplicas\"} ";
    let count = async || {
        let text = metrics(&world).await;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(answered));
        let count = lines.next().and_then(|count| count.parse::<u64>().ok());
        assert_eq!(lines.next(), None, "a figure is told once");
        count.unwrap_or_default()
    };
    world
        .until("both members were asked", SOON, async || count().await >= 2)
        .await;
}

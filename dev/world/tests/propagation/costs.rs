//! What one template costs the control plane, in requests: counted, so that a write too many is seen at once.
//! Why some of them wait or give way: docs/adr/0033-what-a-template-costs.md.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;

use crate::stage::{CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, config_map, deployment, on, policy};

/// The requests there were so far that look at or change single objects, by what they do: `PATCH works/status`.
async fn requests(stage: &Stage) -> BTreeMap<String, u64> {
    let client = stage.client();
    let bytes = client.request(Method::GET, "/metrics", "text/plain", Bytes::new());
    let text = String::from_utf8(bytes.await.unwrap().to_vec()).unwrap();
    let mut requests = BTreeMap::new();
    for line in text.lines() {
        let Some(line) = line.strip_prefix("apiserver_request_total{") else {
            continue;
        };
        let (labels, count) = line.rsplit_once("} ").unwrap();
        let label = |name: &str| {
            let found = labels.split(&format!("{name}=\"")).nth(1).unwrap_or("");
            found.split('"').next().unwrap_or("").to_owned()
        };
        let verb = label("verb");
        if ["LIST", "WATCH"].contains(&verb.as_str()) {
            continue;
        }
        let mut what = format!("{verb} {}", label("resource"));
        if !label("subresource").is_empty() {
            what = format!("{what}/{}", label("subresource"));
        }
        *requests.entry(what).or_default() += count.parse::<u64>().unwrap_or_default();
    }
    requests
}

/// Compares what happened since `before` with what may happen at most; whatever is not named may not happen at all.
async fn check(stage: &Stage, before: &BTreeMap<String, u64>, most: &[(&str, u64)]) {
    let after = requests(stage).await;
    let mut spent: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, count) in &after {
        let count = count - before.get(what).copied().unwrap_or_default();
        // Clusters, nodes and leases go on whatever is propagated.
        let is_of_clusters = ["leases", "clusters", " /"]
            .iter()
            .any(|kind| what.contains(kind));
        if count > 0 && !is_of_clusters {
            spent.insert(what, count);
        }
    }
    for (what, count) in &spent {
        let most = most.iter().find(|(name, _)| name == what);
        let most = most.map_or(0, |(_, most)| *most);
        assert!(
            *count <= most,
            "{what}: {count}, at most {most} are needed\n{spent:#?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_on_two_members_takes_few_requests() {
    let stage = Stage::with(2).await;
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1, m2"))).await;
    // The first of its kind makes members' caches look, which later ones do not.
    stage.apply(&deployment("first", 2)).await;
    stage
        .template("deployments", "test/first")
        .shows("status.readyReplicas", 4)
        .await;
    stage.advance(SOON).await;
    let before = requests(&stage).await;
    stage.try_create(&deployment("web", 2)).await.unwrap();
    stage.advance(SOON).await;
    check(
        &stage,
        &before,
        &[
            ("POST deployments", 1),
            // The claim.
            ("PATCH deployments", 1),
            // Members report that it is there and its pods are made, and that they are ready.
            ("PATCH deployments/status", 2),
            ("POST resourcebindings", 1),
            ("PATCH resourcebindings/placing", 1),
            ("PATCH resourcebindings/status", 2),
            ("POST works", 2),
            ("PATCH works/status", 4),
            // On the template ApplyPolicySucceed, ScheduleBindingSucceed, SyncWorkSucceed and SyncSucceed of each member; and,
            // while there are few of them, the steps: GetReplicasSucceed, ScheduleBindingSucceed on the binding,
            // AggregateStatusSucceed twice, and of each work SyncSucceed, WorkDispatching, ReflectStatusSucceed and
            // InterpretHealthSucceed.
            ("POST events", 5 + 4 + 8),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_config_map_on_two_members_takes_few_requests() {
    let stage = Stage::with(2).await;
    stage.apply(&policy("p", CONFIG_MAPS, &on("m1, m2"))).await;
    stage.apply(&config_map("first", "{a: b}")).await;
    stage.copy("m2", "configmaps", "test/first").comes().await;
    stage.advance(SOON).await;
    let before = requests(&stage).await;
    stage
        .try_create(&config_map("second", "{a: b}"))
        .await
        .unwrap();
    stage.advance(SOON).await;
    check(
        &stage,
        &before,
        &[
            ("POST configmaps", 1),
            ("PATCH configmaps", 1),
            ("POST resourcebindings", 1),
            ("PATCH resourcebindings/placing", 1),
            ("PATCH resourcebindings/status", 1),
            ("POST works", 2),
            ("PATCH works/status", 2),
            // Steps: ScheduleBindingSucceed on the binding, AggregateStatusSucceed twice, and of each work SyncSucceed,
            // WorkDispatching and InterpretHealthSucceed.
            ("POST events", 5 + 3 + 6),
        ],
    )
    .await;
}

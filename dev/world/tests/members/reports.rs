//! What a cluster's status says of its member.

use http::StatusCode;
use object::Value;
use world::{World, config, json, sized};

use crate::faults::latency;
use crate::{SOON, config_map, everywhere, seconds};

#[tokio::test(start_paused = true)]
async fn c13_an_api_that_is_away_takes_no_other_with_it() {
    let world = World::with_members(1).await;
    let groups = async || {
        let listed = world.field("clusters", "m1", "status.apiEnablements").await;
        let listed = listed.as_array().cloned().unwrap_or_default();
        let name = |entry: &Value| {
            entry["groupVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        listed.iter().map(name).collect::<Vec<String>>()
    };
    let before = groups().await;
    assert!(before.contains(&"apps/v1".to_owned()), "{before:?}");
    let complete = async || {
        json!(
            world
                .condition("clusters", "m1", "CompleteAPIEnablements")
                .await
        )
    };
    assert_eq!(complete().await, json!("True Complete"));
    // One group is announced and cannot be read; then a whole half of discovery cannot.
    let m1 = world.member("m1");
    for path in ["/apis/apps/v1", "/api"] {
        m1.answer_with(path, Some(StatusCode::SERVICE_UNAVAILABLE));
        world
            .until_is(path, seconds(70), json!("False Partial"), complete)
            .await;
        assert_eq!(groups().await, before, "{path}");
        let ready = world.condition("clusters", "m1", "Ready").await;
        assert_eq!(ready, "True ClusterReady", "{path}");
        m1.answer_with(path, None);
        world
            .until_is(path, seconds(70), json!("True Complete"), complete)
            .await;
        assert_eq!(groups().await, before, "{path}");
    }
}

/// What a member does not say is not known to be gone.
#[tokio::test(start_paused = true)]
async fn p12_a_version_that_cannot_be_asked_for_stays_as_it_was() {
    let world = World::with_members(1).await;
    let version = async || {
        world
            .field("clusters", "m1", "status.kubernetesVersion")
            .await
    };
    let before = version().await;
    assert!(before.as_str().is_some_and(|text| text.starts_with("v1.")));
    let m1 = world.member("m1");
    m1.answer_with("/version", Some(StatusCode::INTERNAL_SERVER_ERROR));
    world
        .stays("it is still known", seconds(90), async || {
            version().await == before
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c14_a_node_is_counted_in_the_grade_of_what_is_free_on_it() {
    let world = World::build()
        .member(sized("m1", 1, "4", "40Gi"))
        .start()
        .await;
    world
        .member("m1")
        .apply(
            "
            apiVersion: v1
            kind: Pod
            metadata: {name: big}
            spec:
              containers:
              - {name: main, image: app, resources: {requests: {cpu: '1', memory: 20Gi}}}
            ",
        )
        .await;
    world
        .until_is(
            "the grade is 2",
            SOON,
            json!([0, 0, 1, 0, 0, 0, 0, 0, 0]),
            async || grades(&world).await,
        )
        .await;
    let summary = world
        .field("clusters", "m1", "status.resourceSummary")
        .await;
    assert_eq!(summary["allocated"]["cpu"], json!("1"), "{summary}");
    let nodes = world.field("clusters", "m1", "status.nodeSummary").await;
    assert_eq!(nodes, json!({"totalNum": 1, "readyNum": 1}));
}

/// How many nodes there are of each grade.
async fn grades(world: &World) -> Value {
    let path = "status.resourceSummary.allocatableModelings";
    let listed = world.field("clusters", "m1", path).await;
    let listed = listed.as_array().cloned().unwrap_or_default();
    Value::Array(listed.iter().map(|entry| entry["count"].clone()).collect())
}

#[tokio::test(start_paused = true)]
async fn p10_a_node_that_takes_no_more_pods_hides_no_other() {
    let world = World::build()
        .member(sized("m1", 3, "4", "40Gi"))
        .start()
        .await;
    let counted = async |what: &str, number: u32| {
        let all = json!([0, 0, 0, number, 0, 0, 0, 0, 0]);
        let found = async || grades(&world).await;
        world.until_is(what, SOON, all, found).await;
    };
    counted("all are counted", 3).await;
    let m1 = world.member("m1");
    let first = m1.names("nodes", "").await.remove(0);
    m1.faults().change(|state| {
        state.full_nodes.insert(first);
    });
    counted("the others are counted", 2).await;
}

#[tokio::test(start_paused = true)]
async fn p11_what_pods_begin_with_counts_for_each_of_them() {
    let world = World::build()
        .member(sized("m1", 1, "8", "40Gi"))
        .start()
        .await;
    for name in ["one", "two"] {
        world
            .member("m1")
            .apply(&format!(
                "
                apiVersion: v1
                kind: Pod
                metadata: {{name: {name}}}
                spec:
                  initContainers:
                  - {{name: first, image: app, resources: {{requests: {{cpu: '2'}}}}}}
                  containers:
                  - {{name: main, image: app, resources: {{requests: {{cpu: 500m}}}}}}
                "
            ))
            .await;
    }
    let path = "status.resourceSummary.allocated.cpu";
    let allocated = async || world.field("clusters", "m1", path).await;
    world
        .until_is("two for each", SOON, json!("4"), allocated)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_kind_is_known_within_seconds_and_works_that_waited_go_on() {
    let world = World::with_members(1).await;
    let crd = "
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: gadgets.shop.example}
        spec:
          group: shop.example
          names: {kind: Gadget, plural: gadgets}
          scope: Namespaced
          versions:
          - name: v1
            served: true
            storage: true
            schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    ";
    world.apply(crd).await;
    world
        .until("the kind is served here", SOON, async || {
            world.client().discover().await.is_ok_and(|found| {
                found
                    .resources
                    .iter()
                    .any(|found| found.resource.plural == "gadgets")
            })
        })
        .await;
    // A work for a kind that the member does not serve, as if its scheduling did not look.
    world
        .apply(
            "
            apiVersion: work.karmada.io/v1alpha1
            kind: Work
            metadata: {name: gadget, namespace: karmada-es-m1}
            spec:
              workload:
                manifests:
                - {apiVersion: shop.example/v1, kind: Gadget, metadata: {name: g, namespace: default}, spec: {size: 1}}
            ",
        )
        .await;
    world
        .until_is(
            "the work says what is missing",
            SOON,
            json!("False AppliedFailed"),
            async || {
                json!(
                    world
                        .condition("works", "karmada-es-m1/gadget", "Applied")
                        .await
                )
            },
        )
        .await;
    // Long enough that the work is tried but rarely.
    world.advance(seconds(900)).await;
    world.member("m1").apply(crd).await;
    let took = world
        .until("the object is there", seconds(10), async || {
            let found = world.member("m1").client().discover().await;
            let served = found.is_ok_and(|found| {
                found
                    .resources
                    .iter()
                    .any(|found| found.resource.plural == "gadgets")
            });
            served
                && world
                    .member("m1")
                    .get("gadgets", "default/g")
                    .await
                    .is_some()
        })
        .await;
    assert!(took < seconds(5), "{took:?}");
    world
        .until("the status lists it", seconds(5), async || {
            let listed = world.field("clusters", "m1", "status.apiEnablements").await;
            listed.to_string().contains("shop.example/v1")
        })
        .await;
}

/// Counted whole, and a small neighbour gets its changes as fast as ever meanwhile.
#[tokio::test(start_paused = true)]
async fn a_member_of_five_thousand_nodes_is_counted_and_slows_no_neighbour() {
    let mut large = sized("m1", 5_000, "8", "16Gi");
    // Their signs of life cost the simulator more than all else and are not what this is about.
    large.heartbeat = 300;
    let world = World::build()
        .member(large)
        .member(config("m2"))
        .unready()
        .start()
        .await;
    world.until_ready("m2").await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'0'")).await;
    world
        .until("the neighbour has it", SOON, async || {
            world
                .member("m2")
                .get("configmaps", "default/a")
                .await
                .is_some()
        })
        .await;
    for round in 1..6 {
        let late = latency(&world, "m2", round).await;
        assert!(late < seconds(1), "{late:?}");
    }
    world
        .until_is(
            "all nodes are counted",
            seconds(120),
            json!({"totalNum": 5000, "readyNum": 5000}),
            async || world.field("clusters", "m1", "status.nodeSummary").await,
        )
        .await;
    let cpu = world
        .field("clusters", "m1", "status.resourceSummary.allocatable.cpu")
        .await;
    assert_eq!(cpu, json!("40k"));
}

//! What `simulate` says of each cluster, against what its member then has.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::time::Duration;

use cli::{Manifest, Supposition, simulate};
use object::Value;
use world::World;

const SOON: Duration = Duration::from_secs(60);
const MEMBERS: [&str; 2] = ["m1", "m2"];
const WEB: &str = "default/web";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
";

fn policy(clusters: &str) -> String {
    format!(
        "
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: p}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
  placement: {{clusterAffinity: {{clusterNames: [{clusters}]}}}}
"
    )
}

/// An override for m1 of one operation.
fn overriding(operation: &str) -> String {
    format!(
        "
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {{name: o}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
  overrideRules:
    - targetCluster: {{clusterNames: [m1]}}
      overriders: {{plaintext: [{operation}]}}
"
    )
}

async fn ask(world: &World, supposed: Supposition) -> Value {
    let supposed = Supposition {
        json: true,
        ..supposed
    };
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let answer = simulate(admin.client(), &supposed, world.now()).await;
    let answer = answer.unwrap();
    assert!(answer.failure.is_none(), "{:?}", answer.failure);
    serde_json::from_str(&answer.text).unwrap()
}

fn supposing(yaml: &str) -> Supposition {
    Supposition {
        manifests: Manifest::parse("f.yaml", yaml).unwrap(),
        ..Supposition::default()
    }
}

/// What would become of the Deployment: `m1 created 0 -> 2, m2 stays 2 -> 2`, and what else is said of it.
async fn foretold(world: &World, yaml: &str) -> (String, String) {
    told_of(&ask(world, supposing(yaml)).await)
}

/// The same, of what nobody has doubts about.
async fn foretold_surely(world: &World, yaml: &str) -> String {
    let told = ask(world, supposing(yaml)).await;
    let doubts = told["doubts"].as_array();
    assert!(doubts.is_some_and(Vec::is_empty), "{told:#}");
    told_of(&told).0
}

fn told_of(told: &Value) -> (String, String) {
    let templates = told["templates"].as_array().unwrap();
    let found = templates
        .iter()
        .find(|template| template["kind"] == "Deployment");
    let Some(found) = found else {
        return Default::default();
    };
    let clusters = found["clusters"].as_array().unwrap().iter();
    let clusters: Vec<String> = clusters
        .map(|cluster| {
            let count = |field: &str| cluster[field].as_i64().unwrap_or_default();
            let (name, action) = (&cluster["name"], &cluster["action"]);
            let (before, after) = (count("replicasBefore"), count("replicasAfter"));
            format!(
                "{} {} {before} -> {after}",
                name.as_str().unwrap(),
                action.as_str().unwrap()
            )
        })
        .collect();
    (clusters.join(", "), found["remarks"].to_string())
}

/// The replicas that members have: `m1 5, m2 2`.
async fn replicas(world: &World) -> String {
    let mut found = Vec::new();
    for member in MEMBERS {
        if let Some(object) = world.member(member).get("deployments", WEB).await {
            let count = object.integer_at(&["spec", "replicas"]).unwrap();
            found.push(format!("{member} {count}"));
        }
    }
    found.join(", ")
}

async fn until_replicas(world: &World, expected: &str) {
    let is_so = async || replicas(world).await == expected;
    world.until(expected, SOON, is_so).await;
}

#[tokio::test(start_paused = true)]
async fn replicas_are_counted_as_overrides_leave_them() {
    let world = World::with_members(MEMBERS).await;
    let five = overriding("{path: /spec/replicas, operator: replace, value: 5}");
    let three = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    for (change, expected, then) in [
        (
            DEPLOYMENT.to_owned() + &policy("m1, m2") + &five,
            "m1 created 0 -> 5, m2 created 0 -> 2",
            "m1 5, m2 2",
        ),
        (
            three.clone(),
            "m1 stays 5 -> 5, m2 changed 2 -> 3",
            "m1 5, m2 3",
        ),
        (
            five.replace("value: 5", "value: 0"),
            "m1 changed 5 -> 0, m2 stays 3 -> 3",
            "m1 0, m2 3",
        ),
        (policy("m1"), "m1 stays 0 -> 0, m2 deleted 3 -> 0", "m1 0"),
    ] {
        let (told, _) = foretold(&world, &change).await;
        assert_eq!(told, expected, "{change}");
        world.apply(&change).await;
        until_replicas(&world, then).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_override_kept_away_is_not_there_to_be_deleted() {
    let world = World::with_members(MEMBERS).await;
    let wrong = overriding("{path: /spec/nowhere, operator: remove}");
    let all = wrong + "---" + DEPLOYMENT + &policy("m1, m2");
    let (told, _) = foretold(&world, &all).await;
    assert_eq!(told, "m1 refused 0 -> 0, m2 created 0 -> 2");
    world.apply(&all).await;
    until_replicas(&world, "m2 2").await;
    let (told, _) = foretold(&world, &policy("m2")).await;
    assert_eq!(told, "m1 absent 0 -> 0, m2 stays 2 -> 2");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_speaks_for_any_more_stays_as_it_is() {
    let world = World::with_members(MEMBERS).await;
    world.apply(&(DEPLOYMENT.to_owned() + &policy("m1"))).await;
    until_replicas(&world, "m1 2").await;
    world
        .control()
        .delete("propagationpolicies", "default/p")
        .await;
    let is_gone = async || {
        let template = world.control().get("deployments", WEB).await.unwrap();
        let labels = template.labels();
        !labels.keys().any(|key| key.ends_with("permanent-id"))
    };
    world.until("the claim is gone", SOON, is_gone).await;
    let three = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    let (told, remarks) = foretold(&world, &three).await;
    assert_eq!(told, "m1 stays 2 -> 2");
    assert!(remarks.contains("held back"), "{remarks}");
    world.apply(&three).await;
    let still = async || replicas(&world).await == "m1 2";
    world
        .stays("it stays", Duration::from_secs(20), still)
        .await;
    // Whoever comes next speaks for it as it is then.
    let (told, _) = foretold(&world, &policy("m1, m2")).await;
    assert_eq!(told, "m1 changed 2 -> 3, m2 created 0 -> 3");
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_said_to_move_only_if_something_drives_it_out() {
    let tainting = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: t}, spec: {addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ['True']}], taints: [{key: broken, effect: NoExecute}]}}";
    for (gates, evicts, policy, expected) in [
        (
            "Failover=false",
            true,
            "",
            "the feature gate Failover is off",
        ),
        (
            "Failover=true",
            false,
            "",
            "--enable-no-execute-taint-eviction",
        ),
        (
            "Failover=true",
            true,
            "",
            "no ClusterTaintPolicy would taint m1",
        ),
        ("Failover=true", true, tainting, ""),
    ] {
        let world = World::build()
            .members(MEMBERS)
            .settings(|settings| {
                settings.controllers.gates = gates.parse().unwrap();
                settings.allows_no_execute_policies = true;
                settings.controllers.eviction.heeds_taints = evicts;
            })
            .start()
            .await;
        if !policy.is_empty() {
            world.apply(policy).await;
        }
        let supposed = Supposition {
            lost: vec!["m1".to_owned()],
            ..Supposition::default()
        };
        let doubts = ask(&world, supposed).await["doubts"].to_string();
        match expected {
            "" => assert!(!doubts.contains("nothing moves"), "{gates}: {doubts}"),
            expected => assert!(doubts.contains(expected), "{gates}: {doubts}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fields_that_give_way_to_others_are_taken_as_works_bring_them() {
    let world = World::with_members(MEMBERS).await;
    world
        .apply(&(DEPLOYMENT.to_owned() + &policy("m1, m2")))
        .await;
    until_replicas(&world, "m1 2, m2 2").await;
    // What was created first, and what has been applied by then.
    for strategy in [
        "{type: Recreate}",
        "{type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}",
        "{type: Recreate}",
    ] {
        let change = overriding(&format!(
            "{{path: /spec/strategy, operator: replace, value: {strategy}}}"
        ));
        let told = foretold_surely(&world, &change).await;
        assert_eq!(told, "m1 changed 2 -> 2, m2 stays 2 -> 2", "{strategy}");
        world.apply(&change).await;
        let kind = match strategy.contains("Recreate") {
            true => "Recreate",
            false => "RollingUpdate",
        };
        let is_so = async || {
            let found = world.member("m1").get("deployments", WEB).await;
            found.is_some_and(|found| found.text_at(&["spec", "strategy", "type"]) == Some(kind))
        };
        world.until(strategy, SOON, is_so).await;
    }
}

#[tokio::test(start_paused = true)]
async fn fields_that_a_member_does_not_know_do_not_keep_anything_away() {
    let world = World::with_members(MEMBERS).await;
    let unknown = overriding("{path: /spec/fromTheFuture, operator: add, value: 7}");
    let all = DEPLOYMENT.to_owned() + &policy("m1, m2") + &unknown;
    let replicas = |count: &str| DEPLOYMENT.replace("replicas: 2", &format!("replicas: {count}"));
    for (change, expected, then) in [
        (all, "m1 created 0 -> 2, m2 created 0 -> 2", "m1 2, m2 2"),
        // What was created first, and what has been applied by then.
        (
            replicas("3"),
            "m1 changed 2 -> 3, m2 changed 2 -> 3",
            "m1 3, m2 3",
        ),
        (
            replicas("4"),
            "m1 changed 3 -> 4, m2 changed 3 -> 4",
            "m1 4, m2 4",
        ),
    ] {
        let told = foretold_surely(&world, &change).await;
        assert_eq!(told, expected, "{change}");
        world.apply(&change).await;
        until_replicas(&world, then).await;
    }
}

#[tokio::test(start_paused = true)]
async fn members_that_are_only_read_are_not_asked_what_they_take() {
    let world = World::with_members(MEMBERS).await;
    let wrong = overriding("{path: /spec/replicas, operator: replace, value: -3}");
    let all = DEPLOYMENT.to_owned() + &policy("m1") + &wrong;
    for (only_reads, expected) in [(false, "m1 refused"), (true, "m1 created")] {
        let supposed = Supposition {
            only_reads,
            ..supposing(&all)
        };
        let told = ask(&world, supposed).await;
        let doubts = told["doubts"].to_string();
        assert!(told_of(&told).0.starts_with(expected), "{told:#}");
        assert_eq!(doubts.contains("was not asked"), only_reads, "{doubts}");
    }
}

const GADGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: gadgets, singular: gadget, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}}]}}";
const GADGET: &str = "{apiVersion: acme.io/v1, kind: Gadget, metadata: {name: g}, size: 3}";

#[tokio::test(start_paused = true)]
async fn what_a_member_does_not_define_is_not_sent_to_it() {
    let world = World::with_members(["m1"]).await;
    world.apply(GADGETS).await;
    world.member("m1").apply(GADGETS).await;
    let is_known = async || {
        let cluster = world.control().get("clusters", "m1").await.unwrap();
        cluster.into_value().to_string().contains("Gadget")
    };
    world
        .until("the cluster has the kind", SOON, is_known)
        .await;
    let of_gadgets =
        |yaml: &str| yaml.replace("apps/v1, kind: Deployment", "acme.io/v1, kind: Gadget");
    let fine = GADGET.to_owned() + &of_gadgets(&policy("m1"));
    let wrong = overriding("{path: /size, operator: replace, value: big}");
    let wrong = fine.clone() + &of_gadgets(&wrong);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.acme.io";
    for (change, status, expected) in [
        (&fine, None, "created"),
        (&wrong, None, "refused"),
        (&wrong, Some(http::StatusCode::NOT_FOUND), "created"),
    ] {
        world.member("m1").answer_with(definition, status);
        world.member("m1").calls();
        let told = ask(&world, supposing(change)).await;
        let calls = world.member("m1").calls();
        let templates = told["templates"].as_array().unwrap().iter();
        let mut found = templates.filter(|template| template["kind"] == "Gadget");
        let clusters = &found.next().unwrap()["clusters"];
        assert_eq!(clusters[0]["action"], expected, "{told:#}");
        let is_sent = calls.iter().any(|call| call.contains("dryRun"));
        assert_eq!(is_sent, status.is_none(), "{calls:?}");
        let doubts = told["doubts"].to_string();
        let is_doubted = doubts.contains("gadgets.acme.io is not defined there");
        assert_eq!(is_doubted, !is_sent, "{doubts}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_only_supposed_is_not_asked() {
    let world = World::with_members(MEMBERS).await;
    world
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
        .await;
    let cluster = "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m9}, spec: {syncMode: Push, apiEndpoint: 'https://m9.example'}}";
    let told = ask(&world, supposing(cluster)).await;
    assert!(!told.to_string().contains("not found"), "{told:#}");
    let expected = "whether m9 takes what it is sent cannot be asked before it has joined";
    let doubts = told["doubts"].as_array().unwrap();
    assert!(doubts.iter().any(|doubt| doubt == expected), "{told:#}");
}

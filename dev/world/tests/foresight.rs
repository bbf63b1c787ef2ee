//! What `simulate` and `explain` tell is what the control plane they ask then does, however it is set up.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::time::Duration;

use cli::{Answer, Manifest, Question, Supposition, Telling, explain, simulate};
use object::Value;
use world::{Builder, World, json};

const SOON: Duration = Duration::from_secs(60);
const WHILE: Duration = Duration::from_secs(20);
const WEB: &str = "default/web";

fn deployment(name: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: c, image: nginx, envFrom: [{{configMapRef: {{name: settings}}}}]}}]}}
"
    )
}

/// A policy for all Deployments, with this in its spec.
fn policy(name: &str, spec: &str) -> String {
    format!(
        "
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: {name}}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]
{spec}
"
    )
}

fn to(clusters: &str) -> String {
    format!("  placement: {{clusterAffinity: {{clusterNames: [{clusters}]}}}}")
}

async fn build(builder: Builder, gates: &str, plugins: &[&str]) -> World {
    let gates = gates.parse().unwrap();
    let plugins: Vec<String> = plugins.iter().map(|name| (*name).to_owned()).collect();
    let settings = builder.settings(|settings| {
        settings.scheduler = scheduler::Settings::with_gates(&gates);
        if !plugins.is_empty() {
            settings.scheduler.plugins = plugins;
        }
        settings.controllers.gates = gates;
    });
    settings.start().await
}

/// What `simulate -f` says would happen.
async fn foresee(world: &World, yaml: &str, json: bool) -> String {
    let answer = suppose(world, yaml, json).await;
    assert!(answer.failure.is_none(), "{:?}", answer.failure);
    answer.text
}

/// The same, also if not everybody could be asked.
async fn suppose(world: &World, yaml: &str, json: bool) -> Answer {
    let supposed = Supposition {
        manifests: Manifest::parse("f.yaml", yaml).unwrap(),
        json,
        ..Supposition::default()
    };
    // Somebody whom members know too: they are asked what they have.
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    let answer = simulate(admin.client(), &supposed, world.now()).await;
    answer.unwrap()
}

/// The clusters that would have an object of this kind and name.
async fn foreseen(world: &World, yaml: &str, kind: &str, name: &str) -> Vec<String> {
    let told: Value = serde_json::from_str(&foresee(world, yaml, true).await).unwrap();
    assert_eq!(
        told["doubts"],
        json!([]),
        "the server says what it runs with"
    );
    let templates = told["templates"].as_array().unwrap();
    let found = templates
        .iter()
        .find(|template| template["kind"] == kind && template["name"] == name);
    let clusters = found.and_then(|found| found["clusters"].as_array());
    let has_it = |cluster: &&Value| {
        let action = cluster["action"].as_str().unwrap();
        ["stays", "created", "changed"].contains(&action)
    };
    let names = clusters.into_iter().flatten().filter(has_it);
    names
        .map(|cluster| cluster["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The members that have an object.
async fn holders(world: &World, members: &[&str], kind: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for member in members {
        if world.member(member).get(kind, name).await.is_some() {
            found.push((*member).to_owned());
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn whether_policies_take_over_is_as_at_the_server() {
    for (gates, expected) in [
        ("PropagationPolicyPreemption=true", "m2"),
        ("PropagationPolicyPreemption=false", "m1"),
    ] {
        let world = build(World::build().members(["m1", "m2"]), gates, &[]).await;
        let first = deployment("web") + &policy("low", &to("m1"));
        world.apply(&first).await;
        let before = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == ["m1"];
        world.until("it is in m1", SOON, before).await;

        let spec = format!("  priority: 10\n  preemption: Always\n{}", to("m2"));
        // Whoever takes over has to say by name what.
        let kind = "kind: Deployment}]";
        let change = policy("high", &spec).replace(kind, "kind: Deployment, name: web}]");
        let told = foreseen(&world, &change, "Deployment", "web").await;
        assert_eq!(told, [expected], "{gates}");
        world.apply(&change).await;
        let now = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.until("it is where it was foreseen", SOON, now).await;
        let still = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.stays("it stays there", WHILE, still).await;

        let question = Question {
            words: vec!["deployment/web".to_owned()],
            telling: Telling::Json,
            ..Question::default()
        };
        let said = explain(world.control().client(), &question).await.unwrap();
        let said: Value = serde_json::from_str(&said.text).unwrap();
        let policy = &said["policy"];
        let (winner, why) = match expected {
            "m2" => ("high", "its priority 0 is below 10"),
            _ => (
                "low",
                "the template is held already: the feature gate PropagationPolicyPreemption is off",
            ),
        };
        assert_eq!(policy["chosen"]["name"], winner, "{said:#}");
        assert_eq!(policy["others"][0]["lost"], why, "{said:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_policy_leaves_goes_as_the_policy_says_then() {
    for (was, says, expected) in [(true, false, "deleted"), (false, true, "let go")] {
        let world = World::with_members(["m1", "m2"]).await;
        let spec = |preserves: bool, clusters: &str| {
            let preserves = format!("  preserveResourcesOnDeletion: {preserves}");
            policy("p", &format!("{preserves}\n{}", to(clusters)))
        };
        world
            .apply(&(deployment("web") + &spec(was, "m1, m2")))
            .await;
        let both = async || {
            holders(&world, &["m1", "m2"], "deployments", WEB)
                .await
                .len()
                == 2
        };
        world.until("it is in both", SOON, both).await;

        let change = spec(says, "m1");
        let told: Value = serde_json::from_str(&foresee(&world, &change, true).await).unwrap();
        let templates = told["templates"].as_array().unwrap();
        let web = templates.iter().find(|found| found["name"] == "web");
        assert_eq!(web.unwrap()["clusters"][1]["action"], expected, "{told:#}");
        world.apply(&change).await;
        let name = api::names::work_name("Deployment", "web", "default");
        let work = format!("{}/{name}", api::names::execution_space("m2"));
        let left = async || world.control().get("works", &work).await.is_none();
        world.until("m2 is left", SOON, left).await;
        let rest = holders(&world, &["m2"], "deployments", WEB).await;
        assert_eq!(rest.is_empty(), expected == "deleted", "{was} -> {says}");
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_that_are_off_at_the_server_have_no_say() {
    for (plugins, expected) in [
        (&["*"][..], &["m1"][..]),
        (&["*", "-TaintToleration"], &["m1", "m2"]),
    ] {
        let world = build(World::build().members(["m1", "m2"]), "", plugins).await;
        let taint = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}});
        world.patch("clusters", "m2", taint).await;
        let change = deployment("web") + &policy("p", &to("m1, m2"));
        let told = foreseen(&world, &change, "Deployment", "web").await;
        assert_eq!(told, expected, "{plugins:?}");
        world.apply(&change).await;
        let now = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.until("it is where it was foreseen", SOON, now).await;
        let still = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.stays("it stays there", WHILE, still).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_along_does_only_where_the_server_lets_it() {
    for (gates, expected) in [("", &["m1"][..]), ("PropagateDeps=false", &[])] {
        let world = build(World::build().members(["m1"]), gates, &[]).await;
        let settings = "
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
";
        let spec = format!("  propagateDeps: true\n{}", to("m1"));
        let change = deployment("web") + settings + &policy("p", &spec);
        let told = foreseen(&world, &change, "ConfigMap", "settings").await;
        assert_eq!(told, expected, "{gates:?}");
        world.apply(&change).await;
        let web = async || holders(&world, &["m1"], "deployments", WEB).await == ["m1"];
        world.until("the deployment is there", SOON, web).await;
        let now = async || holders(&world, &["m1"], "configmaps", "default/settings").await == told;
        world.until("it is where it was foreseen", SOON, now).await;
        let still =
            async || holders(&world, &["m1"], "configmaps", "default/settings").await == told;
        world.stays("it stays there", WHILE, still).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_every_server_makes_for_itself_does_not_come_along() {
    let world = World::with_members(["m1"]).await;
    let change = format!(
        "{}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: kube-root-ca.crt}}
data: {{ca.crt: x}}
{}",
        deployment("web").replace("name: settings", "name: kube-root-ca.crt"),
        policy("p", &format!("  propagateDeps: true\n{}", to("m1")))
    );
    for (kind, name, expected) in [
        ("Deployment", "web", &["m1"][..]),
        ("ConfigMap", "kube-root-ca.crt", &[]),
    ] {
        assert_eq!(foreseen(&world, &change, kind, name).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn groups_keep_apart_as_at_the_server() {
    let world = build(
        World::build().members(["m1", "m2"]),
        "WorkloadAffinity=true",
        &[],
    )
    .await;
    let grouped = |name: &str| {
        let text = deployment(name);
        text.replace(
            &format!("metadata: {{name: {name}}}"),
            &format!("metadata: {{name: {name}, labels: {{group: a}}}}"),
        )
    };
    let spec = "  placement:
    clusterAffinity: {clusterNames: [m1, m2]}
    workloadAffinity: {antiAffinity: {groupByLabelKey: group}}
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]";
    world.apply(&(grouped("web") + &policy("p", spec))).await;
    let placed = async || {
        holders(&world, &["m1", "m2"], "deployments", WEB)
            .await
            .len()
            == 1
    };
    world.until("web is somewhere", SOON, placed).await;
    let first = holders(&world, &["m1", "m2"], "deployments", WEB).await;
    let told = foreseen(&world, &grouped("db"), "Deployment", "db").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_ne!(told, first);
    world.apply(&grouped("db")).await;
    let now = async || holders(&world, &["m1", "m2"], "deployments", "default/db").await == told;
    world.until("db is where it was foreseen", SOON, now).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_question_has_the_same_answer_and_says_what_hangs_on_a_uid() {
    let world = World::with_members(["m1", "m2", "m3"]).await;
    let divided = "  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}";
    let four = deployment("web").replace("replicas: 2", "replicas: 4") + &policy("p", divided);
    let told = foresee(&world, &four, true).await;
    // A server makes another uid up for every dry run: as many as show that they make no difference.
    for _ in 0..4 {
        assert_eq!(foresee(&world, &four, true).await, told);
    }
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        told["doubts"],
        json!([
            "which of m1, m3 gets the odd replica of Deployment default/web is decided by its uid, which is not known yet"
        ])
    );
    let text = foresee(&world, &four, false).await;
    assert!(text.contains("Note: which of m1, m3 gets"), "{text}");
    world.apply(&four).await;
    world.advance(WHILE).await;
    // Now the uid is known.
    foreseen(&world, &four, "Deployment", "web").await;
    let question = Question {
        words: vec!["deployment/web".to_owned()],
        ..Question::default()
    };
    let said = explain(world.control().client(), &question).await.unwrap();
    let tie = "name comes first, by the template's uid";
    assert!(said.text.contains(tie), "{}", said.text);
    let even = four
        .replace("replicas: 4", "replicas: 6")
        .replace("web", "even");
    foreseen(&world, &even, "Deployment", "even").await;
}

#[tokio::test(start_paused = true)]
async fn what_has_no_place_is_no_change_and_what_nobody_selects_is_said() {
    let world = World::with_members(["m1"]).await;
    let nowhere = deployment("web") + &policy("p", &to("nowhere"));
    world.apply(&nowhere).await;
    let refused = async || {
        let said = world.condition("resourcebindings", "default/web-deployment", "Scheduled");
        said.await.starts_with("False")
    };
    world.until("it has no place", SOON, refused).await;
    let cron = "{apiVersion: v1, kind: ConfigMap, metadata: {name: alone}, data: {a: b}}";
    let text = foresee(&world, cron, false).await;
    for line in [
        "1 of 2 templates would change. Nothing was done.",
        "Deployment default/web has no place now, and would have none; --all shows why.",
        "ConfigMap default/alone (new)",
        "  goes to no cluster: no policy selects it",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let question = Question {
        words: vec!["deployment/web".to_owned()],
        ..Question::default()
    };
    let said = explain(world.control().client(), &question).await.unwrap();
    assert!(said.text.contains("Scheduled False"), "{}", said.text);
    assert!(!said.text.contains("has not looked"), "{}", said.text);
}

#[tokio::test(start_paused = true)]
async fn everybody_who_is_known_may_learn_what_the_server_runs_with() {
    let world = World::with_members(0).await;
    let jane = world.as_user("jane", &[]).await;
    let (method, media) = (http::Method::GET, "application/json");
    let asked = jane
        .client()
        .request(method, "/configz", media, Vec::new().into());
    let told: Value = serde_json::from_slice(&asked.await.unwrap()).unwrap();
    assert_eq!(told["karavel"]["scheduler"]["name"], "default-scheduler");
}

#[tokio::test(start_paused = true)]
async fn the_order_of_a_file_decides_whose_templates_are() {
    let web = deployment("web");
    let first = policy("first", &to("m1"));
    let higher = policy("higher", &format!("  priority: 10\n{}", to("m2")));
    let lazy = policy(
        "lazy",
        &format!("  activationPreference: Lazy\n{}", to("m1")),
    );
    let again = web.replace("replicas: 2", "replicas: 3");
    for (what, files, expected) in [
        (
            "whoever is there first keeps it",
            [&web, &first, &higher],
            &["m1"][..],
        ),
        (
            "of those that are there the better one has it",
            [&first, &higher, &web],
            &["m2"],
        ),
        (
            "a lazy one waits for the next change",
            [&web, &lazy, &String::new()],
            &[],
        ),
        (
            "and does not wait for what comes after it",
            [&lazy, &web, &String::new()],
            &["m1"],
        ),
        ("nor for a change", [&web, &lazy, &again], &["m1"]),
        (
            "what waits is held all the same",
            [&web, &lazy, &higher],
            &[],
        ),
    ] {
        let world = World::build().members(["m1", "m2"]).start().await;
        let file = files.map(String::as_str).join("\n---\n");
        let told = foreseen(&world, &file, "Deployment", "web").await;
        assert_eq!(told, expected, "{what}");
        for one in files.iter().filter(|one| !one.is_empty()) {
            world.apply(one).await;
        }
        let now = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.until("it is where it was foreseen", SOON, now).await;
        let still = async || holders(&world, &["m1", "m2"], "deployments", WEB).await == told;
        world.stays("it stays there", WHILE, still).await;
    }
}

const BY_LABELS: &str = "
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: deployments}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    dependencyInterpretation:
      luaScript: |
        function GetDependencies(desiredObj)
          return {
            {apiVersion = 'v1', kind = 'ConfigMap', namespace = 'default', labelSelector = {matchLabels = {app = 'web'}}},
            {apiVersion = 'v1', kind = 'ConfigMap', namespace = 'elsewhere', name = 'c'},
          }
        end
---
{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: elsewhere}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: other}}}
";

#[tokio::test(start_paused = true)]
async fn what_is_meant_by_labels_comes_along_and_what_is_elsewhere_does_not() {
    let world = World::build().members(["m1", "m2"]).start().await;
    world.apply(BY_LABELS).await;
    let spec = format!("  propagateDeps: true\n{}", to("m1"));
    let change = deployment("web") + &policy("p", &spec);
    let told = foreseen(&world, &change, "ConfigMap", "a").await;
    assert_eq!(told, ["m1"]);
    for other in ["b", "c"] {
        let told = foreseen(&world, &change, "ConfigMap", other).await;
        assert_eq!(told, [""; 0], "{other}");
    }
    world.apply(&change).await;
    let members = ["m1", "m2"];
    let now = async || holders(&world, &members, "configmaps", "default/a").await == told;
    world.until("it is where it was foreseen", SOON, now).await;
    let others = async || {
        let b = holders(&world, &members, "configmaps", "default/b").await;
        let c = holders(&world, &members, "configmaps", "elsewhere/c").await;
        b.is_empty() && c.is_empty()
    };
    world.stays("the others do not come", WHILE, others).await;
}

/// Everything but what is in the group without a name.
const MOST_OF_ALL: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: most-of-all}
rules:
  - apiGroups: [apps, apiextensions.k8s.io, cluster.karmada.io, config.karmada.io, policy.karmada.io, work.karmada.io]
    resources: ['*']
    verbs: ['*']
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: most-of-all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: most-of-all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
";

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_doubted_and_holds_nothing_else_up() {
    let world = World::with_members(["m1"]).await;
    world.apply(MOST_OF_ALL).await;
    let spec = format!("  propagateDeps: true\n{}", to("m1"));
    let change = deployment("web") + &policy("p", &spec);
    let jane = world.as_user("jane", &[]).await;
    let expected = [
        "ConfigMap default/settings may come along; this user may not read it",
        "configmaps in default may come along by their labels; this user may not list them",
    ];
    for doubt in expected {
        let supposed = Supposition {
            manifests: Manifest::parse("f.yaml", &change).unwrap(),
            json: true,
            ..Supposition::default()
        };
        let answer = simulate(jane.client(), &supposed, world.now()).await;
        let told: Value = serde_json::from_str(&answer.unwrap().text).unwrap();
        let doubts = told["doubts"].as_array().unwrap();
        assert!(doubts.iter().any(|found| found == doubt), "{told:#}");
        let templates = told["templates"].as_array().unwrap().iter();
        let mut web = templates.filter(|found| found["name"] == "web");
        assert_eq!(web.next().unwrap()["clusters"][0]["action"], "created");
        world.apply(BY_LABELS).await;
    }
}

#[tokio::test(start_paused = true)]
async fn members_are_asked_what_they_would_take_and_keep_nothing_of_it() {
    let world = World::build().members(["m1", "m2", "m3"]).start().await;
    // Only what overrides make of it is wrong, so that the control plane takes it.
    let overriding = "
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: o}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  overrideRules:
    - targetCluster: {clusterNames: [m1]}
      overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: -3}]}
";
    world
        .member("m3")
        .refuse_connections(Some("nobody is there"));
    let change = deployment("web") + &policy("p", &to("m1, m2, m3")) + overriding;
    let answer = suppose(&world, &change, true).await;
    let failure = answer.failure.unwrap();
    assert_eq!(failure.exit_code(), 2);
    assert!(
        failure.to_string().starts_with("cluster(m3): "),
        "{failure}"
    );
    let told: Value = serde_json::from_str(&answer.text).unwrap();
    let templates = told["templates"].as_array().unwrap();
    let web = templates
        .iter()
        .find(|template| template["kind"] == "Deployment");
    let clusters = web.unwrap()["clusters"].as_array().unwrap();
    let actions: Vec<&str> = clusters
        .iter()
        .map(|cluster| cluster["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["refused", "created", "created"]);
    let why = clusters[0]["reason"].as_str().unwrap();
    assert!(
        why.contains("would not take it") && why.contains("spec.replicas"),
        "{why}"
    );
    let doubts = told["doubts"].to_string();
    assert!(doubts.contains("m3"), "{doubts}");
    assert!(!doubts.contains("m1") && !doubts.contains("m2"), "{doubts}");
    let members = ["m1", "m2", "m3"];
    assert_eq!(holders(&world, &members, "deployments", WEB).await, [""; 0]);
}

/// An autoscaler that says something which older versions say in another way, or not at all.
fn autoscaler(most: u32) -> String {
    format!(
        "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  maxReplicas: {most}
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 60}}}}}}]
"
    )
}

const FEWER_IN_M1: &str = "
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: fewer}
spec:
  resourceSelectors: [{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}]
  overrideRules:
    - targetCluster: {clusterNames: [m1]}
      overriders: {plaintext: [{path: /spec/targetCPUUtilizationPercentage, operator: replace, value: 30}]}
";

#[tokio::test(start_paused = true)]
async fn what_policies_name_in_another_version_is_told_in_that() {
    let world = World::with_members(["m1", "m2"]).await;
    let old = |clusters: &str| {
        let kind = "{apiVersion: apps/v1, kind: Deployment}";
        let named = "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}";
        policy("p", &to(clusters)).replace(kind, named)
    };
    world.apply(&autoscaler(9)).await;
    let change = format!("{}\n---{FEWER_IN_M1}", old("m1"));
    let told: Value = serde_json::from_str(&foresee(&world, &change, true).await).unwrap();
    let found = &told["templates"][0];
    assert_eq!(found["remarks"], json!([]), "{found:#}");
    let lines = &found["clusters"][0]["overrides"];
    let path = "/spec/targetCPUUtilizationPercentage";
    let expected = json!([{"path": path, "before": 60, "after": 30}]);
    assert_eq!(*lines, expected, "{found:#}");
    world.apply(&change).await;
    let field = async || {
        let seen = world.member("m1").get("hpa", WEB).await;
        let path = ["spec", "metrics"];
        seen.and_then(|seen| seen.at(&path).cloned())
            .unwrap_or_default()[0]["resource"]["target"]["averageUtilization"]
            .clone()
    };
    let is_there = async || field().await == 30;
    world
        .until("it is there as it was told", SOON, is_there)
        .await;

    let mut question = Question {
        words: vec!["hpa/web".to_owned()],
        telling: Telling::Json,
        ..Question::default()
    };
    let said = explain(world.control().client(), &question).await.unwrap();
    let said: Value = serde_json::from_str(&said.text).unwrap();
    assert_eq!(said["policy"]["chosen"]["name"], "p", "{said:#}");
    assert_eq!(said["template"]["apiVersion"], "autoscaling/v2");
    assert_eq!(said["binding"]["sentAs"], "autoscaling/v1");
    assert_eq!(said["heldBack"], json!(null));
    let rule = &said["clusters"][0]["overrides"]["rules"][0];
    assert_eq!(rule["name"], "fewer", "{said:#}");
    assert_eq!(rule["changes"][0]["before"], 60, "{said:#}");
    question.telling = Telling::Text;
    let page = explain(world.control().client(), &question).await.unwrap();
    let line = "clusters get it as autoscaling/v1";
    assert!(page.text.contains(line), "{}", page.text);

    // What is edited in the one version goes in the other.
    let told: Value = serde_json::from_str(&foresee(&world, &autoscaler(12), true).await).unwrap();
    let found = &told["templates"][0];
    let expected = json!([{"path": "/spec/maxReplicas", "before": 9, "after": 12}]);
    assert_eq!(found["clusters"][0]["changes"], expected, "{told:#}");
    assert_eq!(found["remarks"], json!([]), "{told:#}");
}

#[tokio::test(start_paused = true)]
async fn what_is_assumed_of_another_version_is_said() {
    let world = World::with_members(["m1"]).await;
    let version = |name: &str, field: &str| {
        let spec = json!({"type": "object", "properties": {field: {"type": "integer"}}, "required": [field]});
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    };
    for (field, remark) in [
        ("size", "is taken to say there what it says in acme.io/v1"),
        ("length", "cannot be foretold"),
    ] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.acme.io"},
            "spec": {
                "group": "acme.io", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": [version("v1beta1", field), version("v1", "size")],
            },
        });
        world.apply(&definition.to_string()).await;
        world.advance(WHILE).await;
        let gadget = "{apiVersion: acme.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3}}";
        let named = "{apiVersion: acme.io/v1beta1, kind: Gadget}";
        let change =
            policy("p", &to("m1")).replace("{apiVersion: apps/v1, kind: Deployment}", named);
        let told = suppose(&world, &format!("{gadget}{change}"), true)
            .await
            .text;
        let told: Value = serde_json::from_str(&told).unwrap();
        let remarks = told["templates"][0]["remarks"].as_array().unwrap();
        let [said] = remarks.as_slice() else {
            panic!("{told:#}");
        };
        let said = said.as_str().unwrap();
        assert!(said.starts_with("goes by acme.io/v1beta1"), "{said}");
        assert!(said.contains(remark), "{said}");
    }
}

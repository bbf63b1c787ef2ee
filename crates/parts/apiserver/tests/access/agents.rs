use serde_json::{Value, json};
use serve::call::User;

use crate::certificates::{REQUESTS, newcomer, object, request, twice};
use crate::tokens::eventually;
use crate::world::{World, master, user};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const USUAL: [&str; 3] = ["digital signature", "key encipherment", "client auth"];

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const SECRETS: &str = "/api/v1/namespaces/karmada-cluster/secrets";

fn works(cluster: &str) -> String {
    format!("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{cluster}/works")
}

fn leases(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

fn agent(cluster: &str) -> User {
    user(
        &format!("system:karmada:agent:{cluster}"),
        &["system:karmada:agents", "system:authenticated"],
    )
}

fn wanted(cluster: &str) -> String {
    request(
        &format!("system:karmada:agent:{cluster}"),
        "system:karmada:agents",
        &[],
    )
}

/// Asks for a certificate of a cluster's agent; whether it was approved.
async fn gets(world: &World, who: &User, name: &str, cluster: &str) -> bool {
    let wanted = object(name, CLIENT, &wanted(cluster), &USUAL);
    let answer = world.ask(who, &format!("POST {REQUESTS}"), wanted).await;
    assert_eq!(answer.code, 201, "{name}: {}", answer.body);
    is_approved(world, name).await
}

/// The roles and bindings of a cluster's agent.
fn roles(cluster: &str) -> Vec<String> {
    let base = "/apis/rbac.authorization.k8s.io/v1";
    let role = format!("system:karmada:{cluster}:agent");
    let mut all = vec![
        format!("{base}/clusterroles/{role}"),
        format!("{base}/clusterrolebindings/{role}"),
    ];
    for (namespace, what) in [
        ("karmada-cluster".to_owned(), "secret"),
        ("karmada-system".to_owned(), "election"),
        (format!("karmada-es-{cluster}"), "work"),
    ] {
        let place = format!("{base}/namespaces/{namespace}");
        all.push(format!("{place}/roles/{role}-{what}"));
        all.push(format!("{place}/rolebindings/{role}-{what}"));
    }
    all
}

/// Whether a request was approved by the time a later one, which must be, is.
async fn is_approved(world: &World, name: &str) -> bool {
    let witness = format!("witness-{name}");
    let sound = object(&witness, CLIENT, &wanted(&witness), &USUAL);
    let line = format!("POST {REQUESTS}");
    assert_eq!(world.ask(&newcomer(), &line, sound).await.code, 201);
    let read = async |name: &str| {
        let line = format!("GET {REQUESTS}/{name}");
        world.ask(&master(), &line, json!(null)).await.body["status"].clone()
    };
    let is_issued = async || {
        read(&witness).await["certificate"]
            .is_string()
            .then_some(())
    };
    eventually(is_issued).await;
    read(name).await["conditions"][0]["reason"] == "AutoApproved"
}

#[tokio::test]
async fn agents_get_a_certificate_for_a_cluster_nobody_has_and_for_themselves() {
    let world = World::start().await;
    let cluster = json!({
        "metadata": {"name": "taken"}, "spec": {"syncMode": "Pull", "apiEndpoint": "https://10.0.0.1:6443"},
    });
    world.create(CLUSTERS, cluster).await;
    let plain = |cluster: &str| wanted(cluster);
    let hosts = |hosts: &[&str]| request("system:karmada:agent:m2", "system:karmada:agents", hosts);
    let cases: [(&str, User, String, &[&str], bool); 14] = [
        ("new", newcomer(), plain("m1"), &USUAL, true),
        (
            "rsa-less",
            newcomer(),
            plain("m5"),
            &["digital signature", "client auth"],
            true,
        ),
        ("taken", newcomer(), plain("taken"), &USUAL, false),
        (
            "generator",
            newcomer(),
            plain("rbac-generator"),
            &USUAL,
            false,
        ),
        (
            "ending",
            newcomer(),
            plain("m1-impersonator"),
            &USUAL,
            false,
        ),
        ("no-name", newcomer(), plain("Not_A_Name"), &USUAL, false),
        ("hosts", newcomer(), hosts(&["m2.example"]), &USUAL, false),
        (
            "serving",
            newcomer(),
            plain("m3"),
            &["digital signature", "server auth"],
            false,
        ),
        (
            "other-group",
            newcomer(),
            request("system:karmada:agent:m4", "devs", &[]),
            &USUAL,
            false,
        ),
        (
            "two-names",
            newcomer(),
            twice("system:karmada:agent:m8", "root", "system:karmada:agents"),
            &USUAL,
            false,
        ),
        (
            "two-agents",
            newcomer(),
            twice("root", "system:karmada:agent:m9", "system:karmada:agents"),
            &USUAL,
            false,
        ),
        ("own", agent("taken"), plain("taken"), &USUAL, true),
        ("anothers", agent("taken"), plain("m6"), &USUAL, false),
        ("user", master(), plain("m7"), &USUAL, true),
    ];
    // An agent may ask at all once its roles are there.
    let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:karmada:agent:taken"});
    world
        .role(
            "",
            "asker",
            &["create certificates.k8s.io certificatesigningrequests"],
        )
        .await;
    world.bind("", ("ClusterRole", "asker"), subject).await;
    for (name, who, request, usages, expected) in cases {
        let line = format!("POST {REQUESTS}");
        let answer = world
            .ask(&who, &line, object(name, CLIENT, &request, usages))
            .await;
        assert_eq!(answer.code, 201, "{name}: {}", answer.body);
        assert_eq!(is_approved(&world, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn an_agent_reaches_its_own_and_nothing_else() {
    let world = World::start().await;
    for cluster in ["a", "b"] {
        let line = format!("POST {REQUESTS}");
        let answer = world
            .ask(
                &newcomer(),
                &line,
                object(cluster, CLIENT, &wanted(cluster), &USUAL),
            )
            .await;
        assert_eq!(answer.code, 201);
        assert!(is_approved(&world, cluster).await);
        let object = json!({
            "metadata": {"name": cluster}, "spec": {"syncMode": "Pull", "apiEndpoint": "https://10.0.0.1:6443"},
        });
        let created = world
            .ask(&agent(cluster), &format!("POST {CLUSTERS}"), object)
            .await;
        assert_eq!(created.code, 201, "{}", created.body);
    }
    let (clusters, secrets) = (CLUSTERS, SECRETS);
    let cases: Vec<(String, bool)> = vec![
        (format!("GET {clusters}"), true),
        (format!("GET {clusters}/a"), true),
        (format!("GET {clusters}/b"), false),
        (format!("PUT {clusters}/a"), false),
        (format!("PATCH {clusters}/a"), false),
        (format!("PUT {clusters}/a/status"), true),
        (format!("PUT {clusters}/b/status"), false),
        (format!("DELETE {clusters}/b"), false),
        (format!("GET {}", works("a")), true),
        (format!("GET {}", works("b")), false),
        (format!("GET {secrets}/a"), true),
        (format!("GET {secrets}/a-impersonator"), true),
        (format!("GET {secrets}/b"), false),
        (format!("GET {secrets}"), false),
        (format!("GET {}/a", leases("karmada-cluster")), true),
        (format!("PUT {}/b", leases("karmada-cluster")), false),
        (
            format!("PUT {}/karmada-agent-a", leases("karmada-system")),
            true,
        ),
        (
            format!("PUT {}/karmada-agent-b", leases("karmada-system")),
            false,
        ),
        (
            format!("PUT {}/karavel-controllers", leases("kube-system")),
            false,
        ),
        (
            "POST /apis/rbac.authorization.k8s.io/v1/clusterroles".to_owned(),
            false,
        ),
        ("GET /api/v1/secrets".to_owned(), false),
    ];
    for (line, expected) in cases {
        let answer = world.ask(&agent("a"), &line, Value::Null).await;
        assert_eq!(answer.code != 403, expected, "{line}: {}", answer.body);
    }
}

#[tokio::test]
async fn an_agent_makes_its_own_and_nothing_else() {
    let world = World::start().await;
    assert!(gets(&world, &newcomer(), "request", "a").await);
    let cluster =
        |name: &str, mode: &str| json!({"metadata": {"name": name}, "spec": {"syncMode": mode}});
    let named = |name: &str| json!({"metadata": {"name": name}});
    let token = json!({
        "metadata": {"name": "a-impersonator", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    });
    let generated = json!({"metadata": {"generateName": "a"}, "spec": {"syncMode": "Pull"}});
    let (beside, system) = (leases("karmada-cluster"), leases("karmada-system"));
    for (path, object, expected) in [
        (CLUSTERS, cluster("evil", "Pull"), 403),
        (CLUSTERS, cluster("evil", "Push"), 403),
        (CLUSTERS, cluster("a", "Push"), 403),
        (CLUSTERS, generated, 403),
        (CLUSTERS, cluster("a", "Pull"), 201),
        (SECRETS, named("evil"), 403),
        (SECRETS, named("b"), 403),
        (SECRETS, token, 403),
        (SECRETS, named("a"), 201),
        (SECRETS, named("a-impersonator"), 201),
        (&beside, named("b"), 403),
        (&beside, named("a"), 201),
        (&system, named("karmada-scheduler"), 403),
        (&system, named("karmada-agent-a"), 201),
    ] {
        let line = format!("POST {path}");
        let answer = world.ask(&agent("a"), &line, object.clone()).await;
        assert_eq!(answer.code, expected, "{object}: {}", answer.body);
    }
}

#[tokio::test]
async fn whoever_joins_a_cluster_leaves_nothing_to_an_agent_that_took_its_name() {
    let world = World::start().await;
    assert!(gets(&world, &newcomer(), "request", "prod").await);
    let stranger = agent("prod");
    let (secret, works) = (format!("{SECRETS}/prod"), works("prod"));
    let reads = async |path: &str| {
        let line = format!("GET {path}");
        world.ask(&stranger, &line, json!(null)).await.code
    };
    assert_eq!(reads(&works).await, 200);
    // The token is there before the Cluster is.
    let token = json!({
        "metadata": {"name": "prod", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "c2VjcmV0"}},
        "data": {"token": "c2VjcmV0"},
    });
    world.create(SECRETS, token).await;
    let owned = json!({"metadata": {"labels": {"owned": "yes"}}});
    for (line, body) in [
        (format!("GET {secret}"), json!(null)),
        (format!("PATCH {secret}"), owned),
    ] {
        let answer = world.ask(&stranger, &line, body).await;
        assert_eq!(
            (answer.code, &answer.body["metadata"]["name"]),
            (200, &json!("prod"))
        );
        assert!(
            !answer.body.to_string().contains("c2VjcmV0"),
            "{}",
            answer.body
        );
    }
    let protobuf = "application/vnd.kubernetes.protobuf";
    let metadata = format!("{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    for (path, accept, form, part) in [
        (secret.clone(), protobuf, protobuf, "k8s\0"),
        (secret.clone(), &metadata, protobuf, "k8s\0"),
        (secret.clone(), "application/yaml", "application/yaml", ""),
        (
            secret.clone(),
            table,
            "application/json",
            "\"kind\":\"Table\"",
        ),
        (
            format!("{secret}?includeObject=Object"),
            table,
            "application/json",
            "\"kind\":\"Table\"",
        ),
    ] {
        let (code, media, text) = world.read(&stranger, &path, accept).await;
        assert_eq!((code, &*media), (200, form), "{accept}: {text}");
        assert!(
            text.contains(part) && text.contains("prod"),
            "{accept}: {text}"
        );
        for hidden in ["c2VjcmV0", "\"secret\""] {
            assert!(!text.contains(hidden), "{accept}: {text}");
        }
    }
    // In a message the data is as it is, not in base64.
    let (_, _, text) = world.read(&master(), &secret, protobuf).await;
    let (_, _, hidden) = world.read(&stranger, &secret, protobuf).await;
    let sees = |text: &str| text.contains("\u{6}secret");
    assert_eq!((sees(&text), sees(&hidden)), (true, false), "{text}");
    let copied = json!([{"op": "copy", "from": "/data/token", "path": "/metadata/labels/x"}]);
    let typed = [("content-type", "application/json-patch+json")];
    let line = format!("PATCH {secret}");
    let answer = world.ask_with(&stranger, &typed, &line, copied).await;
    assert_eq!(answer.code, 403, "{}", answer.body);
    let cluster = json!({
        "metadata": {"name": "prod"}, "spec": {"syncMode": "Push", "apiEndpoint": "https://10.0.0.1:6443"},
    });
    world.create(CLUSTERS, cluster).await;
    // At once, however long it takes until its roles are gone.
    for path in [&secret, &works] {
        assert_eq!(reads(path).await, 403, "{path}");
    }
    for path in roles("prod") {
        let line = format!("GET {path}");
        let is_gone = async || {
            let answer = world.ask(&master(), &line, json!(null)).await;
            (answer.code == 404).then_some(())
        };
        eventually(is_gone).await;
    }
    assert!(!gets(&world, &newcomer(), "again", "prod").await);
    let line = format!("DELETE {CLUSTERS}/prod");
    assert_eq!(world.ask(&master(), &line, json!(null)).await.code, 200);
    assert_eq!(reads(&secret).await, 403, "nothing of its roles was left");
}

#[tokio::test]
async fn a_name_is_given_to_one_who_asks_and_its_roles_go_with_the_cluster() {
    let world = World::start().await;
    let mut another = newcomer();
    another.name = "system:bootstrap:uvwxyz".to_owned();
    assert!(gets(&world, &newcomer(), "first", "m").await);
    assert!(!gets(&world, &another, "other", "m").await);
    assert!(gets(&world, &newcomer(), "once-more", "m").await);
    let cluster = json!({"metadata": {"name": "m"}, "spec": {"syncMode": "Pull"}});
    let line = format!("POST {CLUSTERS}");
    let registered = world.ask(&agent("m"), &line, cluster).await.body;
    for path in roles("m") {
        let line = format!("GET {path}");
        let owner = async || {
            let answer = world.ask(&master(), &line, json!(null)).await;
            let owner = answer.body["metadata"]["ownerReferences"][0]["uid"].clone();
            owner.is_string().then_some(owner)
        };
        assert_eq!(
            eventually(owner).await,
            registered["metadata"]["uid"],
            "{path}"
        );
    }
    assert!(gets(&world, &agent("m"), "renewal", "m").await);
}

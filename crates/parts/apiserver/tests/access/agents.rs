use serde_json::{Value, json};
use serve::call::User;

use crate::certificates::{REQUESTS, newcomer, object, request};
use crate::tokens::eventually;
use crate::world::{World, master, user};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const USUAL: [&str; 3] = ["digital signature", "key encipherment", "client auth"];

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
    world
        .create("/apis/cluster.karmada.io/v1alpha1/clusters", cluster)
        .await;
    let plain = |cluster: &str| wanted(cluster);
    let hosts = |hosts: &[&str]| request("system:karmada:agent:m2", "system:karmada:agents", hosts);
    let cases: [(&str, User, String, &[&str], bool); 11] = [
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
            .ask(
                &agent(cluster),
                "POST /apis/cluster.karmada.io/v1alpha1/clusters",
                object,
            )
            .await;
        assert_eq!(created.code, 201, "{}", created.body);
    }
    let clusters = "/apis/cluster.karmada.io/v1alpha1/clusters";
    let works = |cluster: &str| {
        format!("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{cluster}/works")
    };
    let secrets = "/api/v1/namespaces/karmada-cluster/secrets";
    let leases =
        |namespace: &str| format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
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

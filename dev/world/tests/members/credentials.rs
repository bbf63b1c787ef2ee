//! Credentials of members that change while they are in use.

use client::{PatchKind, WriteOptions};
use http::Request;
use http_body_util::BodyExt as _;
use intent::Part;
use object::{ObjectKey, Value};
use world::{Api, World, json};

use crate::{SOON, config_map, everywhere, seconds};

/// Another account of the member that may do everything, and its token as a Secret holds it.
async fn new_token(world: &World) -> Value {
    new_token_of(world, "karmada-controller-manager:karmada-m1").await
}

/// The same, with a ClusterRole.
async fn new_token_of(world: &World, role: &str) -> Value {
    let m1 = world.member("m1");
    m1.apply(&
        "
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: fresh, namespace: karmada-cluster}
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: fresh}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'ROLE'}
        subjects: [{kind: ServiceAccount, name: fresh, namespace: karmada-cluster}]
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: fresh, namespace: karmada-cluster, annotations: {kubernetes.io/service-account.name: fresh}}
        type: kubernetes.io/service-account-token
        "
        .replace("ROLE", role),
    )
    .await;
    world
        .until("the token is issued", SOON, async || {
            m1.field("secrets", "karmada-cluster/fresh", "data.token")
                .await
                .is_string()
        })
        .await;
    m1.field("secrets", "karmada-cluster/fresh", "data.token")
        .await
}

/// What the control plane is known by ends by itself, and is replaced long before.
#[tokio::test(start_paused = true)]
async fn tokens_end_and_are_replaced_in_time() {
    let world = World::build()
        .member(world::config("m1"))
        .stranger()
        .start()
        .await;
    let m1 = world.member("m1");
    let options = member::join::JoinOptions {
        token_seconds: 3600,
        ..member::join::JoinOptions::new("m1", m1.address())
    };
    let joined = member::join::join(world.client(), m1.client(), &options).await;
    joined.unwrap_or_else(|error| panic!("{error}"));
    world.until_ready("m1").await;
    let begun = world.now();
    let tokens = async || {
        let token = async |name: &str| {
            let key = format!("karmada-cluster/{name}");
            world.field("secrets", &key, "data.token").await
        };
        [token("m1").await, token("m1-impersonator").await]
    };
    let expires = async || {
        let cluster = world.get("clusters", "m1").await;
        let noted = cluster.and_then(|cluster| {
            let noted = cluster.annotation(member::credentials::EXPIRES_AT)?;
            noted.parse::<object::time::Time>().ok()
        });
        noted.unwrap_or_else(|| panic!("nothing says when the credentials end"))
    };
    world.advance(seconds(5)).await;
    let first = tokens().await;
    let until_end = expires().await.seconds_since(begun);
    assert!((3500..=3600).contains(&until_end), "{until_end}");
    world.advance(seconds(1150)).await;
    assert_eq!(tokens().await, first, "too early");
    world.advance(seconds(120)).await;
    let second = tokens().await;
    assert_ne!(second[0], first[0]);
    assert_ne!(second[1], first[1]);
    assert!(expires().await.seconds_since(begun) > 4700);
    // Long after the first ones have ended all goes on as ever.
    for _ in 0..10 {
        world.advance(seconds(600)).await;
        let ready = world.condition("clusters", "m1", "Ready").await;
        assert_eq!(ready, "True ClusterReady");
    }
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    world
        .until_is("works arrive", SOON, json!("1"), async || {
            m1.field("configmaps", "default/a", "data.value").await
        })
        .await;
    // Whoever takes the account's Secret away in the member ends them all.
    m1.delete("secrets", "karmada-cluster/karmada-m1").await;
    world
        .until("nobody knows us there", seconds(60), async || {
            let ready = world.condition("clusters", "m1", "Ready").await;
            ready == "False ClusterNotReachable"
        })
        .await;
    // Joining gives new ones in the place of those.
    let options = member::join::JoinOptions::new("m1", m1.address());
    let now = world.now().plus_seconds(3600);
    let renewed = member::join::renew(world.client(), m1.client(), &options, now).await;
    assert!(renewed.unwrap_or_else(|error| panic!("{error}")));
    world.until_ready("m1").await;
}

/// Everything that faces the member goes over to the new token at once, and nothing is lost or done twice on the way.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_replaced_is_used_from_then_on() {
    let world = World::with_members(1).await;
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    let m1 = world.member("m1");
    let value = async || m1.field("configmaps", "default/a", "data.value").await;
    world.until_is("it is there", SOON, json!("1"), value).await;
    let uid = m1.field("configmaps", "default/a", "metadata.uid").await;

    let token = new_token(&world).await;
    let secrets = world.resource("secrets", None).await;
    let key = ObjectKey::namespaced("karmada-cluster", "m1");
    let patch = json!({"data": {"token": token}});
    let rotated = world
        .client()
        .patch(
            &secrets,
            &key,
            PatchKind::Merge,
            &patch,
            &Part::Object,
            &WriteOptions::by("rotation"),
        )
        .await;
    rotated.unwrap_or_else(|error| panic!("{error}"));
    world.advance(seconds(2)).await;
    // The old account is gone: whoever still used its token would be a stranger.
    m1.delete("serviceaccounts", "karmada-cluster/karmada-m1")
        .await;
    world
        .stays("it stays ready", seconds(120), async || {
            world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
        })
        .await;
    // Works are brought, status comes back and hands are taken off with the new one.
    world
        .patch("configmaps", "default/a", json!({"data": {"value": "2"}}))
        .await;
    world
        .until_is("a change arrives", seconds(5), json!("2"), value)
        .await;
    m1.patch("configmaps", "default/a", json!({"data": {"value": "x"}}))
        .await;
    world
        .until_is("a change by hand is seen", seconds(5), json!("2"), value)
        .await;
    assert_eq!(
        m1.field("configmaps", "default/a", "metadata.uid").await,
        uid
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_no_longer_good_is_said_to_be_so_and_a_new_one_mends_it() {
    let world = World::with_members(1).await;
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": "bm9ib2R5"}}),
        )
        .await;
    world
        .until("it is not ready", seconds(90), async || {
            world
                .condition("clusters", "m1", "Ready")
                .await
                .starts_with("False")
        })
        .await;
    let token = new_token(&world).await;
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": token}}),
        )
        .await;
    world
        .until("it is ready again", seconds(60), async || {
            world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
        })
        .await;
    // A Secret without a token is told by name, and nothing is guessed.
    world
        .patch(
            "secrets",
            "karmada-cluster/m1",
            json!({"data": {"token": ""}}),
        )
        .await;
    world
        .until("what is missing is named", seconds(90), async || {
            let message = world
                .field("clusters", "m1", "status.conditions.type=Ready.message")
                .await;
            message
                .as_str()
                .is_some_and(|text| text.contains("missing a non-empty value for \"token\""))
        })
        .await;
}

/// Headers for a proxy may be its password: whoever could not have written them does not read them, by no way of reading.
#[tokio::test(start_paused = true)]
async fn headers_for_a_proxy_are_shown_to_those_who_may_write_them() {
    let world = World::with_members(1).await;
    let headers = json!({"spec": {"proxyHeader": {"X-Key": "hush-hush"}}});
    world.patch("clusters", "m1", headers).await;
    world
        .apply(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {name: reader}
            rules: [{apiGroups: [cluster.karmada.io], resources: [clusters, clusters/status], verbs: [get, list, watch]}]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: vera}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
            subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: vera}]
            ",
        )
        .await;
    let vera = world.as_user("vera", &[]).await;
    let clusters = "/apis/cluster.karmada.io/v1alpha1/clusters";
    for (path, accept) in [
        ("/m1", "application/json"),
        ("/m1", "application/yaml"),
        ("/m1/status", "application/json"),
        ("", "application/json"),
        ("", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        (
            "?includeObject=Object",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
        ),
        (
            "?watch=true&resourceVersion=0&timeoutSeconds=1",
            "application/json",
        ),
    ] {
        let read = async |who: &Api| {
            let request = Request::builder()
                .uri(format!("{clusters}{path}"))
                .header("accept", accept)
                .header("accept-encoding", "gzip")
                .body(client::Body::empty())
                .expect("the path is a path");
            let response = who.client().send(request).await;
            let response = response.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(response.status(), http::StatusCode::OK, "{path}");
            let bytes = response.into_body().collect().await;
            let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let seen = read(&vera).await;
        assert!(seen.contains("m1"), "{path} {accept}: {seen}");
        assert!(!seen.contains("hush-hush"), "{path} {accept}: {seen}");
    }
    let key = world
        .field("clusters", "m1", "spec.proxyHeader.X-Key")
        .await;
    assert_eq!(key, json!("hush-hush"));
    let shown = vera.field("clusters", "m1", "spec.proxyHeader.X-Key").await;
    assert_eq!(shown, json!("<redacted>"));
    // Those who reach the member have what they need.
    world
        .stays("it stays ready", seconds(60), async || {
            world.condition("clusters", "m1", "Ready").await == "True ClusterReady"
        })
        .await;
}

/// As the reference's own command joins with `--cluster-namespace`: the Secret, then the cluster, and only then does the
/// Secret belong to it.
#[tokio::test(start_paused = true)]
async fn credentials_kept_elsewhere_count_as_soon_as_they_belong_to_the_cluster() {
    let world = World::build()
        .member(world::config("m1"))
        .stranger()
        .start()
        .await;
    let m1 = world.member("m1");
    m1.apply("{apiVersion: v1, kind: Namespace, metadata: {name: karmada-cluster}}")
        .await;
    let data = async |token: Value| {
        let issued = m1.get("secrets", "karmada-cluster/fresh").await;
        let ca = issued.and_then(|issued| issued.at(&["data", "ca.crt"]).cloned());
        json!({"token": token, "caBundle": ca})
    };
    let token = new_token_of(&world, "cluster-admin").await;
    world
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}")
        .await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "mine", "namespace": "elsewhere"}, "data": data(token.clone()).await});
    world.apply(&secret.to_string()).await;
    let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "apiEndpoint": m1.address(),
        "secretRef": {"namespace": "elsewhere", "name": "mine"}}});
    world.apply(&cluster.to_string()).await;
    // The control plane has seen that they are not the cluster's.
    world.advance(seconds(1)).await;
    let uid = world.field("clusters", "m1", "metadata.uid").await;
    let owned = json!({"metadata": {"ownerReferences": [{"apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster", "name": "m1", "uid": uid}]}});
    world.patch("secrets", "elsewhere/mine", owned).await;
    let ready = async || json!(world.condition("clusters", "m1", "Ready").await);
    let well = json!("True ClusterReady");
    world
        .until_is("it is ready at once", seconds(2), well.clone(), ready)
        .await;

    // What changes there later counts, too.
    let nobody = json!({"data": data(json!("bm9ib2R5")).await});
    world.patch("secrets", "elsewhere/mine", nobody).await;
    world
        .until("nobody knows us there", SOON, async || {
            ready().await != json!("True ClusterReady")
        })
        .await;
    let again = json!({"data": data(token).await});
    world.patch("secrets", "elsewhere/mine", again).await;
    world.until_is("it is well again", SOON, well, ready).await;
}

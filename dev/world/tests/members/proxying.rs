//! `clusters/NAME/proxy`: users in members, as themselves.

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use object::Value;
use world::{Api, World, json};

use crate::{SOON, seconds};

const PROXY: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy";

/// Status and body of a call.
async fn call(api: &Api, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let media = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("{PROXY}{path}"))
        .header("content-type", media)
        .body(client::Body::from(body.into_bytes()))
        .expect("the path is a path");
    let response = api.client().send(request).await;
    let response = response.unwrap_or_else(|error| panic!("{error}"));
    let status = response.status();
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Lets a user through to `m1`, and do everything with ConfigMaps there.
async fn let_in(world: &World, user: &str) {
    world
        .apply(&format!(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {{name: to-m1}}
            rules:
            - {{apiGroups: [cluster.karmada.io], resources: [clusters/proxy], resourceNames: [m1], verbs: ['*']}}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {{name: {user}-to-m1}}
            roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}}
            subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
            "
        ))
        .await;
    world
        .member("m1")
        .apply(&format!(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {{name: maps}}
            rules: [{{apiGroups: [''], resources: [configmaps], verbs: ['*']}}]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {{name: {user}-maps}}
            roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maps}}
            subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
            "
        ))
        .await;
}

/// The one whom every member lets through, once it has been told to.
async fn administrator(world: &World) -> Api {
    let admin = world.as_user("system:admin", &["system:masters"]).await;
    world
        .until("the administrator is let through", SOON, async || {
            let (status, _) = call(&admin, Method::GET, "/version", Value::Null).await;
            status == StatusCode::OK
        })
        .await;
    admin
}

/// Whom the members may be asked to take somebody for.
async fn impersonated(world: &World, member: &str) -> String {
    let rules = world
        .member(member)
        .field("clusterroles", "karmada-impersonator", "rules")
        .await;
    rules.to_string()
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_is_told_at_once_which_member_refuses() {
    let world = World::with_members(2).await;
    let_in(&world, "vera").await;
    world
        .until("the member may take her for herself", SOON, async || {
            impersonated(&world, "m1").await.contains("vera")
        })
        .await;
    let vera = world.as_user("vera", &[]).await;
    let query = cli::Query {
        words: vec!["configmaps".to_owned()],
        scope: cli::Scope::Members,
        clusters: vec!["m1".to_owned(), "m2".to_owned()],
        ..cli::Query::default()
    };
    let told = std::sync::Mutex::new(String::new());
    let mut rows = |_: &str| Ok(());
    let mut notes = |text: &str| {
        told.lock().unwrap().push_str(text);
        Ok(())
    };
    let sinks: (cli::Sink<'_>, cli::Sink<'_>) = (&mut rows, &mut notes);
    let seen = async {
        world
            .until("it is told", SOON, async || {
                told.lock().unwrap().contains("it is not followed")
            })
            .await;
        // Until the other has answered.
        world.advance(SOON).await;
    };
    let watching = cli::watch(vera.client(), &query, (false, false), sinks, seen);
    let Err(failure) = watching.await else {
        panic!("it ended well");
    };
    assert_eq!(failure.exit_code(), 1, "{failure}");
    assert!(
        failure.to_string().starts_with("cluster(m2): "),
        "{failure}"
    );
    let told = told.lock().unwrap();
    assert!(told.starts_with("cluster(m2): "), "{told}");
}

#[tokio::test(start_paused = true)]
async fn c32_and_c34_users_are_themselves_in_members_they_are_let_into() {
    let world = World::with_members(2).await;
    let_in(&world, "vera").await;
    world
        .until("the member may take her for herself", SOON, async || {
            impersonated(&world, "m1").await.contains("vera")
        })
        .await;
    assert!(!impersonated(&world, "m2").await.contains("vera"));
    let vera = world.as_user("vera", &[]).await;

    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let (status, body) = call(&vera, Method::POST, maps, map).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let one = format!("{maps}/a");
    let patch = json!({"data": {"k": "w"}});
    for (method, path, body, expected) in [
        (Method::GET, one.as_str(), Value::Null, StatusCode::OK),
        (Method::GET, maps, Value::Null, StatusCode::OK),
        (Method::PATCH, &one, patch, StatusCode::OK),
        (
            Method::GET,
            "/api/v1/nodes",
            Value::Null,
            StatusCode::FORBIDDEN,
        ),
        (Method::DELETE, &one, Value::Null, StatusCode::OK),
        (Method::GET, &one, Value::Null, StatusCode::NOT_FOUND),
    ] {
        let (status, body) = call(&vera, method.clone(), path, body).await;
        assert_eq!(status, expected, "{method} {path}: {body}");
    }
    // Watches end when they were asked to.
    let (status, _) = call(
        &vera,
        Method::GET,
        &format!("{maps}?watch=true&timeoutSeconds=2"),
        Value::Null,
    )
    .await;
    assert_eq!(status, StatusCode::OK);

    let stranger = world.as_user("nobody", &[]).await;
    let (status, _) = call(&stranger, Method::GET, maps, Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);

    world.delete("clusterrolebindings", "vera-to-m1").await;
    world
        .until("she is nobody there any more", seconds(10), async || {
            !impersonated(&world, "m1").await.contains("vera")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn c32_without_an_account_to_impersonate_with_nobody_gets_through() {
    let world = World::with_members(1).await;
    world
        .patch(
            "clusters",
            "m1",
            json!({"spec": {"impersonatorSecretRef": null}}),
        )
        .await;
    let (status, body) = call(world.control(), Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        body["message"],
        "the impersonatorSecretRef of cluster m1 is nil"
    );
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_answer_holds_no_call_for_ever() {
    let world = World::with_members(1).await;
    world
        .member("m1")
        .refuse_connections(Some("certificate has expired"));
    let (status, body) = call(world.control(), Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.contains("certificate has expired"), "{message}");
}

/// A member that is away costs its first callers some patience and everybody after them none, and is found again.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_away_is_not_waited_for_by_everybody() {
    let world = World::with_members(2).await;
    let m1 = world.member("m1");
    let admin = administrator(&world).await;
    let ask = async || {
        let begun = tokio::time::Instant::now();
        let (status, body) = call(&admin, Method::GET, "/version", Value::Null).await;
        let message = body["message"].as_str().unwrap_or_default().to_owned();
        (status, message, begun.elapsed())
    };
    assert_eq!(ask().await.0, StatusCode::OK);
    m1.faults().cut_off(true);
    world
        .until("it is seen to be away", seconds(90), async || {
            world.condition("clusters", "m1", "Ready").await == "False ClusterNotReachable"
        })
        .await;
    let (status, message, took) = ask().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(took <= seconds(10), "{took:?}");
    assert!(message.contains("no answer within 10 seconds"), "{message}");
    m1.calls();
    for _ in 0..20 {
        let (status, message, took) = ask().await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(took < std::time::Duration::from_millis(50), "{took:?}");
        let expected = "cluster m1 does not answer and is not asked again for ";
        assert!(message.starts_with(expected), "{message}");
    }
    let asked = m1.calls();
    let asked = asked.iter().filter(|call| call.contains("/version"));
    assert_eq!(asked.count(), 0, "nobody asked it");
    m1.faults().heal();
    let took = world
        .until("it is found again", seconds(35), async || {
            ask().await.0 == StatusCode::OK
        })
        .await;
    assert!(took < seconds(31), "{took:?}");
}

/// One that refuses connections is told at once, and a few failures in a row are borne.
#[tokio::test(start_paused = true)]
async fn a_few_failures_in_a_row_do_not_close_the_way() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let admin = administrator(&world).await;
    let ask = async || call(&admin, Method::GET, "/version", Value::Null).await;
    m1.refuse_connections(Some("connection refused"));
    for _ in 0..4 {
        let (_, body) = ask().await;
        let message = body["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("connection refused"), "{message}");
    }
    m1.refuse_connections(None);
    assert_eq!(ask().await.0, StatusCode::OK);
}

/// Who a request comes from is what the control plane says, whatever the request says, and its credentials end there.
#[tokio::test(start_paused = true)]
async fn p22_a_request_cannot_claim_to_be_somebody_else() {
    let world = World::with_members(1).await;
    let_in(&world, "vera").await;
    world
        .until("the member may take her for herself", SOON, async || {
            impersonated(&world, "m1").await.contains("vera")
        })
        .await;
    world
        .member("m1")
        .apply(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {name: who-am-i}
            rules: [{apiGroups: [authentication.k8s.io], resources: [selfsubjectreviews], verbs: [create]}]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: who-am-i}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: who-am-i}
            subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}]
            ",
        )
        .await;
    let vera = world.as_user("vera", &[]).await;
    let asked = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{PROXY}{asked}"))
        .header("content-type", "application/json")
        // Good for nothing here, and never heard of there.
        .header("authorization", "Bearer of-nobody")
        .body(client::Body::from(
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
                .to_string()
                .into_bytes(),
        ))
        .expect("the path is a path");
    let response = vera.client().send(request).await;
    let response = response.unwrap_or_else(|error| panic!("{error}"));
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap_or_else(|error| panic!("{error}")).to_bytes();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let info = &body["status"]["userInfo"];
    assert_eq!(info["username"], "vera", "{body}");
    assert_eq!(info["groups"], json!(["system:authenticated"]), "{body}");
    assert_eq!(info.get("uid"), None, "{body}");
    assert_eq!(info.get("extra"), None, "{body}");
}

/// Whoever belongs to the system is nobody in a member, but for the administrator, who may do there what a binding says.
#[tokio::test(start_paused = true)]
async fn only_the_administrator_of_the_system_may_be_impersonated() {
    let world = World::with_members(1).await;
    let admin = administrator(&world).await;
    let rules = impersonated(&world, "m1").await;
    let rules: Value = serde_json::from_str(&rules).unwrap_or_default();
    assert_eq!(
        rules,
        json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["system:admin"]}])
    );
    let (status, body) = call(&admin, Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let asked = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (_, body) = call(&admin, Method::POST, asked, who).await;
    let groups = &body["status"]["userInfo"]["groups"];
    assert_eq!(*groups, json!(["system:authenticated"]), "{body}");
    // Whoever takes the way away takes it away in members too.
    world
        .delete("clusterrolebindings", "cluster-proxy-admin")
        .await;
    world
        .until("it is nobody there any more", SOON, async || {
            let bound = "karmada-impersonator-admin";
            impersonated(&world, "m1").await == "[]"
                && world
                    .member("m1")
                    .get("clusterrolebindings", bound)
                    .await
                    .is_none()
        })
        .await;
    let (status, _) = call(&admin, Method::GET, "/api/v1/nodes", Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

/// An account is who it is in its namespace: one of the same name elsewhere is somebody else.
#[tokio::test(start_paused = true)]
async fn service_accounts_are_impersonated_in_their_own_namespace() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    world
        .apply(
            "
            {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {name: to-m1}
            rules:
            - {apiGroups: [cluster.karmada.io], resources: [clusters/proxy], resourceNames: [m1], verbs: ['*']}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: ci-to-m1}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}
            subjects: [{kind: ServiceAccount, name: ci, namespace: shop}]
            ",
        )
        .await;
    m1.apply(
        "
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: maps}
        rules: [{apiGroups: [''], resources: [configmaps], verbs: ['*']}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: maps}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maps}
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:serviceaccounts:shop'}]
        ",
    )
    .await;
    let role = "shop/karmada-impersonator";
    let rules = json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": ["ci"]}]);
    world
        .until_is("the rule is there", SOON, rules, async || {
            m1.field("roles", role, "rules").await
        })
        .await;
    assert!(!impersonated(&world, "m1").await.contains("ci"));
    let groups = ["system:serviceaccounts", "system:serviceaccounts:shop"];
    let ci = world
        .as_user("system:serviceaccount:shop:ci", &groups)
        .await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .until("the account is let through as itself", SOON, async || {
            call(&ci, Method::GET, maps, Value::Null).await.0 == StatusCode::OK
        })
        .await;
    // Even if it were let out of the control plane, the member would not take it for its namesake.
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default"];
    let namesake = "system:serviceaccount:default:ci";
    world
        .apply(
            "
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: by-group}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}
            subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:serviceaccounts:default'}]
            ",
        )
        .await;
    let other = world.as_user(namesake, &groups).await;
    let (status, body) = call(&other, Method::GET, maps, Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let message = body["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("impersonate resource \"serviceaccounts\""),
        "{message}"
    );

    world.delete("clusterrolebindings", "ci-to-m1").await;
    world
        .until("the rules are gone", SOON, async || {
            m1.get("roles", role).await.is_none() && m1.get("rolebindings", role).await.is_none()
        })
        .await;
}

/// A connection into a pod is more than a look, whatever the method it begins with.
#[tokio::test(start_paused = true)]
async fn reading_is_not_enough_for_connections_into_pods() {
    let world = World::with_members(1).await;
    let let_in = async |verbs: &str| {
        world
            .apply(&format!(
                "
                apiVersion: rbac.authorization.k8s.io/v1
                kind: ClusterRole
                metadata: {{name: to-m1}}
                rules: [{{apiGroups: [cluster.karmada.io], resources: [clusters/proxy], verbs: [{verbs}]}}]
                ---
                apiVersion: rbac.authorization.k8s.io/v1
                kind: ClusterRoleBinding
                metadata: {{name: vera}}
                roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: to-m1}}
                subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: vera}}]
                "
            ))
            .await;
    };
    let vera = world.as_user("vera", &[]).await;
    let refused = "connections into pods need more than get";
    let asked = async |part: &str| {
        let path = format!("/api/v1/namespaces/default/pods/p/{part}");
        let (_, body) = call(&vera, Method::GET, &path, Value::Null).await;
        let message = body["message"].as_str().unwrap_or_default();
        message.contains(refused)
    };
    let_in("get").await;
    world
        .until("she may read", SOON, async || {
            let (status, _) = call(&vera, Method::GET, "/version", Value::Null).await;
            status == StatusCode::OK
        })
        .await;
    for (part, expected) in [
        ("exec", true),
        ("attach", true),
        ("portforward", true),
        ("log", false),
        ("status", false),
    ] {
        assert_eq!(asked(part).await, expected, "{part}");
    }
    let_in("get, create").await;
    world
        .until("she may connect", SOON, async || !asked("exec").await)
        .await;
}

use serde_json::{Value, json};

use crate::world::{World, known, master, subject};

const BASE: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Somebody who may write roles and bindings of `shop` and holds `view` there.
async fn prepare() -> World {
    let world = World::start().await;
    world.namespace("shop").await;
    world
        .role(
            "shop",
            "clerk",
            &["* rbac.authorization.k8s.io roles,rolebindings"],
        )
        .await;
    world.bind("shop", ("Role", "clerk"), subject("carl")).await;
    world
        .bind("shop", ("ClusterRole", "view"), subject("dora"))
        .await;
    world
        .role(
            "",
            "writer",
            &["create,update rbac.authorization.k8s.io roles,rolebindings,clusterroles"],
        )
        .await;
    world
        .bind("", ("ClusterRole", "writer"), subject("dora"))
        .await;
    world
        .role(
            "",
            "binder",
            &["bind rbac.authorization.k8s.io clusterroles edit"],
        )
        .await;
    world
        .bind("shop", ("ClusterRole", "binder"), subject("dora"))
        .await;
    world
}

fn role(name: &str, verbs: &[&str], resource: &str) -> Value {
    json!({"metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [""], "resources": [resource]}]})
}

fn binding(name: &str, role: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject("eve")],
    })
}

#[tokio::test]
async fn nobody_gives_away_what_they_do_not_have() {
    let world = prepare().await;
    let (carl, dora) = (known("carl"), known("dora"));
    let roles = format!("POST {BASE}/namespaces/shop/roles");
    let bindings = format!("POST {BASE}/namespaces/shop/rolebindings");
    let cluster_roles = format!("POST {BASE}/clusterroles");
    let gathering = json!({
        "metadata": {"name": "g"}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    });
    for (who, line, object, code, why) in [
        (&dora, &roles, role("a", &["get"], "pods"), 201, ""),
        (
            &dora,
            &roles,
            role("b", &["get", "delete"], "pods"),
            403,
            "roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"dora\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}",
        ),
        // `*` on roles includes `escalate`, as upstream.
        (&carl, &roles, role("c", &["delete"], "nodes"), 201, ""),
        (&dora, &bindings, binding("view-it", "view"), 201, ""),
        (&dora, &bindings, binding("edit-it", "edit"), 201, ""),
        (
            &dora,
            &bindings,
            binding("root", "cluster-admin"),
            403,
            "attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
        ),
        (
            &dora,
            &bindings,
            binding("gone", "absent"),
            404,
            "clusterroles.rbac.authorization.k8s.io \"absent\" not found",
        ),
        (
            &dora,
            &cluster_roles,
            gathering,
            403,
            "clusterroles.rbac.authorization.k8s.io \"g\" is forbidden: must have cluster-admin privileges to use the aggregationRule",
        ),
    ] {
        let name = object["metadata"]["name"].to_string();
        let answer = world.ask(who, line, object).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, code, "{name}: {message}");
        assert!(message.contains(why), "{name}: {message}");
    }
}

#[tokio::test]
async fn a_role_is_changed_only_by_whoever_holds_all_of_it() {
    let world = World::start().await;
    let group = "rbac.authorization.k8s.io clusterroles";
    for (name, who, rules) in [
        (
            "patcher",
            "paul",
            &[&*format!("get,patch,update {group}")][..],
        ),
        ("raiser", "rita", &[&*format!("patch,escalate {group}")]),
        ("small", "paul", &["get core pods"]),
    ] {
        world.role("", name, rules).await;
        world.bind("", ("ClusterRole", name), subject(who)).await;
    }
    let everything =
        "is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"*\"]";
    let privileges = "must have cluster-admin privileges to use the aggregationRule";
    let label = |value: &str| json!({"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": value}}});
    let gathering = json!({
        "metadata": {"name": "own"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        "rules": [],
    });
    world
        .create(&format!("{BASE}/clusterroles"), gathering)
        .await;
    let (paul, rita) = (known("paul"), known("rita"));
    let applied = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "cluster-admin", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
    });
    let apply = [("content-type", "application/apply-patch+yaml")];
    let merge: [(&str, &str); 0] = [];
    for (who, headers, name, change, code, why) in [
        (
            &paul,
            &merge[..],
            "cluster-admin",
            label("true"),
            403,
            everything,
        ),
        (
            &paul,
            &apply,
            "cluster-admin?fieldManager=p",
            applied,
            403,
            everything,
        ),
        (&paul, &merge, "small", label("true"), 200, ""),
        // What a role gathers is not for its writer to choose, nor to stop.
        (&paul, &merge, "own", label("true"), 403, privileges),
        (
            &paul,
            &merge,
            "own",
            json!({"aggregationRule": null}),
            403,
            privileges,
        ),
        (
            &paul,
            &merge,
            "cluster-admin",
            json!({"metadata": {"finalizers": ["a.io/b"]}}),
            200,
            "",
        ),
        (
            &paul,
            &merge,
            "cluster-admin",
            json!({"metadata": {"finalizers": null}}),
            200,
            "",
        ),
        (
            &rita,
            &merge,
            "own",
            json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
            200,
            "",
        ),
        (&rita, &merge, "cluster-admin", label("false"), 200, ""),
        (&master(), &merge, "own", label("true"), 200, ""),
    ] {
        let line = format!("PATCH {BASE}/clusterroles/{name}");
        let answer = world.ask_with(who, headers, &line, change.clone()).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, code, "{} {name} {change}: {message}", who.name);
        assert!(message.contains(why), "{name} {change}: {message}");
    }
    let mut admin = world
        .ask(
            &paul,
            &format!("GET {BASE}/clusterroles/cluster-admin"),
            json!(null),
        )
        .await
        .body;
    admin["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] = json!("true");
    let line = format!("PUT {BASE}/clusterroles/cluster-admin");
    let answer = world.ask(&paul, &line, admin).await;
    assert_eq!(answer.code, 403, "{}", answer.body);
}

#[tokio::test]
async fn a_binding_is_changed_only_by_whoever_could_make_it() {
    let world = World::start().await;
    let group = "rbac.authorization.k8s.io";
    let patcher = format!("get,patch {group} rolebindings,clusterrolebindings");
    world.role("", "patcher", &[&patcher]).await;
    world.role("", "small", &["get core pods"]).await;
    let binder = format!("bind {group} clusterroles edit");
    world.role("", "binder", &[&binder]).await;
    for role in ["patcher", "small", "binder"] {
        world.bind("", ("ClusterRole", role), subject("paul")).await;
    }
    for role in ["small", "edit", "admin"] {
        let bound = ("ClusterRole", role);
        world.bind("default", bound, subject("olga")).await;
    }
    let held = "is attempting to grant RBAC permissions not currently held";
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let subjects = json!({"subjects": [subject("paul")]});
    for (name, change, code, why) in [
        ("small-olga", &label, 200, ""),
        ("small-olga", &subjects, 200, ""),
        // Held by nobody's rules, but bound by leave.
        ("edit-olga", &subjects, 200, ""),
        ("admin-olga", &label, 403, held),
        ("admin-olga", &subjects, 403, held),
        (
            "admin-olga",
            &json!({"metadata": {"finalizers": ["a.io/b"]}}),
            200,
            "",
        ),
    ] {
        let line = format!("PATCH {BASE}/namespaces/default/rolebindings/{name}");
        let answer = world.ask(&known("paul"), &line, change.clone()).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, code, "{name} {change}: {message}");
        assert!(message.contains(why), "{name} {change}: {message}");
    }
}

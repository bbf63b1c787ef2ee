use std::borrow::Cow;

use serde_json::json;
use serve::target::ResourceTarget;

use super::*;

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(ToString::to_string).collect(),
        ..User::default()
    }
}

fn attempt(verb: &'static str, namespace: &str, resource: &str) -> Attempt {
    let target = ResourceTarget {
        version: "v1".to_owned(),
        namespace: namespace.to_owned(),
        resource: resource.to_owned(),
        ..ResourceTarget::default()
    };
    Attempt::on(verb, target)
}

fn role(verbs: &[&str], resources: &[&str]) -> Value {
    json!({"rules": [{"verbs": verbs, "apiGroups": [""], "resources": resources}]})
}

fn binding(kind: &str, role: &str, subjects: Value) -> Value {
    json!({"roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role}, "subjects": subjects})
}

fn sample() -> Rules {
    let mut rules = Rules::default();
    rules.insert(
        Sort::ClusterRole,
        "",
        "reader",
        &role(&["get", "list"], &["pods", "nodes"]),
    );
    rules.insert(Sort::Role, "shop", "writer", &role(&["create"], &["pods"]));
    rules.insert(
        Sort::ClusterRoleBinding,
        "",
        "ops-read",
        &binding(
            "ClusterRole",
            "reader",
            json!([{"kind": "Group", "name": "ops"}]),
        ),
    );
    rules.insert(
        Sort::RoleBinding,
        "shop",
        "read-here",
        &binding(
            "ClusterRole",
            "reader",
            json!([
                {"kind": "User", "name": "ann"},
                {"kind": "ServiceAccount", "name": "till", "namespace": "shop"},
                {"kind": "ServiceAccount", "name": "local"},
            ]),
        ),
    );
    rules.insert(
        Sort::RoleBinding,
        "shop",
        "write-here",
        &binding("Role", "writer", json!([{"kind": "User", "name": "ann"}])),
    );
    rules.insert(
        Sort::RoleBinding,
        "shop",
        "dangling",
        &binding("Role", "gone", json!([{"kind": "User", "name": "eve"}])),
    );
    rules
}

#[test]
fn bindings_give_roles_where_they_hold() {
    let rules = sample();
    let (ann, bob) = (user("ann", &[]), user("bob", &["ops"]));
    let till = user("system:serviceaccount:shop:till", &[]);
    let local = user("system:serviceaccount:shop:local", &[]);
    let eve = user("eve", &[]);
    for (who, verb, namespace, resource, reason) in [
        (
            &bob,
            "list",
            "",
            "pods",
            "RBAC: allowed by ClusterRoleBinding \"ops-read\" of ClusterRole \"reader\" to Group \"ops\"",
        ),
        (
            &bob,
            "list",
            "shop",
            "pods",
            "RBAC: allowed by ClusterRoleBinding \"ops-read\" of ClusterRole \"reader\" to Group \"ops\"",
        ),
        (&bob, "create", "shop", "pods", ""),
        (
            &ann,
            "list",
            "shop",
            "pods",
            "RBAC: allowed by RoleBinding \"read-here/shop\" of ClusterRole \"reader\" to User \"ann\"",
        ),
        (&ann, "list", "", "pods", ""),
        (&ann, "list", "other", "pods", ""),
        (&ann, "get", "", "nodes", ""),
        (
            &ann,
            "create",
            "shop",
            "pods",
            "RBAC: allowed by RoleBinding \"write-here/shop\" of Role \"writer\" to User \"ann\"",
        ),
        (
            &till,
            "get",
            "shop",
            "pods",
            "RBAC: allowed by RoleBinding \"read-here/shop\" of ClusterRole \"reader\" to ServiceAccount \"till/shop\"",
        ),
        (
            &local,
            "get",
            "shop",
            "pods",
            "RBAC: allowed by RoleBinding \"read-here/shop\" of ClusterRole \"reader\" to ServiceAccount \"local/shop\"",
        ),
        (
            &eve,
            "get",
            "shop",
            "pods",
            "RBAC: role.rbac.authorization.k8s.io \"gone\" not found",
        ),
    ] {
        let decision = rules.decide(who, &attempt(verb, namespace, resource));
        assert_eq!(
            decision.reason(),
            reason,
            "{} {verb} {namespace}/{resource}",
            who.name
        );
        assert_eq!(
            decision.is_allowed(),
            reason.contains("allowed by"),
            "{reason}"
        );
    }
}

#[test]
fn a_binding_that_changes_or_goes_takes_back_what_it_gave() {
    let mut rules = sample();
    let pods = attempt("list", "shop", "pods");
    let (ann, zoe) = (user("ann", &[]), user("zoe", &[]));
    rules.insert(
        Sort::RoleBinding,
        "shop",
        "read-here",
        &binding(
            "ClusterRole",
            "reader",
            json!([{"kind": "User", "name": "zoe"}]),
        ),
    );
    assert!(!rules.decide(&ann, &pods).is_allowed());
    assert!(rules.decide(&zoe, &pods).is_allowed());
    rules.remove(Sort::RoleBinding, "shop/read-here");
    assert!(!rules.decide(&zoe, &pods).is_allowed());
    assert!(rules.users.get("zoe").is_none(), "nothing is left behind");
    rules.remove(Sort::ClusterRole, "reader");
    let bob = user("bob", &["ops"]);
    assert_eq!(
        rules.decide(&bob, &pods).reason(),
        "RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found"
    );
}

#[test]
fn paths_are_given_by_cluster_wide_bindings_alone() {
    let mut rules = Rules::default();
    let urls = json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]});
    rules.insert(Sort::ClusterRole, "", "metrics", &urls);
    let subjects = json!([{"kind": "User", "name": "ann"}]);
    let path = Attempt {
        verb: Cow::Borrowed("get"),
        what: What::Path("/metrics".to_owned()),
    };
    let here = binding("ClusterRole", "metrics", subjects);
    rules.insert(Sort::RoleBinding, "shop", "m", &here);
    assert!(!rules.decide(&user("ann", &[]), &path).is_allowed());
    rules.insert(Sort::ClusterRoleBinding, "", "m", &here);
    assert!(rules.decide(&user("ann", &[]), &path).is_allowed());
}

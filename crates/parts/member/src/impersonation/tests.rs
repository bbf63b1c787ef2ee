//! Who may be impersonated where.

use object::{Object, Value};
use serde_json::json;

use crate::impersonation::plan::{Inputs, plan};
use crate::testing::object;

fn cluster(name: &str) -> Object {
    object(
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name, "uid": "c"},
                  "spec": {"impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "x"}}}),
    )
}

fn role(name: &str, rules: Value) -> Object {
    object(json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}))
}

fn binding(role: &str, subjects: &[(&str, &str)]) -> Object {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(kind, name)| match name.split_once('/') {
            Some((namespace, name)) => json!({"kind": kind, "name": name, "namespace": namespace}),
            None => json!({"kind": kind, "name": name}),
        })
        .collect();
    object(
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"name": role}, "subjects": subjects}),
    )
}

/// The rules in the role for a cluster, as `resource: names`.
fn rules(cluster: &Object, roles: &[Object], bindings: &[Object]) -> Vec<String> {
    let roles: Vec<&Object> = roles.iter().collect();
    let bindings: Vec<&Object> = bindings.iter().collect();
    let plan = plan(&Inputs {
        cluster,
        roles: &roles,
        bindings: &bindings,
        works: &[],
        are_all: true,
    });
    let mut rules = Vec::new();
    for manifest in plan.actions.iter().filter_map(made) {
        let meta = &manifest["metadata"];
        let namespace = meta["namespace"].as_str().unwrap_or_default();
        for rule in manifest["rules"].as_array().into_iter().flatten() {
            assert_eq!(meta["name"], "karmada-impersonator");
            let resource = rule["resources"][0].as_str().unwrap();
            let text = format!("{namespace} {resource}: {}", rule["resourceNames"]);
            rules.push(text.trim_start().to_owned());
        }
    }
    rules
}

/// What a work that is made brings to the cluster.
fn made(action: &intent::Action) -> Option<&Value> {
    match action {
        intent::Action::Create { object, .. } => {
            Some(&object.at(&["spec", "workload", "manifests"]).unwrap()[0])
        }
        _ => None,
    }
}

fn proxy(names: Value) -> Value {
    json!([{"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["get"], "resourceNames": names}])
}

#[test]
fn those_who_may_use_the_proxy_may_be_impersonated() {
    let roles = [
        role("all", proxy(json!([]))),
        role("one", proxy(json!(["m1"]))),
        role("other", json!([{"apiGroups": [""], "resources": ["pods"]}])),
        role(
            "search",
            json!([{"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"]}]),
        ),
    ];
    let bindings = [
        binding(
            "all",
            &[
                ("User", "zoe"),
                ("User", "adam"),
                ("Group", "devs"),
                ("ServiceAccount", "shop/ci"),
            ],
        ),
        binding("one", &[("User", "only-m1")]),
        binding("other", &[("User", "nobody")]),
        binding("search", &[("User", "seeker")]),
        binding("missing", &[("User", "nobody")]),
    ];
    assert_eq!(
        rules(&cluster("m1"), &roles, &bindings),
        [
            r#"users: ["adam","only-m1","seeker","zoe"]"#,
            r#"groups: ["devs"]"#,
            r#"shop serviceaccounts: ["ci"]"#
        ]
    );
    assert_eq!(
        rules(&cluster("m2"), &roles, &bindings),
        [
            r#"users: ["adam","seeker","zoe"]"#,
            r#"groups: ["devs"]"#,
            r#"shop serviceaccounts: ["ci"]"#
        ]
    );
    assert!(rules(&cluster("m2"), &roles, &[]).is_empty());
}

#[test]
fn those_of_the_system_must_be_named_to_be_impersonated() {
    let admin = role(
        "admin",
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
    );
    let everything = binding(
        "admin",
        &[
            ("Group", "system:masters"),
            ("User", "root"),
            ("User", "system:karavel:controllers"),
            ("ServiceAccount", "kube-system/generic-garbage-collector"),
            ("ServiceAccount", "shop/deployer"),
        ],
    );
    assert_eq!(
        rules(
            &cluster("m1"),
            std::slice::from_ref(&admin),
            std::slice::from_ref(&everything)
        ),
        [
            r#"users: ["root"]"#,
            r#"shop serviceaccounts: ["deployer"]"#
        ]
    );
    let named = [admin, role("proxy", proxy(json!([])))];
    let bindings = [everything, binding("proxy", &[("Group", "system:masters")])];
    assert_eq!(
        rules(&cluster("m1"), &named, &bindings),
        [
            r#"users: ["root"]"#,
            r#"groups: ["system:masters"]"#,
            r#"shop serviceaccounts: ["deployer"]"#
        ]
    );
}

#[test]
fn a_cluster_without_an_account_for_it_gets_no_rules() {
    let plain = object(json!({"metadata": {"name": "m1"}, "spec": {}}));
    let plan = plan(&Inputs {
        cluster: &plain,
        roles: &[],
        bindings: &[],
        works: &[],
        are_all: true,
    });
    assert!(plan.is_empty());
}

#[test]
fn the_account_is_bound_where_the_cluster_says() {
    let plan = plan(&Inputs {
        cluster: &cluster("m1"),
        roles: &[],
        bindings: &[],
        works: &[],
        are_all: true,
    });
    let intent::Action::Create { object: work, .. } = &plan.actions[1] else {
        panic!("{plan:?}");
    };
    let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
    assert_eq!(
        manifest["subjects"],
        json!([{"kind": "ServiceAccount", "name": "karmada-impersonator", "namespace": "karmada-cluster"}])
    );
    assert_eq!(manifest["roleRef"]["name"], "karmada-impersonator");
    assert_eq!(plan.actions.len(), 3, "two works and an event");
}

#[test]
fn the_administrator_may_do_in_a_member_what_its_binding_says() {
    let roles = [role("proxy", proxy(json!([])))];
    let bindings = [binding("proxy", &[("User", "system:admin")])];
    let (roles, bindings): (Vec<&Object>, Vec<&Object>) =
        (roles.iter().collect(), bindings.iter().collect());
    let plan = plan(&Inputs {
        cluster: &cluster("m1"),
        roles: &roles,
        bindings: &bindings,
        works: &[],
        are_all: true,
    });
    let made: Vec<&Value> = plan.actions.iter().filter_map(made).collect();
    let [binding, _, _] = made.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(binding["kind"], "ClusterRoleBinding");
    assert_eq!(binding["roleRef"]["name"], "cluster-admin");
    let user =
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:admin"}]);
    assert_eq!(binding["subjects"], user);
}

/// What nobody needs any more goes, once it is sure that nobody does.
#[test]
fn rules_for_accounts_that_nobody_names_any_more_go() {
    let cluster = cluster("m1");
    let roles = [role("proxy", proxy(json!([])))];
    let roles: Vec<&Object> = roles.iter().collect();
    let bound = [binding("proxy", &[("ServiceAccount", "shop/ci")])];
    let bound: Vec<&Object> = bound.iter().collect();
    let decide = |bindings: &[&Object], works: &[&Object], are_all: bool| {
        plan(&Inputs {
            cluster: &cluster,
            roles: &roles,
            bindings,
            works,
            are_all,
        })
    };
    let made = decide(&bound, &[], true);
    let works: Vec<&Object> = made
        .actions
        .iter()
        .filter_map(|action| match action {
            intent::Action::Create { object, .. } => Some(object),
            _ => None,
        })
        .collect();
    assert_eq!(works.len(), 4);
    assert!(decide(&bound, &works, true).is_empty());
    assert!(decide(&[], &works, false).is_empty());
    let left = decide(&[], &works, true);
    let gone: Vec<&intent::Action> = left
        .actions
        .iter()
        .filter(|action| action.verb() == "delete")
        .collect();
    assert_eq!(gone.len(), 2, "{left:?}");
}

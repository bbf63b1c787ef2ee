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
        .map(|(kind, name)| json!({"kind": kind, "name": name}))
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
        works: [None, None],
    });
    let intent::Action::Create { object: work, .. } = &plan.actions[0] else {
        panic!("{plan:?}");
    };
    let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
    assert_eq!(manifest["metadata"]["name"], "karmada-impersonator");
    let rules = manifest["rules"].as_array().unwrap();
    rules
        .iter()
        .map(|rule| {
            format!(
                "{}: {}",
                rule["resources"][0].as_str().unwrap(),
                rule["resourceNames"]
            )
        })
        .collect()
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
                ("ServiceAccount", "ci"),
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
            r#"serviceaccounts: ["ci"]"#,
            r#"groups: ["devs"]"#
        ]
    );
    assert_eq!(
        rules(&cluster("m2"), &roles, &bindings),
        [
            r#"users: ["adam","seeker","zoe"]"#,
            r#"serviceaccounts: ["ci"]"#,
            r#"groups: ["devs"]"#
        ]
    );
    assert!(rules(&cluster("m2"), &roles, &[]).is_empty());
}

#[test]
fn the_group_that_may_do_everything_must_be_named_to_be_impersonated() {
    let admin = role(
        "admin",
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
    );
    let everything = binding("admin", &[("Group", "system:masters"), ("User", "root")]);
    assert_eq!(
        rules(
            &cluster("m1"),
            std::slice::from_ref(&admin),
            std::slice::from_ref(&everything)
        ),
        [r#"users: ["root"]"#]
    );
    let named = [admin, role("proxy", proxy(json!([])))];
    let bindings = [everything, binding("proxy", &[("Group", "system:masters")])];
    assert_eq!(
        rules(&cluster("m1"), &named, &bindings),
        [r#"users: ["root"]"#, r#"groups: ["system:masters"]"#]
    );
}

#[test]
fn a_cluster_without_an_account_for_it_gets_no_rules() {
    let plain = object(json!({"metadata": {"name": "m1"}, "spec": {}}));
    let plan = plan(&Inputs {
        cluster: &plain,
        roles: &[],
        bindings: &[],
        works: [None, None],
    });
    assert!(plan.is_empty());
}

#[test]
fn the_account_is_bound_where_the_cluster_says() {
    let plan = plan(&Inputs {
        cluster: &cluster("m1"),
        roles: &[],
        bindings: &[],
        works: [None, None],
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

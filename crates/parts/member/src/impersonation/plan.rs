//! Whom the proxy may act as in a cluster.

use std::collections::BTreeSet;

use api::names::IMPERSONATOR_ACCOUNT;
use api::well_known::events::cluster::SYNC_IMPERSONATION_CONFIG_SUCCEED;
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{Object, ObjectKey, Value};
use serde_json::json;

use crate::resources::{self, RBAC};
use crate::sending::{Sending, send};

/// The group that may do everything everywhere.
const MASTERS: &str = "system:masters";

/// Everything the decision may look at.
pub(super) struct Inputs<'a> {
    pub(super) cluster: &'a Object,
    /// All ClusterRoles and ClusterRoleBindings of the control plane.
    pub(super) roles: &'a [&'a Object],
    pub(super) bindings: &'a [&'a Object],
    /// The works for the role and for its binding, if they are there.
    pub(super) works: [Option<&'a Object>; 2],
}

/// Who may be impersonated.
#[derive(Debug, Default, PartialEq, Eq)]
struct Subjects<'a> {
    users: BTreeSet<&'a str>,
    accounts: BTreeSet<&'a str>,
    groups: BTreeSet<&'a str>,
}

/// How a role lets its subjects through the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// It names the proxy.
    Named,
    /// It allows everything, and so this too.
    Wildcard,
}

/// The role and the binding in the cluster, each as a work.
pub(super) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let cluster = inputs.cluster;
    let account = cluster.text_at(&["spec", "impersonatorSecretRef", "namespace"]);
    let Some(namespace) = account.filter(|_| !cluster.is_terminating()) else {
        return plan;
    };
    for (object, existing) in objects(inputs, namespace).into_iter().zip(inputs.works) {
        let sending = Sending {
            cluster: cluster.name(),
            owner: cluster,
            object,
            annotations: Vec::new(),
            existing,
        };
        match send(sending) {
            Ok(action) => plan.extend(action),
            Err(error) => plan.problem(cluster.name(), error.to_string()),
        }
    }
    if !plan.is_empty() {
        plan.push(Action::report(
            ObjectRef::of(cluster),
            EventKind::Normal,
            SYNC_IMPERSONATION_CONFIG_SUCCEED,
            "the rules of impersonation for the cluster are up to date",
        ));
    }
    plan
}

/// The role and the binding by their names alone, for whoever looks for their works.
pub(super) fn bare() -> [Object; 2] {
    let key = ObjectKey::cluster(IMPERSONATOR_ACCOUNT);
    [
        resources::cluster_roles(),
        resources::cluster_role_bindings(),
    ]
    .map(|resource| Object::new(&resource.kind, &key))
}

fn objects(inputs: &Inputs<'_>, namespace: &str) -> [Object; 2] {
    let [mut role, mut binding] = bare();
    let subjects = subjects(inputs);
    let rule = |resource: &str, names: &BTreeSet<&str>| {
        let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["impersonate"], "resourceNames": names});
        (!names.is_empty()).then_some(rule)
    };
    let rules: Vec<Value> = [
        rule("users", &subjects.users),
        rule("serviceaccounts", &subjects.accounts),
        rule("groups", &subjects.groups),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (object, field, value) in [
        (&mut role, "rules", Value::Array(rules)),
        (
            &mut binding,
            "roleRef",
            json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": IMPERSONATOR_ACCOUNT}),
        ),
    ] {
        object.fields_mut().insert(field.to_owned(), value);
    }
    let subject =
        json!([{"kind": "ServiceAccount", "name": IMPERSONATOR_ACCOUNT, "namespace": namespace}]);
    binding.fields_mut().insert("subjects".to_owned(), subject);
    [role, binding]
}

/// Who is bound to a role that leads through the proxy to this cluster.
///
/// Upstream: whoever may do everything may also be impersonated everywhere, so that `system:masters` always may. Here that
/// group is only in it if a role that names the proxy is bound to it.
fn subjects<'a>(inputs: &Inputs<'a>) -> Subjects<'a> {
    let mut subjects = Subjects::default();
    for binding in inputs.bindings {
        let role = binding.text_at(&["roleRef", "name"]).unwrap_or_default();
        let grant = inputs
            .roles
            .iter()
            .find(|known| known.name() == role)
            .and_then(|role| grant(role, inputs.cluster.name()));
        let Some(grant) = grant else {
            continue;
        };
        for subject in list(binding, "subjects") {
            let name = text(subject, "name");
            match text(subject, "kind") {
                "User" => _ = subjects.users.insert(name),
                "ServiceAccount" => _ = subjects.accounts.insert(name),
                "Group" if name == MASTERS && grant == Grant::Wildcard => {}
                "Group" => _ = subjects.groups.insert(name),
                _ => {}
            }
        }
    }
    subjects
}

/// Whether a role leads through the proxy to a cluster. Verbs are not looked at: what may be done there the member decides.
fn grant(role: &Object, cluster: &str) -> Option<Grant> {
    let mut found = None;
    for rule in list(role, "rules") {
        let has = |field: &str, wanted: &str| texts(rule, field).any(|text| text == wanted);
        let names_it = (has("apiGroups", "cluster.karmada.io")
            && has("resources", "clusters/proxy"))
            || (has("apiGroups", "search.karmada.io") && has("resources", "proxying/proxy"));
        let allows = |group: &str, resource: &str| {
            (has("apiGroups", group) || has("apiGroups", "*"))
                && (has("resources", resource) || has("resources", "*"))
        };
        let is_for_cluster =
            texts(rule, "resourceNames").next().is_none() || has("resourceNames", cluster);
        let leads = (allows("cluster.karmada.io", "clusters/proxy") && is_for_cluster)
            || allows("search.karmada.io", "proxying/proxy");
        match (leads, names_it) {
            (false, _) => {}
            (true, true) => return Some(Grant::Named),
            (true, false) => found = Some(Grant::Wildcard),
        }
    }
    found
}

fn list<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = &'a Value> {
    object
        .at(&[field])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn texts<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    value
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

//! Whom the proxy may act as in a cluster.

use std::collections::{BTreeMap, BTreeSet};

use api::names::IMPERSONATOR_ACCOUNT;
use api::well_known::events::cluster::SYNC_IMPERSONATION_CONFIG_SUCCEED;
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use crate::resources::{self, RBAC};
use crate::sending::{self, Sending, Standing, send};

/// What the names of users and groups of the system begin with.
const SYSTEM: &str = "system:";
/// Where the accounts of the system are.
const SYSTEM_NAMESPACE: &str = "kube-system";
/// Who administers the control plane.
const ADMINISTRATOR: &str = "system:admin";
/// The binding in a member that says what the administrator may do there.
pub(crate) const ADMINISTRATION: &str = "karmada-impersonator-admin";

/// Everything the decision may look at.
pub(super) struct Inputs<'a> {
    pub(super) cluster: &'a Object,
    /// All ClusterRoles and ClusterRoleBindings of the control plane.
    pub(super) roles: &'a [&'a Object],
    pub(super) bindings: &'a [&'a Object],
    /// The works for the cluster that were made here.
    pub(super) works: &'a [&'a Object],
    /// Whether all of these are all that there are.
    pub(super) are_all: bool,
}

/// Who may be impersonated.
#[derive(Debug, Default, PartialEq, Eq)]
struct Subjects<'a> {
    users: BTreeSet<&'a str>,
    groups: BTreeSet<&'a str>,
    /// Service accounts by their namespaces.
    accounts: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

/// How a role lets its subjects through the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// It names the proxy.
    Named,
    /// It allows everything, and so this too.
    Wildcard,
}

/// The roles and their bindings in the cluster, each as a work.
pub(super) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let cluster = inputs.cluster;
    let account = cluster.text_at(&["spec", "impersonatorSecretRef", "namespace"]);
    let Some(namespace) = account.filter(|_| !cluster.is_terminating()) else {
        return plan;
    };
    let mut wanted = BTreeSet::new();
    for object in objects(inputs, namespace) {
        let key = sending::key(&object, cluster.name());
        let existing = inputs.works.iter().find(|work| work.key() == key);
        wanted.insert(key);
        let sending = Sending {
            cluster: cluster.name(),
            owner: cluster,
            object,
            annotations: Vec::new(),
            existing: existing.copied(),
            standing: Standing::Seen,
        };
        match send(sending) {
            Ok(action) => plan.extend(action),
            Err(error) => plan.problem(cluster.name(), error.to_string()),
        }
    }
    if inputs.are_all {
        let is_left = |work: &&&Object| !wanted.contains(&work.key()) && !work.is_terminating();
        plan.extend(inputs.works.iter().filter(is_left).map(|work| {
            let cause = "nobody it names may use the proxy to the cluster any more";
            Action::delete(resources::of::<api::work::v1alpha1::Work>(), work, cause)
        }));
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

/// Whether a manifest is one of those that are made here.
pub(super) fn is_ours(manifest: &Value) -> bool {
    let name = manifest
        .get("metadata")
        .map_or("", |meta| text(meta, "name"));
    text(manifest, "apiVersion").starts_with(RBAC)
        && (name == IMPERSONATOR_ACCOUNT || name == ADMINISTRATION)
}

/// What the cluster is to have.
fn objects(inputs: &Inputs<'_>, namespace: &str) -> Vec<Object> {
    let subjects = subjects(inputs);
    let rule = |resource: &str, names: &BTreeSet<&str>| {
        let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["impersonate"], "resourceNames": names});
        (!names.is_empty()).then_some(rule)
    };
    let account =
        json!({"kind": "ServiceAccount", "name": IMPERSONATOR_ACCOUNT, "namespace": namespace});
    let everywhere = ObjectKey::cluster(IMPERSONATOR_ACCOUNT);
    let rules = [
        rule("users", &subjects.users),
        rule("groups", &subjects.groups),
    ];
    let rules: Vec<Value> = rules.into_iter().flatten().collect();
    let mut all = Vec::new();
    // First, so that whoever may be impersonated there may also do something.
    // Upstream: the administrator is of the masters' group there too, which nobody in the member can restrict.
    if subjects.users.contains(ADMINISTRATOR) {
        let there = ObjectKey::cluster(ADMINISTRATION);
        let user = json!({"apiGroup": RBAC, "kind": "User", "name": ADMINISTRATOR});
        all.push(binding(
            &resources::cluster_role_bindings(),
            &there,
            &cluster_role("cluster-admin"),
            &user,
        ));
    }
    all.push(role(&resources::cluster_roles(), &everywhere, rules));
    all.push(binding(
        &resources::cluster_role_bindings(),
        &everywhere,
        &cluster_role(IMPERSONATOR_ACCOUNT),
        &account,
    ));
    // A rule for the whole cluster would be about accounts of that name in all namespaces.
    for (space, names) in &subjects.accounts {
        let there = ObjectKey::namespaced(*space, IMPERSONATOR_ACCOUNT);
        let rules = rule("serviceaccounts", names).into_iter().collect();
        let own = json!({"apiGroup": RBAC, "kind": "Role", "name": IMPERSONATOR_ACCOUNT});
        all.push(role(&resources::roles(), &there, rules));
        all.push(binding(&resources::role_bindings(), &there, &own, &account));
    }
    all
}

fn role(resource: &ResourceType, key: &ObjectKey, rules: Vec<Value>) -> Object {
    let mut role = Object::new(&resource.kind, key);
    role.fields_mut()
        .insert("rules".to_owned(), Value::Array(rules));
    role
}

fn binding(resource: &ResourceType, key: &ObjectKey, role: &Value, subject: &Value) -> Object {
    let mut binding = Object::new(&resource.kind, key);
    let fields = binding.fields_mut();
    fields.insert("roleRef".to_owned(), role.clone());
    fields.insert("subjects".to_owned(), json!([subject]));
    binding
}

fn cluster_role(name: &str) -> Value {
    json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": name})
}

/// Who is bound to a role that leads through the proxy to this cluster.
///
/// Upstream: whoever may do everything may also be impersonated everywhere, so that `system:masters` and the control plane's
/// own parts always may. Here those of the system are only in it if a role that names the proxy is bound to them.
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
            let (name, namespace) = (text(subject, "name"), text(subject, "namespace"));
            let is_of_system = name.starts_with(SYSTEM) || namespace == SYSTEM_NAMESPACE;
            if is_of_system && grant == Grant::Wildcard {
                continue;
            }
            match text(subject, "kind") {
                "User" => _ = subjects.users.insert(name),
                "Group" => _ = subjects.groups.insert(name),
                "ServiceAccount" if !namespace.is_empty() => {
                    let there = subjects.accounts.entry(namespace).or_default();
                    there.insert(name);
                }
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

//! Nobody gives away what they do not have: writes to roles and bindings are held against the writer's own rules.
//!
//! A role may say what its writer is given, or anything if the writer may `escalate` it. A role may be bound by whoever is
//! given all of it, or may `bind` it. Both are asked about every change, whatever it changes, except of when the object
//! may go.

use std::sync::{Arc, OnceLock};

use object::Value;
use serve::call::{Admission, Call, User, Verdict, at_once};
use serve::status::{Status, Subject};
use serve::target::ResourceTarget;

use crate::access::Access;
use crate::attempt::Attempt;
use crate::names::{self, RBAC_GROUP};
use crate::rule::{self, Rule};

/// Judges writes to roles and bindings.
#[derive(Default)]
pub struct EscalationCheck {
    /// Set once the server is open, before it answers anybody.
    access: OnceLock<Arc<Access>>,
}

impl EscalationCheck {
    /// Judges by these rules from now on.
    pub fn judge_by(&self, access: &Arc<Access>) {
        drop(self.access.set(Arc::clone(access)));
    }

    fn check(&self, call: &Call, old: Option<&Value>, new: &Value) -> Result<(), Status> {
        let is_access = call.target.group == RBAC_GROUP && call.target.subresource.is_empty();
        if !is_access || names::is_master(&call.user) {
            return Ok(());
        }
        let Some(access) = self.access.get() else {
            return Ok(());
        };
        // A label alone can give a role's rules to others: whichever role gathers by it. So every change counts, not only
        // one of the rules.
        if old.is_some_and(|old| is_upkeep(old, new)) {
            return Ok(());
        }
        match call.target.resource.as_str() {
            "roles" | "clusterroles" => {
                if may_escalate(access, call) {
                    return Ok(());
                }
                cover(access, call, new, &Rule::all_of(new))?;
                if gathers(new) || old.is_some_and(gathers) {
                    return check_gathering(access, call, new);
                }
                Ok(())
            }
            "rolebindings" | "clusterrolebindings" => check_binding(access, call, new),
            _ => Ok(()),
        }
    }
}

impl Admission for EscalationCheck {
    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let verdict = new.map_or(Ok(()), |new| self.check(call, old, new));
        at_once(verdict.map(|()| Vec::new()))
    }
}

fn may_escalate(access: &Access, call: &Call) -> bool {
    let attempt = Attempt::on("escalate", call.target.clone());
    access.decide(&call.user, &attempt).is_allowed()
}

fn gathers(role: &Value) -> bool {
    role.get("aggregationRule")
        .is_some_and(|rule| !rule.is_null())
}

/// Whether a change only says when the object may go. Upstream: whoever collects garbage need not hold what it collects.
fn is_upkeep(old: &Value, new: &Value) -> bool {
    let essence = |object: &Value| {
        let mut object = object.clone();
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.retain(|field, _| !UPKEEP.contains(&field.as_str()));
        }
        object
    };
    essence(old) == essence(new)
}

/// Fields of the metadata that say when the object may go, and those the server itself writes with every change.
const UPKEEP: [&str; 4] = [
    "ownerReferences",
    "finalizers",
    "managedFields",
    "resourceVersion",
];

/// Whoever lets a role gather others could be given anything, so they must be given everything.
fn check_gathering(access: &Access, call: &Call, role: &Value) -> Result<(), Status> {
    let all: Box<[Box<str>]> = Box::new(["*".into()]);
    let everything = [
        Rule {
            verbs: all.clone(),
            groups: all.clone(),
            resources: all.clone(),
            ..Rule::default()
        },
        Rule {
            verbs: all.clone(),
            urls: all,
            ..Rule::default()
        },
    ];
    let given = access.policy().rules().given(&call.user, "");
    if rule::missing(&given, &everything).is_empty() {
        return Ok(());
    }
    Err(Status::forbidden(
        subject(call, role),
        "must have cluster-admin privileges to use the aggregationRule",
    ))
}

fn check_binding(access: &Access, call: &Call, binding: &Value) -> Result<(), Status> {
    let role = binding.get("roleRef").unwrap_or(&Value::Null);
    let text = |field: &str| role.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, name, namespace) = (text("kind"), text("name"), call.target.namespace.as_str());
    let target = ResourceTarget {
        group: RBAC_GROUP.to_owned(),
        version: "*".to_owned(),
        namespace: namespace.to_owned(),
        resource: if kind == "ClusterRole" {
            "clusterroles".to_owned()
        } else {
            "roles".to_owned()
        },
        name: name.to_owned(),
        ..ResourceTarget::default()
    };
    if access
        .decide(&call.user, &Attempt::on("bind", target.clone()))
        .is_allowed()
    {
        return Ok(());
    }
    let rules = access.policy().rules();
    let Some(wanted) = rules.of_role(kind, namespace, name) else {
        return Err(Status::not_found(Subject {
            group: RBAC_GROUP,
            resource: &target.resource,
            name,
        }));
    };
    cover(access, call, binding, wanted)
}

fn cover(access: &Access, call: &Call, object: &Value, wanted: &[Rule]) -> Result<(), Status> {
    let given = access
        .policy()
        .rules()
        .given(&call.user, &call.target.namespace);
    let missing = rule::missing(&given, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let why = lacking(&call.user, &missing);
    Err(Status::forbidden(subject(call, object), &why))
}

/// The object by the name it gives itself: a creation's path has none.
fn subject<'a>(call: &'a Call, object: &'a Value) -> Subject<'a> {
    let name = object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    Subject {
        name: name.and_then(Value::as_str).unwrap_or_default(),
        ..call.subject()
    }
}

fn lacking(user: &User, missing: &[Rule]) -> String {
    let mut lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
    lines.sort();
    lines.dedup();
    let groups: Vec<String> = user
        .groups
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        lines.join("\n")
    )
}

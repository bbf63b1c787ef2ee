//! What the parts of this process may not do although roles give it.
//!
//! Templates are of any kind, and so is garbage: those who label the ones and those who collect the others may patch
//! everything, and label roles without holding what these give. Roles cannot say which fields of an object somebody may
//! change. So what these parts write is looked at again: whoever brings templates to works changes no more than the fields
//! that are its own of objects that decide who may do what, or hold secrets; whoever collects garbage changes no more than
//! owners and finalizers of anything. And they have no business in streams to pods and members.

use access::names::RBAC_GROUP;
use object::{Map, Value};
use serve::call::{Admission, Call, Proposal, User, Verdict, at_once};
use serve::resource::SchemaDuty;
use serve::status::Status;
use serve::target::ResourceTarget;

/// Judges what parts of this process write.
pub(crate) struct Errands;

/// A part whose role names all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Brings templates to works.
    Controllers,
    /// Collects garbage, ends namespaces, puts roles together.
    Housekeeping,
}

impl Admission for Errands {
    // Here and not in `validate`: what users' webhooks make of a write is theirs.
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let problem = Part::of(&call.user).and_then(|part| {
            let (old, new) = (proposal.old, proposal.new.as_deref()?);
            part.problem(&call.target, old, new)?;
            // What the server itself makes of an object that was written by other rules than today's is nobody's doing.
            let old = old.map(|old| settled(call, old, old));
            let new = old
                .as_ref()
                .map_or_else(|| new.clone(), |old| settled(call, old, new));
            part.problem(&call.target, old.as_ref(), &new)
        });
        at_once(refuse(call, problem))
    }

    fn connect<'a>(&'a self, call: &'a Call, _: &'a Value) -> Verdict<'a> {
        let part = Part::of(&call.user);
        let problem = part.map(|_| "this part of the control plane opens no streams".to_owned());
        at_once(refuse(call, problem))
    }
}

/// An object as the server would have it if it were written now.
fn settled(call: &Call, old: &Value, object: &Value) -> Value {
    let version = call.served.version();
    let rules = &call.served.resource.rules;
    let mut object = object.clone();
    if let Some(schema) = &version.schema {
        schema.prune(&mut object);
        match rules.schema_duty() {
            SchemaDuty::Shape => schema.settle_nulls(&mut object),
            SchemaDuty::Everything => schema.apply_defaults(&mut object),
        }
    }
    rules.apply_defaults(&version.name, &mut object);
    rules.prepare_update(&version.name, old, &mut object, &call.target.subresource);
    object
}

fn refuse(call: &Call, problem: Option<String>) -> Result<Vec<String>, Status> {
    match problem {
        Some(problem) => Err(Status::forbidden(call.subject(), &problem)),
        None => Ok(Vec::new()),
    }
}

impl Part {
    fn of(user: &User) -> Option<Self> {
        match user.name.as_str() {
            "system:karavel:controllers" => Some(Self::Controllers),
            "system:karavel:housekeeping" => Some(Self::Housekeeping),
            _ => None,
        }
    }

    /// What is wrong about this part writing an object.
    fn problem(self, target: &ResourceTarget, old: Option<&Value>, new: &Value) -> Option<String> {
        let part = target.subresource.as_str();
        let resource = (target.group.as_str(), target.resource.as_str());
        let is_its_part = match (self, part) {
            (_, "") => true,
            (Self::Controllers, part) => matches!(part, "status" | "scale"),
            // How far what ends has come.
            (Self::Housekeeping, "status") => matches!(
                resource,
                ("", "namespaces") | ("apiextensions.k8s.io", "customresourcedefinitions")
            ),
            (Self::Housekeeping, "finalize") => resource == ("", "namespaces"),
            (Self::Housekeeping, _) => false,
        };
        if !is_its_part {
            return Some(format!(
                "this part of the control plane does not write {part}"
            ));
        }
        let old = old.filter(|_| part.is_empty() && self.is_watched(target))?;
        let changed = self.changed(target, old, new);
        let field = changed.first()?;
        Some(format!(
            "this part of the control plane does not change {field}"
        ))
    }

    /// Whether it is looked at which fields of an object this part changes.
    fn is_watched(self, target: &ResourceTarget) -> bool {
        match self {
            Self::Controllers => is_guarded(target),
            Self::Housekeeping => !is_told(target),
        }
    }

    /// The fields that differ and are not this part's to change.
    fn changed(self, target: &ResourceTarget, old: &Value, new: &Value) -> Vec<String> {
        let mut changed = Vec::new();
        for name in differing(old, new) {
            let is_its_own = match (self, name.as_str()) {
                (_, "metadata") => {
                    changed.extend(self.changed_metadata(&old["metadata"], &new["metadata"]));
                    true
                }
                (Self::Controllers, "status") => true,
                // What a role gathers is put together for it.
                (Self::Housekeeping, "rules") => {
                    target.resource == "clusterroles" && new["aggregationRule"].is_object()
                }
                _ => false,
            };
            if !is_its_own {
                changed.push(name);
            }
        }
        changed
    }

    fn changed_metadata(self, old: &Value, new: &Value) -> Vec<String> {
        let mut changed = Vec::new();
        for name in differing(old, new) {
            match (self, name.as_str()) {
                // The server writes these with every change.
                (_, "managedFields" | "resourceVersion" | "generation") => {}
                (_, "finalizers") | (Self::Housekeeping, "ownerReferences") => {}
                (Self::Controllers, "labels" | "annotations") => {
                    let keys = differing(&old[&name], &new[&name]).into_iter();
                    let keys = keys.filter(|key| !is_claim(key));
                    changed.extend(keys.map(|key| format!("metadata.{name}[{key}]")));
                }
                _ => changed.push(format!("metadata.{name}")),
            }
        }
        changed
    }
}

/// Kinds that decide who may do what and what is asked before something is done, and those that hold secrets.
fn is_guarded(target: &ResourceTarget) -> bool {
    match target.group.as_str() {
        "" => matches!(target.resource.as_str(), "secrets" | "serviceaccounts"),
        "admissionregistration.k8s.io"
        | "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "certificates.k8s.io" => true,
        group => group == RBAC_GROUP,
    }
}

/// Kinds by which every part says what it does, and whose turn it is.
fn is_told(target: &ResourceTarget) -> bool {
    matches!(
        (target.group.as_str(), target.resource.as_str()),
        ("" | "events.k8s.io", "events") | ("coordination.k8s.io", "leases")
    )
}

/// Whether a label or annotation is one by which templates are claimed. No role gathers others by such a label unless
/// somebody who holds everything says so.
fn is_claim(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    domain == "karmada.io" || domain.ends_with(".karmada.io")
}

/// The fields that two objects do not have in common.
fn differing(old: &Value, new: &Value) -> Vec<String> {
    let nothing = Map::new();
    let old = old.as_object().unwrap_or(&nothing);
    let new = new.as_object().unwrap_or(&nothing);
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let names = names.into_iter();
    let names = names.filter(|name| old.get(*name) != new.get(*name));
    names.cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What comes of a part changing an object `PLURAL.GROUP/PART`.
    fn check(part: Part, target: &str, old: &Value, new: &Value) -> String {
        let (resource, subresource) = target.split_once('/').unwrap_or((target, ""));
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let target = ResourceTarget {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            ..ResourceTarget::default()
        };
        let problem = part.problem(&target, Some(old), new);
        let problem = problem.unwrap_or_else(|| "may".to_owned());
        problem.replace("this part of the control plane does not ", "not ")
    }

    #[test]
    fn parts_change_what_is_theirs_of_what_decides_who_may_do_what() {
        use Part::{Controllers, Housekeeping};
        let roles = "clusterroles.rbac.authorization.k8s.io";
        let bindings = "clusterrolebindings.rbac.authorization.k8s.io";
        let old = json!({
            "metadata": {"labels": {"app": "x"}, "resourceVersion": "1", "finalizers": ["a/b"],
                "ownerReferences": [{"uid": "u"}]},
            "rules": [], "subjects": [], "data": {"k": "dg=="}, "webhooks": [], "spec": {"replicas": 1},
        });
        let claim =
            json!({"metadata": {"labels": {"propagationpolicy.karmada.io/permanent-id": "p"}}});
        let gathered = json!({"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}}});
        let unowned = json!({"metadata": {"ownerReferences": null, "finalizers": []}});
        let everything = json!({"rules": [{"verbs": ["*"]}]});
        let gathering = json!({"rules": [{"verbs": ["get"]}], "aggregationRule": {}});
        for (part, target, change, expected) in [
            (Controllers, roles, claim.clone(), "may"),
            (Controllers, bindings, claim.clone(), "may"),
            (
                Controllers,
                roles,
                gathered.clone(),
                "not change metadata.labels[rbac.authorization.k8s.io/aggregate-to-admin]",
            ),
            (Controllers, roles, everything.clone(), "not change rules"),
            (
                Controllers,
                bindings,
                json!({"subjects": [{"kind": "User"}]}),
                "not change subjects",
            ),
            (
                Controllers,
                "secrets",
                json!({"data": {"k": "eA=="}}),
                "not change data",
            ),
            (
                Controllers,
                "secrets",
                json!({"metadata": {"ownerReferences": []}}),
                "not change metadata.ownerReferences",
            ),
            (
                Controllers,
                "validatingwebhookconfigurations.admissionregistration.k8s.io",
                json!({"webhooks": null}),
                "not change webhooks",
            ),
            (
                Controllers,
                "customresourcedefinitions.apiextensions.k8s.io",
                json!({"status": {}}),
                "may",
            ),
            (
                Controllers,
                "certificatesigningrequests.certificates.k8s.io/approval",
                json!({}),
                "not write approval",
            ),
            (
                Controllers,
                "deployments.apps",
                json!({"spec": {"replicas": 2}}),
                "may",
            ),
            (Controllers, "deployments.apps/scale", json!({}), "may"),
            (
                Controllers,
                "pods/eviction",
                json!({}),
                "not write eviction",
            ),
            (Housekeeping, roles, unowned.clone(), "may"),
            (Housekeeping, roles, everything.clone(), "not change rules"),
            (Housekeeping, roles, gathering, "not change aggregationRule"),
            (Housekeeping, roles, claim, "not change metadata.labels"),
            (Housekeeping, "secrets", unowned.clone(), "may"),
            (
                Housekeeping,
                "secrets",
                json!({"data": null}),
                "not change data",
            ),
            (
                Housekeeping,
                "works.work.karmada.io",
                json!({"spec": {"replicas": 2}}),
                "not change spec",
            ),
            (
                Housekeeping,
                "configmaps",
                json!({"data": {"k": "x"}}),
                "not change data",
            ),
            (
                Housekeeping,
                "things.example.com",
                json!({"metadata": {"annotations": {"a": "b"}}}),
                "not change metadata.annotations",
            ),
            (Housekeeping, "configmaps", unowned, "may"),
            (
                Housekeeping,
                "leases.coordination.k8s.io",
                json!({"spec": {"holderIdentity": "me"}}),
                "may",
            ),
            (Housekeeping, "events", json!({"count": 2}), "may"),
            (Housekeeping, "namespaces/finalize", json!({}), "may"),
            (Housekeeping, "namespaces/status", json!({}), "may"),
            (
                Housekeeping,
                "customresourcedefinitions.apiextensions.k8s.io/status",
                json!({}),
                "may",
            ),
            (
                Housekeeping,
                "works.work.karmada.io/status",
                json!({}),
                "not write status",
            ),
            (
                Housekeeping,
                "deployments.apps/scale",
                json!({}),
                "not write scale",
            ),
            (
                Housekeeping,
                "things.example.com/finalize",
                json!({}),
                "not write finalize",
            ),
        ] {
            let mut new = object::patch::merge(&old, &change);
            new["metadata"]["resourceVersion"] = json!("2");
            assert_eq!(
                check(part, target, &old, &new),
                expected,
                "{part:?} {target} {change}"
            );
        }
        let aggregated = object::patch::merge(&old, &json!({"aggregationRule": {}}));
        let next = object::patch::merge(&aggregated, &everything);
        assert_eq!(check(Housekeeping, roles, &aggregated, &next), "may");
        // A part is not made either by whoever has no business with it.
        let bound = ResourceTarget {
            resource: "pods".to_owned(),
            subresource: "binding".to_owned(),
            ..ResourceTarget::default()
        };
        for part in [Controllers, Housekeeping] {
            assert!(part.problem(&bound, None, &json!({})).is_some());
        }
    }
}

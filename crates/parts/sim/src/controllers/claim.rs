//! What belongs to an owner: what it controls and selects. What it selects and nobody controls it takes; what it controls
//! and no longer selects it lets go of.

use std::sync::Arc;

use object::selector::Selector;
use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::read;

/// What an owner holds, and what must be written so that the objects say so.
pub(crate) struct Claims<'a> {
    pub(crate) held: Vec<&'a Arc<Object>>,
    actions: Vec<Action>,
}

impl Claims<'_> {
    /// A plan with what the claims need before everything else.
    pub(crate) fn before(self, mut plan: Plan) -> Plan {
        plan.actions.splice(0..0, self.actions);
        plan
    }
}

/// Claims objects of a kind for an owner with a selector. `may_take` says which of those that nobody controls may become
/// its own.
pub(crate) fn claim<'a>(
    mirror: &'a Mirror,
    owner: &Object,
    kind: Kind,
    may_take: impl Fn(&Object) -> bool,
) -> Claims<'a> {
    let controlled = mirror.owned(owner.uid(), kind);
    let Some(selector) = selector_of(owner) else {
        return Claims {
            held: controlled,
            actions: Vec::new(),
        };
    };
    let mut claims = Claims {
        held: Vec::with_capacity(controlled.len()),
        actions: Vec::new(),
    };
    for object in controlled {
        if read::selects(&selector, object) {
            claims.held.push(object);
        } else if !owner.is_terminating() {
            claims.actions.push(release(owner, kind, object));
        }
    }
    // Upstream: an owner on its way out takes nobody, and nobody on the way out is taken.
    if owner.is_terminating() {
        return claims;
    }
    for object in mirror.uncontrolled(kind, owner.namespace()) {
        if !object.is_terminating() && read::selects(&selector, object) && may_take(object) {
            claims.actions.push(adopt(owner, kind, object));
            claims.held.push(object);
        }
    }
    claims
}

/// What an owner selects by. The oldest kind has a plain map of labels for it.
fn selector_of(owner: &Object) -> Option<Selector> {
    let said = owner.at(&["spec", "selector"]);
    if owner.kind() != Kind::ReplicationController.row().kind {
        return read::selector(said);
    }
    read::selector(Some(&json!({"matchLabels": said?})))
}

fn adopt(owner: &Object, kind: Kind, object: &Object) -> Action {
    let mut owners = read::list(object, &["metadata", "ownerReferences"]).to_vec();
    owners.retain(|known| read::text(known, "uid") != owner.uid());
    owners.push(read::owner_reference(owner));
    set_owners(kind, object, owners.into())
}

fn release(owner: &Object, kind: Kind, object: &Object) -> Action {
    let mut owners = read::list(object, &["metadata", "ownerReferences"]).to_vec();
    owners.retain(|known| read::text(known, "uid") != owner.uid());
    let none = owners.is_empty();
    set_owners(kind, object, if none { Value::Null } else { owners.into() })
}

fn set_owners(kind: Kind, object: &Object, owners: Value) -> Action {
    Action::Merge {
        of: Target::of(kind, object),
        patch: json!({"metadata": {"ownerReferences": owners}}),
        by: Writer::Controllers,
    }
}

/// Wakes objects of `owner` kind: one that changed itself, the one that controls what changed of `kind`, and all that
/// select what changed and is controlled by nobody.
pub(crate) fn wake(
    seen: &Seen,
    mirror: &Mirror,
    owner: Kind,
    kind: Kind,
    keys: &mut Vec<Arc<str>>,
) {
    if seen.kind == owner {
        keys.push(Arc::clone(&seen.key));
        return;
    }
    if seen.kind != kind {
        return;
    }
    for object in seen.both() {
        if let Some(reference) = read::controller(object)
            && read::text(reference, "kind") == owner.row().kind
        {
            keys.push(format!("{}/{}", object.namespace(), read::text(reference, "name")).into());
        }
    }
    let Some(object) = &seen.after else { return };
    if object.is_terminating() || read::controller(object).is_some() {
        return;
    }
    for candidate in mirror.within(owner, object.namespace()) {
        if selector_of(candidate).is_some_and(|selector| read::selects(&selector, object)) {
            keys.push(format!("{}/{}", candidate.namespace(), candidate.name()).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, metadata: Value, spec: Value) -> Arc<Object> {
        let mut value =
            json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec});
        value["metadata"]["name"] = json!(name);
        value["metadata"]["uid"] = json!(name);
        value["metadata"]["namespace"] = json!("d");
        Arc::new(Object::from_value(value).unwrap())
    }

    fn owners(of: &[(&str, bool)]) -> Value {
        let references = of.iter().map(|(uid, controls)| {
            json!({"kind": "ReplicaSet", "name": uid, "uid": uid, "controller": controls})
        });
        references.collect()
    }

    /// What is held, and what is written to it: the uids of its owners afterwards.
    fn check(owner: Value, pod: Value) -> (usize, Vec<String>) {
        let spec = json!({"selector": {"matchLabels": {"app": "web"}}});
        let owner = object("ReplicaSet", "set", owner, spec);
        let mut mirror = Mirror::default();
        let pod = object("Pod", "p", pod, json!({}));
        mirror.put(Kind::Pod, "d/p".into(), Some(pod));
        let claims = claim(&mirror, &owner, Kind::Pod, |pod| !read::has_ended(pod));
        let written = claims.actions.iter().map(|action| match action {
            Action::Merge { patch, .. } => {
                let owners = read::items(&patch["metadata"], "ownerReferences");
                let uids: Vec<&str> = owners
                    .iter()
                    .map(|owner| read::text(owner, "uid"))
                    .collect();
                uids.join(",")
            }
            other => format!("{other:?}"),
        });
        (claims.held.len(), written.collect())
    }

    #[test]
    fn orphans_are_taken_and_strangers_let_go_of() {
        let web = json!({"app": "web"});
        let other = json!({"app": "other"});
        let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        for (owner, pod, held, written) in [
            (
                json!({}),
                json!({"labels": web, "ownerReferences": owners(&[("set", true)])}),
                1,
                vec![],
            ),
            (json!({}), json!({"labels": web}), 1, vec!["set"]),
            (
                json!({}),
                json!({"labels": web, "ownerReferences": owners(&[("x", false)])}),
                1,
                vec!["x,set"],
            ),
            (
                json!({}),
                json!({"labels": web, "ownerReferences": owners(&[("x", true)])}),
                0,
                vec![],
            ),
            (json!({}), json!({"labels": other}), 0, vec![]),
            (
                json!({}),
                json!({"labels": other, "ownerReferences": owners(&[("x", false), ("set", true)])}),
                0,
                vec!["x"],
            ),
            (
                json!({}),
                json!({"labels": other, "ownerReferences": owners(&[("set", true)])}),
                0,
                vec![""],
            ),
            (going.clone(), json!({"labels": web}), 0, vec![]),
            (
                going.clone(),
                json!({"labels": other, "ownerReferences": owners(&[("set", true)])}),
                0,
                vec![],
            ),
            (
                json!({}),
                json!({"labels": web, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
                0,
                vec![],
            ),
        ] {
            let shown = format!("{owner} {pod}");
            let written: Vec<String> = written.into_iter().map(str::to_owned).collect();
            assert_eq!(check(owner, pod), (held, written), "{shown}");
        }
    }

    #[test]
    fn what_nobody_controls_wakes_all_that_select_it() {
        let mut mirror = Mirror::default();
        for (name, app) in [("a", "web"), ("b", "web"), ("c", "other")] {
            let spec = json!({"selector": {"matchLabels": {"app": app}}});
            let set = object("ReplicaSet", name, json!({}), spec);
            mirror.put(Kind::ReplicaSet, format!("d/{name}").into(), Some(set));
        }
        for (references, woken) in [
            (owners(&[]), vec!["d/a", "d/b"]),
            (owners(&[("c", true)]), vec!["d/c"]),
        ] {
            let metadata = json!({"labels": {"app": "web"}, "ownerReferences": references});
            let pod = object("Pod", "p", metadata, json!({}));
            let seen = mirror.put(Kind::Pod, "d/p".into(), Some(pod));
            let seen = Seen {
                before: None,
                ..seen
            };
            let mut keys = Vec::new();
            wake(&seen, &mirror, Kind::ReplicaSet, Kind::Pod, &mut keys);
            let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
            assert_eq!(keys, woken);
        }
    }
}

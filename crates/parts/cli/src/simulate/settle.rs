//! What becomes of an object in a cluster, once it is known what the cluster has of it.

use api::well_known::annotations::{
    CONFLICT_OVERWRITE, CONFLICT_RESOLUTION, TEMPLATE_UID, WORK_NAME, WORK_NAMESPACE,
};
use api::well_known::labels::{MANAGED, TRUE, permanent_id};
use interpret::Interpreter;
use object::{Object, Value};

use super::change;
use super::fate::{ClusterFate, Look, What};
use crate::picture::is_namespace;

/// What becomes of an object in a cluster, now that it is known what the cluster has.
pub(super) fn settle(
    fate: &mut ClusterFate,
    look: &Look,
    observed: Option<&Object>,
    interpreter: &Interpreter,
) {
    match look {
        Look::Sent { object, before } => {
            settle_sent(fate, (object, before.as_ref()), observed, interpreter);
        }
        Look::Withdrawn { work, .. } => settle_withdrawn(fate, work, observed),
    }
}

/// What comes of a work that goes without having been seen to arrive.
fn settle_withdrawn(fate: &mut ClusterFate, work: &(String, String), observed: Option<&Object>) {
    let is_lost = fate.what == What::Lost;
    let Some(observed) = observed else {
        fate.what = What::Absent;
        (fate.before, fate.after) = (None, None);
        // Where nothing is, nothing is lost.
        fate.is_old |= is_lost;
        return;
    };
    let is_of_another = |annotation: &str, ours: &str| {
        let theirs = observed.annotation(annotation);
        theirs.is_some_and(|theirs| theirs != ours)
    };
    if observed.label(MANAGED) != Some(TRUE)
        || is_of_another(WORK_NAMESPACE, &work.0)
        || is_of_another(WORK_NAME, &work.1)
    {
        (fate.before, fate.after) = (None, None);
        fate.is_old |= is_lost;
        (fate.what, fate.note) = match is_lost {
            true => (What::Absent, None),
            false => {
                let note = "is not managed from here, and is left as it is";
                (What::Stays, Some(note.to_owned()))
            }
        };
    }
}

fn settle_sent(
    fate: &mut ClusterFate,
    (sent, before): (&Object, Option<&Value>),
    observed: Option<&Object>,
    interpreter: &Interpreter,
) {
    let Some(observed) = observed else {
        fate.what = What::Created;
        fate.before = None;
        return;
    };
    let is_ours = is_managed(sent, observed) || is_returning(sent, observed);
    let may_overwrite = sent.annotation(CONFLICT_RESOLUTION) == Some(CONFLICT_OVERWRITE);
    if !is_ours && is_namespace(sent) && !may_overwrite {
        fate.what = What::Stays;
        fate.note = Some("has one of its own already, and keeps it as it is".to_owned());
        fate.is_old = true;
        return;
    }
    if !is_ours && !may_overwrite {
        (fate.before, fate.after) = (None, None);
        fate.what = What::Conflict(
            "the cluster has one already that is not managed from here, and it is left as it is; conflictResolution: Overwrite in the policy takes it over"
                .to_owned(),
        );
        return;
    }
    if observed.is_terminating() {
        fate.note = Some("once the one that is being deleted there is gone".to_owned());
        fate.what = What::Created;
        return;
    }
    // What lives in the member stays with it; a rule that only a webhook has is not asked.
    let retained = interpreter.retain_all(sent, observed);
    let wanted = retained.as_ref().unwrap_or(sent);
    fate.sent = Some(declared(sent, wanted.clone()));
    let there = without_status(observed.clone().into_value());
    let mut merged = merged(&there, &without_status(wanted.clone().into_value()));
    // What was sent once and is no longer goes.
    let sent = sent.clone().into_value();
    for line in before
        .into_iter()
        .flat_map(|before| change::lines(before, &sent))
    {
        if line.after.is_none() {
            take_away(&mut merged, &line.path);
        }
    }
    let lines = change::lines(&there, &merged);
    fate.what = match lines.is_empty() {
        true => What::Stays,
        false => What::Changed(lines),
    };
    let note = match (is_ours, before) {
        (true, Some(_)) => return,
        (true, None) => "is there already",
        (false, _) => "is there already, and is taken over",
    };
    fate.note = Some(match fate.note.take() {
        Some(before) => format!("{before}; {note}"),
        None => note.to_owned(),
    });
}

/// Whether what a member has is managed from here: it says so; or it says nothing but the permanent id of the very work.
fn is_managed(sent: &Object, observed: &Object) -> bool {
    let id = |object: &Object| object.label(permanent_id::WORK).map(str::to_owned);
    let known = id(sent).filter(|id| !id.is_empty());
    let is_bare = observed.annotation(WORK_NAME).is_none();
    observed.label(MANAGED) == Some(TRUE) || (is_bare && known.is_some() && id(observed) == known)
}

/// Whether a member has a namespace of the same origin, which it kept when its work went: it is taken up again.
fn is_returning(sent: &Object, observed: &Object) -> bool {
    let uid = |object: &Object| object.annotation(TEMPLATE_UID).map(str::to_owned);
    let known = uid(sent).filter(|uid| !uid.is_empty());
    is_namespace(sent) && known.is_some() && uid(observed) == known
}

/// What is applied where a member keeps something: of metadata only what it is sent, and of its own nothing else.
fn declared(sent: &Object, mut wanted: Object) -> Object {
    let metadata = sent.at(&["metadata"]).cloned().unwrap_or_default();
    let fields = wanted.fields_mut();
    fields.insert("metadata".to_owned(), metadata);
    fields.shift_remove("status");
    wanted
}

/// Removes a field by its path. Items of lists stay: which one is meant is not known where a member has added its own.
fn take_away(value: &mut Value, path: &str) {
    let Some((above, last)) = path.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(fields)) = value.pointer_mut(above) {
        fields.shift_remove(&last.replace("~1", "/").replace("~0", "~"));
    }
}

/// An object after another was applied to it: what that says, and of the rest what was there.
fn merged(there: &Value, applied: &Value) -> Value {
    match (there, applied) {
        (Value::Object(there), Value::Object(applied)) => {
            let mut all = there.clone();
            for (name, value) in applied {
                let value = match there.get(name) {
                    Some(there) => merged(there, value),
                    None => value.clone(),
                };
                all.insert(name.clone(), value);
            }
            Value::Object(all)
        }
        (Value::Array(there), Value::Array(applied)) if there.len() == applied.len() => {
            let pairs = there.iter().zip(applied);
            pairs
                .map(|(there, applied)| merged(there, applied))
                .collect()
        }
        _ => applied.clone(),
    }
}

/// What members and servers write by themselves is nobody's change.
fn without_status(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            for field in [
                "resourceVersion",
                "generation",
                "managedFields",
                "creationTimestamp",
                "uid",
            ] {
                metadata.shift_remove(field);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    /// What a fate has become, in words.
    fn told(fate: &ClusterFate) -> String {
        let what = match &fate.what {
            What::Changed(lines) => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                format!("changed {}", lines.join(", "))
            }
            What::Conflict(_) => "conflict".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        let note = fate.note.as_deref().unwrap_or_default();
        format!("{what}; {note}").trim_end_matches("; ").to_owned()
    }

    fn check_after(before: Option<Value>, sent: Value, observed: Option<Value>, expected: &str) {
        let mut fate = ClusterFate::default();
        let look = Look::Sent {
            object: object(sent),
            before,
        };
        let observed = observed.map(object);
        settle(&mut fate, &look, observed.as_ref(), &Interpreter::default());
        assert_eq!(told(&fate), expected);
    }

    fn check(sent: Value, observed: Option<Value>, expected: &str) {
        check_after(None, sent, observed, expected);
    }

    fn sent(how: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "namespace": "n", "labels": {"karmada.io/managed": "true"},
            "annotations": {"work.karmada.io/conflict-resolution": how},
        }, "data": {"colour": "blue"}})
    }

    fn there(managed: &str, colour: &str) -> Option<Value> {
        Some(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "3", "labels": {"karmada.io/managed": managed},
        }, "data": {"colour": colour, "more": "stays"}}),
        )
    }

    #[test]
    fn what_a_member_has_already_is_changed_or_stands_in_the_way() {
        check(sent("abort"), None, "created");
        check(sent("abort"), there("", "red"), "conflict");
        check(
            sent("overwrite"),
            there("", "red"),
            "changed ~ /data/colour  \"red\" -> \"blue\"; is there already, and is taken over",
        );
        check(
            sent("abort"),
            there("true", "red"),
            "changed ~ /data/colour  \"red\" -> \"blue\"; is there already",
        );
        check(
            sent("abort"),
            there("true", "blue"),
            "stays; is there already",
        );
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"karmada.io/managed": "true"}}});
        let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
        check(
            space.clone(),
            Some(own.clone()),
            "stays; has one of its own already, and keeps it as it is",
        );
        // One that came from here once, and was left with what is in it.
        let of = |mut object: Value, uid: &str| {
            object["metadata"]["annotations"] = json!({"resourcetemplate.karmada.io/uid": uid});
            object
        };
        for (sent, there, expected) in [
            ("u", "u", "stays; is there already"),
            (
                "u",
                "other",
                "stays; has one of its own already, and keeps it as it is",
            ),
            (
                "",
                "",
                "stays; has one of its own already, and keeps it as it is",
            ),
        ] {
            let there = Some(of(own.clone(), there));
            check(of(space.clone(), sent), there, expected);
        }
    }

    #[test]
    fn what_was_sent_and_may_not_have_arrived_is_held_against_what_is_there() {
        let before = |data: Value| {
            let mut before = sent("abort");
            before["data"] = data;
            Some(before)
        };
        for (earlier, how, observed, expected) in [
            (json!({"colour": "red"}), "abort", None, "created"),
            (
                json!({"colour": "red"}),
                "abort",
                there("", "red"),
                "conflict",
            ),
            (
                json!({"colour": "red"}),
                "overwrite",
                there("", "green"),
                "changed ~ /data/colour  \"green\" -> \"blue\"; is there already, and is taken over",
            ),
            // The cluster has what was sent before that, or has got the newest in the meantime.
            (
                json!({"colour": "red"}),
                "abort",
                there("true", "green"),
                "changed ~ /data/colour  \"green\" -> \"blue\"",
            ),
            (
                json!({"colour": "red"}),
                "abort",
                there("true", "blue"),
                "stays",
            ),
            // What left the template leaves the cluster.
            (
                json!({"colour": "blue", "more": "stays"}),
                "abort",
                there("true", "blue"),
                "changed - /data/more  \"stays\"",
            ),
        ] {
            check_after(before(earlier), sent(how), observed, expected);
        }
    }

    #[test]
    fn only_what_came_from_here_is_deleted() {
        let marked = |mut value: Value, work: &str| {
            value["metadata"]["annotations"] = json!({"work.karmada.io/namespace": "karmada-es-east", "work.karmada.io/name": work});
            Some(value)
        };
        let left = "stays; is not managed from here, and is left as it is";
        for (observed, expected) in [
            (None, "absent"),
            (there("", "red"), left),
            (there("true", "red"), "deleted"),
            (marked(there("true", "red").unwrap(), "w"), "deleted"),
            (marked(there("true", "red").unwrap(), "another"), left),
        ] {
            let observed = observed.map(object);
            let settled = |what| {
                let mut fate = ClusterFate {
                    what,
                    before: Some(2),
                    ..ClusterFate::default()
                };
                let work = ("karmada-es-east".to_owned(), "w".to_owned());
                settle_withdrawn(&mut fate, &work, observed.as_ref());
                fate
            };
            assert_eq!(told(&settled(What::Deleted)), expected);
            // What is not there, or somebody else's, is not lost with its cluster either.
            let lost = settled(What::Lost);
            let is_lost = expected == "deleted";
            let words = if is_lost { "lost" } else { "absent" };
            assert_eq!((told(&lost).as_str(), lost.is_old), (words, !is_lost));
            assert_eq!(lost.before, is_lost.then_some(2));
        }
    }
}

//! Looking into members: what is there already is not created but changed, or stands in the way.
//!
//! Only clusters that would be sent something of which the control plane does not know whether they have it are asked.

use std::collections::BTreeMap;

use api::well_known::annotations::{CONFLICT_OVERWRITE, CONFLICT_RESOLUTION};
use api::well_known::labels::{MANAGED, TRUE};
use client::{Client, Discovery};
use futures_util::stream::{self, StreamExt as _};
use interpret::Interpreter;
use object::{Object, ResourceType, Value};

use super::change;
use super::fate::{ClusterFate, Simulated, What};
use crate::failure::Failure;
use crate::picture::{Picture, is_namespace};
use crate::reading::Place;

/// How many members are asked at once.
const MEMBERS: usize = 32;

/// What a member has of an object; or why that is not known.
type Seen = Result<Option<Object>, Failure>;

/// Asks members, and puts right what was taken for new.
pub(super) async fn look(
    control: &Client,
    after: &Picture,
    discovery: &Discovery,
    outcome: &mut Simulated,
) {
    let mut asked: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for fate in outcome.templates.iter().flat_map(|fate| &fate.clusters) {
        if let Some(sent) = &fate.sent {
            asked.entry(&fate.cluster).or_default().push(sent);
        }
    }
    let seen: Vec<(String, Vec<Seen>)> = stream::iter(asked)
        .map(|(cluster, objects)| {
            let place = Place::member(control, cluster);
            let place = match after.is_ready(cluster) {
                true => place,
                false => place.with_little_patience(),
            };
            ask(place, discovery, objects)
        })
        .buffered(MEMBERS)
        .collect()
        .await;
    let mut seen: BTreeMap<String, std::vec::IntoIter<Seen>> = seen
        .into_iter()
        .map(|(cluster, found)| (cluster, found.into_iter()))
        .collect();
    let mut doubts: Vec<String> = Vec::new();
    let fates = outcome.templates.iter_mut();
    for fate in fates.flat_map(|fate| &mut fate.clusters) {
        let Some(sent) = fate.sent.take() else {
            continue;
        };
        let Some(found) = seen.get_mut(&fate.cluster).and_then(Iterator::next) else {
            continue;
        };
        match found {
            Ok(observed) => settle(fate, &sent, observed.as_ref(), &after.interpreter),
            Err(failure) => {
                let cluster = &fate.cluster;
                let doubt = format!("what {cluster} has already cannot be seen ({failure})");
                if !doubts.contains(&doubt) {
                    doubts.push(doubt);
                }
            }
        }
    }
    outcome.doubts.extend(doubts);
}

/// Asks one member about all objects, one after the other. One that does not answer once is not asked again.
async fn ask(place: Place, discovery: &Discovery, objects: Vec<&Object>) -> (String, Vec<Seen>) {
    let client = place.client();
    let mut found: Vec<Seen> = Vec::new();
    for object in objects {
        let resource = discovery.find(&object.group_version_kind());
        let Some(resource) = resource.map(|found| &found.resource) else {
            found.push(Ok(None));
            continue;
        };
        let seen = read(&place, &client, resource, object).await;
        let is_lost = matches!(&seen, Err(Failure::Failed { .. }));
        found.push(seen);
        if is_lost {
            break;
        }
    }
    (place.name, found)
}

async fn read(place: &Place, client: &Client, kind: &ResourceType, object: &Object) -> Seen {
    match client.get(kind, &object.key()).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(place.failure(&error)),
    }
}

/// What becomes of an object in a cluster, now that it is known what the cluster has.
fn settle(
    fate: &mut ClusterFate,
    sent: &Object,
    observed: Option<&Object>,
    interpreter: &Interpreter,
) {
    let Some(observed) = observed else {
        fate.what = What::Created;
        return;
    };
    let is_ours = observed.label(MANAGED) == Some(TRUE);
    let may_overwrite = sent.annotation(CONFLICT_RESOLUTION) == Some(CONFLICT_OVERWRITE);
    if !is_ours && is_namespace(sent) {
        fate.what = What::Stays;
        fate.note = Some("has one of its own already, and keeps it as it is".to_owned());
        fate.is_old = true;
        return;
    }
    if !is_ours && !may_overwrite {
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
    let there = without_status(observed.clone().into_value());
    let merged = merged(&there, &without_status(wanted.clone().into_value()));
    let lines = change::lines(&there, &merged);
    fate.what = match lines.is_empty() {
        true => What::Stays,
        false => What::Changed(lines),
    };
    let note = match is_ours {
        true => "is there already",
        false => "is there already, and is taken over",
    };
    fate.note = Some(match fate.note.take() {
        Some(before) => format!("{before}; {note}"),
        None => note.to_owned(),
    });
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

    fn check(sent: Value, observed: Option<Value>, expected: &str) {
        let object = |value: Value| Object::from_value(value).unwrap();
        let mut fate = ClusterFate::default();
        let (sent, observed) = (object(sent), observed.map(object));
        settle(&mut fate, &sent, observed.as_ref(), &Interpreter::default());
        let what = match &fate.what {
            What::Changed(lines) => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                format!("changed {}", lines.join(", "))
            }
            What::Conflict(_) => "conflict".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        let note = fate.note.unwrap_or_default();
        assert_eq!(format!("{what}; {note}").trim_end_matches("; "), expected);
    }

    #[test]
    fn what_a_member_has_already_is_changed_or_stands_in_the_way() {
        let sent = |how: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "a", "namespace": "n", "labels": {"karmada.io/managed": "true"},
                "annotations": {"work.karmada.io/conflict-resolution": how},
            }, "data": {"colour": "blue"}})
        };
        let there = |managed: &str, colour: &str| {
            Some(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "3", "labels": {"karmada.io/managed": managed},
            }, "data": {"colour": colour, "more": "stays"}}),
            )
        };
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
            space,
            Some(own),
            "stays; has one of its own already, and keeps it as it is",
        );
    }
}

//! Asking members whether they would take what they would be sent: each is sent it for a rehearsal, of which it keeps
//! nothing.
//!
//! Members are asked in the name of whoever supposes, as in everything; what such a user may not try there is left open,
//! and said.

use std::collections::{BTreeMap, BTreeSet};

use client::{CallError, Client, Discovery, Refusal, WriteOptions};
use futures_util::stream::{self, StreamExt as _};
use intent::Part;
use object::{Object, ObjectKey, ResourceType};

use super::fate::{ClusterFate, Simulated, What};
use super::look::MEMBERS;
use super::troubles::Troubles;
use crate::picture::Picture;
use crate::reading::Place;
use crate::writing::MANAGER;

/// So many objects are tried on in one member. Whoever moves more learns of the kinds of trouble by these.
const MOST: usize = 200;
/// What every member has: where objects are tried on whose namespace comes with them.
const STAND_IN: &str = "default";

/// What a member says to an object.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It would take it.
    Taken,
    /// It would not, and says why.
    Refused(String),
    /// Nobody knows, for this reason.
    Open(String),
    /// It does not answer.
    Silent(String),
}

/// Asks members about what they would get or see changed, and puts down what they would refuse. Those that have not
/// answered before are not asked.
pub(super) async fn rehearse(
    control: &Client,
    after: &Picture,
    discovery: &Discovery,
    silent: &BTreeSet<String>,
    outcome: &mut Simulated,
) {
    let mut asked: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for fate in fates(outcome).filter(|fate| is_asked(fate) && !silent.contains(&fate.cluster)) {
        let objects = asked.entry(&fate.cluster).or_default();
        objects.extend(fate.sent.as_ref());
    }
    let heard: BTreeMap<String, Vec<Verdict>> = stream::iter(asked)
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
    let mut heard: BTreeMap<String, _> = heard
        .into_iter()
        .map(|(cluster, verdicts)| (cluster, verdicts.into_iter()))
        .collect();
    let (mut open, mut unasked) = (Troubles::default(), Troubles::default());
    let fates = outcome.templates.iter_mut();
    let fates = fates.flat_map(|fate| &mut fate.clusters);
    for fate in fates.filter(|fate| is_asked(fate)) {
        let Some(verdicts) = heard.get_mut(&fate.cluster) else {
            continue;
        };
        let cluster = &fate.cluster;
        match verdicts.next() {
            Some(Verdict::Taken) => {}
            Some(Verdict::Refused(why)) => {
                fate.after = fate.before;
                fate.what = What::Refused(format!("the cluster would not take it: {why}"));
            }
            Some(Verdict::Open(why)) => open.note(cluster, why),
            Some(Verdict::Silent(why)) => unasked.note(cluster, why),
            None => {}
        }
    }
    let open = open
        .told(|cluster, why| format!("whether {cluster} takes all that it is sent is open: {why}"));
    let unasked = unasked.told(|cluster, why| {
        format!("whether {cluster} takes what it is sent cannot be asked ({why})")
    });
    outcome.doubts.extend(open.into_iter().chain(unasked));
}

fn fates(outcome: &Simulated) -> impl Iterator<Item = &ClusterFate> {
    let fates = outcome.templates.iter();
    fates.flat_map(|fate| &fate.clusters)
}

/// Whether a member is asked about it: only about what comes to it anew.
fn is_asked(fate: &ClusterFate) -> bool {
    let is_sent = matches!(fate.what, What::Created | What::Changed(_));
    is_sent && fate.sent.is_some() && fate.is_affected()
}

/// Asks one member about all objects, one after the other. One that does not answer once is not asked again.
async fn ask(place: Place, discovery: &Discovery, objects: Vec<&Object>) -> (String, Vec<Verdict>) {
    let client = place.client();
    let mut verdicts = Vec::new();
    for object in objects.iter().take(MOST) {
        let verdict = match discovery.find(&object.group_version_kind()) {
            Some(found) => try_on(&place, &client, &found.resource, object).await,
            // A kind that comes along with its objects is served by nobody yet.
            None => Verdict::Taken,
        };
        let is_silent = matches!(verdict, Verdict::Silent(_));
        verdicts.push(verdict);
        if is_silent {
            return (place.name, verdicts);
        }
    }
    if objects.len() > MOST {
        verdicts.push(Verdict::Open(format!(
            "it was asked about the first {MOST} of {} objects",
            objects.len()
        )));
    }
    (place.name, verdicts)
}

async fn try_on(
    place: &Place,
    client: &Client,
    resource: &ResourceType,
    object: &Object,
) -> Verdict {
    let Err(error) = apply(client, resource, object).await else {
        return Verdict::Taken;
    };
    let Some(refusal) = error.refusal() else {
        return Verdict::Silent(place.failure(&error).to_string());
    };
    if !lacks_namespace(refusal, object) {
        return judge(refusal);
    }
    // The namespace comes too, or is told to be missing elsewhere: what is wrong with the object itself, a member says in
    // another as well.
    let key = ObjectKey::namespaced(STAND_IN, object.name());
    let is_free = client.get_metadata(resource, &key).await;
    let is_free = is_free.is_err_and(|error| error.is_not_found());
    let mut moved = object.clone();
    if !is_free || moved.set(&["metadata", "namespace"], STAND_IN).is_err() {
        return Verdict::Taken;
    }
    let Err(error) = apply(client, resource, &moved).await else {
        return Verdict::Taken;
    };
    let about_it = error.refusal().filter(|refusal| is_about_object(refusal));
    about_it.map_or(Verdict::Taken, judge)
}

/// Sends an object as the control plane would, so that nothing of it is kept.
async fn apply(
    client: &Client,
    resource: &ResourceType,
    object: &Object,
) -> Result<Object, CallError> {
    let options = WriteOptions {
        dry_run: true,
        ..WriteOptions::by(MANAGER)
    };
    client
        .apply(resource, object, true, &Part::Object, &options)
        .await
}

fn lacks_namespace(refusal: &Refusal, object: &Object) -> bool {
    let of_space = refusal.details["kind"] == "namespaces";
    refusal.code == 404 && of_space && !object.namespace().is_empty()
}

/// Whether a refusal is about what an object says, and not about where it is or who sends it.
fn is_about_object(refusal: &Refusal) -> bool {
    matches!(refusal.code, 400 | 422) || refusal.message.contains("typed patch object")
}

/// What a refusal means for what the control plane would send later, in its own name.
fn judge(refusal: &Refusal) -> Verdict {
    let said = || refusal.message.clone();
    let of_user = refusal.message.contains("cannot ") && refusal.message.contains("User \"");
    match refusal.code {
        401 | 407 => Verdict::Open(said()),
        403 if of_user => Verdict::Open(said()),
        // A rule that would do something beside is not asked by servers for a rehearsal.
        400 if refusal.message.contains("does not support dry run") => Verdict::Open(said()),
        // Whatever somebody else changes meanwhile is looked at again.
        409 => Verdict::Taken,
        400 | 403 | 404 | 413 | 422 => Verdict::Refused(said()),
        _ if is_about_object(refusal) => Verdict::Refused(said()),
        502..=504 => Verdict::Silent(said()),
        _ => Verdict::Open(said()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_members_have_against_an_object_is_told_from_what_they_have_against_the_user() {
        for (code, message, expected) in [
            (
                422,
                "Deployment \"a\" is invalid: spec.x: Required value",
                "refused",
            ),
            (
                403,
                "admission webhook \"w\" denied the request: no",
                "refused",
            ),
            (403, "pods \"a\" is forbidden: exceeded quota: q", "refused"),
            (
                403,
                "secrets \"a\" is forbidden: User \"jane\" cannot patch resource \"secrets\" in API group \"\"",
                "open",
            ),
            (401, "Unauthorized", "open"),
            (
                400,
                "admission webhook \"w\" does not support dry run",
                "open",
            ),
            (400, "the object is broken", "refused"),
            (
                404,
                "the server could not find the requested resource",
                "refused",
            ),
            (409, "the object has been modified", "taken"),
            (
                500,
                "failed to create typed patch object: .spec.x: field not declared in schema",
                "refused",
            ),
            (500, "etcd is away", "open"),
            (504, "cluster(member1) is inaccessible", "silent"),
        ] {
            let refusal = Refusal {
                request: "PATCH /x".to_owned(),
                code,
                reason: String::new(),
                message: message.to_owned(),
                details: json!({}),
                retry_after: None,
            };
            let found = match judge(&refusal) {
                Verdict::Taken => "taken",
                Verdict::Refused(said) if said == message => "refused",
                Verdict::Open(said) if said == message => "open",
                Verdict::Silent(said) if said == message => "silent",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected, "{code} {message}");
        }
    }
}

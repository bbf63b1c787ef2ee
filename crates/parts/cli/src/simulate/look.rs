//! Looking into members: what is there already is not created but changed, or stands in the way; what is not there cannot
//! be deleted; and what has no namespace to go to does not come.
//!
//! Only clusters are asked of which works do not tell that they have what they were sent.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use client::{Client, Discovery};
use futures_util::stream::{self, StreamExt as _};
use object::{Object, ObjectKey, ResourceType};

use super::Templates;
use super::fate::{ClusterFate, Look, Simulated, What};
use super::progress::Progress;
use super::settle::settle;
use super::troubles::Troubles;
use crate::failure::Failure;
use crate::picture::{Picture, is_namespace, namespaces};
use crate::reading::Place;

/// How many members are asked at once.
pub(super) const MEMBERS: usize = 32;
/// How many objects one of them is asked about at once.
pub(super) const AT_ONCE: usize = 8;
/// What every cluster has.
const EVERYWHERE: &str = "default";

/// What a member has.
#[derive(Debug, Default)]
struct Sight {
    /// The object, if it is there.
    observed: Option<Object>,
    /// Whether the namespace that it would go to is known to be missing.
    lacks_space: bool,
}

/// What a member has; or why that is not known.
type Seen = Result<Sight, Failure>;

/// What a member is asked about.
struct Asked<'o> {
    object: &'o Object,
    /// Whether its namespace has to be there already.
    needs_space: bool,
}

/// Asks members, and puts right what was taken for granted; gives those that do not answer, with why.
pub(super) async fn look(
    control: &Client,
    after: &Picture,
    templates: &Templates,
    outcome: &mut Simulated,
    progress: &Progress,
) -> BTreeMap<String, Failure> {
    let homes = Homes::of(after, templates, outcome);
    let mut asked: BTreeMap<&str, Vec<Asked<'_>>> = BTreeMap::new();
    for fate in outcome.templates.iter().flat_map(|fate| &fate.clusters) {
        if let Some(look) = &fate.look {
            let object = look.object();
            let is_sent = matches!(look, Look::Sent { .. });
            let needs_space = is_sent && homes.why_absent(&fate.cluster, object).is_some();
            let wanted = Asked {
                object,
                needs_space,
            };
            asked.entry(&fate.cluster).or_default().push(wanted);
        }
    }
    let discovery = &templates.discovery;
    progress.begin(
        "looking what members have",
        asked.values().map(Vec::len).sum(),
    );
    let seen: Vec<(String, Vec<Seen>)> = stream::iter(asked)
        .map(|(cluster, objects)| {
            let place = after.member(control, cluster);
            ask(place, discovery, objects, progress)
        })
        .buffered(MEMBERS)
        .collect()
        .await;
    let mut seen: BTreeMap<String, std::vec::IntoIter<Seen>> = seen
        .into_iter()
        .map(|(cluster, found)| (cluster, found.into_iter()))
        .collect();
    let (mut unseen, mut silent) = (Troubles::default(), BTreeMap::new());
    let fates = outcome.templates.iter_mut();
    for fate in fates.flat_map(|fate| &mut fate.clusters) {
        let Some(look) = fate.look.take() else {
            continue;
        };
        let Some(found) = seen.get_mut(&fate.cluster).and_then(Iterator::next) else {
            continue;
        };
        match found {
            Ok(sight) if sight.lacks_space => lack(fate, &homes, look.object()),
            Ok(sight) => settle(fate, &look, sight.observed.as_ref(), &after.interpreter),
            Err(failure) => {
                unseen.note(&fate.cluster, failure.to_string());
                if matches!(failure, Failure::Failed { .. }) {
                    silent.insert(fate.cluster.clone(), failure);
                }
            }
        }
    }
    let told =
        unseen.told(|cluster, why| format!("what {cluster} has already cannot be seen ({why})"));
    outcome.doubts.extend(told);
    silent
}

/// Namespaces that do not go to clusters by themselves, and those that come to some all the same.
struct Homes {
    kept: BTreeMap<String, String>,
    /// By cluster and name.
    coming: BTreeSet<(String, String)>,
}

impl Homes {
    fn of(after: &Picture, templates: &Templates, outcome: &Simulated) -> Self {
        let spaces = templates.all().map(|template| template.object.main());
        let kept = spaces.filter(|object| is_namespace(object));
        let kept = kept.filter(|object| object.name() != EVERYWHERE);
        let kept = kept.filter_map(|object| {
            let why = after.keeps_at_home(object)?;
            Some((object.name().to_owned(), why))
        });
        let mut coming = BTreeSet::new();
        let spaces = outcome.templates.iter();
        for fate in spaces.filter(|fate| fate.kind == "Namespace" && fate.namespace.is_empty()) {
            let clusters = fate.clusters.iter();
            let coming_to =
                clusters.filter(|cluster| matches!(cluster.what, What::Created | What::Changed(_)));
            coming.extend(coming_to.map(|to| (to.cluster.clone(), fate.name.clone())));
        }
        Self {
            kept: kept.collect(),
            coming,
        }
    }

    /// Why the namespace of an object does not come to a cluster, if it does not.
    fn why_absent(&self, cluster: &str, object: &Object) -> Option<&str> {
        let why = self.kept.get(object.namespace())?;
        let place = (cluster.to_owned(), object.namespace().to_owned());
        (!self.coming.contains(&place)).then_some(why.as_str())
    }
}

/// What has no namespace to go to.
fn lack(fate: &mut ClusterFate, homes: &Homes, object: &Object) {
    let why = homes.why_absent(&fate.cluster, object).unwrap_or_default();
    (fate.before, fate.after) = (None, None);
    fate.what = What::Refused(format!(
        "the cluster has no namespace {}, which is not sent there: {why}",
        object.namespace()
    ));
}

/// Asks one member about all objects, a few at a time. One that does not answer once is not asked again.
async fn ask(
    place: Place,
    discovery: &Discovery,
    objects: Vec<Asked<'_>>,
    progress: &Progress,
) -> (String, Vec<Seen>) {
    let client = place.client();
    let mut found: Vec<Seen> = Vec::new();
    {
        let (place, client) = (&place, &client);
        let answers = stream::iter(objects).map(async |asked| {
            let resource = discovery.find(&asked.object.group_version_kind());
            match resource {
                Some(found) => see(place, client, &found.resource, &asked).await,
                // A kind that nobody serves yet has no objects.
                None => Ok(Sight::default()),
            }
        });
        let mut answers = pin!(answers.buffered(AT_ONCE));
        while let Some(seen) = answers.next().await {
            progress.step();
            let is_lost = matches!(&seen, Err(Failure::Failed { .. }));
            found.push(seen);
            if is_lost {
                break;
            }
        }
    }
    (place.name, found)
}

async fn see(place: &Place, client: &Client, kind: &ResourceType, asked: &Asked<'_>) -> Seen {
    let observed = read(place, client, kind, &asked.object.key()).await?;
    let lacks_space = observed.is_none() && asked.needs_space && {
        let space = ObjectKey::cluster(asked.object.namespace());
        let found = client.get_metadata(&namespaces(), &space).await;
        // Whoever may not look at namespaces is not told that one is missing.
        found.is_err_and(|error| error.is_not_found())
    };
    Ok(Sight {
        observed,
        lacks_space,
    })
}

async fn read(
    place: &Place,
    client: &Client,
    kind: &ResourceType,
    key: &ObjectKey,
) -> Result<Option<Object>, Failure> {
    match client.get(kind, key).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(place.failure(&error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_no_namespace_to_go_to_does_not_come() {
        let homes = Homes {
            kept: BTreeMap::from([("n".to_owned(), "it has opted out".to_owned())]),
            coming: BTreeSet::from([("west".to_owned(), "n".to_owned())]),
        };
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
        let object = Object::from_value(object).unwrap();
        assert_eq!(homes.why_absent("west", &object), None);
        assert_eq!(homes.why_absent("east", &object), Some("it has opted out"));
        let mut fate = ClusterFate {
            cluster: "east".to_owned(),
            what: What::Created,
            before: Some(1),
            after: Some(2),
            ..ClusterFate::default()
        };
        lack(&mut fate, &homes, &object);
        let why = "the cluster has no namespace n, which is not sent there: it has opted out";
        assert_eq!(fate.what, What::Refused(why.to_owned()));
        assert_eq!((fate.before, fate.after), (None, None));
    }
}

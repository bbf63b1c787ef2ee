//! Asking members whether they would take what they would be sent: each is sent it for a rehearsal, of which it keeps
//! nothing.
//!
//! That nothing is kept rests on the members: servers of Kubernetes heed `dryRun` for what is built in and for what
//! definitions define, and so do webhooks that say they have no effects beside. Servers that stand in for others need not,
//! so nothing is sent to them; and whoever does not rely on it has members only read ([`Supposition::only_reads`]).
//!
//! It goes as with works: what is not there is created, which a server takes with fields it does not know. What is there is
//! applied; where its fields would first be taken over, it is replaced by what would come of that, and so is what a server
//! stores but cannot apply.
//!
//! Members are asked in the name of whoever supposes, as in everything; what such a user may not try there is left open,
//! and said.
//!
//! [`Supposition::only_reads`]: super::Supposition::only_reads

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use client::{CallError, Client, Discovery, Refusal, WriteOptions};
use futures_util::stream::{self, StreamExt as _};
use intent::Part;
use object::{Object, ObjectKey, ResourceType};

use super::bringing::Records;
use super::fate::{ClusterFate, Simulated, What};
use super::kinds::{definitions, is_definition};
use super::look::{AT_ONCE, MEMBERS};
use super::progress::Progress;
use super::troubles::Troubles;
use super::verdict::{Verdict, is_about_object, is_written_otherwise, judge};
use crate::failure::Failure;
use crate::picture::Picture;
use crate::reading::{Place, READINESS};
use crate::writing::MANAGER;

/// So many objects are tried on in one member. Whoever moves more learns of the kinds of trouble by these.
const MOST: usize = 200;
/// How often an object is tried on that somebody else keeps changing.
const ATTEMPTS: usize = 3;
/// What every member has: where objects are tried on whose namespace comes with them.
const STAND_IN: &str = "default";
/// The groups of what every server of Kubernetes serves itself.
const BUILT_IN: [&str; 21] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// What a member is asked about.
struct Asked<'o> {
    object: &'o Object,
    /// Whether it is not there yet.
    is_new: bool,
}

/// Asks members about what they would get or see changed, and puts down what they would refuse. Those that have not
/// answered before are not asked; further ones that do not answer are added to them. Those that are only supposed cannot be.
pub(super) async fn rehearse(
    control: &Client,
    (before, after): (&Picture, &Picture),
    discovery: &Discovery,
    silent: &mut BTreeMap<String, Failure>,
    outcome: &mut Simulated,
    progress: &Progress,
) {
    let mut asked: BTreeMap<&str, Vec<Asked<'_>>> = BTreeMap::new();
    let mut supposed = BTreeSet::new();
    for fate in fates(outcome).filter(|fate| is_asked(fate) && !silent.contains_key(&fate.cluster))
    {
        if !before.clusters.contains_key(&fate.cluster) {
            supposed.insert(fate.cluster.clone());
            continue;
        }
        let objects = asked.entry(&fate.cluster).or_default();
        objects.extend(fate.sent.as_ref().map(|object| Asked {
            object,
            is_new: fate.what == What::Created,
        }));
    }
    let count = |objects: &Vec<Asked<'_>>| objects.len().min(MOST);
    progress.begin(
        "asking members what they would take",
        asked.values().map(count).sum(),
    );
    let heard: BTreeMap<String, Vec<Verdict>> = stream::iter(asked)
        .map(|(cluster, objects)| {
            let place = after.member(control, cluster);
            ask(place, discovery, objects, progress)
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
            Some(Verdict::Silent(why)) => {
                let failure = Failure::failed(why.clone(), READINESS);
                silent.insert(cluster.clone(), failure);
                unasked.note(cluster, why);
            }
            None => {}
        }
    }
    let open = open
        .told(|cluster, why| format!("whether {cluster} takes all that it is sent is open: {why}"));
    let unasked = unasked.told(|cluster, why| {
        format!("whether {cluster} takes what it is sent cannot be asked ({why})")
    });
    let supposed = supposed.into_iter().map(|cluster| {
        format!("whether {cluster} takes what it is sent cannot be asked before it has joined")
    });
    let doubts = open.into_iter().chain(unasked).chain(supposed);
    outcome.doubts.extend(doubts);
}

/// Says that members were not asked, if there was anything to ask.
pub(super) fn pass_over(outcome: &mut Simulated) {
    if fates(outcome).any(is_asked) {
        let why = "whether clusters take what they are sent was not asked";
        outcome.doubts.push(why.to_owned());
    }
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

/// Asks one member about all objects, a few at a time. One that does not answer once is not asked again.
async fn ask(
    place: Place,
    discovery: &Discovery,
    asked: Vec<Asked<'_>>,
    progress: &Progress,
) -> (String, Vec<Verdict>) {
    let client = place.client();
    let mut member = Member {
        place: &place,
        client: &client,
        unsent: BTreeMap::new(),
        coming: coming(&asked),
    };
    let kind = |one: &Asked<'_>| {
        let found = discovery.find(&one.object.group_version_kind());
        found.map(|found| &found.resource)
    };
    for one in asked.iter().take(MOST) {
        let Some(resource) = kind(one) else {
            continue;
        };
        if let Some(silent @ Verdict::Silent(_)) = member.learn(resource, one.object).await {
            let verdicts = vec![silent.clone()];
            return (place.name, verdicts);
        }
    }
    let mut verdicts = Vec::new();
    {
        let (member, kind) = (&member, &kind);
        let answers = stream::iter(asked.iter().take(MOST)).map(async |one| match kind(one) {
            Some(resource) => member.hear(resource, one).await,
            // A kind that comes along with its objects is served by nobody yet; that nobody checks them is said once.
            None => Verdict::Taken,
        });
        let mut answers = pin!(answers.buffered(AT_ONCE));
        while let Some(verdict) = answers.next().await {
            progress.step();
            let is_silent = matches!(verdict, Verdict::Silent(_));
            verdicts.push(verdict);
            if is_silent {
                break;
            }
        }
    }
    let is_silent = matches!(verdicts.last(), Some(Verdict::Silent(_)));
    if asked.len() > MOST && !is_silent {
        verdicts.push(Verdict::Open(format!(
            "it was asked about the first {MOST} of {} objects",
            asked.len()
        )));
    }
    (place.name, verdicts)
}

/// A member that is asked.
struct Member<'p> {
    place: &'p Place,
    client: &'p Client,
    /// By the name of a definition: what is said of its objects where they are not sent.
    unsent: BTreeMap<String, Option<Verdict>>,
    /// The names of definitions that it would get.
    coming: BTreeSet<String>,
}

impl Member<'_> {
    /// Learns whether objects of a kind are sent, such as this one; those of what is built in are. Gives what is said of
    /// those that are not.
    async fn learn(&mut self, resource: &ResourceType, object: &Object) -> Option<&Verdict> {
        if BUILT_IN.contains(&resource.kind.group.as_str()) {
            return None;
        }
        let name = definition_of(resource);
        if !self.unsent.contains_key(&name) {
            let unsent = self.why_unsent(resource, &name, object).await;
            self.unsent.insert(name.clone(), unsent);
        }
        self.unsent.get(&name)?.as_ref()
    }

    /// What the member says to an object of a kind that has been learnt about.
    async fn hear(&self, resource: &ResourceType, asked: &Asked<'_>) -> Verdict {
        if let Some(Some(verdict)) = self.unsent.get(&definition_of(resource)) {
            return verdict.clone();
        }
        match asked.is_new {
            true => self.try_new(resource, asked.object).await,
            false => self.try_on(resource, asked.object).await,
        }
    }

    /// What is said of objects of a kind that is not built in, unless the member has its definition.
    async fn why_unsent(
        &self,
        resource: &ResourceType,
        name: &str,
        object: &Object,
    ) -> Option<Verdict> {
        let key = ObjectKey::cluster(name);
        let error = self.client.get_metadata(&definitions(), &key).await.err()?;
        if !error.is_not_found() {
            return Some(self.verdict(&error));
        }
        if self.coming.contains(name) {
            return Some(Verdict::Open(format!(
                "{name} comes along, and until then nobody there can say"
            )));
        }
        let found = self.client.get_metadata(resource, &object.key()).await;
        let refusal = found.as_ref().err().and_then(CallError::refusal);
        // A server that has the kind and not the object names the object.
        let is_served =
            refusal.is_none_or(|refusal| refusal.code != 404 || !refusal.details["name"].is_null());
        Some(match is_served {
            true => Verdict::Open(format!(
                "{name} is not defined there, and whichever server has it need not heed a dry run"
            )),
            false => Verdict::Refused(format!("it does not serve {name}")),
        })
    }

    /// Tries on what is not there yet.
    async fn try_new(&self, resource: &ResourceType, object: &Object) -> Verdict {
        match self.client.create(resource, object, &rehearsing()).await {
            Ok(_) => Verdict::Taken,
            Err(error) => match error.refusal() {
                Some(refusal) if lacks_namespace(refusal, object) => {
                    self.try_elsewhere(resource, object).await
                }
                _ => self.verdict(&error),
            },
        }
    }

    /// The same in another namespace, as its own comes too, or is told to be missing elsewhere: what is wrong with the
    /// object itself, a member says there as well.
    async fn try_elsewhere(&self, resource: &ResourceType, object: &Object) -> Verdict {
        let mut moved = object.clone();
        if let Err(error) = moved.set(&["metadata", "namespace"], STAND_IN) {
            return Verdict::Open(error.to_string());
        }
        let Err(error) = self.client.create(resource, &moved, &rehearsing()).await else {
            return Verdict::Taken;
        };
        match error.refusal() {
            Some(refusal) if !is_about_object(refusal) => Verdict::Open(format!(
                "namespace {} is not there yet, and in {STAND_IN} the answer is: {}",
                object.namespace(),
                refusal.message
            )),
            _ => self.verdict(&error),
        }
    }

    /// Tries on what is there, again if somebody changes it meanwhile.
    async fn try_on(&self, resource: &ResourceType, object: &Object) -> Verdict {
        for _ in 1..ATTEMPTS {
            match self.try_once(resource, object).await {
                Ok(verdict) => return verdict,
                Err(error) if error.is_conflict() => {}
                Err(error) => return self.verdict(&error),
            }
        }
        let last = self.try_once(resource, object).await;
        last.unwrap_or_else(|error| self.verdict(&error))
    }

    async fn try_once(
        &self,
        resource: &ResourceType,
        object: &Object,
    ) -> Result<Verdict, CallError> {
        let there = match self.client.get(resource, &object.key()).await {
            Ok(there) if !there.is_terminating() => there,
            Err(error) if !error.is_not_found() => return Err(error),
            // It is made anew.
            _ => return Ok(self.try_new(resource, object).await),
        };
        let records = Records::of(&there);
        let (client, part, options) = (self.client, &Part::Object, rehearsing());
        if !records.are_taken_over {
            match client.apply(resource, object, true, part, &options).await {
                // It is written in another way then, to the outcome that is asked about.
                Err(error) if error.refusal().is_some_and(is_written_otherwise) => {}
                applied => return applied.map(|_| Verdict::Taken),
            }
        }
        let brought = records.bring(&there, object);
        let replaced = client.replace(resource, &brought, part, &options).await;
        replaced.map(|_| Verdict::Taken)
    }

    /// What a call that failed means.
    fn verdict(&self, error: &CallError) -> Verdict {
        match error.refusal() {
            Some(refusal) => judge(refusal),
            None => Verdict::Silent(self.place.failure(error).to_string()),
        }
    }
}

/// The names of the definitions among what a member would get.
fn coming(asked: &[Asked<'_>]) -> BTreeSet<String> {
    let new = asked.iter().filter(|one| one.is_new);
    let definitions = new.filter(|one| is_definition(one.object));
    definitions
        .map(|one| one.object.name().to_owned())
        .collect()
}

/// The name of the definition of a kind, if it has one.
fn definition_of(resource: &ResourceType) -> String {
    format!("{}.{}", resource.plural, resource.kind.group)
}

/// In the name that works are written under, so that nothing is kept.
fn rehearsing() -> WriteOptions {
    WriteOptions {
        dry_run: true,
        ..WriteOptions::by(MANAGER)
    }
}

fn lacks_namespace(refusal: &Refusal, object: &Object) -> bool {
    let of_space = refusal.details["kind"] == "namespaces";
    refusal.code == 404 && of_space && !object.namespace().is_empty()
}

//! Asking webhooks: those that change objects one after the other, those that judge them all at once.

mod identity;
mod versions;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::join_all;
use object::Value;
use object::patch::Replace;
use serde_json::json;
use serve::cache::Cache;
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::resource::SchemaDuty;
use serve::server::Surroundings;
use serve::status::Status;

use crate::caller::Caller;
use crate::expression::{Authority, Scene};
use crate::following::Compiled;
use crate::matching::{Asked, Operation};
use crate::notes::note;
use crate::review::{self, Answer, Shown, is_foreign};
use crate::webhook::{Chain, Webhook};
use identity::keep_identity;
pub(crate) use versions::shown_in;

/// The longest all webhooks together may take for one request, however many there are.
const LONGEST: Duration = Duration::from_secs(60);

/// The webhooks of a server, as an admission of it.
pub struct Webhooks {
    caller: Caller,
    surroundings: Arc<dyn Surroundings>,
    /// Set once the server is open, before it answers anybody.
    followed: OnceLock<Followed>,
}

struct Followed {
    cache: Arc<Cache>,
    /// Answers conditions that ask what users may do.
    authority: Arc<dyn Authority>,
    mutating: Compiled<Chain>,
    validating: Compiled<Chain>,
}

/// A webhook that is asked about a request, and in which version of its resource.
struct Wanted<'a> {
    webhook: &'a Webhook,
    version: String,
    /// Its place among all webhooks.
    place: usize,
}

/// What came of asking.
enum Asking {
    Answered(Box<Answer>),
    /// It could not be asked, and that does not matter.
    FailedOpen,
}

impl Webhooks {
    /// Webhooks that are called by `caller`.
    #[must_use]
    pub fn new(caller: Caller, surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            caller,
            surroundings,
            followed: OnceLock::new(),
        }
    }

    /// Follows the configurations in a server's cache from now on; `authority` answers conditions that ask what users may
    /// do.
    pub fn look_into(&self, cache: &Arc<Cache>, authority: Arc<dyn Authority>) {
        self.caller.look_into(cache);
        let followed = Followed {
            cache: Arc::clone(cache),
            authority,
            mutating: Compiled::new(cache, "mutatingwebhookconfigurations", Chain::compile),
            validating: Compiled::new(cache, "validatingwebhookconfigurations", Chain::compile),
        };
        drop(self.followed.set(followed));
    }

    async fn change(
        &self,
        followed: &Followed,
        call: &Call,
        proposal: Proposal<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let Proposal {
            old,
            new: Some(new),
        } = proposal
        else {
            return Ok(());
        };
        let chain = followed.mutating.current();
        // How each of those who want to know of later changes left the object.
        let mut left: Vec<Option<Value>> = vec![None; chain.webhooks.len()];
        for round in 0..2 {
            for ((place, webhook), left) in chain.webhooks.iter().enumerate().zip(&mut left) {
                let unchanged = left.as_ref().is_none_or(|left| left == &*new);
                if round > 0 && unchanged {
                    continue;
                }
                let asked = Asked::new(call, old, Some(&*new));
                let Some(version) = followed.version(webhook, &asked)? else {
                    continue;
                };
                let answer = self.ask(webhook, version, &asked, true).await?;
                let version = version.to_owned();
                let changed = match answer {
                    Asking::FailedOpen => {
                        note_failed_open("mutating", round, place, webhook);
                        false
                    }
                    Asking::Answered(answer) => {
                        take(webhook, &answer, warnings)?;
                        self.apply(webhook, &version, call, old, new, *answer)
                            .await?
                    }
                };
                note(
                    format!("mutation.webhook.admission.k8s.io/round_{round}_index_{place}"),
                    json!({"configuration": webhook.configuration, "webhook": webhook.name, "mutated": changed})
                        .to_string(),
                );
                *left = webhook.again.then(|| new.clone());
            }
        }
        Ok(())
    }

    async fn judge(
        &self,
        followed: &Followed,
        asked: Asked<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        if matches!(asked.operation, Operation::Delete | Operation::Connect) {
            // There is nothing to change about an object that goes, but those who may change others may refuse it.
            let chain = followed.mutating.current();
            for wanted in followed.wanted(&chain, &asked)? {
                let answer = self
                    .ask(wanted.webhook, &wanted.version, &asked, true)
                    .await?;
                refuse_change(&wanted, &asked, &answer)?;
                settle("mutating", &wanted, answer, warnings)?;
            }
        }
        let chain = followed.validating.current();
        let wanted = followed.wanted(&chain, &asked)?;
        let asked = &asked;
        let asking = wanted.iter().map(|wanted| async move {
            let answer = self.ask(wanted.webhook, &wanted.version, asked, false);
            (wanted, answer.await)
        });
        // The first refusal in the order of the configurations is the one told, whoever answered first.
        // What the others said besides is told all the same.
        let mut outcome = Ok(());
        for (wanted, answer) in join_all(asking).await {
            let settled = answer.and_then(|answer| settle("validating", wanted, answer, warnings));
            outcome = outcome.and(settled);
        }
        outcome
    }

    async fn judge_in_time(
        &self,
        followed: &Followed,
        asked: Asked<'_>,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        let outcome = in_time(self.judge(followed, asked, &mut warnings)).await;
        told(outcome, warnings)
    }

    /// Asks one webhook about an object in a version.
    async fn ask(
        &self,
        webhook: &Webhook,
        version: &str,
        asked: &Asked<'_>,
        may_change: bool,
    ) -> Result<Asking, Status> {
        if asked.call.options.dry_run && !webhook.may_rehearse {
            return Err(Status::bad_request(format!(
                "admission webhook {:?} does not support dry run",
                webhook.name
            )));
        }
        match self.try_asking(webhook, version, asked, may_change).await {
            Ok(answer) => Ok(Asking::Answered(Box::new(answer))),
            Err(why) if webhook.fails_open => {
                tracing::warn!(
                    webhook = webhook.name,
                    error = why,
                    "webhook failed; the request goes on"
                );
                Ok(Asking::FailedOpen)
            }
            Err(why) => Err(Status::internal(
                format!("failed calling webhook {:?}: {why}", webhook.name),
                None,
            )),
        }
    }

    async fn try_asking(
        &self,
        webhook: &Webhook,
        version: &str,
        asked: &Asked<'_>,
        may_change: bool,
    ) -> Result<Answer, String> {
        let endpoint = webhook
            .endpoint
            .as_ref()
            .map_err(|error| format!("failed to call webhook: {error}"))?;
        let uid = self.surroundings.uid();
        let old = self.shown(asked.call, version, asked.old).await?;
        let new = self.shown(asked.call, version, asked.new).await?;
        let shown = Shown {
            uid: &uid,
            version,
            old: old.as_deref(),
            new: new.as_deref(),
        };
        let document = review::document(review::request(asked, &shown), webhook.review);
        let answered = self
            .caller
            .post(endpoint, document.to_string().into(), webhook.wait)
            .await
            .map_err(|error| format!("failed to call webhook: {error}"))?;
        review::read(&answered, webhook.review, &uid, may_change)
            .map_err(|why| format!("received invalid webhook response: {why}"))
    }

    /// Carries a webhook's patch out; says whether anything changed.
    async fn apply(
        &self,
        webhook: &Webhook,
        version: &str,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
        answer: Answer,
    ) -> Result<bool, Status> {
        let Some(patch) = answer.patch else {
            return Ok(false);
        };
        let failed = |why: String| {
            Status::internal(
                format!(
                    "the patch of webhook {:?} cannot be used: {why}",
                    webhook.name
                ),
                None,
            )
        };
        let shown = self.shown(call, version, Some(new)).await;
        let shown = shown.map_err(failed)?;
        let shown = shown.as_deref().unwrap_or(&Value::Null);
        let patched = patch
            .apply(shown, Replace::Existing)
            .map_err(|error| failed(error.to_string()))?;
        if patched == *shown {
            return Ok(false);
        }
        let asked_version = call.target.version.as_str();
        let patched = self.shown(call, asked_version, Some(&patched)).await;
        let patched = patched.map_err(failed)?.map(Cow::into_owned);
        let mut patched = patched.unwrap_or_default();
        keep_identity(new, &mut patched).map_err(failed)?;
        // What is not stored is completed by whoever answers it.
        if call.served.resource.rules.is_stored() && !is_foreign(call, &patched) {
            check_types(call, &patched).map_err(failed)?;
            self.finish(call, old, &mut patched);
        }
        let changed = patched != *new;
        *new = patched;
        Ok(changed)
    }

    /// An object in a version, by whoever converts objects of its kind.
    async fn shown<'a>(
        &self,
        call: &Call,
        version: &str,
        object: Option<&'a Value>,
    ) -> Result<Option<Cow<'a, Value>>, String> {
        let (Some(converter), Some(object)) = (call.served.resource.rules.converter(), object)
        else {
            return shown_in(call, version, object);
        };
        let api_version = call.served.resource.api_version(version);
        if object.get("apiVersion").and_then(Value::as_str) == Some(&api_version)
            || is_foreign(call, object)
        {
            return Ok(Some(Cow::Borrowed(object)));
        }
        let uid = self.surroundings.uid();
        let made = converter.convert(vec![object.clone()], &api_version, uid);
        let made = made.await.map_err(|status| status.message)?;
        Ok(made.into_iter().next().map(Cow::Owned))
    }

    /// Brings what a webhook made into the form every object has that comes from a client.
    fn finish(&self, call: &Call, old: Option<&Value>, object: &mut Value) {
        let version = call.served.version();
        let rules = &call.served.resource.rules;
        if let Some(schema) = &version.schema {
            schema.prune(object);
            if rules.schema_duty() == SchemaDuty::Everything {
                schema.apply_defaults(object);
            }
        }
        rules.apply_defaults(&version.name, object);
        match old {
            Some(old) => {
                rules.prepare_update(&version.name, old, object, &call.target.subresource);
            }
            None => rules.prepare_create(&version.name, object, self.surroundings.now()),
        }
    }
}

impl Admission for Webhooks {
    fn changes(&self, _: &Call) -> bool {
        let followed = self.followed.get();
        followed.is_some_and(|followed| !followed.mutating.current().webhooks.is_empty())
    }

    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let Some(followed) = self.followed.get() else {
            return at_once(Ok(Vec::new()));
        };
        let asked = Asked::new(call, proposal.old, proposal.new.as_deref());
        if !asked.is_open() || followed.mutating.current().webhooks.is_empty() {
            return at_once(Ok(Vec::new()));
        }
        Box::pin(async move {
            let mut warnings = Vec::new();
            let outcome = in_time(self.change(followed, call, proposal, &mut warnings)).await;
            told(outcome, warnings)
        })
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let Some(followed) = self.followed.get() else {
            return at_once(Ok(Vec::new()));
        };
        let asked = Asked::new(call, old, new);
        let nobody = followed.validating.current().webhooks.is_empty()
            && (new.is_some() || followed.mutating.current().webhooks.is_empty());
        if !asked.is_open() || nobody {
            return at_once(Ok(Vec::new()));
        }
        Box::pin(self.judge_in_time(followed, asked))
    }

    fn connect<'a>(&'a self, call: &'a Call, options: &'a Value) -> Verdict<'a> {
        let Some(followed) = self.followed.get() else {
            return at_once(Ok(Vec::new()));
        };
        let asked = Asked::connecting(call, options);
        let nobody = followed.validating.current().webhooks.is_empty()
            && followed.mutating.current().webhooks.is_empty();
        if nobody {
            return at_once(Ok(Vec::new()));
        }
        Box::pin(self.judge_in_time(followed, asked))
    }
}

/// Refuses what no object of the kind could be. Upstream: of custom kinds their own schema says so later.
fn check_types(call: &Call, patched: &Value) -> Result<(), String> {
    let schema = match call.served.resource.rules.schema_duty() {
        SchemaDuty::Shape => call.served.version().schema.as_ref(),
        SchemaDuty::Everything => None,
    };
    match schema.and_then(|schema| serve::mistyped(schema, patched)) {
        Some(error) => Err(error.to_string()),
        None => Ok(()),
    }
}

async fn in_time(asking: impl Future<Output = Result<(), Status>>) -> Result<(), Status> {
    let outcome = tokio::time::timeout(LONGEST, asking).await;
    outcome.unwrap_or_else(|_| {
        Err(Status::internal(
            format!("webhooks took longer than {}s", LONGEST.as_secs()),
            None,
        ))
    })
}

/// A verdict with its warnings. Upstream: who is refused hears them too.
fn told(outcome: Result<(), Status>, warnings: Vec<String>) -> Result<Vec<String>, Status> {
    match outcome {
        Ok(()) => Ok(warnings),
        Err(status) => Err(status.with_warnings(&warnings)),
    }
}

/// What an answer says besides a patch.
fn take(webhook: &Webhook, answer: &Answer, warnings: &mut Vec<String>) -> Result<(), Status> {
    for (name, value) in &answer.notes {
        note(format!("{}/{name}", webhook.name), value.as_str());
    }
    warnings.extend_from_slice(&answer.warnings);
    match &answer.refusal {
        Some(refusal) => Err(refusal.status(&webhook.name)),
        None => Ok(()),
    }
}

fn settle(
    sort: &str,
    wanted: &Wanted<'_>,
    answer: Asking,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    match answer {
        Asking::Answered(answer) => take(wanted.webhook, &answer, warnings),
        Asking::FailedOpen => {
            note_failed_open(sort, 0, wanted.place, wanted.webhook);
            Ok(())
        }
    }
}

impl Followed {
    /// The webhooks that want to see a request, in order.
    fn wanted<'a>(&self, chain: &'a Chain, asked: &Asked<'_>) -> Result<Vec<Wanted<'a>>, Status> {
        let mut takers = Vec::new();
        for (place, webhook) in chain.webhooks.iter().enumerate() {
            if let Some(version) = self.version(webhook, asked)? {
                takers.push(Wanted {
                    webhook,
                    version: version.to_owned(),
                    place,
                });
            }
        }
        Ok(takers)
    }

    /// The version of its resource in which a webhook wants to see a request; `None` if it does not.
    fn version<'a>(&self, webhook: &Webhook, asked: &Asked<'a>) -> Result<Option<&'a str>, Status> {
        let Some(version) = webhook.matches.version(asked) else {
            return Ok(None);
        };
        let wants = webhook.matches.selects(asked, &self.cache)
            && self.meets_conditions(webhook, version, asked)?;
        Ok(wants.then_some(version))
    }

    fn meets_conditions(
        &self,
        webhook: &Webhook,
        version: &str,
        asked: &Asked<'_>,
    ) -> Result<bool, Status> {
        if webhook.conditions.is_empty() {
            return Ok(true);
        }
        let holds = || {
            let old = shown_in(asked.call, version, asked.old)?;
            let new = shown_in(asked.call, version, asked.new)?;
            let objects = (old.as_deref(), new.as_deref());
            let scene = Scene::new(asked, version, objects, &self.cache, Some(&self.authority));
            webhook.conditions.hold(&scene.inputs())
        };
        match holds() {
            Ok(holds) => Ok(holds),
            // Upstream: a condition that cannot be told counts as a webhook that cannot be asked.
            Err(_) if webhook.fails_open => Ok(false),
            Err(why) => Err(Status::forbidden(
                asked
                    .new
                    .map_or_else(|| asked.call.subject(), |new| asked.call.subject_of(new)),
                &format!("webhook {:?}: {why}", webhook.name),
            )),
        }
    }
}

/// Refuses a patch where there is nothing that could be changed: an object that goes is not written again, and what a
/// stream is for is said in its address.
fn refuse_change(wanted: &Wanted<'_>, asked: &Asked<'_>, answer: &Asking) -> Result<(), Status> {
    let Asking::Answered(answer) = answer else {
        return Ok(());
    };
    let patch = answer.patch.as_ref().filter(|patch| !patch.0.is_empty());
    if patch.is_none() || answer.refusal.is_some() {
        return Ok(());
    }
    let name = &wanted.webhook.name;
    let why = match asked.operation {
        Operation::Connect => {
            format!("the patch of webhook {name:?} cannot be used: a stream cannot be changed")
        }
        _ => format!(
            "admission webhook {name:?} attempted to modify the object, which is not supported for this operation"
        ),
    };
    Err(Status::internal(why, None))
}

fn note_failed_open(sort: &str, round: usize, place: usize, webhook: &Webhook) {
    note(
        format!("failed-open.{sort}.webhook.admission.k8s.io/round_{round}_index_{place}"),
        webhook.name.as_str(),
    );
}

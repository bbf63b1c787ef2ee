//! What an attempt writes.

use api::work::placing;
use bytes::Bytes;
use client::{CallError, Client, PatchKind, WriteOptions};
use http::Method;
use intent::Part;
use object::{Object, ObjectKey, Value};
use schedule::{Decision, Refusal, report::Writing};
use std::sync::Arc;
use telemetry::chain;
use tracing::{debug, warn};

use crate::{
    bound::Bound,
    cycle::{Desk, Facts},
    line::Key,
    plan::{self, News, Written},
    queue::{Ending, Turn},
};

/// How often the status is written again after somebody else wrote it meanwhile.
const STATUS_WRITES: u32 = 5;

/// Where the server says which parts bindings have.
const PARTS: &str = "/apis/work.karmada.io/v1alpha2";

/// What became of a decision.
pub(crate) struct Became {
    pub(crate) ending: Ending,
    /// Why the server did not take the result, if it did not.
    pub(crate) refused: Option<String>,
}

impl From<Ending> for Became {
    fn from(ending: Ending) -> Self {
        Self {
            ending,
            refused: None,
        }
    }
}

impl Desk {
    /// Writes what was decided: in one write where the server takes it so, else result and status one after the other.
    pub(crate) async fn write(
        &self,
        turn: &Turn<Key>,
        facts: &Facts,
        decision: &Decision,
        is_promised: bool,
    ) -> Became {
        let Facts {
            object,
            bound,
            prepared,
            trigger,
        } = facts;
        // Taking targets away because there is no such cluster, or none at all, destroys: never from clusters that may
        // not be all there are.
        if self.takes_away_unseen(bound, decision) {
            warn!(binding = %turn.key, "clusters are not all known, so targets are left alone");
            return Ending::Failed.into();
        }
        let Some(result) = plan::result(bound, prepared, decision) else {
            let attempt = turn.attempt;
            let ending = self.write_status(facts, decision, object, &Writing::Done, attempt);
            return ending.await.into();
        };
        let at_once = plan::is_for_placing(&result) && self.places_at_once().await;
        let (patch, part, expected) = if at_once {
            let (patch, generation) =
                plan::at_once(bound, result, decision, *trigger, self.cx.now());
            let part = Part::Named(placing::PART.into());
            (patch, part, Some(generation))
        } else {
            (result, Part::Object, None)
        };
        // Where nobody looks at the rest of the outcome it is not read back.
        let is_brief = expected.is_some() && bound.spec.workload_affinity_groups.is_none();
        let writing = async {
            if is_brief {
                self.patch_for_metadata(object, patch, part).await
            } else {
                self.patch(object, patch, part).await
            }
        };
        let written = match writing.await {
            Ok(written) => written,
            Err(error) => {
                if is_promised {
                    self.release(&turn.key);
                }
                if error.is_conflict() || error.is_not_found() || error.is_wrong_uid() {
                    // Somebody was quicker; the cache will show it, and the binding is decided as it is then.
                    self.metrics.conflicted();
                    return Ending::Overtaken.into();
                }
                warn!(binding = %turn.key, error = %chain(&error), "a result cannot be written");
                let failed = writing_failed(&error);
                let ending = self.write_changed(facts, decision, object, &failed);
                return Became {
                    ending: ending.await,
                    refused: Some(reason(failed)),
                };
            }
        };
        self.line.expect(&turn.key, written.generation());
        if bound.spec.workload_affinity_groups.is_some() {
            self.ahead.put(&written);
        }
        debug!(binding = %turn.key, trigger = %trigger, attempt = turn.attempt, "decided");
        if expected != Some(written.generation()) {
            let generation = written.generation();
            let written = match self.whole(written, is_brief).await {
                Ok(written) if written.generation() == generation => written,
                // Somebody has written since: the binding comes again as it is now.
                _ => return Ending::Failed.into(),
            };
            let ending = self.write_changed(facts, decision, &written, &Writing::Done);
            return ending.await.into();
        }
        let outcome = Written {
            writing: Writing::Done,
            is_changed: true,
            status: &bound.status,
            generation: written.generation(),
        };
        self.report(&plan::events(bound, object, decision, &outcome, News::New));
        plan::ending(decision, &outcome).into()
    }

    /// Whether a decision takes targets away for want of clusters that may be there all the same: the list is not
    /// complete, or one of them could not be read.
    fn takes_away_unseen(&self, bound: &Bound, decision: &Decision) -> bool {
        let present = &bound.spec.clusters;
        if present.is_empty() || decision.targets_to_write().is_none() {
            return false;
        }
        let seen = decision.diagnosis.clusters();
        let mut unseen = present
            .iter()
            .filter(|target| seen.position(&target.name).is_none())
            .peekable();
        let clears = decision.refusal().is_some_and(Refusal::clears_targets);
        if unseen.peek().is_none() && !clears {
            return false;
        }
        let is_known = |name: &str| self.clusters.get(&ObjectKey::cluster(name)).is_some();
        self.clusters.complete().is_none() || unseen.any(|target| is_known(&target.name))
    }

    /// Whether the server has the part of bindings that takes result and status together.
    async fn places_at_once(&self) -> bool {
        if let Some(known) = self.places_at_once.get() {
            return *known;
        }
        let client = &self.cx.client;
        let parts = client.request(Method::GET, PARTS, "application/json", Bytes::new());
        let Ok(parts) = parts.await else {
            return false;
        };
        let parts: Value = serde_json::from_slice(&parts).unwrap_or_default();
        let names = parts.get("resources").and_then(Value::as_array);
        let name = format!("resourcebindings/{}", placing::PART);
        let mut names = names.into_iter().flatten();
        let has = names.any(|part| part.get("name").and_then(Value::as_str) == Some(&name));
        *self.places_at_once.get_or_init(|| has)
    }

    /// Writes the status for a decision whose result is what there is, after so many attempts in a row.
    async fn write_status(
        &self,
        facts: &Facts,
        decision: &Decision,
        written: &Object,
        writing: &Writing,
        attempt: u32,
    ) -> Ending {
        self.write_outcome(facts, decision, written, (writing, false), attempt)
            .await
    }

    /// Writes the status for a decision whose result was to be written.
    async fn write_changed(
        &self,
        facts: &Facts,
        decision: &Decision,
        written: &Object,
        writing: &Writing,
    ) -> Ending {
        self.write_outcome(facts, decision, written, (writing, true), 1)
            .await
    }

    /// Writes the status for a decision, again if others write it meanwhile.
    async fn write_outcome(
        &self,
        facts: &Facts,
        decision: &Decision,
        written: &Object,
        (writing, is_changed): (&Writing, bool),
        attempt: u32,
    ) -> Ending {
        let mut latest = written.clone();
        // The spec of this generation is what was decided about, with our result: the patch asked for that revision.
        let generation = written.generation();
        for round in 0..STATUS_WRITES {
            let Ok(status) = status_of(&latest) else {
                return Ending::Failed;
            };
            let outcome = Written {
                writing: writing.clone(),
                is_changed,
                status: &status,
                generation,
            };
            let ending = plan::ending(decision, &outcome);
            let patch = plan::status(decision, &outcome, facts.trigger, self.cx.now());
            if round == 0 {
                let news = News::of(attempt, patch.is_some());
                let (bound, object) = (&facts.bound, &facts.object);
                self.report(&plan::events(bound, object, decision, &outcome, news));
            }
            let Some(patch) = patch else {
                return ending;
            };
            match self.patch(&latest, patch, Part::Status).await {
                Ok(_) => return ending,
                Err(error) if error.is_not_found() || error.is_wrong_uid() => return ending,
                Err(error) if error.is_conflict() => self.metrics.conflicted(),
                Err(error) => {
                    warn!(binding = %latest.key(), error = %chain(&error), "a status cannot be written");
                    return Ending::Failed;
                }
            }
            match self
                .cx
                .client
                .get(&plan::resource(&latest), &latest.key())
                .await
            {
                Ok(newer) => latest = newer,
                Err(_) => return Ending::Failed,
            }
        }
        Ending::Failed
    }

    /// Says in the status that a binding needs no decision.
    pub(crate) async fn write_seen(&self, seen: Option<(Arc<Object>, Box<Bound>)>) -> Ending {
        let Some((object, bound)) = seen else {
            return Ending::Settled(i64::MAX);
        };
        let settled = Ending::Settled(bound.metadata.generation);
        let Some(patch) = plan::seen(&bound, self.cx.now()) else {
            return settled;
        };
        match self.patch(&object, patch, Part::Status).await {
            Ok(_) => settled,
            Err(error) if error.is_not_found() || error.is_wrong_uid() => settled,
            Err(error) => {
                debug!(binding = %object.key(), error = %chain(&error), "an observed generation cannot be written");
                Ending::Failed
            }
        }
    }

    /// An outcome of which perhaps only the metadata is known.
    async fn whole(&self, written: Object, is_brief: bool) -> Result<Object, CallError> {
        if !is_brief {
            return Ok(written);
        }
        let (client, resource) = (&self.cx.client, plan::resource(&written));
        client.get(&resource, &written.key()).await
    }

    async fn patch_for_metadata(
        &self,
        object: &Object,
        patch: Value,
        part: Part,
    ) -> Result<Object, CallError> {
        let patch = plan::guarded(object, patch);
        let options = WriteOptions::by(self.cx.manager);
        let (resource, key) = (plan::resource(object), object.key());
        let client: &Client = &self.cx.client;
        client
            .patch_for_metadata(&resource, &key, PatchKind::Merge, &patch, &part, &options)
            .await
    }

    async fn patch(&self, object: &Object, patch: Value, part: Part) -> Result<Object, CallError> {
        let client: &Client = &self.cx.client;
        let patch = plan::guarded(object, patch);
        let options = WriteOptions::by(self.cx.manager);
        let resource = plan::resource(object);
        client
            .patch(
                &resource,
                &object.key(),
                PatchKind::Merge,
                &patch,
                &part,
                &options,
            )
            .await
    }
}

fn status_of(
    object: &Object,
) -> Result<api::work::v1alpha2::ResourceBindingStatus, object::parse::ShapeError> {
    match object.at(&["status"]) {
        None | Some(Value::Null) => Ok(Default::default()),
        Some(status) => object::parse::shape(status),
    }
}

fn writing_failed(error: &CallError) -> Writing {
    let text = chain(error).to_string();
    if error.code() == 403 && error.reason() == "QuotaExceeded" {
        // Who reads the condition wants to know of the quota, not of the request that met it. Upstream: who watches for it
        // looks for the words of admission.
        let said = error.refusal().map(|refusal| refusal.message.clone());
        return Writing::QuotaExceeded(said.unwrap_or(text));
    }
    Writing::Failed(text)
}

fn reason(writing: Writing) -> String {
    match writing {
        Writing::Done => String::new(),
        Writing::QuotaExceeded(reason) | Writing::Failed(reason) => reason,
    }
}

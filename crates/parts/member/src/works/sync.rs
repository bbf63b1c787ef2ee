//! One manifest brought to the member.

use std::sync::Arc;
use std::time::Duration;

use api::well_known::labels::{MANAGED, TRUE};
use client::CallError;
use control::ReconcileError;
use intent::Action;
use interpret::Interpreter;
use object::{Object, ObjectKey, ResourceType};
use telemetry::chain;
use tokio::time::Instant;

use crate::apply::contest::Undoing;
use crate::apply::outcome::Done;
use crate::apply::plan::{Inputs, Refusal, Step, Way, cannot_be_applied, plan};
use crate::apply::record::{How, Version, Written, fingerprint};
use crate::works::Works;
use crate::works::awaited::lacks_namespace;
use crate::works::connection::work_of;
use crate::works::kinds::KindError;
use crate::works::misfits::{misplaced, nowhere};

/// What became of a manifest, and the member's object afterwards if it is the work's.
pub(super) struct Synced {
    pub(super) done: Done,
    pub(super) seen: Option<Arc<Object>>,
    /// When it is to be looked at again, whatever happens: somebody undoes it, and it is left alone until then.
    pub(super) again: Option<Duration>,
}

impl Synced {
    fn as_is(done: Done, seen: Option<Arc<Object>>) -> Self {
        Self {
            done,
            seen,
            again: None,
        }
    }
}

/// Why a manifest was not brought to the member.
pub(super) enum Trouble {
    /// It will be over soon: the member is not reached, or the world moved on. Nothing is said about it.
    Passing(ReconcileError),
    /// The work says why.
    Failed(String),
}

/// The member's object, and whether it was read from the member itself and so is whole and new.
struct Seen {
    object: Option<Arc<Object>>,
    is_live: bool,
}

/// What stays the same while a manifest is brought to the member.
struct Case<'a> {
    work: &'a ObjectKey,
    resource: &'a ResourceType,
    manifest: &'a Object,
    /// What was written last, if that is known.
    written: Option<&'a Written>,
    /// Whether that was just this manifest.
    is_known: bool,
    way: Way,
    interpreter: &'a Interpreter,
}

impl Works {
    pub(super) async fn sync(
        &self,
        work: &ObjectKey,
        manifest: &Object,
        is_held: bool,
        interpreter: &Interpreter,
    ) -> Result<Synced, Trouble> {
        let kind = manifest.group_version_kind();
        let resource = self.connection.kinds.find(&kind).await.map_err(of_kind)?;
        let unfit = nowhere(manifest, &resource).or_else(|| misplaced(manifest, &resource));
        if let Some(why) = unfit {
            return Err(Trouble::Failed(why));
        }
        let seen = self.look(&resource, &manifest.key()).await?;
        if is_held {
            let done = match &seen.object {
                Some(_) => Done::Kept,
                None => Done::Absent,
            };
            let seen = seen.object.filter(|object| is_of(object, work));
            return Ok(Synced::as_is(done, seen));
        }
        let written = self.connection.records.get(manifest);
        let known = written.as_ref();
        let known = known.filter(|written| written.manifest == fingerprint(manifest));
        let mut case = Case {
            work,
            resource: &resource,
            manifest,
            written: written.as_ref(),
            is_known: known.is_some(),
            way: way(known),
            interpreter,
        };
        let step = self.decide(&case, &seen).await?;
        if let Some(synced) = self.leave_alone(&case, &seen, &step) {
            return Ok(synced);
        }
        // Told from what is there before it is brought back.
        let is_tense = case.is_known && self.connection.contests.is_tense(manifest);
        let undoing = is_tense.then(|| self.undoing(&case, &seen, &step));
        let is_sure = seen.is_live || is_untouched(&seen, written.as_ref());
        let (seen, step) = match step {
            // Whose fields they all are, those of the status too, stands only in the object itself.
            Step::Bring(_) if !is_sure => self.look_closely(&case).await?,
            step => (seen, step),
        };
        let synced = match self.carry_out(&case, &seen, step).await {
            // It may be there, but not in the cache: not ours, or too new. What is to be made may be refused before anybody
            // looks whether it is there, as by a quota that is full.
            Err(error) if may_be_there(&seen, &error) => {
                match self.look_live(case.resource, &case.manifest.key()).await {
                    Ok(seen) if seen.object.is_some() || error.is_already_exists() => {
                        let step = self.decide(&case, &seen).await?;
                        self.carry_out(&case, &seen, step).await
                    }
                    Err(trouble @ Trouble::Passing(_)) => return Err(trouble),
                    // Where nothing is to be seen, what was said at first is what there is to say.
                    Ok(_) | Err(Trouble::Failed(_)) => Err(error),
                }
            }
            result => result,
        };
        let synced = match synced {
            Err(error) if case.way == Way::Apply && is_beyond_applying(&error) => {
                case.way = Way::Replace;
                let (seen, step) = self.look_closely(&case).await?;
                self.carry_out(&case, &seen, step).await
            }
            result => result,
        };
        let mut synced = synced.map_err(|error| {
            if lacks_namespace(&error) {
                self.connection.wait_for(manifest.namespace(), work);
            }
            of_call(error)
        })?;
        synced.seen = synced.seen.filter(|object| is_of(object, work));
        let is_back = case.is_known && matches!(synced.done, Done::Made | Done::Changed);
        let (contests, now) = (&self.connection.contests, Instant::now());
        let state = synced.seen.as_deref();
        let is_contested = is_back && contests.brought_back(manifest, state, now);
        if let (true, Some(undoing)) = (is_contested, undoing) {
            synced.done = Done::Undone(undoing);
            synced.again = contests.doubt(manifest, now);
        }
        Ok(synced)
    }

    /// What is said of an object that somebody undoes again and again, while it is not to be brought back.
    fn leave_alone(&self, case: &Case<'_>, seen: &Seen, step: &Step) -> Option<Synced> {
        let (contests, now) = (&self.connection.contests, Instant::now());
        if !case.is_known {
            contests.forget(case.manifest);
        }
        let is_outdated = contests.is_outdated(case.manifest, seen.object.as_deref(), now);
        let (done, again) = match step {
            // What it is by now is about to be seen.
            Step::Make(_) | Step::Bring(_) if is_outdated => {
                (Done::Restored, contests.doubt(case.manifest, now)?)
            }
            Step::Keep => (Done::Restored, contests.doubt(case.manifest, now)?),
            Step::Make(_) | Step::Bring(_) => {
                let again = contests.undone(case.manifest, now)?;
                (Done::Undone(self.undoing(case, seen, step)), again)
            }
        };
        let seen = seen.object.clone();
        Some(Synced {
            done,
            seen: seen.filter(|object| is_of(object, case.work)),
            again: Some(again),
        })
    }

    /// Who undoes an object, as it seems.
    fn undoing(&self, case: &Case<'_>, seen: &Seen, step: &Step) -> String {
        let observed = seen.object.as_deref();
        let wanted = match step {
            Step::Keep | Step::Make(_) => None,
            Step::Bring(actions) => actions.iter().find_map(|action| match action {
                Action::Apply { object, .. } | Action::Replace { object, .. } => Some(object),
                _ => None,
            }),
        };
        let undoing = Undoing {
            cluster: &self.cluster,
            manifest: case.manifest,
            observed,
            wanted,
            named: observed.and_then(work_of),
            work: case.work,
        };
        undoing.to_string()
    }

    /// The member's object from the cache, or from the member while the cache is not complete.
    async fn look(&self, resource: &ResourceType, key: &ObjectKey) -> Result<Seen, Trouble> {
        let cache = self.connection.listed(resource).await;
        if let Some(object) = cache.get(key) {
            return Ok(Seen {
                object: Some(object),
                is_live: false,
            });
        }
        if cache.complete().is_some() {
            return Ok(Seen {
                object: None,
                is_live: false,
            });
        }
        self.look_live(resource, key).await
    }

    async fn look_live(&self, resource: &ResourceType, key: &ObjectKey) -> Result<Seen, Trouble> {
        let object = self.connection.read(resource, key).await.map_err(of_call)?;
        Ok(Seen {
            object: object.map(|object| Arc::new(object.into_object())),
            is_live: true,
        })
    }

    async fn look_closely(&self, case: &Case<'_>) -> Result<(Seen, Step), Trouble> {
        let seen = self.look_live(case.resource, &case.manifest.key()).await?;
        let step = self.decide(case, &seen).await?;
        Ok((seen, step))
    }

    async fn decide(&self, case: &Case<'_>, seen: &Seen) -> Result<Step, Trouble> {
        let (manifest, interpreter) = (case.manifest, case.interpreter);
        let observed = seen.object.as_deref();
        let rival =
            observed.and_then(|observed| self.connection.rival(case.work, manifest, observed));
        let mut inputs = Inputs {
            cluster: &self.cluster,
            rival: rival.as_ref(),
            resource: case.resource,
            manifest,
            observed: seen.object.as_deref(),
            written: case.written,
            way: case.way,
            interpreter,
            retained: None,
        };
        let failed = |refusal: Refusal| Trouble::Failed(chain(&refusal).to_string());
        let observed = match plan(&inputs) {
            Err(refusal) if refusal.wants_webhook() => inputs.observed,
            step => return step.map_err(failed),
        };
        let Some(observed) = observed else {
            return Err(Trouble::Failed("there is nothing to keep".to_owned()));
        };
        let answer = match interpreter.ask_retain_all(manifest, observed) {
            Ok(answer) => interpreter.settle(answer).await,
            Err(error) => Err(error),
        };
        let retained = answer.map_err(|error| failed(Refusal::retain(manifest, error)))?;
        inputs.retained = Some(&retained);
        plan(&inputs).map_err(failed)
    }

    async fn carry_out(
        &self,
        case: &Case<'_>,
        seen: &Seen,
        step: Step,
    ) -> Result<Synced, CallError> {
        let (records, manifest) = (&self.connection.records, case.manifest);
        let note = |object: &Object, how: How| {
            let written = Written {
                manifest: fingerprint(manifest),
                version: Version::of(object),
                how,
            };
            records.set(manifest, written);
        };
        match step {
            Step::Keep => {
                if let Some(object) = &seen.object {
                    let written = records.get(manifest);
                    note(object, written.map_or(How::Made, |written| written.how));
                }
                Ok(Synced::as_is(Done::Kept, seen.object.clone()))
            }
            Step::Make(action) => {
                let made = self.connection.write(*action).await?;
                let made = made.map(Arc::new);
                if let Some(object) = &made {
                    note(object, How::Made);
                }
                Ok(Synced::as_is(Done::Made, made))
            }
            Step::Bring(actions) => {
                let mut state = None;
                for action in actions {
                    state = self.connection.write(action).await?;
                }
                let state = state.map(Arc::new);
                if let Some(object) = &state {
                    note(
                        object,
                        match case.way {
                            Way::Apply => How::Applied,
                            Way::Replace => How::Replaced,
                        },
                    );
                }
                // A server that finds nothing to change keeps the revision.
                let revision = |object: &Option<Arc<Object>>| {
                    object
                        .as_ref()
                        .map(|object| object.resource_version().to_owned())
                };
                let is_same = revision(&state) == revision(&seen.object);
                let done = if is_same { Done::Kept } else { Done::Changed };
                Ok(Synced::as_is(done, state))
            }
        }
    }
}

/// Whether nobody has written to the object since it was applied, so that its fields are known to be ours.
fn is_untouched(seen: &Seen, written: Option<&Written>) -> bool {
    let (Some(object), Some(written)) = (&seen.object, written) else {
        return false;
    };
    written.how == How::Applied && written.version == Version::of(object)
}

/// Whether a refusal may be about an object that is there although the cache does not have it.
fn may_be_there(seen: &Seen, error: &CallError) -> bool {
    let is_unseen = seen.object.is_none() && !seen.is_live;
    let is_refused = error.refusal().is_some() && !error.is_overloaded();
    error.is_already_exists() && !seen.is_live || is_unseen && is_refused && !lacks_namespace(error)
}

/// In which way a manifest is brought: applied, unless the member is known to be unable to.
fn way(known: Option<&Written>) -> Way {
    match known.map(|written| written.how) {
        Some(How::Replaced) => Way::Replace,
        _ => Way::Apply,
    }
}

/// Whether the member would take the object if it were written as a whole.
fn is_beyond_applying(error: &CallError) -> bool {
    let refusal = error.refusal();
    refusal.is_some_and(|refusal| cannot_be_applied(&refusal.message))
}

/// Whether a member's object is what a work brought, so that the work may speak for it.
fn is_of(object: &Object, work: &ObjectKey) -> bool {
    object.label(MANAGED) == Some(TRUE) && work_of(object).as_ref() == Some(work)
}

fn of_kind(error: KindError) -> Trouble {
    match error {
        KindError::Call(error) => of_call(error),
        error => Trouble::Failed(error.to_string()),
    }
}

/// What the member refused is for the user to read; what did not reach it, or came too late, is not.
fn of_call(error: CallError) -> Trouble {
    let is_stale = error.is_conflict() || error.is_already_exists() || error.is_wrong_uid();
    if is_stale || error.is_unreachable() || error.is_overloaded() {
        return Trouble::Passing(ReconcileError::Gather(error));
    }
    match error.refusal() {
        Some(refusal) => Trouble::Failed(refusal.message.clone()),
        None => Trouble::Failed(chain(&error).to_string()),
    }
}

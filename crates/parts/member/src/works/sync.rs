//! One manifest brought to the member.

use std::sync::Arc;

use api::well_known::labels::{MANAGED, TRUE};
use client::CallError;
use control::ReconcileError;
use interpret::Interpreter;
use object::{Object, ObjectKey, ResourceType};
use telemetry::chain;

use crate::apply::outcome::Done;
use crate::apply::plan::{Inputs, Refusal, Step, plan};
use crate::apply::record::{Version, Written, fingerprint};
use crate::works::Works;
use crate::works::awaited::lacks_namespace;
use crate::works::connection::work_of;
use crate::works::kinds::KindError;

/// What became of a manifest, and the member's object afterwards if it is the work's.
pub(super) struct Synced {
    pub(super) done: Done,
    pub(super) seen: Option<Arc<Object>>,
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
        let seen = self.look(&resource, &manifest.key()).await?;
        if is_held {
            let done = match &seen.object {
                Some(_) => Done::Kept,
                None => Done::Absent,
            };
            return Ok(Synced {
                done,
                seen: seen.object.filter(|object| is_of(object, work)),
            });
        }
        let written = self.connection.records.get(manifest);
        let step = self
            .decide(&resource, manifest, &seen, written.as_ref(), interpreter)
            .await?;
        let is_sure = seen.is_live || is_untouched(&seen, written.as_ref());
        let (seen, step) = match step {
            // Whose fields they are stands only in the object itself: the cache does not keep it.
            Step::Bring(_) if !is_sure => {
                self.look_closely(&resource, manifest, written.as_ref(), interpreter)
                    .await?
            }
            step => (seen, step),
        };
        let synced = match self.carry_out(manifest, &seen, step).await {
            // It was there, but not in the cache: not ours, or too new.
            Err(error) if error.is_already_exists() && !seen.is_live => {
                let (seen, step) = self
                    .look_closely(&resource, manifest, written.as_ref(), interpreter)
                    .await?;
                self.carry_out(manifest, &seen, step).await
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
        Ok(synced)
    }

    /// The member's object from the cache, or from the member while the cache is not complete.
    async fn look(&self, resource: &ResourceType, key: &ObjectKey) -> Result<Seen, Trouble> {
        let cache = self.connection.follow(resource);
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

    async fn look_closely(
        &self,
        resource: &ResourceType,
        manifest: &Object,
        written: Option<&Written>,
        interpreter: &Interpreter,
    ) -> Result<(Seen, Step), Trouble> {
        let seen = self.look_live(resource, &manifest.key()).await?;
        let step = self
            .decide(resource, manifest, &seen, written, interpreter)
            .await?;
        Ok((seen, step))
    }

    async fn decide(
        &self,
        resource: &ResourceType,
        manifest: &Object,
        seen: &Seen,
        written: Option<&Written>,
        interpreter: &Interpreter,
    ) -> Result<Step, Trouble> {
        let mut inputs = Inputs {
            cluster: &self.cluster,
            resource,
            manifest,
            observed: seen.object.as_deref(),
            is_live: seen.is_live,
            written,
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
        manifest: &Object,
        seen: &Seen,
        step: Step,
    ) -> Result<Synced, CallError> {
        let records = &self.connection.records;
        let note = |object: &Object, is_applied: bool| {
            let written = Written {
                manifest: fingerprint(manifest),
                version: Version::of(object),
                is_applied,
            };
            records.set(manifest, written);
        };
        match step {
            Step::Keep => {
                if let Some(object) = &seen.object {
                    let written = records.get(manifest);
                    note(object, written.is_some_and(|written| written.is_applied));
                }
                Ok(Synced {
                    done: Done::Kept,
                    seen: seen.object.clone(),
                })
            }
            Step::Make(action) => {
                let made = self.connection.write(*action).await?;
                let made = made.map(Arc::new);
                if let Some(object) = &made {
                    note(object, false);
                }
                Ok(Synced {
                    done: Done::Made,
                    seen: made,
                })
            }
            Step::Bring(actions) => {
                let mut state = None;
                for action in actions {
                    state = self.connection.write(action).await?;
                }
                let state = state.map(Arc::new);
                if let Some(object) = &state {
                    note(object, true);
                }
                // A server that finds nothing to change keeps the revision.
                let revision = |object: &Option<Arc<Object>>| {
                    object
                        .as_ref()
                        .map(|object| object.resource_version().to_owned())
                };
                let is_same = revision(&state) == revision(&seen.object);
                let done = if is_same { Done::Kept } else { Done::Changed };
                Ok(Synced { done, seen: state })
            }
        }
    }
}

/// Whether nobody has written to the object since it was applied, so that its fields are known to be ours.
fn is_untouched(seen: &Seen, written: Option<&Written>) -> bool {
    let (Some(object), Some(written)) = (&seen.object, written) else {
        return false;
    };
    written.is_applied && written.version == Version::of(object)
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

//! Brings the works of one cluster to it, and brings back what became of them.
//!
//! Reads:  the works in the cluster's execution namespace, the cluster, the member's objects they are about.
//! Writes: objects in the member; conditions and reports in the works' status; their finalizer when they go, and where somebody wrote one
//!         without.
//! Keeps:  an object without our mark is never written or deleted unless the work says so; nothing is deleted that was
//!         not read from the member itself just before; nothing is written to a cluster that is not the one that joined.

mod absence;
pub(crate) mod atlas;
mod awaited;
mod by_hand;
pub(crate) mod connection;
mod figures;
mod kinds;
mod misfits;
pub(crate) mod recognition;
mod release;
mod rivals;
mod sync;
mod unbrought;

use std::sync::Arc;
use std::time::Duration;

use api::work::v1alpha1::Work;
use client::Cache;
use control::{Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, Part, Plan};
use interpret::Interpreter;
use object::{Object, ObjectKey};
use telemetry::chain;
use tokio::sync::watch;

use crate::apply::outcome::{self, Done};
use crate::fleet::READY_CLUSTERS;
use crate::namespaces::Skipped;
use crate::reflect::{self, reading::Reading};
use crate::works::by_hand::{marked, tie};
use crate::works::misfits::misfit;
use crate::works::sync::Trouble;

/// How long a member may take to tell that an object was made before its work is looked at again without that.
const FIRST_WORD: Duration = Duration::from_secs(2);

/// Looks at one work at a time.
pub(crate) struct Works {
    pub(crate) cluster: String,
    pub(crate) connection: connection::Shared,
    pub(crate) works: Cache,
    pub(crate) clusters: Cache,
    pub(crate) interpreter: watch::Receiver<Arc<Interpreter>>,
    /// Which namespaces nobody sends but policies.
    pub(crate) skipped: Skipped,
}

impl Reconcile for Works {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(object) = self.works.get(key) else {
            self.connection.forget(key);
            return Ok(Wake::OnChange);
        };
        // While the member is not ready nothing is tried; all its works are looked at again when it is.
        if !self.is_ready() {
            self.tell_unbrought(&object, cx).await?;
            return Ok(Wake::OnChange);
        }
        if let Some(wait) = self.connection.spared_for() {
            self.tell_unbrought(&object, cx).await?;
            return Ok(Wake::After(wait));
        }
        // All works are looked at again when the cluster that joined is back.
        match self.connection.is_itself().await {
            Ok(true) => {}
            Ok(false) => return Ok(Wake::OnChange),
            Err(error) => return Err(self.unreached(&object, error.into(), cx).await),
        }
        let work: Work = api::read::read(&object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        let manifests = manifests(key, &work).map_err(ReconcileError::Terminal)?;
        if object.is_terminating() {
            return self.release(&object, &work, &manifests, cx).await;
        }
        tie(&object, cx).await?;
        let is_held = work.spec.suspend_dispatching.unwrap_or_default();
        let interpreter = Arc::clone(&self.interpreter.borrow());
        let (mut done, mut seen, mut again) = (Vec::new(), Vec::new(), None);
        for (position, manifest) in manifests.iter().enumerate() {
            let synced = match misfit(&manifests, position) {
                Some(why) => Err(Trouble::Failed(why)),
                None => self.sync(key, manifest, is_held, &interpreter).await,
            };
            match synced {
                Ok(synced) => {
                    done.push((manifest, synced.done));
                    seen.push(synced.seen);
                    again = [again, synced.again].into_iter().flatten().min();
                }
                Err(Trouble::Passing(error)) => {
                    return Err(self.unreached(&object, error, cx).await);
                }
                Err(Trouble::Failed(why)) => {
                    done.push((manifest, Done::Failed(why)));
                    seen.push(None);
                }
            }
        }
        if outcome::is_first(&work, &done) {
            // One write will tell that it is there and what it says of itself. That it is there wakes this again.
            cx.carry_out(&outcome::news(&object, &done)).await?;
            return Ok(Wake::After(FIRST_WORD));
        }
        let mut readings = Vec::with_capacity(seen.len());
        for object in seen.iter().map(Option::as_deref) {
            readings.push(match object {
                Some(object) => Some(Reading::of(object, &interpreter).await),
                None => None,
            });
        }
        let outcome = outcome::plan(&object, &work, &done, cx.now());
        let is_gone = |done: &Done, seen: &Option<_>| match done {
            Done::Absent => true,
            Done::Undone(_) => seen.is_none(),
            _ => false,
        };
        let gone: Vec<bool> = std::iter::zip(&done, &seen)
            .map(|((_, done), seen)| is_gone(done, seen))
            .collect();
        let reports = reflect::plan::plan(&object, &work, &readings, &gone);
        let plan = together(outcome, reports);
        if !plan.is_empty() {
            let _turn = cx.pressure.turn().await;
            cx.carry_out(&plan).await?;
        }
        let failure = done.into_iter().find_map(|(_, done)| match done {
            Done::Failed(why) => Some(why),
            _ => None,
        });
        match failure {
            // The event on the work says which webhook is away.
            None if readings.iter().flatten().any(Reading::is_unfinished) => {
                Err(ReconcileError::Failed {
                    doing: format!("cannot tell how the objects of work {key} are doing"),
                    source: "a rule gave no answer in time".into(),
                })
            }
            None => Ok(again.map_or(Wake::OnChange, Wake::After)),
            Some(why) => Err(ReconcileError::Failed {
                doing: format!("cannot apply work {key}"),
                source: why.into(),
            }),
        }
    }
}

impl Works {
    /// Whether the member is worth a call: it said that it is well, within the thresholds.
    fn is_ready(&self) -> bool {
        let key = ObjectKey::cluster(self.cluster.as_str());
        self.clusters
            .is_indexed(READY_CLUSTERS, READY_CLUSTERS, &key)
    }
}

/// Conditions and reports are parts of one status: what is to be written of both is one write.
fn together(mut conditions: Plan, mut reports: Plan) -> Plan {
    let is_status = |action: &&mut Action| {
        matches!(
            action,
            Action::Patch {
                part: Part::Status,
                ..
            }
        )
    };
    let first = conditions.actions.first_mut().filter(is_status);
    let second = reports.actions.first_mut().filter(is_status);
    if let (Some(Action::Patch { patch, .. }), Some(Action::Patch { patch: other, .. })) =
        (first, second)
    {
        patch["status"]["manifestStatuses"] = other["status"]["manifestStatuses"].take();
        reports.actions.remove(0);
    }
    conditions.merge(reports);
    conditions
}

/// The objects of a work, with the marks by which a member's object is known to be its.
fn manifests(key: &ObjectKey, work: &Work) -> Result<Vec<Object>, String> {
    let manifests = work.spec.workload.manifests.iter().enumerate();
    manifests
        .map(|(position, manifest)| {
            let path = format!("spec.workload.manifests[{position}]");
            let object = Object::from_value(manifest.clone());
            let object = object.map_err(|error| format!("{path}: {error}"))?;
            marked(object, key).map_err(|error| format!("{path}: {error}"))
        })
        .collect()
}

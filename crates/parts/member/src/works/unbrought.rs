//! Works that change while their member does not answer: what they say of themselves is about what was brought before.
//!
//! Once it is known that a cluster lacks a change, its work says so, or whoever reads the binding would take the change for
//! done everywhere.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::work::v1alpha1::Work;
use control::{Cx, ReconcileError};
use object::{Object, ObjectKey};
use telemetry::chain;

use crate::apply::outcome;
use crate::apply::record::fingerprint;
use crate::works::{Works, manifests};

/// Works about which nothing is remembered, as after a restart, by the generation in which they were seen first: what their
/// condition says is taken to be about that.
#[derive(Debug, Default)]
pub(crate) struct Believed {
    /// At most one for each work.
    generations: Mutex<HashMap<ObjectKey, i64>>,
}

impl Believed {
    pub(crate) fn forget(&self, work: &ObjectKey) {
        self.lock().remove(work);
    }

    /// Whether a work has changed since it was seen first.
    fn is_outdated(&self, work: &Object) -> bool {
        let mut generations = self.lock();
        let first = generations.entry(work.key()).or_insert(work.generation());
        *first != work.generation()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, i64>> {
        // Nothing that runs under the lock leaves it half changed.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Works {
    /// Lets a work say that its member lacks what it says by now, if that is so. The member is not asked.
    pub(super) async fn tell_unbrought(
        &self,
        object: &Object,
        cx: &Cx,
    ) -> Result<(), ReconcileError> {
        let work: Work = api::read::read(object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        let is_held = work.spec.suspend_dispatching.unwrap_or_default();
        if object.is_terminating() || is_held {
            return Ok(());
        }
        let manifests = manifests(&object.key(), &work).map_err(ReconcileError::Terminal)?;
        if self.is_unbrought(object, &manifests) {
            let plan = outcome::unbrought(object, &work, &manifests, cx.now());
            cx.carry_out(&plan).await?;
        }
        Ok(())
    }

    /// The error of a call to the member; if it did not get through, the work tells what its member lacks.
    pub(super) async fn unreached(
        &self,
        object: &Object,
        error: ReconcileError,
        cx: &Cx,
    ) -> ReconcileError {
        let is_unreachable =
            matches!(&error, ReconcileError::Gather(error) if error.is_unreachable());
        if is_unreachable && let Err(untold) = self.tell_unbrought(object, cx).await {
            return untold;
        }
        error
    }

    fn is_unbrought(&self, object: &Object, manifests: &[Object]) -> bool {
        let mut is_known = true;
        for manifest in manifests {
            match self.connection.records.get(manifest) {
                Some(written) if written.manifest != fingerprint(manifest) => return true,
                Some(_) => {}
                None => is_known = false,
            }
        }
        let is_outdated = self.connection.believed.is_outdated(object);
        !is_known && is_outdated
    }
}

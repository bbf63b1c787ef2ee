//! Who looks over the controllers' shoulders: metrics, the journal of deletions.

use std::time::Duration;

use intent::Action;
use object::Object;

use crate::execute::CarryOutError;

/// Is told what controllers do. All calls are made from workers and must be quick.
pub trait Observer: Send + Sync {
    /// A reconcile ended.
    fn reconciled(&self, controller: &str, took: Duration, failed: bool) {
        let _ = (controller, took, failed);
    }

    /// An action was carried out, or failed.
    fn acted(&self, action: &Action, failure: Option<&CarryOutError>) {
        let _ = (action, failure);
    }

    /// Whether [`Observer::deleting`] wants to see objects before they are deleted, which costs a read each.
    fn wants_bodies(&self) -> bool {
        false
    }

    /// An object is about to be deleted; `body` is what it was, if that was asked for and could be read.
    fn deleting(&self, action: &Action, body: Option<&Object>) {
        let _ = (action, body);
    }
}

/// Nobody looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}

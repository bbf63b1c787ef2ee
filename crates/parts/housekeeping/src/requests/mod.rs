//! Old certificate requests go.
//!
//! Reads:  CertificateSigningRequests.
//! Writes: deletes those that were decided an hour ago, or that nobody decided on for a day.
//! Keeps:  a certificate once handed out stays good; only the request goes.

mod plan;
#[cfg(test)]
mod tests;

use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::ObjectKey;
use runtime::Spawner;

use self::plan::plan;
use crate::resources;

struct Cleaner {
    requests: Cache,
}

pub(crate) fn start(caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let requests = caches.follow(&resources::certificate_requests(), Scope::all());
    let cleaner = Cleaner {
        requests: requests.clone(),
    };
    Controller::new("csr-cleaner", cleaner)
        .watch(&requests, |change| [change.key()])
        .run(spawner, cx.clone());
}

impl Reconcile for Cleaner {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(request) = self.requests.get(key) else {
            return Ok(Wake::OnChange);
        };
        let plan = plan(&request, cx.now());
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

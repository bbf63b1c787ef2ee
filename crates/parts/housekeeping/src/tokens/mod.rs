//! Expired bootstrap tokens go.
//!
//! Reads:  Secrets of `kube-system` whose type is `bootstrap.kubernetes.io/token`.
//! Writes: deletes those that have expired.
//! Keeps:  a token without an expiration stays.

mod plan;
#[cfg(test)]
mod tests;

use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::ObjectKey;
use runtime::Spawner;

use self::plan::{TOKEN_TYPE, plan};
use crate::resources;

struct Cleaner {
    secrets: Cache,
}

pub(crate) fn start(caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let scope = Scope::all()
        .in_namespace("kube-system")
        .with_fields(format!("type={TOKEN_TYPE}"));
    let secrets = caches.follow(&resources::secrets(), scope);
    let cleaner = Cleaner {
        secrets: secrets.clone(),
    };
    Controller::new("tokencleaner", cleaner)
        .watch(&secrets, |change| [change.key()])
        .run(spawner, cx.clone());
}

impl Reconcile for Cleaner {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(secret) = self.secrets.get(key) else {
            return Ok(Wake::OnChange);
        };
        let plan = plan(&secret, cx.now());
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

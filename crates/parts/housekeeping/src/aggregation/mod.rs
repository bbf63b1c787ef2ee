//! Roles are put together from others.
//!
//! Reads:  ClusterRoles.
//! Writes: `rules` of ClusterRoles that have an `aggregationRule`.
//! Keeps:  such a role has the rules of all roles it selects, and no others.

mod plan;
#[cfg(test)]
mod tests;

use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::ObjectKey;
use runtime::Spawner;

use self::plan::{Inputs, plan};
use crate::resources;

struct Aggregator {
    roles: Cache,
}

pub(crate) fn start(caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let roles = caches.follow(&resources::cluster_roles(), Scope::all());
    let aggregator = Aggregator {
        roles: roles.clone(),
    };
    let all = roles.clone();
    Controller::new("clusterrole-aggregation", aggregator)
        .watch(&roles, move |_| {
            // Any role may be a part of any that is put together; there are few of those.
            let together = all.list().into_iter().filter(|role| {
                role.at(&["aggregationRule"])
                    .is_some_and(|rule| !rule.is_null())
            });
            together
                .map(|role| role.name().to_owned())
                .collect::<Vec<_>>()
        })
        .run(spawner, cx.clone());
}

impl Reconcile for Aggregator {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(role) = self.roles.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        // Rules that are not seen yet must not be taken away.
        if self.roles.complete().is_none() {
            return Ok(Wake::After(std::time::Duration::from_secs(1)));
        }
        let roles = self.roles.list();
        let plan = plan(&Inputs {
            role: &role,
            roles: &roles,
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

//! StatefulSets: pods with names, made and replaced one after the other.
//!
//! Reads:  the StatefulSet, its pods, its claims, its revisions.
//! Writes: revisions of the template, claims, pods, the status.
//! Keeps:  at most one pod of each ordinal; in order unless the policy is parallel; nothing below the partition changes.

mod plan;
mod pods;

use std::sync::Arc;

use object::Object;

use crate::controllers::replica_set::wake_owner;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "statefulset",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    wake_owner(seen, Kind::StatefulSet, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::StatefulSet, key) else {
        return Plan::default();
    };
    let has_claim = |name: &str| {
        let key = format!("{}/{name}", set.namespace());
        view.mirror
            .find(Kind::PersistentVolumeClaim, &key)
            .is_some()
    };
    let revision = |name: &str| -> Option<&Object> {
        let key = format!("{}/{name}", set.namespace());
        view.mirror
            .find(Kind::ControllerRevision, &key)
            .map(|found| &**found)
    };
    plan::plan(&Inputs {
        set,
        pods: &view.mirror.owned(set.uid(), Kind::Pod),
        has_claim: &has_claim,
        revision: &revision,
        now: view.now,
    })
}

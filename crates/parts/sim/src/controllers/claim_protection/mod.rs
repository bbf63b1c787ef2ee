//! A claim that was deleted stays while a pod has it.
//!
//! Reads:  claims that are to go, the pods of their namespaces.
//! Writes: the finalizer that holds such a claim, which it takes away.
//! Keeps:  no claim goes from under a pod that was placed and has not ended.

use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::admission::PROTECTION;
use crate::controllers::ephemeral_volume;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "claim protection",
    component: "pvc-protection-controller",
    wakes,
    plan,
};

/// Claims on their way out, and those of pods that have let go of them.
fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match (seen.kind, &seen.before, &seen.after) {
        (Kind::PersistentVolumeClaim, _, Some(claim)) if claim.is_terminating() => {
            keys.push(Arc::clone(&seen.key));
        }
        (Kind::Pod, Some(before), after) => {
            // A pod of the same name may be another one by now.
            let still_has = after
                .as_deref()
                .is_some_and(|pod| pod.uid() == before.uid() && is_using(pod));
            if is_using(before) && !still_has {
                let volumes = read::list(before, &["spec", "volumes"]).iter();
                let names = volumes.filter_map(|volume| claim_name(before, volume));
                keys.extend(names.map(|name| format!("{}/{name}", before.namespace()).into()));
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let claim = view.mirror.find(Kind::PersistentVolumeClaim, key);
    let Some(claim) = claim.filter(|claim| claim.is_terminating()) else {
        return plan;
    };
    let is_held = claim.finalizers().any(|name| name == PROTECTION);
    let mut pods = view.mirror.within(Kind::Pod, claim.namespace());
    if !is_held || pods.any(|pod| is_using(pod) && mounts(pod, claim)) {
        return plan;
    }
    let kept: Vec<&str> = claim
        .finalizers()
        .filter(|name| *name != PROTECTION)
        .collect();
    let patch = json!({"metadata": {"finalizers": kept}});
    plan.merge(Kind::PersistentVolumeClaim, claim, patch);
    plan
}

/// Whether a pod needs its volumes. One without a node does not get a claim that is to go any more.
fn is_using(pod: &Object) -> bool {
    !read::node_of(pod).is_empty() && !read::has_ended(pod)
}

fn mounts(pod: &Object, claim: &Object) -> bool {
    let mut volumes = read::list(pod, &["spec", "volumes"]).iter();
    volumes.any(|volume| {
        claim_name(pod, volume).is_some_and(|name| name == claim.name())
            && (volume.get("ephemeral").is_none() || ephemeral_volume::is_for(claim, pod))
    })
}

/// The claim behind one of a pod's volumes.
fn claim_name(pod: &Object, volume: &Value) -> Option<String> {
    if let Some((name, _)) = ephemeral_volume::claim_of(pod, volume) {
        return Some(name);
    }
    let claim = volume.get("persistentVolumeClaim")?;
    Some(read::text(claim, "claimName").to_owned())
}

//! Whose the claims of a StatefulSet are: who goes first takes them along, as the policy says.

use std::collections::BTreeMap;
use std::ops::Range;

use object::{Object, Value};
use serde_json::json;

use crate::controllers::stateful_set::pods;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::read;

/// Whether claims go when their pod is not wanted any more, or with the set.
fn goes(set: &Object, when: &str) -> bool {
    let path = ["spec", "persistentVolumeClaimRetentionPolicy", when];
    set.text_at(&path) == Some("Delete")
}

/// The reference to the owner a claim has from the start.
pub(crate) fn first_owner(set: &Object) -> Option<Value> {
    goes(set, "whenDeleted").then(|| read::owner_reference(set))
}

/// Gives the claims of all pods their owners. Says whether everything is as it should be: a pod that takes its claims
/// along must not go before that.
pub(crate) fn settle<'a>(
    set: &Object,
    wanted: &Range<i64>,
    by_ordinal: &BTreeMap<i64, &Object>,
    find: &dyn Fn(&str) -> Option<&'a Object>,
    plan: &mut Plan,
) -> bool {
    let mut is_settled = true;
    for (ordinal, pod) in by_ordinal {
        let is_condemned = !wanted.contains(ordinal);
        let owner = match is_condemned && goes(set, "whenScaled") {
            true => Some(read::owner_reference(pod)),
            false => first_owner(set),
        };
        for name in pods::claim_names(set, *ordinal) {
            let Some(claim) = find(&name).filter(|claim| !claim.is_terminating()) else {
                continue;
            };
            let owners = read::list(claim, &["metadata", "ownerReferences"]);
            let is_ours = |known: &Value| {
                read::text(known, "uid") == set.uid()
                    || read::text(known, "kind") == "Pod" && read::text(known, "name") == pod.name()
            };
            let mut next: Vec<Value> = owners
                .iter()
                .filter(|known| !is_ours(known))
                .cloned()
                .collect();
            // Upstream: whoever else controls a claim decides about it alone.
            let is_taken = next
                .iter()
                .any(|known| known.get("controller") == Some(&Value::Bool(true)));
            if !is_taken {
                next.extend(owner.clone());
            }
            if next != owners {
                is_settled = false;
                let patch = json!({"metadata": {"ownerReferences": next}});
                plan.merge(Kind::PersistentVolumeClaim, claim, patch);
            }
        }
    }
    is_settled
}

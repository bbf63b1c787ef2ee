//! PersistentVolumeClaim and PersistentVolume: each is bound to the other by the member.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, phases, put, reported},
    node::Node,
};

pub(super) const CLAIM_RULES: KindRules = KindRules {
    retain: Some(retain_volume),
    aggregate: Some(aggregate_claims),
    is_healthy: Some(is_bound),
    ..KindRules::of("v1", "PersistentVolumeClaim")
};

pub(super) const VOLUME_RULES: KindRules = KindRules {
    retain: Some(retain_claim),
    aggregate: Some(aggregate_volumes),
    ..KindRules::of("v1", "PersistentVolume")
};

const BOUND: &str = "Bound";
const LOST: &str = "Lost";

/// From the one that needs attention most.
const VOLUME_PHASES: [&str; 5] = ["Failed", phases::PENDING, "Available", BOUND, "Released"];

fn retain_volume(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    let root = Node::of(observed);
    let volume = root.at(&["spec", "volumeName"])?.text_or_empty()?;
    if !volume.is_empty() {
        put(&mut desired, &["spec", "volumeName"], volume)?;
    }
    Ok(desired)
}

fn retain_claim(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    let root = Node::of(observed);
    let claim = root.at(&["spec", "claimRef"])?;
    if let Some(claim) = claim.fields()? {
        put(
            &mut desired,
            &["spec", "claimRef"],
            Value::Object(claim.clone()),
        )?;
    }
    Ok(desired)
}

/// Bound, unless a member's claim is not: lost if any is, otherwise as the last that is not bound.
///
/// Upstream: members that have not reported are passed over, so a claim that went nowhere is bound.
fn aggregate_claims(
    _: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    let mut phase = BOUND;
    for (_, status) in reported(items) {
        let theirs = status.at(&["phase"])?.text_or_empty()?;
        if theirs != BOUND && phase != LOST {
            phase = theirs;
        }
    }
    Ok(Some(status_of(Some(phase))))
}

fn aggregate_volumes(
    _: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    Ok(Some(status_of(phases::first_of(items, &VOLUME_PHASES)?)))
}

fn is_bound(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    Ok(root.at(&["status", "phase"])?.text()? == Some(BOUND))
}

/// A status that has nothing but a phase.
fn status_of(phase: Option<&str>) -> Value {
    let phase = phase.filter(|phase| !phase.is_empty());
    let fields = phase.map(|phase| ("phase".to_owned(), Value::from(phase)));
    Value::Object(Map::from_iter(fields))
}

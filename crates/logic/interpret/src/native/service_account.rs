//! ServiceAccount.

use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, put},
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    retain: Some(retain),
    ..KindRules::of("v1", "ServiceAccount")
};

/// Keeps the Secrets that the member has given the account, after those of the template: taken away, it would make new
/// ones again and again.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    for list in ["secrets", "imagePullSecrets"] {
        let merged = union(
            Node::of(&desired).at(&[list])?,
            Node::of(observed).at(&[list])?,
        )?;
        if !merged.is_empty() {
            put(&mut desired, &[list], Value::Array(merged))?;
        }
    }
    Ok(desired)
}

/// All of ours, then those of theirs whose name is new. What has no name is compared as a whole.
fn union(ours: Node<'_, '_>, theirs: Node<'_, '_>) -> Result<Vec<Value>, RuleError> {
    let mut merged: Vec<Value> = ours
        .list()?
        .filter_map(|entry| entry.raw().cloned())
        .collect();
    for entry in theirs.list()? {
        let Some(value) = entry.raw() else { continue };
        let name = entry.at(&["name"])?.text()?;
        let is_known = match name {
            Some(name) => merged.iter().any(|known| named(known) == Some(name)),
            None => merged.contains(value),
        };
        if !is_known {
            merged.push(value.clone());
        }
    }
    Ok(merged)
}

fn named(entry: &Value) -> Option<&str> {
    entry.as_object()?.get("name")?.as_str()
}

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
        let path = [list];
        let (here, there) = (Node::of(&desired), Node::of(observed));
        let ours = here.at(&path)?;
        let added = new_entries(ours, there.at(&path)?)?;
        if !added.is_empty() {
            let ours = ours.raw().and_then(Value::as_array);
            let merged = ours.into_iter().flatten().cloned().chain(added).collect();
            put(&mut desired, &path, Value::Array(merged))?;
        }
    }
    Ok(desired)
}

/// Those of theirs whose name is none of ours, each once. What has no name is compared as a whole.
fn new_entries(ours: Node<'_, '_>, theirs: Node<'_, '_>) -> Result<Vec<Value>, RuleError> {
    let ours: Vec<&Value> = ours.list()?.filter_map(|entry| entry.raw()).collect();
    let mut added: Vec<Value> = Vec::new();
    for entry in theirs.list()? {
        let Some(value) = entry.raw() else { continue };
        let name = entry.at(&["name"])?.text()?;
        let is_same = |known: &Value| match name {
            Some(name) => named(known) == Some(name),
            None => known == value,
        };
        if !ours.iter().any(|known| is_same(known)) && !added.iter().any(is_same) {
            added.push(value.clone());
        }
    }
    Ok(added)
}

fn named(entry: &Value) -> Option<&str> {
    entry.as_object()?.get("name")?.as_str()
}

//! Secret.

use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, put},
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    retain: Some(retain),
    ..KindRules::of("v1", "Secret")
};

/// A secret whose data the cluster it is in fills in.
pub(crate) const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// Keeps the token that the member made: each cluster signs its own.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    if Node::of(&desired).at(&["type"])?.text()? != Some(ACCOUNT_TOKEN) {
        return Ok(desired);
    }
    if let Some(data) = Node::of(observed).at(&["data"])?.fields()? {
        put(&mut desired, &["data"], Value::Object(data.clone()))?;
    }
    Ok(desired)
}

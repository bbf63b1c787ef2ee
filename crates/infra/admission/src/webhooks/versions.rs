//! Objects in the version that somebody wants to see them in.

use std::borrow::Cow;

use object::Value;
use serve::call::Call;

use crate::review::is_foreign;

/// An object in the version somebody wants who cannot wait for a webhook that converts it.
pub(crate) fn shown_in<'a>(
    call: &Call,
    version: &str,
    object: Option<&'a Value>,
) -> Result<Option<Cow<'a, Value>>, String> {
    let Some(object) = object else {
        return Ok(None);
    };
    let is_there = object.get("apiVersion").and_then(Value::as_str)
        == Some(&call.served.resource.api_version(version));
    if is_there || is_foreign(call, object) {
        return Ok(Some(Cow::Borrowed(object)));
    }
    converted(call, version, object).map(|object| Some(Cow::Owned(object)))
}

fn converted(call: &Call, version: &str, object: &Value) -> Result<Value, String> {
    let resource = &call.served.resource;
    let api_version = resource.api_version(version);
    if resource.rules.converter().is_some() {
        let kind = &resource.kind;
        return Err(format!(
            "{kind} is converted to {api_version} by a webhook, which expressions do not wait for"
        ));
    }
    resource
        .rules
        .convert(object, &api_version)
        .ok_or_else(|| format!("{} cannot be converted to {api_version}", resource.kind))
}

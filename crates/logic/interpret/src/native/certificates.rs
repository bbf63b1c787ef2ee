//! Kinds by which a member's API server calls others, and the certificates it checks them by.
//!
//! Each cluster signs its own certificates, and something in the member writes the authority into the object after it
//! is created. Upstream: there are no rules for these kinds, so each write of the manifest takes the authority away and
//! the calls fail until it is put back.

use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, put},
    node::Node,
};

pub(super) const MUTATING_WEBHOOKS: KindRules = KindRules {
    retain: Some(retain_webhooks),
    ..KindRules::of(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
    )
};

pub(super) const VALIDATING_WEBHOOKS: KindRules = KindRules {
    retain: Some(retain_webhooks),
    ..KindRules::of(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
    )
};

pub(super) const CUSTOM_RESOURCE: KindRules = KindRules {
    retain: Some(|desired, observed| retain_at(desired, observed, &CONVERSION)),
    ..KindRules::of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
};

pub(super) const API_SERVICE: KindRules = KindRules {
    retain: Some(|desired, observed| retain_at(desired, observed, &["spec", "caBundle"])),
    ..KindRules::of("apiregistration.k8s.io/v1", "APIService")
};

const CONVERSION: [&str; 5] = ["spec", "conversion", "webhook", "clientConfig", "caBundle"];
const WEBHOOK: [&str; 2] = ["clientConfig", "caBundle"];

/// Keeps the member's authority where the template's author gives none. Where the place it belongs to is gone from the
/// template, it goes too.
fn retain_at(mut desired: Object, observed: &Object, path: &[&str]) -> Result<Object, RuleError> {
    let there = Node::of(observed);
    let bundle = there.at(path)?.text_or_empty()?;
    let parents = path.split_last().map_or(path, |(_, parents)| parents);
    let root = Node::of(&desired);
    let is_wanted = !root.at(parents)?.is_absent() && root.at(path)?.text_or_empty()?.is_empty();
    if is_wanted && !bundle.is_empty() {
        put(&mut desired, path, bundle)?;
    }
    Ok(desired)
}

/// The same for each webhook and its namesake.
fn retain_webhooks(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    let root = Node::of(&desired);
    let there = Node::of(observed);
    let (ours, theirs) = (root.at(&["webhooks"])?, there.at(&["webhooks"])?);
    let mut merged = Vec::new();
    for webhook in ours.list()? {
        let Some(mut fields) = webhook.fields()?.cloned() else {
            merged.push(Value::Null);
            continue;
        };
        if webhook.at(&WEBHOOK)?.text_or_empty()?.is_empty() {
            let name = webhook.at(&["name"])?.text_or_empty()?;
            let bundle = bundle_of(theirs, name)?;
            if let Some(Value::Object(config)) = fields.get_mut("clientConfig")
                && !bundle.is_empty()
            {
                config.insert("caBundle".to_owned(), Value::from(bundle));
            }
        }
        merged.push(Value::Object(fields));
    }
    if !merged.is_empty() {
        put(&mut desired, &["webhooks"], Value::Array(merged))?;
    }
    Ok(desired)
}

fn bundle_of<'v>(webhooks: Node<'v, '_>, name: &str) -> Result<&'v str, RuleError> {
    for webhook in webhooks.list()? {
        if webhook.at(&["name"])?.text_or_empty()? == name {
            return webhook.at(&WEBHOOK)?.text_or_empty();
        }
    }
    Ok("")
}

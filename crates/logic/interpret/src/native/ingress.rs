//! Ingress.

use api::config::DependentObjectReference;
use object::Object;

use crate::{
    error::RuleError,
    native::{KindRules, entry_points},
    node::Node,
    pod,
};

pub(super) const RULES: KindRules = KindRules {
    aggregate: Some(|_, items| entry_points::aggregate(items)),
    is_healthy: Some(entry_points::is_reachable),
    dependencies: Some(dependencies),
    ..KindRules::of("networking.k8s.io/v1", "Ingress")
};

/// The Secrets with certificates.
///
/// An entry may go without one: its hosts then have the controller's certificate. Upstream: such an entry fails the
/// whole Ingress.
fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let mut references = Vec::new();
    for entry in root.at(&["spec", "tls"])?.list()? {
        let secret = entry.at(&["secretName"])?.text_or_empty()?;
        if !secret.is_empty() {
            references.push(pod::core("Secret", template.namespace(), secret));
        }
    }
    Ok(references)
}

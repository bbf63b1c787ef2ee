//! ServiceImport.

use std::collections::BTreeMap;

use api::{config::DependentObjectReference, names};
use object::{Object, selector::LabelSelector};

use crate::{error::RuleError, native::KindRules, pod};

pub(super) const RULES: KindRules = KindRules {
    dependencies: Some(dependencies),
    ..KindRules::of("multicluster.x-k8s.io/v1alpha1", "ServiceImport")
};

/// Kubernetes' label for the service whose endpoints a slice holds.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The service that stands for the imported one, and its endpoints.
fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let service = names::derived_service(template.name());
    let labels = BTreeMap::from([(SERVICE_NAME.to_owned(), service.clone())]);
    let slices = DependentObjectReference {
        api_version: "discovery.k8s.io/v1".to_owned(),
        kind: "EndpointSlice".to_owned(),
        namespace: template.namespace().to_owned(),
        name: String::new(),
        label_selector: Some(LabelSelector::with_labels(labels)),
    };
    Ok(vec![
        pod::core("Service", template.namespace(), &service),
        slices,
    ])
}

//! Cases: a binding and a template in, works out.

mod clusters;
mod manifests;
mod pruning;
mod terms;

use api::{read::read, work::v1alpha2::ResourceBinding};
use object::Object;

pub(crate) fn one(document: &str) -> Object {
    serde_saphyr::from_str(document).unwrap()
}

/// A binding of the Deployment test/web, given by the fields of its spec.
pub(crate) fn binding(spec: &str) -> ResourceBinding {
    read(&one(&format!(
        "{{kind: ResourceBinding, metadata: {{name: web-deployment, namespace: test, labels: {{resourcebinding.karmada.io/permanent-id: rb-id}}}}, spec: {{{spec}}}}}"
    )))
    .unwrap()
}

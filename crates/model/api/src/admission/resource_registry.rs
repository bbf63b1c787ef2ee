//! ResourceRegistry: what is cached for searching. Its rules are kept by the server of the kind, not by a webhook.

use object::{
    GroupVersion, Object,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    AdmissionRules, Request, Verdict, affinity, metadata, problems,
    url::Url,
    verdict::{read, read_old, registry_verdict},
};
use crate::{
    registry::Scope,
    search::{RegistrySelector, ResourceRegistry, ResourceRegistrySpec},
};

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, _request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let registry: ResourceRegistry = read(new)?;
        let mut errors = Vec::new();
        if let Some(old) = read_old::<ResourceRegistry>(old)? {
            errors.extend(metadata::check_update(&old.metadata, &registry.metadata));
        }
        errors.extend(metadata::check(
            &registry.metadata,
            Scope::Cluster,
            names::check_dns1123_subdomain,
        ));
        errors.extend(check_spec(&registry.spec));
        registry_verdict(new, errors)
    }
}

fn check_spec(spec: &ResourceRegistrySpec) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors: Vec<FieldError> =
        affinity::check(&spec.target_cluster, &path.child("targetCluster"))
            .into_iter()
            .collect();
    for (position, selector) in spec.resource_selectors.iter().enumerate() {
        errors.extend(check_selector(
            selector,
            &path.child("resourceSelectors").index(position),
        ));
    }
    let service = spec
        .backend_store
        .as_ref()
        .and_then(|store| store.open_search.as_ref());
    let list = path
        .child("backendStore")
        .child("openSearch")
        .child("addresses");
    for (position, address) in service
        .iter()
        .flat_map(|service| &service.addresses)
        .enumerate()
    {
        errors.extend(check_address(address, list.index(position)));
    }
    errors
}

fn check_selector(selector: &RegistrySelector, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Err(problem) = selector.api_version.parse::<GroupVersion>() {
        let value = selector.api_version.as_str();
        errors.push(FieldError::invalid(
            path.child("apiVersion"),
            value,
            problem.to_string(),
        ));
    }
    let namespace = selector.namespace.as_str();
    if !namespace.is_empty() {
        let problems = names::check_dns1123_label(namespace);
        errors.extend(problems::each(
            &path.child("namespace"),
            namespace,
            problems,
        ));
    }
    errors
}

fn check_address(address: &str, path: FieldPath) -> Option<FieldError> {
    let detail = match Url::parse(address) {
        Err(problem) => problem.to_string(),
        Ok(url) if ["http", "https"].contains(&&*url.scheme) && !url.host.is_empty() => {
            return None;
        }
        Ok(_) => "must be an http or https URL with a host".to_owned(),
    };
    Some(FieldError::invalid(path, address, detail))
}

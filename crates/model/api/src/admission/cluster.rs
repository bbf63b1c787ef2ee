//! Cluster: the member clusters. Its rules are kept by the server of the kind, not by a webhook.

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    AdmissionRules, Operation, Refusal, Request, Verdict,
    interpreter_webhook::check_plain,
    metadata,
    problems::{self, joined, repeats, shown},
    resource_models,
    url::Url,
    verdict::{edit, read, read_old, registry_verdict},
};
use crate::{
    cluster::{Cluster, ClusterSpec, LocalSecretReference, ResourceModel, sync_mode},
    kubernetes::scheduling::{Taint, taint_effect},
    registry::Scope,
    well_known::feature_gates::Gate,
};

/// A label has 63 characters, of which 15 are kept for what is put before the name of a cluster.
const NAME_LENGTH: usize = 48;

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn mutate(
        &self,
        request: &Request<'_>,
        old: Option<&Object>,
        mut new: Object,
    ) -> Result<Object, Refusal> {
        let old = old.filter(|_| request.operation == Operation::Update);
        match old {
            Some(old) => restore_status(&mut new, old),
            None => {
                new.remove(&["status"]);
            }
        }
        let stored: Option<Cluster> = read_old(old)?;
        edit::<Cluster>(&new, |cluster| {
            if request
                .gates
                .is_enabled(Gate::CustomizedClusterResourceModeling)
            {
                fill_models(&mut cluster.spec.resource_models, request.operation);
            }
            cluster.metadata.generation = match &stored {
                Some(stored) => next_generation(stored, cluster),
                None => 1,
            };
        })
    }

    fn validate(&self, _request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let cluster: Cluster = read(new)?;
        let mut errors = Vec::new();
        if let Some(old) = read_old::<Cluster>(old)? {
            errors.extend(metadata::check_update(&old.metadata, &cluster.metadata));
        }
        errors.extend(metadata::check(
            &cluster.metadata,
            Scope::Cluster,
            check_cluster_name,
        ));
        errors.extend(check_spec(&cluster.spec));
        registry_verdict(new, errors)
    }

    fn finish(&self, request: &Request<'_>, new: Object) -> Result<Object, Refusal> {
        edit::<Cluster>(&new, |cluster| {
            let spec = &mut cluster.spec;
            let evicting = spec
                .taints
                .iter_mut()
                .filter(|taint| taint.effect == taint_effect::NO_EXECUTE);
            for taint in evicting {
                taint.time_added.get_or_insert(request.now);
            }
            if !spec.zone.is_empty() && spec.zones.is_empty() {
                spec.zones.push(std::mem::take(&mut spec.zone));
            }
        })
    }
}

/// What is wrong with the name of a cluster; only the first of its rules that is broken.
pub(super) fn check_cluster_name(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["must be not empty".to_owned()];
    }
    if name.len() > NAME_LENGTH {
        return vec![format!("must be no more than {NAME_LENGTH} characters")];
    }
    names::check_dns1123_label(name)
}

/// Only requests to `/status` write the status.
fn restore_status(new: &mut Object, old: &Object) {
    match old.fields().get("status") {
        Some(status) => {
            new.fields_mut().insert("status".to_owned(), status.clone());
        }
        None => {
            new.remove(&["status"]);
        }
    }
}

/// Only a new cluster gets models it does not have: an update that takes them away leaves it without any.
fn fill_models(models: &mut Vec<ResourceModel>, operation: Operation) {
    if models.is_empty() && operation == Operation::Create {
        *models = resource_models::defaults();
    }
    resource_models::standardise(models);
}

/// The generation counts changes of the spec as it is stored.
///
/// Upstream: it is compared before its models are put into order, so that writing the same models again counts.
fn next_generation(stored: &Cluster, given: &Cluster) -> i64 {
    let step = i64::from(stored.spec != given.spec);
    stored.metadata.generation.saturating_add(step)
}

fn check_spec(spec: &ClusterSpec) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = Vec::new();
    let mode = path.child("syncMode");
    if spec.sync_mode.is_empty() {
        errors.push(FieldError::required(mode.clone(), ""));
    }
    let modes = [sync_mode::PULL, sync_mode::PUSH];
    if !modes.contains(&spec.sync_mode.as_str()) {
        errors.push(FieldError::not_supported(
            mode,
            spec.sync_mode.as_str(),
            &modes,
        ));
    }
    errors.extend(check_endpoint(
        &spec.api_endpoint,
        &path.child("apiEndpoint"),
    ));
    for (field, secret) in [
        ("secretRef", &spec.secret_ref),
        ("impersonatorSecretRef", &spec.impersonator_secret_ref),
    ] {
        if let Some(secret) = secret {
            errors.extend(check_secret(secret, &path.child(field)));
        }
    }
    errors.extend(check_proxy(&spec.proxy_url, path.child("proxyURL")));
    errors.extend(check_location(spec, &path));
    errors.extend(check_taints(&spec.taints, &path.child("taints")));
    errors.extend(resource_models::check(
        &spec.resource_models,
        path.child("resourceModels"),
    ));
    errors
}

fn check_endpoint(endpoint: &str, path: &FieldPath) -> Vec<FieldError> {
    const FORM: &str = "; desired format: scheme://host[:port]";
    if endpoint.is_empty() {
        return Vec::new();
    }
    let url = match Url::parse(endpoint) {
        Ok(url) => url,
        Err(problem) => {
            let detail = format!("must be a valid URL: {problem}{FORM}");
            return vec![FieldError::invalid(path.clone(), endpoint, detail)];
        }
    };
    let mut errors = Vec::new();
    if url.host.is_empty() {
        let detail = format!("the URL must have a host{FORM}");
        errors.push(FieldError::invalid(path.clone(), endpoint, detail));
    }
    errors.extend(check_plain(&url, path));
    errors
}

fn check_secret(secret: &LocalSecretReference, path: &FieldPath) -> Vec<FieldError> {
    let parts = [("namespace", &secret.namespace), ("name", &secret.name)];
    let missing = parts.into_iter().filter(|(_, value)| value.is_empty());
    missing
        .map(|(field, _)| FieldError::required(path.child(field), ""))
        .collect()
}

fn check_proxy(text: &str, path: FieldPath) -> Option<FieldError> {
    if text.is_empty() {
        return None;
    }
    let detail = match Url::parse(text) {
        Err(problem) => format!("must be a valid URL: {problem}"),
        Ok(url) if ["http", "https", "socks5"].contains(&&*url.scheme) => return None,
        Ok(url) => format!(
            "the scheme {:?} is not one of http, https and socks5",
            url.scheme
        ),
    };
    Some(FieldError::invalid(path, text, detail))
}

/// Provider, region and zones are compared with labels, so they are label values.
fn check_location(spec: &ClusterSpec, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, value) in [
        ("provider", &spec.provider),
        ("region", &spec.region),
        ("zone", &spec.zone),
    ] {
        errors.extend(joined(
            path.child(field),
            value,
            &names::check_label_value(value),
            "; ",
        ));
    }
    if !spec.zone.is_empty() && !spec.zones.is_empty() {
        let detail = "zone and zones exclude each other";
        errors.push(FieldError::invalid(
            path.child("zone"),
            spec.zone.as_str(),
            detail,
        ));
    }
    for (position, zone) in spec.zones.iter().enumerate() {
        let path = path.child("zones").index(position);
        errors.extend(joined(path, zone, &names::check_label_value(zone), "; "));
    }
    errors
}

fn check_taints(taints: &[Taint], path: &FieldPath) -> Vec<FieldError> {
    let effects = [taint_effect::NO_SCHEDULE, taint_effect::NO_EXECUTE];
    let mut errors = Vec::new();
    let repeated = repeats(taints.iter().map(|taint| (&taint.key, &taint.effect)));
    for (position, (taint, is_repeated)) in taints.iter().zip(repeated).enumerate() {
        let path = path.index(position);
        let key = path.child("key");
        errors.extend(problems::each(
            &key,
            &taint.key,
            names::check_qualified_name(&taint.key),
        ));
        let problems = names::check_label_value(&taint.value);
        errors.extend(joined(path.child("value"), &taint.value, &problems, ";"));
        let effect = path.child("effect");
        if taint.effect.is_empty() {
            errors.push(FieldError::required(effect, ""));
        } else if !effects.contains(&taint.effect.as_str()) {
            errors.push(FieldError::not_supported(
                effect,
                taint.effect.as_str(),
                &effects,
            ));
        }
        if is_repeated {
            let mut error = FieldError::duplicate(path, shown(taint));
            error.detail = "a taint of this key and effect is there already".to_owned();
            errors.push(error);
        }
    }
    errors
}

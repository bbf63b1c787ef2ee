//! Work: what is sent to one cluster.

use object::{
    Object, Value,
    field::{FieldError, FieldPath},
};

use super::{
    AdmissionRules, Operation, Refusal, Request, Verdict,
    cluster::check_cluster_name,
    permanent_id,
    problems::each,
    verdict::{Allowed, expect_kind, registry_verdict},
};
use crate::{
    manifest::finish, names::cluster_of_execution_space, well_known::labels, work::v1alpha1::Work,
};

const WEBHOOK: &str = "work.karmada.io";

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn mutate(
        &self,
        request: &Request<'_>,
        _old: Option<&Object>,
        mut new: Object,
    ) -> Result<Object, Refusal> {
        if request.operation == Operation::Create {
            registry_verdict(&new, check_space(request.namespace))?;
        }
        let key = labels::permanent_id::WORK;
        permanent_id::keep_or_give(&mut new, "Work", key, request)?;
        let id = new.label(key).unwrap_or_default().to_owned();
        // Works are many and their manifests long, so they are changed in place, without a type in between.
        let spec = new
            .fields_mut()
            .get_mut("spec")
            .and_then(Value::as_object_mut);
        let workload = spec
            .and_then(|spec| spec.get_mut("workload"))
            .and_then(Value::as_object_mut);
        let manifests = workload.and_then(|workload| workload.get_mut("manifests"));
        let list = FieldPath::from("spec.workload.manifests");
        for (position, manifest) in manifests
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let path = list.index(position);
            *manifest = prepare(manifest.take(), &id, &path)?.into_value();
        }
        Ok(new)
    }

    fn validate(&self, _request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        // No rules beyond the schema, but it must be the stored version.
        expect_kind::<Work>(new)?;
        Ok(Allowed::default())
    }
}

/// What is wrong with the name of the cluster whose works a namespace holds, if it holds any: there can be none of that
/// name.
fn check_space(namespace: &str) -> Vec<FieldError> {
    let Some(cluster) = cluster_of_execution_space(namespace) else {
        return Vec::new();
    };
    let problems = check_cluster_name(cluster)
        .into_iter()
        .map(|problem| format!("the name of the cluster, {cluster:?}, is not one: {problem}"));
    let path = FieldPath::from("metadata.namespace");
    each(&path, namespace, problems.collect()).collect()
}

/// A manifest as it goes to the cluster: without what belongs to the template alone, and with a record of the
/// annotations and labels it brings, by which the cluster's own are told from it.
fn prepare(manifest: Value, id: &str, path: &FieldPath) -> Result<Object, Refusal> {
    let manifest = Object::from_value(manifest).map_err(|error| refuse(path, &error.problem))?;
    if manifest.kind().is_empty() {
        return Err(refuse(path, "the manifest has no kind"));
    }
    finish(manifest, Some(id)).map_err(|error| refuse(path, &error.to_string()))
}

fn refuse(path: &FieldPath, problem: &str) -> Refusal {
    Refusal::Unprocessable {
        webhook: WEBHOOK,
        text: format!("{path}: {problem}"),
    }
}

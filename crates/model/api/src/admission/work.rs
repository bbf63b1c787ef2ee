//! Work: what is sent to one cluster.

use object::{Map, Object, Value, field::FieldPath, object::SetError};

use super::{
    AdmissionRules, Refusal, Request, Verdict, permanent_id, prune_manifest,
    verdict::{Allowed, expect_kind},
};
use crate::{
    well_known::{
        annotations::{MANAGED_ANNOTATIONS, MANAGED_LABELS},
        labels,
    },
    work::v1alpha1::Work,
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

/// A manifest as it goes to the cluster: without what belongs to the template alone, and with a record of the
/// annotations and labels it brings, by which the cluster's own are told from it.
fn prepare(manifest: Value, id: &str, path: &FieldPath) -> Result<Object, Refusal> {
    let mut manifest =
        Object::from_value(manifest).map_err(|error| refuse(path, &error.problem))?;
    if manifest.kind().is_empty() {
        return Err(refuse(path, "the manifest has no kind"));
    }
    prune_manifest(&mut manifest);
    record(&mut manifest, id).map_err(|error| refuse(path, &error.to_string()))?;
    Ok(manifest)
}

/// Upstream: the annotations are recorded first and name both records, so that a second pass records the same.
fn record(manifest: &mut Object, id: &str) -> Result<(), SetError> {
    let mut annotations = keys(manifest, "annotations");
    annotations.extend([MANAGED_ANNOTATIONS.to_owned(), MANAGED_LABELS.to_owned()]);
    set_record(manifest, MANAGED_ANNOTATIONS, annotations)?;
    manifest.set(&["metadata", "labels", labels::permanent_id::WORK], id)?;
    let labels = keys(manifest, "labels");
    set_record(manifest, MANAGED_LABELS, labels)
}

fn set_record(manifest: &mut Object, key: &str, mut keys: Vec<String>) -> Result<(), SetError> {
    keys.sort_unstable();
    keys.dedup();
    manifest.set(&["metadata", "annotations", key], keys.join(","))
}

fn keys(manifest: &Object, field: &str) -> Vec<String> {
    let map: Option<&Map> = manifest.at(&["metadata", field]).and_then(Value::as_object);
    map.into_iter().flat_map(Map::keys).cloned().collect()
}

fn refuse(path: &FieldPath, problem: &str) -> Refusal {
    Refusal::Unprocessable {
        webhook: WEBHOOK,
        text: format!("{path}: {problem}"),
    }
}

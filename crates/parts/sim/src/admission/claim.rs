//! A new claim that names no class gets the default one; none goes while a pod has it, and none grows that cannot.

use object::Value;
use object::quantity::Quantity;
use serde_json::json;
use serve::cache::Cache;
use serve::call::Call;
use serve::status::Status;

use crate::admission::refuse;

/// Marks the class that claims get unless they name one.
pub(crate) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The finalizer that keeps a claim while a pod has it.
pub(crate) const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Adds the finalizer.
pub(crate) fn protect(claim: &mut Value) {
    let Some(metadata) = claim.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|name| name == PROTECTION)
    {
        finalizers.push(json!(PROTECTION));
    }
}

/// Fills in the class. An empty name is one too: it means none.
pub(crate) fn complete(claim: &mut Value, cache: &Cache) {
    let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec
        .get("storageClassName")
        .is_some_and(|name| !name.is_null())
    {
        return;
    }
    let classes = cache.collection("storage.k8s.io/storageclasses").snapshot();
    let default = classes.objects.values().find(|record| {
        let class = record.value();
        let annotations = class.pointer("/metadata/annotations");
        annotations.and_then(|annotations| annotations.get(DEFAULT_CLASS)) == Some(&json!("true"))
    });
    if let Some(class) = default {
        spec.insert("storageClassName".to_owned(), json!(class.head().name));
    }
}

/// Refuses to grow a claim whose class cannot.
pub(super) fn check_growth(
    call: &Call,
    old: &Value,
    new: &Value,
    cache: &Cache,
) -> Result<(), Status> {
    let (before, after) = (size_of(old), size_of(new));
    if before.is_none() || after <= before {
        return Ok(());
    }
    let class = new
        .pointer("/spec/storageClassName")
        .and_then(Value::as_str);
    let classes = cache.collection("storage.k8s.io/storageclasses");
    let class = class.and_then(|name| classes.find(name));
    let grows = class.is_some_and(|class| {
        let allows = class
            .value()
            .get("allowVolumeExpansion")
            .and_then(Value::as_bool);
        allows == Some(true)
    });
    if grows {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
               resize";
    Err(refuse(call, new, why))
}

fn size_of(claim: &Value) -> Option<Quantity> {
    let size = claim.pointer("/spec/resources/requests/storage")?;
    size.as_str()?.parse().ok()
}

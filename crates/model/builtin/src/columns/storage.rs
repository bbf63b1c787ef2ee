//! Cells of volumes, claims and storage classes.

use object::{Value, quantity::Quantity, time::Time};

use super::{Cell, or};
use crate::path;

/// The annotation that named the class before there was a field for it; it still wins.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotations that mark the default storage class.
const DEFAULT_ANNOTATIONS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Capacity, Access Modes, Status, Claim, StorageClass of a volume.
pub(super) fn persistent_volume(volume: &Value, _now: Time) -> Vec<Cell> {
    let claim = match path::at(volume, "spec.claimRef").filter(|value| !value.is_null()) {
        Some(claim) => format!(
            "{}/{}",
            path::text(claim, "namespace"),
            path::text(claim, "name")
        ),
        None => String::new(),
    };
    vec![
        quantity(path::at(volume, "spec.capacity.storage")).into(),
        access_modes(path::list(volume, "spec.accessModes")).into(),
        phase(volume).into(),
        claim.into(),
        class(volume).into(),
    ]
}

/// Status, Capacity, Access Modes, StorageClass of a claim.
pub(super) fn persistent_volume_claim(claim: &Value, _now: Time) -> Vec<Cell> {
    let bound = !path::text(claim, "spec.volumeName").is_empty();
    let capacity = if bound {
        quantity(path::at(claim, "status.capacity.storage"))
    } else {
        String::new()
    };
    let modes = if bound {
        access_modes(path::list(claim, "status.accessModes"))
    } else {
        String::new()
    };
    vec![
        phase(claim).into(),
        capacity.into(),
        modes.into(),
        class(claim).into(),
    ]
}

/// Name of a storage class.
pub(super) fn storage_class(class: &Value, _now: Time) -> Vec<Cell> {
    let name = path::text(class, "metadata.name");
    let default = DEFAULT_ANNOTATIONS
        .iter()
        .any(|key| annotation(class, key) == Some("true"));
    vec![
        if default {
            format!("{name} (default)")
        } else {
            name.to_owned()
        }
        .into(),
    ]
}

/// TokenRequests of a driver.
pub(super) fn csi_driver(driver: &Value, _now: Time) -> Vec<Cell> {
    if !path::is_set(driver, "spec.tokenRequests") {
        return vec!["<unset>".into()];
    }
    let requests = path::list(driver, "spec.tokenRequests").iter();
    vec![
        requests
            .map(|request| path::text(request, "audience"))
            .collect::<Vec<_>>()
            .join(",")
            .into(),
    ]
}

/// A quantity in its usual form; zero where there is none.
pub(super) fn quantity(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text
            .parse::<Quantity>()
            .map_or_else(|_| text.clone(), |quantity| quantity.to_string()),
        Some(Value::Number(number)) => number.to_string(),
        _ => "0".to_owned(),
    }
}

fn phase(object: &Value) -> &str {
    if path::is_set(object, "metadata.deletionTimestamp") {
        return "Terminating";
    }
    path::text(object, "status.phase")
}

fn class(object: &Value) -> &str {
    annotation(object, CLASS_ANNOTATION)
        .unwrap_or_else(|| or(path::text(object, "spec.storageClassName"), ""))
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    path::at(object, "metadata.annotations")?.get(key)?.as_str()
}

/// The modes there are, abbreviated, in a fixed order.
fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let present = SHORT
        .iter()
        .filter(|(mode, _)| modes.iter().any(|value| value == mode));
    present
        .map(|(_, short)| *short)
        .collect::<Vec<_>>()
        .join(",")
}

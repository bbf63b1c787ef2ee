//! Rules about persistent volumes, claims, classes and drivers.

use object::{field::FieldError, names};

use super::{
    container::quantity,
    spot::{Errors, Spot},
};

/// What a volume's spec has besides its source.
pub(super) const NOT_A_SOURCE: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

pub(super) fn persistent_volume(volume: &Spot<'_>, errors: &mut Errors) {
    let spec = volume.field("spec");
    let (modes, capacity) = (spec.field("accessModes"), spec.field("capacity"));
    if modes.is_empty() {
        errors.push(modes.required(""));
    }
    known_modes(&modes, errors);
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    } else if !capacity.key("storage").is_set() || capacity.len() > 1 {
        errors.push(capacity.not_supported(&["storage"]));
    }
    positive(&capacity.key("storage"), errors);
    super::volume::one_source(&spec, &NOT_A_SOURCE, errors);
    let affinity = spec.field("nodeAffinity");
    if spec.field("local").is_set() && !affinity.is_set() {
        errors.push(affinity.required("Local volume requires node affinity"));
    }
    class_name(&spec.field("storageClassName"), errors);
    single_writer(&modes, errors);
}

/// Upstream: the list is named, not the element.
fn known_modes(modes: &Spot<'_>, errors: &mut Errors) {
    let known = [
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ];
    for mode in modes.elements() {
        // Other words are refused with the type.
        if mode.text().is_empty() {
            errors.push(FieldError::not_supported(modes.path(), mode.text(), &known));
        }
    }
}

/// What storage is asked for, by a claim or by the template of one.
pub(super) fn claim(spec: &Spot<'_>, errors: &mut Errors) {
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    known_modes(&modes, errors);
    single_writer(&modes, errors);
    let resources = spec.field("resources");
    let requests = resources.field("requests");
    let storage = requests.key("storage");
    if storage.is_set() {
        let mut found = Vec::new();
        positive(&storage, &mut found);
        // Upstream: told of where sizes were once asked for.
        errors.extend(found.into_iter().map(|mut error| {
            error.path = resources.path().key("storage");
            error
        }));
    } else {
        errors.push(FieldError::required(resources.path().key("storage"), ""));
    }
    class_name(&spec.field("storageClassName"), errors);
}

pub(super) fn storage_class(class: &Spot<'_>, errors: &mut Errors) {
    let provisioner = class.field("provisioner");
    if !provisioner.is_empty() {
        provisioner.complain(
            names::check_qualified_name(&provisioner.text().to_lowercase()),
            errors,
        );
    }
    parameters(&class.field("parameters"), errors);
    let policy = class.field("reclaimPolicy");
    if !policy.is_empty() && !matches!(policy.text(), "Delete" | "Retain") {
        errors.push(policy.not_supported(&["Delete", "Retain"]));
    }
}

pub(super) fn attributes_class(class: &Spot<'_>, errors: &mut Errors) {
    let settings = class.field("parameters");
    if settings.is_empty() {
        errors.push(settings.required("must contain at least one key/value pair"));
    }
    parameters(&settings, errors);
}

pub(super) fn driver(driver: &Spot<'_>, errors: &mut Errors) {
    let metadata = driver.field("metadata");
    let name = metadata.field("name");
    if name.text().len() > names::LABEL_LENGTH {
        errors.push(FieldError::too_long(name.path(), names::LABEL_LENGTH));
    }
}

pub(super) fn attachment_source(source: &Spot<'_>, errors: &mut Errors) {
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (
        source.field("inlineVolumeSpec").is_set(),
        source.field("persistentVolumeName").is_set(),
    ) {
        (false, false) => errors.push(source.required(detail)),
        (true, true) => errors.push(source.forbidden(detail)),
        _ => {}
    }
}

/// Parameters have keys, and are no more than a text file: 512 of them, 256 KiB together.
fn parameters(parameters: &Spot<'_>, errors: &mut Errors) {
    const COUNT: usize = 512;
    const SIZE: usize = 256 << 10;
    if parameters.len() > COUNT {
        errors.push(FieldError::too_long(parameters.path(), COUNT));
        return;
    }
    let mut size = 0;
    for (key, value) in parameters.map().into_iter().flatten() {
        if key.is_empty() {
            errors.push(FieldError::invalid(
                parameters.path(),
                key.as_str(),
                "field can not be empty.",
            ));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > SIZE {
        errors.push(FieldError::too_long(parameters.path(), SIZE));
    }
}

fn positive(amount: &Spot<'_>, errors: &mut Errors) {
    if quantity(amount).is_some_and(|quantity| quantity.signum() <= 0) {
        errors.push(amount.invalid("must be greater than zero"));
    }
}

/// A volume for one pod alone is for nobody else in any other way.
fn single_writer(modes: &Spot<'_>, errors: &mut Errors) {
    if modes.len() > 1
        && modes
            .elements()
            .any(|mode| mode.text() == "ReadWriteOncePod")
    {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

fn class_name(name: &Spot<'_>, errors: &mut Errors) {
    if !name.is_empty() {
        name.complain(names::check_dns1123_subdomain(name.text()), errors);
    }
}

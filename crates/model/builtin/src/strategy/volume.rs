//! Rules about the volumes of a pod.

use object::names;

use super::spot::{Errors, Spot};

/// A volume has a name and exactly one source.
pub(super) fn volume(volume: &Spot<'_>, errors: &mut Errors) {
    let name = volume.field("name");
    if !name.is_empty() {
        name.complain(names::check_dns1123_label(name.text()), errors);
    }
    one_source(volume, &["name"], errors);
}

/// Exactly one of the fields is set, those in `besides` apart.
pub(super) fn one_source(spot: &Spot<'_>, besides: &[&str], errors: &mut Errors) {
    let fields = spot.map().into_iter().flatten();
    let mut sources =
        fields.filter(|(name, value)| !value.is_null() && !besides.contains(&name.as_str()));
    if sources.next().is_none() {
        errors.push(spot.required("must specify a volume type"));
    }
    for (more, _) in sources {
        errors.push(
            spot.field(more)
                .forbidden("may not specify more than 1 volume type"),
        );
    }
}

/// A file in a volume stays within it.
pub(super) fn file(file: &Spot<'_>, errors: &mut Errors) {
    let path = file.field("path");
    if path.text().starts_with('/') {
        errors.push(path.invalid("must be a relative path"));
    }
    no_backsteps(&path, errors);
    if path.text().starts_with("..") && path.text() != ".." && !path.text().starts_with("../") {
        errors.push(path.invalid("must not start with '..'"));
    }
    let mode = file.field("mode");
    if mode
        .number()
        .is_some_and(|mode| !(0..=0o777).contains(&mode))
    {
        errors.push(mode.invalid("must be a number between 0 and 0777 (octal), both inclusive"));
    }
}

/// A path of the node.
pub(super) fn host_path(source: &Spot<'_>, errors: &mut Errors) {
    no_backsteps(&source.field("path"), errors);
}

fn no_backsteps(path: &Spot<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|part| part == "..") {
        errors.push(path.invalid("must not contain '..'"));
    }
}

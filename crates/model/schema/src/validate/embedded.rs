//! The identity of objects that are embedded in others.

use object::{Map, Value, field::FieldError, identity::GroupVersion, names};

use crate::trail::Trail;

/// `apiVersion` and `kind` must be there and make sense, and metadata must be that of an object that could exist.
pub(super) fn check(fields: &Map, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = || trail.field(name).path();
        match fields.get(name) {
            None => errors.push(FieldError::required(path(), "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(
                    path(),
                    text.as_str(),
                    "must not be empty",
                ));
            }
            Some(Value::String(text)) => {
                errors.extend(
                    complaint(name, text)
                        .map(|detail| FieldError::invalid(path(), text.as_str(), detail)),
                );
            }
            Some(other) => errors.push(FieldError::invalid(
                path(),
                other.clone(),
                "must be a string",
            )),
        }
    }
    if let Some(Value::Object(metadata)) = fields.get("metadata") {
        check_metadata(metadata, &trail.field("metadata"), errors);
    }
}

fn complaint(field: &str, text: &str) -> Option<String> {
    if field == "apiVersion" {
        return text
            .parse::<GroupVersion>()
            .err()
            .map(|error| error.to_string());
    }
    let problems = names::check_dns1035_label(&text.to_lowercase());
    let joined = problems.join(",");
    (!problems.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {joined}"))
}

fn check_metadata(metadata: &Map, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    let text = |name: &str| {
        metadata
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let mut report = |trail: &Trail<'_>, value: &str, problems: Vec<String>| {
        errors.extend(
            problems
                .into_iter()
                .map(|detail| FieldError::invalid(trail.path(), value, detail)),
        );
    };
    if let Some(name) = text("name") {
        report(&trail.field("name"), name, names::check_path_segment(name));
    }
    if let Some(namespace) = text("namespace") {
        report(
            &trail.field("namespace"),
            namespace,
            names::check_dns1123_label(namespace),
        );
    }
    for (field, has_label_values) in [("labels", true), ("annotations", false)] {
        let Some(Value::Object(pairs)) = metadata.get(field) else {
            continue;
        };
        let trail = trail.field(field);
        for (key, value) in pairs {
            // Upstream: annotation keys are compared in lower case.
            let checked = if has_label_values {
                key.clone()
            } else {
                key.to_lowercase()
            };
            report(&trail, key, names::check_qualified_name(&checked));
            if let (true, Some(value)) = (has_label_values, value.as_str()) {
                report(&trail, value, names::check_label_value(value));
            }
        }
    }
}

//! Rules about config maps and secrets.

use object::{
    Value, base64,
    field::{FieldError, FieldPath},
};

use super::{
    spot::{Errors, Spot},
    words::config_key,
};

/// The most a config map or secret may hold: 1 MiB.
pub const CONTENT_LIMIT: usize = 1 << 20;

pub(super) fn config_map(map: &Spot<'_>, errors: &mut Errors) {
    let (data, binary) = (map.field("data"), map.field("binaryData"));
    let mut size = 0;
    for (key, value) in data.entries() {
        let entry = |problem| FieldError::invalid(value.path(), key, problem);
        errors.extend(config_key(key).into_iter().map(entry));
        if binary.key(key).is_set() {
            errors.push(FieldError::invalid(
                value.path(),
                key,
                "duplicate of key present in binaryData",
            ));
        }
        size += value.text().len();
    }
    for (key, value) in binary.entries() {
        errors.extend(
            config_key(key)
                .into_iter()
                .map(|problem| FieldError::invalid(value.path(), key, problem)),
        );
        size += decoded_length(value.text());
    }
    if size > CONTENT_LIMIT {
        // Upstream: the error is about the whole object and stands at a nameless path.
        errors.push(FieldError::too_long(FieldPath::from("[]"), CONTENT_LIMIT));
    }
}

pub(super) fn secret(secret: &Spot<'_>, errors: &mut Errors) {
    let data = secret.field("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        errors.extend(
            config_key(key)
                .into_iter()
                .map(|problem| FieldError::invalid(value.path(), key, problem)),
        );
        size += decoded_length(value.text());
    }
    if size > CONTENT_LIMIT {
        errors.push(FieldError::too_long(data.path(), CONTENT_LIMIT));
    }
    let needs = |key: &str, errors: &mut Errors| {
        if !data.key(key).is_set() {
            errors.push(data.key(key).required(""));
        }
    };
    match secret.field("type").text() {
        "kubernetes.io/service-account-token" => {
            let metadata = secret.field("metadata");
            let annotations = metadata.field("annotations");
            let account = annotations.key("kubernetes.io/service-account.name");
            if account.is_empty() {
                errors.push(account.required(""));
            }
        }
        "kubernetes.io/dockercfg" => docker_config(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(&data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth"
            if !data.key("username").is_set() && !data.key("password").is_set() =>
        {
            needs("username", errors);
            needs("password", errors);
        }
        "kubernetes.io/ssh-auth" if decoded_length(data.key("ssh-privatekey").text()) == 0 => {
            errors.push(data.key("ssh-privatekey").required(""));
        }
        "kubernetes.io/tls" => {
            needs("tls.crt", errors);
            needs("tls.key", errors);
        }
        _ => {}
    }
}

/// A secret's plain texts go into its data, where they win, and are not kept. What is no text stays where it is, to be
/// refused there.
pub(super) fn fold_plain_texts(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(given)) = fields.shift_remove("stringData") else {
        return;
    };
    let (texts, others): (object::Map, object::Map) = given
        .into_iter()
        .partition(|(_, value)| value.is_string() || value.is_null());
    if !others.is_empty() {
        fields.insert("stringData".to_owned(), Value::Object(others));
    }
    if texts.is_empty() {
        return;
    }
    let data = fields.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = Value::Object(object::Map::new());
    }
    if let Some(data) = data.as_object_mut() {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, Value::String(base64::encode(text.as_bytes())));
        }
    }
}

fn docker_config(data: &Spot<'_>, key: &str, errors: &mut Errors) {
    let entry = data.key(key);
    if !entry.is_set() {
        errors.push(entry.required(""));
        return;
    }
    let decoded = base64::decode(entry.text());
    let problem = match decoded.as_deref().map(serde_json::from_slice::<Value>) {
        Some(Ok(Value::Object(_))) => return,
        Some(Ok(_)) => "must be a JSON object".to_owned(),
        Some(Err(error)) => error.to_string(),
        None => "must be base64".to_owned(),
    };
    errors.push(FieldError::invalid(
        entry.path(),
        "<secret contents redacted>",
        problem,
    ));
}

/// How many bytes a base64 text stands for.
fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_known_without_decoding() {
        for encoded in ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="] {
            let bytes = base64::decode(encoded).unwrap();
            assert_eq!(decoded_length(encoded), bytes.len(), "{encoded}");
        }
    }
}

//! Custom kinds of several versions: relabelled, or converted by a webhook whose answers are not taken on trust.

use std::sync::Arc;
use std::time::Duration;

use object::field::{FieldError, FieldPath};
use object::{Map, Value};
use serde_json::json;
use serve::conversion::{Converter, Converting};
use serve::status::Status;
use serve::webhook::Caller;

/// How long a webhook may take. Upstream: the same.
const LIMIT: Duration = Duration::from_secs(30);

/// The versions of the protocol spoken here, which are alike but for their names.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Objects differ by the name of their version alone.
pub(crate) struct Relabel;

impl Converter for Relabel {
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        api_version: &'a str,
        _uid: String,
    ) -> Converting<'a> {
        Box::pin(std::future::ready(Ok(objects
            .into_iter()
            .map(|object| relabelled(object, api_version))
            .collect())))
    }
}

fn relabelled(mut object: Value, api_version: &str) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    object
}

/// Objects are converted by a webhook.
pub(crate) struct Hook {
    /// `None` where nobody can reach the network.
    pub caller: Option<Arc<dyn Caller>>,
    /// Where it is: `clientConfig`.
    pub config: Value,
    /// The version of the protocol it wants.
    pub review: &'static str,
    /// `group/version, Kind=Kind` is how messages name what is converted.
    pub kind: String,
}

impl Hook {
    /// The webhook a definition names.
    pub(crate) fn of_definition(
        webhook: &Value,
        kind: &str,
        caller: Option<&Arc<dyn Caller>>,
    ) -> Self {
        let wanted = webhook.get("conversionReviewVersions");
        let wanted = wanted.and_then(Value::as_array).into_iter().flatten();
        let spoken = wanted
            .filter_map(Value::as_str)
            .find_map(|name| REVIEWS.into_iter().find(|known| *known == name));
        Self {
            caller: caller.cloned(),
            config: webhook.get("clientConfig").cloned().unwrap_or_default(),
            review: spoken.unwrap_or("v1"),
            kind: kind.to_owned(),
        }
    }

    async fn ask(
        &self,
        objects: Vec<Value>,
        api_version: &str,
        uid: &str,
    ) -> Result<Vec<Value>, Status> {
        let from = objects.first().and_then(|object| object.get("apiVersion"));
        let from = from.and_then(Value::as_str).unwrap_or_default();
        let who = format!("conversion webhook for {from}, Kind={}", self.kind);
        let failed = |why: &str| Status::internal(format!("{who} failed: {why}"), None);
        let Some(caller) = &self.caller else {
            return Err(failed("this server calls no webhooks"));
        };
        let review_version = format!("apiextensions.k8s.io/{}", self.review);
        let review = json!({
            "kind": "ConversionReview", "apiVersion": review_version,
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        });
        let document = review.to_string().into();
        let answer = caller
            .post(&self.config, document, LIMIT)
            .await
            .map_err(|why| failed(&why.to_string()))?;
        let answer = object::parse::parse_json(&answer)
            .map_err(|error| failed(&format!("the answer is no JSON: {error}")))?
            .value;
        let converted = read_answer(&answer, &review_version, uid).map_err(|why| failed(&why))?;
        let invalid = |why: String| Status::internal(format!("{who} returned {why}"), None);
        if converted.len() != objects.len() {
            return Err(invalid(format!(
                "{} objects, expected {}",
                converted.len(),
                objects.len()
            )));
        }
        let pairs = objects.iter().zip(converted).enumerate();
        pairs
            .map(|(position, (original, converted))| {
                accept(original, converted, api_version, position).map_err(invalid)
            })
            .collect()
    }
}

impl Converter for Hook {
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        api_version: &'a str,
        uid: String,
    ) -> Converting<'a> {
        Box::pin(async move { self.ask(objects, api_version, &uid).await })
    }
}

/// The objects of an answer that is one.
fn read_answer(answer: &Value, review_version: &str, uid: &str) -> Result<Vec<Value>, String> {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (kind, version) = (text(answer, "kind"), text(answer, "apiVersion"));
    if kind != "ConversionReview" || version != review_version {
        return Err(format!(
            "expected webhook response of {review_version}, Kind=ConversionReview, got {version}, Kind={kind}"
        ));
    }
    let Some(response) = answer.get("response").filter(|part| part.is_object()) else {
        return Err("no response provided".to_owned());
    };
    let found = text(response, "uid");
    if found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let result = response.get("result").unwrap_or(&Value::Null);
    let status = text(result, "status");
    if status != "Success" {
        let message = text(result, "message");
        return Err(if message.is_empty() {
            format!("response.result.status was '{status}', not 'Success'")
        } else {
            message
        });
    }
    let objects = response.get("convertedObjects").and_then(Value::as_array);
    Ok(objects.cloned().unwrap_or_default())
}

/// A converted object, if it is the one that was sent: of the right version, and with its metadata but for labels and
/// annotations, which are the webhook's to change.
fn accept(
    original: &Value,
    mut converted: Value,
    api_version: &str,
    position: usize,
) -> Result<Value, String> {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let refuse = |why: String| format!("invalid converted object at index {position}: {why}");
    let found = text(&converted, "apiVersion");
    if found != api_version {
        return Err(refuse(format!(
            "invalid groupVersion (expected {api_version}, received {found})"
        )));
    }
    let (kind, found) = (text(original, "kind"), text(&converted, "kind"));
    if kind != found {
        return Err(refuse(format!(
            "invalid kind (expected {kind}, received {found})"
        )));
    }
    let before = original.get("metadata").and_then(Value::as_object);
    let empty = Map::new();
    let before = before.unwrap_or(&empty);
    let fields = converted
        .as_object_mut()
        .ok_or_else(|| refuse("it is no object".to_owned()))?;
    let after = match fields.get("metadata") {
        Some(Value::Object(after)) => after.clone(),
        _ => {
            return Err(format!(
                "invalid metadata in object at index {position}: metadata is missing"
            ));
        }
    };
    for name in ["name", "namespace", "uid"] {
        let of = |fields: &Map| {
            let value = fields.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (expected, found) = (of(before), of(&after));
        if expected != found {
            return Err(refuse(format!(
                "metadata.{name} must not change (expected {expected:?}, received {found:?})"
            )));
        }
    }
    let mut metadata = before.clone();
    for name in ["labels", "annotations"] {
        match after.get(name).filter(|value| !value.is_null()) {
            None => drop(metadata.shift_remove(name)),
            Some(value) => {
                let problems = text_problems(name, value);
                if let Some(problem) = problems.first() {
                    return Err(format!(
                        "invalid metadata in object at index {position}: {problem}"
                    ));
                }
                metadata.insert(name.to_owned(), value.clone());
            }
        }
    }
    fields.insert("metadata".to_owned(), Value::Object(metadata));
    Ok(converted)
}

/// What is wrong with labels or annotations.
fn text_problems(name: &str, value: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata").child(name);
    let Some(entries) = value.as_object() else {
        return vec![FieldError::invalid(path, value.clone(), "must be a map")];
    };
    let mut problems = Vec::new();
    for (key, value) in entries {
        for wrong in object::names::check_qualified_name(&key.to_lowercase()) {
            problems.push(FieldError::invalid(path.clone(), key.as_str(), wrong));
        }
        let Some(text) = value.as_str() else {
            let wrong = FieldError::invalid(path.key(key), value.clone(), "must be a string");
            problems.push(wrong);
            continue;
        };
        if name == "labels" {
            for wrong in object::names::check_label_value(text) {
                problems.push(FieldError::invalid(path.clone(), text, wrong));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(response: Value) -> Value {
        json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response})
    }

    #[test]
    fn answers_are_not_taken_on_trust() {
        let check = |answer: Value, expected: Result<usize, &str>| {
            let found = read_answer(&answer, "apiextensions.k8s.io/v1", "u1");
            assert_eq!(
                found.map(|objects| objects.len()),
                expected.map_err(str::to_owned),
                "{answer}"
            );
        };
        let success = json!({"status": "Success"});
        check(
            answered(json!({"uid": "u1", "result": success, "convertedObjects": [{}, {}]})),
            Ok(2),
        );
        check(answered(json!({"uid": "u1", "result": success})), Ok(0));
        check(
            answered(json!({"uid": "u2", "result": success})),
            Err("expected response.uid=\"u1\", got \"u2\""),
        );
        check(
            answered(json!({"uid": "u1", "result": {"status": "Failed", "message": "too old"}})),
            Err("too old"),
        );
        check(
            answered(json!({"uid": "u1", "result": {"status": "Failed"}})),
            Err("response.result.status was 'Failed', not 'Success'"),
        );
        check(answered(Value::Null), Err("no response provided"));
        check(
            json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1beta1"}),
            Err(
                "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview",
            ),
        );
    }

    #[test]
    fn only_labels_and_annotations_of_metadata_may_change() {
        let original = json!({
            "apiVersion": "a/v1", "kind": "K", "spec": {"x": 1},
            "metadata": {"name": "n", "uid": "u", "finalizers": ["f"], "labels": {"a": "1"}, "resourceVersion": "5"},
        });
        let check = |edit: &dyn Fn(&mut Value), expected: Result<Value, &str>| {
            let mut converted = original.clone();
            converted["apiVersion"] = json!("a/v2");
            edit(&mut converted);
            let found = accept(&original, converted, "a/v2", 3);
            assert_eq!(
                found.map(|found| found["metadata"].clone()),
                expected.map_err(str::to_owned)
            );
        };
        check(&|_| {}, Ok(original["metadata"].clone()));
        check(
            &|object| {
                object["metadata"] = json!({"name": "n", "uid": "u", "labels": {"b": "2"}, "annotations": {"c": "d"}});
            },
            Ok(json!({
                "name": "n", "uid": "u", "finalizers": ["f"], "labels": {"b": "2"}, "resourceVersion": "5",
                "annotations": {"c": "d"},
            })),
        );
        check(
            &|object| object["apiVersion"] = json!("a/v1"),
            Err(
                "invalid converted object at index 3: invalid groupVersion (expected a/v2, received a/v1)",
            ),
        );
        check(
            &|object| object["kind"] = json!("L"),
            Err("invalid converted object at index 3: invalid kind (expected K, received L)"),
        );
        check(
            &|object| object["metadata"]["uid"] = json!("v"),
            Err(
                "invalid converted object at index 3: metadata.uid must not change (expected \"u\", received \"v\")",
            ),
        );
        check(
            &|object| object["metadata"]["labels"] = json!({"a b": "1"}),
            Err(
                "invalid metadata in object at index 3: metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
        );
        check(
            &|object| object["metadata"] = json!(null),
            Err("invalid metadata in object at index 3: metadata is missing"),
        );
    }
}

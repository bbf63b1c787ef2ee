//! The right field for a wrong one: what a server says of fields that it does not know, along with those that were
//! probably meant.

use client::{CallError, Client};
use object::{GroupVersionKind, ResourceType, Value};

use super::read;
use super::walk::{Depth, Described, find_kind};
use crate::failure::Failure;
use crate::nearest::near_space;
use crate::reach::call_failure;
use crate::yaml::QUOTES;

/// So begins what is said of a patch; all that it made of the object follows, in quotes.
const PATCHED: &str = "is invalid: patch: Invalid value: \"";
/// So many wrong fields are looked up.
const LOOKED_UP: usize = 5;

/// A write that was refused; if that is for fields that the kind does not have, with the ones that were probably meant;
/// if that is for a boolean or a number where text is expected, with what makes text of it.
pub(crate) async fn write_failure(
    client: &Client,
    resource: &ResourceType,
    error: &CallError,
) -> Failure {
    let failure = call_failure(error);
    let said = failure.to_string();
    let failure = failure.reworded(brief);
    if let Some(space) = missing_space(error, resource) {
        let near = near_space(client, &space).await;
        return failure.advised(space_hint(&space, near.as_deref()));
    }
    if lacks_quotes(&said) {
        return failure.advised(QUOTES);
    }
    let wrong = unknown_fields(&said);
    if wrong.is_empty() {
        return failure;
    }
    match meant_fields(client, resource, &wrong).await {
        Some(hint) => failure.advised(hint),
        None => failure,
    }
}

/// The namespace that is not there to take an object.
fn missing_space(error: &CallError, resource: &ResourceType) -> Option<String> {
    let refusal = error.refusal().filter(|_| error.is_not_found())?;
    let is_space = refusal.details["kind"] == "namespaces" && resource.namespaced;
    let name = refusal.details["name"].as_str();
    name.filter(|_| is_space).map(str::to_owned)
}

fn space_hint(space: &str, near: Option<&str>) -> String {
    let make = format!("`karavel create namespace {space}` makes it");
    match near {
        Some(near) => format!("did you mean -n {near}? {make}"),
        None => make,
    }
}

/// The fields that were probably meant by some that the kind does not have.
pub(crate) async fn meant_fields(
    client: &Client,
    resource: &ResourceType,
    wrong: &[Vec<String>],
) -> Option<String> {
    // The description is only for the hint: whoever cannot read it goes without.
    let document = read(client, &resource.kind).await.ok()?;
    hint(&document["components"]["schemas"], &resource.kind, wrong)
}

/// What a server says of a patch that makes no object of its kind, with the field instead of all that came of it.
fn brief(message: String) -> String {
    let Some((before, rest)) = message.split_once(PATCHED) else {
        return message;
    };
    let Some(why) = behind_quotes(rest).and_then(|rest| rest.strip_prefix(": ")) else {
        return message;
    };
    // The object is not named: there is none.
    let head = before.trim_end_matches([' ', '"']);
    let why = mismatch(why).unwrap_or_else(|| why.to_owned());
    format!("{head} the change does not fit: {why}")
}

/// What stands behind a text in quotes that has just begun.
fn behind_quotes(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    for (place, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return text.get(place + 1..),
            _ => {}
        }
    }
    None
}

/// `spec.replicas: expected int32, found string`, from what decoders say.
fn mismatch(why: &str) -> Option<String> {
    let (_, rest) = why.split_once("cannot unmarshal ")?;
    let (found, rest) = rest.split_once(" into Go ")?;
    let (place, expected) = rest.split_once(" of type ")?;
    // The first word is that of the program's own type.
    let (_, path) = place.strip_prefix("struct field ")?.split_once('.')?;
    Some(format!("{path}: expected {expected}, found {found}"))
}

/// Whether a server found a boolean or a number where it expects text.
fn lacks_quotes(message: &str) -> bool {
    let checked = ["boolean", "number", "integer"]
        .iter()
        .any(|found| message.contains(&format!("must be of type string: \"{found}\"")));
    let decoded = ["unmarshal bool into", "unmarshal number into"]
        .iter()
        .any(|found| message.contains(found))
        && message.contains("of type string");
    let applied = message.split("expected string, got ").nth(1);
    let applied = applied.and_then(|rest| rest.split_once("Value:"));
    let is_plain = |value: &str| {
        value.starts_with(|first: char| first.is_ascii_digit() || "tf-".contains(first))
    };
    checked || decoded || applied.is_some_and(|(_, value)| is_plain(value))
}

/// The fields that were probably meant, in a sentence.
fn hint(schemas: &Value, kind: &GroupVersionKind, wrong: &[Vec<String>]) -> Option<String> {
    let root = find_kind(schemas, kind)?;
    let near = wrong.iter().take(LOOKED_UP).filter_map(|fields| {
        let unknown = Described::walk(schemas, root, fields, Depth::Nothing).err()?;
        // What is wrong further up has another name than the one the server complains about.
        (Some(&unknown.field) == fields.last()).then_some(())?;
        Some(format!("{:?} for {:?}", unknown.near?, unknown.field))
    });
    let near: Vec<String> = near.collect();
    match near.is_empty() {
        true => {
            let above: Vec<&str> = wrong.first()?.iter().map(String::as_str).collect();
            let (_, above) = above.split_last()?;
            let mut place = vec![kind.kind.to_lowercase()];
            place.extend(above.iter().map(|field| (*field).to_owned()));
            Some(format!(
                "correct the named field; `karavel explain {}` shows the fields there are",
                place.join(".")
            ))
        }
        false => Some(format!("did you mean {}?", near.join(", "))),
    }
}

/// The paths of the fields that a server says it does not know.
fn unknown_fields(message: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for part in message.split("unknown field \"").skip(1) {
        let path = part.split('"').next().unwrap_or_default();
        found.push(fields_of(path));
    }
    for line in message.lines() {
        let Some((before, _)) = line.split_once(": field not declared in schema") else {
            continue;
        };
        let path = before.rsplit(": ").next().unwrap_or_default();
        found.push(fields_of(path.trim()));
    }
    found.retain(|fields| !fields.is_empty());
    found
}

/// The fields of a path such as `.spec.containers[name="web"].image`, without which item of a list it is.
fn fields_of(path: &str) -> Vec<String> {
    let mut plain = String::with_capacity(path.len());
    let (mut depth, mut quoted) = (0_usize, false);
    for letter in path.chars() {
        match letter {
            '"' if depth > 0 => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            letter if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let fields = plain.split('.').filter(|field| !field.is_empty());
    fields.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_that_is_missing_can_be_made() {
        let refused = |kind: &str| {
            CallError::Refused(Box::new(client::Refusal {
                request: "POST /x".to_owned(),
                code: 404,
                reason: "NotFound".to_owned(),
                message: "namespaces \"shpo\" not found".to_owned(),
                details: json!({"kind": kind, "name": "shpo"}),
                retry_after: None,
            }))
        };
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let spaces = ResourceType::cluster("", "v1", "Namespace", "namespaces");
        let found = missing_space(&refused("namespaces"), &pods);
        assert_eq!(found.as_deref(), Some("shpo"));
        assert_eq!(missing_space(&refused("namespaces"), &spaces), None);
        assert_eq!(missing_space(&refused("pods"), &pods), None);
        let make = "`karavel create namespace shpo` makes it";
        assert_eq!(space_hint("shpo", None), make);
        let both = format!("did you mean -n shop? {make}");
        assert_eq!(space_hint("shpo", Some("shop")), both);
    }

    #[test]
    fn patches_that_do_not_fit_are_told_in_few_words() {
        for (message, expected) in [
            (
                "from server (Invalid):  \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"apps/v1\\\",\\\"a\\\": 1}\": json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
                "from server (Invalid): the change does not fit: spec.replicas: expected int32, found string",
            ),
            (
                "from server (Invalid):  \"\" is invalid: patch: Invalid value: \"{}\": something else",
                "from server (Invalid): the change does not fit: something else",
            ),
            (
                "from server (Invalid): pods \"p\" is invalid: spec: Required value",
                "from server (Invalid): pods \"p\" is invalid: spec: Required value",
            ),
            (
                "from server (Invalid):  \"\" is invalid: patch: Invalid value: \"cut",
                "from server (Invalid):  \"\" is invalid: patch: Invalid value: \"cut",
            ),
        ] {
            assert_eq!(brief(message.to_owned()), expected);
        }
    }

    #[test]
    fn wrong_fields_are_found_in_what_servers_say() {
        for (message, expected) in [
            (
                "from server (BadRequest): strict decoding error: unknown field \"spec.replicaz\", unknown field \"spec.template.spec.containers[0].imge\"",
                "spec/replicaz spec/template/spec/containers/imge",
            ),
            (
                "from server: failed to create typed patch object (a/b; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema",
                "spec/replicaz",
            ),
            (
                "from server: failed to create typed patch object: errors:\n  .spec.a: field not declared in schema\n  .spec.containers[name=\"x.y]\"].b: field not declared in schema",
                "spec/a spec/containers/b",
            ),
            ("from server (Invalid): spec.replicas: Invalid value", ""),
            ("", ""),
        ] {
            let found = unknown_fields(message);
            let shown: Vec<String> = found.iter().map(|fields| fields.join("/")).collect();
            assert_eq!(shown.join(" "), expected, "{message}");
        }
    }

    #[test]
    fn what_should_have_stood_in_quotes_is_known() {
        for (message, expected) in [
            (
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string",
                true,
            ),
            (
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
                true,
            ),
            (
                "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:true}",
                true,
            ),
            (
                "data.k: Invalid value: \"boolean\": data.k in body must be of type string: \"boolean\"",
                true,
            ),
            (
                "data.k: Invalid value: \"object\": data.k in body must be of type string: \"object\"",
                false,
            ),
            (
                ".data.k: expected string, got &value.valueUnstructured{Value:map[string]interface {}{}}",
                false,
            ),
            (
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(lacks_quotes(message), expected, "{message}");
        }
    }

    #[test]
    fn the_field_that_was_meant_is_named() {
        let schemas = json!({
            "Deployment": {
                "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
                "properties": {"spec": {"properties": {"replicas": {"type": "integer"}, "containers": {"type": "array", "items": {"properties": {"image": {}}}}}}},
            },
        });
        let kind = GroupVersionKind::from_api_version("apps/v1", "Deployment").unwrap();
        for (path, expected) in [
            (
                "spec.replicaz",
                "did you mean \"replicas\" for \"replicaz\"?",
            ),
            (
                "spec.containers[0].imge",
                "did you mean \"image\" for \"imge\"?",
            ),
            (
                "spec.nonsense",
                "correct the named field; `karavel explain deployment.spec` shows the fields there are",
            ),
        ] {
            let found = hint(&schemas, &kind, &[fields_of(path)]);
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        }
    }
}

//! Fields that a member of another version does not know.
//!
//! The control plane fills in what its own version of Kubernetes fills in. A server that is older refuses to apply fields
//! it never heard of, where it would have dropped them from an object that is created; so they are taken out before it is
//! asked again.

use object::{Map, Value};

/// How servers end the text about a field they do not know.
const UNDECLARED: &str = ": field not declared in schema";

/// One step of a path as servers write it.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// `.name`
    Field(String),
    /// `[name="x",port=80]`
    Item(Vec<(String, Value)>),
    /// `[3]`
    Position(usize),
}

/// Takes the fields out of an object that a refusal says are not declared; whether there were any.
pub(crate) fn take_out(object: &mut Map, refusal: &str) -> bool {
    let mut found = false;
    for line in refusal.lines() {
        let Some(head) = line.trim_end().strip_suffix(UNDECLARED) else {
            continue;
        };
        // What comes before the path ends in a colon; in a list of several there is nothing before it.
        let path = match head.rfind(": .") {
            Some(position) => head.get(position + 2..).unwrap_or_default(),
            None => head.trim_start(),
        };
        if let Some(steps) = parse(path) {
            found |= remove(object, &steps);
        }
    }
    found
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, left) = after.split_at(end);
            steps.push(Step::Field(name.to_owned()));
            rest = left;
        } else {
            let inner = rest.strip_prefix('[')?;
            let end = closing(inner)?;
            steps.push(parse_item(inner.get(..end)?)?);
            rest = inner.get(end + 1..)?;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// Where the bracket ends; one inside quotes does not count.
fn closing(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().find_map(|(position, character)| {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(position),
            _ => {}
        }
        None
    })
}

fn parse_item(text: &str) -> Option<Step> {
    if let Ok(position) = text.parse() {
        return Some(Step::Position(position));
    }
    let mut keys = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let end = values.byte_offset();
        keys.push((name.to_owned(), value));
        rest = after.get(end..)?.trim_start_matches(',');
    }
    Some(Step::Item(keys))
}

fn remove(object: &mut Map, steps: &[Step]) -> bool {
    let Some((Step::Field(first), further)) = steps.split_first() else {
        return false;
    };
    if further.is_empty() {
        return object.shift_remove(first).is_some();
    }
    let mut value = object.get_mut(first);
    for (index, step) in further.iter().enumerate() {
        let is_last = index + 1 == further.len();
        value = match (value, step) {
            (Some(Value::Object(fields)), Step::Field(name)) if is_last => {
                return fields.shift_remove(name).is_some();
            }
            (Some(Value::Object(fields)), Step::Field(name)) => fields.get_mut(name),
            (Some(Value::Array(items)), Step::Position(position)) => items.get_mut(*position),
            (Some(Value::Array(items)), Step::Item(keys)) => items
                .iter_mut()
                .find(|item| keys.iter().all(|(name, key)| item.get(name) == Some(key))),
            _ => return false,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(refusal: &str, object: Value, expected: Value) {
        let mut fields = object.as_object().cloned().unwrap();
        let found = take_out(&mut fields, refusal);
        assert_eq!(Value::Object(fields), expected, "{refusal}");
        assert_eq!(found, object != expected, "{refusal}");
    }

    #[test]
    fn fields_an_older_member_does_not_know_are_taken_out() {
        check(
            "failed to create typed patch object: .spec.internalTrafficPolicy: field not declared in schema",
            json!({"spec": {"internalTrafficPolicy": "Cluster", "type": "ClusterIP"}}),
            json!({"spec": {"type": "ClusterIP"}}),
        );
        check(
            "failed to create typed patch object (a/b; batch/v1, Kind=Job): errors:\n  .spec.suspend: field not declared in schema\n  .spec.template.spec.containers[name=\"a]\"].resizePolicy: field not declared in schema\n  .spec.ports[containerPort=80,protocol=\"TCP\"].x: field not declared in schema\n  .spec.rules[1].y: field not declared in schema",
            json!({"spec": {
                "suspend": false, "n": 1,
                "template": {"spec": {"containers": [{"name": "b", "resizePolicy": []}, {"name": "a]", "resizePolicy": []}]}},
                "ports": [{"containerPort": 80, "protocol": "TCP", "x": 1}],
                "rules": [{"y": 1}, {"y": 2}],
            }}),
            json!({"spec": {
                "n": 1,
                "template": {"spec": {"containers": [{"name": "b", "resizePolicy": []}, {"name": "a]"}]}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "rules": [{"y": 1}, {}],
            }}),
        );
    }

    #[test]
    fn what_cannot_be_understood_takes_nothing_out() {
        for refusal in [
            "",
            "failed to create typed patch object: .spec.a: expected map, got &{7}",
            ": field not declared in schema",
            ".spec[: field not declared in schema",
            ".spec.list[name=].a: field not declared in schema",
            ".spec.absent.deeper: field not declared in schema",
        ] {
            let object = json!({"spec": {"a": 1, "list": [{"name": "x", "a": 1}]}});
            check(refusal, object.clone(), object);
        }
    }
}

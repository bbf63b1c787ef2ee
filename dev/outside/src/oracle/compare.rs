//! What two answers have in common, and where they part.

use serde_json::Value;

use super::side::Answer;

/// Every place where two answers differ, as `path: ours …, theirs …`.
pub(crate) fn differences(ours: &Answer, theirs: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    if ours.code != theirs.code {
        found.push(format!(
            "code: ours {} {}, theirs {} {}",
            ours.code,
            short(&ours.body["message"]),
            theirs.code,
            short(&theirs.body["message"])
        ));
        return found;
    }
    if ours.warnings != theirs.warnings {
        found.push(format!(
            "warnings: ours {:?}, theirs {:?}",
            ours.warnings, theirs.warnings
        ));
    }
    let (mut left, mut right) = (ours.body.clone(), theirs.body.clone());
    for body in [&mut left, &mut right] {
        // Maps are walked in no order, so causes come in any.
        if let Some(causes) = body
            .pointer_mut("/details/causes")
            .and_then(Value::as_array_mut)
        {
            causes.sort_by_key(|cause| {
                let place = (cause["field"].to_string(), cause["reason"].to_string());
                (place, cause["message"].to_string())
            });
            let several = causes.len() > 1;
            if several && let Some(message) = body.get_mut("message") {
                *message = sorted_message(message);
            }
        }
    }
    let is_status = |body: &Value| body["kind"] == "Status";
    if is_status(&left) != is_status(&right) {
        // Everything else follows from that.
        found.push(format!(
            ".kind: ours {}, theirs {}",
            short(&left["kind"]),
            short(&right["kind"])
        ));
        return found;
    }
    walk("", &left, &right, &mut found);
    found
}

/// The message lists the causes, again in any order.
fn sorted_message(message: &Value) -> Value {
    let text = message.as_str().unwrap_or_default();
    let Some((head, rest)) = text.split_once('[') else {
        return message.clone();
    };
    let mut parts: Vec<&str> = rest.trim_end_matches(']').split(", ").collect();
    parts.sort_unstable();
    Value::String(format!("{head}[{}]", parts.join(", ")))
}

fn walk(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            for (name, value) in left {
                match right.get(name) {
                    Some(other) => walk(&format!("{path}.{name}"), value, other, found),
                    None => found.push(format!(
                        "{path}.{name}: ours {}, theirs absent",
                        short(value)
                    )),
                }
            }
            for (name, value) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
                found.push(format!(
                    "{path}.{name}: ours absent, theirs {}",
                    short(value)
                ));
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (value, other)) in left.iter().zip(right).enumerate() {
                walk(&format!("{path}[{index}]"), value, other, found);
            }
        }
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        _ if ours == theirs => {}
        _ => found.push(format!(
            "{path}: ours {}, theirs {}",
            short(ours),
            short(theirs)
        )),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// What two differences must share to count as one: where they are, without numbers and names.
pub(crate) fn signature(request: &str, difference: &str) -> String {
    let place = difference.split(": ours").next().unwrap_or_default();
    let codes = match place {
        "code" => difference
            .chars()
            .filter(|character| !character.is_ascii_digit())
            .take(80)
            .collect(),
        _ => String::new(),
    };
    let mut shape = String::new();
    for part in place.split(['.', '[']) {
        let known = part
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_digit());
        shape.push('/');
        shape.push_str(if known { "n" } else { part });
    }
    format!("{request} {shape} {codes}")
}

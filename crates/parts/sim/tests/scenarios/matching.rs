//! Whether an object has at least the fields a scenario names.

use serde_json::Value;

/// Says what is missing.
pub(crate) fn has(object: &Value, wanted: &Value) -> Result<(), String> {
    compare(object, wanted, "")
}

fn compare(found: &Value, wanted: &Value, path: &str) -> Result<(), String> {
    match (found, wanted) {
        (_, Value::Null) if path.is_empty() => Ok(()),
        (_, Value::Object(fields)) => {
            for (name, wanted) in fields {
                let found = found.get(name).unwrap_or(&Value::Null);
                compare(found, wanted, &format!("{path}.{name}"))?;
            }
            Ok(())
        }
        (Value::Null, Value::Array(wanted)) if wanted.is_empty() => Ok(()),
        (Value::Array(found), Value::Array(wanted)) => {
            for (place, wanted) in wanted.iter().enumerate() {
                let item = pick(found, wanted, place);
                compare(
                    item.unwrap_or(&Value::Null),
                    wanted,
                    &format!("{path}[{place}]"),
                )?;
            }
            if wanted.is_empty() && !found.is_empty() {
                return Err(format!("{path} is not empty"));
            }
            Ok(())
        }
        _ if found == wanted => Ok(()),
        _ => Err(format!("{path} is {found} and not {wanted}")),
    }
}

/// The item a wanted one is about: by its type or name, or else by its place.
fn pick<'v>(found: &'v [Value], wanted: &Value, place: usize) -> Option<&'v Value> {
    for key in ["type", "name"] {
        if let Some(id) = wanted.get(key) {
            return found.iter().find(|item| item.get(key) == Some(id));
        }
    }
    found.get(place)
}

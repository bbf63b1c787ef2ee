//! Selectors in one line.

use object::Value;
use object::selector::LabelSelector;

use super::metadata::pairs;
use crate::describe::values::or;

/// A selector as it is written on a command line; `<none>` if it selects by nothing.
pub(in crate::describe) fn selector(value: &Value) -> String {
    or(question(value).unwrap_or_default(), "<none>")
}

/// The same as a server is asked; nothing if it is no selector.
pub(in crate::describe) fn question(value: &Value) -> Option<String> {
    let selector: LabelSelector = serde_json::from_value(value.clone()).ok()?;
    let mut parts: Vec<(String, String)> = selector
        .match_labels
        .into_iter()
        .map(|(key, value)| {
            let said = format!("{key}={value}");
            (key, said)
        })
        .collect();
    for one in selector.match_expressions {
        let mut values = one.values;
        values.sort_unstable();
        let (key, values) = (one.key, values.join(","));
        let said = match one.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        parts.push((key, said));
    }
    parts.sort();
    let said: Vec<String> = parts.into_iter().map(|(_, said)| said).collect();
    Some(said.join(","))
}

/// Labels that are all asked for, in one line.
pub(in crate::describe) fn labels(value: &Value) -> String {
    or(pairs(value).join(","), "<none>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_as_on_a_command_line() {
        for (value, expected) in [
            (Value::Null, "<none>"),
            (json!({}), "<none>"),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2"),
            (
                json!({"matchExpressions": [
                    {"key": "d", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "c", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                ]}),
                "c,d notin (x,y),!e",
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
                "<none>",
            ),
        ] {
            assert_eq!(selector(&value), expected, "{value}");
        }
        let broken = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        assert_eq!(question(&broken), None);
    }
}

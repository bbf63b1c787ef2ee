//! One text for one value: object fields sorted, so that equal values compare equal as strings.

use std::fmt::Write;

use object::Value;

/// Writes a value as JSON with sorted fields and no white space.
pub(crate) fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (place, (name, value)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_string(name, text);
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::String(string) => write_string(string, text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            // Go writes whole numbers without decimals, whatever their type.
            Some(float) if float.fract() == 0.0 && float.abs() < 1e21 => {
                let _infallible = write!(text, "{float:.0}");
            }
            _ => text.push_str(&number.to_string()),
        },
        other => text.push_str(&other.to_string()),
    }
}

/// Writes a JSON string.
pub(crate) fn write_string(string: &str, text: &mut String) {
    let plain = string.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\');
    if plain {
        text.push('"');
        text.push_str(string);
        text.push('"');
    } else {
        text.push_str(&Value::from(string).to_string());
    }
}

/// The text of a value.
pub(crate) fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

//! Objects for snapshots: the same in every run.

use std::collections::HashMap;

use object::time::Time;
use object::{Object, Value};

/// The object as YAML, with symbolic times and uids, without what only the server keeps.
pub(crate) fn write(object: &Object, start: Time) -> String {
    let mut value = object.clone().into_value();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
        metadata.shift_remove("resourceVersion");
    }
    let mut symbols = Symbols {
        start,
        uids: HashMap::new(),
    };
    symbols.replace(&mut value);
    serde_saphyr::to_string(&value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

struct Symbols {
    start: Time,
    uids: HashMap<String, usize>,
}

impl Symbols {
    fn replace(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Ok(time) = text.parse::<Time>() {
                    *text = self.time(time);
                } else if is_uid(text) {
                    let next = self.uids.len() + 1;
                    let number = *self.uids.entry(text.clone()).or_insert(next);
                    *text = format!("<uid-{number}>");
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.replace(field)),
            _ => {}
        }
    }

    fn time(&self, time: Time) -> String {
        let seconds = time.unix_seconds() - self.start.unix_seconds();
        let (sign, left) = if seconds < 0 {
            ('-', -seconds)
        } else {
            ('+', seconds)
        };
        match (left / 60, left % 60) {
            (0, 0) => "<t0>".to_owned(),
            (0, seconds) => format!("<t0{sign}{seconds}s>"),
            (minutes, 0) => format!("<t0{sign}{minutes}m>"),
            (minutes, seconds) => format!("<t0{sign}{minutes}m{seconds}s>"),
        }
    }
}

fn is_uid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12]
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

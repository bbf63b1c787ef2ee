//! What a watcher would see of some fields, line by line.

use std::collections::BTreeMap;

use serde_json::Value;
use serve::cache::Place;

use crate::cluster::Cluster;
use crate::run::{list, text};

/// What is shown of objects of one kind, as it changes.
pub(crate) struct Trace {
    of: String,
    show: Vec<String>,
    expected: Vec<String>,
    place: Place,
    seen: BTreeMap<String, String>,
    symbols: BTreeMap<String, usize>,
    lines: Vec<(i64, String, String)>,
}

impl Trace {
    pub(crate) fn begin(cluster: &Cluster, wanted: &Value) -> Self {
        let of = text(wanted, "of").to_owned();
        let texts = |name: &str| -> Vec<String> {
            let items = list(&wanted[name]).iter();
            items
                .map(|item| item.as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let server = cluster.member.server();
        let (_, place) = server.cache().collection(&cluster.collection(&of)).begin();
        Self {
            of,
            show: texts("show"),
            expected: texts("lines"),
            place,
            seen: BTreeMap::new(),
            symbols: BTreeMap::new(),
            lines: Vec::new(),
        }
    }

    /// Takes in what changed.
    pub(crate) fn follow(&mut self, cluster: &Cluster) {
        let server = cluster.member.server();
        let collection = server.cache().collection(&cluster.collection(&self.of));
        let Ok((changes, next)) = collection.changes(self.place, usize::MAX) else {
            // A restart without data begins a new history.
            self.place = collection.begin().1;
            return;
        };
        self.place = next;
        let at = cluster.member.clock().now().seconds_since(cluster.start);
        for change in changes {
            let record = change.current.as_ref().or(change.previous.as_ref());
            let Some(record) = record else { continue };
            let name = self.symbol(record.head().name);
            let shown = match &change.current {
                Some(record) => self.shown(&record.value()),
                None => "gone".to_owned(),
            };
            if self.seen.get(&name) != Some(&shown) {
                self.lines.push((at, name.clone(), shown.clone()));
                self.seen.insert(name, shown);
            }
        }
    }

    pub(crate) fn check(mut self) -> Result<(), String> {
        // What happened to one object stays in its order.
        self.lines
            .sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|(at, name, shown)| format!("+{at}s {name} {shown}"))
            .collect();
        if lines == self.expected {
            return Ok(());
        }
        let yaml: Vec<String> = lines
            .iter()
            .map(|line| format!("      - {line:?}"))
            .collect();
        Err(format!("the trace of {} is\n{}", self.of, yaml.join("\n")))
    }

    fn shown(&self, object: &Value) -> String {
        let parts: Vec<String> = self.show.iter().map(|what| show(object, what)).collect();
        parts.join(" ")
    }

    /// The name with what servers make up replaced by its number: a last part of five letters without vowels, or ten.
    fn symbol(&mut self, name: &str) -> String {
        let parts: Vec<&str> = name.split('-').collect();
        let mut shown = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let is_made_up = place > 0
                && matches!(part.len(), 5 | 10)
                && part
                    .chars()
                    .all(|letter| "bcdfghjklmnpqrstvwxz2456789".contains(letter));
            if is_made_up {
                let next = self.symbols.len() + 1;
                let number = *self.symbols.entry((*part).to_owned()).or_insert(next);
                shown.push(format!("<{number}>"));
            } else {
                shown.push((*part).to_owned());
            }
        }
        shown.join("-")
    }
}

fn show(object: &Value, what: &str) -> String {
    if what.starts_with(char::is_uppercase) {
        let conditions = list(&object["status"]["conditions"]);
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == what);
        return found.map_or_else(
            || "-".to_owned(),
            |found| format!("{what}={}", text(found, "status")),
        );
    }
    let path = format!("/{}", what.replace('.', "/"));
    match object.pointer(&path) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

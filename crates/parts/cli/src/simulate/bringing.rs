//! What becomes of a member's object to which a work is applied.
//!
//! Who wrote which field stands in an object's records. Works first take over what was created or updated, from here or by
//! hand, so that fields which a work no longer says go. A server that is asked for a rehearsal keeps nothing of the first
//! step, and would put new fields beside old ones in the second: it is asked about the outcome instead.

use object::{Map, Object, Value};

use crate::writing::MANAGER;

/// What the records of an object say of the fields that are a work's to change.
#[derive(Debug, PartialEq)]
pub(super) struct Records {
    /// The fields, as sets of paths are written in `managedFields`.
    fields: Value,
    /// Whether any of them has to be taken over first.
    pub(super) are_taken_over: bool,
}

impl Records {
    /// Reads them from an object.
    ///
    /// All that was written from here is the work's, and what others wrote by plain updates, but for metadata and status.
    pub(super) fn of(object: &Object) -> Self {
        let mut records = Self {
            fields: Value::Object(Map::new()),
            are_taken_over: false,
        };
        let entries = object.at(&["metadata", "managedFields"]);
        for entry in entries.and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            let is_part = !text("subresource").is_empty();
            let is_ours = text("manager") == MANAGER && !is_part;
            let is_plain = text("operation") == "Update"
                && text("apiVersion") == object.api_version()
                && !is_part;
            if !is_ours && !is_plain {
                continue;
            }
            for (step, below) in entry["fieldsV1"].as_object().into_iter().flatten() {
                if is_ours || !matches!(step.as_str(), "f:metadata" | "f:status") {
                    records.are_taken_over |= text("operation") != "Apply";
                    join(&mut records.fields, step, below);
                }
            }
        }
        records
    }

    /// The object that is there, brought to what is wanted.
    pub(super) fn bring(&self, there: &Object, wanted: &Object) -> Object {
        let (there, wanted) = (there.clone().into_value(), wanted.clone().into_value());
        let ours = Some(&self.fields).filter(|fields| *fields != &Value::Object(Map::new()));
        let brought = bring(&there, &wanted, ours);
        // An object stays one whatever its fields become.
        Object::from_value(brought).unwrap_or_default()
    }
}

/// Adds a set of paths to another. Sets are objects all the way down.
fn join(fields: &mut Value, step: &str, below: &Value) {
    let (Value::Object(fields), Value::Object(below)) = (fields, below) else {
        return;
    };
    let known = fields.entry(step.to_owned());
    let known = known.or_insert_with(|| Value::Object(Map::new()));
    for (step, below) in below {
        join(known, step, below);
    }
}

/// A value brought to what is wanted: what was ours and is wanted no longer goes, what was never ours stays.
fn bring(there: &Value, wanted: &Value, ours: Option<&Value>) -> Value {
    let steps = ours.and_then(Value::as_object);
    match (there, wanted) {
        // What is ours as a whole has no steps below it.
        _ if steps.is_some_and(Map::is_empty) => wanted.clone(),
        (Value::Object(there), Value::Object(wanted)) => {
            let step = |name: &str| steps.and_then(|steps| steps.get(&format!("f:{name}")));
            let mut all = Map::new();
            for (name, value) in there {
                match wanted.get(name) {
                    Some(wanted) => {
                        all.insert(name.clone(), bring(value, wanted, step(name)));
                    }
                    None if step(name).is_some() => {}
                    None => drop(all.insert(name.clone(), value.clone())),
                }
            }
            for (name, value) in wanted {
                if !there.contains_key(name) {
                    all.insert(name.clone(), value.clone());
                }
            }
            Value::Object(all)
        }
        (Value::Array(there), Value::Array(wanted)) => {
            let items = steps.and_then(Items::of);
            match items {
                Some(items) => items.bring(there, wanted),
                None => Value::Array(wanted.clone()),
            }
        }
        _ => wanted.clone(),
    }
}

/// The items of a list that are ours each by itself: by the fields that tell them apart, or as values of a set.
struct Items<'s> {
    ours: Vec<(Value, &'s Value)>,
}

impl<'s> Items<'s> {
    /// `None` if the list is one value.
    fn of(steps: &'s Map) -> Option<Self> {
        let item = |(step, below): (&'s String, &'s Value)| {
            let text = step.strip_prefix("k:").or_else(|| step.strip_prefix("v:"));
            Some((serde_json::from_str(text?).ok()?, below))
        };
        let ours: Vec<(Value, &Value)> = steps.iter().filter_map(item).collect();
        (!ours.is_empty()).then_some(Self { ours })
    }

    fn bring(&self, there: &[Value], wanted: &[Value]) -> Value {
        let mut all = Vec::new();
        for item in wanted {
            let known = there.iter().find(|known| self.is_same(known, item));
            all.push(match known {
                Some(known) => bring(known, item, self.step(known)),
                None => item.clone(),
            });
        }
        let left = there.iter().filter(|known| {
            let is_wanted = wanted.iter().any(|item| self.is_same(known, item));
            !is_wanted && self.step(known).is_none()
        });
        all.extend(left.cloned());
        Value::Array(all)
    }

    /// Whether two items are the same one. The fields that tell items of a list apart are the same for all.
    fn is_same(&self, one: &Value, other: &Value) -> bool {
        match self.ours.first() {
            Some((Value::Object(keys), _)) => keys.keys().all(|key| one.get(key) == other.get(key)),
            _ => one == other,
        }
    }

    /// What is ours of an item, if it is.
    fn step(&self, item: &Value) -> Option<&'s Value> {
        let is_it = |keys: &Value| match keys {
            Value::Object(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            value => value == item,
        };
        let mut found = self.ours.iter().filter(|(keys, _)| is_it(keys));
        found.next().map(|(_, below)| *below)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields})
    }

    fn object(entries: Value, spec: Value) -> Object {
        Object::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "resourceVersion": "7", "labels": {"theirs": "x"}, "managedFields": entries},
            "spec": spec, "status": {"replicas": 1},
        }))
        .unwrap()
    }

    fn check(ours: Value, there: Value, wanted: Value, expected: Value) {
        for (operation, is_taken_over) in [("Update", true), ("Apply", false)] {
            let entries = json!([entry(MANAGER, operation, json!({"f:spec": ours}))]);
            let there = object(entries.clone(), there.clone());
            let records = Records::of(&there);
            assert_eq!(records.are_taken_over, is_taken_over, "{operation}");
            let sent = json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": wanted,
            });
            let sent = Object::from_value(sent).unwrap();
            let brought = records.bring(&there, &sent);
            assert_eq!(brought, object(entries, expected.clone()));
        }
    }

    #[test]
    fn fields_that_give_way_to_others_go() {
        check(
            json!({"f:strategy": {"f:type": {}, "f:rollingUpdate": {".": {}, "f:maxSurge": {}}}, "f:replicas": {}}),
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "replicas": 2, "byServer": 1}),
            json!({"strategy": {"type": "Recreate"}, "replicas": 2}),
            json!({"strategy": {"type": "Recreate"}, "replicas": 2, "byServer": 1}),
        );
        check(
            json!({"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:env": {
                ".": {}, "k:{\"name\":\"E\"}": {".": {}, "f:name": {}, "f:value": {}},
            }}, "k:{\"name\":\"old\"}": {".": {}, "f:name": {}}}}),
            json!({"containers": [
                {"name": "old"}, {"name": "theirs"}, {"name": "c", "env": [{"name": "E", "value": "x"}], "byServer": 1},
            ]}),
            json!({"containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"a": 1}}]}, {"name": "new"}]}),
            json!({"containers": [
                {"name": "c", "env": [{"name": "E", "valueFrom": {"a": 1}}], "byServer": 1}, {"name": "new"}, {"name": "theirs"},
            ]}),
        );
        // Sets, and what is one value as a whole.
        check(
            json!({"f:set": {"v:\"a\"": {}, "v:\"b\"": {}}, "f:list": {}, "f:map": {}}),
            json!({"set": ["a", "b", "theirs"], "list": [1, 2], "map": {"a": 1}}),
            json!({"set": ["b", "c"], "list": [3], "map": {"b": 2}}),
            json!({"set": ["b", "c", "theirs"], "list": [3], "map": {"b": 2}}),
        );
    }

    #[test]
    fn what_others_wrote_by_hand_is_taken_over_and_what_they_apply_is_not() {
        let paused = json!({"f:spec": {"f:paused": {}}});
        let labels =
            json!({"f:metadata": {"f:labels": {"f:theirs": {}}}, "f:status": {"f:replicas": {}}});
        let applied = json!({"f:spec": {"f:image": {}}});
        let mut part = entry("kubelet", "Update", paused.clone());
        part["subresource"] = json!("status");
        let mut version = entry("old", "Update", paused.clone());
        version["apiVersion"] = json!("apps/v1beta1");
        for (entries, expected) in [
            (json!([]), (json!({}), false)),
            (json!("nonsense"), (json!({}), false)),
            (
                json!([entry("kubectl", "Update", paused.clone())]),
                (paused.clone(), true),
            ),
            (
                json!([entry("kubectl", "Update", labels)]),
                (json!({}), false),
            ),
            (
                json!([entry("kubectl", "Apply", paused.clone())]),
                (json!({}), false),
            ),
            (json!([part, version]), (json!({}), false)),
            (
                json!([
                    entry(MANAGER, "Apply", applied),
                    entry("kubectl", "Update", paused)
                ]),
                (json!({"f:spec": {"f:image": {}, "f:paused": {}}}), true),
            ),
        ] {
            let there = object(entries.clone(), json!({}));
            let records = Records::of(&there);
            assert_eq!(records.bring(&there, &there), there, "{entries}");
            let found = (records.fields, records.are_taken_over);
            assert_eq!(found, expected, "{entries}");
        }
    }
}

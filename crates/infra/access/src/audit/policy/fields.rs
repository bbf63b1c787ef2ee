//! Which fields a policy has, and what each holds.
//!
//! Upstream: fields nobody knows are warned of and left out. Here they are refused: a rule whose `users` is misspelt is
//! about everybody, and a policy whose `rules` is has none.

use object::Value;

use super::{AuditPolicyError, wrong};

/// What a field holds; `null` is as good as nothing.
enum Holds {
    Anything,
    Text,
    Flag,
    Texts,
    /// A list of objects with these fields.
    Each(Fields),
}

type Fields = &'static [(&'static str, Holds)];

const POLICY: Fields = &[
    ("apiVersion", Holds::Text),
    ("kind", Holds::Text),
    ("metadata", Holds::Anything),
    ("omitStages", Holds::Texts),
    ("omitManagedFields", Holds::Flag),
    ("rules", Holds::Each(RULE)),
];

const RULE: Fields = &[
    ("level", Holds::Text),
    ("users", Holds::Texts),
    ("userGroups", Holds::Texts),
    ("verbs", Holds::Texts),
    ("resources", Holds::Each(RESOURCES)),
    ("namespaces", Holds::Texts),
    ("nonResourceURLs", Holds::Texts),
    ("omitStages", Holds::Texts),
    ("omitManagedFields", Holds::Flag),
];

const RESOURCES: Fields = &[
    ("group", Holds::Text),
    ("resources", Holds::Texts),
    ("resourceNames", Holds::Texts),
];

/// Refuses a policy with a field there is not, or one that holds something else than it should.
pub(super) fn check(policy: &Value) -> Result<(), AuditPolicyError> {
    check_object(policy, POLICY, "")
}

fn check_object(object: &Value, known: Fields, path: &str) -> Result<(), AuditPolicyError> {
    let Some(object) = object.as_object() else {
        return Err(wrong(path, "it is no object".to_owned()));
    };
    for (name, value) in object {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let Some((_, holds)) = known.iter().find(|(known, _)| known == name) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let why = format!("there is no such field; there are {}", names.join(", "));
            return Err(wrong(&path, why));
        };
        if !value.is_null() {
            check_value(value, holds, &path)?;
        }
    }
    Ok(())
}

fn check_value(value: &Value, holds: &Holds, path: &str) -> Result<(), AuditPolicyError> {
    let (is_sound, what) = match holds {
        Holds::Anything => (true, ""),
        Holds::Text => (value.is_string(), "a text"),
        Holds::Flag => (value.is_boolean(), "true or false"),
        Holds::Texts => {
            let list = value.as_array();
            let is_sound = list.is_some_and(|list| list.iter().all(Value::is_string));
            (is_sound, "a list of texts")
        }
        Holds::Each(known) => {
            let entries = value.as_array();
            for (place, entry) in entries.into_iter().flatten().enumerate() {
                check_object(entry, known, &format!("{path}[{place}]"))?;
            }
            (entries.is_some(), "a list")
        }
    };
    match is_sound {
        true => Ok(()),
        false => Err(wrong(path, format!("it must be {what}"))),
    }
}

//! One case, and how it is run: the steps of a server, without the server.

use karavel_api::{
    admission::{Allowed, Operation, Refusal, Request, rules},
    well_known::feature_gates::FeatureGates,
};
use object::Object;
use serde_json::{Value, json};

use crate::defaults;

/// The id that every object gets.
pub(crate) const FRESH_ID: &str = "2f1a8c1e-0b5f-4a57-9d35-7c2a6a0f4b11";

/// The time of every write.
pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";

/// An object on its way in, and what should come of it.
pub(crate) struct Case {
    /// What the case shows.
    pub(crate) name: &'static str,
    /// The object, as YAML.
    pub(crate) new: &'static str,
    /// The stored object, for an update.
    pub(crate) old: Option<&'static str>,
    /// Feature gates that differ from their defaults.
    pub(crate) gates: &'static str,
    /// Whether taint policies may evict.
    pub(crate) allow_no_execute: bool,
    /// Other objects that are stored, as YAML.
    pub(crate) related: &'static [&'static str],
    /// What should come of it.
    pub(crate) expect: Expect,
}

/// What should come of a case.
#[derive(Clone, Copy)]
pub(crate) enum Expect {
    /// It is stored with at least these fields (YAML); `null` stands for a field that is not there.
    Stored(&'static str),
    /// It is refused with this code and reason, for these fields (path and kind of error), in this order.
    Refused(u16, &'static str, &'static [&'static str]),
}

/// Refused by a webhook.
pub(crate) const fn denied(fields: &'static [&'static str]) -> Expect {
    Expect::Refused(403, "Forbidden", fields)
}

/// Refused by the server of the kind.
pub(crate) const fn invalid(fields: &'static [&'static str]) -> Expect {
    Expect::Refused(422, "Invalid", fields)
}

/// Stored, whatever it looks like then.
pub(crate) const ACCEPTED: Expect = Expect::Stored("{}");

/// A case without anything special, to start from.
pub(crate) const CREATE: Case = Case {
    name: "",
    new: "",
    old: None,
    gates: "",
    allow_no_execute: false,
    related: &[],
    expect: ACCEPTED,
};

/// What came of a write.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stored: Object,
    pub(crate) allowed: Allowed,
}

/// Runs every case and shows all that differ.
pub(crate) fn check(cases: &[Case]) {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            case.run()
                .err()
                .map(|problem| format!("{}: {problem}", case.name))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

impl Case {
    fn run(&self) -> Result<(), String> {
        match (self.admit(), self.expect) {
            (Ok(outcome), Expect::Stored(expected)) => {
                let stored = outcome.stored.into_value();
                contains(&stored, &yaml(expected), "")
            }
            (Ok(_), Expect::Refused(..)) => Err("was stored".to_owned()),
            (Err(refusal), Expect::Stored(_)) => Err(format!("was refused: {refusal}")),
            (Err(refusal), Expect::Refused(code, reason, fields)) => {
                let found: Vec<String> = refusal
                    .errors()
                    .iter()
                    .map(|error| format!("{} {:?}", error.path, error.kind))
                    .collect();
                if (refusal.code(), refusal.reason()) == (code, reason) && found == fields {
                    return Ok(());
                }
                Err(format!(
                    "was refused with {} {}: {refusal}\n  fields: {found:?}",
                    refusal.code(),
                    refusal.reason()
                ))
            }
        }
    }

    /// Takes the steps of a server.
    pub(crate) fn admit(&self) -> Result<Outcome, Refusal> {
        let gates: FeatureGates = self.gates.parse().expect("gates of the case");
        let related: Vec<Object> = self.related.iter().map(|text| object(text)).collect();
        let related: Vec<&Object> = related.iter().collect();
        let old = self.old.map(object);
        let new = object(self.new);
        let namespace = new.namespace().to_owned();
        let request = Request {
            operation: if old.is_some() {
                Operation::Update
            } else {
                Operation::Create
            },
            namespace: &namespace,
            allow_no_execute: self.allow_no_execute,
            related: &related,
            ..request(&gates)
        };
        admit(&request, old.as_ref(), new)
    }
}

/// A plain create.
pub(crate) fn request(gates: &FeatureGates) -> Request<'_> {
    Request {
        operation: Operation::Create,
        namespace: "",
        gates,
        allow_no_execute: false,
        now: NOW.parse().expect("a time"),
        fresh_id: &|| FRESH_ID.to_owned(),
        is_time_zone: &|name| ["Europe/Berlin", "Asia/Shanghai"].contains(&name),
        check_script: &|script| {
            if script.contains("end") {
                Ok(())
            } else {
                Err("'end' expected".to_owned())
            }
        },
        related: &[],
    }
}

/// Takes the steps of a server: schema defaults, mutation, schema defaults, validation, finishing.
pub(crate) fn admit(
    request: &Request<'_>,
    old: Option<&Object>,
    mut new: Object,
) -> Result<Outcome, Refusal> {
    let rules = rules(&new.group_version_kind()).expect("a kind with rules");
    defaults::fill(&mut new);
    let mut new = rules.mutate(request, old, new)?;
    defaults::fill(&mut new);
    let again = rules.mutate(request, old, new.clone())?;
    assert_eq!(again, new, "a second mutation changes nothing");
    let allowed = rules.validate(request, old, &new)?;
    let stored = rules.finish(request, new)?;
    Ok(Outcome { stored, allowed })
}

/// An object from YAML.
pub(crate) fn object(text: &str) -> Object {
    Object::from_value(yaml(text)).expect("an object")
}

/// A value from YAML.
pub(crate) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether a value has what is expected of it.
pub(crate) fn contains(found: &Value, expected: &Value, path: &str) -> Result<(), String> {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected
                .iter()
                .try_for_each(|(name, expected)| match found.get(name) {
                    None | Some(Value::Null) if expected.is_null() => Ok(()),
                    None => Err(format!("{path}/{name} is not there")),
                    Some(found) => contains(found, expected, &format!("{path}/{name}")),
                })
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            let mut pairs = found.iter().zip(expected).enumerate();
            pairs.try_for_each(|(at, (found, expected))| {
                contains(found, expected, &format!("{path}/{at}"))
            })
        }
        _ if found == expected => Ok(()),
        _ => Err(format!("{path} is {found}, expected {}", json!(expected))),
    }
}

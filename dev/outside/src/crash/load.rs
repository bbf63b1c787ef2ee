//! One writer: what it wrote, what was acknowledged, and what is in doubt because the server died before it answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{CallError, Client, DeleteOptions, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType};
use serde_json::json;

/// What an object may be: the number it holds, or not there.
pub(crate) type State = Option<u64>;

/// How many objects one writer has.
const OBJECTS: u64 = 20;

/// One writer and its objects; nobody else writes them.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) number: usize,
    next: u64,
    /// The last state that was acknowledged, by name.
    pub(crate) acknowledged: BTreeMap<String, State>,
    /// What was asked for when the server died.
    pub(crate) in_doubt: Option<(String, State)>,
    /// The newest revision that any acknowledgement carried.
    pub(crate) revision: u64,
    pub(crate) writes: u64,
    /// What must never happen.
    pub(crate) problems: Vec<String>,
}

impl Writer {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            next: 0,
            acknowledged: BTreeMap::new(),
            in_doubt: None,
            revision: 0,
            writes: 0,
            problems: Vec::new(),
        }
    }

    /// Writes until told to stop or until the server does not answer.
    pub(crate) async fn write(mut self, client: Client, stop: Arc<AtomicBool>) -> Self {
        while !stop.load(Ordering::Relaxed) {
            self.next += 1;
            let name = format!("w{}-{}", self.number, self.next % OBJECTS);
            let known = self.acknowledged.get(&name).copied().flatten();
            let wanted = (!self.next.is_multiple_of(7)).then_some(self.next);
            if wanted.is_none() && known.is_none() {
                continue;
            }
            self.in_doubt = Some((name.clone(), wanted));
            match ask(&client, &name, known, wanted).await {
                Ok(revision) => {
                    if revision <= self.revision && wanted.is_some() {
                        self.problems.push(format!(
                            "revision {revision} of {name} is not after {}",
                            self.revision
                        ));
                    }
                    self.revision = self.revision.max(revision);
                    self.acknowledged.insert(name, wanted);
                    self.in_doubt = None;
                    self.writes += 1;
                }
                Err(problem)
                    if problem.is_unreachable()
                        || problem.code() == 0
                        || problem.is_overloaded() =>
                {
                    break;
                }
                Err(problem) if problem.code() >= 500 => break,
                Err(problem) => {
                    self.problems
                        .push(format!("{name} from {known:?} to {wanted:?}: {problem}"));
                    break;
                }
            }
        }
        self
    }

    /// Holds what is found against what was acknowledged; what is found becomes the truth.
    pub(crate) fn check(&mut self, found: &BTreeMap<String, State>) -> Vec<String> {
        let mut problems = std::mem::take(&mut self.problems);
        let doubt = self.in_doubt.take();
        let prefix = format!("w{}-", self.number);
        let mut names: Vec<String> = self.acknowledged.keys().cloned().collect();
        names.extend(
            found
                .keys()
                .filter(|name| name.starts_with(&prefix))
                .cloned(),
        );
        names.sort();
        names.dedup();
        for name in names {
            let is = found.get(&name).copied().flatten();
            let acknowledged = self.acknowledged.get(&name).copied().flatten();
            let doubted = doubt
                .as_ref()
                .filter(|(doubted, _)| *doubted == name)
                .map(|(_, state)| *state);
            if is != acknowledged && Some(is) != doubted {
                problems.push(format!(
                    "{name} is {is:?}, acknowledged was {acknowledged:?}, in doubt {doubted:?}"
                ));
            }
            self.acknowledged.insert(name, is);
        }
        problems
    }
}

pub(crate) fn resource() -> ResourceType {
    ResourceType::namespaced("", "v1", "ConfigMap", "configmaps")
}

/// Both fields hold the same number: whoever sees two numbers saw half a write.
async fn ask(client: &Client, name: &str, known: State, wanted: State) -> Result<u64, CallError> {
    let options = WriteOptions::by("crash");
    let key = ObjectKey::namespaced("default", name);
    let Some(number) = wanted else {
        client
            .delete(&resource(), &key, &DeleteOptions::default())
            .await?;
        return Ok(0);
    };
    let data =
        json!({"first": number.to_string(), "filler": "x".repeat(300), "last": number.to_string()});
    let object = if known.is_none() {
        let object = Object::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "labels": {"suite": "crash"}},
            "data": data,
        }))
        .expect("invariant: the literal above is an object");
        client.create(&resource(), &object, &options).await?
    } else {
        let patch = json!({"data": data});
        client
            .patch(
                &resource(),
                &key,
                PatchKind::Merge,
                &patch,
                &Part::Object,
                &options,
            )
            .await?
    };
    Ok(revision_of(&object))
}

/// The revision of an object as a number.
pub(crate) fn revision_of(object: &Object) -> u64 {
    object.resource_version().parse().unwrap_or_default()
}

/// The number an object holds, or what is wrong with it.
pub(crate) fn number_of(object: &Object) -> Result<u64, String> {
    let field = |name: &str| {
        let value = object.at(&["data", name]).and_then(|value| value.as_str());
        value.unwrap_or_default().to_owned()
    };
    let (first, last) = (field("first"), field("last"));
    if first != last {
        return Err(format!(
            "{} is half written: {first} and {last}",
            object.name()
        ));
    }
    first
        .parse()
        .map_err(|_| format!("{} holds no number", object.name()))
}

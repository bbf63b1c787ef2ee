//! Limit ranges: what pods and claims are given in a namespace if they do not say, and what they may not exceed.
//!
//! Only pods and claims that are created here are looked at; what a Deployment's pods will be given is decided where they
//! run, by the limit ranges of that cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use object::quantity::Quantity;
use object::{Map, Value};
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::{Status, Subject};

/// Where it is noted what was filled in. Upstream: the same.
const NOTE: &str = "kubernetes.io/limit-ranger";

/// Fills in and checks what pods and claims ask for.
#[derive(Default)]
pub(crate) struct LimitRanges {
    /// Where limit ranges are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
}

/// Amounts by resource.
type Amounts = BTreeMap<String, Quantity>;

/// What one container, pod or claim asks for.
#[derive(Default)]
struct Asked {
    requests: Amounts,
    limits: Amounts,
}

impl LimitRanges {
    pub(crate) fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    /// The items of all limit ranges in the namespace of a creation that they are about, with the ranges' names.
    fn items(&self, call: &Call, old: Option<&Value>) -> Vec<Value> {
        let is_meant = matches!(
            call.target.resource.as_str(),
            "pods" | "persistentvolumeclaims"
        ) && call.target.group.is_empty()
            && call.target.subresource.is_empty()
            && old.is_none();
        let Some(cache) = self.cache.get().filter(|_| is_meant) else {
            return Vec::new();
        };
        let ranges = cache.collection(&cache::name_of("", "limitranges"));
        let snapshot = ranges.snapshot();
        let prefix = format!("{}/", call.target.namespace);
        let here = snapshot
            .objects
            .range(Arc::<str>::from(prefix.as_str())..)
            .take_while(|(key, _)| key.starts_with(&prefix));
        here.flat_map(|(_, record)| {
            let range = record.value();
            let items = range["spec"]["limits"].as_array().cloned();
            items.unwrap_or_default()
        })
        .collect()
    }
}

impl Admission for LimitRanges {
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let items = self.items(call, proposal.old);
        if let Some(new) = proposal.new
            && call.target.resource == "pods"
            && !items.is_empty()
        {
            fill_in(new, &items);
        }
        at_once(Ok(Vec::new()))
    }

    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let Some(new) = new else {
            return at_once(Ok(Vec::new()));
        };
        let problems = problems(call, new, &self.items(call, old));
        if problems.is_empty() {
            return at_once(Ok(Vec::new()));
        }
        let why = match problems.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        let subject = Subject {
            name,
            ..call.subject()
        };
        at_once(Err(Status::forbidden(subject, &why)))
    }
}

/// Gives containers what they do not ask for.
fn fill_in(pod: &mut Value, items: &[Value]) {
    let mut notes = Vec::new();
    for (list, word) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            for item in items.iter().filter(|item| item["type"] == "Container") {
                for (from, to, what) in [
                    ("default", "limits", "limit"),
                    ("defaultRequest", "requests", "request"),
                ] {
                    let Some(amounts) = item[from].as_object() else {
                        continue;
                    };
                    for (resource, amount) in amounts {
                        if set_if_absent(container, to, resource, amount) {
                            notes.push(format!("{resource} {what} for {word} {name}"));
                        }
                    }
                }
            }
        }
    }
    if notes.is_empty() {
        return;
    }
    let text = format!("LimitRanger plugin set: {}", notes.join(", "));
    let metadata = pod.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else { return };
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(NOTE.to_owned(), text.into());
    }
}

fn set_if_absent(container: &mut Value, list: &str, resource: &str, amount: &Value) -> bool {
    let Some(container) = container.as_object_mut() else {
        return false;
    };
    let empty = || Value::Object(Map::new());
    let resources = container.entry("resources").or_insert_with(empty);
    let Some(resources) = resources.as_object_mut() else {
        return false;
    };
    let amounts = resources.entry(list).or_insert_with(empty);
    match amounts.as_object_mut() {
        Some(amounts) if !amounts.contains_key(resource) => {
            amounts.insert(resource.to_owned(), amount.clone());
            true
        }
        _ => false,
    }
}

/// Everything that exceeds what is allowed.
fn problems(call: &Call, object: &Value, items: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for item in items {
        let sort = item["type"].as_str().unwrap_or_default();
        match (sort, call.target.resource.as_str()) {
            ("Container", "pods") => {
                for container in containers(object) {
                    check(item, sort, &asked(&container["resources"]), &mut problems);
                }
            }
            ("Pod", "pods") => check(item, sort, &whole(object), &mut problems),
            ("PersistentVolumeClaim", "persistentvolumeclaims") => {
                let requests = amounts(&object["spec"]["resources"]["requests"]);
                // A claim asks for what it gets.
                let asked = Asked {
                    limits: requests.clone(),
                    requests,
                };
                check(item, sort, &asked, &mut problems);
            }
            _ => {}
        }
    }
    problems
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| pod["spec"][list].as_array().into_iter().flatten())
}

/// What a pod asks for: the sum of its containers, or more if one of those that run before it needs more.
fn whole(pod: &Value) -> Asked {
    let mut total = Asked::default();
    for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
        let one = asked(&container["resources"]);
        for (into, from) in [
            (&mut total.requests, one.requests),
            (&mut total.limits, one.limits),
        ] {
            for (resource, amount) in from {
                let sum = into
                    .get(&resource)
                    .map_or(Some(amount), |sum| sum.checked_add(amount));
                into.insert(resource, sum.unwrap_or(amount));
            }
        }
    }
    for container in pod["spec"]["initContainers"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let one = asked(&container["resources"]);
        for (into, from) in [
            (&mut total.requests, one.requests),
            (&mut total.limits, one.limits),
        ] {
            for (resource, amount) in from {
                let most = into.get(&resource).map_or(amount, |sum| (*sum).max(amount));
                into.insert(resource, most);
            }
        }
    }
    total
}

fn asked(resources: &Value) -> Asked {
    Asked {
        requests: amounts(&resources["requests"]),
        limits: amounts(&resources["limits"]),
    }
}

fn amounts(value: &Value) -> Amounts {
    let fields = value.as_object().into_iter().flatten();
    let read = fields.filter_map(|(resource, amount)| {
        let amount: Quantity = serde_json::from_value(amount.clone()).ok()?;
        Some((resource.clone(), amount))
    });
    read.collect()
}

/// Holds what is asked for against one item. Upstream: these sentences.
fn check(item: &Value, sort: &str, asked: &Asked, problems: &mut Vec<String>) {
    for (resource, least) in amounts(&item["min"]) {
        match (asked.requests.get(&resource), asked.limits.get(&resource)) {
            (None, _) => problems.push(format!(
                "minimum {resource} usage per {sort} is {least}.  No request is specified"
            )),
            (Some(request), _) if *request < least => problems.push(format!(
                "minimum {resource} usage per {sort} is {least}, but request is {request}"
            )),
            (_, Some(limit)) if *limit < least => problems.push(format!(
                "minimum {resource} usage per {sort} is {least}, but limit is {limit}"
            )),
            _ => {}
        }
    }
    for (resource, most) in amounts(&item["max"]) {
        match (asked.requests.get(&resource), asked.limits.get(&resource)) {
            (_, None) => problems.push(format!(
                "maximum {resource} usage per {sort} is {most}.  No limit is specified"
            )),
            (_, Some(limit)) if *limit > most => problems.push(format!(
                "maximum {resource} usage per {sort} is {most}, but limit is {limit}"
            )),
            (Some(request), _) if *request > most => problems.push(format!(
                "maximum {resource} usage per {sort} is {most}, but request is {request}"
            )),
            _ => {}
        }
    }
    for (resource, most) in amounts(&item["maxLimitRequestRatio"]) {
        let request = asked
            .requests
            .get(&resource)
            .filter(|amount| !amount.is_zero());
        let limit = asked
            .limits
            .get(&resource)
            .filter(|amount| !amount.is_zero());
        let (Some(request), Some(limit)) = (request, limit) else {
            problems.push(format!(
                "{resource} max limit to request ratio per {sort} is {most}, but no request is specified or request is 0"
            ));
            continue;
        };
        let ratio = limit.to_f64() / request.to_f64();
        if ratio > most.to_f64() {
            problems.push(format!(
                "{resource} max limit to request ratio per {sort} is {most}, but provided ratio is {ratio:.6}"
            ));
        }
    }
}

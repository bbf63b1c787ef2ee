//! New objects are held against the quotas of their namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use object::time::Time;
use object::{Object, Value};
use serve::cache::Cache;
use serve::call::Call;
use serve::record::Record;
use serve::status::Status;

use crate::controllers::quota::{cost, format};
use crate::controllers::scheduler::Amounts;

/// What was let through and may not be in the cache yet.
#[derive(Default)]
pub(crate) struct InFlight {
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    at: Time,
    collection: Arc<str>,
    uid: String,
    object: Object,
}

/// A write takes no longer than this; one that was let through and then failed is forgotten after it.
const FLIGHT: i64 = 5;

/// What quotas count besides what is written right now.
const COUNTED: [(&str, &str); 6] = [
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("batch", "jobs"),
];

/// Refuses an object that would exceed a quota.
pub(crate) fn check(
    call: &Call,
    cache: &Cache,
    in_flight: &InFlight,
    new: &Value,
    now: Time,
) -> Result<(), Status> {
    let target = &call.target;
    if !COUNTED.contains(&(target.group.as_str(), target.resource.as_str())) {
        return Ok(());
    }
    let quotas = within(cache, "core/resourcequotas", &target.namespace);
    if quotas.is_empty() {
        return Ok(());
    }
    let Ok(object) = Object::from_value(new.clone()) else {
        return Ok(());
    };
    let mut entries = in_flight
        .entries
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    entries.retain(|entry| now.seconds_since(entry.at) <= FLIGHT);
    for quota in quotas {
        let quota = quota.value();
        let hard = Amounts::read(quota.pointer("/spec/hard"));
        let mut over = BTreeMap::new();
        for (name, limit) in &hard.0 {
            let asked = cost(name, &target.group, &target.resource, &object);
            if asked == 0 {
                continue;
            }
            let used = used(name, call, cache, &entries);
            if used.saturating_add(asked) > *limit {
                over.insert(name.clone(), (asked, used, *limit));
            }
        }
        if over.is_empty() {
            continue;
        }
        let list = |pick: fn(&(i64, i64, i64)) -> i64| {
            let parts: Vec<String> = over
                .iter()
                .map(|(name, amounts)| format!("{name}={}", format(name, pick(amounts))))
                .collect();
            parts.join(",")
        };
        let why = format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            quota
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            list(|amounts| amounts.0),
            list(|amounts| amounts.1),
            list(|amounts| amounts.2),
        );
        let subject = serve::status::Subject {
            name: object.name(),
            ..call.subject()
        };
        return Err(Status::forbidden(subject, &why));
    }
    if !call.options.dry_run {
        entries.push(Entry {
            at: now,
            collection: Arc::clone(&call.served.resource.collection),
            uid: object.uid().to_owned(),
            object,
        });
    }
    Ok(())
}

fn used(resource: &str, call: &Call, cache: &Cache, entries: &[Entry]) -> i64 {
    let mut sum = 0_i64;
    for (group, plural) in COUNTED {
        let collection = serve::cache::name_of(group, plural);
        let mut seen = BTreeSet::new();
        for record in within(cache, &collection, &call.target.namespace) {
            seen.insert(record.head().uid.to_string());
            if let Ok(object) = Object::from_value(record.value()) {
                sum = sum.saturating_add(cost(resource, group, plural, &object));
            }
        }
        let flying = entries.iter().filter(|entry| {
            *entry.collection == *collection
                && entry.object.namespace() == call.target.namespace
                && !seen.contains(&entry.uid)
        });
        for entry in flying {
            sum = sum.saturating_add(cost(resource, group, plural, &entry.object));
        }
    }
    sum
}

fn within(cache: &Cache, collection: &str, namespace: &str) -> Vec<Arc<Record>> {
    let prefix: Arc<str> = format!("{namespace}/").into();
    let snapshot = cache.collection(collection).snapshot();
    snapshot
        .objects
        .range(Arc::clone(&prefix)..)
        .take_while(|(key, _)| key.starts_with(&*prefix))
        .map(|(_, record)| Arc::clone(record))
        .collect()
}

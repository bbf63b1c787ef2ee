//! The status of quotas: what is used of what there may be.
//!
//! Reads:  quotas, and the objects of the resources they name.
//! Writes: the status of quotas. Nobody is refused by what it says; admission counts for itself.
//! Keeps:  `used` is the sum over what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use access::following::{Follower, write};
use admission::{Amounts, Quota, Quotas, resource_of};
use futures_util::future::{FutureExt, select_all};
use http::Method;
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serve::server::Server;

/// The resources a quota names.
type Names = Vec<(String, String)>;

/// Keeps every status up with what there is, until it is dropped.
pub(crate) async fn follow(server: Arc<Server>, quotas: Arc<Quotas>) {
    let mut objects = Follower::new(&server, "", "resourcequotas");
    // The resources that some quota names, each with how far it has been looked at.
    let mut followed: BTreeMap<(String, String), Follower> = BTreeMap::new();
    // The quotas there are, and what each of them names.
    let mut named: BTreeMap<String, Names> = BTreeMap::new();
    loop {
        let mut dirty: BTreeSet<String> = BTreeSet::new();
        for key in objects.changed_keys() {
            dirty.insert(key.clone());
            let resources = objects
                .collection
                .find(&key)
                .map(|record| resources(&Quota::read(&record.value())));
            match resources {
                Some(resources) => drop(named.insert(key, resources)),
                None => drop(named.remove(&key)),
            }
        }
        let wanted: BTreeSet<&(String, String)> = named.values().flatten().collect();
        followed.retain(|resource, _| wanted.contains(resource));
        for resource in wanted {
            followed
                .entry(resource.clone())
                .or_insert_with(|| Follower::new(&server, &resource.0, &resource.1));
        }
        for (resource, follower) in &mut followed {
            let namespaces: BTreeSet<String> = follower
                .changed_keys()
                .iter()
                .filter_map(|key| Some(key.split_once('/')?.0.to_owned()))
                .collect();
            let about = named.iter().filter(|(key, names)| {
                names.contains(resource)
                    && key
                        .split_once('/')
                        .is_some_and(|(namespace, _)| namespaces.contains(namespace))
            });
            dirty.extend(about.map(|(key, _)| key.clone()));
        }
        for key in dirty {
            see_to(&server, &quotas, &objects, &key).await;
        }
        let changes = followed
            .values_mut()
            .map(|follower| follower.changed().boxed());
        let changes: Vec<_> = changes.chain([objects.changed().boxed()]).collect();
        select_all(changes).await;
    }
}

async fn see_to(server: &Server, quotas: &Quotas, objects: &Follower, key: &str) {
    let Some(record) = objects.collection.find(key) else {
        return;
    };
    let head = record.head();
    let mut object = record.value();
    let quota = Quota::read(&object);
    let used = quotas.used(head.namespace, &quota);
    let status = status(&quota.hard, &used);
    if is_current(object.get("status"), &status) {
        return;
    }
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    fields.insert("status".to_owned(), status);
    let name = utf8_percent_encode(head.name, NON_ALPHANUMERIC);
    let path = format!(
        "/api/v1/namespaces/{}/resourcequotas/{name}/status",
        head.namespace
    );
    write(server, Method::PUT, &path, &object).await;
}

/// The resources whose objects a quota counts.
fn resources(quota: &Quota) -> Names {
    let mut resources: Names = quota
        .hard
        .keys()
        .filter_map(|name| resource_of(name))
        .map(|(group, resource)| (group.to_owned(), resource.to_owned()))
        .collect();
    resources.sort();
    resources.dedup();
    resources
}

fn status(hard: &Amounts, used: &Amounts) -> Value {
    json!({"hard": hard, "used": used})
}

/// Whether a status says the same, however it writes its amounts.
fn is_current(current: Option<&Value>, wanted: &Value) -> bool {
    ["hard", "used"].into_iter().all(|part| {
        let read = |status: Option<&Value>| {
            admission::read_amounts(status.and_then(|status| status.get(part)))
        };
        current.is_some_and(|current| current.get(part).is_some())
            && read(current) == read(Some(wanted))
    })
}

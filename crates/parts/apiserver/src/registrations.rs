//! The APIServices: everything that is served is registered, and of other servers it is told that nobody asks them.
//!
//! Reads:  the table of what is served, APIServices.
//! Writes: APIServices of what is served, and the condition `Available` of all.
//! Keeps:  what others registered stays as they wrote it, and nothing is served because of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::following::write;
use futures_util::future::{join_all, pending};
use http::{Method, Response};
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use serve::body::{self, Body};
use serve::cache::name_of;
use serve::discovery::version_rank;
use serve::negotiate::Encoding;
use serve::resource::Table;
use serve::server::Server;
use serve::status::Status;
use tokio::sync::watch;

const GROUP: &str = "apiregistration.k8s.io";
const RESOURCE: &str = "apiservices";
/// Marks those that come and go with what is served.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// Groups of users' kinds have this priority, built-in ones more.
const CUSTOM_GROUP: u32 = 1_000;
/// The most a group may ask for.
const MOST_PRIORITY: u32 = 20_000;
/// How many are written at once: enough to share the store's syncs.
const BATCH: usize = 64;

/// What is registered for a version of a group.
#[derive(Clone, Debug, PartialEq)]
struct Registration {
    is_custom: bool,
    spec: Value,
}

/// One write.
#[derive(Debug, PartialEq)]
struct Step {
    method: Method,
    /// The object and its part, if it is there already.
    below: String,
    body: Value,
}

/// Keeps the APIServices as what is served comes and goes, until it is dropped. `tables` tells of every new table, and is
/// true from the first one on that has all definitions in it.
pub(crate) async fn follow(server: Arc<Server>, mut tables: watch::Receiver<bool>) {
    let services = server.cache().collection(&name_of(GROUP, RESOURCE));
    let mut arrivals = services.arrivals();
    // Before that, what users defined would look as if it were gone.
    let mut is_current = tables.wait_for(|is_whole| *is_whole).await.is_ok();
    while is_current {
        tables.mark_unchanged();
        arrivals.mark_unchanged();
        let snapshot = services.snapshot();
        let known = snapshot.objects.values().map(|record| record.value());
        let steps = steps(
            &registrations(&server.table()),
            known.collect(),
            &server.now().to_string(),
        );
        for batch in steps.chunks(BATCH) {
            join_all(batch.iter().map(|step| carry_out(&server, step))).await;
        }
        is_current = tokio::select! {
            changed = arrivals.changed() => changed.is_ok(),
            changed = tables.changed() => changed.is_ok(),
        };
    }
    // What is followed is gone, and this process with it.
    pending().await
}

/// What is answered below `/apis/GROUP/VERSION` instead of "not found": that another server should be asked, and is not.
pub(crate) fn unavailable(server: &Server, path: &str) -> Option<Response<Body>> {
    let mut parts = path.strip_prefix("/apis/")?.split('/');
    let (group, version) = (parts.next()?, parts.next()?);
    let name = format!("{version}.{group}");
    let services = server.cache().collection(&name_of(GROUP, RESOURCE));
    let service = services.find(&name)?.value();
    if !names_server(&service) || registrations(&server.table()).contains_key(&name) {
        return None;
    }
    let status = Status::unavailable(
        format!(
            "the server is currently unable to handle the request: the APIService {name} names a service, and {ALONE}"
        ),
        None,
    );
    Some(body::refusal(&status, Encoding::Json))
}

const ALONE: &str = "this control plane does not aggregate other API servers";

async fn carry_out(server: &Server, step: &Step) {
    let path = format!("/apis/{GROUP}/v1/{RESOURCE}{}", step.below);
    write(server, step.method.clone(), &path, &step.body).await;
}

/// All versions that are served, by the names of their APIServices.
fn registrations(table: &Table) -> BTreeMap<String, Registration> {
    let mut groups: BTreeMap<&str, (u32, Vec<&str>)> = BTreeMap::new();
    for resource in table.iter() {
        let (priority, versions) = groups.entry(&resource.group).or_default();
        *priority = resource.group_priority.max(*priority);
        for version in resource.versions.iter().filter(|version| version.served) {
            if !versions.contains(&&*version.name) {
                versions.push(&version.name);
            }
        }
    }
    let mut found = BTreeMap::new();
    for (group, (priority, mut versions)) in groups {
        versions.sort_by_cached_key(|name| version_rank(name));
        let is_custom = priority <= CUSTOM_GROUP;
        for (place, version) in versions.into_iter().enumerate() {
            // Upstream: these numbers for the core group, for custom ones, whose order is that of their names, and for
            // the versions of others.
            let rank = match (group, is_custom) {
                ("", _) => 1,
                (_, true) => 100,
                _ => 15 * (place + 1),
            };
            let spec = json!({
                "group": group, "version": version, "versionPriority": rank,
                "groupPriorityMinimum": priority.clamp(1, MOST_PRIORITY),
            });
            let registration = Registration { is_custom, spec };
            found.insert(format!("{version}.{group}"), registration);
        }
    }
    found
}

/// What is left to write.
fn steps(served: &BTreeMap<String, Registration>, known: Vec<Value>, now: &str) -> Vec<Step> {
    let mut missing = served.clone();
    // Upstream: whoever keeps the list is not in it.
    missing.retain(|_, registration| registration.spec["group"] != GROUP);
    let mut steps = Vec::new();
    for mut service in known {
        let name = text(&service["metadata"]["name"]).to_owned();
        missing.remove(&name);
        if !service["metadata"]["deletionTimestamp"].is_null() {
            continue;
        }
        let below = format!("/{}", utf8_percent_encode(&name, NON_ALPHANUMERIC));
        let is_managed = !service["metadata"]["labels"][MANAGED].is_null();
        let registration = served.get(&name);
        match registration {
            None if is_managed => {
                let uid = &service["metadata"]["uid"];
                let body = json!({
                    "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
                });
                steps.push(Step {
                    method: Method::DELETE,
                    below,
                    body,
                });
                continue;
            }
            // One that names a server is somebody's, who would write it again; it does no harm.
            Some(registration)
                if is_managed
                    && !names_server(&service)
                    && !has_all(&service["spec"], &registration.spec) =>
            {
                service["spec"] = registration.spec.clone();
                steps.push(Step {
                    method: Method::PUT,
                    below,
                    body: service,
                });
                continue;
            }
            _ => {}
        }
        if let Some(conditions) = judged(&service, registration.is_some(), now) {
            service["status"] = json!({"conditions": conditions});
            steps.push(Step {
                method: Method::PUT,
                below: format!("{below}/status"),
                body: service,
            });
        }
    }
    steps.extend(missing.into_iter().map(|(name, registration)| {
        // Upstream: the words for what comes with the server and for what comes with a definition.
        let label = if registration.is_custom {
            "true"
        } else {
            "onstart"
        };
        let body = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "APIService",
            "metadata": {"name": name, "labels": {MANAGED: label}}, "spec": registration.spec,
        });
        Step {
            method: Method::POST,
            below: String::new(),
            body,
        }
    }));
    steps
}

/// The conditions of an APIService with what is to be said of it; `None` if it is said.
fn judged(service: &Value, is_served: bool, now: &str) -> Option<Vec<Value>> {
    let (status, reason, message) = match (names_server(service), is_served) {
        (false, _) => (
            "True",
            "Local",
            "Local APIServices are always available".to_owned(),
        ),
        (true, true) => (
            "True",
            "Local",
            "this control plane serves the group version itself, and does not ask the service"
                .to_owned(),
        ),
        (true, false) => (
            "False",
            "NotAggregated",
            format!("{ALONE}: requests for the group version are answered with 503"),
        ),
    };
    let conditions = service["status"]["conditions"].as_array();
    let mut conditions = conditions.cloned().unwrap_or_default();
    let mut since = now.to_owned();
    let place = conditions
        .iter()
        .position(|condition| condition["type"] == "Available");
    if let Some(place) = place {
        let old = conditions.remove(place);
        if old["status"] == status && old["reason"] == reason && old["message"] == *message {
            return None;
        }
        if let (true, Some(time)) = (old["status"] == status, old["lastTransitionTime"].as_str()) {
            time.clone_into(&mut since);
        }
    }
    conditions.push(json!({
        "type": "Available", "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
    }));
    Some(conditions)
}

/// Whether requests are meant for another server.
fn names_server(service: &Value) -> bool {
    !service["spec"]["service"].is_null()
}

fn has_all(spec: &Value, wanted: &Value) -> bool {
    let fields = wanted.as_object().into_iter().flatten();
    // The core group may be said by saying nothing.
    let mut fields = fields.filter(|(_, value)| *value != "");
    fields.all(|(name, value)| spec[name.as_str()] == *value)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn served(list: &[(&str, &str)]) -> BTreeMap<String, Registration> {
        let entry = |&(group, version): &(&str, &str)| {
            let registration = Registration {
                is_custom: group.ends_with(".example"),
                spec: json!({"group": group, "version": version, "versionPriority": 15, "groupPriorityMinimum": 17_000}),
            };
            (format!("{version}.{group}"), registration)
        };
        list.iter().map(entry).collect()
    }

    fn service(name: &str, label: Value, spec: Value, available: &str) -> Value {
        let (version, group) = name.split_once('.').unwrap();
        let mut service = json!({
            "metadata": {"name": name, "uid": "u", "labels": {MANAGED: label}},
            "spec": {"group": group, "version": version, "versionPriority": 15, "groupPriorityMinimum": 17_000},
        });
        for (field, value) in spec.as_object().unwrap() {
            service["spec"][field] = value.clone();
        }
        if let Some((status, reason)) = available.split_once(' ') {
            let conditions = judged(&service, reason == "Local", "2025-01-01T00:00:00Z").unwrap();
            assert_eq!(conditions[0]["status"], status);
            service["status"] = json!({"conditions": conditions});
        }
        service
    }

    /// `METHOD place` and what is said, for each step.
    fn told(served: &BTreeMap<String, Registration>, known: Value) -> Vec<String> {
        let step = |step: Step| {
            let conditions = &step.body["status"]["conditions"][0];
            let said = match (&step.method, step.below.ends_with("status")) {
                (&Method::DELETE, _) => step.body["preconditions"].to_string(),
                (_, true) => format!(
                    "{} {} since {}",
                    text(&conditions["status"]),
                    text(&conditions["reason"]),
                    text(&conditions["lastTransitionTime"])
                ),
                _ => format!(
                    "{} {}",
                    step.body["metadata"]["labels"][MANAGED], step.body["spec"]["versionPriority"]
                ),
            };
            format!("{} {} {said}", step.method, step.below)
        };
        let steps = steps(served, vec![known], NOW);
        steps.into_iter().map(step).collect()
    }

    #[test]
    fn what_is_served_is_registered_and_what_others_register_is_judged() {
        let elsewhere = || json!({"service": {"namespace": "a", "name": "b"}});
        let known_true = "True Local";
        for (claim, known, expected) in [
            (
                "what comes with the server is to be told",
                service("v1.apps", json!("onstart"), json!({}), ""),
                "PUT /v1%2Eapps/status True Local since 2026-01-01T00:00:00Z",
            ),
            (
                "what is right is left alone",
                service("v1.apps", json!("onstart"), json!({}), known_true),
                "",
            ),
            (
                "what was changed is put back",
                service(
                    "v1.apps",
                    json!("onstart"),
                    json!({"versionPriority": 1}),
                    known_true,
                ),
                "PUT /v1%2Eapps \"onstart\" 15",
            ),
            (
                "what is somebody's own is not",
                service(
                    "v1.apps",
                    json!(null),
                    json!({"versionPriority": 1}),
                    known_true,
                ),
                "",
            ),
            (
                "a server named for what is served here is not asked, and that is told",
                service("v1.apps", json!("onstart"), elsewhere(), ""),
                "PUT /v1%2Eapps/status True Local since 2026-01-01T00:00:00Z",
            ),
            (
                "a server named for something else is not there",
                service("v1.away", json!(null), elsewhere(), ""),
                "PUT /v1%2Eaway/status False NotAggregated since 2026-01-01T00:00:00Z",
            ),
            (
                "once told is enough",
                service("v1.away", json!(null), elsewhere(), "False NotAggregated"),
                "",
            ),
            (
                "what is no longer served goes",
                service("v1.gone.example", json!("true"), json!({}), known_true),
                "DELETE /v1%2Egone%2Eexample {\"uid\":\"u\"}",
            ),
            (
                "unless it is somebody's own",
                service("v1.gone.example", json!(null), json!({}), known_true),
                "",
            ),
        ] {
            let name = text(&known["metadata"]["name"]).to_owned();
            let mut there = served(&[("apps", "v1")]);
            there.retain(|served, _| *served == name);
            assert_eq!(told(&there, known).join("; "), expected, "{claim}");
        }
    }

    #[test]
    fn what_is_missing_is_made_but_for_the_list_itself() {
        let there = served(&[
            ("", "v1"),
            ("apps", "v1"),
            ("shop.example", "v1"),
            (GROUP, "v1"),
        ]);
        let known = service("v1.apps", json!("onstart"), json!({}), "True Local");
        assert_eq!(
            told(&there, known),
            ["POST  \"onstart\" 15", "POST  \"true\" 15"]
        );
    }

    #[test]
    fn the_time_of_a_condition_is_when_its_status_changed() {
        let mut known = service("v1.apps", json!("onstart"), json!({}), "True Local");
        known["spec"]["service"] = json!({"namespace": "a", "name": "b"});
        assert_eq!(
            told(&served(&[("apps", "v1")]), known.clone()),
            ["PUT /v1%2Eapps/status True Local since 2025-01-01T00:00:00Z"]
        );
        assert_eq!(
            told(&BTreeMap::new(), {
                known["metadata"]["labels"] = json!({});
                known
            }),
            ["PUT /v1%2Eapps/status False NotAggregated since 2026-01-01T00:00:00Z"]
        );
    }
}

//! One writer for each field, as the table in ARCHITECTURE.md says: seen in the field owners of what the whole pipeline wrote.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use client::{Caches, Detail, Scope};
use object::time::Time;
use object::{Object, Value};
use runtime::{Clock, Tasks};
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, all, config_map, deployment, divided, on, overriding,
    policy,
};

/// The paths below which each manager owns fields, as deep as `depth`.
fn owners(object: &Object, depth: usize) -> BTreeMap<String, Vec<String>> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let entries = object
        .at(&["metadata", "managedFields"])
        .and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let manager = entry["manager"].as_str().unwrap_or_default();
        let mut paths = Vec::new();
        walk(&entry["fieldsV1"], String::new(), depth, &mut paths);
        for path in paths {
            let writers = owners.entry(path).or_default();
            if !writers.iter().any(|known| known == manager) {
                writers.push(manager.to_owned());
            }
        }
    }
    owners
}

fn walk(fields: &Value, path: String, depth: usize, paths: &mut Vec<String>) {
    let below: Vec<(&String, &Value)> = fields
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != ".")
        .collect();
    if depth == 0 || below.is_empty() {
        paths.push(path);
        return;
    }
    for (name, inner) in below {
        let name = name.strip_prefix("f:").unwrap_or(name);
        let path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path} {name}")
        };
        walk(inner, path, depth - 1, paths);
    }
}

/// Sees to it that the fields below each prefix have exactly these writers.
fn check(object: &Object, depth: usize, expected: &[(&str, &[&str])]) {
    let found = owners(object, depth);
    for (path, writers) in &found {
        let row = expected
            .iter()
            .filter(|(prefix, _)| path.starts_with(prefix))
            .max_by_key(|(prefix, _)| prefix.len());
        let Some((_, allowed)) = row else {
            panic!(
                "{} {}: nobody should write {path}, but {writers:?} did",
                object.kind(),
                object.key()
            );
        };
        for writer in writers {
            assert!(
                allowed.contains(&writer.as_str()),
                "{} {}: {path} was written by {writer}, not by {allowed:?}",
                object.kind(),
                object.key()
            );
        }
        assert_eq!(
            writers.len(),
            1,
            "{} {}: {path} has several writers {writers:?}",
            object.kind(),
            object.key()
        );
    }
}

/// Who wrote which condition of bindings, as seen at each write: `FullyApplied by karmada-controller-manager`.
fn watch_conditions(stage: &Stage, tasks: &Tasks) -> (Arc<Mutex<Vec<String>>>, impl Sized) {
    let written: Arc<Mutex<Vec<String>>> = Arc::default();
    let clock = Clock::tied(Time::from_unix_seconds(0));
    let caches = Caches::new(stage.client().clone(), tasks.spawner(), clock);
    let resource = object::ResourceType::namespaced(
        "work.karmada.io",
        "v1alpha2",
        "ResourceBinding",
        "resourcebindings",
    );
    let cache = caches.follow(&resource, Scope::all().keeping(Detail::Whole));
    let noting = Arc::clone(&written);
    let subscription = cache.on_change(move |change| {
        let conditions = |object: &Option<Arc<Object>>| {
            let list = object
                .as_ref()
                .and_then(|object| object.at(&["status", "conditions"]).cloned());
            let list = list.and_then(|list| list.as_array().cloned());
            let named = list.into_iter().flatten().map(|condition| {
                let name = condition["type"].as_str().unwrap_or_default().to_owned();
                (name, condition)
            });
            named.collect::<BTreeMap<String, Value>>()
        };
        let (before, after) = (conditions(&change.before), conditions(&change.after));
        let Some(object) = &change.after else {
            return;
        };
        // A write that changes the list takes it over, so whoever has it afterwards wrote.
        let writers = owners(object, 2).remove("status conditions");
        let writers = writers.unwrap_or_default().join(" and ");
        for (name, condition) in &after {
            if before.get(name) != Some(condition) {
                noting.lock().unwrap().push(format!("{name} by {writers}"));
            }
        }
    });
    (written, (cache, subscription))
}

#[tokio::test(start_paused = true)]
async fn every_field_has_one_writer() {
    let stage = Stage::with(2).await;
    let web = stage.template("deployments", "test/web");
    let tasks = Tasks::new();
    let (written, _watch) = watch_conditions(&stage, &tasks);
    stage
        .apply(&all(&[
            overriding(
                "op",
                DEPLOYMENTS,
                "m1",
                "{labelsOverrider: [{operator: add, value: {o: p}}]}",
            ),
            config_map("settings", "{a: b}"),
            deployment("web", 3).replacen(
                "name: web, image:",
                "name: web, envFrom: [{configMapRef: {name: settings}}], image:",
                1,
            ),
            policy(
                "p",
                DEPLOYMENTS,
                &format!("propagateDeps: true, {}", divided(&[("m1", 1), ("m2", 2)])),
            ),
        ]))
        .await;
    web.shows("status.readyReplicas", 3).await;
    stage
        .copy("m2", "configmaps", "test/settings")
        .comes()
        .await;
    // Everything that can be written again is: an edit, another placement, a claim of what was only referred to.
    web.patch(json!({"spec": {"replicas": 6}})).await;
    web.shows("status.readyReplicas", 6).await;
    stage.apply(&policy("q", CONFIG_MAPS, &on("m1"))).await;
    stage
        .until("the ConfigMap is claimed", SOON, async || {
            stage.claim("configmaps", "test/settings").await == json!("pp/q")
        })
        .await;
    stage.advance(SOON).await;

    let manager = "karmada-controller-manager";
    let template = web.found().await;
    check(
        &template,
        3,
        &[
            ("metadata annotations propagationpolicy", &[manager]),
            ("metadata labels propagationpolicy", &[manager]),
            ("status", &[manager]),
            ("spec", &["test"]),
        ],
    );
    for name in ["test/web-deployment", "test/settings-configmap"] {
        let binding = stage.template("rb", name).found().await;
        check(
            &binding,
            3,
            &[
                ("metadata", &[manager]),
                (
                    "metadata annotations policy.karmada.io/applied-placement",
                    &["karmada-scheduler"],
                ),
                ("spec", &[manager]),
                ("spec clusters", &["karmada-scheduler"]),
                ("status aggregatedStatus", &[manager]),
                // One list for the API, whose schema is the reference's; each condition has one writer, as seen below.
                ("status conditions", &[manager, "karmada-scheduler"]),
                ("status", &["karmada-scheduler"]),
            ],
        );
    }
    let mut conditions = written.lock().unwrap().clone();
    conditions.sort();
    conditions.dedup();
    assert_eq!(
        conditions,
        [
            format!("FullyApplied by {manager}"),
            "Scheduled by karmada-scheduler".to_owned(),
        ]
    );
    for work in stage.works_of("Deployment", "web").await {
        check(
            &work,
            1,
            &[
                ("metadata", &[manager]),
                ("spec", &[manager]),
                ("status", &["execution-controller"]),
            ],
        );
    }
    for cluster in ["m1", "m2"] {
        let copy = stage.copy(cluster, "deployments", "test/web").found().await;
        for (path, writers) in owners(&copy, 1) {
            if path == "spec" {
                assert_eq!(writers, ["karavel"], "only one writes to members");
            }
        }
    }
}

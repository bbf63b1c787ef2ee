//! What Deployments decide, as tables: how large each ReplicaSet is to be next.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use super::plan::{Inputs, plan};
use crate::engine::action::Action;

const START: i64 = 1_800_000_000;

fn at(second: i64) -> Time {
    Time::from_unix_seconds(START + second)
}

/// A ReplicaSet of a template: how many it wants, how many are available.
fn set(image: &str, wanted: i64, available: i64, replicas: i64, surge: i64) -> Arc<Object> {
    let set = json!({
        "metadata": {
            "name": format!("web-{image}"), "namespace": "d", "uid": image,
            "annotations": {
                "deployment.kubernetes.io/revision": image,
                "deployment.kubernetes.io/desired-replicas": replicas.to_string(),
                "deployment.kubernetes.io/max-replicas": (replicas + surge).to_string(),
            },
        },
        "spec": {"replicas": wanted, "template": template(image)},
        "status": {"replicas": wanted, "readyReplicas": available, "availableReplicas": available},
    });
    Arc::new(Object::from_value(set).unwrap())
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"image": image}})
}

fn deployment(replicas: i64, image: &str, further: Value) -> Object {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "d", "uid": "d", "generation": 1,
            "annotations": {"deployment.kubernetes.io/revision": image},
        },
        "spec": {"replicas": replicas, "template": template(image), "selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 1},
    });
    for (name, value) in further.as_object().into_iter().flatten() {
        deployment["spec"][name] = value.clone();
    }
    Object::from_value(deployment).unwrap()
}

/// Sizes that change, sets that are made or go, in short.
fn check(deployment: &Object, sets: &[Arc<Object>], pods_left: usize) -> String {
    let sets: Vec<&Arc<Object>> = sets.iter().collect();
    let plan = plan(&Inputs {
        deployment,
        sets: &sets,
        pods_of: &|_| pods_left,
        now: at(0),
    });
    let name = |path: &str| path.rsplit("web-").next().unwrap().to_owned();
    let mut shown = Vec::new();
    for action in &plan.actions {
        match action {
            Action::Create { object, .. } => {
                shown.push(format!("new={}", object["spec"]["replicas"]))
            }
            Action::Merge { of, patch, .. } => {
                if let Some(size) = patch.pointer("/spec/replicas") {
                    shown.push(format!("{}={size}", name(&of.path)));
                }
            }
            Action::Delete { of, .. } => shown.push(format!("-{}", name(&of.path))),
            _ => {}
        }
    }
    shown.join(" ")
}

/// Sets of a Deployment of four pods, as `image:pods/available` each.
fn sets(text: &str, surge: i64) -> Vec<Arc<Object>> {
    let sets = text.split_whitespace().map(|one| {
        let (image, pods) = one.split_once(':').unwrap();
        let (pods, available) = pods.split_once('/').unwrap();
        set(
            image,
            pods.parse().unwrap(),
            available.parse().unwrap(),
            4,
            surge,
        )
    });
    sets.collect()
}

#[test]
fn one_revision_takes_over_from_another_within_the_bounds() {
    let rolling = |surge: Value, unavailable: Value| json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}});
    let usual = (rolling(json!("25%"), json!("25%")), 1);
    let one = (rolling(json!(1), json!(0)), 1);
    let none = (rolling(json!(0), json!(1)), 0);
    for (strategy, there, expected) in [
        // The first one comes at once and whole; a further one as far as the surge allows.
        (&usual, "", "new=4"),
        (&usual, "1:4/4", "new=1"),
        (&none, "1:4/4", "new=0"),
        // The new one has grown as far as it may: the old one shrinks as far as availability allows.
        (&usual, "1:4/4 2:1/0", "1=3"),
        (&one, "1:4/4 2:1/0", ""),
        (&one, "1:4/4 2:1/1", "1=3"),
        (&one, "1:3/3 2:1/1", "2=2"),
        (&none, "1:4/4 2:0/0", "1=3"),
        (&none, "1:3/3 2:0/0", "2=1"),
        // Old ones that do not work go first, even when nothing else may.
        (&one, "1:4/2 2:1/0", ""),
        (&usual, "1:3/0 2:2/2", "1=1"),
        // The last step.
        (&usual, "1:1/1 2:4/4", "1=0"),
        (&usual, "1:0/0 2:4/4", ""),
    ] {
        let (strategy, surge) = strategy;
        let image = if there.is_empty() { "1" } else { "2" };
        let deployment = deployment(4, image, strategy.clone());
        let found = check(&deployment, &sets(there, *surge), 0);
        assert_eq!(found, expected, "{strategy}: {there}");
    }
}

#[test]
fn recreation_waits_until_the_last_old_pod_is_gone() {
    let recreate = json!({"strategy": {"type": "Recreate"}});
    let wanted = deployment(2, "2", recreate);
    for (sets, pods_left, expected) in [
        (vec![set("1", 2, 2, 2, 0)], 2, "1=0 new=0"),
        (vec![set("1", 0, 0, 2, 0), set("2", 0, 0, 2, 0)], 1, ""),
        (vec![set("1", 0, 0, 2, 0), set("2", 0, 0, 2, 0)], 0, "2=2"),
    ] {
        assert_eq!(
            check(&wanted, &sets, pods_left),
            expected,
            "{} sets",
            sets.len()
        );
    }
}

#[test]
fn scaling_alone_is_shared_in_proportion_and_pausing_stops_rollouts() {
    let wide = json!({"strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 2}}});
    let mut paused = wide.clone();
    paused["paused"] = json!(true);
    for (replicas, further, sets, expected) in [
        (6, &wide, vec![set("2", 4, 4, 4, 2)], "2=6"),
        (0, &wide, vec![set("2", 4, 4, 4, 2)], "2=0"),
        // Ten and two more were wanted, twenty and two are: the two that are there grow as they are.
        (
            20,
            &wide,
            vec![set("1", 8, 8, 10, 2), set("2", 4, 4, 10, 2)],
            "1=15 2=7",
        ),
        (4, &paused, vec![set("1", 4, 4, 4, 2)], ""),
        (6, &paused, vec![set("1", 4, 4, 4, 2)], "1=6"),
    ] {
        let deployment = deployment(replicas, "2", further.clone());
        assert_eq!(
            check(&deployment, &sets, 0),
            expected,
            "{replicas} {further}"
        );
    }
}

#[test]
fn old_revisions_beyond_the_limit_go_when_a_rollout_is_complete() {
    let sets: Vec<Arc<Object>> = ["1", "2", "3"]
        .into_iter()
        .map(|image| set(image, 0, 0, 1, 1))
        .chain([set("4", 1, 1, 1, 1)])
        .collect();
    let keep = |limit: i64| deployment(1, "4", json!({"revisionHistoryLimit": limit}));
    assert_eq!(check(&keep(1), &sets, 0), "-1 -2");
    assert_eq!(check(&keep(3), &sets, 0), "");
    let unfinished = [set("1", 0, 0, 1, 1), set("4", 1, 0, 1, 1)];
    assert_eq!(check(&keep(0), &unfinished, 0), "");
}

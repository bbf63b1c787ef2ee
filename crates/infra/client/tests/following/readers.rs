//! Those who read what is held: many of them, by index, by namespace, and no more than they asked for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use karavel_client::{Caches, Client, Detail, Scope};
use object::ObjectKey;
use runtime::{Clock, Queue, Tasks};
use serde_json::json;

use crate::follower::{Watched, pass, pod, pods, shown};
use crate::script::{Answer, Script};

#[tokio::test(start_paused = true)]
async fn one_watch_serves_all_who_ask_and_ends_with_the_last_of_them() {
    let script = Script::default();
    script.then(Answer::watch().added(&pod("a@1")).initial_end(3).hanging());
    let tasks = Tasks::new();
    let client = Client::in_process(script.clone());
    let caches = Caches::new(client, tasks.spawner(), Clock::system());
    let one = caches.follow(&pods(), Scope::all());
    let other = caches.follow(&pods(), Scope::all());
    other.synced().await;
    let key = ObjectKey::namespaced("n", "a");
    assert!(Arc::ptr_eq(
        &one.get(&key).unwrap(),
        &other.get(&key).unwrap()
    ));
    assert_eq!(script.asked().len(), 1);
    // Another scope is another watch.
    let metadata = caches.follow(&pods(), Scope::all().keeping(Detail::Metadata));
    pass(1).await;
    assert_eq!(script.asked().len(), 2);
    drop((one, other, metadata));
    let again = caches.follow(&pods(), Scope::all());
    pass(1).await;
    assert_eq!(script.asked().len(), 3);
    assert!(!again.is_synced());
}

#[tokio::test(start_paused = true)]
async fn somebody_who_comes_late_is_told_of_everything_once() {
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&pod("a@1"))
            .added(&pod("b@2"))
            .initial_end(3)
            .pause(10)
            .event("MODIFIED", &pod("b@4"))
            .hanging(),
    );
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    let late = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&late);
    let subscription = watched
        .cache
        .on_change(move |change| log.lock().unwrap().push(shown(change)));
    pass(11).await;
    assert_eq!(late.lock().unwrap().join(" "), "+a@1 +b@2 ~b@4");
    drop(subscription);
    assert_eq!(watched.told(), "+a@1 +b@2 ~b@4");
}

/// After a restart everything is looked at, and what nobody may have looked at before comes first.
#[tokio::test(start_paused = true)]
async fn of_what_was_there_before_the_newest_is_looked_at_first() {
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&pod("a@1"))
            .added(&pod("b@9"))
            .added(&pod("c@5"))
            .initial_end(9)
            .pause(1)
            .event("MODIFIED", &pod("a@10"))
            .hanging(),
    );
    let watched = Watched::start(&script);
    let (early, late) = (Queue::default(), Queue::default());
    let adding = |queue: &Queue<String>| {
        let queue = queue.clone();
        watched
            .cache
            .on_change(move |change| queue.add(change.key().name))
    };
    let _early = adding(&early);
    watched.cache.synced().await;
    let _late = adding(&late);
    for queue in [&early, &late] {
        assert_eq!(queue.take().await.unwrap().key(), "b");
    }
    pass(2).await;
    for queue in [&early, &late] {
        let changed = queue.take().await.unwrap();
        assert_eq!(changed.key(), "a", "a change comes before all of them");
        assert_eq!(queue.take().await.unwrap().key(), "c");
    }
}

#[tokio::test(start_paused = true)]
async fn who_looks_back_at_everything_finds_the_newest_first() {
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&pod("a@1"))
            .added(&pod("b@9"))
            .added(&pod("c@5"))
            .initial_end(9)
            .hanging(),
    );
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    let queue = Queue::default();
    let namespace = watched.cache.list()[0].namespace().to_owned();
    watched
        .cache
        .look_back(&namespace, |key| queue.add(key.name));
    watched
        .cache
        .look_back("another", |key| queue.add(key.name));
    queue.add("now".to_owned());
    for expected in ["now", "b", "c", "a"] {
        assert_eq!(queue.take().await.unwrap().key(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn indexes_follow_the_objects() {
    fn by_node(object: &object::Object) -> Vec<String> {
        let node = object.text_at(&["spec", "nodeName"]);
        node.into_iter().map(str::to_owned).collect()
    }
    let on = |text: &str, node: &str| {
        let mut pod = pod(text);
        pod["spec"] = json!({"nodeName": node});
        pod
    };
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&on("a@1", "x"))
            .added(&on("b@2", "x"))
            .initial_end(3)
            .pause(1)
            .event("MODIFIED", &on("a@4", "y"))
            .pause(1)
            .event("DELETED", &on("b@5", "x"))
            .hanging(),
    );
    let watched = Watched::start(&script);
    watched.cache.index_by("node", by_node);
    watched.cache.synced().await;
    let names = |node: &str| {
        let found = watched.cache.indexed("node", node);
        found
            .iter()
            .map(|object| object.name().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!((names("x").as_str(), names("y").as_str()), ("a b", ""));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!((names("x").as_str(), names("y").as_str()), ("b", "a"));
    let is_on = |node, name| {
        let key = ObjectKey::namespaced("n", name);
        watched.cache.is_indexed("node", node, &key)
    };
    assert!(is_on("x", "b") && is_on("y", "a"));
    assert!(!is_on("x", "a") && !is_on("z", "b") && !is_on("x", "c"));
    // An index that is made later knows what is there.
    watched.cache.index_by("again", by_node);
    assert_eq!(watched.cache.indexed("again", "y").len(), 1);
    pass(1).await;
    assert_eq!((names("x").as_str(), names("y").as_str()), ("", "a"));
    assert!(watched.cache.indexed("none", "x").is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_may_look_into_the_cache() {
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&pod("a@1"))
            .added(&pod("b@2"))
            .initial_end(3)
            .pause(1)
            .event("MODIFIED", &pod("a@4"))
            .hanging(),
    );
    let watched = Watched::start(&script);
    watched
        .cache
        .index_by("name", |object| vec![object.name().to_owned()]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, cache) = (Arc::clone(&seen), watched.cache.clone());
    let subscription = watched.cache.on_change(move |change| {
        let key = change.key();
        let found = cache.indexed("name", &key.name);
        let revision = cache.get(&key).unwrap().resource_version().to_owned();
        log.lock().unwrap().push((key.name, found.len(), revision));
    });
    watched.cache.synced().await;
    pass(2).await;
    let expected = [("a", 1, "1"), ("b", 1, "2"), ("a", 1, "4")]
        .map(|(name, found, revision)| (name.to_owned(), found, revision.to_owned()));
    assert_eq!(*seen.lock().unwrap(), expected);
    drop(subscription);
}

#[tokio::test(start_paused = true)]
async fn only_what_was_asked_for_is_kept() {
    let full = json!({
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "labels": {"x": "y"}, "managedFields": [],
                     "finalizers": ["f"]},
        "spec": {},
    });
    for (detail, kept) in [
        (
            Detail::Whole,
            "apiVersion kind metadata spec: name uid resourceVersion labels managedFields finalizers",
        ),
        (
            Detail::WithoutManagedFields,
            "apiVersion kind metadata spec: name uid resourceVersion labels finalizers",
        ),
        (
            Detail::Identity,
            "apiVersion kind metadata: name uid resourceVersion finalizers",
        ),
    ] {
        let script = Script::default();
        script.then(Answer::watch().added(&full).initial_end(2).hanging());
        let watched = Watched::start_with(&script, Scope::all().keeping(detail));
        watched.cache.synced().await;
        let held = watched.cache.list().remove(0);
        let names = |fields: &object::Map| fields.keys().cloned().collect::<Vec<_>>().join(" ");
        let metadata = held.at(&["metadata"]).unwrap().as_object().unwrap();
        assert_eq!(
            format!("{}: {}", names(held.fields()), names(metadata)),
            kept
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_read_without_the_others() {
    let script = Script::default();
    let place = |namespace: &str, name: &str| json!({"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}});
    let mut answer = Answer::watch();
    for (namespace, name) in [("a", "x"), ("b", "x"), ("b", "y"), ("b-c", "z")] {
        answer = answer.added(&place(namespace, name));
    }
    script.then(answer.initial_end(2).hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    assert_eq!(watched.cache.in_namespace("b").len(), 2);
    assert_eq!(watched.cache.in_namespace("c").len(), 0);
    let complete = watched.cache.complete().unwrap();
    assert_eq!(complete.in_namespace("b-c").len(), 1);
    assert_eq!(complete.objects().count(), 4);
}

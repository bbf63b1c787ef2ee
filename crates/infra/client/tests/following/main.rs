//! Caches against a server that does all the things servers do.

#![expect(clippy::unwrap_used, reason = "tests")]

mod script;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use karavel_client::{Cache, Caches, Change, Client, Detail, Scope, Subscription};
use object::time::Time;
use object::{ObjectKey, ResourceType};
use runtime::{Clock, Tasks};
use serde_json::{Value, json};

use crate::script::{Answer, Script};

fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

/// `name@revision`, with the name as uid; `name#uid@revision` has another.
fn pod(text: &str) -> Value {
    let (name, revision) = text.split_once('@').unwrap();
    let (name, uid) = name.split_once('#').unwrap_or((name, name));
    json!({"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": revision,
                        "managedFields": [{"manager": "somebody"}]}})
}

/// A follower of pods and what it told.
struct Watched {
    _tasks: Tasks,
    cache: Cache,
    told: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
}

impl Watched {
    fn start(script: &Script) -> Self {
        Self::start_with(script, Scope::all())
    }

    fn start_with(script: &Script, scope: Scope) -> Self {
        let tasks = Tasks::new();
        let clock = Clock::tied(Time::from_unix_seconds(0));
        let client = Client::in_process(script.clone());
        let cache = Caches::new(client, tasks.spawner(), clock).follow(&pods(), scope);
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let subscription = cache.on_change(move |change| log.lock().unwrap().push(shown(change)));
        Self {
            _tasks: tasks,
            cache,
            told,
            _subscription: subscription,
        }
    }

    /// What was told since the last call.
    fn told(&self) -> String {
        std::mem::take(&mut *self.told.lock().unwrap()).join(" ")
    }

    /// What is held.
    fn held(&self) -> String {
        let held: Vec<String> = self
            .cache
            .list()
            .iter()
            .map(|object| format!("{}@{}", object.name(), object.resource_version()))
            .collect();
        held.join(" ")
    }
}

fn shown(change: &Change) -> String {
    let sign = match (&change.before, &change.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let object = change.object();
    format!("{sign}{}@{}", object.name(), object.resource_version())
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_initial_events_is_a_list_and_a_watch() {
    let script = Script::default();
    script.then(
        Answer::watch()
            .added(&pod("a@1"))
            .added(&pod("b@2"))
            .pause(5)
            .initial_end(3)
            .event("MODIFIED", &pod("a@4"))
            .event("DELETED", &pod("b@5"))
            .added(&pod("c@6"))
            .hanging(),
    );
    let watched = Watched::start(&script);
    pass(1).await;
    // Nothing is believed before it is known that this is all.
    assert!(!watched.cache.is_synced() && watched.cache.complete().is_none());
    assert_eq!(watched.told(), "");
    watched.cache.synced().await;
    pass(1).await;
    assert_eq!(watched.told(), "+a@1 +b@2 ~a@4 -b@2 +c@6");
    assert_eq!(watched.held(), "a@4 c@6");
    assert_eq!(watched.cache.complete().unwrap().len(), 2);
    let held = watched.cache.get(&ObjectKey::namespaced("n", "a")).unwrap();
    assert_eq!((held.kind(), held.api_version()), ("Pod", "v1"));
    assert!(held.at(&["metadata", "managedFields"]).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_stream_lists_is_listed_page_by_page() {
    let script = Script::default();
    script
        .then(Answer::refuse(422, "Invalid"))
        .then(Answer::page(7, "more", &[pod("a@1")]))
        .then(Answer::page(7, "", &[pod("b@2")]))
        .then(Answer::watch().added(&pod("c@8")).hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    pass(1).await;
    assert_eq!(watched.held(), "a@1 b@2 c@8");
    assert_eq!(
        script.asked(),
        [
            "watch=true sendInitialEvents=true",
            "limit=500",
            "limit=500 continue=more",
            "watch=true resourceVersion=7",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_says_that_this_was_all_is_listed_instead() {
    let script = Script::default();
    script
        .then(Answer::watch().added(&pod("a@1")).hanging())
        .then(Answer::list(3, &[pod("a@1"), pod("b@2")]));
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    assert_eq!(watched.told(), "+a@1 +b@2");
    pass(1).await;
    assert_eq!(
        script.asked().last().unwrap(),
        "watch=true resourceVersion=3"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_ended_and_stays_complete() {
    let script = Script::default();
    script
        .then(
            Answer::watch()
                .added(&pod("a@1"))
                .initial_end(3)
                .pause(60)
                .bookmark(9),
        )
        .then(Answer::watch().event("MODIFIED", &pod("a@12")))
        .then(Answer::watch().event("MODIFIED", &pod("a@12")).hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    for _ in 0..70 {
        pass(1).await;
        assert!(watched.cache.complete().is_some());
    }
    assert_eq!(watched.told(), "+a@1 ~a@12");
    assert_eq!(
        script.asked(),
        [
            "watch=true sendInitialEvents=true",
            "watch=true resourceVersion=9",
            "watch=true resourceVersion=12",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_break_nothing_is_complete_until_the_watch_goes_on() {
    let script = Script::default();
    script
        .then(Answer::watch().added(&pod("a@1")).initial_end(3).breaking())
        .then(Answer::refuse(503, "ServiceUnavailable"))
        .then(Answer::refuse(500, "InternalError"))
        .then(Answer::watch().hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    while !script.is_done() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(watched.cache.complete().is_some(), script.is_done());
    }
    // What is held is still there to be read.
    assert_eq!(watched.held(), "a@1");
    assert_eq!(watched.told(), "+a@1");
}

#[tokio::test(start_paused = true)]
async fn falling_behind_lists_again_and_tells_the_difference() {
    for (name, answer) in [
        ("in the stream", Answer::watch().error(410, "Expired")),
        ("at once", Answer::refuse(410, "Gone")),
    ] {
        let script = Script::default();
        script
            .then(
                Answer::watch()
                    .added(&pod("a@1"))
                    .added(&pod("b@2"))
                    .added(&pod("c@3"))
                    .added(&pod("d@3"))
                    .initial_end(3),
            )
            .then(answer)
            .then(
                Answer::watch()
                    .added(&pod("a@1"))
                    .added(&pod("b@8"))
                    .added(&pod("d#other@9"))
                    .added(&pod("e@9"))
                    .initial_end(9)
                    .hanging(),
            );
        let watched = Watched::start(&script);
        pass(10).await;
        assert_eq!(
            watched.told(),
            "+a@1 +b@2 +c@3 +d@3 -c@3 ~b@8 -d@3 +d@9 +e@9",
            "{name}"
        );
        assert!(watched.cache.complete().is_some());
        assert_eq!(
            script.asked().last().unwrap(),
            "watch=true sendInitialEvents=true"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_deletes_nothing() {
    let broken: [(&str, Vec<Answer>); 3] = [
        (
            "stream",
            vec![Answer::watch().added(&pod("a@1")).breaking()],
        ),
        (
            "garbage",
            vec![Answer::watch().added(&pod("a@1")).garbage("{\"type\":\n")],
        ),
        (
            "second page",
            vec![
                Answer::refuse(400, "BadRequest"),
                Answer::page(9, "more", &[pod("a@1")]),
                Answer::refuse(500, "InternalError"),
            ],
        ),
    ];
    for (name, answers) in broken {
        let script = Script::default();
        script
            .then(
                Answer::watch()
                    .added(&pod("a@1"))
                    .added(&pod("b@2"))
                    .initial_end(3),
            )
            .then(Answer::refuse(410, "Expired"));
        for answer in answers {
            script.then(answer);
        }
        let refused = Answer::refuse(503, "ServiceUnavailable");
        script.then(refused);
        let watched = Watched::start(&script);
        while !script.is_done() {
            pass(1).await;
        }
        assert_eq!(watched.told(), "+a@1 +b@2", "{name}");
        assert_eq!(watched.held(), "a@1 b@2", "{name}");
    }
}

/// A list that breaks after it has told a revision is still half a list: going on from there would make it whole.
#[tokio::test(start_paused = true)]
async fn half_a_list_is_never_gone_on_from() {
    let ends: [(&str, Answer); 3] = [
        (
            "ended",
            Answer::watch().added(&pod("a@1")).bookmark(2).pause(2),
        ),
        (
            "broken",
            Answer::watch().added(&pod("a@1")).bookmark(2).breaking(),
        ),
        (
            "refused",
            Answer::watch()
                .added(&pod("a@1"))
                .bookmark(2)
                .error(500, "InternalError"),
        ),
    ];
    for (name, half) in ends {
        let script = Script::default();
        script.then(half).then(
            Answer::watch()
                .pause(5)
                .added(&pod("a@1"))
                .added(&pod("b@2"))
                .initial_end(3)
                .hanging(),
        );
        let watched = Watched::start(&script);
        while !watched.cache.is_synced() {
            assert!(watched.cache.complete().is_none(), "{name}");
            assert_eq!(watched.held(), "", "{name}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(watched.held(), "a@1 b@2", "{name}");
        assert!(watched.cache.complete().is_some(), "{name}");
        let again = "watch=true sendInitialEvents=true";
        assert_eq!(script.asked(), [again, again], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_every_watch_at_once_is_asked_with_pauses() {
    let script = Script::default();
    script.then(Answer::watch().added(&pod("a@1")).initial_end(3));
    for _ in 0..1_000 {
        script.then(Answer::watch());
    }
    let watched = Watched::start(&script);
    pass(60).await;
    let asked = script.asked().len();
    assert!((3..20).contains(&asked), "{asked} times in a minute");
    assert_eq!(watched.held(), "a@1");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_expires_is_fetched_with_all_the_others_at_once() {
    let script = Script::default();
    script
        .then(Answer::refuse(422, "Invalid"))
        .then(Answer::page(7, "more", &[pod("a@1"), pod("z@1")]))
        .then(Answer::refuse(410, "Expired"))
        .then(Answer::list(9, &[pod("a@1"), pod("b@8")]));
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    assert_eq!(watched.held(), "a@1 b@8");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_empty_synced_and_never_complete() {
    let script = Script::default();
    script
        .then(Answer::refuse(404, "NotFound"))
        .then(Answer::refuse(404, "NotFound"))
        .then(Answer::watch().added(&pod("a@1")).initial_end(3).hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    assert!(watched.cache.is_empty() && watched.cache.complete().is_none());
    pass(29).await;
    assert_eq!(script.asked().len(), 1);
    pass(40).await;
    assert_eq!(watched.told(), "+a@1");
    assert!(watched.cache.complete().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_vanishes_keeps_what_is_held_and_decides_nothing() {
    let script = Script::default();
    script
        .then(Answer::watch().added(&pod("a@1")).initial_end(3))
        .then(Answer::refuse(404, "NotFound"));
    let watched = Watched::start(&script);
    pass(5).await;
    assert_eq!(watched.held(), "a@1");
    assert!(watched.cache.complete().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up() {
    let script = Script::default();
    script
        .then(Answer::watch().initial_end(3).hanging())
        .then(Answer::watch().bookmark(5).hanging())
        .then(Answer::watch().added(&pod("a@6")).hanging());
    let watched = Watched::start(&script);
    pass(329).await;
    assert_eq!(script.asked().len(), 1);
    pass(2).await;
    assert_eq!(script.asked().len(), 2);
    // This one has sent a bookmark, so the next are missed sooner.
    pass(182).await;
    assert_eq!(script.asked().len(), 3);
    assert_eq!(watched.held(), "a@6");
}

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
    // An index that is made later knows what is there.
    watched.cache.index_by("again", by_node);
    assert_eq!(watched.cache.indexed("again", "y").len(), 1);
    pass(1).await;
    assert_eq!((names("x").as_str(), names("y").as_str()), ("", "a"));
    assert!(watched.cache.indexed("none", "x").is_empty());
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

//! How what is there is learnt, and followed from there on.

use object::ObjectKey;

use crate::follower::{Watched, pass, pod};
use crate::script::{Answer, Script};

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

/// A server in the same process has everything ready at once.
#[tokio::test(start_paused = true)]
async fn a_stream_that_never_pauses_leaves_the_others_their_turns() {
    let script = Script::default();
    let changes = (3..2_000).map(|revision| pod(&format!("a@{revision}")));
    let stream = Answer::watch().added(&pod("a@1")).initial_end(2);
    let stream = changes.fold(stream, |stream, pod| stream.event("MODIFIED", &pod));
    script.then(stream.hanging());
    let watched = Watched::start(&script);
    let mut turns = 0;
    while watched.held() != "a@1999" {
        tokio::task::yield_now().await;
        turns += 1;
    }
    assert!(turns > 10, "{turns}");
}

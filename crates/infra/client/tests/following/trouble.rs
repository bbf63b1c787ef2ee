//! Servers that break off, fall behind, or do not know the kind: nothing is believed that was not said.

use std::time::Duration;

use crate::follower::{Watched, pass, pod};
use crate::script::{Answer, Script};

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
async fn what_is_wrong_is_known_until_it_is_over() {
    let script = Script::default();
    script
        .then(Answer::refuse(500, "InternalError"))
        .then(Answer::watch().pause(5).added(&pod("a@1")).initial_end(3))
        .then(Answer::refuse(410, "Expired"))
        .then(Answer::watch().added(&pod("a@1")).initial_end(4).breaking())
        .then(Answer::watch().hanging());
    let watched = Watched::start(&script);
    let cache = &watched.cache;
    let mut troubles = watched.caches.troubles();
    assert_eq!(cache.trouble(), None, "nothing has been heard yet");
    let now = tokio::time::Instant::now;
    let begun = now();
    cache.in_trouble_for(Duration::from_secs(2)).await;
    assert_eq!(begun.elapsed().as_secs(), 2);
    assert!(!cache.is_synced() && cache.complete().is_none());
    troubles.changed().await.unwrap();
    // It goes on while the next attempt is under way.
    let trouble = cache.trouble().unwrap();
    assert!(trouble.cause.contains("InternalError"), "{trouble:?}");
    assert_eq!(trouble.since, begun);
    cache.in_trouble_for(Duration::from_secs(2)).await;
    assert_eq!(begun.elapsed().as_secs(), 2, "it has been so by now");
    cache.synced().await;
    assert_eq!(cache.trouble(), None);
    troubles.changed().await.unwrap();
    // To have fallen behind is none, and to break off is one until the watch goes on.
    cache.in_trouble_for(Duration::ZERO).await;
    assert!(cache.complete().is_none() && cache.is_synced());
    pass(1).await;
    assert_eq!(cache.trouble(), None);
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
async fn a_kind_that_is_not_served_is_empty_synced_and_never_complete() {
    let script = Script::default();
    script
        .then(Answer::refuse(404, "NotFound"))
        .then(Answer::refuse(404, "NotFound"))
        .then(Answer::watch().added(&pod("a@1")).initial_end(3).hanging());
    let watched = Watched::start(&script);
    watched.cache.synced().await;
    assert!(watched.cache.is_empty() && watched.cache.complete().is_none());
    assert_eq!(watched.cache.trouble(), None);
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

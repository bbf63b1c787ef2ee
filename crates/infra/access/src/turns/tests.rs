use std::sync::atomic::AtomicUsize;

use tokio::sync::Notify;
use tokio::task::{JoinSet, yield_now};

use super::*;

fn user(name: &str, group: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec![group.to_owned()],
        ..User::default()
    }
}

/// Holds all places of the turns until told, then shows in which order others went on.
async fn order_of(turns: &Turns, users: &[&User]) -> String {
    let order = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..turns.shared.places {
        assert!(turns.shared.take(&"holder".into(), true).is_none());
    }
    let mut tasks = JoinSet::new();
    for who in users {
        let (name, order) = (who.name.clone(), Arc::clone(&order));
        tasks.spawn(
            turns
                .line(who)
                .pace(async move { order.lock().unwrap().push(name) }),
        );
    }
    // All stand in line before the first goes on.
    for _ in 0..users.len() {
        yield_now().await;
    }
    assert!(order.lock().unwrap().is_empty());
    for _ in 0..turns.shared.places {
        turns.shared.end(&"holder".into());
    }
    tasks.join_all().await;
    let state = turns.shared.lock();
    assert!(state.running.is_empty() && state.others.waiting.is_empty());
    order.lock().unwrap().join(" ")
}

#[tokio::test]
async fn users_go_on_one_after_the_other_however_many_requests_they_have() {
    let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
    let users = [&noisy, &noisy, &noisy, &quiet, &noisy, &quiet];
    assert_eq!(
        order_of(&Turns::new(1), &users).await,
        "noisy quiet noisy quiet noisy noisy"
    );
}

#[tokio::test]
async fn the_system_goes_first_and_leaves_others_a_turn_now_and_then() {
    let (other, system) = (user("ann", ""), user("sys", "system:karavel:components"));
    let mut users = vec![&other, &other];
    users.extend([&system; 6]);
    assert_eq!(
        order_of(&Turns::new(1), &users).await,
        "sys sys sys ann sys sys sys ann"
    );
}

#[tokio::test(start_paused = true)]
async fn a_user_has_all_places_alone_and_leaves_one_while_others_are_about() {
    let turns = Turns::new(3);
    let shared = &turns.shared;
    let (noisy, quiet): (Arc<str>, Arc<str>) = ("noisy".into(), "quiet".into());
    for _ in 0..3 {
        assert!(shared.take(&noisy, false).is_none());
    }
    for _ in 0..3 {
        shared.end(&noisy);
    }
    assert!(shared.take(&quiet, false).is_none());
    shared.end(&quiet);
    assert!(shared.take(&noisy, false).is_none());
    assert!(shared.take(&noisy, false).is_none());
    let third = shared.take(&noisy, false);
    let third = third.expect("one place is left for the quiet one");
    assert!(shared.take(&quiet, false).is_none());
    shared.end(&quiet);
    assert!(!third.come.load(Ordering::Acquire));
    tokio::time::advance(ABOUT).await;
    // The next who looks finds the quiet one gone.
    assert!(shared.take(&"system".into(), true).is_none());
    shared.end(&"system".into());
    assert!(third.come.load(Ordering::Acquire));
}

#[tokio::test]
async fn a_turn_is_not_held_while_waiting_and_comes_back_from_who_gives_up() {
    let turns = Turns::new(1);
    let (ann, bob) = (user("ann", ""), user("bob", ""));
    let (bell, passed) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    let (waits, counts) = (Arc::clone(&bell), Arc::clone(&passed));
    tasks.spawn(turns.line(&ann).pace(async move {
        waits.notified().await;
        counts.fetch_add(1, Ordering::Relaxed);
    }));
    yield_now().await;
    // Bob goes on while Ann waits for something else.
    let counts = Arc::clone(&passed);
    let bobs = turns
        .line(&bob)
        .pace(async move { counts.fetch_add(1, Ordering::Relaxed) });
    assert_eq!(bobs.await, 0);
    // One who stood in line, and one whose turn had come, leave without going on.
    assert!(turns.shared.take(&"holder".into(), false).is_none());
    let mut lines = [&ann, &bob].map(|who| Box::pin(turns.line(who).pace(std::future::ready(()))));
    for line in &mut lines {
        let went_on = futures_util::future::poll_immediate(line.as_mut()).await;
        assert!(went_on.is_none());
    }
    let [first, second] = lines;
    drop(second);
    turns.shared.end(&"holder".into());
    drop(first);
    bell.notify_one();
    tasks.join_all().await;
    assert_eq!(passed.load(Ordering::Relaxed), 2);
    assert!(turns.shared.lock().running.is_empty());
}

#[tokio::test]
async fn what_a_request_asks_of_its_own_server_takes_no_turn_of_its_own() {
    let turns = Turns::new(1);
    let (ann, system) = (user("ann", ""), user("s", "system:karavel:components"));
    let inner = turns.line(&system).pace(async { 7 });
    assert_eq!(turns.line(&ann).pace(inner).await, 7);
    assert!(turns.shared.lock().running.is_empty());
}

#[tokio::test]
async fn connections_stand_in_the_line_of_whoever_asked_last_on_them() {
    let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
    let turns = Turns::new(1);
    for who in [&noisy, &quiet, &noisy] {
        turns.line(who).pace(async {}).await;
    }
    assert!(turns.shared.take(&"holder".into(), true).is_none());
    let order = Arc::new(Mutex::new(Vec::new()));
    let tracks: Vec<Track> = (0..5).map(|_| Track::default()).collect();
    // The first knows nobody yet, the fourth was noisy's before it was quiet's.
    for (track, who) in
        tracks
            .iter()
            .zip([None, Some(&noisy), Some(&noisy), Some(&noisy), Some(&noisy)])
    {
        if let Some(who) = who {
            track.follow(turns.line(who));
        }
    }
    tracks[3].follow(turns.line(&quiet));
    let mut tasks = JoinSet::new();
    for (number, track) in tracks.iter().enumerate() {
        let order = Arc::clone(&order);
        tasks.spawn(track.pace(async move { order.lock().unwrap().push(number) }));
    }
    for _ in 0..tracks.len() {
        yield_now().await;
    }
    assert_eq!(*order.lock().unwrap(), [0]);
    turns.shared.end(&"holder".into());
    tasks.join_all().await;
    assert_eq!(*order.lock().unwrap(), [0, 1, 3, 2, 4]);
    let state = turns.shared.lock();
    assert!(state.running.is_empty() && state.others.waiting.is_empty());
}

#[tokio::test]
async fn a_request_goes_on_within_the_turn_of_its_connection() {
    let ann = user("ann", "");
    let turns = Turns::new(1);
    // Somebody else is about.
    turns.line(&user("bob", "")).pace(async {}).await;
    let track = Track::default();
    track.follow(turns.line(&ann));
    let inside = turns.line(&ann).pace(async {
        yield_now().await;
        7
    });
    let answered = tokio::time::timeout(Duration::from_secs(10), track.pace(inside)).await;
    assert_eq!(answered, Ok(7));
    assert!(turns.shared.lock().running.is_empty());
}

#[tokio::test]
async fn a_connection_of_somebody_who_is_alone_waits_for_nobody() {
    let ann = user("ann", "");
    let turns = Turns::new(1);
    turns.line(&ann).pace(async {}).await;
    let track = Track::default();
    track.follow(turns.line(&ann));
    assert!(turns.shared.take(&"ann".into(), false).is_none());
    let went_on = tokio::time::timeout(Duration::from_secs(10), track.pace(async { 7 })).await;
    assert_eq!(went_on, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_long_keeps_others_from_no_place() {
    let turns = Turns::new(2);
    let (heavy, other): (Arc<str>, Arc<str>) = ("heavy".into(), "other".into());
    let take = |user: &Arc<str>| turns.shared.take(user, false);
    assert!(take(&heavy).is_none() && take(&heavy).is_none());
    let (waiting, more) = (take(&other).unwrap(), take(&heavy).unwrap());
    let come = |ticket: &Ticket| ticket.come.load(Ordering::Acquire);
    turns.shared.pass_by_long_turns(Instant::now());
    assert!(!come(&waiting), "nothing has taken long yet");
    tokio::time::advance(Duration::from_millis(10)).await;
    turns.shared.pass_by_long_turns(Instant::now());
    assert!(come(&waiting));
    assert!(
        !come(&more),
        "the free places are not for whoever takes long"
    );
    turns.shared.end(&other);
    assert!(!come(&more));
    turns.shared.end(&heavy);
    assert!(!come(&more), "others are about");
    turns.shared.end(&heavy);
    assert!(come(&more));
}

#[tokio::test]
async fn a_request_that_stood_in_line_goes_on_although_others_have_come_meanwhile() {
    let (ann, bob) = (user("ann", ""), user("bob", ""));
    let turns = Turns::new(1);
    let track = Track::default();
    track.follow(turns.line(&ann));
    assert!(turns.shared.take(&"holder".into(), true).is_none());
    // Ann is alone: her connection goes on, and her request stands in line.
    let inside = turns.line(&ann).pace(async { 7 });
    let mut tasks = JoinSet::new();
    tasks.spawn(track.pace(inside));
    yield_now().await;
    tasks.spawn(turns.line(&bob).pace(async { 8 }));
    yield_now().await;
    turns.shared.end(&"holder".into());
    let mut ended = tokio::time::timeout(Duration::from_secs(10), tasks.join_all())
        .await
        .unwrap();
    ended.sort_unstable();
    assert_eq!(ended, [7, 8]);
    assert!(turns.shared.lock().running.is_empty());
}

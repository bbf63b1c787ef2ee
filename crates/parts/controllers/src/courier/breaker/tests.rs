//! A webhook that answers, hangs and comes back, in the test's own time.

use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;

use super::*;

const MOST: Duration = Duration::from_secs(10);

/// Asks about so many objects at once; what became of each, and after how long.
async fn ask(
    breaker: &Breaker,
    objects: usize,
    call: impl AsyncFn(),
) -> Vec<(Result<(), Silence>, Duration)> {
    let begun = Instant::now();
    let asks = (0..objects).map(|number| {
        let call = &call;
        async move {
            let answer = breaker.ask(&number.to_string(), MOST, call()).await;
            (answer, begun.elapsed())
        }
    });
    join_all(asks).await
}

/// How many came to each end.
fn ends(found: &[(Result<(), Silence>, Duration)]) -> [usize; 4] {
    [
        Ok(()),
        Err(Silence::Late),
        Err(Silence::Rests),
        Err(Silence::Busy),
    ]
    .map(|end| found.iter().filter(|(answer, _)| *answer == end).count())
}

async fn hang() {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn who_answers_is_asked_by_all_and_a_few_at_once() {
    let (breaker, under_way) = (Breaker::default(), AtomicUsize::new(0));
    let found = ask(&breaker, 400, async || {
        assert!(under_way.fetch_add(1, Ordering::Relaxed) < SEATS);
        tokio::time::sleep(Duration::from_millis(300)).await;
        under_way.fetch_sub(1, Ordering::Relaxed);
    });
    assert_eq!(ends(&found.await), [400, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_holds_a_few_for_its_time_and_nobody_after_that() {
    let breaker = Breaker::default();
    let found = ask(&breaker, 80, hang).await;
    // The first ones find out that it hangs, the rest have no seat.
    assert_eq!(ends(&found), [0, 2, SEATS - 2, 80 - SEATS]);
    let held = found.iter().filter(|(_, took)| *took > SILENT).count();
    assert_eq!(held, SEATS);
    // It rests: nobody is asked.
    let found = ask(&breaker, 80, hang).await;
    assert!(found.iter().all(|(_, took)| took.is_zero()));
    assert_eq!(ends(&found), [0, 0, 80, 0]);
}

#[tokio::test(start_paused = true)]
async fn one_question_at_a_time_shows_whether_it_is_back() {
    let (breaker, asked) = (Breaker::default(), AtomicUsize::new(0));
    ask(&breaker, 3, hang).await;
    tokio::time::sleep(PAUSES.0).await;
    let probing = ask(&breaker, 5, async || {
        asked.fetch_add(1, Ordering::Relaxed);
        pending().await
    });
    // A probe that nobody waits for any more is over, and the next may go.
    assert!(timeout(Duration::ZERO, probing).await.is_err());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let found = ask(&breaker, 5, async || ()).await;
    assert_eq!(ends(&found), [5, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_probes_double_up_to_the_longest() {
    let breaker = Breaker::default();
    ask(&breaker, 3, hang).await;
    let mut pauses = Vec::new();
    let mut since = Instant::now();
    while pauses.len() < 6 {
        let begun = Instant::now();
        let answer = breaker.ask("one", MOST, hang()).await;
        assert_eq!(answer, Err(Silence::Rests));
        if begun.elapsed() == MOST {
            pauses.push((begun - since).as_secs());
            since = Instant::now();
        } else {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(pauses, [1, 2, 4, 8, 8, 8]);
}

#[tokio::test(start_paused = true)]
async fn questions_that_hang_alone_do_not_silence_it_for_others() {
    let breaker = Breaker::default();
    for _ in 0..5 {
        let found = ask(&breaker, 2, hang).await;
        assert_eq!(ends(&found), [0, 2, 0, 0]);
    }
    // An answer in between, and those before it do not count.
    breaker.ask("well", MOST, async {}).await.unwrap();
    let answer = breaker.ask("third", MOST, hang()).await;
    assert_eq!(answer, Err(Silence::Late));
    assert!(breaker.is_idle());
}

use std::{
    future::{pending, ready},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use runtime::Tasks;

use super::*;

const MOST: Duration = Duration::from_secs(3);
const LEAST: Duration = Duration::from_millis(100);
const NOTHING: Duration = Duration::ZERO;

#[derive(Clone, Copy, Debug)]
enum Broken {
    Absent,
    Unwilling,
}

impl Failure for Broken {
    fn is_outage(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

struct Asker {
    trust: Trust,
    tasks: Tasks,
    calls: AtomicU32,
}

impl Asker {
    fn new() -> Self {
        Self::of(Manner::Dispensable)
    }

    fn of(manner: Manner) -> Self {
        Self {
            trust: Trust::of(manner),
            tasks: Tasks::new(),
            calls: AtomicU32::new(0),
        }
    }

    async fn ask(
        &self,
        answer: impl Future<Output = Result<i32, Broken>> + Send + 'static,
    ) -> (String, Duration) {
        self.ask_for("a", answer).await
    }

    async fn ask_for(
        &self,
        asker: &str,
        answer: impl Future<Output = Result<i32, Broken>> + Send + 'static,
    ) -> (String, Duration) {
        let begun = Instant::now();
        let wait = Wait {
            until: begun + MOST,
            most: MOST,
            least: LEAST,
        };
        let spawner = self.tasks.spawner();
        let asked = self.trust.ask(asker, wait, &spawner, || {
            self.calls.fetch_add(1, Relaxed);
            answer
        });
        let said = match asked.await {
            Ok(Ok(count)) => count.to_string(),
            Ok(Err(broken)) => format!("{broken:?}"),
            Err(why) => format!("{why:?}"),
        };
        (said, begun.elapsed())
    }

    fn calls(&self) -> u32 {
        self.calls.swap(0, Relaxed)
    }
}

fn said(text: &str, took: Duration) -> (String, Duration) {
    (text.to_owned(), took)
}

async fn later(millis: u64) -> Result<i32, Broken> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(7)
}

#[tokio::test(start_paused = true)]
async fn when_one_hangs_all_who_wait_are_let_go_together_and_nobody_waits_after_them() {
    let asker = Asker::new();
    assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
    let second = async {
        tokio::time::sleep(LEAST / 2).await;
        asker.ask(pending()).await
    };
    let (first, second) = tokio::join!(asker.ask(pending()), second);
    assert_eq!(first, said("Late", LEAST));
    assert_eq!(second, said("LeftAlone", LEAST / 2));
    asker.calls();
    for _ in 0..1000 {
        assert_eq!(asker.ask(ready(Ok(7))).await, said("LeftAlone", NOTHING));
    }
    assert_eq!(asker.calls(), 0, "the first question is the probe");
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_one_question_is_sent_for_which_nobody_waits() {
    let asker = Asker::new();
    assert_eq!(asker.ask(ready(Err(Broken::Absent))).await.0, "Absent");
    asker.calls();
    for pause in [1, 2, 4, 8, 16, 30, 30] {
        tokio::time::sleep(Duration::from_secs(pause) - Duration::from_millis(1)).await;
        assert_eq!(asker.ask(ready(Ok(7))).await, said("LeftAlone", NOTHING));
        assert_eq!(asker.calls(), 0, "{pause} s are not over");
        tokio::time::sleep(Duration::from_millis(1)).await;
        for _ in 0..3 {
            assert_eq!(asker.ask(pending()).await, said("LeftAlone", NOTHING));
        }
        assert_eq!(asker.calls(), 1, "after {pause} s");
        tokio::time::sleep(MOST).await;
    }
    tokio::time::sleep(Manner::Dispensable.pauses().1).await;
    assert_eq!(asker.ask(later(1)).await, said("LeftAlone", NOTHING));
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(asker.ask(ready(Ok(8))).await, said("8", NOTHING));
}

#[tokio::test(start_paused = true)]
async fn one_that_turns_out_to_be_slow_is_waited_for_from_then_on() {
    let asker = Asker::new();
    assert_eq!(asker.ask(later(700)).await, said("Late", FIRST_BUDGET));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let slow = Duration::from_millis(700);
    assert_eq!(asker.ask(later(700)).await, said("7", slow));
    assert_eq!(
        asker.ask(later(1_400)).await,
        said("7", Duration::from_millis(1_400))
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_about_one_question_is_an_answer() {
    let asker = Asker::new();
    let refused = said("Unwilling", NOTHING);
    assert_eq!(asker.ask(ready(Err(Broken::Unwilling))).await, refused);
    assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_one_that_is_being_greeted() {
    let asker = Asker::new();
    let greeting = asker.trust.greet(MOST, later(500));
    let asking = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let during = asker.ask(ready(Ok(7))).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        (during, asker.ask(later(600)).await.0)
    };
    let ((), (during, after)) = tokio::join!(greeting, asking);
    assert_eq!(during, said("LeftAlone", NOTHING));
    assert_eq!(after, "7");
}

#[tokio::test(start_paused = true)]
async fn many_who_fail_at_once_are_one_failure() {
    let asker = Asker::new();
    let failing = || async {
        tokio::time::sleep(LEAST / 2).await;
        Err(Broken::Absent)
    };
    tokio::join!(
        asker.ask(failing()),
        asker.ask(failing()),
        asker.ask(failing())
    );
    tokio::time::sleep(Manner::Dispensable.pauses().0).await;
    assert_eq!(asker.ask(later(1)).await, said("LeftAlone", NOTHING));
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(asker.ask(ready(Ok(8))).await, said("8", NOTHING));
}

/// What an answer may take at most of one whose word is wanted and that has been quick so far.
const WANTED: Duration = LEAST;

#[tokio::test(start_paused = true)]
async fn whose_word_is_wanted_is_asked_until_several_different_ones_waited_in_vain() {
    let asker = Asker::of(Manner::Wanted);
    assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
    // One whose own question is at fault, and a second.
    for _ in 0..5 {
        assert_eq!(asker.ask_for("a", pending()).await, said("Late", WANTED));
        assert_eq!(
            asker.ask_for("b", ready(Err(Broken::Absent))).await,
            said("Absent", NOTHING)
        );
    }
    assert_eq!(asker.ask_for("c", ready(Ok(8))).await, said("8", NOTHING));
    // An answer in between begins the count anew.
    for name in ["a", "b"] {
        assert_eq!(asker.ask_for(name, pending()).await.0, "Late");
    }
    assert_eq!(asker.ask_for("d", ready(Ok(9))).await, said("9", NOTHING));
    for name in ["a", "b", "c"] {
        assert_eq!(asker.ask_for(name, pending()).await.0, "Late");
    }
    for _ in 0..100 {
        let left = asker.ask_for("d", ready(Ok(9))).await;
        assert_eq!(left, said("LeftAlone", NOTHING));
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_an_answer_never_silences_whose_word_is_wanted() {
    let asker = Asker::of(Manner::Wanted);
    for name in ["a", "b", "c", "d", "e"] {
        let refused = asker.ask_for(name, ready(Err(Broken::Unwilling))).await;
        assert_eq!(refused, said("Unwilling", NOTHING));
    }
    assert_eq!(asker.ask_for("f", ready(Ok(7))).await, said("7", NOTHING));
}

#[tokio::test(start_paused = true)]
async fn whoever_was_asked_before_it_hung_is_waited_for_and_so_is_a_probe() {
    let asker = Asker::of(Manner::Wanted);
    assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
    let slow = async {
        tokio::time::sleep(WANTED / 2).await;
        asker.ask_for("d", later(60)).await
    };
    let (a, b, c, d) = tokio::join!(
        asker.ask_for("a", pending()),
        asker.ask_for("b", pending()),
        asker.ask_for("c", pending()),
        slow,
    );
    for late in [a, b, c] {
        assert_eq!(late, said("Late", WANTED));
    }
    assert_eq!(d, said("7", Duration::from_millis(60)));
    // Its answer shows that it is there.
    assert_eq!(asker.ask_for("e", ready(Ok(8))).await, said("8", NOTHING));

    for name in ["a", "b", "c"] {
        assert_eq!(asker.ask_for(name, pending()).await.0, "Late");
    }
    tokio::time::sleep(Manner::Wanted.pauses().0).await;
    let during = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        asker.ask_for("g", ready(Ok(8))).await
    };
    let (probe, during) = tokio::join!(asker.ask_for("f", later(50)), during);
    assert_eq!(probe, said("7", Duration::from_millis(50)));
    assert_eq!(during, said("LeftAlone", NOTHING));
    assert_eq!(asker.ask_for("g", ready(Ok(8))).await, said("8", NOTHING));
}

#[tokio::test(start_paused = true)]
async fn the_pauses_of_whose_word_is_wanted_are_short() {
    let asker = Asker::of(Manner::Wanted);
    for name in ["a", "b", "c"] {
        asker.ask_for(name, ready(Err(Broken::Absent))).await;
    }
    asker.calls();
    for millis in [500, 1_000, 2_000, 4_000, 4_000] {
        tokio::time::sleep(Duration::from_millis(millis - 1)).await;
        assert_eq!(asker.ask(ready(Ok(7))).await, said("LeftAlone", NOTHING));
        assert_eq!(asker.calls(), 0, "{millis} ms are not over");
        tokio::time::sleep(Duration::from_millis(1)).await;
        let probe = asker.ask(ready(Err(Broken::Absent))).await;
        assert_eq!((probe.0.as_str(), asker.calls()), ("Absent", 1));
    }
}

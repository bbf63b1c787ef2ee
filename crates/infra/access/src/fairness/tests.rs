use serve::target::ResourceTarget;

use super::*;

fn user(name: &str, group: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec![group.to_owned()],
        ..User::default()
    }
}

fn get() -> Attempt {
    let target = ResourceTarget {
        resource: "pods".to_owned(),
        ..ResourceTarget::default()
    };
    Attempt::on("get", target)
}

fn seats(seats: usize, kept: usize, line: usize) -> Seats {
    Seats::new(Limits {
        seats,
        kept,
        share: seats,
        line,
        patience: Duration::from_secs(5),
    })
}

#[tokio::test(start_paused = true)]
async fn a_noisy_user_and_a_quiet_one_take_turns() {
    let seats = seats(1, 0, 100);
    let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
    let held = seats.take(&noisy, &get()).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = tokio::task::JoinSet::new();
    for who in [&noisy, &noisy, &noisy, &quiet, &noisy] {
        let (seats, order, who) = (seats.clone(), Arc::clone(&order), who.clone());
        tasks.spawn(async move {
            let seat = seats.take(&who, &get()).await.unwrap();
            order.lock().unwrap().push(who.name);
            drop(seat);
        });
        // Each joins its line before the next comes.
        tokio::task::yield_now().await;
    }
    drop(held);
    tasks.join_all().await;
    let order = order.lock().unwrap().join(" ");
    assert_eq!(order, "noisy quiet noisy noisy noisy");
}

#[tokio::test(start_paused = true)]
async fn seats_are_kept_for_the_system_and_for_masters() {
    let seats = seats(2, 1, 0);
    let (other, system) = (user("o", ""), user("s", "system:karavel:components"));
    let first = seats.take(&other, &get()).await.unwrap();
    let refused = seats.take(&other, &get()).await.err().unwrap();
    assert_eq!(
        (refused.code, refused.details.retry_after_seconds),
        (429, 1)
    );
    let second = seats.take(&system, &get()).await.unwrap();
    assert!(seats.take(&system, &get()).await.is_err());
    let root = user("root", names::MASTERS);
    assert!(
        seats.take(&root, &get()).await.is_err(),
        "there are no more"
    );
    drop(second);
    assert!(seats.take(&root, &get()).await.is_ok());
    assert!(seats.take(&other, &get()).await.is_err());
    drop(first);
    assert!(seats.take(&other, &get()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_sent_away_and_holds_nobody_up() {
    let seats = seats(1, 0, 10);
    let ann = user("ann", "");
    let held = seats.take(&ann, &get()).await.unwrap();
    let late = seats.take(&ann, &get()).await.err().unwrap();
    assert_eq!(late.code, 429);
    drop(held);
    assert!(seats.take(&ann, &get()).await.is_ok());
    let state = seats.shared.lock();
    assert_eq!((state.taken, state.others.waiting.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_seat_of_an_answer_nobody_reads_is_taken_back_when_somebody_waits() {
    let seats = seats(1, 0, 10);
    let ann = user("ann", "");
    let lent = seats.take(&ann, &get()).await.unwrap().lend().unwrap();
    let begun = Instant::now();
    let next = seats.take(&ann, &get()).await.unwrap();
    assert!((SENDING..2 * SENDING).contains(&begun.elapsed()));
    drop(lent);
    assert_eq!(seats.shared.lock().taken, 1, "it is not given back twice");
    drop(next);
    // One that has been sent in time is free at once.
    let lent = seats.take(&ann, &get()).await.unwrap().lend().unwrap();
    drop(lent.clone());
    assert_eq!(seats.shared.lock().taken, 1);
    drop(lent);
    assert_eq!(seats.shared.lock().taken, 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_has_more_than_a_share_but_the_system() {
    let seats = Seats::new(Limits {
        seats: 10,
        kept: 2,
        share: 3,
        line: 10,
        patience: Duration::from_secs(5),
    });
    let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
    let system = user("s", "system:karavel:components");
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(seats.take(&noisy, &get()).await.unwrap());
    }
    assert!(
        seats.take(&noisy, &get()).await.is_err(),
        "it waits although there is room"
    );
    held.push(seats.take(&quiet, &get()).await.unwrap());
    for _ in 0..6 {
        held.push(seats.take(&system, &get()).await.unwrap());
    }
    // Somebody who waits for their share gets the next seat of their own, not somebody else's.
    let attempt = get();
    let waiting = seats.take(&noisy, &attempt);
    let freeing = async {
        tokio::task::yield_now().await;
        held.remove(0);
    };
    assert!(tokio::join!(waiting, freeing).0.is_ok());
    drop(held);
    let state = seats.shared.lock();
    assert_eq!(
        (state.taken, state.held.len(), state.others.waiting.len()),
        (0, 0, 0)
    );
}

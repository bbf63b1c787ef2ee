//! Somebody listens, whatever takes long.
//!
//! Of tokio's threads one at a time waits for sockets and timers. When it hears of one thing it does that thing itself, and
//! the others, which sleep, are not told to listen in its stead: if the thing takes ten seconds, nobody hears of anything
//! for ten seconds, with three threads asleep. So a thread of its own looks at them now and then. If one has been at work
//! since the last look, another is woken; it finds nothing to do, and before it sleeps again it listens.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor, RuntimeMetrics};

/// How often the threads are looked at while they work.
const BUSY: Duration = Duration::from_millis(10);
/// And while all of them sleep.
const IDLE: Duration = Duration::from_millis(100);

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// All threads sleep.
    Asleep,
    /// Some are awake, each since the last look only.
    Awake,
    /// One has not slept since the last look.
    Long,
}

/// Sees to it, for as long as the process lives, that somebody listens in the runtime of the caller. A runtime of one thread
/// cannot be helped.
pub fn keep_listening() -> std::io::Result<()> {
    let runtime = Handle::current();
    if runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
        return Ok(());
    }
    let builder = std::thread::Builder::new().name("listening".to_owned());
    builder.spawn(move || {
        let mut known = Vec::new();
        loop {
            let look = look(&mut known, &counts(&runtime.metrics()));
            if look == Look::Long {
                drop(runtime.spawn(async {}));
            }
            std::thread::park_timeout(if look == Look::Asleep { IDLE } else { BUSY });
        }
    })?;
    Ok(())
}

/// How often each thread went to sleep or awoke: odd while it sleeps.
fn counts(metrics: &RuntimeMetrics) -> Vec<u64> {
    (0..metrics.num_workers())
        .map(|worker| metrics.worker_park_unpark_count(worker))
        .collect()
}

fn look(known: &mut Vec<u64>, now: &[u64]) -> Look {
    let is_awake = |count: &u64| count.is_multiple_of(2);
    let is_long = known
        .iter()
        .zip(now)
        .any(|(before, now)| before == now && is_awake(now));
    now.clone_into(known);
    match (is_long, now.iter().any(is_awake)) {
        (true, _) => Look::Long,
        (false, true) => Look::Awake,
        (false, false) => Look::Asleep,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn who_has_not_slept_since_the_last_look_takes_long() {
        let rows: [(&[u64], &[u64], Look); 5] = [
            (&[], &[0, 2], Look::Awake),
            (&[1, 3], &[1, 3], Look::Asleep),
            (&[1, 3], &[2, 3], Look::Awake),
            (&[2, 3], &[4, 3], Look::Awake),
            (&[1, 4], &[2, 4], Look::Long),
        ];
        for (before, now, expected) in rows {
            let mut known = before.to_vec();
            assert_eq!(look(&mut known, now), expected, "{before:?} then {now:?}");
            assert_eq!(known, now);
        }
    }

    #[test]
    fn a_task_that_keeps_its_thread_keeps_nobody_from_being_heard() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (release, released) = std::sync::mpsc::channel();
        let address = runtime.block_on(async {
            keep_listening().unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            Handle::current().spawn(async move {
                let (mut holding, _) = listener.accept().await.unwrap();
                let (mut quick, _) = listener.accept().await.unwrap();
                Handle::current().spawn(async move {
                    while quick.read_u8().await.is_ok() {
                        quick.write_all(b"!").await.unwrap();
                    }
                });
                assert_eq!(holding.read_u8().await.unwrap(), b'?');
                holding.write_all(b".").await.unwrap();
                released.recv().unwrap();
            });
            address
        });
        // From outside of the runtime, so that nothing but the sockets wakes its threads.
        let connect = || {
            let stream = std::net::TcpStream::connect(address).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            stream
        };
        let ask = |mut stream: &std::net::TcpStream| {
            let mut answer = [0];
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut answer).unwrap();
            answer
        };
        let (holding, quick) = (connect(), connect());
        // Until one thread does it all and the other sleeps.
        for _ in 0..100 {
            assert_eq!(ask(&quick), *b"!");
        }
        assert_eq!(ask(&holding), *b".");
        assert_eq!(ask(&quick), *b"!");
        release.send(()).unwrap();
    }
}

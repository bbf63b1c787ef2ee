//! Looks that wait for somebody outside, such as a webhook that users set up, and need no worker meanwhile.
//!
//! Whoever asks says so by [`wait`]; the worker lets the look go on beside it and takes the next key. Outside of a look all
//! of this changes nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use runtime::Spawner;
use tokio::sync::Semaphore;

/// How many looks of one controller wait beside its workers at most. When there are more, the workers wait: a look that
/// waits has its object and a question in memory, and every one goes on to write something.
const MOST: usize = 1_024;

tokio::task_local! {
    /// The look that is under way.
    static LOOK: Arc<Look>;
}

/// What a look tells the worker that carries it.
#[derive(Debug, Default)]
pub(crate) struct Look {
    is_waiting: AtomicBool,
    /// Within which bounds its key waits if it fails, if somebody said.
    again: Mutex<Option<(Duration, Duration)>>,
}

/// Waits for somebody outside: the worker of this look takes others meanwhile.
pub async fn wait<F: Future>(waiting: F) -> F::Output {
    let Ok(look) = LOOK.try_with(Arc::clone) else {
        return waiting.await;
    };
    let mut waiting = pin!(waiting);
    poll_fn(|context| {
        let polled = waiting.as_mut().poll(context);
        look.is_waiting
            .store(polled.is_pending(), Ordering::Relaxed);
        polled
    })
    .await
}

/// If this look fails, its key waits as long as keys do that fail, but at least and at most so long: whoever was asked
/// does not answer now, and may answer then.
pub fn ask_again_within(least: Duration, most: Duration) {
    // Outside of a look nobody has a key to try again.
    if let Ok(look) = LOOK.try_with(Arc::clone) {
        *look.lock() = Some((least, most));
    }
}

impl Look {
    /// What was said by [`ask_again_within`].
    pub(crate) fn again(&self) -> Option<(Duration, Duration)> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Duration, Duration)>> {
        // One value, whole at any time.
        self.again.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where looks wait that need no worker.
#[derive(Debug)]
pub(crate) struct Aside {
    places: Arc<Semaphore>,
    spawner: Spawner,
}

impl Aside {
    /// The places of one controller; looks go on as tasks of this spawner.
    pub(crate) fn new(spawner: &Spawner) -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST)),
            spawner: spawner.clone(),
        }
    }

    /// Carries a look to its end, or until it goes on beside the worker.
    pub(crate) async fn carry<F>(&self, name: &'static str, look: impl FnOnce(Arc<Look>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let told = Arc::<Look>::default();
        let mut looking = Box::pin(LOOK.scope(Arc::clone(&told), look(Arc::clone(&told))));
        let is_over = poll_fn(|context| match looking.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending if told.is_waiting.load(Ordering::Relaxed) => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        });
        if is_over.await {
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return looking.await;
        };
        let task = format!("{name}: a look that waits");
        self.spawner.spawn_brief(task, |stop| async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = looking => {}
            }
            drop(place);
        });
    }
}

//! Keeps the interpreter as customizations say: whoever asks what an object means gets the rules of the moment.
//!
//! Reads:  ResourceInterpreterCustomizations.
//! Writes: nothing; problems are logged when they are first seen.
//! Keeps:  one interpreter for the whole process, replaced whole when a customization changes.

use std::sync::Arc;
use std::time::Duration;

use api::registry;
use client::{Caches, Scope};
use interpret::script::{Limits, Surroundings};
use interpret::{Customizations, Engine, Interpreter, Layers, Options};
use object::ResourceType;
use object::time::Time;
use runtime::{Clock, Spawner};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Changes within this time make one new interpreter.
const GATHER: Duration = Duration::from_millis(20);

/// Follows customizations; what is received is current once everything there is has been seen.
#[must_use]
pub fn follow(
    caches: &Caches,
    clock: Clock,
    spawner: &Spawner,
) -> watch::Receiver<Arc<Interpreter>> {
    let options = Options::default();
    let outside = Outside {
        clock,
        started: Instant::now(),
    };
    let engine = Arc::new(Engine::new(Limits::default(), options, Arc::new(outside)));
    let resource = ResourceType::from(&registry::RESOURCE_INTERPRETER_CUSTOMIZATION);
    let cache = caches.follow(&resource, Scope::all());
    let (sender, receiver) = watch::channel(Arc::new(Interpreter::default()));
    spawner.spawn("customizations", |stop| async move {
        let changed = Arc::new(Notify::new());
        let wake = Arc::clone(&changed);
        let _subscription = cache.on_change(move |_| wake.notify_one());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed.notified() => {}
            }
            tokio::time::sleep(GATHER).await;
            let objects = cache.list();
            let scripts =
                Customizations::new(Arc::clone(&engine), objects.iter().map(AsRef::as_ref));
            for problem in scripts.problems() {
                tracing::warn!(
                    name = problem.customization,
                    error = problem.message,
                    "a customization cannot be used as it is"
                );
            }
            let layers = Layers {
                customization: Some(Arc::new(scripts)),
                ..Layers::default()
            };
            sender.send_replace(Arc::new(Interpreter::new(layers, options)));
        }
    });
    receiver
}

/// What scripts learn of the world: the time. What they print is for who looks for it.
struct Outside {
    clock: Clock,
    started: Instant,
}

impl Surroundings for Outside {
    fn now(&self) -> Option<Time> {
        Some(self.clock.now())
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(self.started.elapsed())
    }

    fn print(&self, line: &str) {
        tracing::debug!(line, "a script printed");
    }
}

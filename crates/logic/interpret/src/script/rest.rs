//! How long a script that spent too much is left alone.
//!
//! A run that is stopped has cost its whole limit, and whoever asked asks again, about every object of the kind. So a
//! script that was stopped is not run for a while; then once, to see whether it was the object's fault; and if it is
//! stopped again, not for twice as long. What is remembered goes with the script, which another text replaces.

use std::{sync::Mutex, time::Duration};

use crate::script::{
    engine::lock,
    error::{ScriptError, ScriptProblem},
};

/// How long a script is left alone when it was stopped for the first time.
const SHORTEST: Duration = Duration::from_secs(10);
/// How long at most: a script that works again is noticed after that.
const LONGEST: Duration = Duration::from_secs(300);

/// Whether a script may be run.
#[derive(Default)]
pub(super) struct Rest(Mutex<Option<Pause>>);

/// What is remembered of a script that was stopped.
struct Pause {
    error: ScriptError,
    length: Duration,
    until: Duration,
}

/// A run that was let in.
pub(super) struct Entry {
    /// The pause before it; `None` if the script was not in disgrace.
    after: Option<Duration>,
}

impl Rest {
    /// Lets a run in, or says why not. After a pause only one is let in, and for the others it goes on until that is over.
    pub(super) fn enter(&self, now: Duration) -> Result<Entry, ScriptError> {
        let mut pause = lock(&self.0);
        let Some(pause) = pause.as_mut() else {
            return Ok(Entry { after: None });
        };
        if now < pause.until {
            return Err(ScriptError {
                problem: ScriptProblem::Resting {
                    cause: Box::new(pause.error.problem.clone()),
                    pause: pause.length,
                },
                ..pause.error.clone()
            });
        }
        pause.until = now.saturating_add(pause.length);
        Ok(Entry {
            after: Some(pause.length),
        })
    }

    /// Notes how a run ended that was let in.
    pub(super) fn leave(&self, entry: Entry, now: Duration, error: Option<&ScriptError>) {
        let mut pause = lock(&self.0);
        let Some(error) = error.filter(|error| error.is_excess()) else {
            // Only the run that was let in after a pause can end it; others may have begun before the script was stopped.
            if entry.after.is_some() {
                *pause = None;
            }
            return;
        };
        let length = entry
            .after
            .map_or(SHORTEST, |length| length.saturating_mul(2).min(LONGEST));
        // Several runs may have begun together; they are one mistake.
        let known = pause.as_ref().map_or(Duration::ZERO, |pause| pause.length);
        let length = length.max(known);
        *pause = Some(Pause {
            error: error.clone(),
            length,
            until: now.saturating_add(length),
        });
    }
}

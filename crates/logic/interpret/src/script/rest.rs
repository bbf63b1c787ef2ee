//! How long a script that spent too much is left alone.
//!
//! A run that is stopped has cost its whole limit, and whoever asked asks again. So a script that was stopped is not run
//! on the same object for a while; then once, to see whether the object has changed; and if it is stopped again, not for
//! twice as long. Other objects do not suffer: whoever may write one could otherwise hold up all of the kind.
//!
//! A script that is stopped on very many objects would cost as many limits, so it has credit for [`MOST_OBJECTS`]. One
//! that is stopped on yet another object while so many are remembered is left alone as a whole, in the same steps, until
//! a run of it ends. However objects take turns, one run at most is stopped in [`SHORTEST`] beyond those that are due on
//! the objects that are remembered.
//!
//! What is remembered goes with the script, which another text replaces.

use std::{sync::Mutex, time::Duration};

use object::Object;

use crate::script::{
    engine::lock,
    error::{Reach, ScriptError, ScriptProblem},
};

/// How long a script is left alone when it was stopped for the first time.
const SHORTEST: Duration = Duration::from_secs(10);
/// How long at most: an object or a script that has changed is noticed after that. An object about which nobody has
/// asked for as long after its pause is forgotten.
const LONGEST: Duration = Duration::from_secs(300);
/// On how many objects a script may be stopped before it is left alone as a whole. As many are remembered; of more the
/// one that was stopped longest ago is forgotten.
const MOST_OBJECTS: usize = 16;

/// Whether a script may be run.
#[derive(Default)]
pub(super) struct Rest(Mutex<Disgrace>);

/// What is remembered of a script that was stopped.
#[derive(Default)]
struct Disgrace {
    /// Those on which it was stopped, the latest one last.
    objects: Vec<(Subject, Pause)>,
    /// For all objects.
    whole: Option<Pause>,
}

struct Pause {
    error: ScriptError,
    length: Duration,
    until: Duration,
}

/// Which object a run is about. Its copies in members are the same one.
#[derive(Clone, PartialEq, Eq)]
struct Subject {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// A run that was let in.
pub(super) struct Entry<'o> {
    object: Option<&'o Object>,
    /// The pause of the object before it; `None` if it was not in disgrace.
    after: Option<Duration>,
    /// The same of the script as a whole.
    after_whole: Option<Duration>,
}

impl Rest {
    /// Lets a run in, or says why not. After a pause only one is let in, and for the others it goes on until that is over.
    pub(super) fn enter<'o>(
        &self,
        object: Option<&'o Object>,
        now: Duration,
    ) -> Result<Entry<'o>, ScriptError> {
        let mut disgrace = lock(&self.0);
        let Disgrace { objects, whole } = &mut *disgrace;
        objects.retain(|(_, pause)| now < pause.until.saturating_add(LONGEST));
        let mut own = objects
            .iter_mut()
            .find(|(subject, _)| subject.is(object))
            .map(|(_, pause)| pause);
        // Invariant: a run that is refused uses up nobody's trial.
        for (pause, reach) in [
            (own.as_deref(), Reach::Object),
            (whole.as_ref(), Reach::Script),
        ] {
            if let Some(pause) = pause.filter(|pause| now < pause.until) {
                return Err(pause.refusal(reach));
            }
        }
        Ok(Entry {
            object,
            after: own.as_mut().map(|pause| pause.renew(now)),
            after_whole: whole.as_mut().map(|pause| pause.renew(now)),
        })
    }

    /// Notes how a run ended that was let in.
    pub(super) fn leave(&self, entry: &Entry<'_>, now: Duration, error: Option<&ScriptError>) {
        let mut disgrace = lock(&self.0);
        let Disgrace { objects, whole } = &mut *disgrace;
        let position = objects
            .iter()
            .position(|(subject, _)| subject.is(entry.object));
        let Some(error) = error.filter(|error| error.is_excess()) else {
            // Only the run that was let in after a pause can end it; others may have begun before the script was stopped.
            if let Some(position) = position.filter(|_| entry.after.is_some()) {
                objects.remove(position);
            }
            if entry.after_whole.is_some() {
                *whole = None;
            }
            return;
        };
        let known = position.map(|position| objects.remove(position).1);
        let is_beyond_credit = known.is_none() && objects.len() >= MOST_OBJECTS;
        if is_beyond_credit {
            objects.remove(0);
        }
        let pause = Pause::after(entry.after, known.as_ref(), error, now);
        objects.push((Subject::of(entry.object), pause));
        if is_beyond_credit || entry.after_whole.is_some() {
            *whole = Some(Pause::after(entry.after_whole, whole.as_ref(), error, now));
        }
    }
}

impl Pause {
    fn after(
        before: Option<Duration>,
        known: Option<&Self>,
        error: &ScriptError,
        now: Duration,
    ) -> Self {
        let length = before.map_or(SHORTEST, |length| length.saturating_mul(2).min(LONGEST));
        // Several runs may have begun together; they are one mistake.
        let length = known.map_or(length, |pause| pause.length.max(length));
        Self {
            error: error.clone(),
            length,
            until: now.saturating_add(length),
        }
    }

    /// Goes on while the one run that is let in is not over.
    fn renew(&mut self, now: Duration) -> Duration {
        self.until = now.saturating_add(self.length);
        self.length
    }

    fn refusal(&self, reach: Reach) -> ScriptError {
        ScriptError {
            problem: ScriptProblem::Resting {
                cause: Box::new(self.error.problem.clone()),
                reach,
                pause: self.length,
            },
            ..self.error.clone()
        }
    }
}

impl Subject {
    fn of(object: Option<&Object>) -> Self {
        let text = |field: fn(&Object) -> &str| object.map_or("", field).to_owned();
        Self {
            api_version: text(Object::api_version),
            kind: text(Object::kind),
            namespace: text(Object::namespace),
            name: text(Object::name),
        }
    }

    fn is(&self, object: Option<&Object>) -> bool {
        let same = |own: &str, field: fn(&Object) -> &str| own == object.map_or("", field);
        same(&self.name, Object::name)
            && same(&self.namespace, Object::namespace)
            && same(&self.kind, Object::kind)
            && same(&self.api_version, Object::api_version)
    }
}

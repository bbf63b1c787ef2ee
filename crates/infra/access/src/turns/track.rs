//! Connections that go on in turn.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use super::{IN_LINE, Line, Place};

/// Whose work a connection carries: that of whoever asked last on it. Nobody's as long as nobody has asked. Clones are
/// the same connection's.
#[derive(Clone, Default)]
pub struct Track {
    line: Arc<Mutex<Option<Line>>>,
}

/// A connection that goes on when it is its user's turn.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Carried<F> {
    inner: Pin<Box<F>>,
    track: Track,
    place: Option<Place>,
    /// Whether a request on it stands in a line by itself. It is to hear of its turn: whoever has one keeps others from it.
    has_waiting: bool,
}

impl Track {
    /// From now on the connection stands in this line.
    pub fn follow(&self, line: Line) {
        let mut held = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        // The same user by another line is the same: whoever is in it keeps their place.
        let is_known = held.as_ref().is_some_and(|known| known.user == line.user);
        if !is_known {
            *held = Some(line);
        }
    }

    /// Lets a connection go on in turn.
    pub fn pace<F: Future>(&self, connection: F) -> Carried<F> {
        Carried {
            inner: Box::pin(connection),
            track: self.clone(),
            place: None,
            has_waiting: false,
        }
    }

    /// The line to stand in, if it is another than `place` is in.
    fn changed(&self, place: Option<&Place>) -> Option<Line> {
        let held = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let line = held.as_ref()?;
        let is_same = place.is_some_and(|place| Arc::ptr_eq(&place.line.user, &line.user));
        (!is_same).then(|| line.clone())
    }
}

impl Place {
    /// Whether it matters who goes first. Whoever is alone has nobody to wait for, and a connection has no more to do
    /// than its requests, which have their turns: a second one would only be looked after.
    fn is_wanted(&self) -> bool {
        self.ticket.is_some() || self.line.shared.lock().has_others(&self.line.user)
    }
}

impl<F: Future> Future for Carried<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self {
            inner,
            track,
            place,
            has_waiting,
        } = &mut *self;
        if let Some(line) = track.changed(place.as_ref()) {
            *place = Some(Place::new(line));
        }
        if let Some(place) = place.as_mut().filter(|_| !*has_waiting)
            && place.is_wanted()
        {
            return place.poll(inner.as_mut(), context);
        }
        IN_LINE.set(false);
        let outcome = inner.as_mut().poll(context);
        *has_waiting = IN_LINE.take();
        outcome
    }
}

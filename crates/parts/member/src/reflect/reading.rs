//! What a member's object means, as the rules for its kind have it.

use api::work::ResourceHealth;
use interpret::{InterpretError, Interpreter};
use object::{Object, Value};

/// The member's object for a manifest of a work, and what it means.
pub(crate) struct Reading<'a> {
    /// The object.
    pub(crate) object: &'a Object,
    /// The part of its status that is carried back.
    pub(crate) status: Result<Option<Value>, InterpretError>,
    /// How it is doing.
    pub(crate) health: Result<ResourceHealth, InterpretError>,
}

impl<'a> Reading<'a> {
    /// Asks what an object means, a webhook if need be.
    pub(crate) async fn of(object: &'a Object, interpreter: &Interpreter) -> Self {
        let status = match interpreter.ask_reflect(object) {
            Ok(answer) => interpreter.settle(answer).await,
            Err(error) => Err(error),
        };
        let health = match interpreter.ask_health(object) {
            Ok(answer) => interpreter.settle(answer).await,
            Err(error) => Err(error),
        };
        Self {
            object,
            status,
            health,
        }
    }

    /// Whether asking again may bring what could not be learnt.
    pub(crate) fn is_unfinished(&self) -> bool {
        let may_come = |error: Option<&InterpretError>| error.is_some_and(|e| !e.is_terminal());
        may_come(self.status.as_ref().err()) || may_come(self.health.as_ref().err())
    }
}

//! What a reconcile has at hand.

use std::fmt;
use std::sync::Arc;

use client::Client;
use intent::Plan;
use object::time::Time;
use runtime::Clock;
use telemetry::metrics::Registry;

use crate::events::Recorder;
use crate::execute::{self, CarryOutError};
use crate::observe::{Observer, Quiet};
use crate::pressure::Pressure;

/// What a reconcile has at hand: a client, a clock, and the executor of plans; clones share them.
#[derive(Clone)]
pub struct Cx {
    /// Talks to the API server.
    pub client: Client,
    /// Says what time it is.
    pub clock: Clock,
    /// Writes events.
    pub events: Recorder,
    /// The name under which fields are written.
    pub manager: &'static str,
    /// What is counted and measured.
    pub metrics: Registry,
    /// Whether what can wait should.
    pub pressure: Pressure,
    pub(crate) observer: Arc<dyn Observer>,
}

impl Cx {
    /// For controllers that write as `manager`, which is also the source of their events.
    #[must_use]
    pub fn new(client: Client, clock: Clock, events: Recorder, manager: &'static str) -> Self {
        Self {
            client,
            clock,
            events,
            manager,
            metrics: Registry::default(),
            pressure: Pressure::default(),
            observer: Arc::new(Quiet),
        }
    }

    /// The same, with somebody who is told what is done.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// The same, with figures that somebody reads.
    #[must_use]
    pub fn measured_by(self, metrics: Registry) -> Self {
        Self { metrics, ..self }
    }

    /// The same, giving way to the urgent controllers of others too.
    #[must_use]
    pub fn pressed_by(self, pressure: Pressure) -> Self {
        Self { pressure, ..self }
    }

    /// Carries a plan out, action by action, up to the first that fails. What is already as wanted counts as done.
    ///
    /// Problems in the plan are logged; they hold nothing up.
    pub async fn carry_out(&self, plan: &Plan) -> Result<(), CarryOutError> {
        execute::carry_out(self, plan).await
    }

    /// Now, to the second.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

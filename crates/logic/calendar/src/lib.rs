//! The times that a schedule means: five fields in a time zone, or every so often.
//!
//! Asked by whoever acts by the clock: CronFederatedHPAs in the control plane, CronJobs in simulated members.
//!
//! ```
//! use karavel_calendar::Schedule;
//!
//! let weekdays = Schedule::parse("0 9 * * mon-fri", Some("Europe/Berlin")).unwrap();
//! let friday = "2026-07-03T12:00:00Z".parse().unwrap();
//! assert_eq!(weekdays.after(friday).unwrap().to_string(), "2026-07-06T07:00:00Z");
//! ```
//!
//! Entry point: [`Schedule::parse`].
//!
//! Invariants:
//! - Time is an input; the same schedule and time give the same answer on any machine: the time zones are those that were
//!   built in.
//! - A time that clocks leave out when they are put forward is left out; one that they show twice counts once.
//!
//! Non-goals: the wider dialect that admission lets through (seconds, years, last days), waiting.

mod schedule;

pub use crate::schedule::{Schedule, ScheduleError, Times};

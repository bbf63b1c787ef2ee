//! What the process tells its operators.
//!
//! Every part logs through `tracing`; the binary calls [`start_logging`] once. [`chain`] prints an error with all its
//! causes, which is how errors enter the log. What is counted goes into a [`metrics::Registry`].
//!
//! Entry points: [`start_logging`], [`chain`], [`metrics::Registry`].
//!
//! Invariants: an error's causes are printed once each; secrets and whole objects are never fields of an event.
//!
//! Non-goals: deciding what is worth telling.

pub mod metrics;
pub mod process;

use std::error::Error;
use std::fmt;
use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// An error and everything that led to it, on one line.
pub struct Chain<'e>(&'e (dyn Error + 'static));

/// Prints an error with all its causes: `cannot open the store: cannot read segment 3: permission denied`.
#[must_use]
pub fn chain<'e>(error: &'e (dyn Error + 'static)) -> Chain<'e> {
    Chain(error)
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for machines.
    Json,
}

/// A log filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("log filter {filter:?} cannot be read; it looks like info or karavel=debug,hyper=warn")]
pub struct FilterError {
    filter: String,
    source: tracing_subscriber::filter::ParseError,
}

/// Sends events to standard error. Later calls change nothing: the first one counts.
pub fn start_logging(filter: &str, format: LogFormat) -> Result<(), FilterError> {
    let parsed = EnvFilter::try_new(filter);
    let parsed = parsed.map_err(|source| FilterError {
        filter: filter.to_owned(),
        source,
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => subscriber.with_target(false).try_init(),
        LogFormat::Json => subscriber.json().try_init(),
    };
    drop(started); // Refused only because somebody was first.
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the store")]
    struct Outer {
        source: Inner,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read segment 3")]
    struct Inner;

    #[test]
    fn an_error_is_printed_with_its_causes() {
        assert_eq!(
            chain(&Outer { source: Inner }).to_string(),
            "cannot open the store: cannot read segment 3"
        );
        assert_eq!(chain(&Inner).to_string(), "cannot read segment 3");
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_refused() {
        assert!(start_logging("a=b=c", LogFormat::Text).is_err());
    }
}

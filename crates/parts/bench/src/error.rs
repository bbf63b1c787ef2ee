//! Why a measurement could not be made.

use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The kubeconfig does not lead anywhere.
    #[error("cannot use the kubeconfig of {whose}")]
    Kubeconfig {
        /// Whose it is.
        whose: String,
        /// Why.
        source: Box<client::ConfigError>,
    },
    /// Nothing answers.
    #[error("cannot reach {server}: {why}")]
    Unreachable {
        /// Where it was to be.
        server: String,
        /// Why.
        why: String,
    },
    /// A connection ended in the middle.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The server does not want to.
    #[error("the server refused to {doing} ({status}): {said}")]
    Refused {
        /// What was asked.
        doing: String,
        /// The code it answered with.
        status: u16,
        /// Its own words.
        said: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {seconds} s: {seen}")]
    Late {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
        /// How far it got.
        seen: String,
    },
    /// A process could not be started or ended at once.
    #[error("cannot run {what}: {why}")]
    Process {
        /// The command.
        what: String,
        /// Why.
        why: String,
    },
    /// The workload needs something the target does not offer.
    #[error("the workload {workload} needs {needs}")]
    Unfit {
        /// Its name.
        workload: String,
        /// What is missing.
        needs: &'static str,
    },
    /// There is no such workload.
    #[error("no workload is called {name:?}; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {path}")]
    File {
        /// What was to be done with it.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A report is not one.
    #[error("{path} is not a report: {why}")]
    Report {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl BenchError {
    pub(crate) fn broken(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(deeper) = cause {
            text.push_str(": ");
            text.push_str(&deeper.to_string());
            cause = deeper.source();
        }
        Self::Broken(text)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Kubeconfig { .. } | Self::Unreachable { .. } => {
                "check --control and --members, or use --self to measure a server of its own"
            }
            Self::Broken(_) => "see the server's log; it may have been stopped",
            Self::Refused { .. } => "the workloads need the rights of an administrator",
            Self::Late { .. } => "see the server's log, or try --size small",
            Self::Process { .. } => "see the lines above",
            Self::Unfit { .. } => "use --self, or give what is missing",
            Self::Unknown { .. } => "karavel bench --list names them",
            Self::File { .. } | Self::Report { .. } => "check the path",
        }
    }
}

//! How a command ends when it does not end well.

/// Why a command did not do what was asked. The two lines are what happened and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for makes no sense, does not exist or is not allowed. Exit code 1.
    #[error("{what}")]
    Refused {
        /// What happened, to what.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// Something broke on the way. Exit code 2.
    #[error("{what}")]
    Failed {
        /// What happened, to what.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl Failure {
    /// A refusal.
    pub fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// A failure.
    pub fn failed(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// What the process ends with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused { .. } => 1,
            Self::Failed { .. } => 2,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Refused { hint, .. } | Self::Failed { hint, .. } => hint,
        }
    }
}

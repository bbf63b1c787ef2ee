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
    /// A command that ran elsewhere ended with a code of its own, which is passed on.
    #[error("{what}")]
    Ended {
        /// What happened.
        what: String,
        /// The exit code.
        code: u8,
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
            Self::Ended { code, .. } => *code,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Refused { hint, .. } | Self::Failed { hint, .. } => hint,
            Self::Ended { .. } => "",
        }
    }

    /// The same with something put before what happened.
    #[must_use]
    pub fn prefixed(self, with: &str) -> Self {
        self.reworded(|what| format!("{with}{what}"))
    }

    /// The same with the cluster it happened in. Upstream: that takes the place of who said it and of the reason, which
    /// are told of the control plane alone.
    #[must_use]
    pub(crate) fn in_cluster(self, cluster: &str) -> Self {
        self.reworded(|what| {
            let (_, message) = what.split_at(server_words(&what));
            format!("cluster({cluster}): {message}")
        })
    }

    /// The same, said otherwise.
    #[must_use]
    pub fn reworded(self, say: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Refused { what, hint } => Self::Refused {
                what: say(what),
                hint,
            },
            Self::Failed { what, hint } => Self::Failed {
                what: say(what),
                hint,
            },
            Self::Ended { what, code } => Self::Ended {
                what: say(what),
                code,
            },
        }
    }

    /// The same with other advice.
    #[must_use]
    pub fn advised(self, advice: impl Into<String>) -> Self {
        let hint = advice.into();
        match self {
            Self::Refused { what, .. } => Self::Refused { what, hint },
            Self::Failed { what, .. } => Self::Failed { what, hint },
            ended @ Self::Ended { .. } => ended,
        }
    }
}

/// How much of a message says that a server said it, and why: `from server (NotFound): `.
pub(crate) fn server_words(said: &str) -> usize {
    let (plain, reasoned) = ("from server: ", "from server (");
    if said.starts_with(plain) {
        return plain.len();
    }
    let end = said.find("): ").filter(|_| said.starts_with(reasoned));
    end.map_or(0, |end| end + "): ".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_takes_the_place_of_who_said_it() {
        for (what, expected) in [
            (
                "from server (NotFound): deployments.apps \"x\" not found",
                "cluster(member1): deployments.apps \"x\" not found",
            ),
            ("from server: it is late", "cluster(member1): it is late"),
            (
                "no answer within 15s",
                "cluster(member1): no answer within 15s",
            ),
            ("from server", "cluster(member1): from server"),
        ] {
            let failure = Failure::refused(what, "look").in_cluster("member1");
            assert_eq!(failure.to_string(), expected);
            assert_eq!(failure.hint(), "look");
        }
    }
}

//! Whether who answers in a member's place is the cluster that joined.
//!
//! An address may come to be another cluster's: a machine gets the address of another, an endpoint is typed wrong, a cluster
//! is made anew. Where it takes the credentials, works would be brought to it, and what has their marks deleted in it. So a
//! member says who it is before anything is written there: by the uid of its namespace `kube-system`, as when it joined.
//!
//! Upstream: the id is compared when a cluster joins, and never again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{CallError, Client};
use object::ObjectKey;
use tokio::time::Instant;

use crate::resources;

/// The namespace that every cluster has from its first moment to its last.
const EVERYWHERE: &str = "kube-system";

/// Who a member said it is, as long as it is reached in one way.
pub(crate) struct Recognition {
    /// Who joined; empty if nobody wrote it down, and then whoever answers is believed.
    expected: String,
    state: Mutex<State>,
    /// One asks, the others wait for its answer: held across the call on purpose.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    seen: Seen,
    asked: Option<Instant>,
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Seen {
    /// Nobody has said so yet, or not since the member was silent.
    #[default]
    Unknown,
    /// The cluster that joined.
    Itself,
    /// Another one, with this id; whether the cluster's status says so yet.
    Another { found: String, is_told: bool },
    /// The cluster that joined, after it was another. What was kept of it in between may be the other's, so it has to be
    /// reached anew.
    Returned,
}

/// What a member said when it was asked who it is.
#[derive(Debug)]
enum Said {
    /// This id; empty if it does not even have the namespace.
    Id(String),
    /// That we may not know.
    Withheld,
}

impl Recognition {
    pub(crate) fn new(expected: String) -> Self {
        Self {
            expected,
            state: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// The id that the cluster joined with; empty if nobody wrote it down.
    pub(crate) fn expected(&self) -> &str {
        &self.expected
    }

    /// Whether it is the cluster that joined, so that it may be written to. Asks where that is not known.
    pub(crate) async fn is_itself(&self, member: &Client) -> Result<bool, CallError> {
        if self.expected.is_empty() {
            return Ok(true);
        }
        if let Some(known) = self.lock().seen.is_itself() {
            return Ok(known);
        }
        let _asking = self.asking.lock().await;
        if let Some(known) = self.lock().seen.is_itself() {
            return Ok(known);
        }
        self.note(&ask(member).await?, Instant::now());
        Ok(self.lock().seen.is_itself().unwrap_or_default())
    }

    /// Asks anew, unless somebody has lately; who was found in the place of the cluster that joined, if anybody. A member
    /// that does not answer leaves what is known as it is.
    pub(crate) async fn look(
        &self,
        member: &Client,
        lately: Duration,
        patience: Duration,
    ) -> Option<String> {
        if self.expected.is_empty() {
            return None;
        }
        let _asking = self.asking.lock().await;
        let asked = self.lock().asked;
        if asked.is_none_or(|asked| asked.elapsed() >= lately)
            && let Ok(Ok(said)) = tokio::time::timeout(patience, ask(member)).await
        {
            self.note(&said, Instant::now());
        }
        match &self.lock().seen {
            Seen::Another { found, .. } => Some(found.clone()),
            _ => None,
        }
    }

    /// Notes that the cluster's status says who was found.
    pub(crate) fn told(&self) {
        if let Seen::Another { is_told, .. } = &mut self.lock().seen {
            *is_told = true;
        }
    }

    /// Whether it is the cluster that joined again, after it was another.
    pub(crate) fn has_returned(&self) -> bool {
        self.lock().seen == Seen::Returned
    }

    /// Whoever is there after a silence may be another.
    pub(crate) fn doubt(&self) {
        let mut state = self.lock();
        if state.seen == Seen::Itself {
            *state = State::default();
        }
    }

    fn note(&self, said: &Said, now: Instant) {
        let mut state = self.lock();
        let seen = std::mem::take(&mut state.seen);
        *state = State {
            seen: seen.after(said, &self.expected),
            asked: Some(now),
        };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// Whether it is the cluster that joined and was all the time; `None` if it has to be asked.
    fn is_itself(&self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Itself => Some(true),
            Self::Another { .. } | Self::Returned => Some(false),
        }
    }

    /// What is known after the member has said something.
    fn after(self, said: &Said, expected: &str) -> Self {
        match (self, said) {
            // One who lets us write but not look is believed, as whoever joined by hand with fewer rights.
            (Self::Unknown, Said::Withheld) => Self::Itself,
            (seen, Said::Withheld) => seen,
            (seen, Said::Id(id)) if id == expected => match seen {
                Self::Unknown | Self::Itself => Self::Itself,
                // It begins anew when its status changes back, which it can only after it has changed.
                Self::Another { is_told: false, .. } => seen,
                Self::Another { is_told: true, .. } | Self::Returned => Self::Returned,
            },
            (seen, Said::Id(id)) => Self::Another {
                found: id.clone(),
                is_told: matches!(seen, Self::Another { is_told: true, .. }),
            },
        }
    }
}

async fn ask(member: &Client) -> Result<Said, CallError> {
    let key = ObjectKey::cluster(EVERYWHERE);
    match member.get_metadata(&resources::namespaces(), &key).await {
        Ok(namespace) => Ok(Said::Id(namespace.uid().to_owned())),
        Err(error) if error.is_absence_of(EVERYWHERE) => Ok(Said::Id(String::new())),
        Err(error)
            if error
                .refusal()
                .is_some_and(|refusal| refusal.code == FORBIDDEN) =>
        {
            Ok(Said::Withheld)
        }
        Err(error) => Err(error),
    }
}

/// The answer to who is known and may not.
const FORBIDDEN: u16 = 403;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_another_is_reached_anew_and_only_after_that_was_told() {
        let recognition = Recognition::new("own".to_owned());
        let shown = || format!("{:?}", recognition.lock().seen);
        for (step, expected) in [
            ("silence", "Unknown"),
            ("own", "Itself"),
            ("silence", "Unknown"),
            ("withheld", "Itself"),
            ("other", r#"Another { found: "other", is_told: false }"#),
            ("silence", r#"Another { found: "other", is_told: false }"#),
            ("own", r#"Another { found: "other", is_told: false }"#),
            ("told", r#"Another { found: "other", is_told: true }"#),
            ("third", r#"Another { found: "third", is_told: true }"#),
            ("withheld", r#"Another { found: "third", is_told: true }"#),
            ("own", "Returned"),
            ("silence", "Returned"),
            ("own", "Returned"),
            ("", r#"Another { found: "", is_told: false }"#),
        ] {
            match step {
                "silence" => recognition.doubt(),
                "told" => recognition.told(),
                "withheld" => recognition.note(&Said::Withheld, Instant::now()),
                id => recognition.note(&Said::Id(id.to_owned()), Instant::now()),
            }
            assert_eq!(shown(), expected, "{step}");
        }
    }
}

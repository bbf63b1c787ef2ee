//! Proving who we are: a token that etcd hands out for user and password, and forgets now and then.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;
use tonic::metadata::{Ascii, MetadataValue};

use super::options::User;
use super::trouble::Trouble;

/// The token in use, renewed by whoever first finds that it is no longer good.
pub(super) struct Auth {
    user: Option<User>,
    token: RwLock<Arc<Token>>,
    /// One asks at a time: the others wait and use what it got, because checking a password is slow on purpose.
    turn: Semaphore,
}

/// What is sent along with a request.
#[derive(Debug, Default)]
pub(super) struct Token {
    /// Counts renewals, to tell a token that has failed from one that has replaced it meanwhile.
    generation: u64,
    pub(super) value: Option<MetadataValue<Ascii>>,
}

impl Auth {
    pub(super) fn new(user: Option<User>) -> Self {
        Self {
            user,
            token: RwLock::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Whether a token could be had at all.
    pub(super) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    pub(super) fn token(&self) -> Arc<Token> {
        Arc::clone(&self.token.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces a token that is no longer good, unless someone else has already. `ask` trades the password for one.
    pub(super) async fn renew<F>(
        &self,
        stale: &Token,
        ask: impl FnOnce(User) -> F,
    ) -> Result<(), Trouble>
    where
        F: Future<Output = Result<String, Trouble>>,
    {
        let Some(user) = self.user.clone() else {
            return Ok(());
        };
        let _turn = self.turn.acquire().await.map_err(|_| Trouble::Closed)?;
        if self.token().generation != stale.generation {
            return Ok(());
        }
        let value = match ask(user).await {
            Ok(text) => MetadataValue::try_from(text).ok(),
            // The operator may prepare the password before switching authentication on.
            Err(Trouble::AuthOff) => None,
            Err(trouble) => return Err(trouble),
        };
        let fresh = Token {
            generation: stale.generation.wrapping_add(1),
            value,
        };
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
        Ok(())
    }
}

//! Sealing again what is in the clear or sealed with an older key.
//!
//! Goes through the keys page by page and puts each value that needs it once more, on the condition that nobody wrote it
//! meanwhile. It can be cut short at any point and begun again: what is done is seen to be done.

use std::sync::Arc;

use crate::Key;
use crate::error::{CommitError, ReadError};
use crate::query::Query;
use crate::sealed::Sealed;
use crate::sealed::keyring::{KeyId, sealed_with};
use crate::txn::{Expect, Txn};

/// How many keys are looked at in one page. Whatever is written to them meanwhile is sealed with the newest key anyway.
const PAGE: usize = 256;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Values looked at.
    pub seen: u64,
    /// Values sealed anew.
    pub sealed: u64,
}

/// Seals everything below the store's prefixes with its first key; `progress` hears of every page.
///
/// # Errors
/// When the store cannot be read or written, or a value is sealed with a key that is not there. What was sealed until
/// then stays sealed.
pub async fn reseal(
    store: &Sealed,
    mut progress: impl FnMut(Resealed),
) -> Result<Resealed, ReadError> {
    let mut done = Resealed::default();
    let newest = store.seal.ring.id();
    for prefix in &store.seal.prefixes {
        let mut query = Query::prefix(prefix.clone()).limit(PAGE);
        loop {
            let page = Box::pin(store.below().range(&query)).await?;
            for entry in &page.entries {
                done.seen += 1;
                if needs(&entry.value, newest) && renew(store, &entry.key).await? {
                    done.sealed += 1;
                }
            }
            progress(done);
            let (true, Some(last)) = (page.more, page.entries.last()) else {
                break;
            };
            // The first key after the last one seen.
            let start = [last.key.as_bytes().as_ref(), b"\0"].concat();
            let Some(end) = query.span.end() else { break };
            query = Query::between(start, end).limit(PAGE);
        }
    }
    Ok(done)
}

fn needs(value: &[u8], newest: KeyId) -> bool {
    sealed_with(value) != Some(newest)
}

/// Puts a value once more. Whoever writes it meanwhile has sealed it with the newest key.
async fn renew(store: &Sealed, key: &Key) -> Result<bool, ReadError> {
    let Some(entry) = store.get(key, None).await? else {
        return Ok(false);
    };
    let txn = Txn::new()
        .check(key.clone(), Expect::ModifiedAt(entry.modified))
        .put(key.clone(), entry.value.clone());
    match store.commit(txn).await {
        Ok(_) => Ok(true),
        Err(CommitError::Conflict(_)) => Ok(false),
        Err(error) => Err(ReadError::Unavailable {
            source: Arc::new(error),
        }),
    }
}

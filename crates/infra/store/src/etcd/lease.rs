//! Times to live, as leases of etcd: one lease for each key put with one.
//!
//! A lease for each key is what lets one key be renewed without the others and without a new revision. It costs etcd
//! a little memory for each such key, and a round trip before the put (`docs/adr/0008-own-etcd-client.md`). A lease
//! whose key was put again or deleted is given back, unless other keys hang on it.

use std::hash::{BuildHasher, RandomState};
use std::sync::Weak;
use std::time::Duration;

use tokio::sync::mpsc;

use super::Shared;
use super::client::Purpose;
use super::proto::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseRevokeRequest, LeaseRevokeResponse, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
    RangeRequest, path,
};
use super::trouble::Trouble;
use crate::error::{CommitError, ReadError, RenewError};
use crate::key::Key;

/// The upper sixteen bits of the leases we make, to know them again: "KR".
const MARK: i64 = 0x4b52 << 48;
const MARK_BITS: i64 = 0x7fff << 48;

/// How often another id is tried when one is taken, which is as good as never.
const ATTEMPTS: usize = 3;

impl Shared {
    /// A lease of at least this long; etcd counts in seconds and has a shortest time of its own.
    pub(super) async fn grant(&self, ttl: Duration) -> Result<i64, Trouble> {
        let whole = ttl.as_secs();
        let seconds = if ttl.subsec_nanos() > 0 {
            whole.saturating_add(1)
        } else {
            whole
        };
        let ttl = i64::try_from(seconds).unwrap_or(i64::MAX);
        let mut result = Err(Trouble::LeaseExists);
        for _ in 0..ATTEMPTS {
            let id = mint();
            let request = LeaseGrantRequest { ttl, id };
            // A grant that got lost is made again, and ends with its time if it did happen.
            let answer: Result<LeaseGrantResponse, _> = self
                .client
                .call(path::LEASE_GRANT, request, Purpose::Repeatable)
                .await;
            result = answer.map(|_| id);
            if !matches!(result, Err(Trouble::LeaseExists)) {
                break;
            }
        }
        result
    }

    pub(super) async fn renew(&self, key: &Key) -> Result<(), RenewError> {
        let request = RangeRequest {
            key: self.layout.outer(key.as_ref()),
            keys_only: true,
            ..RangeRequest::default()
        };
        let missing = || RenewError::Missing { key: key.clone() };
        let answer = self
            .read(request, None)
            .await
            .map_err(|error| match error {
                ReadError::Unavailable { source } => CommitError::Unavailable { source },
                ReadError::Closed | ReadError::Compacted { .. } | ReadError::Future { .. } => {
                    CommitError::Closed
                }
            })?;
        let id = answer.kvs.first().ok_or_else(missing)?.lease;
        if id == 0 {
            return Err(RenewError::Lasting { key: key.clone() });
        }
        // A stream of one message has the form of a plain call, so it can be made as one.
        let request = LeaseKeepAliveRequest { id };
        let answer: Result<LeaseKeepAliveResponse, _> = self
            .client
            .call(path::LEASE_KEEP_ALIVE, request, Purpose::Repeatable)
            .await;
        match answer {
            Ok(answer) if answer.ttl > 0 => Ok(()),
            Ok(_) | Err(Trouble::NoLease) => Err(missing()),
            Err(trouble) => Err(trouble.into_commit_error().into()),
        }
    }

    /// Lets go of a lease that a key no longer needs.
    pub(super) fn discard(&self, id: i64) {
        if is_ours(id) {
            // A full queue forgets the lease: it ends with its time.
            let _ = self.spent.try_send(id);
        }
    }

    async fn give_back(&self, id: i64) -> Result<(), Trouble> {
        let request = LeaseTimeToLiveRequest { id, keys: true };
        let lease: LeaseTimeToLiveResponse = self
            .client
            .call(path::LEASE_TIME_TO_LIVE, request, Purpose::Repeatable)
            .await?;
        // Revoking deletes what hangs on a lease. Ours have no second key, but what looks like ours may.
        if lease.ttl <= 0 || !lease.keys.is_empty() {
            return Ok(());
        }
        let request = LeaseRevokeRequest { id };
        let _: LeaseRevokeResponse = self
            .client
            .call(path::LEASE_REVOKE, request, Purpose::Repeatable)
            .await?;
        Ok(())
    }
}

/// Gives leases back, one after the other, until the store is gone.
pub(super) async fn sweep(shared: Weak<Shared>, mut queue: mpsc::Receiver<i64>) {
    while let Some(id) = queue.recv().await {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if let Err(trouble) = shared.give_back(id).await {
            let error = trouble.into_error();
            tracing::debug!(%error, "a spent lease is left to end with its time");
        }
    }
}

/// A new id, one of 2^48.
fn mint() -> i64 {
    // The standard library seeds its hashers from the system, which is all the chance needed here.
    let chance = RandomState::new().hash_one(0u8) >> 16;
    MARK | i64::try_from(chance).unwrap_or_default()
}

fn is_ours(id: i64) -> bool {
    id & MARK_BITS == MARK && id > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_leases_are_known_again_and_differ() {
        let (one, other) = (mint(), mint());
        assert!(is_ours(one) && is_ours(other) && one != other);
        for foreign in [0, 1, -1, i64::MAX, i64::MIN, MARK >> 1, MARK | i64::MIN] {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }
}

//! Letting etcd forget, when told to or regularly.

use std::time::Duration;

use super::client::Purpose;
use super::proto::{
    self, CompactionRequest, CompactionResponse, Compare, PutRequest, RangeRequest, Request,
    RequestOp, Response, Target, TxnRequest, TxnResponse, path,
};
use super::read::revision_of;
use super::trouble::Trouble;
use super::{Etcd, Shared};
use crate::error::{CompactError, ReadError};
use crate::key::Revision;

impl Shared {
    pub(super) async fn compact(&self, revision: Revision) -> Result<(), CompactError> {
        let Ok(number) = i64::try_from(revision.0) else {
            return Err(self.future(revision).await);
        };
        if number == 0 {
            return Ok(()); // Nothing lies before the beginning, and etcd would not understand.
        }
        match self.compact_to(number).await {
            Ok(()) => Ok(()),
            Err(Trouble::Future) => Err(self.future(revision).await),
            Err(trouble) => Err(trouble.into_commit_error().into()),
        }
    }

    async fn compact_to(&self, revision: i64) -> Result<(), Trouble> {
        let request = CompactionRequest { revision };
        let answer: Result<CompactionResponse, _> = self
            .client
            .call(path::COMPACT, request, Purpose::Repeatable)
            .await;
        match answer {
            Ok(_) | Err(Trouble::Compacted) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    async fn future(&self, requested: Revision) -> CompactError {
        match self.revision().await {
            Ok(current) => CompactError::Future { requested, current },
            Err(ReadError::Unavailable { source }) => {
                crate::CommitError::Unavailable { source }.into()
            }
            Err(_) => crate::CommitError::Closed.into(),
        }
    }
}

impl Etcd {
    /// Compacts history that is older than `keep`, over and over, until the store is closed. For an etcd that nobody
    /// else compacts: it concerns all tenants of the cluster.
    ///
    /// Several replicas may run this: a key beside the entries decides whose turn it is, so that together they compact
    /// once in each period. History is therefore kept for one to two periods.
    pub async fn compact_regularly(&self, keep: Duration) {
        let shared = self.shared();
        let closing = shared.client.closing();
        let rounds = async {
            let mut turn = Turn::default();
            loop {
                if let Err(trouble) = shared.compaction_round(&mut turn).await {
                    let error = trouble.into_error();
                    tracing::warn!(%error, "history could not be compacted; it is tried again");
                }
                tokio::time::sleep(keep).await;
            }
        };
        tokio::select! {
            () = closing => {}
            () = rounds => {}
        }
    }
}

/// What a replica saw one period ago.
#[derive(Debug, Default)]
struct Turn {
    /// When the deciding key was written, if it has been looked at yet.
    decided: Option<i64>,
    /// The newest revision at that time.
    newest: i64,
}

impl Shared {
    /// If nobody has compacted since the last round, compacts up to what was newest then.
    async fn compaction_round(&self, turn: &mut Turn) -> Result<(), Trouble> {
        let key = self.layout.reserved("compaction");
        let put = RequestOp {
            request: Some(Request::Put(PutRequest {
                key: key.clone(),
                value: turn.newest.to_string().into(),
                ..PutRequest::default()
            })),
        };
        let look = RequestOp {
            request: Some(Request::Range(RangeRequest {
                key: key.clone(),
                ..RangeRequest::default()
            })),
        };
        // A first look writes nothing: no key was ever written at -1.
        let compare = Compare {
            result: proto::EQUAL,
            target: proto::MOD,
            key,
            operand: Some(Target::ModRevision(turn.decided.unwrap_or(-1))),
        };
        let request = TxnRequest {
            compare: vec![compare],
            success: vec![put],
            failure: vec![look],
        };
        let answer: TxnResponse = self.client.call(path::TXN, request, Purpose::Once).await?;
        let newest = revision_of(&answer.header);
        let due = turn.newest;
        turn.newest = i64::try_from(newest.0).unwrap_or(i64::MAX);
        if !answer.succeeded {
            let found = answer.responses.into_iter().next();
            turn.decided = Some(match found.and_then(|found| found.response) {
                Some(Response::Range(range)) => range.kvs.first().map_or(0, |kv| kv.mod_revision),
                _ => 0,
            });
            return Ok(());
        }
        turn.decided = Some(turn.newest);
        tracing::debug!(revision = due, "compacting history");
        self.compact_to(due).await
    }
}

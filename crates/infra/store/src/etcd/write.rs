//! Transactions.

use std::sync::Arc;

use super::Shared;
use super::client::Purpose;
use super::layout::Layout;
use super::proto::{
    self, Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, Request, RequestOp,
    Response, Target, TxnRequest, TxnResponse, path,
};
use super::read::revision_of;
use super::trouble::{EtcdError, Trouble};
use crate::entry::Entry;
use crate::error::CommitError;
use crate::key::Revision;
use crate::txn::{Check, Committed, Conflict, Expect, Op, Outcome, Txn};

impl Shared {
    pub(super) async fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        txn.validate()?;
        let leases = self.leases_for(&txn).await?;
        let request = TxnRequest {
            compare: txn
                .checks
                .iter()
                .map(|check| compare(&self.layout, check))
                .collect(),
            success: txn
                .ops
                .iter()
                .zip(&leases)
                .map(|(op, lease)| operation(&self.layout, op, *lease))
                .collect(),
            failure: txn
                .checks
                .iter()
                .map(|check| look(&self.layout, check))
                .collect(),
        };
        let purpose = if txn.ops.is_empty() {
            Purpose::Repeatable
        } else {
            Purpose::Once
        };
        let answer: Result<TxnResponse, _> = self.client.call(path::TXN, request, purpose).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(trouble) => {
                if !matches!(trouble, Trouble::Lost(_)) {
                    self.discard_all(&leases);
                }
                return Err(trouble.into_commit_error());
            }
        };
        if answer.succeeded {
            return self.committed(txn, answer);
        }
        self.discard_all(&leases);
        Err(self.conflict(&txn, answer))
    }

    /// One lease for each operation that needs one, zero for the others.
    async fn leases_for(&self, txn: &Txn) -> Result<Vec<i64>, CommitError> {
        let mut leases = Vec::with_capacity(txn.ops.len());
        for op in &txn.ops {
            let Op::Put { ttl: Some(ttl), .. } = op else {
                leases.push(0);
                continue;
            };
            match self.grant(*ttl).await {
                Ok(id) => leases.push(id),
                Err(trouble) => {
                    self.discard_all(&leases);
                    // Whatever became of the lease, the transaction was not sent.
                    return Err(match trouble {
                        Trouble::Lost(error) => Trouble::Unsent(error).into_commit_error(),
                        trouble => trouble.into_commit_error(),
                    });
                }
            }
        }
        Ok(leases)
    }

    fn discard_all(&self, leases: &[i64]) {
        leases.iter().for_each(|id| self.discard(*id));
    }

    fn committed(&self, txn: Txn, answer: TxnResponse) -> Result<Committed, CommitError> {
        let revision = revision_of(&answer.header);
        if answer.responses.len() != txn.ops.len() {
            return Err(malformed());
        }
        let mut outcomes = Vec::with_capacity(txn.ops.len());
        for (op, response) in txn.ops.into_iter().zip(answer.responses) {
            let before = match response.response {
                Some(Response::Put(put)) => put.prev_kv,
                Some(Response::DeleteRange(delete)) => delete.prev_kvs.into_iter().next(),
                Some(Response::Range(_)) | None => return Err(malformed()),
            };
            if let Some(before) = &before {
                self.discard(before.lease);
            }
            outcomes.push(self.outcome(op, before.as_ref(), revision));
        }
        Ok(Committed { revision, outcomes })
    }

    /// What an operation did, worked out from what was there before: etcd says no more.
    fn outcome(&self, op: Op, before: Option<&KeyValue>, revision: Revision) -> Outcome {
        let previous = before.and_then(|kv| self.layout.entry(kv));
        let current = match op {
            Op::Delete { .. } => None,
            Op::Put { key, value, .. } => Some(Arc::new(Entry {
                key,
                value,
                created: previous.as_ref().map_or(revision, |entry| entry.created),
                modified: revision,
                version: previous
                    .as_ref()
                    .map_or(1, |entry| entry.version.saturating_add(1)),
            })),
        };
        Outcome { current, previous }
    }

    fn conflict(&self, txn: &Txn, answer: TxnResponse) -> CommitError {
        let revision = revision_of(&answer.header);
        for (index, (check, response)) in txn.checks.iter().zip(answer.responses).enumerate() {
            let Some(Response::Range(found)) = response.response else {
                return malformed();
            };
            let current = found.kvs.first().and_then(|kv| self.layout.entry(kv));
            if !check.expect.holds(current.as_deref()) {
                return CommitError::Conflict(Box::new(Conflict {
                    index,
                    check: check.clone(),
                    current,
                    revision,
                }));
            }
        }
        malformed()
    }
}

fn compare(layout: &Layout, check: &Check) -> Compare {
    let (result, target, operand) = match check.expect {
        Expect::Absent => (proto::EQUAL, proto::CREATE, Target::CreateRevision(0)),
        Expect::Exists => (proto::GREATER, proto::VERSION, Target::Version(0)),
        Expect::ModifiedAt(revision) => {
            // To etcd an absent key was modified at zero; to us nothing ever was. No key was at -1.
            let number = match i64::try_from(revision.0) {
                Ok(0) | Err(_) => -1,
                Ok(number) => number,
            };
            (proto::EQUAL, proto::MOD, Target::ModRevision(number))
        }
    };
    Compare {
        result,
        target,
        key: layout.outer(check.key.as_ref()),
        operand: Some(operand),
    }
}

fn operation(layout: &Layout, op: &Op, lease: i64) -> RequestOp {
    let request = match op {
        Op::Put { key, value, .. } => Request::Put(PutRequest {
            key: layout.outer(key.as_ref()),
            value: value.clone(),
            lease,
            prev_kv: true,
        }),
        Op::Delete { key } => Request::DeleteRange(DeleteRangeRequest {
            key: layout.outer(key.as_ref()),
            prev_kv: true,
        }),
    };
    RequestOp {
        request: Some(request),
    }
}

/// Shows what a key holds if some check fails.
fn look(layout: &Layout, check: &Check) -> RequestOp {
    RequestOp {
        request: Some(Request::Range(RangeRequest {
            key: layout.outer(check.key.as_ref()),
            ..RangeRequest::default()
        })),
    }
}

/// An answer that does not fit the question says nothing about what happened.
fn malformed() -> CommitError {
    CommitError::Unknown {
        source: Arc::new(EtcdError::Other {
            endpoint: "any".into(),
            code: tonic::Code::Internal,
            detail: "the answer does not fit the transaction".into(),
        }),
    }
}

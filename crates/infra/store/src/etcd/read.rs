//! Reading entries and the state of etcd itself.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::client::Purpose;
use super::layout::{self, wire};
use super::proto::{
    self, AlarmRequest, AlarmResponse, RangeRequest, RangeResponse, ResponseHeader, StatusRequest,
    StatusResponse, path,
};
use super::trouble::{self, Trouble};
use super::{Shared, link};
use crate::entry::Entry;
use crate::error::ReadError;
use crate::key::{Key, Revision};
use crate::query::{Page, Query, Span};
use crate::status::Status;

/// How many entries are asked for first, before it is known how large they are.
const FIRST_PAGE: usize = 1000;

/// How large an answer should be: pages cost etcd a walk over all keys of the range each, so few large ones are better,
/// as long as they fit into memory on both sides many times over.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// The most entries to ask for, however small they are.
const LARGEST_PAGE: usize = 50_000;

impl Shared {
    pub(super) async fn get(
        &self,
        key: &Key,
        at: Option<Revision>,
    ) -> Result<Option<Arc<Entry>>, ReadError> {
        let request = RangeRequest {
            key: self.layout.outer(key.as_ref()),
            ..RangeRequest::default()
        };
        let answer = self.read(request, at).await?;
        Ok(answer.kvs.first().and_then(|kv| self.layout.entry(kv)))
    }

    pub(super) async fn revision(&self) -> Result<Revision, ReadError> {
        let answer = self.read(self.nothing(), None).await?;
        Ok(revision_of(&answer.header))
    }

    pub(super) async fn range(&self, query: &Query) -> Result<Page, ReadError> {
        let Some(range) = self.layout.span(&query.span) else {
            let answer = self.read(self.nothing(), query.at).await?;
            return Ok(Page {
                entries: Vec::new(),
                revision: query.at.unwrap_or_else(|| revision_of(&answer.header)),
                more: false,
                remaining: query.count.then_some(0),
            });
        };
        let wanted = if query.limit == 0 {
            usize::MAX
        } else {
            query.limit
        };
        let mut start = range.start;
        let mut at = query.at;
        let mut read = 0usize;
        let mut page = FIRST_PAGE;
        let mut entries = Vec::new();
        loop {
            let request = RangeRequest {
                key: start,
                range_end: range.end.clone(),
                limit: i64::try_from(page.min(wanted.saturating_sub(read))).unwrap_or(i64::MAX),
                ..RangeRequest::default()
            };
            let answer = self.read(request, at).await?;
            // Further pages are read as of the revision of the first.
            let revision = *at.get_or_insert_with(|| revision_of(&answer.header));
            read = read.saturating_add(answer.kvs.len());
            entries.extend(answer.kvs.iter().filter_map(|kv| self.layout.entry(kv)));
            let last = answer.kvs.last();
            let (Some(last), true) = (last, answer.more && read < wanted) else {
                let here = u64::try_from(answer.kvs.len()).unwrap_or(u64::MAX);
                let count = u64::try_from(answer.count).unwrap_or_default();
                return Ok(Page {
                    entries,
                    revision,
                    more: answer.more,
                    remaining: query.count.then_some(count.saturating_sub(here)),
                });
            };
            start = after(&last.key);
            page = page_after(&answer);
        }
    }

    pub(super) async fn status(&self) -> Result<Status, ReadError> {
        let repeatable = Purpose::Repeatable;
        let status: Result<StatusResponse, _> = self
            .client
            .call(path::STATUS, StatusRequest {}, repeatable)
            .await;
        let status = status.map_err(Trouble::into_read_error)?;
        let alarms: Result<AlarmResponse, _> = self
            .client
            .call(path::ALARM, AlarmRequest {}, repeatable)
            .await;
        let alarms = alarms.map_err(Trouble::into_read_error)?.alarms;
        let raised = |alarm: i32| alarms.iter().any(|member| member.alarm == alarm);
        let read_only = if raised(proto::CORRUPT) {
            Some(trouble::CORRUPT.into())
        } else {
            raised(proto::NO_SPACE).then(|| trouble::FULL.into())
        };
        let compacted = match self.read(self.nothing(), Some(Revision::ZERO)).await {
            Ok(_) => Revision::ZERO,
            Err(ReadError::Compacted { compacted, .. }) => compacted,
            Err(error) => return Err(error),
        };
        let count = RangeRequest {
            count_only: true,
            ..self.all()
        };
        let count = self.read(count, None).await?;
        Ok(Status {
            revision: revision_of(&count.header),
            compacted,
            entries: count.count.try_into().ok(),
            disk_bytes: status.db_size.try_into().unwrap_or_default(),
            read_only,
        })
    }

    /// Reads at a revision and says in our terms why that cannot be done.
    pub(super) async fn read(
        &self,
        mut request: RangeRequest,
        at: Option<Revision>,
    ) -> Result<RangeResponse, ReadError> {
        let requested = at.unwrap_or_default();
        let answer = match at.map(wire) {
            Some(None) => Err(Trouble::Future),
            at => {
                request.revision = at.flatten().unwrap_or_default();
                self.client
                    .call(path::RANGE, request, Purpose::Repeatable)
                    .await
            }
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(Trouble::Compacted) => Err(ReadError::Compacted {
                requested,
                compacted: link::find_compacted(self, requested).await,
            }),
            Err(Trouble::Future) => Err(ReadError::Future {
                requested,
                current: Box::pin(self.revision()).await?,
            }),
            Err(trouble) => Err(trouble.into_read_error()),
        }
    }

    /// A question whose answer is empty but for the revision.
    pub(super) fn nothing(&self) -> RangeRequest {
        RangeRequest {
            key: self.layout.reserved("nothing"),
            ..RangeRequest::default()
        }
    }

    fn all(&self) -> RangeRequest {
        let (key, range_end) = match self.layout.span(&Span::default()) {
            Some(range) => (range.start, range.end),
            None => (Bytes::new(), Bytes::new()),
        };
        RangeRequest {
            key,
            range_end,
            ..RangeRequest::default()
        }
    }
}

/// The revision at which an answer was given.
pub(super) fn revision_of(header: &Option<ResponseHeader>) -> Revision {
    layout::revision(header.as_ref().map_or(0, |header| header.revision))
}

/// How many entries like these make an answer of the right size.
fn page_after(answer: &RangeResponse) -> usize {
    let sizes = answer.kvs.iter().map(|kv| kv.key.len() + kv.value.len());
    let bytes = sizes.fold(0, usize::saturating_add);
    let fitting = PAGE_BYTES.saturating_mul(answer.kvs.len()) / bytes.max(1);
    fitting.clamp(1, LARGEST_PAGE)
}

/// The least key after another.
fn after(key: &[u8]) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len().saturating_add(1));
    next.extend_from_slice(key);
    next.extend_from_slice(&[0]);
    next.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::proto::KeyValue;

    #[test]
    fn pages_are_as_large_as_their_entries_allow() {
        for (size, expected) in [
            (0, LARGEST_PAGE),
            (100, LARGEST_PAGE),
            (16 * 1024, 1024),
            (1024 * 1024, 16),
            (64 * 1024 * 1024, 1),
        ] {
            let kv = KeyValue {
                value: vec![0; size].into(),
                ..KeyValue::default()
            };
            let answer = RangeResponse {
                kvs: vec![kv.clone(), kv],
                ..RangeResponse::default()
            };
            assert_eq!(page_after(&answer), expected, "{size} bytes");
        }
    }
}

//! Opening a watch stream on a member.

use std::time::Duration;

use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use super::Shared;
use super::client::Place;
use super::follow::{Follower, Progress};
use super::layout::{self, KeyRange, wire};
use super::proto::{
    StatusRequest, StatusResponse, WatchAsk, WatchCreateRequest, WatchProgressRequest,
    WatchRequest, WatchResponse, path,
};
use super::trouble::{EtcdError, Trouble};
use super::version::Version;
use crate::key::Revision;
use crate::query::Span;

/// How many of our messages may wait to be sent. When more do, a request for progress is left out: it is made again.
const REQUESTS: usize = 4;

/// How long to wait for etcd to say up to where it has compacted. It looks ten times a second.
const COMPACTED_WAIT: Duration = Duration::from_secs(1);

/// A stream with one watch on it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) place: Place,
    pub(super) progress: Progress,
    requests: mpsc::Sender<WatchRequest>,
    responses: Streaming<WatchResponse>,
}

/// Why there is no link, or no more.
#[derive(Debug)]
pub(super) enum Broken {
    /// The changes asked for are compacted up to here.
    Compacted(Revision),
    /// Something else.
    Trouble(Trouble),
}

impl Link {
    /// Opens a stream on the member in use that brings everything after what the follower has seen.
    pub(super) async fn open(shared: &Shared, follower: &Follower) -> Result<Self, Broken> {
        let client = &shared.client;
        let place = client.place();
        let progress = trust(shared, place).await.map_err(Broken::Trouble)?;
        let range = match progress {
            Progress::Ordered => shared.layout.span(&Span::Prefix(follower.prefix().clone())),
            Progress::Unordered => Some(shared.layout.everything()),
        };
        let Some(KeyRange { start, end }) = range else {
            return Err(Broken::Trouble(Trouble::Closed));
        };
        // The stream begins with the revision already seen, whose events are left out again. Beginning with the next
        // one would be accepted even when that is the compacted revision itself, of which deletions may be missing.
        let create = WatchCreateRequest {
            key: start,
            range_end: end,
            start_revision: wire(follower.seen()).unwrap_or(i64::MAX),
            progress_notify: true,
            prev_kv: true,
            fragment: true,
        };
        Self::with(shared, place, progress, create).await
    }

    async fn with(
        shared: &Shared,
        place: Place,
        progress: Progress,
        create: WatchCreateRequest,
    ) -> Result<Self, Broken> {
        let (requests, mut queue) = mpsc::channel(REQUESTS);
        let ask = WatchRequest {
            ask: Some(WatchAsk::Create(create)),
        };
        requests
            .try_send(ask)
            .map_err(|_| Broken::Trouble(Trouble::Closed))?;
        let messages = stream::poll_fn(move |cx| queue.poll_recv(cx));
        let (first, responses) = shared
            .client
            .stream(place, path::WATCH, messages)
            .await
            .map_err(Broken::Trouble)?;
        if let Some(broken) = cancelled(shared, place, &first) {
            return Err(broken);
        }
        Ok(Self {
            place,
            progress,
            requests,
            responses,
        })
    }

    /// The next response. Safe to cancel.
    pub(super) async fn next(&mut self, shared: &Shared) -> Result<WatchResponse, Broken> {
        let status = match self.responses.message().await {
            Ok(Some(response)) => {
                return match cancelled(shared, self.place, &response) {
                    Some(broken) => Err(broken),
                    None => Ok(response),
                };
            }
            Ok(None) => None,
            Err(status) => Some(status),
        };
        Err(Broken::Trouble(
            shared.client.explain(self.place, status.as_ref()),
        ))
    }

    /// Asks etcd how far the watch is.
    pub(super) fn request_progress(&self) {
        let ask = WatchRequest {
            ask: Some(WatchAsk::Progress(WatchProgressRequest {})),
        };
        // A full queue means that such requests are on their way already.
        let _ = self.requests.try_send(ask);
    }
}

/// Finds out up to where etcd has compacted, given a revision that is. etcd tells this only to a watch that wants
/// what is gone.
pub(super) async fn find_compacted(shared: &Shared, gone: Revision) -> Revision {
    let create = WatchCreateRequest {
        key: shared.layout.reserved("nothing"),
        start_revision: wire(gone).unwrap_or(i64::MAX),
        ..WatchCreateRequest::default()
    };
    let ask = async {
        let place = shared.client.place();
        let mut link = Link::with(shared, place, Progress::Unordered, create).await?;
        loop {
            link.next(shared).await?;
        }
    };
    match timeout(COMPACTED_WAIT, ask).await {
        Ok(Err::<(), _>(Broken::Compacted(revision))) => revision,
        // All that is known.
        _ => gone.next(),
    }
}

/// Whether the member's word about progress is good.
async fn trust(shared: &Shared, place: Place) -> Result<Progress, Trouble> {
    let status: StatusResponse = shared
        .client
        .call_on(place, path::STATUS, StatusRequest {})
        .await?;
    match Version::parse(&status.version) {
        Some(version) if version.tells_progress() => Ok(Progress::Ordered),
        Some(version) if version.is_supported() => Ok(Progress::Unordered),
        _ => Err(Trouble::Refused(EtcdError::Other {
            endpoint: shared.client.endpoint(place).into(),
            code: Code::FailedPrecondition,
            detail: format!("version {:?} is older than 3.4", status.version).into(),
        })),
    }
}

/// What a response that ends a watch means.
fn cancelled(shared: &Shared, place: Place, response: &WatchResponse) -> Option<Broken> {
    if response.compact_revision > 0 {
        return Some(Broken::Compacted(layout::revision(
            response.compact_revision,
        )));
    }
    if !response.canceled {
        return None;
    }
    // The reason is all there is; the code would have been this one, had there been one.
    let reason = response.cancel_reason.as_str();
    let code = if reason.contains("permission denied") {
        Code::PermissionDenied
    } else if reason.contains("auth") || reason.contains("user name is empty") {
        Code::Unauthenticated
    } else {
        Code::Unavailable
    };
    let status = Status::new(code, reason);
    Some(Broken::Trouble(shared.client.explain(place, Some(&status))))
}

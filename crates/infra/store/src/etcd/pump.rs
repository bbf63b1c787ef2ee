//! Keeping a watch going: from stream to stream, across lost members and slow readers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Shared;
use super::client::Purpose;
use super::follow::{Follower, Progress};
use super::link::{Broken, Link};
use super::proto::{PutRequest, PutResponse, WatchResponse, path};
use super::trouble::{EtcdError, Trouble};
use super::watch::Mailbox;
use crate::error::WatchError;
use crate::key::Revision;
use crate::status::Notice;

/// How long to wait for events to show progress before etcd is asked for it.
const ASK_AFTER: Duration = Duration::from_millis(5);
/// How often etcd is asked again: it does not answer while a watch is catching up.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// How long to wait for events before a marker is written: a new watch catches up within a tenth of a second.
const MARK_AFTER: Duration = Duration::from_millis(120);
/// How often the marker is written again, in case it was lost.
const MARK_AGAIN: Duration = Duration::from_secs(1);
/// How long finding the target of progress may take, since nothing is read meanwhile.
const TARGET_WAIT: Duration = Duration::from_secs(2);
/// A watch that nothing concerns asks by itself, so that it can be resumed after a compaction.
const IDLE: Duration = Duration::from_secs(60);

/// The task behind a watch.
pub(super) struct Pump {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    follower: Follower,
    quest: Option<Quest>,
    /// Requests for progress that have been answered.
    answered: u64,
    /// When something is to be done even if nothing arrives.
    tick: Instant,
    /// Why the stream before this one was left, until this one has brought something.
    left: Left,
    /// Whether a new token has been tried since the last stream was opened.
    has_fresh_token: bool,
}

/// Finding out that a watch has come to a revision.
struct Quest {
    /// The request it is for; `None` when we want to know ourselves.
    request: Option<u64>,
    target: Revision,
}

/// Why a stream was left, which decides what a compaction meanwhile is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    /// It was lost.
    Lost,
    /// The reader was too slow for it.
    Slow,
}

enum Event {
    Response(Box<Result<WatchResponse, Broken>>),
    Asked,
    Tick,
}

impl Pump {
    pub(super) fn new(shared: Arc<Shared>, mailbox: Arc<Mailbox>, follower: Follower) -> Self {
        Self {
            shared,
            mailbox,
            follower,
            quest: None,
            answered: 0,
            tick: Instant::now() + IDLE,
            left: Left::Lost,
            has_fresh_token: false,
        }
    }

    /// Opens the first stream, without patience: the caller is there to be told.
    pub(super) async fn first_link(&mut self) -> Result<Link, WatchError> {
        let patience = self.shared.client.timeout();
        let closing = self.shared.client.closing();
        tokio::select! {
            () = closing => Err(WatchError::Closed),
            link = timeout(patience, self.link()) => link.unwrap_or_else(|_| {
                Err(Trouble::Lost(EtcdError::TimedOut { waited: patience }).into_watch_error())
            }),
        }
    }

    /// Reads until the watch cannot go on, and says why.
    pub(super) async fn run(mut self, link: Link) {
        // A reader must not wait for a task that is gone, however it went.
        let mailbox = Arc::clone(&self.mailbox);
        let _last_words = LastWords(Arc::clone(&mailbox));
        let closing = self.shared.client.closing();
        let end = tokio::select! {
            () = closing => WatchError::Closed,
            end = self.follow(link) => end,
        };
        mailbox.end(end);
    }

    async fn follow(&mut self, mut link: Link) -> WatchError {
        loop {
            self.left = match self.read(&mut link).await {
                Ok(left) => left,
                Err(error) => return error,
            };
            drop(link);
            self.follower.restart();
            if self.left == Left::Slow {
                self.mailbox.emptied().await;
            }
            link = match self.link().await {
                Ok(link) => link,
                Err(error) => return error,
            };
            self.tick = Instant::now();
        }
    }

    /// Opens a stream on the first member that gives one, however long that takes.
    async fn link(&mut self) -> Result<Link, WatchError> {
        let mut pauses = self.shared.client.pauses();
        loop {
            let place = self.shared.client.place();
            let trouble = match Link::open(&self.shared, &self.follower).await {
                Ok(link) => {
                    self.has_fresh_token = false;
                    return Ok(link);
                }
                Err(Broken::Compacted(compacted)) => return Err(self.compacted(compacted)),
                Err(Broken::Trouble(trouble)) => trouble,
            };
            if self.may_need_token(&trouble) {
                self.has_fresh_token = true;
                if self.shared.client.refresh_token(place).await.is_ok() {
                    continue;
                }
            }
            match trouble {
                Trouble::Unsent(error) | Trouble::Lost(error) => {
                    tracing::debug!(%error, "a watch cannot be resumed; it is tried again");
                }
                trouble => return Err(trouble.into_watch_error()),
            }
            self.shared.client.leave(place);
            sleep(pauses.next()).await;
        }
    }

    /// Reads a stream until it is to be left.
    async fn read(&mut self, link: &mut Link) -> Result<Left, WatchError> {
        loop {
            let event = tokio::select! {
                biased;
                response = link.next(&self.shared) => Event::Response(Box::new(response)),
                () = self.mailbox.changed() => Event::Asked,
                () = sleep_until(self.tick) => Event::Tick,
            };
            let mut room = true;
            match event {
                Event::Response(response) => match *response {
                    Ok(response) => room = self.hear(response, link.progress),
                    Err(Broken::Compacted(compacted)) => {
                        return Err(self.compacted(compacted));
                    }
                    Err(Broken::Trouble(trouble)) => return self.lost(link, trouble),
                },
                Event::Asked => {}
                Event::Tick => self.pursue(link).await,
            }
            self.consider(link).await;
            if !room {
                return Ok(Left::Slow);
            }
        }
    }

    /// Hands on what a response completes. Says whether the reader has room for more.
    fn hear(&mut self, response: WatchResponse, progress: Progress) -> bool {
        let before = self.follower.seen();
        let mut room = true;
        for changes in self.follower.hear(response, progress) {
            room = self.mailbox.push(Notice::Changes(changes));
        }
        if self.follower.seen() > before {
            // What is lost from here on was there for the taking.
            self.left = Left::Slow;
            if self.quest.is_none() {
                self.tick = Instant::now() + IDLE;
            }
        }
        room
    }

    /// Begins to look for progress if it was asked for, and tells of it once it is reached.
    async fn consider(&mut self, link: &Link) {
        let asked = self.mailbox.asked();
        let is_open = |quest: &Quest| quest.request.is_some();
        if asked != self.answered && !self.quest.as_ref().is_some_and(is_open) {
            self.begin(Some(asked), link.progress).await;
        }
        let Some(quest) = self
            .quest
            .take_if(|quest| quest.target <= self.follower.seen())
        else {
            return;
        };
        self.tick = Instant::now() + IDLE;
        if let Some(request) = quest.request {
            self.answered = request;
            let reached = self.follower.progress(quest.target);
            // The queue may be over its limit by this one.
            self.mailbox.push(Notice::Progress(reached));
            if self.mailbox.asked() != request {
                self.tick = Instant::now();
            }
        }
    }

    /// Sets the target: what is newest now, by the word of a majority.
    async fn begin(&mut self, request: Option<u64>, progress: Progress) {
        let patience = match progress {
            Progress::Ordered => ASK_AFTER,
            Progress::Unordered => MARK_AFTER,
        };
        match timeout(TARGET_WAIT, self.shared.revision()).await {
            Ok(Ok(target)) => {
                self.quest = Some(Quest { request, target });
                self.tick = Instant::now() + patience;
            }
            // The stream will break as well if etcd is gone; until then the request stands.
            _ => self.tick = Instant::now() + ASK_AGAIN,
        }
    }

    /// Does what brings the target nearer.
    async fn pursue(&mut self, link: &Link) {
        if self.quest.is_none() {
            if self.mailbox.asked() == self.answered {
                self.begin(None, link.progress).await;
            }
            return;
        }
        match link.progress {
            Progress::Ordered => {
                link.request_progress();
                self.tick = Instant::now() + ASK_AGAIN;
            }
            Progress::Unordered => {
                // Others have written to this etcd since our last event. An event of our own comes after theirs.
                let mark = PutRequest {
                    key: self.shared.layout.reserved("progress"),
                    ..PutRequest::default()
                };
                let call =
                    self.shared
                        .client
                        .call::<_, PutResponse>(path::PUT, mark, Purpose::Repeatable);
                // Whether or not it was written: the next tick tries again.
                let _ = timeout(TARGET_WAIT, call).await;
                self.tick = Instant::now() + MARK_AGAIN;
            }
        }
    }

    /// A broken stream is replaced, unless the reason would break the next one as well.
    fn lost(&mut self, link: &Link, trouble: Trouble) -> Result<Left, WatchError> {
        match trouble {
            Trouble::Refused(EtcdError::Denied) | Trouble::StaleToken(_)
                if self.shared.client.has_user() => {}
            Trouble::Unsent(_) | Trouble::Lost(_) | Trouble::Full | Trouble::Corrupt => {
                self.shared.client.leave(link.place);
            }
            trouble => return Err(trouble.into_watch_error()),
        }
        tracing::debug!(
            endpoint = self.shared.client.endpoint(link.place),
            revision = %self.follower.seen(),
            "a watch lost its stream; it is resumed"
        );
        Ok(Left::Lost)
    }

    /// Whether a token may help. Some releases call a watch with an old one denied.
    fn may_need_token(&self, trouble: &Trouble) -> bool {
        let may = matches!(
            trouble,
            Trouble::StaleToken(_) | Trouble::Refused(EtcdError::Denied)
        );
        may && self.shared.client.has_user() && !self.has_fresh_token
    }

    fn compacted(&self, compacted: Revision) -> WatchError {
        let seen = self.follower.seen();
        match self.left {
            Left::Lost => WatchError::Compacted {
                requested: seen,
                compacted,
            },
            Left::Slow => WatchError::FellBehind { seen, compacted },
        }
    }
}

/// Ends the watch for its reader when the task goes without having said why.
struct LastWords(Arc<Mailbox>);

impl Drop for LastWords {
    fn drop(&mut self) {
        self.0.end(WatchError::Closed);
    }
}

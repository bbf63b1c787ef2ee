//! Turning what a watch stream brings into whole transactions, each once and in order.
//!
//! Plain code: `pump` does the waiting.

use std::sync::Arc;

use bytes::Bytes;

use super::layout::Layout;
use super::proto::{ALL_WATCHES, DELETE, WatchEvent, WatchResponse};
use crate::entry::{Changes, Event};
use crate::key::{Key, Revision};

/// How far a watch has come.
#[derive(Debug)]
pub(super) struct Follower {
    layout: Layout,
    /// Which keys are followed, in our terms.
    prefix: Bytes,
    /// Everything up to here was handed on or does not concern us.
    seen: u64,
    /// The newest transaction handed on.
    told: u64,
    /// A transaction that may go on in the next fragment.
    partial: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    revision: u64,
    events: Vec<Event>,
}

/// How much an answer to a request for progress can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It comes after every event it speaks of.
    Ordered,
    /// It may overtake events.
    Unordered,
}

impl Follower {
    pub(super) fn new(layout: Layout, prefix: Bytes, after: Revision) -> Self {
        Self {
            layout,
            prefix,
            seen: after.0,
            told: 0,
            partial: None,
        }
    }

    pub(super) fn prefix(&self) -> &Bytes {
        &self.prefix
    }

    pub(super) fn seen(&self) -> Revision {
        Revision(self.seen)
    }

    /// What to tell of progress that has reached `revision`: never less than what was handed on.
    pub(super) fn progress(&self, revision: Revision) -> Revision {
        Revision(self.told).max(revision)
    }

    /// Begins again on another stream, which sends everything after `seen`.
    pub(super) fn restart(&mut self) {
        self.partial = None;
    }

    /// Takes in a response and returns the transactions that are now whole.
    pub(super) fn hear(&mut self, response: WatchResponse, progress: Progress) -> Vec<Changes> {
        let mut whole = Vec::new();
        if response.events.is_empty() {
            self.hear_progress(&response, progress);
            return whole;
        }
        for event in response.events {
            self.hear_event(event, &mut whole);
        }
        if !response.fragment {
            self.finish(&mut whole);
        }
        whole
    }

    fn hear_progress(&mut self, response: &WatchResponse, progress: Progress) {
        if response.created || response.canceled || self.partial.is_some() {
            return;
        }
        // What etcd sends by itself for one watch is always in order.
        if response.watch_id == ALL_WATCHES && progress == Progress::Unordered {
            return;
        }
        let revision = response.header.as_ref().map_or(0, |header| header.revision);
        self.seen = self.seen.max(revision.try_into().unwrap_or_default());
    }

    fn hear_event(&mut self, event: WatchEvent, whole: &mut Vec<Changes>) {
        let Some(kv) = &event.kv else {
            return;
        };
        let revision = u64::try_from(kv.mod_revision).unwrap_or_default();
        // A stream begins with the last revision seen, and some releases repeat more than that.
        if revision <= self.seen {
            return;
        }
        if self
            .partial
            .as_ref()
            .is_some_and(|partial| partial.revision != revision)
        {
            self.finish(whole);
        }
        let event = self.event(&event);
        let partial = self.partial.get_or_insert_with(|| Partial {
            revision,
            events: Vec::new(),
        });
        partial.events.extend(event);
    }

    /// Hands the transaction at hand on.
    fn finish(&mut self, whole: &mut Vec<Changes>) {
        let Some(partial) = self.partial.take() else {
            return;
        };
        self.seen = self.seen.max(partial.revision);
        if partial.events.is_empty() {
            return;
        }
        self.told = partial.revision;
        whole.push(Changes {
            revision: Revision(partial.revision),
            events: partial.events.into(),
        });
    }

    /// The event in our terms; `None` when it does not concern us.
    fn event(&self, event: &WatchEvent) -> Option<Event> {
        let kv = event.kv.as_ref()?;
        let key = self.layout.inner(&kv.key)?;
        if !key.starts_with(&self.prefix) {
            return None;
        }
        let previous = event.prev_kv.as_ref().and_then(|kv| self.layout.entry(kv));
        if event.kind == DELETE {
            let key = match &previous {
                Some(entry) => entry.key.clone(),
                None => Key::new(Bytes::copy_from_slice(key)).ok()?,
            };
            return Some(Event {
                key,
                current: None,
                previous,
            });
        }
        let current = self.layout.entry(kv)?;
        Some(Event {
            key: current.key.clone(),
            current: Some(current),
            previous,
        })
    }
}

/// How many bytes a transaction holds on to, roughly.
pub(super) fn weight(changes: &Changes) -> usize {
    let entry = |entry: &Option<Arc<crate::entry::Entry>>| {
        entry
            .as_ref()
            .map_or(0, |entry| entry.value.len().saturating_add(100))
    };
    let event = |event: &Event| {
        let bytes = event.key.as_bytes().len().saturating_add(100);
        bytes
            .saturating_add(entry(&event.current))
            .saturating_add(entry(&event.previous))
    };
    changes
        .events
        .iter()
        .map(event)
        .fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::proto::{KeyValue, ResponseHeader};

    /// A put of `key` at `revision`.
    fn put(revision: i64, key: &str) -> WatchEvent {
        WatchEvent {
            kv: Some(KeyValue {
                key: Bytes::copy_from_slice(key.as_bytes()),
                create_revision: revision,
                mod_revision: revision,
                version: 1,
                ..KeyValue::default()
            }),
            ..WatchEvent::default()
        }
    }

    fn response(events: Vec<WatchEvent>) -> WatchResponse {
        WatchResponse {
            events,
            ..WatchResponse::default()
        }
    }

    fn fragment(events: Vec<WatchEvent>) -> WatchResponse {
        WatchResponse {
            fragment: true,
            ..response(events)
        }
    }

    fn progress(watch_id: i64, revision: i64) -> WatchResponse {
        WatchResponse {
            watch_id,
            header: Some(ResponseHeader {
                revision,
                ..ResponseHeader::default()
            }),
            ..WatchResponse::default()
        }
    }

    fn follower(after: u64) -> Follower {
        Follower::new(Layout::below("/k"), "p/".into(), Revision(after))
    }

    /// Feeds responses and shows what came of each: transactions as `revision:keys`, then how far the watch is.
    fn check(follower: &mut Follower, responses: Vec<WatchResponse>, expected: &[&str]) {
        let shown: Vec<String> = responses
            .into_iter()
            .map(|response| {
                let whole = follower.hear(response, Progress::Ordered);
                let mut words: Vec<String> = whole
                    .iter()
                    .map(|changes| {
                        let keys: Vec<_> = changes
                            .events
                            .iter()
                            .map(|event| event.key.to_string())
                            .collect();
                        format!("{}:{}", changes.revision, keys.join(","))
                    })
                    .collect();
                words.push(format!("@{}", follower.seen()));
                words.join(" ")
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn transactions_are_handed_on_whole_whatever_the_fragments() {
        check(
            &mut follower(4),
            vec![
                response(vec![put(5, "/k/p/a"), put(5, "/k/p/b"), put(6, "/k/p/a")]),
                fragment(vec![put(7, "/k/p/a"), put(8, "/k/p/a")]),
                fragment(vec![put(8, "/k/p/b")]),
                response(vec![put(8, "/k/p/c"), put(9, "/k/p/a")]),
            ],
            &[
                "5:p/a,p/b 6:p/a @6",
                "7:p/a @7",
                "@7",
                "8:p/a,p/b,p/c 9:p/a @9",
            ],
        );
    }

    #[test]
    fn nothing_is_handed_on_twice() {
        check(
            &mut follower(4),
            vec![
                response(vec![put(4, "/k/p/a"), put(5, "/k/p/a")]),
                response(vec![put(5, "/k/p/a"), put(6, "/k/p/a")]),
                response(vec![put(3, "/k/p/a")]),
            ],
            &["5:p/a @5", "6:p/a @6", "@6"],
        );
    }

    #[test]
    fn a_transaction_cut_off_by_a_lost_stream_comes_again_whole() {
        let mut follower = follower(4);
        check(
            &mut follower,
            vec![fragment(vec![put(5, "/k/p/a")])],
            &["@4"],
        );
        follower.restart();
        check(
            &mut follower,
            vec![response(vec![put(5, "/k/p/a"), put(5, "/k/p/b")])],
            &["5:p/a,p/b @5"],
        );
    }

    #[test]
    fn keys_of_others_count_as_seen_and_are_not_shown() {
        check(
            &mut follower(4),
            vec![
                response(vec![put(5, "/k/q/a"), put(6, "/k-other/p/a")]),
                response(vec![put(7, "/k/q/a"), put(7, "/k/p/a")]),
                response(vec![put(8, "/k\0progress")]),
            ],
            &["@6", "7:p/a @7", "@8"],
        );
    }

    #[test]
    fn progress_is_believed_only_when_it_is_in_order() {
        let cases = [
            (Progress::Ordered, ALL_WATCHES, 9),
            (Progress::Ordered, 0, 9),
            (Progress::Unordered, 0, 9),
            (Progress::Unordered, ALL_WATCHES, 4),
        ];
        for (trust, watch_id, expected) in cases {
            let mut follower = follower(4);
            assert_eq!(follower.hear(progress(watch_id, 9), trust), []);
            assert_eq!(follower.seen(), Revision(expected), "{trust:?} {watch_id}");
        }
        // A member that lags behind does not take back what is known.
        let mut follower = follower(4);
        follower.hear(progress(0, 2), Progress::Ordered);
        assert_eq!(follower.seen(), Revision(4));
    }
}

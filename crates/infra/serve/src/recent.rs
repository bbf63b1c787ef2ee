//! The objects written last, as values: whoever writes one again soon after need not parse it.
//!
//! What is created is mostly written again at once, by whoever looks after its kind.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use object::Value;
use store::Revision;

/// How many are kept; the oldest goes first.
const COUNT: usize = 128;
/// How many bytes all of them were stored as, at most. As values they take a few times as much.
const BYTES: usize = 512 * 1024;

/// The values written last, each until it is asked for once.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// A revision is that of one object.
    values: VecDeque<(Revision, usize, Value)>,
    bytes: usize,
}

impl Recent {
    /// Keeps what was stored at a revision in so many bytes.
    pub(crate) fn put(&self, revision: Revision, bytes: usize, value: Value) {
        if bytes > BYTES / 8 {
            return;
        }
        let mut kept = self.lock();
        kept.bytes += bytes;
        kept.values.push_back((revision, bytes, value));
        let mut gone = Vec::new();
        while kept.bytes > BYTES || kept.values.len() > COUNT {
            let Some((_, bytes, value)) = kept.values.pop_front() else {
                break;
            };
            kept.bytes -= bytes;
            gone.push(value);
        }
        // Values are let go of when nobody has to wait for it.
        drop(kept);
        drop(gone);
    }

    /// What was stored at a revision, if it is still here.
    pub(crate) fn take(&self, revision: Revision) -> Option<Value> {
        let mut kept = self.lock();
        let position = kept
            .values
            .iter()
            .rposition(|(known, ..)| *known == revision)?;
        let (_, bytes, value) = kept.values.remove(position)?;
        kept.bytes -= bytes;
        Some(value)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing that runs under the lock leaves it half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(recent: &Recent, revisions: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        revisions
            .filter(|revision| recent.take(Revision(*revision)).is_some())
            .collect()
    }

    #[test]
    fn the_last_ones_are_kept_each_for_one_who_asks() {
        let recent = Recent::default();
        for revision in 1..=COUNT as u64 + 2 {
            recent.put(Revision(revision), 10, Value::from(revision));
        }
        assert_eq!(recent.take(Revision(3)), Some(Value::from(3)));
        assert_eq!(recent.take(Revision(3)), None);
        assert_eq!(kept(&recent, 1..=5), [4, 5]);
    }

    #[test]
    fn they_take_no_more_than_their_room() {
        let recent = Recent::default();
        recent.put(Revision(1), BYTES / 8 + 1, Value::Null);
        for revision in 2..=12 {
            recent.put(Revision(revision), BYTES / 8, Value::Null);
        }
        assert_eq!(kept(&recent, 1..=12), [5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(recent.lock().bytes, 0);
    }
}

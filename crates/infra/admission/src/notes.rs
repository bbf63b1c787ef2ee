//! What admission wants the audit log to say about a request.
//!
//! Admission is asked deep inside the server, the audit log is written in front of it. The notes travel with the task
//! that answers the request, so that nothing between the two has to know of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most notes kept of one request; more are dropped.
const MOST: usize = 64;
/// The longest value kept, in bytes. Upstream: the same for policies.
const LONGEST: usize = 10 * 1024;

tokio::task_local! {
    static NOTES: Arc<Mutex<BTreeMap<String, String>>>;
}

/// Runs a future and gives back what was noted while it ran.
pub async fn gather<F: Future>(future: F) -> (F::Output, BTreeMap<String, String>) {
    let notes = Arc::new(Mutex::default());
    let output = NOTES.scope(Arc::clone(&notes), future).await;
    let noted = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
    (output, noted)
}

/// Notes something about the request that is being answered, if anybody gathers notes. The first note of a name stays.
pub(crate) fn note(name: impl Into<String>, value: impl Into<String>) {
    let (name, value) = (name.into(), value.into());
    let noted = NOTES.try_with(|notes| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST && value.len() <= LONGEST {
            notes.entry(name).or_insert(value);
        }
    });
    // Outside of any request nobody would read it.
    noted.unwrap_or_default();
}

/// Adds to what is noted under a name; the same text is noted once. Upstream: several values stand beside each other.
pub(crate) fn append(name: impl Into<String>, value: &str) {
    let name = name.into();
    let noted = NOTES.try_with(|notes| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = notes.len() >= MOST && !notes.contains_key(&name);
        if is_full || value.len() > LONGEST {
            return;
        }
        let noted = notes.entry(name).or_default();
        let is_there = noted.split(", ").any(|known| known == value);
        if noted.is_empty() {
            noted.push_str(value);
        } else if !is_there && noted.len() + value.len() <= LONGEST {
            noted.push_str(", ");
            noted.push_str(value);
        }
    });
    // Outside of any request nobody would read it.
    noted.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notes_reach_whoever_gathers_them_and_nobody_else() {
        note("lost", "1");
        let ((), noted) = gather(async {
            note("a", "1");
            note("a", "2");
            note("long", "x".repeat(LONGEST + 1));
        })
        .await;
        assert_eq!(noted, BTreeMap::from([("a".to_owned(), "1".to_owned())]));
    }
}

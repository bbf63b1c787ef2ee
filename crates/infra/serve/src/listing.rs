//! Lists: which state, which part of it, and where the next page begins.

use std::sync::Arc;

use store::Revision;

use crate::cache::{Collection, Snapshot};
use crate::record::Record;
use crate::resource::Served;
use crate::select::Selection;
use crate::status::Status;

/// One page of a list.
#[derive(Debug)]
pub struct Listed {
    /// The objects, in the order of their keys.
    pub records: Vec<Arc<Record>>,
    /// The key of the last one, when there are more.
    pub last: Option<Arc<str>>,
    /// How many selected objects the limit left out; known only when everything is selected.
    pub remaining: Option<u64>,
}

/// Where a list goes on: in which state, after which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The state all pages are read from; `None` reads the next from the newest, for whoever came too late.
    pub revision: Option<Revision>,
    /// When the first page of that state was read, in seconds.
    pub begun: i64,
    /// The key the previous page ended with.
    pub after: String,
}

/// Takes a page out of a state.
#[must_use]
pub fn page(
    snapshot: &Snapshot,
    selection: &Selection,
    served: &Served,
    after: Option<&str>,
    limit: usize,
) -> Listed {
    if let Some(key) = selection.single(served.resource.namespaced) {
        let found = snapshot
            .objects
            .get(key.as_str())
            .filter(|record| selection.includes(served, record))
            .cloned();
        return Listed {
            records: found.into_iter().collect(),
            last: None,
            remaining: None,
        };
    }
    let prefix = selection.prefix();
    let start = after.unwrap_or(prefix.as_str());
    let everything = selection.is_everything();
    let mut listed = Listed {
        records: Vec::new(),
        last: None,
        remaining: None,
    };
    let mut left_out: u64 = 0;
    let candidates = snapshot
        .objects
        .from(start)
        .skip_while(|record| after == Some(record.key()))
        .take_while(|record| record.key_bytes().starts_with(prefix.as_bytes()));
    let mut last: Option<&Arc<Record>> = None;
    for record in candidates {
        if limit > 0 && listed.records.len() == limit {
            listed.last = last.map(|last| last.key().into());
            if !everything {
                return listed; // With a selector the rest is not counted: that would mean walking it.
            }
            left_out += 1;
            continue;
        }
        if everything || selection.includes(served, record) {
            listed.records.push(Arc::clone(record));
            last = Some(record);
        }
    }
    listed.remaining = (left_out > 0).then_some(left_out);
    listed
}

/// For how long after its first page a list goes on in the same state, in seconds. Upstream: so long history is kept.
const PATIENCE: i64 = 300;

/// The state a list that goes on after a key was begun in. Whoever asks too late is told how to go on in the present one.
pub fn earlier_state(
    collection: &Collection,
    revision: Revision,
    continuation: &Continuation,
    now: i64,
) -> Result<Snapshot, Status> {
    let why = if now.saturating_sub(continuation.begun) > PATIENCE {
        format!("its first page was read more than {PATIENCE} seconds ago")
    } else {
        match collection.snapshot_at(revision) {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) => error.to_string(),
        }
    };
    let mut expired = Status::expired(format!(
        "The provided continue parameter is too old to display a consistent list result: {why}. \
         Start a new list without the continue parameter, or go on with the continue token of this answer, \
         which reads the rest as it is now: what came, changed or went since the first page may be in it or not."
    ));
    expired.details.continues = Continuation {
        revision: None,
        begun: now,
        after: continuation.after.clone(),
    }
    .token();
    Err(expired)
}

impl Continuation {
    /// An opaque token. It is the client's to give back, so it is checked when it returns.
    #[must_use]
    pub fn token(&self) -> String {
        let Self { begun, .. } = self;
        let after = hex(self.after.as_bytes());
        match self.revision {
            Some(revision) => format!("v1.{revision}.{begun}.{after}"),
            None => format!("v1.{NEWEST}.{begun}.{after}"),
        }
    }

    /// Reads a token.
    pub fn parse(token: &str) -> Result<Self, Status> {
        let refuse = || {
            Status::bad_request("continue key is not valid: it was not given out by this server")
        };
        let parts: Vec<&str> = token.splitn(4, '.').collect();
        let ["v1", revision, begun, after] = parts.as_slice() else {
            return Err(refuse());
        };
        let begun = begun.parse().map_err(|_| refuse())?;
        let revision = match *revision {
            NEWEST => None,
            "0" => return Err(refuse()),
            number => Some(Revision(number.parse().map_err(|_| refuse())?)),
        };
        let after = unhex(after)
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(refuse)?;
        Ok(Self {
            revision,
            begun,
            after,
        })
    }
}

/// What stands in a token for a state that is chosen when it comes back.
const NEWEST: &str = "now";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)
        })
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_went_and_forged_ones_are_refused() {
        for revision in [Some(Revision(42)), None] {
            let continuation = Continuation {
                revision,
                begun: 1_767_323_045,
                after: "shop/wéb".to_owned(),
            };
            assert_eq!(
                Continuation::parse(&continuation.token()).unwrap(),
                continuation
            );
        }
        for forged in [
            "",
            "v1",
            "v1.1.61",
            "v1.x.7.61",
            "v1.1.x.61",
            "v1.1.7.6",
            "v1.1.7.zz",
            "v2.1.7.61",
            "v1.1.7.ff",
            "v1.-1.7.61",
            "v1.0.7.61",
        ] {
            assert_eq!(
                Continuation::parse(forged).unwrap_err().code,
                400,
                "{forged:?}"
            );
        }
    }
}

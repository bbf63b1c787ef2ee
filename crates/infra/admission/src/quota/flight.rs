//! What was let through and has not arrived in the cache: counted until it does, or is known never to.

use object::Value;
use object::time::Time;
use serve::cache::Collection;

use crate::amounts::{self, Amounts};

use super::book::Book;
use super::rule::Quota;
use super::usage::Measured;

/// A write takes no longer than this; one that failed where nobody saw is forgotten after it.
const LONGEST: i64 = 5;

/// What is under way to one namespace.
#[derive(Default)]
pub(crate) struct Flights(Vec<Flight>);

struct Flight {
    since: Time,
    collection: String,
    /// Where it will be in the collection.
    key: String,
    uid: String,
    /// The revision it is to replace; `None` for something new.
    replaces: Option<u64>,
    measured: Measured,
}

impl Flights {
    /// Notes a write that is let through.
    pub(crate) fn depart(
        &mut self,
        collection: String,
        key: String,
        old: Option<&Value>,
        new: &Value,
        measured: Measured,
        now: Time,
    ) {
        let text = |object: &Value, field: &str| -> Option<String> {
            let metadata = object.get("metadata")?;
            Some(metadata.get(field)?.as_str()?.to_owned())
        };
        let replaces = old.map(|old| {
            let revision = text(old, "resourceVersion").and_then(|text| text.parse().ok());
            revision.unwrap_or_default()
        });
        self.0.push(Flight {
            since: now,
            collection,
            key,
            uid: text(new, "uid").unwrap_or_default(),
            replaces,
            measured,
        });
    }

    /// Forgets what has arrived in the book of a collection, and what never will.
    pub(crate) fn land(&mut self, name: &str, collection: &Collection, book: &Book, now: Time) {
        self.0.retain(|flight| {
            if now.seconds_since(flight.since) > LONGEST {
                return false;
            }
            if flight.collection != name {
                return true;
            }
            match (flight.replaces, book.entry(&flight.uid)) {
                (None, Some(_)) => false,
                // Whoever has the name by now, this one will not.
                (None, None) => collection
                    .find(&flight.key)
                    .is_none_or(|record| *record.head().uid == *flight.uid),
                (Some(replaced), Some((revision, _))) => *revision <= replaced,
                (Some(_), None) => false,
            }
        });
    }

    /// Adds what is under way to what is used of a quota.
    pub(crate) fn add_to(&self, used: &mut Amounts, name: &str, book: &Book, quota: &Quota) {
        for flight in self.0.iter().filter(|flight| flight.collection == name) {
            if let (Some(_), Some((_, replaced))) = (flight.replaces, book.entry(&flight.uid))
                && quota.covers(replaced)
            {
                amounts::subtract(used, &replaced.amounts);
            }
            if quota.covers(&flight.measured) {
                amounts::add(used, &flight.measured.amounts);
            }
        }
    }
}

//! From the server's cache into the mirror.

use std::sync::Arc;

use object::{Object, Value};
use serve::cache::{self, Cache, Collection, Place};
use serve::record::Record;

use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};

/// As many changes as are taken from a collection at a time.
const BATCH: usize = 1024;

/// The engine's places in the collections it follows.
pub(crate) struct Follower {
    places: Vec<(Kind, Arc<Collection>, Place)>,
}

impl Follower {
    /// Reads everything there is and begins to follow it.
    pub(crate) fn start(cache: &Cache, mirror: &mut Mirror) -> (Self, Vec<Seen>) {
        let mut seen = Vec::new();
        let places = Kind::ALL.iter().map(|kind| {
            let row = kind.row();
            let collection = cache.collection(&cache::name_of(row.group, row.plural));
            let (snapshot, place) = collection.begin();
            for record in snapshot.objects.values() {
                seen.push(mirror.put(*kind, record.key().into(), parse(*kind, record)));
            }
            (*kind, collection, place)
        });
        let places = places.collect();
        (Self { places }, seen)
    }

    /// Takes in what changed since the last time.
    pub(crate) fn pull(&mut self, mirror: &mut Mirror) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (kind, collection, place) in &mut self.places {
            loop {
                let Ok((changes, next)) = collection.changes(*place, BATCH) else {
                    // The ring has moved on: what is there now says what was missed.
                    *place = catch_up(*kind, collection, mirror, &mut seen);
                    continue;
                };
                let count = changes.len();
                for change in changes {
                    let Some(record) = change.current.as_ref().or(change.previous.as_ref()) else {
                        continue;
                    };
                    let key = record.key();
                    let current = change.current.as_ref();
                    let after = current.and_then(|record| parse(*kind, record));
                    seen.push(mirror.put(*kind, key.into(), after));
                }
                *place = next;
                if count < BATCH {
                    break;
                }
            }
        }
        seen
    }
}

fn catch_up(
    kind: Kind,
    collection: &Collection,
    mirror: &mut Mirror,
    seen: &mut Vec<Seen>,
) -> Place {
    let (snapshot, place) = collection.begin();
    let gone: Vec<Arc<str>> = mirror
        .all(kind)
        .map(|(key, _)| Arc::clone(key))
        .filter(|key| !snapshot.objects.contains_key(key))
        .collect();
    for key in gone {
        seen.push(mirror.put(kind, key, None));
    }
    for record in snapshot.objects.values() {
        let key = record.key();
        let known = mirror
            .find(kind, key)
            .is_some_and(|object| object.resource_version() == record.revision().to_string());
        if !known {
            seen.push(mirror.put(kind, key.into(), parse(kind, record)));
        }
    }
    place
}

/// The object without its managed fields, which no plan reads and which are half of it. Of configuration the names of
/// the entries are enough.
fn parse(kind: Kind, record: &Arc<Record>) -> Option<Arc<Object>> {
    let mut value = record.value();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    if matches!(kind, Kind::ConfigMap | Kind::Secret) {
        for field in ["data", "binaryData"] {
            let entries = value.get_mut(field).and_then(Value::as_object_mut);
            for (_, content) in entries.into_iter().flatten() {
                *content = Value::Null;
            }
        }
    }
    Object::from_value(value).ok().map(Arc::new)
}

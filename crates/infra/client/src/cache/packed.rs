//! Objects at rest.
//!
//! As a tree of values an object takes ten times the room of its text, packed its text takes a third of that, and of a large
//! fleet's objects nearly all are looked at once in hours. So a cache keeps packed text. Whoever asks for an object gets the
//! tree, read from the text if nobody has it at the moment; those that were asked for last are held a little longer, for
//! whoever asks next.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use object::{Object, ObjectKey, packing};
use tokio::time::Instant;

use crate::skim::Skimmed;

/// How much text the objects have together that are held although nobody has them. As trees they take ten times as much.
const WARM_BYTES: usize = 4 * 1024 * 1024;
/// For how long they are held. Something always changes, so that they go a little later even if nobody does anything.
const WARM_TIME: Duration = Duration::from_secs(10);

/// The objects of all caches of this process that were read or asked for last.
static WARM: Mutex<Warm> = Mutex::new(Warm::new(WARM_BYTES));

/// An object as it is kept; clones are the same. Ordered and found by its key.
#[derive(Clone, Debug)]
pub(crate) struct Packed(Arc<Rest>);

#[derive(Debug)]
struct Rest {
    key: ObjectKey,
    uid: Uid,
    /// The text, packed.
    kept: Box<[u8]>,
    /// How long the text is.
    length: usize,
    /// Its revision, if that is a number, as it is nearly everywhere.
    revision: u64,
    /// The object as long as somebody has it.
    open: Mutex<Weak<Object>>,
}

impl Packed {
    /// Puts an object to rest.
    pub(crate) fn new(object: Object) -> Self {
        let text = serde_json::to_vec(&object)
            .expect("invariant: a tree of JSON values can be written as JSON");
        let packed = Self(Arc::new(Rest {
            key: object.key(),
            uid: Uid::of(object.uid()),
            kept: packing::pack(&text),
            length: text.len(),
            revision: numbered(object.resource_version()),
            open: Mutex::default(),
        }));
        packed.keep_open(Arc::new(object));
        packed
    }

    /// Puts an object to rest that nobody has read.
    pub(crate) fn taken(object: Skimmed) -> Self {
        Self(Arc::new(Rest {
            key: object.key,
            uid: Uid::of(&object.uid),
            kept: packing::pack(&object.text),
            length: object.text.len(),
            revision: numbered(&object.revision),
            open: Mutex::default(),
        }))
    }

    /// Its place among others of its kind.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.0.key
    }

    /// When it was changed last, among others of the same server; zero if that is not known.
    pub(crate) fn revision(&self) -> u64 {
        self.0.revision
    }

    /// Whether both say the same, to the letter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.kept == other.0.kept
    }

    /// Whether it has this uid.
    pub(crate) fn has_uid(&self, uid: &str) -> bool {
        self.0.uid == Uid::of(uid)
    }

    /// Whether it is another object of the same name.
    pub(crate) fn is_another(&self, other: &Self) -> bool {
        self.0.uid != other.0.uid
    }

    /// The object.
    pub(crate) fn open(&self) -> Arc<Object> {
        if let Some(object) = lock(&self.0.open).upgrade() {
            return object;
        }
        let text = packing::unpack(&self.0.kept).expect("invariant: what is at rest was packed");
        let object = serde_json::from_slice(&text)
            .expect("invariant: what is at rest was written as JSON or read as JSON");
        self.keep_open(Arc::new(object))
    }

    fn keep_open(&self, object: Arc<Object>) -> Arc<Object> {
        *lock(&self.0.open) = Arc::downgrade(&object);
        let cold = lock(&WARM).put(Arc::clone(&object), self.0.length, Instant::now());
        // Trees are taken down when nobody has to wait for it.
        drop(cold);
        object
    }
}

/// What tells objects of one name apart. Kubernetes' are UUIDs, which take less room as numbers than as text.
#[derive(Debug, PartialEq, Eq)]
enum Uid {
    Uuid(u128),
    Other(Box<str>),
}

impl Uid {
    fn of(text: &str) -> Self {
        match uuid(text) {
            Some(number) => Self::Uuid(number),
            None => Self::Other(text.into()),
        }
    }
}

/// The number that a UUID says, if it is written as all of them are: in small letters, with four hyphens.
fn uuid(text: &str) -> Option<u128> {
    const LENGTH: usize = 36;
    if text.len() != LENGTH {
        return None;
    }
    let mut number = 0_u128;
    for (position, byte) in text.bytes().enumerate() {
        let digit = match byte {
            b'-' if matches!(position, 8 | 13 | 18 | 23) => continue,
            _ if matches!(position, 8 | 13 | 18 | 23) => return None,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        number = (number << 4) | u128::from(digit);
    }
    Some(number)
}

impl Borrow<ObjectKey> for Packed {
    fn borrow(&self) -> &ObjectKey {
        &self.0.key
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Packed {}

impl PartialOrd for Packed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Packed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

/// The objects that were opened last.
#[derive(Debug)]
struct Warm {
    most: usize,
    bytes: usize,
    objects: VecDeque<(Arc<Object>, usize, Instant)>,
}

impl Warm {
    const fn new(most: usize) -> Self {
        Self {
            most,
            bytes: 0,
            objects: VecDeque::new(),
        }
    }

    /// Holds an object whose text is so long; gives back those that are held no longer.
    fn put(&mut self, object: Arc<Object>, bytes: usize, now: Instant) -> Vec<Arc<Object>> {
        self.bytes += bytes;
        self.objects.push_back((object, bytes, now));
        let mut cold = Vec::new();
        while let Some((object, bytes, since)) = self.objects.pop_front() {
            if self.bytes <= self.most && now.saturating_duration_since(since) < WARM_TIME {
                self.objects.push_front((object, bytes, since));
                break;
            }
            self.bytes -= bytes;
            cold.push(object);
        }
        cold
    }
}

/// Revisions mean nothing to clients, says the API; that most are numbers is used only to guess what is looked at first.
fn numbered(revision: &str) -> u64 {
    revision.parse().unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use object::Value;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn what_is_opened_is_what_was_put_to_rest() {
        let cases = [
            json!({"metadata": {"namespace": "a", "name": "b"}, "z": 1, "a": [null, true, {"y": {}, "x": []}]}),
            json!({"metadata": {"name": "ü\u{0}\"\\\n"}, "n": [-1, u64::MAX, i64::MIN, 1.5, 1e300, -0.0]}),
            json!({}),
        ];
        for case in cases {
            let packed = Packed::new(object(case.clone()));
            let order = |object: &Object| serde_json::to_string(object).unwrap();
            // As if everybody had forgotten it.
            *lock(&packed.0.open) = Weak::new();
            let opened = packed.open();
            assert_eq!(*opened, object(case.clone()));
            assert_eq!(order(&opened), order(&object(case)), "in their order");
            assert_eq!(*packed.key(), opened.key());
        }
    }

    #[test]
    fn an_object_is_known_by_its_uid() {
        let named = |uid| Packed::new(object(json!({"metadata": {"name": "a", "uid": uid}})));
        let uuid = "0123abcd-4567-89ef-0123-456789abcdef";
        let other = "0123abcd-4567-89ef-0123-456789abcdee";
        let capital = "0123ABCD-4567-89ef-0123-456789abcdef";
        let shifted = "0123abcd4-567-89ef-0123-456789abcdef";
        let uids = ["", "a", "b", uuid, other, capital, shifted];
        for uid in uids {
            for asked in uids {
                assert_eq!(named(uid).has_uid(asked), uid == asked, "{uid} {asked}");
                let is_another = named(uid).is_another(&named(asked));
                assert_eq!(is_another, uid != asked, "{uid} {asked}");
            }
        }
    }

    #[test]
    fn all_who_ask_meanwhile_get_one_object() {
        let packed = Packed::new(object(json!({"metadata": {"name": "a"}})));
        let first = packed.open();
        assert!(Arc::ptr_eq(&first, &packed.clone().open()));
    }

    #[test]
    fn the_last_ones_are_held_for_a_while_as_far_as_there_is_room() {
        let mut warm = Warm::new(10);
        let named = |name: &str| Arc::new(object(json!({"metadata": {"name": name}})));
        let names = |cold: &[Arc<Object>]| -> Vec<String> {
            cold.iter().map(|object| object.name().to_owned()).collect()
        };
        let rows: [(&str, usize, u64, &[&str]); 7] = [
            ("a", 4, 0, &[]),
            ("b", 6, 0, &[]),
            ("c", 1, 1, &["a"]),
            ("d", 11, 1, &["b", "c", "d"]),
            ("e", 4, 2, &[]),
            ("f", 4, 5, &[]),
            ("g", 1, 12, &["e"]),
        ];
        let begun = Instant::now();
        for (name, bytes, seconds, expected) in rows {
            let now = begun + Duration::from_secs(seconds);
            assert_eq!(
                names(&warm.put(named(name), bytes, now)),
                expected,
                "{name}"
            );
        }
    }
}

//! The time of day, and chance.

use std::time::{SystemTime, UNIX_EPOCH};

use object::time::Time;
use rand::RngExt;
use serve::server::Surroundings;

/// The machine's clock and the operating system's randomness.
pub(crate) struct Machine;

/// Consonants and digits that cannot spell a word by accident.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

impl Surroundings for Machine {
    fn now(&self) -> Time {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Time::from_unix_seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }

    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn suffix(&self) -> String {
        let mut chance = rand::rng();
        let letter = |_| {
            SAFE.get(chance.random_range(0..SAFE.len()))
                .copied()
                .map_or('b', char::from)
        };
        (0..SUFFIX_LENGTH).map(letter).collect()
    }
}

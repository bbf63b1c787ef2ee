//! The time of day, and chance.

use object::time::Time;
use rand::RngExt;
use runtime::Clock;
use serve::server::Surroundings;

/// A clock, which is the machine's unless a test holds it, and the operating system's randomness.
pub(crate) struct Machine {
    pub(crate) clock: Clock,
}

/// Consonants and digits that cannot spell a word by accident.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

impl Surroundings for Machine {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        uid()
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

/// A name that nothing else has.
pub(crate) fn uid() -> String {
    uuid::Uuid::new_v4().to_string()
}

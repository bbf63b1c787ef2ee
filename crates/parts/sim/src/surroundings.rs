//! Time and chance for a member's server.

use object::time::Time;
use rand::RngExt;
use runtime::Clock;
use serve::server::Surroundings;

/// A clock that tests may hold, and the operating system's randomness.
pub(crate) struct MemberSurroundings {
    pub(crate) clock: Clock,
}

/// Consonants and digits that cannot spell a word by accident.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

impl Surroundings for MemberSurroundings {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn suffix(&self) -> String {
        suffix()
    }
}

/// The end of a name that somebody else begins.
pub(crate) fn suffix() -> String {
    let mut chance = rand::rng();
    let letter = |_| {
        SAFE.get(chance.random_range(0..SAFE.len()))
            .copied()
            .map_or('b', char::from)
    };
    (0..SUFFIX_LENGTH).map(letter).collect()
}

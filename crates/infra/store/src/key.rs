//! Keys and revisions: what an entry is called and when it was written.

use std::borrow::Borrow;
use std::fmt;

use bytes::Bytes;

/// The longest key, in bytes. Far above any path of names, far below what would hurt an index.
pub const MAX_KEY_BYTES: usize = 4096;

/// A point in the history of the whole store.
///
/// Every transaction that changes something takes the next one, so revisions order all changes to all keys. An empty
/// store is at revision 0 (embedded) or 1 (etcd); zero is never the revision of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// Before every change.
    pub const ZERO: Self = Self(0);

    /// The revision of the change after this one. Saturates, which a counter of 2^64 never reaches.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of an entry: 1 to [`MAX_KEY_BYTES`] arbitrary bytes, ordered bytewise. Cloning shares the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

impl Key {
    /// Checks the length and takes the bytes without copying them.
    ///
    /// The key lives as long as its entry does: hand over a buffer of its own, not a slice of something larger.
    ///
    /// # Errors
    /// When there are no bytes or too many.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, KeyError> {
        let bytes = bytes.into();
        match bytes.len() {
            0 => Err(KeyError::Empty),
            len if len > MAX_KEY_BYTES => Err(KeyError::TooLong { len }),
            _ => Ok(Self(bytes)),
        }
    }

    /// The bytes themselves.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Why bytes are not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There was nothing to name an entry with.
    #[error("a key must not be empty")]
    Empty,
    /// Longer than [`MAX_KEY_BYTES`].
    #[error("a key has {len} bytes; at most {MAX_KEY_BYTES} are allowed")]
    TooLong {
        /// How many bytes were given.
        len: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_between_one_and_the_greatest_number_of_bytes() {
        for (len, allowed) in [
            (0, false),
            (1, true),
            (MAX_KEY_BYTES, true),
            (MAX_KEY_BYTES + 1, false),
        ] {
            assert_eq!(Key::new(vec![b'k'; len]).is_ok(), allowed, "{len} bytes");
        }
    }

    #[test]
    fn keys_print_readably_whatever_their_bytes() {
        assert_eq!(
            Key::new(&b"/pods/a\xff"[..]).unwrap().to_string(),
            "/pods/a\\xff"
        );
    }
}

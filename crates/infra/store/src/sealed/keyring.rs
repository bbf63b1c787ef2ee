//! Keys for sealing values, and the form of a sealed value.
//!
//! A key file has one key of 32 bytes to a line, in base64. The first one seals; all of them open. Lines that begin with
//! `#` are remarks.
//!
//! A sealed value is `\0sealed1`, the key's id (8 bytes), a nonce (12 bytes), and the value under AES-256-GCM with its
//! tag (16 bytes). The store's key is authenticated with it: a value moved to another key does not open. Nonces are
//! random, so a key is good for some 2^32 writes; change it before that.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::key::Key;

/// What a sealed value begins with. No object does.
const MAGIC: &[u8] = b"\0sealed1";
const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
/// The most keys in a file: enough for any change of keys, few enough to try.
const MOST_KEYS: usize = 16;

/// The keys of a store. The first seals, all open.
pub struct Keyring {
    keys: Vec<SealingKey>,
}

struct SealingKey {
    id: KeyId,
    key: LessSafeKey,
}

/// What a key is called: the beginning of a digest, from which the key cannot be found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; ID_BYTES]);

/// Why a text is no key file. The message never has any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// No line has a key.
    #[error("the key file has no key")]
    Empty,
    /// There are too many.
    #[error("the key file has more than {MOST_KEYS} keys")]
    TooMany,
    /// A line is not what it should be.
    #[error("line {line} of the key file is not 32 bytes in base64")]
    Malformed {
        /// Which, counted from 1.
        line: usize,
    },
    /// The machine has no randomness.
    #[error("no key could be made")]
    Random,
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The key it is sealed with is not among those given.
    #[error(
        "the value under {key} is sealed with encryption key {id}, which this server does not have; add it to the key file"
    )]
    UnknownKey {
        /// Where the value is.
        key: Key,
        /// The key it needs.
        id: KeyId,
    },
    /// It was changed, or moved here from another key.
    #[error("the value under {key} does not open: it was changed, or belongs to another key")]
    Forged {
        /// Where the value is.
        key: Key,
    },
    /// It could not be sealed.
    #[error("the value for {key} cannot be sealed")]
    Failed {
        /// Where the value was to go.
        key: Key,
    },
}

impl Keyring {
    /// Reads a key file.
    ///
    /// # Errors
    /// When a line is no key, or none is.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let malformed = KeyFileError::Malformed { line: index + 1 };
            let bytes = STANDARD.decode(line).map_err(|_| malformed)?;
            let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| malformed)?;
            keys.push(SealingKey {
                id: KeyId::of(&bytes),
                key: LessSafeKey::new(key),
            });
        }
        match keys.len() {
            0 => Err(KeyFileError::Empty),
            len if len > MOST_KEYS => Err(KeyFileError::TooMany),
            _ => Ok(Self { keys }),
        }
    }

    /// A key file with one new key.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn generate() -> Result<String, KeyFileError> {
        let mut bytes = [0; KEY_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| KeyFileError::Random)?;
        Ok(format!("{}\n", STANDARD.encode(bytes)))
    }

    /// The key that seals.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.first().id
    }

    /// Whether a key is here.
    #[must_use]
    pub fn has(&self, id: KeyId) -> bool {
        self.keys.iter().any(|key| key.id == id)
    }

    /// Seals a value for a key of the store.
    pub(crate) fn seal(&self, key: &Key, value: &[u8]) -> Result<Bytes, SealError> {
        let failed = || SealError::Failed { key: key.clone() };
        let with = self.first();
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| failed())?;
        let start = MAGIC.len() + ID_BYTES + NONCE_LEN;
        let mut sealed = Vec::with_capacity(start + value.len() + TAG_BYTES);
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(&with.id.0);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(value);
        let (_, body) = sealed.split_at_mut(start);
        let tag = with
            .key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(bound_to(with.id, key)),
                body,
            )
            .map_err(|_| failed())?;
        sealed.extend_from_slice(tag.as_ref());
        Ok(sealed.into())
    }

    /// Opens a value. One that was never sealed is given back as it is.
    pub(crate) fn open(&self, key: &Key, value: &Bytes) -> Result<Bytes, SealError> {
        let Some(id) = sealed_with(value) else {
            return Ok(value.clone());
        };
        let forged = || SealError::Forged { key: key.clone() };
        let with = self.keys.iter().find(|known| known.id == id);
        let with = with.ok_or_else(|| SealError::UnknownKey {
            key: key.clone(),
            id,
        })?;
        let rest = value.get(MAGIC.len() + ID_BYTES..).ok_or_else(forged)?;
        let (nonce, body) = rest.split_at_checked(NONCE_LEN).ok_or_else(forged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| forged())?;
        let mut body = body.to_vec();
        let length = with
            .key
            .open_in_place(nonce, Aad::from(bound_to(id, key)), &mut body)
            .map_err(|_| forged())?
            .len();
        body.truncate(length);
        Ok(body.into())
    }

    fn first(&self) -> &SealingKey {
        self.keys
            .first()
            .expect("invariant: parse lets no empty ring through")
    }
}

/// The key a value is sealed with; `None` if it is not sealed.
pub(crate) fn sealed_with(value: &[u8]) -> Option<KeyId> {
    let id = value.strip_prefix(MAGIC)?.get(..ID_BYTES)?;
    Some(KeyId(id.try_into().ok()?))
}

/// What is authenticated besides the value.
fn bound_to(id: KeyId, key: &Key) -> Vec<u8> {
    [MAGIC, &id.0, key.as_bytes()].concat()
}

impl KeyId {
    fn of(key: &[u8]) -> Self {
        let named = [b"karavel sealing key\0".as_slice(), key].concat();
        let digest = digest::digest(&digest::SHA256, &named);
        let mut id = [0; ID_BYTES];
        for (place, byte) in id.iter_mut().zip(digest.as_ref()) {
            *place = *byte;
        }
        Self(id)
    }

    /// Reads what [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 2 * ID_BYTES {
            return None;
        }
        let mut id = [0; ID_BYTES];
        for (place, pair) in id.iter_mut().zip(bytes.chunks(2)) {
            *place = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.keys.iter().map(|key| key.id);
        f.debug_list().entries(ids).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &'static str) -> Key {
        Key::new(name).unwrap()
    }

    fn ring(lines: &[&str]) -> Keyring {
        Keyring::parse(&lines.concat()).unwrap()
    }

    #[test]
    fn a_value_opens_under_its_own_key_unchanged_and_nowhere_else() {
        let (one, two) = (Keyring::generate().unwrap(), Keyring::generate().unwrap());
        let first = ring(&[&one]);
        let value = Bytes::from_static(b"{\"password\":\"tulip\"}");
        let sealed = first.seal(&key("/a"), &value).unwrap();
        assert!(!sealed.windows(5).any(|window| window == b"tulip"));
        assert_eq!(first.open(&key("/a"), &sealed).unwrap(), value);
        assert!(matches!(
            first.open(&key("/b"), &sealed),
            Err(SealError::Forged { .. })
        ));
        let mut damaged = sealed.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        assert!(matches!(
            first.open(&key("/a"), &damaged.into()),
            Err(SealError::Forged { .. })
        ));
        let id = first.id();
        let other = ring(&[&two]);
        assert_eq!(
            other.open(&key("/a"), &sealed),
            Err(SealError::UnknownKey { key: key("/a"), id })
        );
        let both = ring(&[&two, &one]);
        assert_eq!(both.open(&key("/a"), &sealed).unwrap(), value);
        assert_eq!(both.id(), other.id());
        assert_eq!(KeyId::parse(&id.to_string()), Some(id));
        for cut in 0..sealed.len() {
            // Whatever is left of a sealed value, it is either refused or was never sealed.
            let part = sealed.slice(..cut);
            let opened = first.open(&key("/a"), &part);
            assert!(opened.is_err() || sealed_with(&part).is_none(), "{cut}");
        }
    }

    #[test]
    fn key_files_say_what_is_wrong_with_them() {
        let good = Keyring::generate().unwrap();
        for (text, expected) in [
            (String::new(), Err(KeyFileError::Empty)),
            ("# remark\n\n".to_owned(), Err(KeyFileError::Empty)),
            (
                format!("{good}c2hvcnQ=\n"),
                Err(KeyFileError::Malformed { line: 2 }),
            ),
            ("tulip".to_owned(), Err(KeyFileError::Malformed { line: 1 })),
            (good.repeat(MOST_KEYS + 1), Err(KeyFileError::TooMany)),
            (format!("# mine\n{good}"), Ok(())),
        ] {
            assert_eq!(Keyring::parse(&text).map(drop), expected, "{expected:?}");
        }
    }
}

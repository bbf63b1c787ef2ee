//! What files hold, up to a bound, and why one is of no use.
//!
//! What is named on a command line may be anything: a device without an end, a picture, text as another system writes it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// Nothing that is read as a whole is larger: twenty times what a server takes at once.
const LARGEST: u64 = 64 << 20;

/// Why a file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// It cannot be opened or read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It has no end, or is longer than anything that is read as a whole.
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// It is text as another system writes it.
    #[error("it is UTF-16, and UTF-8 is expected")]
    Wide,
    /// It is no text.
    #[error("it is no text: byte {0} is not UTF-8")]
    NoText(usize),
}

impl Unread {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "check the path and who may read it",
            Self::TooLarge => "check the path, or divide the file",
            Self::Wide => "save it as UTF-8 and repeat",
            Self::NoText(_) => "check that it is the file that was meant, and save it as UTF-8",
        }
    }

    /// The same of a file, as a command ends with it; `flag` is put before it.
    #[must_use]
    pub fn of(&self, flag: &str, name: &str) -> Failure {
        Failure::refused(format!("{flag}cannot read {name}: {self}"), self.hint())
    }
}

/// What a file holds.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Unread> {
    bytes_of(File::open(path)?)
}

/// What comes from somewhere, such as standard input.
pub fn bytes_of(source: impl Read) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|count| count <= LARGEST) {
        true => Ok(bytes),
        false => Err(Unread::TooLarge),
    }
}

/// The text that a file holds.
pub fn read_text(path: &Path) -> Result<String, Unread> {
    text_of(read_bytes(path)?)
}

/// The text that bytes are.
pub fn text_of(bytes: Vec<u8>) -> Result<String, Unread> {
    // What editors of another system put first. No text in UTF-8 begins so.
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Unread::Wide);
    }
    String::from_utf8(bytes).map_err(|error| Unread::NoText(error.utf8_error().valid_up_to() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_a_bound() {
        assert!(matches!(bytes_of(io::repeat(0)), Err(Unread::TooLarge)));
        let just = bytes_of(io::repeat(b'a').take(LARGEST)).map(|bytes| bytes.len());
        assert_eq!(just.ok(), usize::try_from(LARGEST).ok());
        let missing = read_text(Path::new("/nowhere/at/all"));
        assert!(missing.is_err_and(|why| why.is_missing()));
    }

    #[test]
    fn what_is_no_text_is_called_so() {
        for (bytes, expected) in [
            (&b"a: b"[..], Ok("a: b")),
            (b"\xff\xfea\0", Err("UTF-16")),
            (b"\xfe\xff\0a", Err("UTF-16")),
            (b"a\x80", Err("byte 2 is not UTF-8")),
            (b"\x7fELF\xff", Err("it is no text: byte 5")),
        ] {
            let found = text_of(bytes.to_vec());
            let found = found.map_err(|why| format!("{why}; {}", why.hint()));
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(why), Err(expected)) => assert!(
                    why.contains(expected) && !why.contains("who may read"),
                    "{why}"
                ),
                _ => panic!("{bytes:?}: {found:?}"),
            }
        }
    }
}

//! What to do about trouble that has nothing to do with what was being done: a full disk, a directory nobody may write to.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What a store says that takes no more writes.
const CLOSED: &str = "takes no more writes";

/// What to do about an error, if the system itself is what it comes from.
#[must_use]
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if is_full(error) {
        return Some("make room there and start again: it goes on where it was");
    }
    match kind(error)? {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            Some("let this user write there, or choose another directory with --data-dir")
        }
        _ => None,
    }
}

/// Whether there is no room left on the disk. Nothing that was asked for is wrong then: it has failed.
#[must_use]
pub fn is_full(error: &(dyn Error + 'static)) -> bool {
    let is_closed = links(error).any(|link| link.to_string().contains(CLOSED));
    is_closed
        || matches!(
            kind(error),
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        )
}

/// What the system says, if it is what an error comes from.
fn kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    links(error).find_map(|link| Some(link.downcast_ref::<io::Error>()?.kind()))
}

fn links<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&link| link.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Above(io::Error);

    impl std::fmt::Display for Above {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("above")
        }
    }

    impl Error for Above {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_system_is_found_behind_what_failed() {
        for (kind, expected) in [
            (ErrorKind::StorageFull, Some("make room")),
            (ErrorKind::ReadOnlyFilesystem, Some("let this user write")),
            (ErrorKind::InvalidData, None),
        ] {
            let found = hint(&Above(io::Error::from(kind)));
            assert_eq!(found.is_some(), expected.is_some(), "{kind}");
            let expected = expected.unwrap_or_default();
            assert!(found.unwrap_or_default().starts_with(expected), "{kind}");
            let is_full = is_full(&Above(io::Error::from(kind)));
            assert_eq!(is_full, kind == ErrorKind::StorageFull, "{kind}");
        }
        let closed = io::Error::other("the store takes no more writes: no space left");
        assert!(is_full(&Above(closed)));
    }
}

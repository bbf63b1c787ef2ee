//! What to do about trouble that has nothing to do with what was being done: a full disk, a directory nobody may write to.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What to do about an error, if the system itself is what it comes from.
#[must_use]
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut link = Some(error);
    while let Some(error) = link {
        let system = error.downcast_ref::<io::Error>();
        if let Some(hint) = system.and_then(|error| about(error.kind())) {
            return Some(hint);
        }
        link = error.source();
    }
    None
}

fn about(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room there and start again: it goes on where it was"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "let this user write there, or choose another directory with --data-dir"
        }
        _ => return None,
    })
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
        }
    }
}

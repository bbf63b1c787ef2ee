//! The mark of a data directory: how it is laid out, and what it is for.
//!
//! A number alone is the mark of a control plane, as it always was; whatever else there is says so behind it.

use std::fmt;
use std::path::Path;

use cli::Failure;

/// The file that says whose the directory is. It is locked by whoever works in it.
pub(super) const MARK: &str = "karavel.format";
/// As much of it as is read.
pub(super) const LONGEST: u64 = 64;
/// How the directory is laid out: `pki`, `store`, `members`, `decisions`, `kubeconfig`. Since 2 objects are packed, which
/// earlier versions do not read.
const FORMAT: u32 = 2;
/// What stands behind the number where simulated members are.
const MEMBERS: &str = "simulated members";

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A control plane, alone or with simulated members below it.
    ControlPlane,
    /// Simulated members alone.
    Members,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "a control plane",
            Self::Members => MEMBERS,
        })
    }
}

/// What is written into the mark of a new directory.
pub(super) fn text(purpose: Purpose) -> String {
    match purpose {
        Purpose::ControlPlane => format!("{FORMAT}\n"),
        Purpose::Members => format!("{FORMAT} {MEMBERS}\n"),
    }
}

/// Whether a directory with this mark may be worked in.
pub(super) fn check(text: &str, path: &Path, purpose: Purpose) -> Result<(), Failure> {
    let shown = path.display();
    let (number, rest) = match text.trim().split_once(' ') {
        Some((number, rest)) => (number, rest.trim()),
        None => (text.trim(), ""),
    };
    let Ok(format) = number.parse::<u32>() else {
        return Err(Failure::refused(
            format!(
                "{} is damaged: it should begin with a number",
                path.join(MARK).display()
            ),
            "remove that file if the directory is one of karavel's",
        ));
    };
    if format > FORMAT {
        return Err(Failure::refused(
            format!(
                "the data directory {shown} is of a later version of karavel: its format is {format}, this version knows {FORMAT}"
            ),
            "run the version that made it, or a later one, or choose another --data-dir",
        ));
    }
    let found = match rest {
        "" => Purpose::ControlPlane,
        MEMBERS => Purpose::Members,
        other => {
            return Err(Failure::refused(
                format!(
                    "the data directory {shown} is for {other:?}, which this version of karavel does not know"
                ),
                "run the version that made it, or choose another --data-dir",
            ));
        }
    };
    agree(found, path, purpose)
}

/// Whether a directory that is for one thing is wanted for the same.
pub(super) fn agree(found: Purpose, path: &Path, wanted: Purpose) -> Result<(), Failure> {
    if found == wanted {
        return Ok(());
    }
    let shown = path.display();
    let hint = match found {
        Purpose::ControlPlane => {
            format!(
                "choose another --data-dir; `karavel up` or `karavel server` goes on with {shown}"
            )
        }
        Purpose::Members => {
            format!("choose another --data-dir; `karavel sim` goes on with {shown}")
        }
    };
    Err(Failure::refused(
        format!("{shown} is the data directory of {found}, not of {wanted}"),
        hint,
    ))
}

//! The data directory: made, recognised and held by one process at a time, before anything is put into it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use cli::Failure;

/// The file that says whose the directory is. It is locked by whoever works in it.
const MARK: &str = "karavel.format";
/// How the directory is laid out: `pki`, `store`, `members`, `decisions`, `kubeconfig`.
const FORMAT: u32 = 1;
/// What file systems put into empty directories.
const NOTHING: [&str; 1] = ["lost+found"];
/// The mode of directories that are made, and of the mark.
const OWNER_ONLY: u32 = 0o700;
const OWNER_ONLY_FILE: u32 = 0o600;
/// What the group and everybody else may do with a directory.
const OTHERS: u32 = 0o077;
/// The mark of directories that everybody puts something into, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// More of what is in somebody else's directory is not told.
const TOLD: usize = 4;

/// A directory that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    /// Nobody has worked in it before.
    pub(crate) is_new: bool,
    _mark: File,
}

/// What else may be in a new data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing.
    Nothing,
    /// What its owner has prepared, such as keys and configuration; but nothing that would be overwritten.
    Preparations,
}

/// Takes a directory, which is made if need be. One that holds something else is left as it is.
pub(crate) fn claim(path: &Path, beside: Beside) -> Result<DataDirectory, Failure> {
    let shown = path.display();
    let hint = "choose a directory you own with --data-dir";
    let mut made = std::fs::DirBuilder::new();
    // Also where the umask takes nothing away.
    made.recursive(true).mode(OWNER_ONLY);
    if let Err(error) = made.create(path) {
        let what = match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                format!("the data directory {shown} is not a directory")
            }
            _ => format!("the data directory {shown} cannot be made: {error}"),
        };
        return Err(Failure::refused(what, hint));
    }
    let present = entries(path).map_err(|error| {
        Failure::refused(
            format!("the data directory {shown} cannot be read: {error}"),
            hint,
        )
    })?;
    let is_new = !present.iter().any(|name| name == MARK) && !is_known(path);
    if is_new {
        refuse_foreign(path, &present, beside)?;
    } else {
        refuse_other_owner(path)?;
    }
    let mark = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(OWNER_ONLY_FILE)
        .open(path.join(MARK));
    let mut mark = mark.map_err(|error| {
        let failure = refuse_other_owner(path).err();
        failure.unwrap_or_else(|| {
            let what = format!("the data directory {shown} cannot be written to: {error}");
            Failure::refused(what, hint)
        })
    })?;
    match mark.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure::refused(
                format!("the data directory {shown} is in use by another process"),
                "stop that one first, or choose another --data-dir",
            ));
        }
        // A file system without locks: the store has one of its own.
        Err(TryLockError::Error(_)) => {}
    }
    check_format(&mut mark, path)?;
    let is_all_ours = !is_new || present.is_empty();
    keep_private(path, is_all_ours);
    Ok(DataDirectory {
        is_new,
        _mark: mark,
    })
}

/// Takes a directory away from everybody but its owner if nothing but ours is in it, and tells of one that is left.
fn keep_private(path: &Path, is_all_ours: bool) {
    let Ok(about) = std::fs::metadata(path) else {
        return;
    };
    let mode = about.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return;
    }
    let is_shared = mode & STICKY != 0 || about.uid() != rustix::process::geteuid().as_raw();
    let kept = std::fs::Permissions::from_mode(mode & !OTHERS);
    let is_taken = is_all_ours && !is_shared && std::fs::set_permissions(path, kept).is_ok();
    let what = match is_taken {
        true => "others could look into the data directory; from now on only its owner can",
        false => {
            "others can look into the data directory; keys and objects in it are their owner's alone"
        }
    };
    tracing::warn!(path = %path.display(), mode = %format_args!("{mode:o}"), "{what}");
}

/// What is in a directory, by name.
fn entries(path: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !NOTHING.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a directory without a mark is one of ours all the same: one that was restored, or is older than the mark.
fn is_known(path: &Path) -> bool {
    ["checkpoint.redb", "restore.new"]
        .iter()
        .any(|file| path.join("store").join(file).is_file())
}

fn refuse_foreign(path: &Path, present: &[String], beside: Beside) -> Result<(), Failure> {
    let in_the_way: Vec<&str> = present
        .iter()
        .map(String::as_str)
        .filter(|name| beside == Beside::Nothing || *name == "kubeconfig")
        .collect();
    if in_the_way.is_empty() {
        return Ok(());
    }
    let mut told = in_the_way
        .iter()
        .take(TOLD)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if in_the_way.len() > TOLD {
        told.push_str(&format!(" and {} more", in_the_way.len() - TOLD));
    }
    Err(Failure::refused(
        format!(
            "{} is no data directory of karavel: it holds {told}",
            path.display()
        ),
        "choose an empty or new directory with --data-dir",
    ))
}

/// What somebody else began stays theirs, also for those who may do anything: the owner could not go on with it.
fn refuse_other_owner(path: &Path) -> Result<(), Failure> {
    let owner = std::fs::metadata(path).map(|about| about.uid());
    let me = rustix::process::geteuid().as_raw();
    match owner {
        Ok(owner) if owner != me => Err(Failure::refused(
            format!(
                "the data directory {} belongs to another user (uid {owner}; this is {me})",
                path.display()
            ),
            "run it as that user, or choose a directory you own with --data-dir",
        )),
        _ => Ok(()),
    }
}

/// Reads the mark, or writes it.
fn check_format(mark: &mut File, path: &Path) -> Result<(), Failure> {
    let unusable = |error: std::io::Error| {
        Failure::refused(
            format!("cannot use {}: {error}", path.join(MARK).display()),
            "check who may write there, and the space left",
        )
    };
    let mut text = String::new();
    let read = Read::by_ref(mark).take(64).read_to_string(&mut text);
    read.map_err(unusable)?;
    if text.is_empty() {
        return writeln!(mark, "{FORMAT}").map_err(unusable);
    }
    match text.trim().parse::<u32>() {
        Ok(format) if format <= FORMAT => Ok(()),
        Ok(format) => Err(Failure::refused(
            format!(
                "the data directory {} is of a later version of karavel: its format is {format}, this version knows {FORMAT}",
                path.display()
            ),
            "run the version that made it, or a later one, or choose another --data-dir",
        )),
        Err(_) => Err(Failure::refused(
            format!(
                "{} is damaged: it should hold a number",
                path.join(MARK).display()
            ),
            "remove that file if the directory is one of karavel's",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path, beside: Beside) -> String {
        match claim(path, beside) {
            Ok(_) => String::new(),
            Err(failure) => {
                assert_eq!(failure.exit_code(), 1);
                failure.to_string()
            }
        }
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        for (files, beside, expected) in [
            (&["PG_VERSION"][..], Beside::Nothing, "holds PG_VERSION"),
            (&["kubeconfig"], Beside::Nothing, "holds kubeconfig"),
            (
                &["kubeconfig", "keys.yaml"],
                Beside::Preparations,
                "holds kubeconfig",
            ),
            (&["store/base.db"], Beside::Nothing, "holds store"),
            (
                &["a", "b", "c", "d", "e"],
                Beside::Nothing,
                "a, b, c, d and 1 more",
            ),
            (
                &["keys.yaml", "pki/encryption.key"],
                Beside::Preparations,
                "",
            ),
            (
                &["store/checkpoint.redb", "kubeconfig"],
                Beside::Nothing,
                "",
            ),
            (&["lost+found/x"], Beside::Nothing, ""),
            (&[], Beside::Nothing, ""),
        ] {
            let directory = tempfile::tempdir().unwrap();
            for file in files {
                let file = directory.path().join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, "precious").unwrap();
            }
            let found = said(directory.path(), beside);
            assert_eq!(found.is_empty(), expected.is_empty(), "{files:?}: {found}");
            assert!(found.contains(expected), "{files:?}: {found}");
            let is_marked = directory.path().join(MARK).exists();
            assert_eq!(is_marked, expected.is_empty(), "{files:?}");
        }
    }

    #[test]
    fn one_process_at_a_time_works_in_it_and_the_next_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        let first = claim(&path, Beside::Nothing).unwrap();
        assert!(first.is_new);
        assert!(said(&path, Beside::Nothing).contains("is in use by another process"));
        drop(first);
        std::fs::write(path.join("kubeconfig"), "ours").unwrap();
        assert!(!claim(&path, Beside::Nothing).unwrap().is_new);
    }

    #[test]
    fn others_cannot_look_into_what_is_all_ours() {
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
        let new = root.path().join("new");
        drop(claim(&new, Beside::Nothing).unwrap());
        assert_eq!(mode(&new), 0o700);
        assert_eq!(mode(&new.join(MARK)) & OTHERS, 0);
        for (loose, prepared, kept) in [
            (0o755, None, 0o700),
            (0o777, None, 0o700),
            (0o2770, None, 0o2700),
            (0o500, None, 0o500),
            // Everybody's, and one that holds what others may be meant to read.
            (0o1777, None, 0o1777),
            (0o755, Some("audit.yaml"), 0o755),
            // One that was ours before.
            (0o755, Some(MARK), 0o700),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            if let Some(file) = prepared {
                std::fs::write(path.join(file), "").unwrap();
            }
            let permissions = std::fs::Permissions::from_mode(loose);
            std::fs::set_permissions(path, permissions).unwrap();
            // Whoever is not root cannot write into one that is closed to its owner; its mode stays then too.
            drop(claim(path, Beside::Preparations));
            assert_eq!(mode(path), kept, "{loose:o} {prepared:?}");
        }
    }

    #[test]
    fn directories_of_other_versions_and_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join(MARK);
        for (text, expected) in [
            ("1\n", ""),
            ("2\n", "is of a later version of karavel"),
            ("x", "is damaged"),
        ] {
            std::fs::write(&mark, text).unwrap();
            let found = said(directory.path(), Beside::Nothing);
            assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
            assert!(found.contains(expected), "{found}");
            assert_eq!(std::fs::read_to_string(&mark).unwrap(), text);
        }
        for path in [mark.clone(), mark.join("below")] {
            let found = said(&path, Beside::Nothing);
            assert!(found.contains("not a directory"), "{found}");
        }
    }
}

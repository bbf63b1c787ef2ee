//! The data directory: made, recognised and held by one process at a time, before anything is put into it.

mod mark;
mod owner;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use cli::Failure;

pub(crate) use self::mark::Purpose;
use self::mark::{LONGEST, MARK};

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
/// What to do about a directory that cannot be used.
const ELSEWHERE: &str = "choose a directory you own with --data-dir";

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
    /// The keys, which a backup does not hold.
    Keys,
    /// What its owner has prepared, such as keys and configuration; but nothing that would be overwritten.
    Preparations,
    /// Anything: it is below a directory that is ours.
    Anything,
}

/// Takes a directory, which is made if need be. One that holds something else is left as it is.
pub(crate) fn claim(
    path: &Path,
    purpose: Purpose,
    beside: Beside,
) -> Result<DataDirectory, Failure> {
    make(path)?;
    let Looked { present, is_new } = look(path, purpose, beside)?;
    let mut mark = open_mark(path)?;
    match mark.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure::refused(
                format!(
                    "the data directory {} is in use by another process",
                    path.display()
                ),
                "stop that one first, or choose another --data-dir",
            ));
        }
        // A file system without locks: the store has one of its own.
        Err(TryLockError::Error(_)) => {}
    }
    write_mark(&mut mark, path, purpose)?;
    let is_all_ours = !is_new || present.is_empty();
    keep_private(path, is_all_ours);
    Ok(DataDirectory {
        is_new,
        _mark: mark,
    })
}

/// Looks whether a directory may be used beside others who use it for the same, and marks it if nobody has.
pub(crate) fn share(path: &Path, purpose: Purpose) -> Result<(), Failure> {
    make(path)?;
    look(path, purpose, Beside::Preparations)?;
    let mut mark = open_mark(path)?;
    write_mark(&mut mark, path, purpose)
}

/// Refuses a directory in which nothing can be begun, and changes nothing. One that is not there can be made.
pub(crate) fn check(path: &Path, purpose: Purpose, beside: Beside) -> Result<(), Failure> {
    match path.try_exists() {
        Ok(false) => Ok(()),
        _ => look(path, purpose, beside).map(drop),
    }
}

/// Refuses to begin in somebody else's home, as it is after `sudo` where that keeps the user's.
pub(crate) fn check_home(home: &Path) -> Result<(), Failure> {
    owner::check_home(home)
}

/// Whether somebody has worked in a directory, or put something into it.
pub(crate) fn is_begun(path: &Path) -> bool {
    entries(path).is_ok_and(|present| !present.is_empty())
}

fn make(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let mut made = std::fs::DirBuilder::new();
    // Also where the umask takes nothing away.
    made.recursive(true).mode(OWNER_ONLY);
    made.create(path).map_err(|error| {
        let what = match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                format!("the data directory {shown} is not a directory")
            }
            _ => format!("the data directory {shown} cannot be made: {error}"),
        };
        Failure::refused(what, ELSEWHERE)
    })
}

/// What was found in a directory that may be used.
struct Looked {
    /// What is in it, by name.
    present: Vec<String>,
    /// Nobody has worked in it before.
    is_new: bool,
}

/// Looks at a directory, and changes nothing.
fn look(path: &Path, purpose: Purpose, beside: Beside) -> Result<Looked, Failure> {
    let present = entries(path).map_err(|error| {
        Failure::refused(
            format!(
                "the data directory {} cannot be read: {error}",
                path.display()
            ),
            ELSEWHERE,
        )
    })?;
    let mark = path.join(MARK);
    let is_marked = present.iter().any(|name| name == MARK);
    let known = known(path);
    if is_marked {
        owner::check_going_on(path, &mark)?;
        let text = File::open(&mark).and_then(|mut mark| read(&mut mark));
        let text = text.map_err(|error| unusable(path, &error))?;
        // A start that ended before it wrote one.
        if !text.is_empty() {
            mark::check(&text, path, purpose)?;
        }
    } else if let Some((witness, found)) = &known {
        owner::check_going_on(path, witness)?;
        mark::agree(*found, path, purpose)?;
    } else {
        owner::check_beginning(path)?;
        refuse_foreign(path, &present, purpose, beside)?;
    }
    let is_new = !is_marked && known.is_none();
    Ok(Looked { present, is_new })
}

/// Opens the mark, which is made if need be.
fn open_mark(path: &Path) -> Result<File, Failure> {
    let mark = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(OWNER_ONLY_FILE)
        .open(path.join(MARK));
    mark.map_err(|error| {
        let owner = std::fs::metadata(path).map(|about| about.uid());
        match owner {
            Ok(owner) if error.kind() == ErrorKind::PermissionDenied && owner != owner::me() => {
                owner::refusal(path, owner)
            }
            _ => Failure::refused(
                format!(
                    "the data directory {} cannot be written to: {error}",
                    path.display()
                ),
                ELSEWHERE,
            ),
        }
    })
}

/// Brings the mark to what this version writes: from now on the directory is of this version.
fn write_mark(mark: &mut File, path: &Path, purpose: Purpose) -> Result<(), Failure> {
    let wanted = mark::text(purpose);
    let unusable = |error| unusable(path, &error);
    // Somebody may have come first between the look and the lock.
    let text = read(mark).map_err(unusable)?;
    if text == wanted {
        return Ok(());
    }
    if !text.is_empty() {
        mark::check(&text, path, purpose)?;
    }
    // The new one is never shorter, so that there is a whole one at any time.
    mark.rewind()
        .and_then(|()| mark.write_all(wanted.as_bytes()))
        .map_err(unusable)
}

fn read(mark: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    mark.take(LONGEST).read_to_end(&mut bytes)?;
    // What is no text is no mark either, and is told so by whoever reads it.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(
        format!("cannot use {}: {error}", path.join(MARK).display()),
        "check who may write there, and the space left",
    )
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
    let is_shared = mode & STICKY != 0 || about.uid() != owner::me();
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

/// What a directory without a mark is for all the same, and the file that tells: one that was restored, or is older than
/// the mark.
fn known(path: &Path) -> Option<(PathBuf, Purpose)> {
    // First what only members have; they have a store too.
    let tells = [
        ("ports.json", Purpose::Members),
        ("store/checkpoint.redb", Purpose::ControlPlane),
        ("store/restore.new", Purpose::ControlPlane),
    ];
    let mut found = tells
        .into_iter()
        .map(|(file, purpose)| (path.join(file), purpose));
    found.find(|(file, _)| file.is_file())
}

fn refuse_foreign(
    path: &Path,
    present: &[String],
    purpose: Purpose,
    beside: Beside,
) -> Result<(), Failure> {
    // Keys of a control plane may be prepared; members have their own.
    let overwritten: &[&str] = match purpose {
        Purpose::ControlPlane => &["kubeconfig"],
        Purpose::Members => &["kubeconfig", "pki", "store"],
    };
    let is_in_the_way = |name: &&str| match beside {
        Beside::Nothing => true,
        Beside::Keys => *name != "pki",
        Beside::Preparations => overwritten.contains(name),
        Beside::Anything => false,
    };
    let names = present.iter().map(String::as_str);
    let in_the_way: Vec<&str> = names.filter(is_in_the_way).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path, beside: Beside) -> String {
        said_of(path, Purpose::ControlPlane, beside)
    }

    fn said_of(path: &Path, purpose: Purpose, beside: Beside) -> String {
        match claim(path, purpose, beside) {
            Ok(_) => String::new(),
            Err(failure) => {
                assert_eq!(failure.exit_code(), 1);
                format!("{failure}\n{}", failure.hint())
            }
        }
    }

    /// A directory with files in it.
    fn holding(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = directory.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        directory
    }

    /// What is in a directory, with modes: what is the same before and after has not been touched.
    fn picture(path: &Path) -> Vec<(String, u32, String)> {
        let mut all = Vec::new();
        for name in entries(path).unwrap() {
            let entry = path.join(&name);
            let mode = std::fs::metadata(&entry).unwrap().mode();
            let text = std::fs::read_to_string(&entry).unwrap_or_default();
            all.push((name, mode, text));
        }
        all
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
                &["notes.txt", "pki/encryption.key"],
                Beside::Keys,
                "holds notes.txt",
            ),
            (&["pki/encryption.key"], Beside::Keys, ""),
            (
                &["store/checkpoint.redb", "kubeconfig"],
                Beside::Nothing,
                "",
            ),
            (&["lost+found/x"], Beside::Nothing, ""),
            (&[], Beside::Nothing, ""),
        ] {
            let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "precious")).collect();
            let directory = holding(&files);
            let looked = check(directory.path(), Purpose::ControlPlane, beside);
            let found = said(directory.path(), beside);
            assert_eq!(looked.is_ok(), expected.is_empty(), "{files:?}");
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
        let first = claim(&path, Purpose::ControlPlane, Beside::Nothing).unwrap();
        assert!(first.is_new);
        assert!(said(&path, Beside::Nothing).contains("is in use by another process"));
        drop(first);
        std::fs::write(path.join("kubeconfig"), "ours").unwrap();
        assert!(
            !claim(&path, Purpose::ControlPlane, Beside::Nothing)
                .unwrap()
                .is_new
        );
    }

    #[test]
    fn others_cannot_look_into_what_is_all_ours() {
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
        let new = root.path().join("new");
        drop(claim(&new, Purpose::ControlPlane, Beside::Nothing).unwrap());
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
            drop(claim(path, Purpose::ControlPlane, Beside::Preparations));
            assert_eq!(mode(path), kept, "{loose:o} {prepared:?}");
        }
    }

    #[test]
    fn directories_of_other_versions_and_files_are_refused() {
        for (text, expected, after) in [
            // Earlier ones go on, and are then of this version.
            ("1\n", "", "2\n"),
            ("2\n", "", "2\n"),
            ("", "", "2\n"),
            ("3\n", "is of a later version of karavel", "3\n"),
            (
                "3 agents\n",
                "is of a later version of karavel",
                "3 agents\n",
            ),
            ("2 agents\n", "is for \"agents\"", "2 agents\n"),
            ("x", "is damaged", "x"),
        ] {
            let directory = holding(&[(MARK, text)]);
            let mark = directory.path().join(MARK);
            let found = said(directory.path(), Beside::Nothing);
            assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
            assert!(found.contains(expected), "{found}");
            assert_eq!(std::fs::read_to_string(&mark).unwrap(), after);
            for path in [mark.clone(), mark.join("below")] {
                let found = said(&path, Beside::Nothing);
                assert!(found.contains("not a directory"), "{found}");
            }
        }
    }

    #[test]
    fn a_mark_that_is_no_text_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(MARK), b"\xff\xfe\0").unwrap();
        let found = said(directory.path(), Beside::Nothing);
        assert!(found.contains("is damaged"), "{found}");
        assert!(found.contains("remove that file"), "{found}");
    }

    #[test]
    fn what_is_for_something_else_is_not_touched() {
        let control = "is the data directory of a control plane, not of simulated members";
        let members = "is the data directory of simulated members, not of a control plane";
        let (plane, sim) = (Purpose::ControlPlane, Purpose::Members);
        for (files, wanted, expected) in [
            (&[(MARK, "2\n")][..], sim, control),
            (&[(MARK, "1\n")], sim, control),
            (&[("store/checkpoint.redb", "x")], sim, control),
            (&[(MARK, "2 simulated members\n")], plane, members),
            (
                &[("ports.json", "{}"), ("store/checkpoint.redb", "x")],
                plane,
                members,
            ),
            (&[("kubeconfig", "mine")], sim, "holds kubeconfig"),
            (&[("pki/ca.crt", "mine")], sim, "holds pki"),
            (&[("rules.json", "mine")], sim, ""),
            (&[(MARK, "2 simulated members\n")], sim, ""),
            (
                &[("ports.json", "{}"), ("store/checkpoint.redb", "x")],
                sim,
                "",
            ),
        ] {
            let directory = holding(files);
            let path = directory.path();
            let before = picture(path);
            let found = said_of(path, wanted, Beside::Preparations);
            assert!(found.contains(expected), "{files:?}: {found}");
            if expected.is_empty() {
                assert_eq!(found, "");
                let other = if wanted == plane { sim } else { plane };
                assert!(!said_of(path, other, Beside::Anything).is_empty());
                continue;
            }
            assert!(found.contains("choose"), "{found}");
            assert_eq!(picture(path), before, "{files:?}");
            let shared = share(path, wanted).unwrap_err().to_string();
            assert!(shared.contains(expected), "{files:?}: {shared}");
            assert_eq!(picture(path), before, "{files:?}");
        }
    }

    #[test]
    fn several_share_a_directory_where_nobody_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        share(path, Purpose::ControlPlane).unwrap();
        share(path, Purpose::ControlPlane).unwrap();
        assert!(said_of(path, Purpose::Members, Beside::Preparations).contains("a control plane"));
        assert_eq!(said(path, Beside::Nothing), "");
    }

    #[test]
    fn what_another_user_began_is_not_touched() {
        // Only root can give something away.
        if owner::me() != 0 {
            return;
        }
        for (files, given, expected) in [
            (&[][..], &["."][..], "belongs to another user"),
            (&[("keys.yaml", "k")], &["."], "belongs to another user"),
            (&[(MARK, "2\n")], &[".", MARK], "belongs to another user"),
            (
                &[("store/checkpoint.redb", "x")],
                &["store/checkpoint.redb"],
                "belongs to another user",
            ),
            // A volume of somebody else in which this user has begun.
            (&[(MARK, "2\n")], &["."], ""),
        ] {
            let directory = holding(files);
            let path = directory.path();
            for name in given {
                std::os::unix::fs::chown(path.join(name), Some(12345), None).unwrap();
            }
            let before = picture(path);
            let found = said(path, Beside::Preparations);
            assert_eq!(found.is_empty(), expected.is_empty(), "{files:?}: {found}");
            assert!(found.contains(expected), "{files:?}: {found}");
            assert_eq!(picture(path), before, "{files:?}");
        }
    }
}

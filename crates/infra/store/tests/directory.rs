//! What is refused when a directory is not as it was left, and how; backups of what is.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use karavel_store::embedded::{Embedded, Options, restore};
use karavel_store::{Key, Query, Revision, Txn};
use tempfile::TempDir;

/// Small segments, so that a few writes make several files.
fn open(path: &Path) -> Result<Embedded, karavel_store::embedded::OpenError> {
    Embedded::open(
        path,
        Options {
            checkpoint_bytes: 3000,
            ..Options::default()
        },
    )
}

fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

fn write(store: &Embedded, count: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for index in 0..count {
        let txn = Txn::new().put(key(&format!("k{index:03}")), vec![7; 500]);
        runtime.block_on(store.commit(txn)).unwrap();
    }
}

/// A directory with a checkpoint and a journal of several segments.
fn filled() -> TempDir {
    let directory = TempDir::new().unwrap();
    write(&open(directory.path()).unwrap(), 20);
    directory
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(path).unwrap().map(|item| item.unwrap().path());
    let mut segments: Vec<_> = names
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    segments.sort();
    segments
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut content = fs::read(path).unwrap();
    change(&mut content);
    fs::write(path, content).unwrap();
}

/// Spoils a directory and compares what opening says, segments by their place.
fn check_refused(spoil: impl FnOnce(&Path, &[PathBuf]), expected: &str) {
    let directory = filled();
    let segments = segments(directory.path());
    assert!(segments.len() > 3, "{segments:?}");
    spoil(directory.path(), &segments);
    let before: Vec<_> = self::segments(directory.path())
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    let mut said = open(directory.path()).unwrap_err().to_string();
    for (place, segment) in segments.iter().enumerate() {
        said = said.replace(
            segment.file_name().unwrap().to_str().unwrap(),
            &format!("<segment {place}>"),
        );
    }
    assert_eq!(said, expected);
    let after: Vec<_> = self::segments(directory.path())
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(before == after, "refusing changes nothing");
}

const RESTORE: &str = "put an intact copy of the directory back, or restore the newest backup into an empty directory";

#[test]
fn a_damaged_frame_that_others_follow_is_refused() {
    check_refused(
        |_, segments| edit(&segments[0], |content| content[100] ^= 1),
        &format!(
            "file <segment 0> is damaged at byte 56, and not by an interrupted write: {RESTORE}"
        ),
    );
}

#[test]
fn a_shortened_segment_that_others_follow_is_refused() {
    check_refused(
        |_, segments| edit(&segments[0], |content| content.truncate(content.len() - 1)),
        &format!(
            "file <segment 0> is damaged at byte 2916, and not by an interrupted write: {RESTORE}"
        ),
    );
}

#[test]
fn a_newest_segment_with_frames_and_a_damaged_header_is_refused() {
    for at in [3, 20, 50] {
        check_refused(
            |_, segments| edit(&segments[segments.len() - 1], |content| content[at] ^= 1),
            &format!(
                "file <segment 3> is damaged at byte 0, and not by an interrupted write: {RESTORE}"
            ),
        );
    }
}

#[test]
fn a_journal_shortened_after_a_clean_stop_is_refused() {
    let expected = |found, place| {
        format!(
            "the journal ends with frame {found} in file <segment {place}>, but it had 20: {RESTORE}"
        )
    };
    check_refused(
        |_, segments| {
            edit(&segments[segments.len() - 1], |content| {
                content.truncate(content.len() - 1)
            })
        },
        &expected(19, 3),
    );
    check_refused(
        |_, segments| fs::remove_file(&segments[segments.len() - 1]).unwrap(),
        &expected(18, 2),
    );
}

#[test]
fn a_missing_segment_is_refused() {
    let expected = "file <segment 1> is missing: put it back, or restore the newest backup into an empty directory";
    check_refused(
        |_, segments| fs::remove_file(&segments[1]).unwrap(),
        expected,
    );
    let expected = "file <segment 0> is missing: put it back, or restore the newest backup into an empty directory";
    check_refused(
        |_, segments| fs::remove_file(&segments[0]).unwrap(),
        expected,
    );
}

#[test]
fn a_missing_journal_is_refused() {
    check_refused(
        |_, segments| {
            segments
                .iter()
                .for_each(|segment| fs::remove_file(segment).unwrap())
        },
        "the directory has a checkpoint but no journal: \
         put the missing files back, or restore a backup into an empty directory",
    );
}

#[test]
fn a_missing_checkpoint_is_refused() {
    check_refused(
        |path, _| fs::remove_file(path.join("checkpoint.redb")).unwrap(),
        "the directory has a journal but no checkpoint.redb: \
         put the missing file back, or restore a backup into an empty directory",
    );
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    check_refused(
        |path, _| fs::write(path.join("checkpoint.redb"), vec![b'x'; 10_000]).unwrap(),
        &format!("the database checkpoint.redb cannot be opened: {RESTORE}"),
    );
    check_refused(
        |path, _| fs::write(path.join("checkpoint.redb"), "").unwrap(),
        &format!(
            "file checkpoint.redb is damaged at byte 0, and not by an interrupted write: {RESTORE}"
        ),
    );
}

#[test]
fn a_newer_format_is_refused() {
    check_refused(
        |_, segments| edit(&segments[1], |content| content[8] = 3),
        "file <segment 1> has format 3, but this version understands only 2: \
         run the version that wrote it or a later one, or restore a backup into an empty directory",
    );
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let other = filled();
    let foreign = segments(other.path()).remove(1);
    check_refused(
        |_, segments| {
            fs::copy(foreign, &segments[1]).unwrap();
        },
        "file <segment 1> belongs to another store: remove it from this directory if it was copied here by mistake",
    );
}

#[test]
fn a_damaged_entry_in_the_checkpoint_is_refused() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    write(&store, 20);
    runtime.block_on(store.compact(Revision(20))).unwrap();
    write(&store, 10);
    drop(store);
    edit(&directory.path().join("checkpoint.redb"), |content| {
        let value = content
            .windows(400)
            .rposition(|window| window.iter().all(|byte| *byte == 7))
            .unwrap();
        content[value + 100] ^= 1;
    });
    let said = open(directory.path()).map(drop).unwrap_err().to_string();
    assert!(
        said.starts_with("file checkpoint.redb is damaged at key k0"),
        "{said}"
    );
}

#[test]
fn a_torn_tail_is_cut_and_the_rest_is_there() {
    let directory = filled();
    let last = segments(directory.path()).pop().unwrap();
    edit(&last, |content| {
        content.extend_from_slice(b"KVF1 half a frame")
    });
    let store = open(directory.path()).unwrap();
    assert_eq!(store.revision().unwrap(), Revision(20));
}

#[test]
fn a_second_opener_is_told_which_directory_is_in_use() {
    let directory = filled();
    let store = open(directory.path()).unwrap();
    let said = open(directory.path()).unwrap_err().to_string();
    let path = directory.path().display();
    assert_eq!(
        said,
        format!("the store in {path} is in use by another process; stop that one first")
    );
    drop(store);
    open(directory.path()).unwrap();
}

#[test]
fn a_restored_backup_has_everything_under_revisions_never_used() {
    let directory = filled();
    let store = open(directory.path()).unwrap();
    let mut backup = Vec::new();
    let written = store.backup(&mut backup).unwrap();
    assert_eq!(
        (written.revision, written.entries, written.bytes),
        (Revision(20), 20, backup.len() as u64)
    );
    write(&store, 5);

    let target = TempDir::new().unwrap();
    assert_eq!(restore(target.path(), backup.as_slice()).unwrap(), written);
    let restored = open(target.path()).unwrap();
    let then = store.range(&Query::default().at(Revision(20))).unwrap();
    assert_eq!(
        restored.range(&Query::default()).unwrap().entries,
        then.entries
    );
    assert!(restored.revision().unwrap() > store.revision().unwrap());
    let stale = restored
        .watch("".into(), store.revision().unwrap())
        .unwrap_err()
        .to_string();
    let begun = restored.revision().unwrap();
    assert!(begun > Revision(1_000_000_020));
    assert_eq!(
        stale,
        format!(
            "changes after revision 25 have been compacted; the oldest revision to watch after is {begun}"
        )
    );
    let again = TempDir::new().unwrap();
    restore(again.path(), backup.as_slice()).unwrap();
    assert!(open(again.path()).unwrap().revision().unwrap() > begun);
    write(&restored, 3);
    drop(restored);
    assert_eq!(
        open(target.path()).unwrap().revision().unwrap(),
        Revision(begun.0 + 3)
    );

    let said = restore(target.path(), backup.as_slice())
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        format!(
            "the directory {} is not empty: restore into an empty one",
            target.path().display()
        )
    );
}

#[test]
fn a_damaged_backup_is_refused_wherever_it_is_damaged() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).unwrap();
    write(&store, 3);
    let mut backup = Vec::new();
    store.backup(&mut backup).unwrap();
    let target = TempDir::new().unwrap();
    let check = |content: &[u8], what: String| {
        assert!(restore(target.path(), content).is_err(), "{what}");
        let left: Vec<_> = fs::read_dir(target.path())
            .unwrap()
            .map(|item| item.unwrap().file_name())
            .collect();
        assert_eq!(left, ["LOCK"], "{what}: nothing is left behind");
    };
    for cut in (0..backup.len()).step_by(13) {
        check(&backup[..cut], format!("cut to {cut}"));
    }
    for at in (0..backup.len())
        .step_by(13)
        .filter(|at| !(12..28).contains(at))
    {
        let mut damaged = backup.clone();
        damaged[at] ^= 0x10;
        check(&damaged, format!("byte {at} changed"));
    }
    check(
        &[backup.as_slice(), b"x"].concat(),
        "something follows".to_owned(),
    );
    restore(target.path(), backup.as_slice()).unwrap();
}

#[test]
fn a_backup_of_a_later_version_is_refused() {
    let directory = filled();
    let mut backup = Vec::new();
    open(directory.path()).unwrap().backup(&mut backup).unwrap();
    backup[8] = 3;
    let target = TempDir::new().unwrap();
    let said = restore(target.path(), backup.as_slice())
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "the backup has format 3, but this version understands only 2: \
         restore it with the version that wrote it or a later one"
    );
}

#[test]
fn only_the_owner_may_look_into_a_store() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let parent = TempDir::new().unwrap();
    let created = parent.path().join("data/store");
    let store = open(&created).unwrap();
    write(&store, 20);
    let mut backup = Vec::new();
    store.backup(&mut backup).unwrap();
    let restored = parent.path().join("restored");
    restore(&restored, backup.as_slice()).unwrap();
    for directory in [created.parent().unwrap(), &created, &restored] {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
    for directory in [&created, &restored] {
        let files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|item| item.unwrap().path())
            .collect();
        assert!(files.len() >= 3, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
}

//! `kill -9` under load: what was acknowledged is there, and revisions never go back.
//!
//! The test starts its own executable as a child that writes and reports on its standard output what was
//! acknowledged. `KARAVEL_STORE_KILLS` says how often the child is killed: 10 by default, 200 for the long run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use karavel_store::embedded::{Embedded, Options, Retention};
use karavel_store::{Key, Notice, Query, Revision, Txn};
use tempfile::TempDir;

const DIRECTORY: &str = "KARAVEL_STORE_CHILD";
const WRITERS: u64 = 16;

/// Small enough that checkpoints and new segments are under way at most moments.
fn open(path: &Path) -> Embedded {
    let retention = Retention {
        events: 500,
        ..Retention::default()
    };
    Embedded::open(
        path,
        Options {
            retention,
            checkpoint_bytes: 100_000,
            ..Options::default()
        },
    )
    .unwrap()
}

fn key(writer: u64, half: &str) -> Key {
    Key::new(format!("writer-{writer}/{half}")).unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        write_for_ever(Path::new(&directory));
    }
    let kills = std::env::var("KARAVEL_STORE_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let directory = TempDir::new().unwrap();
    let mut newest = 0;
    for kill in 0..kills {
        // A different moment each time: after 1 to a few hundred acknowledgements.
        let lines = 1 + (kill * 7919) % 611;
        let acknowledged = kill_after(directory.path(), lines);
        newest = check(directory.path(), &acknowledged, newest, kill);
    }
}

/// The child: every writer counts up, two keys at a time, and says so when it is acknowledged.
fn write_for_ever(directory: &Path) -> ! {
    let store = open(directory);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let tasks = tokio::task::LocalSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        tasks.spawn_local(async move {
            let start = store.get(&key(writer, "a"), None).unwrap();
            let mut count: u64 = start.map_or(0, |entry| {
                std::str::from_utf8(&entry.value)
                    .unwrap()
                    .trim()
                    .parse()
                    .unwrap()
            });
            loop {
                count += 1;
                // Values of different lengths, up to a few KB.
                let width = usize::try_from(20 + count * 97 % 3000).unwrap();
                let value = format!("{count:>width$}");
                let txn = Txn::new()
                    .put(key(writer, "a"), value.clone())
                    .put(key(writer, "b"), value);
                let revision = store.commit(txn).await.unwrap().revision;
                let mut out = std::io::stdout().lock();
                writeln!(out, "ACK {writer} {count} {revision} .").unwrap();
                out.flush().unwrap();
            }
        });
    }
    runtime.block_on(tasks);
    std::process::exit(1)
}

/// Starts a child, kills it after some acknowledgements and returns the last count and revision of each writer.
fn kill_after(directory: &Path, lines: usize) -> BTreeMap<u64, (u64, u64)> {
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "nothing_acknowledged_is_lost_when_the_process_is_killed",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = BTreeMap::new();
    let mut count = 0;
    // After the kill the pipe still has what the child said before it.
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(at) = line.find("ACK ") else {
            continue;
        };
        let numbers: Vec<u64> = line[at + 4..]
            .split(' ')
            .filter_map(|field| field.parse().ok())
            .collect();
        // A line that the kill cut short says nothing.
        if let ([writer, count, revision], true) = (&numbers[..], line.ends_with(" .")) {
            acknowledged.insert(*writer, (*count, *revision));
        }
        count += 1;
        if count == lines {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(count >= lines, "the child ended by itself");
    acknowledged
}

fn check(
    directory: &Path,
    acknowledged: &BTreeMap<u64, (u64, u64)>,
    newest: u64,
    kill: usize,
) -> u64 {
    let store = open(directory);
    let revision = store.revision().unwrap().0;
    assert!(
        revision >= newest,
        "kill {kill}: revision {revision} after {newest} had been seen"
    );
    for (writer, (count, at)) in acknowledged {
        assert!(
            revision >= *at,
            "kill {kill}: revision {at} was acknowledged, {revision} is the newest"
        );
        let value = |half| {
            store
                .get(&key(*writer, half), None)
                .unwrap()
                .unwrap()
                .value
                .clone()
        };
        let found: u64 = std::str::from_utf8(&value("a"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!(
            found >= *count,
            "kill {kill}: writer {writer} had {count} acknowledged, but {found} is there"
        );
        assert_eq!(value("a"), value("b"), "kill {kill}: half a transaction");
    }
    check_history(&store);
    revision
}

/// Whoever watches from the oldest revision on sees every revision since.
fn check_history(store: &Embedded) {
    let status = store.status().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut watch = store.watch("".into(), status.compacted).unwrap();
    for revision in status.compacted.0 + 1..=status.revision.0 {
        let notice = runtime.block_on(watch.next()).unwrap();
        assert!(
            matches!(notice, Notice::Changes(changes) if changes.revision == Revision(revision))
        );
    }
    assert!(store.range(&Query::default().at(status.compacted)).is_ok());
}

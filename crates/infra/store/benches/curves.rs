//! Throughput and latency of the embedded store as curves, with the device's own sync rate beside them.
//!
//! `cargo bench -p karavel-store` runs a small version in seconds; `cargo bench -p karavel-store -- --full` the whole,
//! in `KARAVEL_BENCH_DIR` if that is set, otherwise in the temporary directory.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod workload;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use karavel_store::embedded::{Embedded, Options};
use karavel_store::{Query, Revision, Txn};
use workload::{OBJECT, device, directory, key, percentile, step, value};

/// How much is measured.
#[derive(Clone, Copy)]
struct Extent {
    writers: &'static [usize],
    sizes_kib: &'static [usize],
    objects: &'static [usize],
    time: Duration,
}

const SMALL: Extent = Extent {
    writers: &[1, 16],
    sizes_kib: &[2],
    objects: &[2_000],
    time: Duration::from_millis(200),
};

const FULL: Extent = Extent {
    writers: &[1, 4, 16, 64, 256],
    sizes_kib: &[1, 2, 10, 100],
    objects: &[10_000, 100_000, 1_000_000],
    time: Duration::from_secs(4),
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--open") {
        report_opening(Path::new(&arguments[at + 1]));
        return;
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--fill") {
        fill(
            Path::new(&arguments[at + 1]),
            arguments[at + 2].parse().unwrap(),
        );
        return;
    }
    let extent = if arguments.iter().any(|argument| argument == "--full") {
        FULL
    } else {
        SMALL
    };

    println!("writers (objects of 2 KiB)\n{HEAD}");
    for writers in extent.writers {
        measure(*writers, OBJECT, extent.time, None);
    }
    println!("\nobject size (16 writers)\n{HEAD}");
    for kib in extent.sizes_kib {
        measure(16, kib * 1024, extent.time, None);
    }
    println!("\nobjects in the store (64 writers, objects of 2 KiB)\n{HEAD}");
    let mut openings = Vec::new();
    for objects in extent.objects {
        let directory = directory();
        fill(directory.path(), *objects);
        measure(64, OBJECT, extent.time, Some((directory.path(), *objects)));
        openings.push((*objects, open_in_child(directory.path())));
        reads(directory.path(), *objects);
    }
    println!("\nopening (files in the page cache)");
    println!("objects   opened in   memory per object of 2 KiB   on disk");
    for (objects, report) in openings {
        println!("{objects:>7}   {report}");
    }
}

const HEAD: &str =
    "writers    size  objects   store/s  p50 ms  p99 ms   device/s  of device  written/stored";

/// Writers in a closed loop, before and after them the device with as many objects for each sync.
fn measure(writers: usize, size: usize, time: Duration, filled: Option<(&Path, usize)>) {
    let temporary = directory();
    let (path, objects) = filled.unwrap_or((temporary.path(), 10_000));
    let before = device(path, writers, size, time / 4);
    let written = bytes_written();
    let mut latencies = write_load(path, objects, writers, size, time);
    let stored = latencies.len() * (size + 45);
    let amplification = (bytes_written() - written) as f64 / stored as f64;
    let after = device(path, writers, size, time / 4);
    let device = f64::midpoint(before, after);

    latencies.sort_unstable();
    let at = |share: f64| percentile(&latencies, share);
    let rate = latencies.len() as f64 / time.as_secs_f64();
    println!(
        "{writers:>7} {size:>7} {objects:>8} {rate:>9.0} {:>7.2} {:>7.2} {device:>10.0} {:>9.0}% {amplification:>10.1}",
        at(0.5),
        at(0.99),
        rate / device * 100.0
    );
}

fn write_load(
    path: &Path,
    objects: usize,
    writers: usize,
    size: usize,
    time: Duration,
) -> Vec<Duration> {
    let store = Embedded::open(path, Options::default()).unwrap();
    // What is written is prepared before: its making is not the store's cost.
    let values: Rc<Vec<Bytes>> = Rc::new((0..64).map(|seed| value(seed, size)).collect());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tasks = tokio::task::LocalSet::new();
    let latencies = tasks.block_on(&runtime, async {
        let start = Instant::now();
        let mut handles = Vec::new();
        for writer in 0..writers {
            let (store, values) = (store.clone(), Rc::clone(&values));
            handles.push(tokio::task::spawn_local(async move {
                let mut latencies = Vec::new();
                let mut index = writer.wrapping_mul(7919);
                while start.elapsed() < time {
                    index = step(index);
                    let txn = Txn::new().put(
                        key((index >> 33) % objects),
                        values[(index >> 20) % 64].clone(),
                    );
                    let begun = Instant::now();
                    store.commit(txn).await.unwrap();
                    latencies.push(begun.elapsed());
                }
                latencies
            }));
        }
        let mut all = Vec::new();
        for handle in handles {
            all.extend(handle.await.unwrap());
        }
        all
    });
    drop(store);
    latencies
}

fn fill(path: &Path, objects: usize) {
    let store = Embedded::open(path, Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for start in (0..objects).step_by(100) {
        let txn = (start..(start + 100).min(objects)).fold(Txn::new(), |txn, index| {
            txn.put(key(index), value(index, OBJECT))
        });
        runtime.block_on(store.commit(txn)).unwrap();
    }
}

/// Reads at the newest and an older state.
fn reads(path: &Path, objects: usize) {
    let store = Embedded::open(path, Options::default()).unwrap();
    let mut index = 1usize;
    let gets = 200_000;
    let start = Instant::now();
    for _ in 0..gets {
        index = step(index);
        assert!(
            store
                .get(&key((index >> 33) % objects), None)
                .unwrap()
                .is_some()
        );
    }
    let get = start.elapsed() / gets;
    let start = Instant::now();
    let listed = store
        .range(&Query::prefix("/registry/pods/"))
        .unwrap()
        .entries
        .len();
    let list = start.elapsed();
    let back = store.status().unwrap().compacted;
    let changes = store.revision().unwrap().0 - back.0;
    let start = Instant::now();
    let page = store
        .range(
            &Query::prefix("/registry/pods/")
                .limit(500)
                .at(Revision(back.0)),
        )
        .unwrap();
    println!(
        "        get {get:?}; list of {listed} {list:?}; page of {} as of {changes} changes ago {:?}",
        page.entries.len(),
        start.elapsed()
    );
}

/// Opens a store in a process of its own, whose memory is then the store's.
fn open_in_child(path: &Path) -> String {
    let mut total = 0;
    for item in fs::read_dir(path).unwrap() {
        total += item.unwrap().metadata().unwrap().len();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--open")
        .arg(path)
        .output()
        .unwrap();
    format!(
        "{}   {} MiB",
        String::from_utf8_lossy(&output.stdout).trim(),
        total / 1024 / 1024
    )
}

fn report_opening(path: &Path) {
    let before = resident();
    let start = Instant::now();
    let store = Embedded::open(path, Options::default()).unwrap();
    let opened = start.elapsed();
    let entries = usize::try_from(store.status().unwrap().entries.unwrap()).unwrap();
    let memory = resident() - before;
    println!(
        "{:>6} ms   {} bytes ({} MiB in all)",
        opened.as_millis(),
        memory / entries,
        memory / 1024 / 1024
    );
}

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        * 1024
}

/// What this process has caused to be written to devices.
fn bytes_written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let line = io
        .lines()
        .find(|line| line.starts_with("write_bytes"))
        .unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

//! What all benches of the store write, and where.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use karavel_store::Key;
use tempfile::TempDir;

/// How many bytes an object has unless its size is what varies.
pub(crate) const OBJECT: usize = 2048;

/// A directory on the device to measure: in `KARAVEL_BENCH_DIR` if that is set.
pub(crate) fn directory() -> TempDir {
    match std::env::var_os("KARAVEL_BENCH_DIR") {
        Some(parent) => TempDir::new_in(parent).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

/// The name of an object.
pub(crate) fn key(index: usize) -> Key {
    Key::new(format!(
        "/registry/pods/namespace-{:02}/deployment-{index:07}",
        index % 50
    ))
    .unwrap()
}

/// Incompressible, and different for each.
pub(crate) fn value(seed: usize, size: usize) -> Bytes {
    let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes.into()
}

/// Objects a second when `batch` objects share each append and sync, with nothing else to do.
pub(crate) fn device(path: &Path, batch: usize, size: usize, time: Duration) -> f64 {
    let name = path.join("device.tmp");
    let file = File::create(&name).unwrap();
    let bytes = value(1, batch * (size + 90));
    let start = Instant::now();
    let mut offset = 0;
    let mut syncs = 0usize;
    while start.elapsed() < time {
        file.write_all_at(&bytes, offset).unwrap();
        file.sync_data().unwrap();
        offset += bytes.len() as u64;
        syncs += 1;
    }
    let rate = (syncs * batch) as f64 / start.elapsed().as_secs_f64();
    fs::remove_file(name).unwrap();
    rate
}

/// The next index of a walk that visits objects in no order.
pub(crate) fn step(index: usize) -> usize {
    index
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

/// The latency, in milliseconds, that a share of the sorted ones stays below.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0
}

//! The curves of `curves.rs` for a store in etcd.
//!
//! `cargo bench -p karavel-store --bench etcd` starts an etcd of its own, in `KARAVEL_BENCH_DIR` if that is set, and runs
//! a small version in seconds; `-- --full` runs the whole, `-- --objects N` only the last table at that size. With `KARAVEL_BENCH_ETCD` set to the URLs of a cluster,
//! separated by commas, that is measured instead, below the prefix `/karavel-bench`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod workload;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use karavel_store::etcd::{Etcd, Options};
use karavel_store::{Notice, Query, Store, Txn};
use tempfile::TempDir;
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
    time: Duration::from_millis(300),
};

const FULL: Extent = Extent {
    writers: &[1, 4, 16, 64, 256],
    sizes_kib: &[1, 2, 10, 100],
    objects: &[10_000, 100_000, 1_000_000],
    time: Duration::from_secs(4),
};

const HEAD: &str = "writers    size  objects   store/s  p50 ms  p99 ms   device/s  of device";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments
        .iter()
        .position(|argument| argument == "--objects")
    {
        let objects = arguments[place + 1].parse().unwrap();
        return with_objects(&[objects], FULL.time);
    }
    let extent = if arguments.iter().any(|argument| argument == "--full") {
        FULL
    } else {
        SMALL
    };
    println!("writers (objects of 2 KiB)\n{HEAD}");
    for writers in extent.writers {
        Subject::start().measure(*writers, OBJECT, 10_000, extent.time);
    }
    println!("\nobject size (16 writers)\n{HEAD}");
    for kib in extent.sizes_kib {
        Subject::start().measure(16, kib * 1024, 10_000, extent.time);
    }
    println!();
    with_objects(extent.objects, extent.time);
}

fn with_objects(counts: &[usize], time: Duration) {
    println!("objects in the store (64 writers, objects of 2 KiB)\n{HEAD}");
    for objects in counts {
        let subject = Subject::start();
        subject.fill(*objects);
        subject.measure(64, OBJECT, *objects, time);
        subject.read(*objects);
        subject.watch();
    }
}

/// An etcd to measure, and a store in it.
struct Subject {
    store: Store,
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
}

/// An etcd of our own; ends with this.
struct Server {
    child: Child,
    directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Subject {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (endpoints, server) = match std::env::var("KARAVEL_BENCH_ETCD") {
            Ok(urls) => (urls.split(',').map(str::to_owned).collect(), None),
            Err(_) => {
                let (url, server) = serve();
                (vec![url], Some(server))
            }
        };
        let mut options = Options::new(endpoints, "/karavel-bench");
        options.timeout = Duration::from_secs(30);
        let store = runtime.block_on(async { Etcd::connect(options).await.unwrap() });
        Self {
            store: Store::Etcd(store),
            runtime,
            server,
        }
    }

    /// Writers in a closed loop, before and after them the device with as many objects for each sync.
    fn measure(&self, writers: usize, size: usize, objects: usize, time: Duration) {
        let device_rate = || {
            let server = self.server.as_ref()?;
            Some(device(server.directory.path(), writers, size, time / 4))
        };
        let before = device_rate();
        let mut latencies = self.write_load(objects, writers, size, time);
        let after = device_rate();
        latencies.sort_unstable();
        let rate = latencies.len() as f64 / time.as_secs_f64();
        let (p50, p99) = (percentile(&latencies, 0.5), percentile(&latencies, 0.99));
        let device = match before.zip(after) {
            Some((before, after)) => {
                let device = f64::midpoint(before, after);
                format!("{device:>10.0} {:>9.0}%", rate / device * 100.0)
            }
            None => "  elsewhere".to_owned(),
        };
        println!("{writers:>7} {size:>7} {objects:>8} {rate:>9.0} {p50:>7.2} {p99:>7.2} {device}");
    }

    fn write_load(
        &self,
        objects: usize,
        writers: usize,
        size: usize,
        time: Duration,
    ) -> Vec<Duration> {
        let values: Rc<Vec<Bytes>> = Rc::new((0..64).map(|seed| value(seed, size)).collect());
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&self.runtime, async {
            let start = Instant::now();
            let mut handles = Vec::new();
            for writer in 0..writers {
                let (store, values) = (self.store.clone(), Rc::clone(&values));
                handles.push(tokio::task::spawn_local(async move {
                    let mut latencies = Vec::new();
                    let mut index = writer.wrapping_mul(7919);
                    while start.elapsed() < time {
                        index = step(index);
                        let object = key((index >> 33) % objects);
                        let txn = Txn::new().put(object, values[(index >> 20) % 64].clone());
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
        })
    }

    fn fill(&self, objects: usize) {
        for start in (0..objects).step_by(100) {
            let txn = (start..(start + 100).min(objects)).fold(Txn::new(), |txn, index| {
                txn.put(key(index), value(index, OBJECT))
            });
            self.runtime.block_on(self.store.commit(txn)).unwrap();
        }
    }

    /// Reads one by one and all at once.
    fn read(&self, objects: usize) {
        self.runtime.block_on(async {
            let gets = 500;
            let mut index = 1;
            let start = Instant::now();
            for _ in 0..gets {
                index = step(index);
                let object = key((index >> 33) % objects);
                assert!(self.store.get(&object, None).await.unwrap().is_some());
            }
            let get = start.elapsed() / gets;
            let start = Instant::now();
            let query = Query::prefix("/registry/pods/");
            let listed = self.store.range(&query).await.unwrap().entries.len();
            println!(
                "        get {get:?}; list of {listed} {:?}",
                start.elapsed()
            );
        });
    }

    /// How long after its acknowledgement a watcher has a change.
    fn watch(&self) {
        self.runtime.block_on(async {
            let revision = self.store.revision().await.unwrap();
            let mut watch = self.store.watch("", revision).await.unwrap();
            let mut latencies = Vec::new();
            for round in 0..200 {
                let txn = Txn::new().put(key(0), value(round, OBJECT));
                let begun = Instant::now();
                let committed = self.store.commit(txn).await.unwrap();
                loop {
                    if let Notice::Changes(changes) = watch.next().await.unwrap()
                        && changes.revision == committed.revision
                    {
                        break;
                    }
                }
                latencies.push(begun.elapsed());
            }
            latencies.sort_unstable();
            let (p50, p99) = (percentile(&latencies, 0.5), percentile(&latencies, 0.99));
            println!("        from put to watcher {p50:.2} ms p50, {p99:.2} ms p99");
        });
    }
}

/// Starts an etcd on free ports.
fn serve() -> (String, Server) {
    let directory = directory();
    let port = || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap().port()
    };
    let (url, peer) = (
        format!("http://127.0.0.1:{}", port()),
        format!("http://127.0.0.1:{}", port()),
    );
    let child = Command::new(program())
        .arg("--data-dir")
        .arg(directory.path().join("data"))
        .args(["--logger=zap", "--quota-backend-bytes=8589934592"])
        .arg(format!("--listen-client-urls={url}"))
        .arg(format!("--advertise-client-urls={url}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=default={peer}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (url, Server { child, directory })
}

/// The etcd to measure: on PATH, or where `cargo xtask setup` puts it.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = std::env::var_os("KARAVEL_TOOLS").map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(tools)
        .map(|directory| directory.join("etcd"))
        .find(|program| program.is_file())
        .expect("etcd is neither on PATH nor in KARAVEL_TOOLS: run cargo xtask setup")
}

//! Lifecycles as a client sees them: every file under `scenarios` is run against a member in virtual time.
//!
//! A scenario is a YAML document:
//!
//! ```yaml
//! claim: a sentence
//! member: {nodes: 2, cpu: "4", memory: 8Gi, pods: 10}      # as far as it matters
//! steps:
//!   - apply: {kind: …}                                      # one object or a list; namespace default unless given
//!   - after: 5s                                             # time goes by
//!   - patch: {what: deployments/web, merge: {…}}            # and `part: status` for a part of an object; `refused: …`
//!   - delete: {what: pods/web-0, grace: 0, propagation: Foreground}
//!   - call: {post: /api/v1/…, body: {…}, code: 201}         # any other request
//!   - fault: {lostNodes: [m-node-1]}                        # on top of what is wrong already
//!   - restart: keep                                         # or lose
//!   - see: {what: deployments/web, has: {status: {…}}}      # fields of an object; or `gone: true`
//!   - count: {of: pods, where: {status: {…}}, is: 3}
//!   - event: {about: web, reason: ScalingReplicaSet, message: …, from: deployment-controller, count: 1}
//! trace:
//!   - of: pods
//!     show: [status.phase, Ready]                           # paths, or names of conditions
//!     lines: [+0s web-<1> Pending -, …]                     # whenever what is shown changes
//! ```
//!
//! What servers make up is symbolic: `<1>`, `<2>` stand for generated suffixes in the order they appear in a trace. The
//! lines of one second are sorted. `has` and `where` match if the object has at least these fields; lists match item by
//! item, and an item with a `type` or `name` is looked up by it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cluster;
mod matching;
mod run;
mod trace;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn every_scenario_goes_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    files.retain(|file| name_of(file).contains(&only));
    // Each has a clock of its own, so they are played side by side.
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let play = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let text = std::fs::read_to_string(file).unwrap();
            if let Err(why) = run::run(&text) {
                let failure = format!("{}: {why}", name_of(file));
                failures.lock().unwrap().push(failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(play);
        }
    });
    let (failures, count) = (failures.into_inner().unwrap(), files.len());
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(count >= 40 || !only.is_empty(), "only {count} scenarios");
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

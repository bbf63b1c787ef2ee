//! The flight recorder: why the last decisions about each binding were made, also after a restart.
//!
//! `karavel explain` reads it. Decisions are handed over without waiting; one task writes them down, and hurries when
//! somebody asks: who has seen a decision carried out finds it here. A decision is kept
//! as a line of JSON: when, about what, why it was made, what came of it, and, as far as the budget reaches, its whole
//! diagnosis. That is packed: a few bytes for each cluster, with numbers for names, and stays so until somebody asks.
//!
//! On disk are two files, the newer and the older, each of bounded size; when the newer is full it becomes the older. A
//! line with the names of all clusters comes before the first diagnosis that needs it, anew in each file.
//! Lines are written within a second or so and not synced: a crash of the machine may cost the last of them, and an
//! unfinished last line is passed over when reading.

mod file;
mod record;
mod rings;
#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use object::{ObjectKey, time::Time};
use runtime::{CancellationToken, Spawner};
use schedule::{Diagnosis, Outcome, TargetsText};
use telemetry::chain;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::Instant,
};
use tracing::warn;

pub use self::{
    file::{FileError, read},
    record::Record,
    rings::KEPT,
};
use self::{record::Packed, rings::Rings};

/// How many clusters a diagnosis may have before it counts for more than one in the budget.
const CLUSTERS: usize = 100;

/// How many decisions wait to be written down; further ones are dropped and counted.
const WAITING: usize = 4096;

/// How often what waits is written to the file.
const FLUSH: Duration = Duration::from_secs(1);

/// How many are written down before others have their turn on the processor.
const IN_A_ROW: usize = 16;

/// How many targets the line about an outcome names.
const NAMED: usize = 32;

/// How much may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderSettings {
    /// Where the files are; `None` keeps decisions in memory alone.
    pub directory: Option<PathBuf>,
    /// How large each of the two files may become.
    pub file_bytes: u64,
    /// How many bindings are remembered; the one that was not decided for longest goes first.
    pub bindings: usize,
    /// How many whole diagnoses are written down in a second; one about more than a hundred clusters counts for more.
    pub diagnoses_per_second: u32,
}

impl Default for RecorderSettings {
    fn default() -> Self {
        Self {
            directory: None,
            file_bytes: 32 << 20,
            bindings: 20_000,
            diagnoses_per_second: 500,
        }
    }
}

/// Takes decisions and gives them back; clones are the same recorder.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    sender: mpsc::Sender<Handed>,
}

struct Shared {
    settings: RecorderSettings,
    rings: Mutex<Rings>,
    budget: Mutex<Budget>,
    dropped: AtomicU64,
    /// Somebody waits for what was handed over.
    hurry: Notify,
}

/// What the task that writes down is handed, in order.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are decisions, and a box would be one more allocation for each"
)]
enum Handed {
    Decision(Made),
    /// Somebody who wants to be told when all that came before is written down.
    Asked(oneshot::Sender<()>),
}

/// A decision as it is handed over.
struct Made {
    record: Record,
    /// Nothing of it is text yet; `None` if the budget does not reach for it.
    diagnosis: Option<Diagnosis>,
}

impl Recorder {
    /// Starts a recorder that remembers what an earlier one wrote down.
    pub fn start(settings: RecorderSettings, spawner: &Spawner) -> Result<Self, FileError> {
        let mut rings = Rings::default();
        if let Some(directory) = &settings.directory {
            file::read_all(directory, |record| {
                rings.put(Arc::new(record), settings.bindings);
            })?;
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared {
            budget: Mutex::new(Budget::new(settings.diagnoses_per_second)),
            settings,
            rings: Mutex::new(rings),
            dropped: AtomicU64::new(0),
            hurry: Notify::new(),
        });
        let writer = Arc::clone(&shared);
        spawner.spawn("flight recorder", |stop| write_down(writer, receiver, stop));
        Ok(Self { shared, sender })
    }

    /// Hands a decision over. Never waits: if too many are waiting, this one is dropped and counted.
    ///
    /// What waits is bounded by the budget: a diagnosis of thousands of clusters is large before it is packed.
    pub fn record(
        &self,
        at: Time,
        uid: &str,
        trigger: &'static str,
        attempt: u32,
        refused: Option<String>,
        diagnosis: Diagnosis,
    ) {
        let made = Made {
            record: Record {
                at: Some(at),
                binding: diagnosis.binding().to_owned(),
                uid: uid.to_owned(),
                trigger: trigger.to_owned(),
                attempt,
                outcome: outcome(diagnosis.outcome(), refused.as_deref()),
                again: 0,
                diagnosis: Packed::Absent,
            },
            diagnosis: Some(diagnosis)
                .filter(|diagnosis| lock(&self.shared.budget).take(diagnosis.clusters().len())),
        };
        if self.sender.try_send(Handed::Decision(made)).is_err() {
            self.shared.dropped.fetch_add(1, Relaxed);
        }
    }

    /// The last decisions about a binding, the newest first; those among them that were only just handed over.
    pub async fn last(&self, binding: &ObjectKey) -> Vec<Arc<Record>> {
        let (tell, told) = oneshot::channel();
        self.shared.hurry.notify_one();
        if self.sender.send(Handed::Asked(tell)).await.is_ok() {
            // An error means that the recorder has stopped: what is written down is all there will be.
            _ = told.await;
        }
        lock(&self.shared.rings).last(&binding.to_string())
    }

    /// How many decisions were dropped because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }
}

/// Rings and budgets are changed by plain code that does not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What came of a decision, in a line: it may have been refused when it was to be written.
fn outcome(outcome: &Outcome, refused: Option<&str>) -> String {
    let decided = match outcome {
        Outcome::Placed(targets) => match targets.split_at_checked(NAMED) {
            Some((named, others)) if !others.is_empty() => {
                format!("{} and {} more", TargetsText(named), others.len())
            }
            _ => TargetsText(targets).to_string(),
        },
        Outcome::Refused(refusal) => format!("{}: {refusal}", refusal.reason()),
    };
    match refused {
        None => decided,
        Some(reason) => format!("not taken: {reason}; it would have been {decided}"),
    }
}

/// Writes decisions down until it is told to stop; then what waits is still written.
async fn write_down(
    shared: Arc<Shared>,
    mut handed: mpsc::Receiver<Handed>,
    stop: CancellationToken,
) {
    let mut log = file::Log::new(
        shared.settings.directory.clone(),
        shared.settings.file_bytes,
    );
    let mut batch = Vec::new();
    loop {
        let is_over = tokio::select! {
            biased;
            () = stop.cancelled() => true,
            count = handed.recv_many(&mut batch, WAITING) => count == 0,
        };
        while let Ok(more) = handed.try_recv() {
            batch.push(more);
        }
        for (number, handed) in batch.drain(..).enumerate() {
            let made = match handed {
                Handed::Decision(made) => made,
                Handed::Asked(tell) => {
                    // Who asked may have gone away.
                    _ = tell.send(());
                    continue;
                }
            };
            let record = Arc::new(made.into_record(&mut log));
            log.push(&record);
            lock(&shared.rings).put(record, shared.settings.bindings);
            if number % IN_A_ROW == IN_A_ROW - 1 {
                tokio::task::yield_now().await;
            }
        }
        if let Err(problem) = log.flush() {
            warn!(error = %chain(&problem), "decisions cannot be written down");
        }
        if is_over {
            // Without the token nobody hands decisions over any more only when the scheduler is gone.
            stop.cancelled().await;
            return;
        }
        // Whoever waits a little writes more at once.
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = shared.hurry.notified() => {}
            () = tokio::time::sleep(FLUSH) => {}
        }
    }
}

impl Made {
    fn into_record(self, log: &mut file::Log) -> Record {
        let Self {
            mut record,
            diagnosis,
        } = self;
        if let Some(diagnosis) = diagnosis {
            let names = log.names(diagnosis.clusters().names());
            let text = diagnosis.to_packed().to_string().into();
            record.diagnosis = Packed::Here { text, names };
        }
        record
    }
}

/// So many in a second, and none saved up.
#[derive(Debug)]
struct Budget {
    each_second: u32,
    left: u32,
    since: Instant,
}

impl Budget {
    fn new(each_second: u32) -> Self {
        Self {
            each_second,
            left: each_second,
            since: Instant::now(),
        }
    }

    /// Takes one about so many clusters; one about many costs as much as several.
    fn take(&mut self, clusters: usize) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            self.since = Instant::now();
            self.left = self.each_second;
        }
        let is_left = self.left > 0;
        let cost = u32::try_from(clusters / CLUSTERS).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(cost.max(1));
        is_left
    }
}

//! The flight recorder: why the last decisions about each binding were made, also after a restart.
//!
//! `karavel explain` reads it. Decisions are handed over without waiting; one task writes them down. A decision is kept
//! as a line of JSON: when, about what, why it was made, what came of it, and, as far as the budget reaches, its whole
//! diagnosis. Writing a diagnosis costs more than making the decision, so in a flood most are kept without.
//!
//! On disk are two files, the newer and the older, each of bounded size; when the newer is full it becomes the older.
//! Lines are written within a second or so and not synced: a crash of the machine may cost the last of them, and an
//! unfinished last line is passed over when reading.

mod file;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use object::{Map, ObjectKey, Value, time::Time};
use runtime::{CancellationToken, Spawner};
use schedule::{Diagnosis, Outcome, TargetsText};
use telemetry::chain;
use tokio::{sync::mpsc, time::Instant};
use tracing::warn;

pub use self::file::{FileError, read};

/// How many decisions about one binding are kept.
pub const KEPT: usize = 8;

/// How many clusters a diagnosis may have before it counts for more than one in the budget.
const CLUSTERS: usize = 100;

/// How much of all diagnoses is kept in memory, in values of JSON, which take about a hundred bytes each. The binding that
/// was not decided for longest is forgotten first; the files have more.
const MOST_VALUES: usize = 400_000;

/// How many decisions wait to be written down; further ones are dropped and counted.
const WAITING: usize = 4096;

/// How often what waits is written to the file.
const FLUSH: Duration = Duration::from_secs(1);

/// One decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// When it was made.
    pub at: Option<Time>,
    /// About which binding: `namespace/name`, or `name` for cluster-wide ones.
    pub binding: String,
    /// Why one was needed.
    pub trigger: String,
    /// The how-many-eth attempt in a row it was.
    pub attempt: u32,
    /// What came of it, in a line.
    pub outcome: String,
    /// Everything that led there; null if the budget did not reach for it.
    pub diagnosis: Value,
}

impl Record {
    /// The record as a line of the file has it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        if let Some(at) = self.at {
            fields.insert("at".to_owned(), Value::from(at.to_string()));
        }
        let texts = [
            ("binding", &self.binding),
            ("trigger", &self.trigger),
            ("outcome", &self.outcome),
        ];
        for (name, text) in texts {
            fields.insert(name.to_owned(), Value::from(text.as_str()));
        }
        fields.insert("attempt".to_owned(), Value::from(self.attempt));
        if !self.diagnosis.is_null() {
            fields.insert("diagnosis".to_owned(), self.diagnosis.clone());
        }
        Value::Object(fields)
    }

    /// The record in a line; `None` if it names no binding.
    #[must_use]
    pub fn from_value(value: Value) -> Option<Self> {
        let Value::Object(mut fields) = value else {
            return None;
        };
        let text = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str);
            text.map(str::to_owned)
        };
        let attempt = fields.get("attempt").and_then(Value::as_u64);
        Some(Self {
            at: text("at").and_then(|at| at.parse().ok()),
            binding: text("binding")?,
            trigger: text("trigger").unwrap_or_default(),
            attempt: attempt
                .and_then(|attempt| u32::try_from(attempt).ok())
                .unwrap_or(0),
            outcome: text("outcome").unwrap_or_default(),
            diagnosis: fields.shift_remove("diagnosis").unwrap_or_default(),
        })
    }
}

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
            diagnoses_per_second: 200,
        }
    }
}

/// Takes decisions and gives them back; clones are the same recorder.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    sender: mpsc::Sender<Made>,
}

struct Shared {
    settings: RecorderSettings,
    rings: Mutex<Rings>,
    dropped: AtomicU64,
}

/// A decision as it is handed over: nothing of it is text yet.
struct Made {
    at: Time,
    trigger: &'static str,
    attempt: u32,
    diagnosis: Diagnosis,
}

/// The last decisions about each binding.
#[derive(Debug, Default)]
struct Rings {
    by_binding: HashMap<Arc<str>, Ring>,
    /// By the number of the last decision, so that the binding longest untouched is found at once.
    by_age: BTreeMap<u64, Arc<str>>,
    count: u64,
    /// How many values of JSON all records have together.
    values: usize,
}

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    values: usize,
    records: VecDeque<Arc<Record>>,
}

impl Recorder {
    /// Starts a recorder that remembers what an earlier one wrote down.
    pub fn start(settings: RecorderSettings, spawner: &Spawner) -> Result<Self, FileError> {
        let mut rings = Rings::default();
        if let Some(directory) = &settings.directory {
            for record in file::read_all(directory)? {
                rings.put(Arc::new(record), settings.bindings);
            }
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared {
            settings,
            rings: Mutex::new(rings),
            dropped: AtomicU64::new(0),
        });
        let writer = Arc::clone(&shared);
        spawner.spawn("flight recorder", |stop| write_down(writer, receiver, stop));
        Ok(Self { shared, sender })
    }

    /// Hands a decision over. Never waits: if too many are waiting, this one is dropped and counted.
    pub fn record(&self, at: Time, trigger: &'static str, attempt: u32, diagnosis: Diagnosis) {
        let made = Made {
            at,
            trigger,
            attempt,
            diagnosis,
        };
        if self.sender.try_send(made).is_err() {
            self.shared.dropped.fetch_add(1, Relaxed);
        }
    }

    /// The last decisions about a binding, the newest first.
    #[must_use]
    pub fn last(&self, binding: &ObjectKey) -> Vec<Arc<Record>> {
        let rings = self.shared.lock();
        let ring = rings.by_binding.get(binding.to_string().as_str());
        ring.into_iter()
            .flat_map(|ring| ring.records.iter().rev().cloned())
            .collect()
    }

    /// How many decisions were dropped because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Rings> {
        // Rings are changed by plain code that does not panic.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rings {
    fn put(&mut self, record: Arc<Record>, most: usize) {
        self.count += 1;
        let key: Arc<str> = record.binding.as_str().into();
        let ring = self.by_binding.entry(Arc::clone(&key)).or_default();
        self.by_age.remove(&ring.last);
        ring.last = self.count;
        self.by_age.insert(self.count, key);
        let values = values(&record.diagnosis);
        ring.values += values;
        self.values += values;
        ring.records.push_back(record);
        if ring.records.len() > KEPT
            && let Some(old) = ring.records.pop_front()
        {
            let values = self::values(&old.diagnosis);
            ring.values = ring.values.saturating_sub(values);
            self.values = self.values.saturating_sub(values);
        }
        while self.by_binding.len() > most || self.values > MOST_VALUES {
            let Some((_, oldest)) = self.by_age.pop_first() else {
                return;
            };
            if let Some(gone) = self.by_binding.remove(&oldest) {
                self.values = self.values.saturating_sub(gone.values);
            }
        }
    }
}

/// How many values there are in a value, itself included.
fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// Writes decisions down until it is told to stop; then what waits is still written.
async fn write_down(shared: Arc<Shared>, mut made: mpsc::Receiver<Made>, stop: CancellationToken) {
    let mut log = file::Log::new(
        shared.settings.directory.clone(),
        shared.settings.file_bytes,
    );
    let mut budget = Budget::new(shared.settings.diagnoses_per_second);
    let mut batch = Vec::new();
    loop {
        let is_over = tokio::select! {
            biased;
            () = stop.cancelled() => true,
            count = made.recv_many(&mut batch, WAITING) => count == 0,
        };
        while let Ok(more) = made.try_recv() {
            batch.push(more);
        }
        for made in batch.drain(..) {
            let has_budget = budget.take(made.diagnosis.clusters().len());
            let record = Arc::new(made.into_record(has_budget));
            log.push(&record);
            shared.lock().put(record, shared.settings.bindings);
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
            () = tokio::time::sleep(FLUSH) => {}
        }
    }
}

impl Made {
    fn into_record(self, has_budget: bool) -> Record {
        let outcome = match self.diagnosis.outcome() {
            Outcome::Placed(targets) => TargetsText(targets).to_string(),
            Outcome::Refused(refusal) => format!("{}: {refusal}", refusal.reason()),
        };
        Record {
            at: Some(self.at),
            binding: self.diagnosis.binding().to_owned(),
            trigger: self.trigger.to_owned(),
            attempt: self.attempt,
            outcome,
            diagnosis: if has_budget {
                self.diagnosis.to_value()
            } else {
                Value::Null
            },
        }
    }
}

/// So many in a second, and none saved up.
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

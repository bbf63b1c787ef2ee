//! What every role that keeps running does: log, run on threads, stop when told to.

use std::time::Duration;

use cli::Failure;
use runtime::{Outcome, Tasks};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::arguments::LogFormat;
use crate::print;

/// How long parts may take to end.
const GRACE: Duration = Duration::from_secs(20);

/// What a shell says of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// What never says more than our own log: failed calls are logged by whoever made them.
const SILENT: &str = "kube_client=off";

/// Starts logging.
pub(crate) fn log(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let format = match format {
        LogFormat::Text => telemetry::LogFormat::Text,
        LogFormat::Json => telemetry::LogFormat::Json,
    };
    telemetry::start_logging(&format!("{SILENT},{filter}"), format)
        .map_err(|error| Failure::refused(error.to_string(), "leave --log out to log what matters"))
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        runtime::keep_listening().map_err(|error| no_threads(&error))?;
        Ok(future.await)
    })
}

/// The threads that everything runs on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(access::turns::threads())
        .enable_all()
        .build();
    runtime.map_err(|error| no_threads(&error))
}

fn no_threads(error: &std::io::Error) -> Failure {
    Failure::failed(
        format!("cannot start threads: {error}"),
        "check the limits on processes and memory",
    )
}

/// Starts what runs as tasks, lets them run until the process is told to stop, and stops them. What the start returns is
/// held all the while.
pub(crate) async fn run<T>(
    start: impl AsyncFnOnce(&mut Tasks) -> Result<T, Failure>,
) -> Result<(), Failure> {
    allow_many_files();
    // Listened to from the beginning, so that nothing that is said on the way up is lost.
    let (mut stop, mut impatient) = (Stop::listen()?, listen(SignalKind::interrupt())?);
    let mut tasks = Tasks::new();
    let started = tokio::select! {
        biased;
        () = stop.told() => None,
        started = start(&mut tasks) => Some(started?),
    };
    if started.is_none() {
        print("stopped on the way up; the same command goes on where it was\n")?;
        return end(tasks.run_until(std::future::ready(()), GRACE).await);
    }
    let twice = async {
        impatient.recv().await;
        impatient.recv().await;
    };
    tokio::select! {
        outcome = tasks.run_until(stop.told(), GRACE) => end(outcome),
        () = twice => Err(Failure::Ended {
            what: "stopped at once; what was acknowledged is safe".to_owned(),
            code: INTERRUPTED,
        }),
    }
}

/// Takes as many open files as the process may have: shells allow few at first, and every member needs some.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "no more open files than the shell allows");
    }
}

/// What tells the process to stop.
struct Stop {
    interrupted: Signal,
    terminated: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        Ok(Self {
            interrupted: listen(SignalKind::interrupt())?,
            terminated: listen(SignalKind::terminate())?,
        })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure::failed(
            format!("cannot listen to signals: {error}"),
            "check the limits on open files",
        )
    })
}

fn end(outcome: Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::Clean => Ok(()),
        Outcome::Unasked { task, panic } => {
            let why = panic.map(|text| format!(": {text}")).unwrap_or_default();
            Err(Failure::failed(
                format!("the {task} ended unexpectedly{why}"),
                "see the log, then start it again",
            ))
        }
        Outcome::Late { tasks } => Err(Failure::failed(
            format!("{} did not end in time", tasks.join(", ")),
            "what was acknowledged is safe; start it again",
        )),
    }
}

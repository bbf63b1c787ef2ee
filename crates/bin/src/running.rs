//! What every role that keeps running does: log, run on threads, stop when told to.

use std::time::Duration;

use cli::Failure;
use runtime::{Outcome, Tasks};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::LogFormat;

/// How long parts may take to end.
const GRACE: Duration = Duration::from_secs(20);

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

/// Lets tasks run until the process is told to stop, and stops them.
pub(crate) async fn run(tasks: Tasks) -> Result<(), Failure> {
    match tasks.run_until(told_to_stop(), GRACE).await {
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

async fn told_to_stop() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

//! The role `server`.

use std::io::Write;
use std::time::Duration;

use apiserver::{ApiServer, Options, StartError};
use cli::Failure;
use runtime::{Outcome, Tasks};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{LogFormat, Server};
use crate::storage::storage;

/// How long parts may take to end.
const GRACE: Duration = Duration::from_secs(20);

/// Runs until it is told to stop.
pub(crate) fn run(arguments: Server) -> Result<(), Failure> {
    let format = match arguments.log_format {
        LogFormat::Text => telemetry::LogFormat::Text,
        LogFormat::Json => telemetry::LogFormat::Json,
    };
    telemetry::start_logging(&arguments.log, format).map_err(|error| {
        Failure::refused(error.to_string(), "leave --log out to log what matters")
    })?;
    block_on(serve(arguments))?
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::failed(
            format!("cannot start threads: {error}"),
            "check the limits on processes and memory",
        )
    })?;
    Ok(runtime.block_on(future))
}

async fn serve(arguments: Server) -> Result<(), Failure> {
    let options = Options {
        storage: storage(&arguments.storage)?,
        data_dir: arguments.data_dir,
        listen: arguments.listen,
        names: arguments.names,
    };
    let server = ApiServer::start(options)
        .await
        .map_err(|error| refuse(&error))?;
    let (address, kubeconfig) = (server.address(), server.kubeconfig().display().to_string());
    let mut tasks = Tasks::new();
    server
        .run(&mut tasks)
        .await
        .map_err(|error| refuse(&error))?;
    let ready = format!(
        "karavel is ready on https://{address}\n\n  export KUBECONFIG={kubeconfig}\n  kubectl get namespaces\n  kubectl api-resources\n\nCtrl-C stops it.\n"
    );
    drop(std::io::stdout().write_all(ready.as_bytes()));
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

fn refuse(error: &StartError) -> Failure {
    let hint = match error {
        StartError::Directory { .. } => "choose a directory you own with --data-dir",
        StartError::Listen(_) => "choose another address with --listen",
        StartError::Etcd(_) => "check --etcd-servers and that etcd is up",
        StartError::Store(apiserver::StoreError::Locked { .. }) => {
            "stop the other server first, or choose another --data-dir"
        }
        StartError::Store(_) | StartError::Objects(_) => {
            "restore a backup into a new directory, or choose another --data-dir"
        }
        StartError::Authority(_) | StartError::Identity(_) => {
            "restore the files under pki in the data directory"
        }
    };
    Failure::refused(telemetry::chain(error).to_string(), hint)
}

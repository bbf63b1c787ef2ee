//! The role `estimator`: answers schedulers how much fits into one member.

use std::net::SocketAddr;

use cli::{Failure, Reach};
use client::{Client, KubeconfigSource};
use estimator::{Ledger, Port, Serving, Tls, serve, serve_probes};
use runtime::{Clock, Tasks};

use crate::arguments::Estimator;
use crate::{memory, running, scheduling};

/// Runs until it is told to stop.
pub(crate) fn run(reach: &Reach, typed: Estimator) -> Result<(), Failure> {
    running::log(&typed.logging.log, typed.logging.log_format)?;
    running::block_on(running::run(async |tasks: &mut Tasks| {
        answer(reach, typed, tasks).await
    }))?
}

async fn answer(reach: &Reach, typed: Estimator, tasks: &mut Tasks) -> Result<(), Failure> {
    if typed.cluster_name.is_empty() {
        return Err(Failure::refused(
            "the member's name is empty",
            "give the name it has in the control plane with --cluster-name",
        ));
    }
    let tls = tls(&typed)?;
    let gates = scheduling::gates(typed.feature_gates.as_deref())?;
    let source = match &reach.kubeconfig {
        Some(path) => KubeconfigSource::File {
            path: path.clone(),
            context: typed.context.clone(),
        },
        None => KubeconfigSource::Environment {
            context: typed.context.clone(),
        },
    };
    let client = Client::from_kubeconfig(&source).await.map_err(|error| {
        let what = telemetry::chain(&error).to_string();
        Failure::refused(what, "name the member's kubeconfig with --kubeconfig")
    })?;
    let client = client.named("karavel-estimator");
    let address = SocketAddr::new(typed.bind_address, typed.server_port);
    let port = bind(address, "--server-port").await?;
    let spawner = tasks.spawner();
    let settings = scheduling::ledgers(&gates);
    let clock = Clock::system();
    let ledger = Ledger::start(&typed.cluster_name, settings, client, clock, &spawner);
    serve(ledger.clone(), port, &Serving { tls }, &spawner).map_err(|error| {
        let what = telemetry::chain(&error).to_string();
        Failure::refused(what, "correct the files that --grpc-auth-* name")
    })?;
    let metrics = typed.metrics_bind_address.0;
    let health = typed
        .health_probe_bind_address
        .0
        .filter(|address| metrics != Some(*address));
    for (address, flag) in [
        (metrics, "--metrics-bind-address"),
        (health, "--health-probe-bind-address"),
    ] {
        if let Some(address) = address {
            serve_probes(ledger.clone(), bind(address, flag).await?, &spawner);
        }
    }
    memory::give_back(tasks);
    Ok(())
}

async fn bind(address: SocketAddr, flag: &str) -> Result<Port, Failure> {
    Port::bind(address).await.map_err(|error| {
        let what = telemetry::chain(&error).to_string();
        Failure::refused(what, format!("choose another address with {flag}"))
    })
}

fn tls(typed: &Estimator) -> Result<Option<Tls>, Failure> {
    let (Some(certificate), Some(key)) = (&typed.grpc_auth_cert_file, &typed.grpc_auth_key_file)
    else {
        return Ok(None);
    };
    let authority = typed.grpc_client_ca_file.as_ref();
    let authority = authority.filter(|_| !typed.insecure_skip_grpc_client_verify);
    let authority = authority.map(|file| scheduling::read("--grpc-client-ca-file", file));
    Ok(Some(Tls {
        certificate: scheduling::read("--grpc-auth-cert-file", certificate)?,
        key: scheduling::read("--grpc-auth-key-file", key)?,
        client_authority: authority.transpose()?,
    }))
}

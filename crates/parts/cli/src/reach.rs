//! Finding the control plane, and saying what went wrong on the way in words of the command line.

use std::path::PathBuf;

use client::{Address, CallError, Client, ConfigError, KubeconfigSource};
use telemetry::chain;

use crate::failure::Failure;

/// Which control plane a command is for.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The kubeconfig; what the environment names if absent.
    pub kubeconfig: Option<PathBuf>,
    /// One of its contexts; its current one if absent.
    pub context: Option<String>,
}

impl Reach {
    /// A client for it.
    pub async fn connect(&self) -> Result<Client, Failure> {
        let connected = Client::from_kubeconfig(&self.source()).await;
        Ok(connected
            .map_err(|error| unusable(&error))?
            .named("karavel"))
    }

    /// Where it is.
    pub async fn address(&self) -> Result<Address, Failure> {
        let address = self.source().address().await;
        address.map_err(|error| unusable(&error))
    }

    fn source(&self) -> KubeconfigSource {
        let context = self.context.clone();
        match self.kubeconfig.clone() {
            Some(path) => KubeconfigSource::File { path, context },
            None => KubeconfigSource::Environment { context },
        }
    }
}

fn unusable(error: &ConfigError) -> Failure {
    Failure::refused(
        chain(error).to_string(),
        "name the control plane's kubeconfig with --kubeconfig or KUBECONFIG; `karavel up` and `karavel server` write one into the data directory",
    )
}

/// A call that failed, as the end of a command. Refusals read as kubectl's do.
#[must_use]
pub fn call_failure(error: &CallError) -> Failure {
    let Some(refusal) = error.refusal() else {
        return Failure::failed(
            chain(error).to_string(),
            "check that the server runs and that the address in the kubeconfig is right",
        );
    };
    let what = format!("from server ({}): {}", refusal.reason, refusal.message);
    let hint = match refusal.code {
        401 => "the server does not know this user: check the kubeconfig's credentials",
        403 => {
            "ask an administrator for a role that allows it; `kubectl auth can-i --list` shows what is allowed"
        }
        404 => "check the name, the namespace and the context",
        409 => "somebody changed it meanwhile: look again and repeat",
        422 => "correct the named fields and repeat",
        429 | 503 => "the server is busy: repeat a little later",
        _ => return Failure::failed(what, "see the server's log"),
    };
    Failure::refused(what, hint)
}

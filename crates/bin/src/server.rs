//! The role `server`: the control plane alone.

use apiserver::{Options, Storage};
use assembly::plane::{self, Settings};
use cli::Failure;
use controllers::Enabled;
use runtime::Tasks;

use crate::arguments::Server;
use crate::directory::{self, Beside, DataDirectory, Purpose};
use crate::security::security;
use crate::storage::storage;
use crate::{care, memory, preflight, print, running, scheduling, terminal};

/// Runs until it is told to stop.
pub(crate) fn run(typed: Server) -> Result<(), Failure> {
    running::log(&typed.logging.log, typed.logging.log_format)?;
    running::block_on(running::run(async |tasks: &mut Tasks| {
        serve(typed, tasks).await
    }))?
}

/// Starts everything, and returns what has to be held while it runs.
async fn serve(typed: Server, tasks: &mut Tasks) -> Result<Option<DataDirectory>, Failure> {
    let enabled = Enabled::parse(&typed.controllers.join(","))
        .map_err(|error| Failure::refused(error.to_string(), "correct --controllers"))?;
    let approve_agents = enabled.is_on("agentcsrapproving");
    let mut settings = Settings::enabling(enabled);
    scheduling::settle(&typed.scheduling, &mut settings)?;
    care::settle(&typed.care, &mut settings)?;
    let storage = storage(&typed.storage)?;
    let security = apiserver::Security {
        approve_agents,
        ..security(typed.security)?
    };
    // Servers that share an etcd may share keys too; what one of them has alone is its own.
    let (purpose, beside) = (Purpose::ControlPlane, Beside::Preparations);
    let addresses = [("the control plane".to_owned(), typed.listen)];
    let held = match &storage {
        Storage::Embedded => {
            let taken = preflight::take(&typed.data_dir, purpose, beside, &addresses);
            Some(taken?)
        }
        _ => {
            preflight::check_addresses(&addresses)?;
            directory::share(&typed.data_dir, purpose)?;
            None
        }
    };
    let options = Options {
        storage,
        data_dir: typed.data_dir,
        listen: typed.listen,
        names: typed.names,
        security,
    };
    let shared = matches!(options.storage, Storage::Etcd { .. });
    let plane = plane::start(options, tasks).await?;
    let (address, kubeconfig) = (plane.address, plane.kubeconfig.clone());
    let kubeconfig = terminal::word(&kubeconfig);
    if shared {
        plane.stand(settings);
    } else {
        plane.begin(&settings)?;
    }
    print(&format!(
        "karavel is ready on https://{address}\n\n  export KUBECONFIG={kubeconfig}\n  kubectl get namespaces\n  karavel join NAME --cluster-kubeconfig FILE\n\nCtrl-C stops it.\n"
    ))?;
    memory::give_back(tasks);
    Ok(held)
}

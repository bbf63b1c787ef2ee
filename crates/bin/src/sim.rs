//! The role `sim`: simulated members on sockets.

use cli::Failure;
use object::quantity::Quantity;
use runtime::Tasks;
use sim::{RunError, SimConfig};

use crate::arguments::Sim;
use crate::{print, running};

/// As many members as are named one by one when they are ready.
const NAMED: usize = 5;

/// Runs until it is told to stop.
pub(crate) fn run(typed: Sim) -> Result<(), Failure> {
    running::log(&typed.logging.log, typed.logging.log_format)?;
    running::block_on(async {
        let config = config(typed)?;
        let mut tasks = Tasks::new();
        let started = sim::run(&config, &mut tasks)
            .await
            .map_err(|error| refuse(&error))?;
        let mut text = String::new();
        for (member, address) in started.members.iter().take(NAMED) {
            text.push_str(&format!(
                "{} is ready on https://{address}\n",
                member.name()
            ));
        }
        if let Some(further) = started.members.len().checked_sub(NAMED).filter(|n| *n > 0) {
            text.push_str(&format!("and {further} more are ready\n"));
        }
        let kubeconfig = started.kubeconfig.display();
        text.push_str(&format!(
            "\n  export KUBECONFIG={kubeconfig}\n  kubectl get nodes\n\nCtrl-C stops it.\n"
        ));
        print(&text)?;
        running::run(tasks).await
    })?
}

fn config(typed: Sim) -> Result<SimConfig, Failure> {
    let quantity = |flag: &str, text: &str| {
        text.parse::<Quantity>()
            .ok()
            .filter(|quantity| quantity.signum() > 0)
            .ok_or_else(|| {
                Failure::refused(
                    format!("{flag}: {text:?} is no amount"),
                    "write a positive quantity such as 8, 500m or 16Gi",
                )
            })
    };
    Ok(SimConfig {
        cpu: quantity("--cpu", &typed.cpu)?,
        memory: quantity("--memory", &typed.memory)?,
        listen: typed.listen,
        names: typed.names,
        nodes: typed.nodes,
        pods: typed.pods,
        count: usize::from(typed.count),
        ..SimConfig::new(typed.name, typed.data_dir)
    })
}

/// Why simulated members do not start, and what to do about it.
pub(crate) fn refuse(error: &RunError) -> Failure {
    let hint = match error {
        RunError::Directory { .. } => "choose a directory you own with --data-dir",
        RunError::Name { .. } => "choose another --name",
        RunError::Ports { .. } => "choose a lower port with --listen, or port 0 for any",
        RunError::Serve { .. } => "choose another address with --listen, or port 0 for any",
        RunError::Open { .. } => {
            "choose another --data-dir; simulated members are easily begun anew"
        }
    };
    Failure::refused(telemetry::chain(error).to_string(), hint)
}

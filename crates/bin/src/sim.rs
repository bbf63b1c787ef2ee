//! The role `sim`: simulated members on sockets.

use std::path::Path;

use cli::{Failure, Reach};
use object::quantity::Quantity;
use runtime::Tasks;
use sim::behaviour::Rules;
use sim::{RunError, SimConfig};

use crate::arguments::{Sim, SimCommand};
use crate::directory::{Beside, DataDirectory, Purpose};
use crate::{fault, memory, preflight, print, running, terminal};

/// As many members as are named one by one when they are ready.
const NAMED: usize = 5;

/// Runs until it is told to stop, or does something to members that run.
pub(crate) fn run(reach: &Reach, typed: Sim) -> Result<(), Failure> {
    if let Some(SimCommand::Fault(fault)) = &typed.command {
        return fault::run(reach, fault);
    }
    running::log(&typed.logging.log, typed.logging.log_format)?;
    running::block_on(running::run(async |tasks: &mut Tasks| {
        start(typed, tasks).await
    }))?
}

/// Starts the members, and returns what has to be held while they run.
async fn start(typed: Sim, tasks: &mut Tasks) -> Result<DataDirectory, Failure> {
    let config = config(typed)?;
    let addresses = config.addresses().map_err(|error| refuse(&error))?;
    let (purpose, beside) = (Purpose::Members, Beside::Preparations);
    let held = preflight::take(&config.data_dir, purpose, beside, &addresses)?;
    let started = sim::run(&config, tasks)
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
    for moved in started.moved.iter().take(NAMED) {
        text.push_str(&format!(
            "\nPort {} of the last time is taken, so {} listens on {}. Whoever joined it looks for it on {}: free that \
             port and start again, or join it anew.\n",
            moved.from, moved.name, moved.to, moved.from
        ));
    }
    let kubeconfig = terminal::word(&started.kubeconfig);
    text.push_str(&format!(
        "\n  export KUBECONFIG={kubeconfig}\n  kubectl get nodes\n  karavel sim fault --help\n\nCtrl-C stops it.\n"
    ));
    print(&text)?;
    memory::give_back(tasks);
    Ok(held)
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
    let data_dir = typed.data_dir.ok_or_else(|| {
        Failure::refused(
            "there is no directory to keep members in",
            "choose one with --data-dir",
        )
    })?;
    Ok(SimConfig {
        rules: rules(typed.rules.as_deref())?,
        cpu: quantity("--cpu", &typed.cpu)?,
        memory: quantity("--memory", &typed.memory)?,
        listen: typed.listen,
        names: typed.names,
        nodes: typed.nodes,
        pods: typed.pods,
        count: usize::from(typed.count),
        ..SimConfig::new(typed.name, data_dir)
    })
}

/// The rules of a file; none without one.
fn rules(file: Option<&Path>) -> Result<Rules, Failure> {
    let Some(file) = file else {
        return Ok(Rules::default());
    };
    let refused = |why: String| {
        Failure::refused(
            format!("--rules {}: {why}", file.display()),
            r#"write a JSON list such as [{"namespace": "shop", "start-after": "3s"}]"#,
        )
    };
    let text = cli::read_text(file).map_err(|why| refused(why.to_string()))?;
    Rules::parse(&text).map_err(|error| refused(error.to_string()))
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
    let hint = assembly::trouble::hint(error).unwrap_or(hint);
    let what = telemetry::chain(error).to_string();
    match assembly::trouble::is_full(error) {
        true => Failure::failed(what, hint),
        false => Failure::refused(what, hint),
    }
}

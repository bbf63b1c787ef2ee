//! Measuring.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Measure a control plane.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) further: Option<BenchCommand>,
    /// The workloads to run: footprint, api, schedule, propagate, status, restart, scale, big; all if none is named.
    #[arg(value_name = "WORKLOAD", value_parser = workload)]
    pub(crate) workloads: Vec<String>,
    /// Measure servers and simulated members started for the purpose, each workload on new ones.
    #[arg(long = "self", conflicts_with_all = ["control", "members", "pids"])]
    pub(crate) own: bool,
    /// The kubeconfig of the control plane to measure, perhaps with a context behind a comma. It is left as it was.
    #[arg(long, value_name = "FILE[,CONTEXT]", required_unless_present_any = ["own", "list"])]
    pub(crate) control: Option<String>,
    /// The kubeconfig of one of its members, by name; may be given several times.
    #[arg(long, value_name = "NAME=FILE[,CONTEXT]")]
    pub(crate) members: Vec<String>,
    /// A process of the control plane on this machine, to be weighed; may be given several times.
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,
    /// How much of everything is done.
    #[arg(long, value_enum, default_value_t = BenchSize::Usual)]
    pub(crate) size: BenchSize,
    /// A file for the report, as a page if it ends in .html, else as JSON; may be given several times.
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    /// Further arguments for the servers that are started, such as --server-flag=--store=etcd.
    #[arg(
        long = "server-flag",
        value_name = "FLAG",
        requires = "own",
        allow_hyphen_values = true
    )]
    pub(crate) server_flags: Vec<String>,
    /// Say what workloads there are and end.
    #[arg(long)]
    pub(crate) list: bool,
}

/// What else can be done with figures.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Hold one report against another.
    ///
    /// Example: karavel bench compare before.json after.json
    Compare {
        /// The report to compare with.
        first: PathBuf,
        /// The report to be compared.
        second: PathBuf,
    },
}

/// How large a run is.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BenchSize {
    /// To see that everything works; its figures mean nothing.
    Trial,
    /// Everything within two minutes.
    Small,
    /// Enough for steady figures.
    Usual,
    /// Up to the sizes that are promised.
    Large,
}

/// The name of a workload; a wrong one is told before anything else is missed.
fn workload(text: &str) -> Result<String, String> {
    let known = bench::workloads(&[]).unwrap_or_default();
    let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    let near = cli::nearest(text, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean {near:?}? "));
    Err(format!("{near}there are {}", names.join(", ")))
}

//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A multi-cluster Kubernetes control plane in one binary.
#[derive(Debug, Parser)]
#[command(name = "karavel", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the control plane's API server.
    ///
    /// Example: karavel server --data-dir ./data
    Server(Server),
    /// Print the multi-cluster kinds as CustomResourceDefinitions.
    ///
    /// Example: karavel crds propagationpolicies
    Crds(Crds),
    /// Save everything a running server has into a file.
    ///
    /// Example: karavel backup today.karavel --kubeconfig ./data/kubeconfig
    Backup(Backup),
    /// Begin a new data directory from a backup.
    ///
    /// Example: karavel restore today.karavel --data-dir ./restored
    Restore(Restore),
    /// Print the version.
    Version,
}

/// Run the control plane's API server.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// Where everything is kept: objects, certificates, the kubeconfig.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Where to listen.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:5443"
    )]
    pub(crate) listen: SocketAddr,
    /// A further name or address clients reach the server under; may be given several times.
    #[arg(long = "tls-san", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// What to log, such as info or karavel=debug.
    #[arg(
        long,
        env = "KARAVEL_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub(crate) log: String,
    /// How log lines look.
    #[arg(
        long,
        env = "KARAVEL_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Print the multi-cluster kinds.
#[derive(Args, Debug)]
pub(crate) struct Crds {
    /// Only this one, by its plural or its full name.
    pub(crate) name: Option<String>,
    /// How to print them.
    #[arg(long, short, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Output,
}

/// How to print values.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Output {
    /// A stream of YAML documents.
    Yaml,
    /// One JSON list.
    Json,
}

impl From<Output> for cli::Format {
    fn from(output: Output) -> Self {
        match output {
            Output::Yaml => Self::Yaml,
            Output::Json => Self::Json,
        }
    }
}

/// Save everything a running server has.
#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// The file to write; it must not exist.
    pub(crate) file: PathBuf,
    /// The kubeconfig of the server, from its data directory.
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: PathBuf,
}

/// Begin a new data directory from a backup.
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The file to read.
    pub(crate) file: PathBuf,
    /// The data directory to begin; its store must be empty.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}

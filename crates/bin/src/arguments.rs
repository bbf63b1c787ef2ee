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
    Server(Box<Server>),
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
    #[command(flatten)]
    pub(crate) storage: Storage,
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

/// What keeps the objects.
#[derive(Args, Debug)]
pub(crate) struct Storage {
    /// What keeps the objects: the data directory, or an etcd that several servers share.
    #[arg(
        long,
        env = "KARAVEL_STORE",
        value_name = "STORE",
        default_value = "embedded"
    )]
    pub(crate) store: StoreKind,
    /// The client URLs of etcd's members, with commas in between.
    #[arg(
        long,
        env = "KARAVEL_ETCD_SERVERS",
        value_name = "URLS",
        value_delimiter = ','
    )]
    pub(crate) etcd_servers: Vec<String>,
    /// Where in etcd everything is kept.
    #[arg(
        long,
        env = "KARAVEL_ETCD_PREFIX",
        value_name = "PREFIX",
        default_value = "/karavel"
    )]
    pub(crate) etcd_prefix: String,
    /// The authority that signed etcd's certificates, as a PEM file.
    #[arg(long, env = "KARAVEL_ETCD_CAFILE", value_name = "FILE")]
    pub(crate) etcd_cafile: Option<PathBuf>,
    /// The certificate to show etcd, as a PEM file.
    #[arg(
        long,
        env = "KARAVEL_ETCD_CERTFILE",
        value_name = "FILE",
        requires = "etcd_keyfile"
    )]
    pub(crate) etcd_certfile: Option<PathBuf>,
    /// The key of that certificate, as a PEM file.
    #[arg(
        long,
        env = "KARAVEL_ETCD_KEYFILE",
        value_name = "FILE",
        requires = "etcd_certfile"
    )]
    pub(crate) etcd_keyfile: Option<PathBuf>,
    /// The user etcd knows this server as.
    #[arg(
        long,
        env = "KARAVEL_ETCD_USERNAME",
        value_name = "NAME",
        requires = "etcd_password_file"
    )]
    pub(crate) etcd_username: Option<String>,
    /// The file with that user's password.
    #[arg(
        long,
        env = "KARAVEL_ETCD_PASSWORD_FILE",
        value_name = "FILE",
        requires = "etcd_username"
    )]
    pub(crate) etcd_password_file: Option<PathBuf>,
    /// Compact etcd's history this often, in seconds; 0 leaves it to etcd.
    #[arg(
        long,
        env = "KARAVEL_ETCD_COMPACTION_SECONDS",
        value_name = "SECONDS",
        default_value_t = 300
    )]
    pub(crate) etcd_compaction_seconds: u64,
}

/// What keeps the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// The data directory.
    Embedded,
    /// An etcd.
    Etcd,
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

//! The roles that keep running.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Storage;

/// Run the control plane.
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
    /// Which controllers run, by name: `*` for all, `-name` for all but that one. `scheduler` is one of them.
    #[arg(
        long,
        env = "KARAVEL_CONTROLLERS",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub(crate) controllers: Vec<String>,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// Run the control plane and simulated members.
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// Where everything is kept; `.karavel` in the home directory if absent.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where to listen; members take the ports after it.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:5443"
    )]
    pub(crate) listen: SocketAddr,
    /// How many simulated members to run, named member1, member2 and so on.
    #[arg(
        long,
        env = "KARAVEL_MEMBERS",
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(0..=1000)
    )]
    pub(crate) members: u16,
    #[command(flatten)]
    pub(crate) logging: QuietLogging,
}

/// Run a simulated member.
#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// The member's name; of several, what comes before `-1`, `-2` and so on.
    #[arg(long, value_name = "NAME", default_value = "member1")]
    pub(crate) name: String,
    /// Where certificates, the kubeconfig and the objects of a single member are kept.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Where the first listens; the next ones take the ports after it.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:0"
    )]
    pub(crate) listen: SocketAddr,
    /// A further name or address clients reach it under; may be given several times.
    #[arg(long = "tls-san", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// How many nodes each member has.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) nodes: usize,
    /// How many processors each node has.
    #[arg(long, value_name = "QUANTITY", default_value = "8")]
    pub(crate) cpu: String,
    /// How much memory each node has.
    #[arg(long, value_name = "QUANTITY", default_value = "16Gi")]
    pub(crate) memory: String,
    /// How many pods each node takes.
    #[arg(long, value_name = "N", default_value_t = 110)]
    pub(crate) pods: u32,
    /// How many members to run. Several keep their objects in memory only.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=10_000)
    )]
    pub(crate) count: u16,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// What is logged, and how.
#[derive(Args, Debug)]
pub(crate) struct Logging {
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

/// What is logged, and how, for a role whose terminal is for people.
#[derive(Args, Debug)]
pub(crate) struct QuietLogging {
    /// What to log, such as info or karavel=debug.
    #[arg(
        long,
        env = "KARAVEL_LOG",
        value_name = "FILTER",
        default_value = "warn"
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

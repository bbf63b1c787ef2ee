//! Simulated members: running them, and staging trouble in those that run.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::server::Logging;

/// Run simulated members, or do something to those that run.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    pub(crate) command: Option<SimCommand>,
    /// The member's name; of several, what comes before `-1`, `-2` and so on.
    #[arg(long, value_name = "NAME", default_value = "member1")]
    pub(crate) name: String,
    /// Where certificates, the kubeconfig and the objects of a single member are kept.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR", required = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where the first listens; the next ones take the ports after it. Port 0 takes those of the last time, or any.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:0",
        value_parser = super::server::listen_address
    )]
    pub(crate) listen: SocketAddr,
    /// A further name or address clients reach it under; may be given several times.
    #[arg(long = "tls-san", value_name = "NAME", value_parser = super::server::server_name)]
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
    /// A JSON file of rules for how pods behave, such as [{"image": "nginx", "ready-after": "5s"}]. Annotations on pods,
    /// such as sim.karavel.io/crash-after, go before them.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// What can be done to simulated members that run.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Stage trouble in a running simulated member: cut it off, slow it down, lose its nodes, fail its pods.
    ///
    /// The member is found by its context in the kubeconfig that `karavel sim` or `karavel up` wrote; whoever may use
    /// that kubeconfig may do this. Faults are not kept: a restart of the member or of the process heals all of them.
    ///
    /// Example: karavel sim fault cut-off --member member2
    Fault(Fault),
}

/// Stage trouble.
#[derive(Args, Debug)]
pub(crate) struct Fault {
    /// Which member, by its context in the kubeconfig; the current one if absent. May be given several times.
    #[arg(
        short = 'm',
        long = "member",
        value_name = "NAME",
        value_delimiter = ',',
        global = true
    )]
    pub(crate) members: Vec<String>,
    #[command(subcommand)]
    pub(crate) trouble: Trouble,
}

/// What is to go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Trouble {
    /// Show what is wrong now.
    ///
    /// Example: karavel sim fault show --member member1
    Show,
    /// Cut the API off: calls get no answer, as from behind a broken network, and watches fall silent.
    ///
    /// Example: karavel sim fault cut-off --member member1
    CutOff,
    /// Let every call take longer, by so much as 500ms or 3s.
    ///
    /// Example: karavel sim fault slow 500ms --member member1
    Slow {
        /// How much longer, a minute at most.
        #[arg(value_name = "TIME")]
        by: String,
    },
    /// Answer a share of all calls with an internal error.
    ///
    /// Example: karavel sim fault fail 30% --member member1
    Fail {
        /// How many of a hundred, such as 30 or 30%.
        #[arg(value_name = "PERCENT")]
        share: String,
    },
    /// Silence the kubelets of nodes: the nodes become unreachable, and their pods are evicted in time.
    ///
    /// Example: karavel sim fault lose-node member1-node-1 --member member1
    LoseNode {
        /// The nodes.
        #[arg(required = true, value_name = "NODE")]
        nodes: Vec<String>,
    },
    /// Take all room of nodes: nothing more is placed on them.
    ///
    /// Example: karavel sim fault fill-node member1-node-1 --member member1
    FillNode {
        /// The nodes.
        #[arg(required = true, value_name = "NODE")]
        nodes: Vec<String>,
    },
    /// Have so many nodes more than the member was made with; 0 takes them away again.
    ///
    /// Example: karavel sim fault add-nodes 2 --member member1
    AddNodes {
        /// How many.
        #[arg(value_name = "N")]
        count: usize,
    },
    /// Let the pods of workloads crash as soon as they run.
    ///
    /// Example: karavel sim fault fail-pods shop/web --member member1
    FailPods {
        /// The workloads, such as web or shop/web: Deployments and whatever else controls pods, or pods.
        #[arg(required = true, value_name = "[NAMESPACE/]NAME")]
        workloads: Vec<String>,
    },
    /// Let nobody answer for API groups: they are announced as stale, and calls get 503.
    ///
    /// Example: karavel sim fault drop-group batch --member member1
    DropGroup {
        /// The groups, such as apps or batch.
        #[arg(required = true, value_name = "GROUP")]
        groups: Vec<String>,
    },
    /// Restart the member; connections end and all faults are healed.
    ///
    /// Example: karavel sim fault restart --lose-data --member member1
    Restart {
        /// Begin anew, without any object and as another cluster.
        #[arg(long)]
        lose_data: bool,
    },
    /// End all trouble, or one kind of it, or some of that kind.
    ///
    /// Example: karavel sim fault heal lose-node member1-node-1 --member member1
    Heal {
        /// What to end: cut-off, slow, fail, lose-node, fill-node, add-nodes, fail-pods or drop-group.
        #[arg(value_name = "FAULT", value_parser = HEALABLE)]
        fault: Option<String>,
        /// Which nodes, workloads or groups; all of them if absent.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// What can be healed one by one.
pub(crate) const HEALABLE: [&str; 8] = [
    "cut-off",
    "slow",
    "fail",
    "lose-node",
    "fill-node",
    "add-nodes",
    "fail-pods",
    "drop-group",
];

//! What can be typed.

mod clusters;
mod files;
mod reading;
mod server;
mod storage;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use clusters::{Cordon, Join, Taint, Unjoin};
pub(crate) use files::{Backup, Crds, Restore};
pub(crate) use reading::{Explain, Get};
pub(crate) use server::{LogFormat, Server, Sim, Up};
pub(crate) use storage::{Storage, StoreKind};

/// A multi-cluster Kubernetes control plane in one binary.
#[derive(Debug, Parser)]
#[command(name = "karavel", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which control plane a command is for.
#[derive(Args, Debug)]
pub(crate) struct Reach {
    /// The control plane's kubeconfig; KUBECONFIG or the file in the home directory if absent.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of that kubeconfig; its current one if absent.
    #[arg(long, value_name = "CONTEXT", global = true)]
    pub(crate) karmada_context: Option<String>,
}

impl From<Reach> for cli::Reach {
    fn from(typed: Reach) -> Self {
        Self {
            kubeconfig: typed.kubeconfig,
            context: typed.karmada_context,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process: the control plane and simulated members, already joined.
    ///
    /// Example: karavel up --members 3
    Up(Up),
    /// Run the control plane.
    ///
    /// Example: karavel server --data-dir ./data
    Server(Box<Server>),
    /// Run simulated Kubernetes clusters, for demonstrations, tests and benches.
    ///
    /// Example: karavel sim --name member1 --data-dir ./member1
    Sim(Sim),
    /// Join a cluster to the control plane.
    ///
    /// Example: karavel join member1 --cluster-kubeconfig ./member1/kubeconfig
    Join(Join),
    /// Let a joined cluster go.
    ///
    /// Example: karavel unjoin member1 --cluster-kubeconfig ./member1/kubeconfig
    Unjoin(Unjoin),
    /// Show all joined clusters: how they are, and how full.
    ///
    /// Example: karavel clusters
    Clusters,
    /// Keep new work away from a cluster.
    ///
    /// Example: karavel cordon member1
    Cordon(Cordon),
    /// Let new work into a cluster again.
    ///
    /// Example: karavel uncordon member1
    Uncordon(Cordon),
    /// Mark clusters so that only work that tolerates it goes there.
    ///
    /// Example: karavel taint clusters member1 gpu=yes:NoSchedule
    Taint(Taint),
    /// Show objects, in the control plane and in members.
    ///
    /// Example: karavel get clusters
    Get(Box<Get>),
    /// Explain where a template goes and what became of it there: policy, binding, works, status.
    ///
    /// What the scheduler weighed for its decision is not told: its records are in the server's data directory, which
    /// the API does not show.
    ///
    /// Example: karavel explain deployment/web
    Explain(Explain),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_the_contract_says_can_be_typed() {
        for line in [
            "up",
            "up --data-dir d --listen 127.0.0.1:6000 --members 2",
            "server --data-dir d --listen 127.0.0.1:0 --controllers *,-scheduler",
            "server --data-dir d --controllers -binding,-scheduler",
            "server --data-dir d --store etcd --etcd-servers http://127.0.0.1:2379",
            "sim --name m --data-dir d --listen 127.0.0.1:0 --nodes 2 --cpu 8 --memory 16Gi --pods 110",
            "sim --data-dir d --count 100",
            "join m --cluster-kubeconfig f --cluster-context c --kubeconfig k",
            "--karmada-context x join m --cluster-kubeconfig f",
            "unjoin m --wait 90s --force",
            "taint clusters a b k=v:NoSchedule k2-",
            "cordon a --dry-run",
            "clusters --kubeconfig k",
            "get pods",
            "get deploy web db -n shop -s members -C a,b -o wide",
            "get deployments.v1.apps/web -s all -o json --ignore-not-found",
            "get pods,svc -A -l app=web -s members --no-headers",
            "explain deployment/web -n shop -o json",
            "explain deployment web",
            "backup f --kubeconfig k",
        ] {
            let words = std::iter::once("karavel").chain(line.split(' '));
            if let Err(error) = Arguments::try_parse_from(words) {
                panic!("{line}: {error}");
            }
        }
    }
}

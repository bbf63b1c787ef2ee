//! Commands about clusters.

use std::path::PathBuf;

use clap::Args;

/// The cluster that joins or goes.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The cluster's kubeconfig. To join, what the environment names if absent; to unjoin, nothing is cleaned up there
    /// if absent.
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_kubeconfig: Option<PathBuf>,
    /// The context of the cluster's kubeconfig; if absent, its current one, and for `unjoin` the one called as the cluster.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) cluster_context: Option<String>,
    /// The namespace for credentials, in the control plane and in the cluster. If absent, karmada-cluster to join, and to
    /// unjoin the one that the cluster has joined with.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) cluster_namespace: Option<String>,
    /// Say what would be done and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Show all clusters.
#[derive(Args, Debug)]
pub(crate) struct Clusters {
    /// Only these clusters.
    #[arg(value_name = "NAME", value_parser = super::places::cluster_name)]
    pub(crate) names: Vec<String>,
    /// Only clusters with these labels, such as zone=a.
    #[arg(
        short = 'l',
        long,
        value_name = "SELECTOR",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) selector: String,
    /// How to write it: table, wide, json, yaml, kyaml, name, jsonpath=..., custom-columns=..., go-template=...
    #[arg(short, long, value_name = "FORMAT", value_parser = cli::Output::parse, default_value = "table")]
    pub(crate) output: cli::Output,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
}

/// Join a cluster.
#[derive(Args, Debug)]
pub(crate) struct Join {
    /// What the cluster is to be called.
    #[arg(value_parser = super::places::cluster_name)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) target: Target,
    /// Who runs the cluster.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) cluster_provider: String,
    /// Where the cluster is.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) cluster_region: String,
    /// The zones the cluster is in, with commas in between.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) cluster_zones: Vec<String>,
    /// The user to act as in the control plane.
    #[arg(long, value_name = "USER")]
    pub(crate) karmada_as: Option<String>,
    /// A group of that user; may be given several times.
    #[arg(long, value_name = "GROUP", requires = "karmada_as")]
    pub(crate) karmada_as_group: Vec<String>,
    /// The uid of that user.
    #[arg(long, value_name = "UID", requires = "karmada_as")]
    pub(crate) karmada_as_uid: Option<String>,
}

/// Let a cluster go.
#[derive(Args, Debug)]
pub(crate) struct Unjoin {
    /// The cluster.
    // No name addresses all clusters at once.
    #[arg(value_parser = super::places::cluster_name)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) target: Target,
    /// How long to wait for the cluster to be ready and then gone, in seconds or such as 90s or 2m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) wait: String,
    /// Give up on a cluster that cannot be reached, and leave behind what is in it.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Close a cluster for new work, or open it.
#[derive(Args, Debug)]
pub(crate) struct Cordon {
    /// The cluster.
    #[arg(value_name = "NAME", value_parser = super::places::cluster_name)]
    pub(crate) names: Vec<String>,
    /// Say what would be done and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Mark clusters.
#[derive(Args, Debug)]
pub(crate) struct Taint {
    /// `cluster` or `clusters`, then names, then taints: `KEY=VALUE:EFFECT` to add, `KEY:EFFECT-` to remove.
    #[arg(required = true, num_args = 1.., value_name = "clusters NAME... TAINT", value_parser = name_or_taint)]
    pub(crate) words: Vec<String>,
    /// Change a taint that is there already.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Say what would be done and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn name_or_taint(text: &str) -> Result<String, String> {
    let word = super::places::cluster_name(text);
    word.map_err(|_| "names and taints may not be empty".to_owned())
}

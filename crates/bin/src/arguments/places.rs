//! Where commands look: namespaces, the control plane, members. The same flags for all commands.

use clap::{Args, ValueEnum};

/// Which namespaces.
#[derive(Args, Debug)]
pub(crate) struct Namespaces {
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// All namespaces, whatever else is said of one.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
}

/// Several places at once.
#[derive(Args, Debug)]
pub(crate) struct Places {
    /// Where to look.
    #[arg(short = 's', long = "operation-scope", value_enum, default_value_t = Scope::Karmada)]
    pub(crate) scope: Scope,
    /// Which members to ask, with commas in between; all if absent. Has no effect on the scope karmada.
    #[arg(
        short = 'C',
        long,
        visible_alias = "cluster",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = cluster
    )]
    pub(crate) clusters: Vec<String>,
}

/// The control plane or one member.
#[derive(Args, Debug)]
pub(crate) struct OnePlace {
    /// Where to look: karmada, or members with --cluster; where the cluster is if absent.
    #[arg(short = 's', long = "operation-scope", value_enum)]
    pub(crate) scope: Option<Scope>,
    /// The member.
    #[arg(short = 'C', long, value_name = "NAME", value_parser = member)]
    pub(crate) cluster: Option<String>,
}

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// In the control plane.
    Karmada,
    /// In members.
    Members,
    /// In the control plane and in members.
    All,
}

impl From<Scope> for cli::Scope {
    fn from(typed: Scope) -> Self {
        match typed {
            Scope::Karmada => Self::Karmada,
            Scope::Members => Self::Members,
            Scope::All => Self::All,
        }
    }
}

/// The name of a cluster. An empty one is what a script gives whose variable is not set, and never means all of them.
/// Upstream: the words of karmadactl.
pub(super) fn cluster(text: &str) -> Result<String, String> {
    not_blank(text, "must specify a cluster")
}

/// The same, where the control plane could be asked instead.
fn member(text: &str) -> Result<String, String> {
    not_blank(text, "must specify a member cluster")
}

/// The same, where clusters are what the command is about.
pub(super) fn cluster_name(text: &str) -> Result<String, String> {
    not_blank(text, "cluster name is required")
}

fn not_blank(text: &str, otherwise: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err(otherwise.to_owned()),
        false => Ok(text.to_owned()),
    }
}

//! Commands that read objects.

use clap::{Args, ValueEnum};

/// Read objects.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// `TYPE[.VERSION][.GROUP]` and names, several types with commas in between, or TYPE/NAME for each.
    #[arg(required = true, value_name = "TYPE [NAME...] | TYPE/NAME")]
    pub(crate) words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        conflicts_with = "all_namespaces"
    )]
    pub(crate) namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels, such as app=web,tier!=test.
    #[arg(
        short = 'l',
        long = "labels",
        visible_alias = "selector",
        value_name = "SELECTOR",
        default_value = ""
    )]
    pub(crate) selector: String,
    /// Where to look.
    #[arg(short = 's', long = "operation-scope", value_enum, default_value_t = Scope::Karmada)]
    pub(crate) scope: Scope,
    /// Which members to ask, with commas in between; all if absent. Has no effect on the scope karmada.
    #[arg(short = 'C', long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) clusters: Vec<String>,
    /// How to write it. In json and yaml, objects of members are marked by the annotation
    /// resource.karmada.io/cached-from-cluster.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
    /// Leave the headline out.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// A named object that is not there is no mistake.
    #[arg(long)]
    pub(crate) ignore_not_found: bool,
}

/// Explain where a template goes.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// `TYPE[.VERSION][.GROUP]/NAME`, or the two apart.
    #[arg(required = true, num_args = 1..=2, value_name = "TYPE/NAME")]
    pub(crate) words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// How to write it.
    #[arg(short, long, value_enum, default_value_t = Telling::Text)]
    pub(crate) output: Telling,
}

/// How to write an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Telling {
    /// For people, in 80 columns.
    Text,
    /// For programs.
    Json,
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

/// How to write what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The columns that matter most.
    Table,
    /// All columns.
    Wide,
    /// One list.
    Json,
    /// One list.
    Yaml,
    /// A kind and a name in each line.
    Name,
}

impl From<Telling> for cli::Telling {
    fn from(typed: Telling) -> Self {
        match typed {
            Telling::Text => Self::Text,
            Telling::Json => Self::Json,
        }
    }
}

impl From<Get> for cli::Query {
    fn from(typed: Get) -> Self {
        Self {
            words: typed.words,
            namespace: typed.namespace,
            all_namespaces: typed.all_namespaces,
            selector: typed.selector,
            scope: match typed.scope {
                Scope::Karmada => cli::Scope::Karmada,
                Scope::Members => cli::Scope::Members,
                Scope::All => cli::Scope::All,
            },
            clusters: typed.clusters,
            output: match typed.output {
                Output::Table => cli::Output::Table,
                Output::Wide => cli::Output::Wide,
                Output::Json => cli::Output::Json,
                Output::Yaml => cli::Output::Yaml,
                Output::Name => cli::Output::Name,
            },
            no_headers: typed.no_headers,
            ignore_not_found: typed.ignore_not_found,
        }
    }
}

//! Commands about files: definitions, backups.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

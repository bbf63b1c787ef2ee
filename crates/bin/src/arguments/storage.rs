//! What keeps the objects, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

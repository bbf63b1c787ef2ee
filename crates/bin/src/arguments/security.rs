//! How the server protects what it keeps and whom it believes, as typed.

use std::path::PathBuf;

use clap::Args;

/// Certificates, encryption at rest, issuers of tokens, the audit log.
#[derive(Args, Debug)]
pub(crate) struct Security {
    /// The certificate authority, as a PEM file; one of its own in the data directory if absent.
    #[arg(
        long,
        env = "KARAVEL_CA_CERT_FILE",
        value_name = "FILE",
        requires = "ca_key_file"
    )]
    pub(crate) ca_cert_file: Option<PathBuf>,
    /// The key of that authority, as a PEM file.
    #[arg(
        long,
        env = "KARAVEL_CA_KEY_FILE",
        value_name = "FILE",
        requires = "ca_cert_file"
    )]
    pub(crate) ca_key_file: Option<PathBuf>,
    /// How long the server's own certificate lasts; a new one is shown at two thirds of that.
    #[arg(
        long,
        env = "KARAVEL_SERVER_CERTIFICATE_LIFETIME",
        value_name = "TIME",
        default_value = "2160h"
    )]
    pub(crate) server_certificate_lifetime: String,
    /// How long the administrator's certificate in the kubeconfig lasts; a new one is written at two thirds of that.
    #[arg(
        long,
        env = "KARAVEL_ADMIN_CERTIFICATE_LIFETIME",
        value_name = "TIME",
        default_value = "8760h"
    )]
    pub(crate) admin_certificate_lifetime: String,
    /// The keys to encrypt with at rest, one of 32 bytes in base64 to a line: the first encrypts, all decrypt.
    /// `pki/encryption.key` in the data directory, made at the first start, if absent.
    #[arg(long, env = "KARAVEL_ENCRYPTION_KEY_FILE", value_name = "FILE")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// The resources to encrypt at rest, as plural or plural.group, with commas in between; `none`, alone, for none.
    /// Names of definitions are taken as they are.
    #[arg(
        long,
        env = "KARAVEL_ENCRYPT",
        value_name = "RESOURCES",
        value_delimiter = ',',
        default_value = "secrets,works.work.karmada.io,clusters.cluster.karmada.io"
    )]
    pub(crate) encrypt: Vec<String>,
    #[command(flatten)]
    pub(crate) oidc: Oidc,
    #[command(flatten)]
    pub(crate) audit: Audit,
}

/// An issuer of tokens.
#[derive(Args, Debug)]
pub(crate) struct Oidc {
    /// The URL of an OpenID Connect issuer whose tokens are believed.
    #[arg(
        long,
        env = "KARAVEL_OIDC_ISSUER_URL",
        value_name = "URL",
        requires = "oidc_client_id"
    )]
    pub(crate) oidc_issuer_url: Option<String>,
    /// Whom its tokens must be meant for.
    #[arg(
        long,
        env = "KARAVEL_OIDC_CLIENT_ID",
        value_name = "ID",
        requires = "oidc_issuer_url"
    )]
    pub(crate) oidc_client_id: Option<String>,
    /// The claim that is the user's name.
    #[arg(long, value_name = "CLAIM", default_value = "sub")]
    pub(crate) oidc_username_claim: String,
    /// What is put before the name; `-` for nothing. The issuer's URL and # if absent, but nothing before the claim email.
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    pub(crate) oidc_username_prefix: Option<String>,
    /// The claim with the user's groups.
    #[arg(long, value_name = "CLAIM")]
    pub(crate) oidc_groups_claim: Option<String>,
    /// What is put before each group.
    #[arg(long, value_name = "PREFIX", default_value = "")]
    pub(crate) oidc_groups_prefix: String,
    /// The authority that signed the issuer's certificate, as a PEM file; those the machine trusts if absent.
    #[arg(long, value_name = "FILE")]
    pub(crate) oidc_ca_file: Option<PathBuf>,
    /// A claim that must be there, as NAME=VALUE; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) oidc_required_claim: Vec<String>,
    /// The signing algorithms that are believed, with commas in between.
    #[arg(
        long,
        value_name = "ALGORITHMS",
        value_delimiter = ',',
        default_value = "RS256"
    )]
    pub(crate) oidc_signing_algs: Vec<String>,
}

/// The audit log.
#[derive(Args, Debug)]
pub(crate) struct Audit {
    /// Which requests are noted and how much of them: an audit.k8s.io/v1 Policy.
    #[arg(
        long,
        env = "KARAVEL_AUDIT_POLICY_FILE",
        value_name = "FILE",
        requires = "audit_log_path"
    )]
    pub(crate) audit_policy_file: Option<PathBuf>,
    /// Where requests are noted, one JSON object a line; - for standard output.
    #[arg(
        long,
        env = "KARAVEL_AUDIT_LOG_PATH",
        value_name = "FILE",
        requires = "audit_policy_file"
    )]
    pub(crate) audit_log_path: Option<PathBuf>,
    /// How large the file may become before it is put aside, in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) audit_log_maxsize: u64,
    /// How many files put aside are kept; 0 for all of them.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(crate) audit_log_maxbackup: u16,
    /// How many days files put aside are kept; 0 for as long as there are not too many.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub(crate) audit_log_maxage: u16,
}

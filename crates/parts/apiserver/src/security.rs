//! How a server protects what it keeps and knows whom to believe: what operators may say about it.
//!
//! Everything has a safe value that needs no saying.

use std::path::PathBuf;
use std::time::Duration;

use access::audit::{AuditPolicy, LogOptions};
use access::oidc::OidcOptions;

/// How a server protects itself.
#[derive(Clone, Debug)]
pub struct Security {
    /// The authority that certificates come from, if it is not the data directory's own.
    pub authority: Option<AuthorityFiles>,
    /// How long certificates last.
    pub lifetimes: Lifetimes,
    /// What is encrypted at rest.
    pub encryption: Encryption,
    /// Issuers whose tokens are believed besides our own.
    pub issuers: Vec<Issuer>,
    /// Whether agents' requests for certificates are approved without anybody looking.
    pub approve_agents: bool,
    /// What is written about requests, and where; nothing if absent.
    pub audit: Option<(AuditPolicy, LogOptions)>,
}

/// A certificate authority in files of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityFiles {
    /// The certificate, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

/// How long certificates last. Each is replaced at two thirds of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// The server's own.
    pub server: Duration,
    /// The administrator's, in the kubeconfig.
    pub administrator: Duration,
}

/// What is encrypted at rest, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The file with the keys; `pki/encryption.key` in the data directory, made at the first start, if absent.
    pub key_file: Option<PathBuf>,
    /// The resources whose objects are encrypted, as `plural` or `plural.group`. None turns encryption off; what was
    /// encrypted before stays readable and is written in the clear when it changes.
    pub resources: Vec<String>,
}

/// An issuer whose tokens are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Which, and what of its tokens.
    pub options: OidcOptions,
    /// The authorities its certificate is checked with, in PEM; empty for those the machine trusts.
    pub authorities: Vec<u8>,
}

impl Default for Security {
    fn default() -> Self {
        Self {
            authority: None,
            lifetimes: Lifetimes::default(),
            encryption: Encryption::default(),
            issuers: Vec::new(),
            approve_agents: true,
            audit: None,
        }
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            server: 90 * DAY,
            administrator: 365 * DAY,
        }
    }
}

impl Default for Encryption {
    /// Secrets, the works that carry copies of them to members, and the clusters with what is shown to their proxies.
    fn default() -> Self {
        Self {
            key_file: None,
            resources: vec![
                "secrets".to_owned(),
                "works.work.karmada.io".to_owned(),
                "clusters.cluster.karmada.io".to_owned(),
            ],
        }
    }
}

/// Reads a file with an `audit.k8s.io/v1` Policy.
///
/// # Errors
/// When it is none; the text says what is wrong with it.
pub fn audit_policy(text: &str) -> Result<AuditPolicy, String> {
    let policy: object::Value =
        serde_saphyr::from_str(text).map_err(|error| format!("it is not YAML: {error}"))?;
    let field = |name: &str| policy.get(name).and_then(object::Value::as_str);
    if field("apiVersion") != Some("audit.k8s.io/v1") || field("kind") != Some("Policy") {
        return Err("it is not a Policy of audit.k8s.io/v1".to_owned());
    }
    AuditPolicy::read(&policy).map_err(|error| error.to_string())
}

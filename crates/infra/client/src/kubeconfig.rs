//! Where a server is and who we are to it.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderValue;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use object::Value;
use object::base64::encode as base64;
use rustls::client::danger::ServerCertVerifier;
use serde_json::json;

use crate::remote::{Remote, Use};
use crate::way::{CONNECT_DEADLINE, Proxy, ProxyError};

/// Where to learn which server is meant.
#[derive(Clone, Debug)]
pub enum KubeconfigSource {
    /// A file, and one of its contexts; its current one if absent.
    File {
        /// The kubeconfig.
        path: PathBuf,
        /// One of its contexts.
        context: Option<String>,
    },
    /// The text of a kubeconfig, and one of its contexts; its current one if absent.
    Text {
        /// The kubeconfig.
        text: String,
        /// One of its contexts.
        context: Option<String>,
    },
    /// What `KUBECONFIG` names, else the file in the home directory, else the pod this runs in.
    Environment {
        /// One of its contexts.
        context: Option<String>,
    },
    /// The server as such, without a kubeconfig.
    Endpoint(Box<Endpoint>),
}

/// A server and how to be let in.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// Its URL, `https://host:port`, perhaps with a path.
    pub server: String,
    /// PEM certificates of those who may have signed its certificate; empty for those the machine trusts.
    pub ca: Vec<u8>,
    /// Who judges its certificate in place of those; names and dates are then left to it, too.
    pub judge: Option<Arc<dyn ServerCertVerifier>>,
    /// Who we are.
    pub identity: Identity,
    /// Takes any certificate.
    pub insecure: bool,
    /// The name in the server's certificate, if it is not the host's.
    pub server_name: Option<String>,
    /// The URL of a proxy on the way, perhaps with a user and a password.
    pub proxy: Option<String>,
    /// What the proxy is told when it is asked to connect, and nobody else; a value with commas is several.
    pub proxy_headers: Vec<(String, String)>,
    /// Who to act as.
    pub impersonate: Option<Impersonate>,
    /// Whether connections are to become other protocols, such as WebSocket; then calls do not share them.
    pub upgrades: bool,
}

/// Who we are to a server.
#[derive(Clone, Default)]
pub enum Identity {
    /// Nobody in particular.
    #[default]
    Anonymous,
    /// Whoever a token says.
    Token(String),
    /// Whoever a certificate says; both PEM.
    Certificate {
        /// The certificate and those above it.
        certificate: Vec<u8>,
        /// Its key.
        key: Vec<u8>,
    },
}

/// Who to act as.
#[derive(Clone, Debug, Default)]
pub struct Impersonate {
    /// The user.
    pub user: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// Why a server cannot be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {path}")]
    Read {
        /// Where it was to be.
        path: PathBuf,
        /// Why not.
        source: Box<KubeconfigError>,
    },
    /// What is there has no end, or is far too long for a kubeconfig.
    #[error("{path} is no kubeconfig: it is {what}")]
    NoKubeconfig {
        /// Where it was to be.
        path: PathBuf,
        /// What is there instead.
        what: String,
    },
    /// The kubeconfig does not say what is needed.
    #[error("cannot use the kubeconfig")]
    Use(#[source] Box<KubeconfigError>),
    /// There is neither a kubeconfig nor a pod's service account.
    #[error("cannot find a kubeconfig")]
    Find(#[source] Box<kube::config::InferConfigError>),
    /// The certificates, keys or URLs make no sense.
    #[error("cannot set up the connection")]
    Connect(#[source] Box<kube::Error>),
    /// The token holds what no header may.
    #[error("the token cannot be sent")]
    Token,
    /// The proxy on the way makes no sense.
    #[error("cannot use the proxy")]
    Proxy(#[source] ProxyError),
}

/// Secrets stay out of logs: those of the server, and those of the proxy, whose URL and headers may hold some.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("server", &self.server)
            .field("identity", &self.identity)
            .field("insecure", &self.insecure)
            .field("impersonate", &self.impersonate)
            .field("upgrades", &self.upgrades)
            .finish_non_exhaustive()
    }
}

/// Secrets stay out of logs.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Token(_) => "Token(…)",
            Self::Certificate { .. } => "Certificate(…)",
        })
    }
}

/// Where a server is, as far as others may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its URL, without a slash at the end.
    pub server: String,
    /// Whether any certificate is taken.
    pub insecure: bool,
    /// The URL of a proxy on the way.
    pub proxy: Option<String>,
}

impl KubeconfigSource {
    /// Which server is meant, without a word about who we are.
    pub async fn address(&self) -> Result<Address, ConfigError> {
        let config = self.config().await?;
        Ok(Address {
            server: config
                .cluster_url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            insecure: config.accept_invalid_certs,
            proxy: config.proxy_url.map(|url| url.to_string()),
        })
    }

    pub(crate) async fn connect(&self) -> Result<kube::Client, ConfigError> {
        let config = self.timed().await?;
        kube::Client::try_from(config).map_err(|error| ConfigError::Connect(Box::new(error)))
    }

    /// A server that is named as such, over connections of our own; `None` where a kubeconfig says how.
    pub(crate) async fn remote(&self) -> Result<Option<Remote>, ConfigError> {
        let Self::Endpoint(endpoint) = self else {
            return Ok(None);
        };
        if endpoint.impersonate.is_some() {
            return Ok(None);
        }
        let authorization = match &endpoint.identity {
            Identity::Certificate { .. } | Identity::Anonymous => None,
            Identity::Token(token) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                    .map_err(|_| ConfigError::Token)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let proxy = endpoint.proxy.clone().map(|url| Proxy {
            url,
            headers: endpoint.proxy_headers.clone(),
        });
        let r#use = match endpoint.upgrades {
            true => Use::Upgrades,
            false => Use::Calls,
        };
        let config = self.timed().await?;
        let judge = endpoint.judge.clone();
        Remote::new(config, authorization, proxy, judge, r#use).map(Some)
    }

    async fn timed(&self) -> Result<Config, ConfigError> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(CONNECT_DEADLINE);
        // Calls have a deadline each, and retries are the business of whoever knows what is being done.
        config.read_timeout = None;
        config.write_timeout = None;
        config.default_retry = false;
        Ok(config)
    }

    pub(crate) async fn config(&self) -> Result<Config, ConfigError> {
        let refused = |error| ConfigError::Use(Box::new(error));
        match self {
            Self::File { path, context } => {
                let kubeconfig = read(path)?;
                let chosen = choose(context.as_deref());
                let config = Config::from_custom_kubeconfig(kubeconfig, &chosen).await;
                config.map_err(refused)
            }
            Self::Text { text, context } => {
                let kubeconfig = Kubeconfig::from_yaml(text).map_err(refused)?;
                let chosen = choose(context.as_deref());
                let config = Config::from_custom_kubeconfig(kubeconfig, &chosen).await;
                config.map_err(refused)
            }
            Self::Environment { context } => {
                let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
                if let Some(paths) = those_there(&listed, Path::exists) {
                    let chosen = choose(context.as_deref());
                    let config = Config::from_custom_kubeconfig(merge(&paths)?, &chosen).await;
                    return config.map_err(refused);
                }
                if context.is_none() {
                    let config = Config::infer().await;
                    return config.map_err(|error| ConfigError::Find(Box::new(error)));
                }
                let config = Config::from_kubeconfig(&choose(context.as_deref())).await;
                config.map_err(refused)
            }
            Self::Endpoint(endpoint) => {
                // Through the same door as a kubeconfig, so that both mean the same.
                let text = endpoint.kubeconfig().to_string();
                let kubeconfig = Kubeconfig::from_yaml(&text).map_err(refused)?;
                let config = Config::from_custom_kubeconfig(kubeconfig, &choose(None)).await;
                config.map_err(refused)
            }
        }
    }
}

impl Endpoint {
    /// A kubeconfig that says the same; JSON is YAML.
    #[must_use]
    pub fn kubeconfig(&self) -> Value {
        let mut cluster = json!({"server": self.server});
        if !self.ca.is_empty() {
            cluster["certificate-authority-data"] = base64(&self.ca).into();
        }
        if self.insecure {
            cluster["insecure-skip-tls-verify"] = true.into();
        }
        if let Some(name) = &self.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        if let Some(proxy) = &self.proxy {
            cluster["proxy-url"] = proxy.as_str().into();
        }
        let mut user = match &self.identity {
            Identity::Anonymous => json!({}),
            Identity::Token(token) => json!({"token": token}),
            Identity::Certificate { certificate, key } => json!({
                "client-certificate-data": base64(certificate), "client-key-data": base64(key),
            }),
        };
        if let Some(impersonate) = &self.impersonate {
            user["as"] = impersonate.user.as_str().into();
            user["as-groups"] = impersonate.groups.clone().into();
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        })
    }
}

/// The files of a list that are there, if it has others too. Upstream: of several, those that are not there are passed over.
fn those_there(listed: &OsStr, is_there: impl Fn(&Path) -> bool) -> Option<Vec<PathBuf>> {
    let (there, absent): (Vec<PathBuf>, Vec<PathBuf>) = std::env::split_paths(listed)
        .filter(|path| !path.as_os_str().is_empty())
        .partition(|path| is_there(path));
    (!there.is_empty() && !absent.is_empty()).then_some(there)
}

/// Several files as one; what an earlier one says counts.
fn merge(paths: &[PathBuf]) -> Result<Kubeconfig, ConfigError> {
    let mut merged = Kubeconfig::default();
    for path in paths {
        let both = merged.merge(read(path)?);
        merged = both.map_err(|error| unread(path, error))?;
    }
    Ok(merged)
}

/// No kubeconfig is larger. They grow by some kilobytes for each cluster.
const LARGEST: u64 = 16 << 20;

/// What a file says. It is looked at first: whoever reads it reads to its end.
fn read(path: &Path) -> Result<Kubeconfig, ConfigError> {
    let found = std::fs::metadata(path).ok();
    let instead = found.and_then(|found| instead(found.file_type().is_char_device(), found.len()));
    if let Some(what) = instead {
        let path = path.to_owned();
        return Err(ConfigError::NoKubeconfig { path, what });
    }
    Kubeconfig::read_from(path).map_err(|error| unread(path, error))
}

/// What it is instead of a kubeconfig, as far as that can be told from outside.
fn instead(is_device: bool, length: u64) -> Option<String> {
    if is_device {
        return Some("a device".to_owned());
    }
    (length > LARGEST).then(|| format!("larger than {} MiB", LARGEST >> 20))
}

fn unread(path: &Path, error: KubeconfigError) -> ConfigError {
    ConfigError::Read {
        path: path.to_owned(),
        source: Box::new(error),
    }
}

fn choose(context: Option<&str>) -> KubeConfigOptions {
    KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let said = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(said, "/dev/zero is no kubeconfig: it is a device");
        assert_eq!(instead(false, LARGEST), None);
        let what = instead(false, LARGEST + 1);
        assert_eq!(what.as_deref(), Some("larger than 16 MiB"));
    }

    #[tokio::test]
    async fn an_endpoint_means_the_same_as_a_kubeconfig() {
        let endpoint = Endpoint {
            server: "https://member.example:6443/base".to_owned(),
            ca: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
            identity: Identity::Token("secret".to_owned()),
            insecure: true,
            server_name: Some("inner".to_owned()),
            proxy: Some("http://me:secret@proxy:3128".to_owned()),
            proxy_headers: vec![("X-Key".to_owned(), "secret".to_owned())],
            impersonate: Some(Impersonate {
                user: "jane".to_owned(),
                groups: vec!["devs".to_owned()],
            }),
            ..Endpoint::default()
        };
        let source = KubeconfigSource::Endpoint(Box::new(endpoint.clone()));
        let config = source.config().await.unwrap();
        assert_eq!(config.cluster_url.to_string(), endpoint.server);
        assert_eq!(config.tls_server_name.as_deref(), Some("inner"));
        assert_eq!(config.auth_info.impersonate.as_deref(), Some("jane"));
        assert!(config.accept_invalid_certs && config.auth_info.token.is_some());
        assert_eq!(config.root_cert, Some(vec![vec![0, 0, 0]]));
        assert!(!format!("{endpoint:?}").contains("secret"));
    }

    #[test]
    fn of_several_files_those_that_are_missing_are_passed_over() {
        let is_there = |path: &Path| path.starts_with("/there");
        for (listed, expected) in [
            ("", None),
            ("/there/a", None),
            ("/gone", None),
            ("/gone:/lost", None),
            ("/there/a:/there/b", None),
            ("/gone:/there/a", Some("/there/a")),
            ("/there/a::/gone:/there/b", Some("/there/a:/there/b")),
        ] {
            let found = those_there(OsStr::new(listed), is_there);
            let found = found.map(|paths| std::env::join_paths(paths).unwrap());
            assert_eq!(found.as_deref(), expected.map(OsStr::new), "{listed}");
        }
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_missing_or_says_nothing_is_refused_by_name() {
        let missing = KubeconfigSource::File {
            path: "/nowhere/config".into(),
            context: None,
        };
        let error = Box::new(missing.connect().await.err().unwrap());
        assert_eq!(
            error.to_string(),
            "cannot read the kubeconfig /nowhere/config"
        );
        let empty = KubeconfigSource::Text {
            text: "apiVersion: v1\nkind: Config\n".to_owned(),
            context: Some("x".to_owned()),
        };
        assert!(matches!(empty.connect().await, Err(ConfigError::Use(_))));
    }
}

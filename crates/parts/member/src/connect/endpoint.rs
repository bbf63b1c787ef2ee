//! Where a member is and who we are to it.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::cluster::{Cluster, LocalSecretReference};
use api::names::{CLUSTER_NAMESPACE, impersonation_secret};
use client::{Endpoint, Identity};
use object::{Object, ObjectKey};

use crate::connect::secret::value;

/// Where a member is, who we are to it, and a number that tells one such answer from another.
#[derive(Clone, Debug)]
pub struct Link {
    /// The server and the credentials.
    pub endpoint: Endpoint,
    /// Equal as long as nothing of it has changed.
    pub identity: u64,
    /// The id of the cluster that joined, which whoever answers must have; empty if that is not known.
    pub id: String,
}

/// Why a member cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The cluster does not say where it is.
    #[error("the api endpoint of cluster {0} is empty")]
    NoEndpoint(String),
    /// The cluster names no credentials.
    #[error("cluster {0} does not have a secret")]
    NoSecret(String),
    /// The Secret it names is not there.
    #[error("the secret {secret} of cluster {cluster} is not there")]
    SecretMissing {
        /// Which cluster.
        cluster: String,
        /// Which secret.
        secret: ObjectKey,
    },
    /// The Secret belongs to something else.
    #[error(
        "the secret {secret} does not belong to cluster {cluster}: the cluster does not own it, and it is not kept for the cluster by its name in namespace {CLUSTER_NAMESPACE}"
    )]
    SecretForeign {
        /// Which cluster.
        cluster: String,
        /// Which secret.
        secret: ObjectKey,
    },
    /// The Secret has no token.
    #[error("the secret for cluster {0} is missing a non-empty value for \"token\"")]
    NoToken(String),
    /// The Secret has no authority, and checking certificates was not given up.
    #[error("the secret for cluster {0} is missing the CA data key \"caBundle\"")]
    NoAuthority(String),
    /// No account to impersonate with is named.
    #[error("the impersonatorSecretRef of cluster {0} is nil")]
    NoImpersonator(String),
}

/// The key of a secret that a cluster refers to.
#[must_use]
pub fn secret_key(reference: &LocalSecretReference) -> ObjectKey {
    ObjectKey::namespaced(reference.namespace.as_str(), reference.name.as_str())
}

/// How the control plane itself reaches a cluster. `secret` is the one that `spec.secretRef` names, if it is there.
pub fn link(cluster: &Cluster, secret: Option<&Object>) -> Result<Link, LinkError> {
    let name = &cluster.metadata.name;
    if cluster.spec.api_endpoint.is_empty() {
        return Err(LinkError::NoEndpoint(name.clone()));
    }
    let Some(reference) = &cluster.spec.secret_ref else {
        return Err(LinkError::NoSecret(name.clone()));
    };
    let secret = own_secret(cluster, reference, secret)?;
    let token = token(secret).ok_or_else(|| LinkError::NoToken(name.clone()))?;
    let mut endpoint = trust(cluster, Some(secret))?;
    endpoint.identity = Identity::Token(token.clone());
    let identity = identity(&endpoint, &token);
    Ok(Link {
        endpoint,
        identity,
        id: cluster.spec.id.clone(),
    })
}

/// Equal as long as a server is reached in the same way with the same token.
pub(crate) fn identity(endpoint: &Endpoint, token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Endpoint {
        server,
        ca,
        insecure,
        proxy,
        proxy_headers,
        ..
    } = endpoint;
    (server, ca, insecure, proxy, proxy_headers, token).hash(&mut hasher);
    hasher.finish()
}

/// The server of a cluster and whom to believe that it is the server; nobody's credentials.
pub(crate) fn trust(cluster: &Cluster, secret: Option<&Object>) -> Result<Endpoint, LinkError> {
    let spec = &cluster.spec;
    let ca = match secret {
        // Without a secret there are only the authorities that the machine trusts.
        None => Vec::new(),
        Some(_) if spec.insecure_skip_tls_verification => Vec::new(),
        Some(secret) => value(secret, "caBundle")
            .ok_or_else(|| LinkError::NoAuthority(cluster.metadata.name.clone()))?,
    };
    Ok(Endpoint {
        server: spec.api_endpoint.clone(),
        ca,
        insecure: spec.insecure_skip_tls_verification,
        proxy: (!spec.proxy_url.is_empty()).then(|| spec.proxy_url.clone()),
        proxy_headers: spec
            .proxy_header
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        ..Endpoint::default()
    })
}

/// The token of the account that impersonates users in a cluster.
pub(crate) fn impersonator_token(
    cluster: &Cluster,
    secret: Option<&Object>,
) -> Result<String, LinkError> {
    let name = &cluster.metadata.name;
    let Some(reference) = &cluster.spec.impersonator_secret_ref else {
        return Err(LinkError::NoImpersonator(name.clone()));
    };
    let secret = own_secret(cluster, reference, secret)?;
    token(secret).ok_or_else(|| LinkError::NoToken(name.clone()))
}

/// Whether a secret is the cluster's own: by its owner, or by its name and place unless another cluster owns it. What holds
/// the token of one cluster's impersonator has the name that the own secret of another would have.
///
/// Invariant: whoever may write Clusters cannot have credentials that are not theirs sent to an endpoint of their choice:
/// neither another cluster's nor, by calling a cluster after a Secret, anybody's in the control plane.
pub(crate) fn is_own_secret(cluster: &Cluster, secret: &Object) -> bool {
    let (name, uid) = (&cluster.metadata.name, &cluster.metadata.uid);
    let is_owned = !uid.is_empty() && secret.owner_references().any(|owner| owner.uid == *uid);
    is_owned || is_kept_for(name, secret)
}

/// Whether a secret is where credentials of clusters are kept, under the name of this one.
fn is_kept_for(cluster: &str, secret: &Object) -> bool {
    let is_named_so = secret.name() == cluster || secret.name() == impersonation_secret(cluster);
    let mut owners = secret.owner_references();
    let is_anothers = owners.any(|owner| owner.kind == "Cluster" && owner.name != cluster);
    // Tokens of the control plane's own accounts are nothing that a member knows.
    let is_our_token = secret.text_at(&["type"]) == Some("kubernetes.io/service-account-token");
    secret.namespace() == CLUSTER_NAMESPACE && is_named_so && !is_anothers && !is_our_token
}

/// The secret that a cluster refers to, if it is there and its own.
fn own_secret<'s>(
    cluster: &Cluster,
    reference: &LocalSecretReference,
    secret: Option<&'s Object>,
) -> Result<&'s Object, LinkError> {
    let (name, key) = (&cluster.metadata.name, secret_key(reference));
    let Some(secret) = secret else {
        return Err(LinkError::SecretMissing {
            cluster: name.clone(),
            secret: key,
        });
    };
    if is_own_secret(cluster, secret) {
        return Ok(secret);
    }
    Err(LinkError::SecretForeign {
        cluster: name.clone(),
        secret: key,
    })
}

/// The token in a secret, if there is one.
pub(crate) fn token(secret: &Object) -> Option<String> {
    let token = String::from_utf8(value(secret, "token")?).ok()?;
    let token = token.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

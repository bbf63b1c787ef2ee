//! Who is at the other end of a connection, as far as the connection tells.

use std::net::SocketAddr;

use x509_parser::prelude::{FromDer, X509Certificate};

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where from.
    pub address: SocketAddr,
    /// The user a verified client certificate names; `None` if there was none.
    pub user: Option<CertifiedUser>,
}

/// A user as a certificate names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedUser {
    /// The common name.
    pub name: String,
    /// The organisations.
    pub groups: Vec<String>,
}

/// Reads a certificate the way Kubernetes does. The TLS library has verified it by then.
pub(crate) fn certified_user(der: &[u8]) -> Option<CertifiedUser> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok())
        .map(str::to_owned)
        .collect();
    Some(CertifiedUser { name, groups })
}

//! The server's own certificate, and the administrator's.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use access::names::MASTERS;
use listen::{Authority, AuthorityError, Issued, ServerIdentity, Subject};

use crate::kubeconfig;
use crate::server::StartError;

/// How long the server's certificate lasts; it is replaced at two thirds of that.
const SERVER_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long the administrator's certificate lasts. It is made anew at every start.
const ADMIN_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// A certificate for the server under all its names.
pub(crate) fn issue_server(
    authority: &Authority,
    names: &[String],
) -> Result<Issued, AuthorityError> {
    let subject = Subject::Server {
        names: names.to_vec(),
    };
    authority.issue(&subject, SERVER_LIFE, SystemTime::now())
}

/// Replaces the server's certificate at two thirds of its life, for ever.
pub(crate) async fn renew(
    authority: &Authority,
    identity: &ServerIdentity,
    first: &Issued,
    names: &[String],
) {
    /// How long to wait after a failure; there is a third of a certificate's life left by then.
    const RETRY: Duration = Duration::from_secs(60);
    let mut renew_at = first.renew_at;
    loop {
        let wait = renew_at
            .duration_since(SystemTime::now())
            .unwrap_or_default();
        tokio::time::sleep(wait).await;
        let renewed =
            issue_server(authority, names).map(|issued| (identity.replace(&issued), issued));
        match renewed {
            Ok((Ok(()), issued)) => {
                tracing::info!("server certificate renewed");
                renew_at = issued.renew_at;
            }
            Ok((Err(error), _)) => {
                tracing::error!(%error, "server certificate not renewed");
                renew_at = SystemTime::now() + RETRY;
            }
            Err(error) => {
                tracing::error!(%error, "server certificate not renewed");
                renew_at = SystemTime::now() + RETRY;
            }
        }
    }
}

/// Writes the administrator's kubeconfig with a certificate of its own.
pub(crate) fn write_kubeconfig(
    path: &Path,
    authority: &Authority,
    address: SocketAddr,
) -> Result<(), StartError> {
    let admin = Subject::User {
        name: "system:admin".to_owned(), // As users of Karmada know it; `cluster-proxy-admin` is bound to it.
        group: Some(MASTERS.to_owned()),
    };
    let client = authority.issue(&admin, ADMIN_LIFE, SystemTime::now())?;
    let server = format!("https://{}", reachable(address));
    let document = kubeconfig::document(&server, authority.certificate_pem(), &client);
    kubeconfig::write(path, &document).map_err(|source| StartError::Directory {
        path: path.to_owned(),
        source,
    })
}

/// An address one can connect to: an unspecified one is reached on this machine.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new([127, 0, 0, 1].into(), address.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port())
        }
        _ => address,
    }
}

/// All names the server may be reached under.
pub(crate) fn server_names(address: SocketAddr, further: &[String]) -> Vec<String> {
    let usual = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
    ];
    let mut names: Vec<String> = usual.iter().map(ToString::to_string).collect();
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    names.extend(further.iter().cloned());
    names.sort();
    names.dedup();
    names
}

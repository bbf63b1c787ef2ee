//! Members on sockets: one authority for all members of a process, one port for each.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use listen::{
    Arriving, Authority, AuthorityError, BindError, IdentityError, Issued, Limits, Listener,
    ServerIdentity, Subject,
};
use runtime::Spawner;

use crate::member::Member;

/// How long the servers' certificate lasts. Simulated members are started anew long before.
const SERVER_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long the administrator's certificate lasts. It is made anew at every start.
const ADMIN_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// The group whose members may do everything.
const MASTERS: &str = "system:masters";

/// What members show to clients and accept from them.
pub struct Credentials {
    authority: Authority,
    identity: ServerIdentity,
}

/// Why a member cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no certificate authority.
    #[error("cannot use the certificate authority")]
    Authority(#[from] AuthorityError),
    /// There is no certificate to show.
    #[error("cannot use the server's certificate")]
    Identity(#[from] IdentityError),
    /// The address cannot be listened on.
    #[error("cannot listen")]
    Listen(#[from] BindError),
}

impl Credentials {
    /// The authority of a directory and a certificate from it for servers reached under these names and addresses
    /// besides the usual local ones.
    pub fn open(directory: &Path, further: &[String]) -> Result<Self, ServeError> {
        let now = SystemTime::now();
        let authority = Authority::open(directory, now)?;
        let usual = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let mut names: Vec<String> = usual.iter().map(ToString::to_string).collect();
        names.extend(further.iter().cloned());
        names.sort();
        names.dedup();
        let issued = authority.issue(&Subject::Server { names }, SERVER_LIFE, now)?;
        let identity = ServerIdentity::new(&issued)?;
        Ok(Self {
            authority,
            identity,
        })
    }

    /// What clients must trust.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        self.authority.certificate_pem()
    }

    /// A certificate for somebody who may do everything.
    pub fn administrator(&self) -> Result<Issued, ServeError> {
        let admin = Subject::User {
            name: "karavel-sim-admin".to_owned(),
            group: Some(MASTERS.to_owned()),
        };
        Ok(self
            .authority
            .issue(&admin, ADMIN_LIFE, SystemTime::now())?)
    }
}

impl Member {
    /// Answers on a socket until the tasks of `spawner` are stopped. Returns where clients find it.
    pub async fn listen(
        &self,
        address: SocketAddr,
        credentials: &Credentials,
        spawner: &Spawner,
    ) -> Result<SocketAddr, ServeError> {
        let listener = Listener::bind(address).await?;
        let address = listener.address();
        let tls = credentials
            .identity
            .tls_config(credentials.authority.certificate_pem())?;
        let member = self.clone();
        let handler = move |request: http::Request<Arriving>| {
            let member = member.clone();
            async move { member.answer_stranger(request).await }
        };
        spawner.spawn(format!("listener of {}", self.name()), |stop| async move {
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Ok(reachable(address))
    }
}

/// An address one can connect to: an unspecified one is reached on this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
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

//! The server's own certificate, and the administrator's, replaced while the server runs.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use access::names::MASTERS;
use listen::{Authority, Issued, ServerIdentity, Subject};
use object::time::MicroTime;
use runtime::Clock;
use serve::handler::Check;
use serve::server::Surroundings;

use crate::kubeconfig;
use crate::security::Lifetimes;
use crate::server::StartError;

/// How long to wait after a failure. There is a third of a certificate's life left by then.
const RETRY: Duration = Duration::from_secs(60);

/// How long before its end an authority is warned of, unless its whole life is short.
const LAST_DAYS: Duration = Duration::from_secs(30 * 24 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The certificates a server has, and where they come from.
pub(crate) struct Certificates {
    authority: Arc<Authority>,
    identity: ServerIdentity,
    names: Vec<String>,
    lifetimes: Lifetimes,
    clock: Clock,
    kubeconfig: PathBuf,
    /// What the server shows.
    shown: Issued,
    /// What the kubeconfig has.
    administrator: Issued,
}

impl Certificates {
    /// Issues both, and writes the kubeconfig.
    pub(crate) fn issue(
        authority: Authority,
        names: Vec<String>,
        kubeconfig: PathBuf,
        address: SocketAddr,
        lifetimes: Lifetimes,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let now = moment(clock.now_micros());
        let shown = authority.issue(&server(&names), lifetimes.server, now)?;
        let administrator = authority.issue(&administrator(), lifetimes.administrator, now)?;
        let url = format!("https://{}", reachable(address));
        let document = kubeconfig::document(&url, authority.certificate_pem(), &administrator);
        kubeconfig::write(&kubeconfig, &document).map_err(|source| StartError::Directory {
            path: kubeconfig.clone(),
            source,
        })?;
        Ok(Self {
            identity: ServerIdentity::new(&shown)?,
            authority: Arc::new(authority),
            names,
            lifetimes,
            clock,
            kubeconfig,
            shown,
            administrator,
        })
    }

    pub(crate) fn authority(&self) -> &Arc<Authority> {
        &self.authority
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) fn tls_config(&self) -> Result<listen::Tls, listen::IdentityError> {
        self.identity.tls_config(self.authority.certificate_pem())
    }

    /// Says every day that the authority comes to its end, when that is near.
    pub(crate) fn warnings(&self) -> impl Future<Output = ()> + Send + use<> {
        warn(Arc::clone(&self.authority), self.clock.clone())
    }

    /// Replaces each certificate at two thirds of its life, for ever.
    pub(crate) async fn renew(mut self) {
        loop {
            let next = self.shown.renew_at.min(self.administrator.renew_at);
            let now = || moment(self.clock.now_micros());
            let wait = next.duration_since(now()).unwrap_or_default();
            tokio::time::sleep(wait).await;
            let now = now();
            if self.shown.renew_at <= now {
                match self.renew_server(now) {
                    Ok(()) => tracing::info!("server certificate renewed"),
                    Err(error) => {
                        tracing::error!(error = %telemetry::chain(&error), "server certificate not renewed");
                        self.shown.renew_at = now + RETRY.min(self.lifetimes.server / 10);
                    }
                }
            }
            if self.administrator.renew_at <= now {
                match self.renew_administrator(now) {
                    Ok(()) => tracing::info!("certificate in the kubeconfig renewed"),
                    Err(error) => {
                        tracing::error!(error = %telemetry::chain(&error), "certificate in the kubeconfig not renewed");
                        let retry = RETRY.min(self.lifetimes.administrator / 10);
                        self.administrator.renew_at = now + retry;
                    }
                }
            }
        }
    }

    fn renew_server(&mut self, now: SystemTime) -> Result<(), StartError> {
        let issued = self
            .authority
            .issue(&server(&self.names), self.lifetimes.server, now)?;
        self.identity.replace(&issued)?;
        self.shown = issued;
        Ok(())
    }

    /// Only the certificate and its key change: the rest of the file may have become the user's own.
    fn renew_administrator(&mut self, now: SystemTime) -> Result<(), StartError> {
        let life = self.lifetimes.administrator;
        let issued = self.authority.issue(&administrator(), life, now)?;
        let failed = |source| StartError::Directory {
            path: self.kubeconfig.clone(),
            source,
        };
        let encoded = |text: &str| serve::encoding::base64(text.as_bytes());
        let text = fs::read_to_string(&self.kubeconfig).map_err(failed)?;
        let text = text
            .replace(
                &encoded(&self.administrator.certificate_pem),
                &encoded(&issued.certificate_pem),
            )
            .replace(
                &encoded(&self.administrator.key_pem),
                &encoded(&issued.key_pem),
            );
        listen::write_private(&self.kubeconfig, &text).map_err(failed)?;
        self.administrator = issued;
        Ok(())
    }
}

/// Whether the authority is in force: nobody gets in by a certificate without it.
pub(crate) fn check(authority: &Arc<Authority>, surroundings: Arc<dyn Surroundings>) -> Check {
    let authority = Arc::clone(authority);
    Arc::new(move || {
        let problem = authority.problem(moment(surroundings.now().into()))?;
        Some(format!("the certificate authority {problem}"))
    })
}

async fn warn(authority: Arc<Authority>, clock: Clock) {
    let (begin, end) = authority.life();
    loop {
        let now = moment(clock.now_micros());
        let from = end - warning_time(end.duration_since(begin).unwrap_or_default());
        if let Ok(wait) = from.duration_since(now) {
            // Never longer than a day at once: clocks are put right while servers run.
            tokio::time::sleep(wait.clamp(Duration::from_millis(1), DAY)).await;
            continue;
        }
        let left = end.duration_since(now).unwrap_or_default();
        tracing::warn!(
            seconds_left = left.as_secs(),
            "the certificate authority comes to its end and takes every certificate with it; replace it"
        );
        tokio::time::sleep(DAY).await;
    }
}

/// A time of ours as those who make certificates count it.
pub(crate) fn moment(time: MicroTime) -> SystemTime {
    let micros = u64::try_from(time.unix_micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

/// How long before its end an authority of this life is warned of.
fn warning_time(life: Duration) -> Duration {
    LAST_DAYS.min(life / 3)
}

fn server(names: &[String]) -> Subject {
    Subject::Server {
        names: names.to_vec(),
    }
}

fn administrator() -> Subject {
    Subject::User {
        name: "system:admin".to_owned(), // As users of Karmada know it; `cluster-proxy-admin` is bound to it.
        group: Some(MASTERS.to_owned()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_warned_of_in_its_last_days_or_its_last_third() {
        for (life, expected) in [(3650, 30.0), (90, 30.0), (60, 20.0), (3, 1.0)] {
            let days = warning_time(DAY * life).as_secs_f64() / DAY.as_secs_f64();
            assert!((days - expected).abs() < 0.001, "{life}: {days}");
        }
    }
}

//! Whom a certificate of a webhook is believed, and what is told of one that is not.
//!
//! Chains are judged by the TLS library. A certificate that is itself in the bundle needs no chain: what generates
//! certificates for a webhook often signs one with itself, marks it as an authority's and puts it into `caBundle`. Such
//! a one is taken as Kubernetes takes it, by its bytes, and held to its dates, names and purpose like any other.

use std::error::Error;
use std::io;
use std::sync::Arc;

use object::time::Time;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::caller::CallError;

/// Judges certificates of services that are believed by these authorities, in PEM; for whoever calls them by other means.
pub fn judge(authorities: &[u8]) -> Result<Arc<dyn ServerCertVerifier>, CallError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    Ok(Arc::new(Trust::new(authorities, &provider)?))
}

/// Judges the certificates of one place.
#[derive(Debug)]
pub(crate) struct Trust {
    chains: Arc<WebPkiServerVerifier>,
    /// Certificates that are believed without a chain.
    pinned: Vec<CertificateDer<'static>>,
}

/// Why there is no connection, for whoever configured the webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// Nobody answers there.
    #[error("dial tcp {place}: {why}")]
    Dial {
        /// Host and port.
        place: String,
        /// Why.
        why: String,
    },
    /// Somebody does, and is not believed.
    #[error("{0}")]
    Handshake(String),
}

impl Trust {
    /// Believes these authorities, in PEM; those the machine trusts if there are none.
    pub(crate) fn new(
        authorities: &[u8],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, CallError> {
        let mut roots = RootCertStore::empty();
        let mut pinned = Vec::new();
        if authorities.is_empty() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        } else {
            // Upstream: what cannot be read is passed over, as long as there is one that can.
            for certificate in CertificateDer::pem_slice_iter(authorities).flatten() {
                if roots.add(certificate.clone()).is_ok() {
                    pinned.push(certificate);
                }
            }
        }
        let chains =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let chains = chains.build().map_err(|_| match authorities {
            [] => CallError::Nobody,
            _ => CallError::Authorities,
        })?;
        Ok(Self { chains, pinned })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pinned.iter().any(|known| known == end_entity) {
            return judge_alone(end_entity, name, now);
        }
        self.chains
            .verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Judges a certificate that is believed for what it is: whether it is one for this name, for servers, and for now.
fn judge_alone(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, rustls::Error> {
    let (_, read) =
        X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let (from, until) = (
        read.validity().not_before.timestamp(),
        read.validity().not_after.timestamp(),
    );
    let moment = |seconds: i64| {
        let seconds = u64::try_from(seconds).unwrap_or_default();
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
    };
    if seconds < from {
        return Err(CertificateError::NotValidYetContext {
            time: now,
            not_before: moment(from),
        }
        .into());
    }
    if seconds > until {
        return Err(CertificateError::ExpiredContext {
            time: now,
            not_after: moment(until),
        }
        .into());
    }
    let usage = read.extended_key_usage();
    let usage = usage.map_err(|_| CertificateError::BadEncoding)?;
    if usage.is_some_and(|usage| !usage.value.any && !usage.value.server_auth) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
    Ok(ServerCertVerified::assertion())
}

/// What became of a handshake, in words known from Kubernetes where there are some.
pub(crate) fn explain_handshake(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match tls {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("tls: failed to verify certificate: {}", explain(why))
        }
        Some(rustls::Error::AlertReceived(alert)) => {
            format!("tls: the server ended the handshake with the alert {alert:?}")
        }
        Some(rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. }) => {
            "tls: the server does not speak TLS".to_owned()
        }
        Some(rustls::Error::PeerIncompatible(_)) => {
            "tls: the server has no version of TLS, or no cipher, in common with this one"
                .to_owned()
        }
        Some(_) => "tls: the handshake failed".to_owned(),
        None if is_end(error) => "tls: the server hung up during the handshake".to_owned(),
        None => format!("tls: {}", error.kind()),
    }
}

fn explain(error: &CertificateError) -> String {
    let expired = "x509: certificate has expired or is not yet valid";
    let shown = |time: &UnixTime| {
        Time::from_unix_seconds(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)).to_string()
    };
    match error {
        // A wrong signature is one by somebody else of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "x509: certificate signed by unknown authority".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            format!(
                "{expired}: current time {} is after {}",
                shown(time),
                shown(not_after)
            )
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!(
                "{expired}: current time {} is before {}",
                shown(time),
                shown(not_before)
            )
        }
        CertificateError::Expired | CertificateError::NotValidYet => expired.to_owned(),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected = expected.to_str();
            let presented: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            match presented.as_slice() {
                [] => format!(
                    "x509: certificate is not valid for any names, but wanted to match {expected}"
                ),
                _ => format!(
                    "x509: certificate is valid for {}, not {expected}",
                    presented.join(", ")
                ),
            }
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "x509: certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::BadEncoding => "x509: malformed certificate".to_owned(),
        CertificateError::Other(why) if is_authority(why) => {
            "x509: certificate is one of an authority, and not in caBundle itself".to_owned()
        }
        _ => "x509: certificate cannot be used".to_owned(),
    }
}

/// Whether a certificate is refused because it may sign others. The library names no variant of its own for it.
fn is_authority(error: &rustls::OtherError) -> bool {
    format!("{:?}", error.0) == "CaUsedAsEndEntity"
}

/// A name of a certificate without the sort of name it is, as the library shows it: `DnsName("a.b")`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.map_or(name, |inner| inner.trim_matches('"'))
}

/// Why a call came to nothing, without the names of the libraries that carried it.
pub(crate) fn explain_call(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    let mut is_broken = false;
    loop {
        if let Some(connecting) = root.downcast_ref::<ConnectError>() {
            return connecting.to_string();
        }
        if let Some(carrying) = root.downcast_ref::<hyper::Error>() {
            if carrying.is_parse() {
                return "what came back is not HTTP".to_owned();
            }
            is_broken = true;
        }
        is_broken |= root.downcast_ref::<io::Error>().is_some_and(is_end);
        match root.source() {
            Some(cause) => root = cause,
            None if is_broken => return "the server hung up before it had answered".to_owned(),
            None => return root.to_string(),
        }
    }
}

/// Whether the other side is gone.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

/// What kept a connection from being opened, as the system calls it.
pub(crate) fn explain_dial(host: &str, port: u16, error: &io::Error) -> ConnectError {
    let why = match error.raw_os_error() {
        Some(_) => format!("connect: {}", error.kind()),
        None => error.to_string(),
    };
    let place = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    ConnectError::Dial { place, why }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rcgen::{
        BasicConstraints, Certificate, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer,
        KeyPair,
    };

    use super::*;

    const NAME: &str = "hook.ops.svc";

    fn shaped(names: &[&str], shape: impl Fn(&mut CertificateParams)) -> CertificateParams {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        shape(&mut params);
        params
    }

    fn alone(names: &[&str], shape: impl Fn(&mut CertificateParams)) -> Certificate {
        let key = KeyPair::generate().unwrap();
        shaped(names, shape).self_signed(&key).unwrap()
    }

    /// A moment this many days from now.
    fn days(days: i64) -> UnixTime {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let seconds = i64::try_from(now.as_secs()).unwrap() + days * 24 * 3600;
        UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(seconds).unwrap()))
    }

    fn judged(bundle: &[&Certificate], shown: &Certificate, at: UnixTime) -> String {
        let pem: String = bundle.iter().map(|one| one.pem()).collect();
        let trust = Trust::new(pem.as_bytes(), &Arc::new(aws_lc_rs::default_provider())).unwrap();
        let name = ServerName::try_from(NAME).unwrap();
        match trust.verify_server_cert(shown.der(), &[], &name, &[], at) {
            Ok(_) => "believed".to_owned(),
            Err(rustls::Error::InvalidCertificate(why)) => explain(&why),
            Err(other) => other.to_string(),
        }
    }

    fn authority(params: &mut CertificateParams) {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }

    #[test]
    fn a_certificate_in_the_bundle_is_believed_within_its_dates_for_its_names_and_purpose() {
        let for_clients = |params: &mut CertificateParams| {
            authority(params);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        };
        let lasting = |params: &mut CertificateParams| {
            authority(params);
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        };
        let later = |params: &mut CertificateParams| {
            authority(params);
            params.not_before = rcgen::date_time_ymd(3020, 1, 1);
        };
        for (case, certificate, expected) in [
            (
                "signed by itself, an authority",
                alone(&[NAME], authority),
                "believed",
            ),
            ("signed by itself", alone(&[NAME], |_| {}), "believed"),
            ("a wildcard", alone(&["*.ops.svc"], authority), "believed"),
            (
                "another name",
                alone(&["other.ops.svc", "10.0.0.1"], authority),
                "x509: certificate is valid for other.ops.svc, 10.0.0.1, not hook.ops.svc",
            ),
            (
                "no name",
                alone(&[], authority),
                "x509: certificate is not valid for any names, but wanted to match hook.ops.svc",
            ),
            (
                "for clients only",
                alone(&[NAME], for_clients),
                "x509: certificate specifies an incompatible key usage",
            ),
            (
                "over",
                alone(&[NAME], lasting),
                "x509: certificate has expired or is not yet valid: current time ",
            ),
            (
                "not yet",
                alone(&[NAME], later),
                "x509: certificate has expired or is not yet valid: current time ",
            ),
        ] {
            let beside = alone(&[NAME], authority);
            let judged = judged(&[&beside, &certificate], &certificate, days(0));
            assert!(judged.starts_with(expected), "{case}: {judged}");
        }
    }

    #[test]
    fn only_the_same_bytes_need_no_chain() {
        let ours = alone(&[NAME], authority);
        // The same name and subject, another key.
        let forged = alone(&[NAME], authority);
        assert_eq!(
            judged(&[&ours], &forged, days(0)),
            "x509: certificate is one of an authority, and not in caBundle itself"
        );
        let stranger = alone(&[NAME], |_| {});
        assert_ne!(judged(&[&ours], &stranger, days(0)), "believed");
    }

    #[test]
    fn chains_are_judged_as_ever_and_a_certificate_of_a_chain_may_be_given_alone() {
        let key = KeyPair::generate().unwrap();
        let params = shaped(&[], authority);
        let root = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let own = KeyPair::generate().unwrap();
        let leaf = shaped(&[NAME], |_| {}).signed_by(&own, &issuer).unwrap();
        let other = alone(&["x"], authority);
        for (bundle, expected) in [
            ([&root].as_slice(), "believed"),
            (&[&leaf], "believed"),
            (&[&other, &root], "believed"),
            (&[&other], "x509: certificate signed by unknown authority"),
        ] {
            assert_eq!(judged(bundle, &leaf, days(0)), expected);
        }
        assert!(
            judged(&[&leaf], &leaf, days(1_000_000))
                .starts_with("x509: certificate has expired or is not yet valid")
        );
    }

    #[test]
    fn what_cannot_be_read_in_a_bundle_is_passed_over_unless_nothing_else_is_there() {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let good = alone(&[NAME], authority).pem();
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (bundle, is_usable) in [
            (format!("{broken}{good}"), true),
            (format!("{good}{broken}"), true),
            (broken.to_owned(), false),
            ("no PEM at all".to_owned(), false),
        ] {
            assert_eq!(
                Trust::new(bundle.as_bytes(), &provider).is_ok(),
                is_usable,
                "{bundle}"
            );
        }
    }

    #[test]
    fn causes_are_told_without_the_names_of_libraries() {
        let link = "peer closed connection: https://docs.rs/rustls";
        for (error, expected) in [
            (
                io::Error::new(io::ErrorKind::UnexpectedEof, link),
                "the server hung up before it had answered",
            ),
            (
                io::Error::other(explain_dial("::1", 1, &io::Error::from_raw_os_error(111))),
                "dial tcp [::1]:1: connect: connection refused",
            ),
        ] {
            assert_eq!(explain_call(&error), expected);
        }
    }
}

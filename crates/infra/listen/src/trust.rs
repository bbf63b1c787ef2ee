//! Which client certificates are believed.
//!
//! The TLS library sees that whoever shows a certificate has its key. Here it is seen, once the handshake is over, whether
//! an authority signed it, for clients, and whether it and its authority are in force. The library takes an authority for
//! good however old it is; Kubernetes does not.

use std::time::{Duration, SystemTime};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::identity::IdentityError;
use crate::peer::{CertifiedUser, certified_user};

/// A certificate for any use at all: 2.5.29.37.0.
const ANY_USE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// Judges client certificates.
#[derive(Debug)]
pub(crate) struct ClientTrust {
    anchors: Vec<TrustAnchor<'static>>,
    /// From when to when each of the anchors is in force, in seconds since 1970.
    validities: Vec<(i64, i64)>,
    /// What clients that have several certificates choose by.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientTrust {
    /// Believes these authorities, in PEM.
    pub(crate) fn new(pem: &str, provider: &CryptoProvider) -> Result<Self, IdentityError> {
        let mut trust = Self {
            anchors: Vec::new(),
            validities: Vec::new(),
            hints: Vec::new(),
            algorithms: provider.signature_verification_algorithms,
        };
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate?;
            let anchor = anchor_from_trusted_cert(&certificate);
            let anchor = anchor.map_err(|_| IdentityError::Authority)?.to_owned();
            let (_, parsed) =
                X509Certificate::from_der(&certificate).map_err(|_| IdentityError::Authority)?;
            let validity = parsed.validity();
            let (begin, end) = (&validity.not_before, &validity.not_after);
            trust.validities.push((begin.timestamp(), end.timestamp()));
            trust
                .hints
                .push(DistinguishedName::in_sequence(anchor.subject.as_ref()));
            trust.anchors.push(anchor);
        }
        match trust.anchors.is_empty() {
            true => Err(IdentityError::Authority),
            false => Ok(trust),
        }
    }

    /// The user that a chain of certificates names, whose first is their own; `None` if none is shown or it names nobody.
    ///
    /// # Errors
    /// Why it is not believed.
    pub(crate) fn judge(
        &self,
        shown: &[CertificateDer<'_>],
        now: SystemTime,
    ) -> Result<Option<CertifiedUser>, String> {
        let Some((own, others)) = shown.split_first() else {
            return Ok(None);
        };
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let since: Duration = since.unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let leaf = EndEntityCert::try_from(own).map_err(|error| error.to_string())?;
        let in_force = |path: &VerifiedPath<'_>| match self.end_of(path.anchor(), seconds) {
            Some(_) => Ok(()),
            None => Err(webpki::Error::UnknownIssuer),
        };
        let verify = |usage: KeyUsage| {
            leaf.verify_for_usage(
                self.algorithms.all,
                &self.anchors,
                others,
                UnixTime::since_unix_epoch(since),
                usage,
                None,
                Some(&in_force),
            )
        };
        // Upstream: a certificate for any use is one for clients too.
        let path = verify(KeyUsage::client_auth())
            .or_else(|error| verify(KeyUsage::required(ANY_USE)).map_err(|_| error))
            .map_err(|error| error.to_string())?;
        let end = self.end_of(path.anchor(), seconds);
        let user = certified_user(own, others.iter().map(AsRef::as_ref));
        Ok(user.map(|user| CertifiedUser {
            ends: end.map_or(user.ends, |end| end.min(user.ends)),
            ..user
        }))
    }

    /// Until when an authority is in force; `None` if it is not now.
    fn end_of(&self, anchor: &TrustAnchor<'_>, now: i64) -> Option<i64> {
        let all = || self.anchors.iter().zip(&self.validities);
        // One that was made anew with the same name and key is the same to whoever verifies by it.
        let is_same = |known: &TrustAnchor<'_>| {
            known.subject == anchor.subject
                && known.subject_public_key_info == anchor.subject_public_key_info
        };
        // One that has begun by the time another ends goes on for it; one that begins later does not yet count.
        let later_than = |end: i64| {
            let same = all().filter(|(known, _)| is_same(known));
            let later = same.filter(|(_, validity)| validity.0 <= end && end < validity.1);
            later.map(|(_, validity)| validity.1).max()
        };
        std::iter::successors(later_than(now), |end| later_than(*end)).last()
    }
}

impl ClientCertVerifier for ClientTrust {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    /// Whether it is believed is decided by [`ClientTrust::judge`].
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let why = rustls::PeerIncompatible::Tls12NotOffered;
        Err(rustls::Error::PeerIncompatible(why))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn nobody_is_believed_longer_than_the_authority_that_vouches_for_them() {
        let at = |seconds| OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (at(1000), at(2000));
        let root = params.self_signed(&key).unwrap();
        // The same name and key, made to last: whoever shows it beside their own certificate gains nothing.
        params.not_after = at(9000);
        let longer = params.self_signed(&key).unwrap();
        // The same once more, of which one takes over in time and one too late.
        let renewed = [1500, 3000].map(|begin| {
            params.not_before = at(begin);
            root.pem() + &params.self_signed(&key).unwrap().pem()
        });
        let [in_time, too_late] = &renewed;
        let issuer = Issuer::new(params, key);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ann");
        (params.not_before, params.not_after) = (at(500), at(5000));
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, &issuer).unwrap();
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let trust = |pem: &str| ClientTrust::new(pem, &provider).unwrap();
        let (one, both) = (root.pem(), root.pem() + &longer.pem());
        for (pem, beside, now, expected) in [
            (&one, None, 999, None),
            (&one, None, 1000, Some(2000)),
            (&one, None, 1999, Some(2000)),
            (&one, None, 2000, None),
            (&one, Some(&longer), 2000, None),
            (&one, Some(&longer), 1999, Some(2000)),
            (&both, None, 2000, Some(5000)),
            (&both, None, 5001, None),
            (in_time, None, 1200, Some(5000)),
            (in_time, None, 2000, Some(5000)),
            (too_late, None, 1200, Some(2000)),
            (too_late, None, 2500, None),
            (too_late, None, 3000, Some(5000)),
        ] {
            let mut shown = vec![leaf.der().clone()];
            shown.extend(beside.map(|other| other.der().clone()));
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
            let judged = trust(pem).judge(&shown, now).ok();
            let ends = judged.map(|user| user.unwrap().ends);
            assert_eq!(ends, expected, "{now:?}");
        }
        assert_eq!(trust(&one).judge(&[], SystemTime::UNIX_EPOCH), Ok(None));
    }
}

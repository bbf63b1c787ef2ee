//! Who is at the other end of a connection, as far as the connection tells.

use std::net::SocketAddr;

use aws_lc_rs::digest;
use x509_parser::asn1_rs::{Oid, oid};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where from.
    pub address: SocketAddr,
    /// The user a verified client certificate names; `None` if there was none.
    pub user: Option<CertifiedUser>,
    /// Whether a certificate was shown that cannot be believed. Whoever shows one is not taken for one who shows nothing.
    pub is_distrusted: bool,
}

/// A user as a certificate names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedUser {
    /// The common name.
    pub name: String,
    /// The organisations.
    pub groups: Vec<String>,
    /// The uid among the names, if there is one.
    pub uid: String,
    /// The certificate itself: the SHA-256 of it, in hexadecimal.
    pub fingerprint: String,
    /// When the certificate ends, or one of those that were shown to vouch for it, in seconds since 1970. A connection
    /// outlives it.
    pub ends: i64,
    /// Whether it says no more than one uid, and that one is no empty text. Upstream: nobody is believed otherwise.
    pub is_plain: bool,
}

/// The name of a uid in a certificate, as Kubernetes has it registered.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// Reads a certificate the way Kubernetes does: the last common name counts, and one without names nobody. It was
/// verified by then, with `others` that were shown beside it.
pub(crate) fn certified_user<'a>(
    der: &[u8],
    others: impl IntoIterator<Item = &'a [u8]>,
) -> Option<CertifiedUser> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?.to_owned();
    let wanted = UID;
    let mut uids = subject.iter_by_oid(&wanted).map(|uid| uid.as_str());
    let uid = match (uids.next(), uids.next()) {
        (None, _) => Some(""),
        (Some(Ok(uid)), None) if !uid.is_empty() => Some(uid),
        _ => None,
    };
    if name.is_empty() {
        return None;
    }
    let groups = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok())
        .map(str::to_owned)
        .collect();
    let digest = digest::digest(&digest::SHA256, der);
    let fingerprint = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    Some(CertifiedUser {
        name,
        groups,
        uid: uid.unwrap_or_default().to_owned(),
        is_plain: uid.is_some(),
        fingerprint: fingerprint.collect(),
        ends: end(&certificate, others),
    })
}

/// When a certificate can no longer be verified by those shown beside it. Some of these may have nothing to do with it,
/// and of two that vouch for the same the one that lasts longer does.
fn end<'a>(certificate: &X509Certificate<'_>, others: impl IntoIterator<Item = &'a [u8]>) -> i64 {
    let ends = |certificate: &X509Certificate<'_>| certificate.validity().not_after.timestamp();
    let others = others.into_iter().map(X509Certificate::from_der);
    let mut others: Vec<X509Certificate<'_>> = others
        .flatten()
        .map(|(_, certificate)| certificate)
        .collect();
    others.sort_by_key(ends);
    let mut end = ends(certificate);
    let mut issuer = certificate.issuer().as_raw().to_vec();
    // Whoever vouches for themselves is among the others once, and then taken out.
    while let Some(place) = others
        .iter()
        .rposition(|other| other.subject().as_raw() == issuer)
    {
        let vouching = others.remove(place);
        end = end.min(ends(&vouching));
        issuer = vouching.issuer().as_raw().to_vec();
    }
    end
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair};

    use super::*;

    #[test]
    fn a_certificate_says_who_somebody_is_by_its_subject() {
        let uid = || DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        for (names, expected) in [
            (vec![(DnType::CommonName, "ann")], Some("ann  []")),
            (
                vec![
                    (DnType::CommonName, "ann"),
                    (DnType::OrganizationName, "ops"),
                    (uid(), "7"),
                ],
                Some("ann 7 [ops]"),
            ),
            (
                vec![(DnType::CommonName, "ann"), (uid(), "")],
                Some("ann  [] not believed"),
            ),
            (vec![(DnType::OrganizationName, "ops")], None),
            (vec![(DnType::CommonName, "")], None),
        ] {
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            for (kind, text) in names {
                params.distinguished_name.push(kind, text);
            }
            let key = KeyPair::generate().unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let found = certified_user(certificate.der(), []);
            let shown = found.as_ref().map(|user| {
                assert_eq!(user.fingerprint.len(), 64);
                let doubt = if user.is_plain { "" } else { " not believed" };
                let groups = user.groups.join(",");
                format!("{} {} [{groups}]{doubt}", user.name, user.uid)
            });
            assert_eq!(shown.as_deref(), expected);
        }
    }

    #[test]
    fn nobody_has_two_uids() {
        // CN=ann and twice the name of a uid.
        const TWO: &[u8] = b"\
-----BEGIN CERTIFICATE-----\n\
MIIBXzCCAQUCFE2k2hYRvHvb/Jf3ifDusCYaikfkMAoGCCqGSM49BAMCMDIxDDAK\n\
BgNVBAMMA2FubjEQMA4GCSsGAQQBg8JTAgwBNzEQMA4GCSsGAQQBg8JTAgwBODAe\n\
Fw0yNjExMTgwNTU5MjhaFw0zNjExMTUwNTU5MjhaMDIxDDAKBgNVBAMMA2FubjEQ\n\
MA4GCSsGAQQBg8JTAgwBNzEQMA4GCSsGAQQBg8JTAgwBODBZMBMGByqGSM49AgEG\n\
CCqGSM49AwEHA0IABK5piCOdBm9YAlzGdSnFqvUWytPxw1UCcXFhEbVnq5PskE9E\n\
UOzElwI7ydgbNqtatjixzKv89o3k2pbmVrHp1mYwCgYIKoZIzj0EAwIDSAAwRQIg\n\
FsT4bQooZlZU9a1isUWSQ0AXXXiTtwn8BSRX29TwOgUCIQDWhv6LvOH3shNAACLL\n\
bcXChJghE9THxS2skNcYP66vMQ==\n\
-----END CERTIFICATE-----\n";
        let pem = x509_parser::pem::Pem::iter_from_buffer(TWO).next().unwrap();
        let found = certified_user(&pem.unwrap().contents, []).unwrap();
        assert_eq!((found.name.as_str(), found.uid.as_str()), ("ann", ""));
        assert!(!found.is_plain);
    }

    #[test]
    fn a_certificate_ends_with_the_first_of_those_that_vouch_for_it() {
        let made = |name: &str, end: i64, issuer: Option<(&str, &KeyPair)>| {
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
            params.not_after = time::OffsetDateTime::from_unix_timestamp(end).unwrap();
            let key = KeyPair::generate().unwrap();
            match issuer {
                None => params.self_signed(&key).unwrap(),
                Some((name, signing)) => {
                    let mut above = CertificateParams::default();
                    above.distinguished_name = DistinguishedName::new();
                    above.distinguished_name.push(DnType::CommonName, name);
                    let issuer = Issuer::from_params(&above, signing);
                    params.signed_by(&key, &issuer).unwrap()
                }
            }
        };
        let key = KeyPair::generate().unwrap();
        let leaf = made("ann", 5000, Some(("middle", &key)));
        let middle = |end| made("middle", end, Some(("root", &key)));
        let stranger = made("stranger", 10, None);
        for (others, expected) in [
            (vec![], 5000),
            (vec![middle(4000)], 4000),
            (vec![middle(6000)], 5000),
            (vec![middle(3000), middle(4000)], 4000),
            (vec![made("root", 2000, None), middle(4000)], 2000),
            (vec![stranger], 5000),
        ] {
            let others = others.iter().map(|other| &**other.der());
            let found = certified_user(leaf.der(), others).unwrap();
            assert_eq!(found.ends, expected);
        }
    }
}

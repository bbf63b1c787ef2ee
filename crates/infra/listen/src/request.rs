//! Requests for certificates: a public key and the names its owner wants to go by.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
    SanType, SubjectPublicKeyInfo,
};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::error::X509Error;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{
    OID_EC_P256, OID_NIST_EC_P384, OID_NIST_EC_P521, OID_SIG_ECDSA_WITH_SHA256,
    OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512,
};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

use crate::authority::{Authority, AuthorityError};

/// A request whose own signature is right.
pub struct SigningRequest {
    params: CertificateParams,
    key: SubjectPublicKeyInfo,
    /// The common name. Of several the last counts, as in a certificate.
    pub name: String,
    /// All organisations.
    pub groups: Vec<String>,
    /// Host names it wants to go by.
    pub dns_names: Vec<String>,
    /// How many addresses it wants to go by.
    pub addresses: usize,
    /// How many other names it wants to go by: mail addresses, URIs.
    pub other_names: usize,
    /// Whether its subject says anything but organisations more than once; a certificate would have the last alone.
    pub repeats: bool,
}

/// What a certificate may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Signing what is sent.
    DigitalSignature,
    /// Encrypting keys.
    KeyEncipherment,
    /// Saying who one is to servers.
    ClientAuth,
    /// Saying who one is to clients.
    ServerAuth,
}

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It is not PEM of type `CERTIFICATE REQUEST`.
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    Pem,
    /// The block is no request.
    #[error("the PEM block is not a certificate request")]
    Malformed,
    /// It is not signed by the key it is for.
    #[error("the certificate request is not signed by its own key")]
    Signature,
    /// It has a key, or is signed in a way, that is not known here.
    #[error("the certificate request has a key or a signature of a sort that is not known")]
    Algorithm,
    /// It wants to go by names that are not known here.
    #[error(
        "the certificate request is for names of a sort that is not known, or that are malformed"
    )]
    Names,
    /// A name of it is no text.
    #[error("the subject of the certificate request is not text")]
    Subject,
}

impl SigningRequest {
    /// Reads a request and checks its signature.
    pub fn parse(pem: &[u8]) -> Result<Self, RequestError> {
        let block = block(pem)?;
        let request = decode(&block)?;
        check_signature(&request)?;
        let info = &request.certification_request_info;
        let key = SubjectPublicKeyInfo::from_der(info.subject_pki.raw)
            .map_err(|_| RequestError::Algorithm)?;
        let mut params = CertificateParams::default();
        let repeats = fill_subject(&info.subject, &mut params.distinguished_name)?;
        params.subject_alt_names = other_names(&request)?;
        let names = &params.subject_alt_names;
        let dns_names = names.iter().filter_map(|name| match name {
            SanType::DnsName(name) => Some(name.as_str().to_owned()),
            _ => None,
        });
        let dns_names: Vec<String> = dns_names.collect();
        let addresses = names
            .iter()
            .filter(|name| matches!(name, SanType::IpAddress(_)))
            .count();
        let other_names = names.len() - dns_names.len() - addresses;
        let name = info.subject.iter_common_name().last();
        let name = name.map(|name| name.as_str().map_err(|_| RequestError::Subject));
        Ok(Self {
            name: name.transpose()?.unwrap_or_default().to_owned(),
            groups: groups(&info.subject)?,
            dns_names,
            addresses,
            other_names,
            repeats,
            params,
            key,
        })
    }
}

/// The organisations a request names, whoever signed it.
///
/// # Errors
/// When it is no request, or one of them is no text.
pub fn requested_groups(pem: &[u8]) -> Result<Vec<String>, RequestError> {
    let block = block(pem)?;
    groups(&decode(&block)?.certification_request_info.subject)
}

/// The bytes of a request. Upstream: the first block counts.
pub(crate) fn block(pem: &[u8]) -> Result<Vec<u8>, RequestError> {
    let block = Pem::iter_from_buffer(pem).next().and_then(Result::ok);
    let block = block.filter(|block| block.label == "CERTIFICATE REQUEST");
    Ok(block.ok_or(RequestError::Pem)?.contents)
}

pub(crate) fn decode(der: &[u8]) -> Result<X509CertificationRequest<'_>, RequestError> {
    let (rest, request) =
        X509CertificationRequest::from_der(der).map_err(|_| RequestError::Malformed)?;
    match rest.is_empty() {
        true => Ok(request),
        false => Err(RequestError::Malformed),
    }
}

/// Checks that a request is signed by the key it is for.
pub(crate) fn check_signature(request: &X509CertificationRequest<'_>) -> Result<(), RequestError> {
    match request.verify_signature() {
        Ok(()) => return Ok(()),
        Err(X509Error::SignatureUnsupportedAlgorithm) => {}
        Err(_) => return Err(RequestError::Signature),
    }
    let info = &request.certification_request_info;
    let algorithm = other_algorithm(request).ok_or(RequestError::Algorithm)?;
    UnparsedPublicKey::new(algorithm, &info.subject_pki.subject_public_key.data)
        .verify(info.raw, &request.signature_value.data)
        .map_err(|_| RequestError::Signature)
}

/// How a signature is verified that the library which reads requests does not know.
fn other_algorithm(
    request: &X509CertificationRequest<'_>,
) -> Option<&'static dyn VerificationAlgorithm> {
    let key = &request.certification_request_info.subject_pki.algorithm;
    let curve = key.parameters.as_ref()?.as_oid().ok()?;
    let hash = &request.signature_algorithm.algorithm;
    Some(if curve == OID_NIST_EC_P521 {
        match hash {
            hash if *hash == OID_SIG_ECDSA_WITH_SHA256 => &signature::ECDSA_P521_SHA256_ASN1,
            hash if *hash == OID_SIG_ECDSA_WITH_SHA384 => &signature::ECDSA_P521_SHA384_ASN1,
            hash if *hash == OID_SIG_ECDSA_WITH_SHA512 => &signature::ECDSA_P521_SHA512_ASN1,
            _ => return None,
        }
    } else if *hash != OID_SIG_ECDSA_WITH_SHA512 {
        return None;
    } else if curve == OID_NIST_EC_P384 {
        &signature::ECDSA_P384_SHA512_ASN1
    } else if curve == OID_EC_P256 {
        &signature::ECDSA_P256_SHA512_ASN1
    } else {
        return None;
    })
}

fn groups(subject: &X509Name<'_>) -> Result<Vec<String>, RequestError> {
    let groups = subject.iter_organization().map(|group| {
        let group = group.as_str().map_err(|_| RequestError::Subject)?;
        Ok(group.to_owned())
    });
    groups.collect()
}

/// Takes a subject over, one attribute after the other, however they are grouped; says whether one but the organisation
/// is there more than once.
fn fill_subject(
    subject: &X509Name<'_>,
    filled: &mut DistinguishedName,
) -> Result<bool, RequestError> {
    *filled = DistinguishedName::new();
    let mut repeats = false;
    for attribute in subject.iter_attributes() {
        let kind = attribute.attr_type().iter().ok_or(RequestError::Subject)?;
        let kind = DnType::from_oid(&kind.collect::<Vec<u64>>());
        let text = attribute.as_str().map_err(|_| RequestError::Subject)?;
        repeats |= kind != DnType::OrganizationName && filled.get(&kind).is_some();
        filled.push(kind, text);
    }
    Ok(repeats)
}

/// The names a request wants to go by beside its subject. Upstream: what else it asks for is not looked at.
fn other_names(request: &X509CertificationRequest<'_>) -> Result<Vec<SanType>, RequestError> {
    let mut names = Vec::new();
    for extension in request.requested_extensions().into_iter().flatten() {
        match extension {
            ParsedExtension::SubjectAlternativeName(asked) => {
                for name in &asked.general_names {
                    names.push(other_name(name).ok_or(RequestError::Names)?);
                }
            }
            ParsedExtension::ParseError { .. } => return Err(RequestError::Malformed),
            _ => {}
        }
    }
    Ok(names)
}

fn other_name(name: &GeneralName<'_>) -> Option<SanType> {
    Some(match name {
        GeneralName::RFC822Name(name) => SanType::Rfc822Name((*name).try_into().ok()?),
        GeneralName::DNSName(name) => SanType::DnsName((*name).try_into().ok()?),
        GeneralName::URI(name) => SanType::URI((*name).try_into().ok()?),
        GeneralName::IPAddress(octets) => {
            let short = <[u8; 4]>::try_from(*octets).map(IpAddr::from);
            let long = <[u8; 16]>::try_from(*octets).map(IpAddr::from);
            SanType::IpAddress(short.or(long).ok()?)
        }
        _ => return None,
    })
}

impl Authority {
    /// Signs a request as it is, for these usages and this long. Whether it ought to be is the caller's to say.
    pub fn sign(
        &self,
        request: SigningRequest,
        usages: &[Usage],
        life: Duration,
        now: SystemTime,
    ) -> Result<String, AuthorityError> {
        let SigningRequest {
            mut params, key, ..
        } = request;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = Vec::new();
        params.extended_key_usages = Vec::new();
        for usage in usages {
            match usage {
                Usage::DigitalSignature => {
                    params.key_usages.push(KeyUsagePurpose::DigitalSignature);
                }
                Usage::KeyEncipherment => params.key_usages.push(KeyUsagePurpose::KeyEncipherment),
                Usage::ClientAuth => params
                    .extended_key_usages
                    .push(ExtendedKeyUsagePurpose::ClientAuth),
                Usage::ServerAuth => params
                    .extended_key_usages
                    .push(ExtendedKeyUsagePurpose::ServerAuth),
            }
        }
        (params.not_before, params.not_after) = self.validity(life, now)?;
        let certificate = params
            .signed_by(&key, self.issuer())
            .map_err(|source| AuthorityError::Issue { source })?;
        Ok(certificate.pem())
    }
}

#[cfg(test)]
mod tests;

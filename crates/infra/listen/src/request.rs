//! Requests for certificates: a public key and the names its owner wants to go by.

use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateSigningRequestParams, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use crate::authority::{Authority, AuthorityError, validity};

/// A request whose own signature is right.
pub struct SigningRequest {
    params: CertificateSigningRequestParams,
    /// The common name.
    pub name: String,
    /// All organisations.
    pub groups: Vec<String>,
    /// Host names it wants to go by.
    pub dns_names: Vec<String>,
    /// How many addresses it wants to go by.
    pub addresses: usize,
    /// How many other names it wants to go by: mail addresses, URIs.
    pub other_names: usize,
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
    /// It is no request, its signature is wrong, or it asks for what is not known here.
    #[error("the certificate request cannot be read")]
    Unreadable(#[from] rcgen::Error),
    /// A name of it is no text.
    #[error("the subject of the certificate request is not text")]
    Subject,
}

impl SigningRequest {
    /// Reads a request and checks its signature.
    pub fn parse(pem: &[u8]) -> Result<Self, RequestError> {
        let der =
            CertificateSigningRequestDer::from_pem_slice(pem).map_err(|_| RequestError::Pem)?;
        let params = CertificateSigningRequestParams::from_der(&der)?;
        let (_, request) =
            X509CertificationRequest::from_der(&der).map_err(|_| RequestError::Pem)?;
        let subject = &request.certification_request_info.subject;
        let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            let text = attribute.as_str().map_err(|_| RequestError::Subject)?;
            Ok(text.to_owned())
        };
        let name = subject.iter_common_name().next().map(text).transpose()?;
        let groups = subject
            .iter_organization()
            .map(text)
            .collect::<Result<_, RequestError>>()?;
        let names = &params.params.subject_alt_names;
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
        Ok(Self {
            name: name.unwrap_or_default(),
            groups,
            dns_names,
            addresses,
            other_names,
            params,
        })
    }
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
            params: mut request,
            ..
        } = request;
        let params = &mut request.params;
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
        (params.not_before, params.not_after) = validity(life, now);
        let certificate = request
            .signed_by(self.issuer())
            .map_err(|source| AuthorityError::Issue { source })?;
        Ok(certificate.pem())
    }
}

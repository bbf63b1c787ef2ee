//! The certificate a server shows, replaced while it runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};

use crate::authority::Issued;
use crate::trust::ClientTrust;

/// The certificate a server shows. Clones share it: replacing it in one replaces it in all.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

/// Why a certificate cannot be shown, or an authority not be trusted.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The text is no certificate or no key.
    #[error("the certificate or key is not valid PEM")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The TLS library does not take it.
    #[error("the certificate and key cannot be used for TLS")]
    Unusable(#[from] rustls::Error),
    /// The authority clients are checked against cannot be used.
    #[error("the client authority cannot be used")]
    Authority,
}

/// What a listener shows and whom it believes. The handshake lets every client certificate pass whose key its holder has:
/// whether it is believed is decided afterwards, so that whoever shows a bad one is told so, or is known by a token.
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) trust: Arc<ClientTrust>,
}

impl ServerIdentity {
    /// Shows a certificate.
    pub fn new(issued: &Issued) -> Result<Self, IdentityError> {
        let key = certified_key(issued)?;
        Ok(Self {
            current: Arc::new(Current(ArcSwap::from_pointee(key))),
        })
    }

    /// Shows another certificate from the next handshake on; open connections go on.
    pub fn replace(&self, issued: &Issued) -> Result<(), IdentityError> {
        self.current.0.store(Arc::new(certified_key(issued)?));
        Ok(())
    }

    /// TLS 1.3 with this identity; client certificates are asked for, not demanded, and must come from this authority.
    pub fn tls_config(&self, client_authority_pem: &str) -> Result<Tls, IdentityError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let trust = Arc::new(ClientTrust::new(client_authority_pem, &provider)?);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(Arc::clone(&trust) as Arc<dyn ClientCertVerifier>)
            .with_cert_resolver(Arc::clone(&self.current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls {
            config: Arc::new(config),
            trust,
        })
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn certified_key(issued: &Issued) -> Result<CertifiedKey, IdentityError> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes())
            .collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes())?;
    Ok(CertifiedKey::from_der(
        chain,
        key,
        &aws_lc_rs::default_provider(),
    )?)
}

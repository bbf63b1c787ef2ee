//! How callers are spoken to: in the clear, or with certificates.

use std::sync::Arc;

use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};

/// Certificates, as PEM texts.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The own certificate and those between it and its authority.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// Who signs the certificates of callers; `None` lets anybody ask.
    pub client_authority: Option<String>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A text is not PEM, or has nothing of what is wanted.
    #[error("the {what} cannot be read")]
    Pem {
        /// Which text.
        what: &'static str,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// There is no certificate in the text.
    #[error("the {what} has no certificate")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// Certificate and key do not belong together, or are of a kind that is not spoken here.
    #[error("certificate and key cannot be used")]
    Identity(#[source] rustls::Error),
    /// The authority of callers cannot be used.
    #[error("the authority of callers cannot be used")]
    ClientAuthority(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Tls {
    /// TLS 1.3 and HTTP/2 with these certificates.
    pub(crate) fn config(&self) -> Result<ServerConfig, TlsError> {
        let chain = certificates("certificate", &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        let key = key.map_err(|source| TlsError::Pem {
            what: "key",
            source,
        })?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(TlsError::Identity)?;
        let builder = match &self.client_authority {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let refused = |error| TlsError::ClientAuthority(error);
                let mut roots = RootCertStore::empty();
                for certificate in certificates("authority of callers", authority)? {
                    roots
                        .add(certificate)
                        .map_err(|error| refused(Box::new(error)))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = verifier.build().map_err(|error| refused(Box::new(error)))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(TlsError::Identity)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn certificates(what: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let read = read.map_err(|source| TlsError::Pem { what, source })?;
    if read.is_empty() {
        return Err(TlsError::Empty { what });
    }
    Ok(read)
}

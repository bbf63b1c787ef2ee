//! TLS with whoever answers, whatever certificate they show: `--insecure-skip-estimator-verify`.
//!
//! For estimators whose certificates cannot be checked, in places where nobody else can listen on their address.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject as _},
    },
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("the own certificate or key cannot be read")]
    Pem(#[source] pem::Error),
    #[error("the own certificate and key cannot be used")]
    Identity(#[source] rustls::Error),
}

/// Connects to an address and believes whoever is there.
#[derive(Clone)]
pub(super) struct Unverified {
    tls: TlsConnector,
}

impl Unverified {
    /// With the own certificate and key, if there are any; PEM texts.
    pub(super) fn new(identity: Option<&(String, String)>) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Identity)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)));
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
                let chain = chain.collect::<Result<Vec<_>, _>>();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
                config
                    .with_client_auth_cert(
                        chain.map_err(TlsError::Pem)?,
                        key.map_err(TlsError::Pem)?,
                    )
                    .map_err(TlsError::Identity)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            tls: TlsConnector::from(Arc::new(config)),
        })
    }
}

impl Service<Uri> for Unverified {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let tls = self.tls.clone();
        Box::pin(async move {
            let host = address.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let port = address.port_u16().unwrap_or(443);
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            Ok(TokioIo::new(tls.connect(name, stream).await?))
        })
    }
}

/// Accepts every certificate; the handshake must still be signed with its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.0.signature_verification_algorithms;
        known.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use runtime::Tasks;
    use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::estimator::{EstimatorSettings, Tls, Trusted};

    /// A certificate for `localhost` that signed itself, and its key.
    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn read(
        (certificate, key): &(String, String),
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        (
            certificate,
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
    }

    /// Shakes hands with whoever comes, and wants to see the certificate of `caller` if there is one.
    async fn listen(
        own: &(String, String),
        caller: Option<&(String, String)>,
        tasks: &mut Tasks,
    ) -> u16 {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = match caller {
            None => builder.with_no_client_auth(),
            Some(caller) => {
                let mut roots = RootCertStore::empty();
                roots.add(read(caller).0).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let (certificate, key) = read(own);
        let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tasks.spawn("estimator", move |stop| async move {
            let mut held = Vec::new();
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    Ok((stream, _)) = listener.accept() => {
                        held.extend(acceptor.accept(stream).await.ok());
                    }
                }
            }
        });
        port
    }

    #[tokio::test]
    async fn certificates_are_believed_as_far_as_they_shall_be() {
        let (own, other, caller) = (certificate(), certificate(), certificate());
        let mut tasks = Tasks::new();
        let open = listen(&own, None, &mut tasks).await;
        let strict = listen(&own, Some(&caller), &mut tasks).await;
        let signed_by = |signer: &(String, String)| Trusted::SignedBy(signer.0.clone());
        let cases = [
            ("signed as expected", open, signed_by(&own), None, true),
            ("signed by another", open, signed_by(&other), None, false),
            ("whoever it is", open, Trusted::Anybody, None, true),
            (
                "showing one's own",
                strict,
                Trusted::Anybody,
                Some(caller.clone()),
                true,
            ),
        ];
        for (claim, port, trust, identity, expected) in cases {
            let settings = EstimatorSettings {
                tls: Some(Tls { trust, identity }),
                ..EstimatorSettings::default()
            };
            let way = settings.way(&format!("localhost:{port}")).unwrap();
            assert_eq!(way.now().await.is_ok(), expected, "{claim}");
        }
        let unreadable = Some(("no certificate".to_owned(), "no key".to_owned()));
        let Err(problem) = Unverified::new(unreadable.as_ref()) else {
            panic!("a text is no certificate")
        };
        assert_eq!(
            problem.to_string(),
            "the own certificate or key cannot be read"
        );
    }
}

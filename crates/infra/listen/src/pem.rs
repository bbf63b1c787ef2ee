//! Whether what others hand in as PEM is what it says it is.

use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::request::{RequestError, block, check_signature, decode};

/// Why something is no chain of certificates.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChainError {
    /// There is none.
    #[error("must contain at least one CERTIFICATE PEM block")]
    Empty,
    /// There is something else.
    #[error("only CERTIFICATE PEM blocks are allowed, found {found:?}")]
    Other {
        /// What it says it is.
        found: String,
    },
    /// A block is broken off, has headers, or is not base64.
    #[error("a PEM block cannot be decoded")]
    Pem,
    /// A block says it is a certificate and is none.
    #[error("a CERTIFICATE PEM block contains no certificate")]
    Certificate,
}

/// Checks that text is a request for a certificate, signed by the key it is for. Signatures of sorts that are not known
/// here are left to whoever signs the request.
///
/// # Errors
/// When it is none, or the signature is wrong.
pub fn check_request(pem: &[u8]) -> Result<(), RequestError> {
    let block = block(pem)?;
    match check_signature(&decode(&block)?) {
        Err(RequestError::Algorithm) => Ok(()),
        checked => checked,
    }
}

/// Checks that text is certificates and nothing else.
///
/// # Errors
/// When it is not.
pub fn check_certificates(pem: &[u8]) -> Result<(), ChainError> {
    let mut count = 0;
    for block in Pem::iter_from_buffer(pem) {
        let block = block.map_err(|_| ChainError::Pem)?;
        if block.label != "CERTIFICATE" {
            return Err(ChainError::Other { found: block.label });
        }
        let mut rest = block.contents.as_slice();
        loop {
            let parsed = X509Certificate::from_der(rest);
            (rest, _) = parsed.map_err(|_| ChainError::Certificate)?;
            if rest.is_empty() {
                break;
            }
        }
        count += 1;
    }
    if count == 0 {
        return Err(ChainError::Empty);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn parts() -> (String, String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::default();
        let request = params.serialize_request(&key).unwrap().pem().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        (request, certificate, key.serialize_pem())
    }

    #[test]
    fn a_request_is_one_and_signed() {
        let (request, certificate, key) = parts();
        let check = |text: &str| check_request(text.as_bytes()).map_err(|why| why.to_string());
        let no_block = Err("PEM block type must be CERTIFICATE REQUEST".to_owned());
        let junk = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        assert_eq!(check(&request), Ok(()));
        assert_eq!(check(&format!("hello\n{request}")), Ok(()));
        assert_eq!(check("hello"), no_block);
        assert_eq!(check(&key), no_block);
        assert_eq!(check(&format!("{certificate}{request}")), no_block);
        assert_eq!(
            check(junk),
            Err("the PEM block is not a certificate request".to_owned())
        );
        // Another character within the signature, which comes last: the request is as long as before, and not signed.
        let mut broken: Vec<char> = request.chars().collect();
        let end = request.rfind("\n-----END").unwrap() - 16;
        broken[end] = if broken[end] == 'A' { 'B' } else { 'A' };
        let broken: String = broken.into_iter().collect();
        assert!(check(&broken).is_err(), "{broken}");
    }

    #[test]
    fn a_chain_is_certificates_and_nothing_else() {
        let (request, certificate, _) = parts();
        let check = |text: &str| check_certificates(text.as_bytes());
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let headed = certificate.replacen('\n', "\nProc-Type: 4\n\n", 1);
        let found = "CERTIFICATE REQUEST".to_owned();
        for (text, expected) in [
            (certificate.clone(), Ok(())),
            (format!("# root\n{certificate}\n{certificate}"), Ok(())),
            (String::new(), Err(ChainError::Empty)),
            ("junk".to_owned(), Err(ChainError::Empty)),
            (
                format!("{certificate}{request}"),
                Err(ChainError::Other { found }),
            ),
            (junk.to_owned(), Err(ChainError::Certificate)),
            (headed, Err(ChainError::Pem)),
        ] {
            assert_eq!(check(&text), expected, "{text}");
        }
    }
}

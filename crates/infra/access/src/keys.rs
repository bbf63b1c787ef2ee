//! The keys service-account tokens are signed with: ES256 or RS256, in files of the data directory.
//!
//! `sa.key` signs. Every file `sa*.key` beside it is believed, so a key is changed by renaming the old one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest;
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

/// The key that signs, and all that are believed. Clones are the same keys.
#[derive(Clone)]
pub struct Keys {
    signer: Arc<Signer>,
    /// The signing key first.
    believed: Vec<PublicKey>,
}

/// A key's algorithm, as tokens name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Es256,
    Rs256,
}

enum Signer {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

#[derive(Clone)]
struct PublicKey {
    algorithm: Algorithm,
    /// What a token names its key by.
    id: String,
    /// As the verification algorithm takes it.
    bytes: Vec<u8>,
    jwk: Value,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file or the directory cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The first key cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is no key this server can sign with.
    #[error("{} is not a private key of ECDSA P-256 or of RSA with 2048 bits or more", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
    },
    /// No key could be made.
    #[error("cannot make a signing key")]
    Generate,
}

/// What every signing key's file is called.
const SIGNING_KEY: &str = "sa.key";

impl Keys {
    /// The keys of a directory; makes one if there is none.
    pub fn open(directory: &Path) -> Result<Self, KeysError> {
        let path = directory.join(SIGNING_KEY);
        if !path.exists() {
            let pem = generate().ok_or(KeysError::Generate)?;
            listen::write_private(&path, &pem).map_err(|source| KeysError::Write {
                path: path.clone(),
                source,
            })?;
        }
        let (signer, first) = load(&path)?;
        let mut believed = vec![first];
        for other in others(directory)? {
            believed.push(load(&other)?.1);
        }
        Ok(Self {
            signer: Arc::new(signer),
            believed,
        })
    }

    /// A key that is kept nowhere, for servers that last as long as their process.
    pub fn ephemeral() -> Result<Self, KeysError> {
        let pem = generate().ok_or(KeysError::Generate)?;
        let (signer, public) = parse(&pem).ok_or(KeysError::Generate)?;
        Ok(Self {
            signer: Arc::new(signer),
            believed: vec![public],
        })
    }

    /// Signs claims: a token.
    #[must_use]
    pub fn sign(&self, claims: &Value) -> Option<String> {
        let public = self.believed.first()?;
        let header = json!({"alg": public.algorithm.name(), "kid": public.id});
        self.sign_under(&header, claims)
    }

    /// The same under another header.
    pub(crate) fn sign_under(&self, header: &Value, claims: &Value) -> Option<String> {
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature = self.signer.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Some(token)
    }

    /// Whether one of the keys signed `text`, by the algorithm and key the header names.
    pub(crate) fn verify(
        &self,
        algorithm: &str,
        id: Option<&str>,
        text: &[u8],
        signature: &[u8],
    ) -> bool {
        self.believed
            .iter()
            .filter(|key| key.algorithm.name() == algorithm)
            .filter(|key| id.is_none_or(|id| id == key.id))
            .any(|key| key.verify(text, signature))
    }

    /// The public keys as other programs fetch them.
    #[must_use]
    pub fn key_set(&self) -> Value {
        let keys: Vec<&Value> = self.believed.iter().map(|key| &key.jwk).collect();
        json!({"keys": keys})
    }

    /// The algorithms in use, each once.
    #[must_use]
    pub fn algorithms(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self
            .believed
            .iter()
            .map(|key| key.algorithm.name())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<&str> = self.believed.iter().map(|key| key.id.as_str()).collect();
        f.debug_struct("Keys")
            .field("ids", &ids)
            .finish_non_exhaustive()
    }
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }
}

impl Signer {
    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let chance = SystemRandom::new();
        match self {
            Self::Ec(key) => Some(key.sign(&chance, text).ok()?.as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &chance, text, &mut signature)
                    .ok()?;
                Some(signature)
            }
        }
    }
}

impl PublicKey {
    fn verify(&self, text: &[u8], signature: &[u8]) -> bool {
        let algorithm: &'static dyn VerificationAlgorithm = match self.algorithm {
            Algorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
            Algorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        };
        UnparsedPublicKey::new(algorithm, &self.bytes)
            .verify(text, signature)
            .is_ok()
    }
}

fn generate() -> Option<String> {
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .ok()?;
    let encoded = STANDARD.encode(document.as_ref());
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    Some(pem)
}

fn load(path: &Path) -> Result<(Signer, PublicKey), KeysError> {
    listen::keep_private(path).map_err(|source| KeysError::Read {
        path: path.to_owned(),
        source,
    })?;
    let pem = fs::read_to_string(path).map_err(|source| KeysError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&pem).ok_or_else(|| KeysError::Unusable {
        path: path.to_owned(),
    })
}

/// Further keys to believe, in the order of their names.
fn others(directory: &Path) -> Result<Vec<PathBuf>, KeysError> {
    let failed = |source| KeysError::Read {
        path: directory.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if name != SIGNING_KEY && name.starts_with("sa") && name.ends_with(".key") {
            paths.push(directory.join(name));
        }
    }
    paths.sort();
    Ok(paths)
}

fn parse(pem: &str) -> Option<(Signer, PublicKey)> {
    let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()?;
    let bytes = der.secret_der();
    let elliptic = match &der {
        PrivateKeyDer::Sec1(_) => {
            EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes)
        }
        _ => EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes),
    };
    if let Ok(key) = elliptic {
        let public = elliptic_key(&key)?;
        return Some((Signer::Ec(key), public));
    }
    let key = match &der {
        PrivateKeyDer::Pkcs1(_) => RsaKeyPair::from_der(bytes),
        _ => RsaKeyPair::from_pkcs8(bytes),
    }
    .ok()?;
    let public = rsa_key(&key)?;
    Some((Signer::Rsa(key), public))
}

fn elliptic_key(key: &EcdsaKeyPair) -> Option<PublicKey> {
    let public = key.public_key();
    let id = key_id(public.as_der().ok()?.as_ref());
    // An uncompressed point: a 4, then both coordinates of 32 bytes.
    let point = public.as_ref();
    let (x, y) = (point.get(1..33)?, point.get(33..65)?);
    let jwk = json!({
        "use": "sig", "kty": "EC", "kid": id, "crv": "P-256", "alg": Algorithm::Es256.name(),
        "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
    });
    Some(PublicKey {
        algorithm: Algorithm::Es256,
        id,
        bytes: point.to_vec(),
        jwk,
    })
}

fn rsa_key(key: &RsaKeyPair) -> Option<PublicKey> {
    let public = key.public_key();
    let id = key_id(public.as_der().ok()?.as_ref());
    let jwk = json!({
        "use": "sig", "kty": "RSA", "kid": id, "alg": Algorithm::Rs256.name(),
        "n": URL_SAFE_NO_PAD.encode(public.modulus().big_endian_without_leading_zero()),
        "e": URL_SAFE_NO_PAD.encode(public.exponent().big_endian_without_leading_zero()),
    });
    Some(PublicKey {
        algorithm: Algorithm::Rs256,
        id,
        bytes: public.as_ref().to_vec(),
        jwk,
    })
}

/// What tokens name a key by: the hash of its standard form.
fn key_id(der: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, der))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_key_and_believes_renamed_ones() {
        let directory = tempfile::tempdir().unwrap();
        let first = Keys::open(directory.path()).unwrap();
        let again = Keys::open(directory.path()).unwrap();
        assert_eq!(first.key_set(), again.key_set());
        assert_eq!(first.algorithms(), ["ES256"]);
        fs::rename(
            directory.path().join("sa.key"),
            directory.path().join("sa-2025.key"),
        )
        .unwrap();
        let changed = Keys::open(directory.path()).unwrap();
        let ids = |keys: &Keys| -> Vec<String> {
            keys.believed.iter().map(|key| key.id.clone()).collect()
        };
        assert_eq!(changed.believed.len(), 2);
        assert_eq!(ids(&changed).last(), ids(&first).first());
        assert_ne!(ids(&changed).first(), ids(&first).first());
        fs::write(directory.path().join("sa-broken.key"), "no key").unwrap();
        let error = Keys::open(directory.path()).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "sa-broken.key is not a private key of ECDSA P-256 or of RSA with 2048 bits or more"
            ),
            "{error}"
        );
    }

    #[test]
    fn keys_of_both_algorithms_sign_and_verify() {
        use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
        let rsa = RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = rsa.as_der().unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der.as_ref())
        );
        let (signer, public) = parse(&pem).unwrap();
        let rsa = Keys {
            signer: Arc::new(signer),
            believed: vec![public],
        };
        for (keys, algorithm) in [(Keys::ephemeral().unwrap(), "ES256"), (rsa, "RS256")] {
            let token = keys.sign(&json!({"sub": "x"})).unwrap();
            let (text, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            assert!(keys.verify(algorithm, None, text.as_bytes(), &signature));
            assert!(!keys.verify(algorithm, Some("other"), text.as_bytes(), &signature));
            assert!(!keys.verify("none", None, text.as_bytes(), &signature));
            assert!(!keys.verify(algorithm, None, b"other", &signature));
        }
    }
}

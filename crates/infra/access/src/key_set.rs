//! Public keys of others, as they publish them: a JSON Web Key Set, and signatures checked with it.

use aws_lc_rs::rsa::PublicKeyComponents;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use object::Value;

/// The most keys read from one set.
const MOST_KEYS: usize = 64;

/// The keys an issuer signs with.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    id: String,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A curve and an uncompressed point.
    Curve(&'static str, Vec<u8>),
    Edwards(Vec<u8>),
}

impl KeySet {
    /// Reads a set. Keys of unknown sorts, or not for signatures, are left out.
    pub(crate) fn read(set: &Value) -> Self {
        let keys = set.get("keys").and_then(Value::as_array);
        let keys = keys.into_iter().flatten().take(MOST_KEYS);
        Self {
            keys: keys.filter_map(Key::read).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a key of this name is here; without a name, whether any is.
    pub(crate) fn has(&self, id: Option<&str>) -> bool {
        self.keys.iter().any(|key| id.is_none_or(|id| id == key.id))
    }

    /// Whether one of the keys signed `text` by this algorithm.
    pub(crate) fn verify(
        &self,
        algorithm: &str,
        id: Option<&str>,
        text: &[u8],
        signature: &[u8],
    ) -> bool {
        self.keys
            .iter()
            .filter(|key| id.is_none_or(|id| id == key.id))
            .any(|key| key.verify(algorithm, text, signature))
    }
}

impl Key {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let bytes = |name: &str| {
            URL_SAFE_NO_PAD
                .decode(text(name)?.trim_end_matches('='))
                .ok()
        };
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let material = match text("kty")? {
            "RSA" => Material::Rsa {
                n: bytes("n")?,
                e: bytes("e")?,
            },
            "EC" => {
                let (curve, size) = match text("crv")? {
                    "P-256" => ("P-256", 32),
                    "P-384" => ("P-384", 48),
                    "P-521" => ("P-521", 66),
                    _ => return None,
                };
                let (x, y) = (bytes("x")?, bytes("y")?);
                if x.len() != size || y.len() != size {
                    return None;
                }
                Material::Curve(curve, [vec![4], x, y].concat())
            }
            "OKP" if text("crv") == Some("Ed25519") => Material::Edwards(bytes("x")?),
            _ => return None,
        };
        Some(Self {
            id: text("kid").unwrap_or_default().to_owned(),
            material,
        })
    }

    fn verify(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> bool {
        let plain = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            let key = UnparsedPublicKey::new(algorithm, key);
            key.verify(text, signature).is_ok()
        };
        match (&self.material, algorithm) {
            (Material::Rsa { n, e }, name) => {
                let Some(parameters) = rsa_parameters(name) else {
                    return false;
                };
                let key = PublicKeyComponents { n, e };
                key.verify(parameters, text, signature).is_ok()
            }
            // The algorithm must be the curve's own: nobody may choose a weaker pairing by the header of a token.
            (Material::Curve("P-256", key), "ES256") => plain(&ECDSA_P256_SHA256_FIXED, key),
            (Material::Curve("P-384", key), "ES384") => plain(&ECDSA_P384_SHA384_FIXED, key),
            (Material::Curve("P-521", key), "ES512") => plain(&ECDSA_P521_SHA512_FIXED, key),
            (Material::Edwards(key), "EdDSA") => plain(&ED25519, key),
            _ => false,
        }
    }
}

fn rsa_parameters(name: &str) -> Option<&'static RsaParameters> {
    Some(match name {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        "PS384" => &RSA_PSS_2048_8192_SHA384,
        "PS512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::keys::Keys;

    #[test]
    fn published_keys_verify_what_their_owner_signed_and_nothing_else() {
        let keys = Keys::ephemeral().unwrap();
        let set = KeySet::read(&keys.key_set());
        let token = keys.sign(&json!({"sub": "x"})).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let check =
            |algorithm, id, text: &str| set.verify(algorithm, id, text.as_bytes(), &signature);
        assert!(check("ES256", None, text));
        assert!(!check("ES256", Some("other"), text));
        assert!(!check("ES384", None, text));
        assert!(!check("RS256", None, text));
        assert!(!check("none", None, text));
        assert!(!check("ES256", None, "other"));
    }

    #[test]
    fn keys_that_cannot_be_used_are_left_out() {
        for key in [
            json!({"kty": "oct", "k": "AA"}),
            json!({"kty": "RSA", "n": "AA"}),
            json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
            json!({"kty": "RSA", "n": "AA", "e": "AQAB", "use": "enc"}),
            json!(7),
        ] {
            assert!(KeySet::read(&json!({"keys": [key]})).is_empty(), "{key}");
        }
    }
}

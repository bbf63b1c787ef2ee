//! Bytes in JSON: base64 with padding, as Kubernetes writes secrets, certificates and configuration.

/// Bytes as text.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    object::base64::encode(bytes)
}

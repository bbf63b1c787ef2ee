//! What is in a Secret.

use object::Object;
use object::base64;

/// The bytes under a key of a Secret; `None` if it is not there or not base64.
pub(crate) fn value(secret: &Object, key: &str) -> Option<Vec<u8>> {
    base64::decode(secret.text_at(&["data", key])?.trim_end())
}

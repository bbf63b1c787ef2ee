//! What is in a Secret: base64, as RFC 4648 has it.

use object::Object;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes under a key of a Secret; `None` if it is not there or not base64.
pub(crate) fn value(secret: &Object, key: &str) -> Option<Vec<u8>> {
    decode(secret.text_at(&["data", key])?)
}

/// Bytes as base64.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            if position > chunk.len() {
                text.push('=');
                continue;
            }
            let index = (bits >> (18 - 6 * position)) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

/// The bytes of base64; `None` if it is something else.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end();
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in digits.bytes() {
        let value = ALPHABET.iter().position(|known| *known == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).ok()?);
        }
    }
    Some(bytes)
}

//! Bytes in JSON: base64 with padding, as Go writes and reads it.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Stands for a byte that is no digit.
const NONE: u8 = 255;

/// The value of each digit.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 64 {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Bytes as text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        out.push(digit(bits >> 18));
        out.push(digit(bits >> 12));
        out.push(if chunk.len() > 1 {
            digit(bits >> 6)
        } else {
            '='
        });
        out.push(if chunk.len() > 2 { digit(bits) } else { '=' });
    }
    out
}

/// The bytes a text stands for; `None` if it stands for none. Line breaks are allowed anywhere, as in Go.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    decode_into(text, &mut out)?;
    Some(out)
}

/// Appends the bytes a text stands for; `None` if it stands for none, and what was appended by then is of no use.
#[must_use]
pub fn decode_into(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut digits, mut padding) = (0_u32, 0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => {}
        }
        let value = VALUES[usize::from(byte)];
        if value == NONE || padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, digits) = (0, 0);
        }
    }
    match (digits, padding) {
        (0, 0) => Some(()),
        (2, 2) => {
            out.push((bits >> 4) as u8);
            Some(())
        }
        (3, 1) => {
            out.extend_from_slice(&((bits >> 2) as u16).to_be_bytes());
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_text() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{ff}~", "w79+"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for wrong in ["Z", "Zg", "Zg=", "Zg=Z", "Z===", "Zm9v=", "Zm 9", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        assert_eq!(decode("Zm\r\n9v").as_deref(), Some(&b"foo"[..]));
    }
}

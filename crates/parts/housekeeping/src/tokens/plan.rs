//! When a bootstrap token goes.

use intent::{Action, Plan};
use object::Object;
use object::time::Time;

use crate::resources;

/// The type of Secrets that hold bootstrap tokens.
pub(crate) const TOKEN_TYPE: &str = "bootstrap.kubernetes.io/token";

pub(crate) fn plan(secret: &Object, now: Time) -> Plan {
    let mut plan = Plan::default();
    if secret.is_terminating() || secret.text_at(&["type"]) != Some(TOKEN_TYPE) {
        return plan;
    }
    let Some(written) = secret.text_at(&["data", "expiration"]) else {
        return plan; // It is good for ever.
    };
    let decoded = decode_base64(written).and_then(|bytes| String::from_utf8(bytes).ok());
    let expires = decoded.as_deref().map(str::parse::<Time>);
    match expires {
        Some(Ok(expires)) if expires > now => plan.wake_at(expires),
        Some(Ok(expires)) => plan.push(Action::delete(
            resources::secrets(),
            secret,
            format!("the token expired at {expires}"),
        )),
        // Upstream: one whose expiration cannot be read counts as expired.
        Some(Err(_)) | None => plan.push(Action::delete(
            resources::secrets(),
            secret,
            "the token's expiration makes no sense",
        )),
    }
    plan
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    for chunk in digits.chunks(4) {
        let mut whole = 0;
        for place in 0..4 {
            let value = chunk.get(place).map_or(Some(0), |byte| digit(*byte))?;
            whole = whole << 6 | value;
        }
        let [_, first, second, third] = u32::to_be_bytes(whole);
        let kept = [first, second, third];
        bytes.extend_from_slice(kept.get(..chunk.len().saturating_sub(1))?);
    }
    Some(bytes)
}

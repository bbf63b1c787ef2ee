//! Tokens among the subprotocols of a WebSocket: browsers can send no other header of their own.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};

use crate::authenticate::TokenError;

/// What a subprotocol begins with that is a token.
const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// The token a WebSocket is asked for with, if there is one.
pub(crate) fn token(headers: &HeaderMap) -> Result<Option<String>, TokenError> {
    if !is_web_socket(headers) {
        return Ok(None);
    }
    let (tokens, others): (Vec<&str>, Vec<&str>) =
        protocols(headers).partition(|protocol| protocol.starts_with(PREFIX));
    let encoded = match tokens.as_slice() {
        [] => return Ok(None),
        [token] => token.strip_prefix(PREFIX).unwrap_or_default(),
        _ => return Err(TokenError::new("more than one subprotocol is a token")),
    };
    let decoded = URL_SAFE_NO_PAD.decode(encoded).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        None => Err(TokenError::new(
            "the subprotocol with the token is not base64 of text",
        )),
        Some(token) if token.is_empty() => Ok(None),
        // One must be left that the server can agree to.
        Some(_) if others.is_empty() => Err(TokenError::new("there is no other subprotocol")),
        Some(token) => Ok(Some(token)),
    }
}

/// Takes tokens out of the subprotocols, so that nobody further on sees them.
pub(crate) fn strip(headers: &mut HeaderMap) {
    if !protocols(headers).any(|protocol| protocol.starts_with(PREFIX)) {
        return;
    }
    let others = protocols(headers).filter(|protocol| !protocol.starts_with(PREFIX));
    let others = others.collect::<Vec<_>>().join(",");
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if let Some(others) = HeaderValue::from_str(&others)
        .ok()
        .filter(|_| !others.is_empty())
    {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    }
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(str::trim)
}

fn is_web_socket(headers: &HeaderMap) -> bool {
    let has = |name, wanted: &str| {
        let lines = headers.get_all(name).iter();
        let mut words = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','));
        words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    has(UPGRADE, "websocket") && has(CONNECTION, "upgrade")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(protocols: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        for line in protocols {
            headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn a_subprotocol_may_be_a_token_beside_another_and_goes_no_further() {
        let own = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode("good"));
        let beside = format!("v5.channel.k8s.io, {own}");
        for (protocols, expected, left) in [
            (vec![beside.as_str()], Ok(Some("good")), "v5.channel.k8s.io"),
            (vec!["a", &own, "b"], Ok(Some("good")), "a,b"),
            (vec!["a, b"], Ok(None), "a, b"),
            (vec![PREFIX, "a"], Ok(None), "a"),
            (vec![&own], Err("there is no other subprotocol"), ""),
            (
                vec![&own, &own, "a"],
                Err("more than one subprotocol is a token"),
                "a",
            ),
            (
                vec!["base64url.bearer.authorization.k8s.io.!", "a"],
                Err("the subprotocol with the token is not base64 of text"),
                "a",
            ),
        ] {
            let mut headers = asked(&protocols);
            let found = token(&headers).map_err(|why| why.to_string());
            let found = found.as_ref().map(Option::as_deref).map_err(String::as_str);
            assert_eq!(found, expected, "{protocols:?}");
            strip(&mut headers);
            let kept = headers
                .get(SEC_WEBSOCKET_PROTOCOL)
                .map(|kept| kept.to_str().unwrap());
            assert_eq!(kept.unwrap_or_default(), left, "{protocols:?}");
        }
        let mut plain = asked(&[&beside]);
        plain.remove(UPGRADE);
        assert_eq!(token(&plain), Ok(None));
    }
}

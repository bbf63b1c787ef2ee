//! Large answers in gzip, for clients that take it.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_core::Stream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use http::{HeaderMap, HeaderValue, Response};

use crate::body::Body;

/// Smaller answers cost less to send than to compress. Upstream: the same.
const WORTHWHILE: usize = 128 * 1024;
/// How much is compressed before others get a turn: well below a millisecond.
const STEP: usize = 64 * 1024;

/// Compresses an answer that is large, whole, and not compressed already, if the head of its request takes that. Watches
/// and other streams go out as they are.
#[must_use]
pub fn compress(headers: &HeaderMap, response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let bytes = match body {
        Body::Whole(bytes)
            if bytes.len() > WORTHWHILE
                && !parts.headers.contains_key(CONTENT_ENCODING)
                && takes_gzip(headers) =>
        {
            bytes
        }
        body => return Response::from_parts(parts, body),
    };
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(CONTENT_ENCODING, gzip);
    parts
        .headers
        .append(VARY, HeaderValue::from_static("Accept-Encoding"));
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::Stream(Box::pin(compressed(bytes))))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|choice| {
            let (name, parameters) = choice.split_once(';').unwrap_or((choice, ""));
            let refused = parameters
                .trim()
                .strip_prefix("q=")
                .is_some_and(|quality| quality.parse() == Ok(0.0_f32));
            name.trim() == "gzip" && !refused
        })
}

fn compressed(bytes: Bytes) -> impl Stream<Item = Bytes> + Send {
    let encoder = GzEncoder::new(Vec::with_capacity(STEP), Compression::fast());
    futures_util::stream::unfold(Some((encoder, bytes)), |state| async move {
        let (mut encoder, mut rest) = state?;
        while !rest.is_empty() {
            let step = rest.split_to(STEP.min(rest.len()));
            // Into memory, so that it cannot fail; if it did, the stream would end early and the client notice.
            encoder.write_all(&step).ok()?;
            let out = std::mem::take(encoder.get_mut());
            if !out.is_empty() {
                return Some((out.into(), Some((encoder, rest))));
            }
        }
        Some((encoder.finish().ok()?.into(), None))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn large_answers_are_compressed_for_those_who_take_it() {
        let large = "karavel ".repeat(WORTHWHILE / 4);
        for (accepted, text, expected) in [
            ("gzip", large.as_str(), true),
            ("deflate, gzip;q=0.5", large.as_str(), true),
            ("gzip;q=0", large.as_str(), false),
            ("", large.as_str(), false),
            ("gzip", "small", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            let response = Response::new(Body::Whole(text.to_owned().into()));
            let response = compress(&headers, response);
            let is_gzip = response.headers().contains_key(CONTENT_ENCODING);
            assert_eq!(is_gzip, expected, "{accepted}");
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            let mut back = String::new();
            if is_gzip {
                assert!(bytes.len() < text.len() / 10);
                let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
                decoder.read_to_string(&mut back).unwrap();
            } else {
                back = String::from_utf8(bytes.to_vec()).unwrap();
            }
            assert!(back == text, "{accepted}");
        }
    }
}

//! What goes back over the wire: bytes at once, or a stream of them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use serde_json::Value;

use crate::negotiate::Encoding;
use crate::status::Status;

/// The body of an answer.
pub enum Body {
    /// All of it, taken on the first poll.
    Whole(Bytes),
    /// As it comes: watches, logs, proxied answers.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(context)
                .map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer of one document.
#[must_use]
pub fn document(code: StatusCode, encoding: Encoding, json: Bytes) -> Response<Body> {
    let mut encoding = encoding;
    let bytes = match encoding {
        Encoding::Json => json,
        Encoding::Protobuf(wire) => match wire.0.encode(&json) {
            Ok(bytes) => bytes.into(),
            // What has no message, such as the version of the server, is JSON for everybody.
            Err(_) => {
                encoding = Encoding::Json;
                json
            }
        },
        Encoding::Pretty => reencode(&json, |value| serde_json::to_vec_pretty(value).ok()),
        Encoding::Yaml => reencode(&json, |value| {
            serde_saphyr::to_string(value).ok().map(String::into_bytes)
        }),
    };
    let mut response = Response::new(Body::Whole(bytes));
    *response.status_mut() = code;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static(encoding.media_type()),
    );
    response
}

/// An answer of one value.
#[must_use]
pub fn value(code: StatusCode, encoding: Encoding, value: &Value) -> Response<Body> {
    document(code, encoding, value.to_string().into())
}

/// An answer of plain text.
#[must_use]
pub fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::Whole(text.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// A refusal.
#[must_use]
pub fn refusal(status: &Status, encoding: Encoding) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = value(code, encoding, &status.to_value());
    if status.details.retry_after_seconds > 0 {
        response.headers_mut().insert(
            RETRY_AFTER,
            HeaderValue::from(status.details.retry_after_seconds),
        );
    }
    response
}

fn reencode(json: &Bytes, encode: impl FnOnce(&Value) -> Option<Vec<u8>>) -> Bytes {
    // The bytes are our own JSON; if they could not be shown differently they are still good as they are.
    serde_json::from_slice(json)
        .ok()
        .and_then(|value| encode(&value))
        .map_or_else(|| json.clone(), Bytes::from)
}

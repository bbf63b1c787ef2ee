//! Answers that are gone over before anybody sees them: asked for as JSON, and sent in the form that was wanted.

use access::attempt::{Attempt, What};
use http::Response;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE,
};
use serve::body::{self, Body};
use serve::negotiate::{Answer, Encoding, Sendable, Shape};
use serve::resource::Table;
use serve::status::Status;

/// Asks for an answer that can be gone over: as JSON in the shape wanted, neither packed nor over another protocol. Tells
/// in which form it is wanted; one that cannot be had is refused before anything is done.
pub(crate) fn plainly(
    table: &Table,
    attempt: &Attempt,
    headers: &mut HeaderMap,
) -> Result<Encoding, Status> {
    headers.remove(ACCEPT_ENCODING);
    headers.remove(UPGRADE);
    let served = match &attempt.what {
        What::Resource(target) => table.find(&target.group, &target.version, &target.resource),
        What::Path(_) => None,
    };
    let Some(served) = served else {
        return Ok(Encoding::Json); // There will be nothing to go over.
    };
    let sendable = match &*attempt.verb {
        // Events are gone over by the line, and messages have none.
        "watch" => Sendable::default(),
        _ => table.sendable(&served),
    };
    let wanted = Answer::negotiate(headers, false, sendable)?;
    headers.insert(
        ACCEPT,
        HeaderValue::from_static(match wanted.shape {
            Shape::Whole | Shape::Discovery(_) => "application/json",
            Shape::Table => "application/json;as=Table;v=v1;g=meta.k8s.io",
            Shape::Metadata => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        }),
    );
    Ok(wanted.encoding)
}

/// An answer in JSON, in the form that was wanted. Streams stay as they are.
pub(crate) fn encoded(response: Response<Body>, encoding: Encoding) -> Response<Body> {
    if matches!(encoding, Encoding::Json | Encoding::Pretty) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let json = match body {
        Body::Whole(json) => json,
        stream @ Body::Stream(_) => return Response::from_parts(head, stream),
    };
    let (made, body) = body::document(head.status, encoding, json).into_parts();
    head.headers.remove(CONTENT_LENGTH);
    if let Some(media) = made.headers.get(CONTENT_TYPE) {
        head.headers.insert(CONTENT_TYPE, media.clone());
    }
    Response::from_parts(head, body)
}

//! What is asked of a server and is not the storing of objects: reviews, tokens, evictions, logs, proxied calls.
//!
//! A [`Handler`] answers for a kind whose objects are never stored, or for a part of an object with a meaning of its own.
//! The server has read the path, found the resource and checked the verb; everything else is the handler's. One that is
//! sent documents shows them to admission: [`Server::mutate_sent`], then [`Server::validate_sent`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::Response;
use http::request::Parts;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::body::Body;
use crate::call::Call;
use crate::intake;
use crate::negotiate::{Answer, Content, Wire, readable};
use crate::server::{Server, read_body};
use crate::status::Status;
use crate::warning::warn;

/// A body as it comes in, unread.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// Why a body could not be read. A type of its own: a boxed error would hide from the compiler that futures which read
/// a body may be sent.
#[derive(Debug, thiserror::Error)]
#[error("the body ended early")]
pub struct BodyError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// What a handler comes to.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send + 'a>>;

/// Answers for a kind that is not stored, or for a part of objects.
pub trait Handler: Send + Sync {
    /// Answers one request. `request.parts` has the connection's extensions, so that a protocol can be upgraded.
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, request: Asked) -> Outcome<'a>;
}

/// What came with a call that a [`Handler`] answers.
pub struct Asked {
    /// The request's head.
    pub parts: Parts,
    /// How the client wants to be answered.
    pub answer: Answer,
    /// The body, unread.
    pub body: RequestBody,
    /// How a body in protobuf is read.
    pub(crate) wire: Option<Wire>,
}

impl Asked {
    /// The body as a document, for handlers that take one object. One in protobuf has become JSON.
    pub async fn document(self) -> Result<(Content, Bytes), Status> {
        let content = Content::of(&self.parts.headers, readable(self.wire))?;
        let bytes = read_body(self.body).await?;
        if content != Content::Protobuf {
            return Ok((content, bytes));
        }
        let (value, _) = intake::decode_sent(content, &bytes, self.wire)?;
        Ok((Content::Json, value.to_string().into()))
    }
}

/// An answer with warnings for whoever reads it.
#[must_use]
pub fn warned(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    warn(&mut response, warnings);
    response
}

/// Who answers for what.
#[derive(Clone, Default)]
pub struct Handlers {
    entries: Vec<Entry>,
    checks: Vec<(&'static str, Check)>,
}

/// Says what is wrong, if something is.
pub type Check = Arc<dyn Fn() -> Option<String> + Send + Sync>;

#[derive(Clone)]
struct Entry {
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    handler: Arc<dyn Handler>,
}

impl Handlers {
    /// Lets somebody say under this name whether the server is ready for requests, below `/readyz`.
    pub fn insert_check(&mut self, name: &'static str, check: Check) {
        self.checks.push((name, check));
    }

    /// What else is asked for before the server is called ready.
    pub(crate) fn checks(&self) -> &[(&'static str, Check)] {
        &self.checks
    }

    /// Lets a handler answer for a part of a resource, or for the whole resource if `subresource` is empty. The later
    /// of two for the same answers.
    pub fn insert(
        &mut self,
        group: &'static str,
        resource: &'static str,
        subresource: &'static str,
        handler: Arc<dyn Handler>,
    ) {
        let entry = Entry {
            group,
            resource,
            subresource,
            handler,
        };
        self.entries.push(entry);
    }

    /// Who answers a call, if it is not the server itself.
    #[must_use]
    pub fn find(&self, call: &Call) -> Option<&Arc<dyn Handler>> {
        let target = &call.target;
        let entry = self.entries.iter().rev().find(|entry| {
            entry.resource == target.resource
                && entry.subresource == target.subresource
                && entry.group == target.group
        })?;
        Some(&entry.handler)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .entries
            .iter()
            .map(|entry| format!("{}/{}/{}", entry.group, entry.resource, entry.subresource));
        formatter.debug_list().entries(names).finish()
    }
}

/// Any body as the one handlers take.
pub(crate) fn unread<B>(body: B) -> RequestBody
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
        .map_err(|error| BodyError(error.into()))
        .boxed_unsync()
}

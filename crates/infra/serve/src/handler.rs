//! What is asked of a server and is not the storing of objects: reviews, tokens, evictions, logs, proxied calls.
//!
//! A [`Handler`] answers for a kind whose objects are never stored, or for a part of an object with a meaning of its own.
//! The server has read the path, found the resource and checked the verb; everything else is the handler's.

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
use crate::negotiate::{Answer, Content};
use crate::server::{Server, read_body};
use crate::status::Status;

/// A body as it comes in, unread.
pub type RequestBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

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
}

impl Asked {
    /// The body as a document, for handlers that take one object.
    pub async fn document(self) -> Result<(Content, Bytes), Status> {
        let content = Content::of(&self.parts.headers, &[Content::Json, Content::Yaml])?;
        Ok((content, read_body(self.body).await?))
    }
}

/// Who answers for what.
#[derive(Clone, Default)]
pub struct Handlers {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    handler: Arc<dyn Handler>,
}

impl Handlers {
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
        .map_err(Into::into)
        .boxed_unsync()
}

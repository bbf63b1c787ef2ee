//! Answers that go on and on, whose end is written to the audit log when it comes.

use std::pin::Pin;
use std::task::{Context, Poll};

use access::audit::{AuditLog, Stage};
use bytes::Bytes;
use futures_util::Stream;
use object::Value;
use serde_json::json;
use serve::body::Body;

use super::now;

/// A stream that is written about when it ends, whoever ends it.
pub(super) struct Closing {
    stream: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    log: AuditLog,
    /// What was written at its beginning.
    line: Value,
}

impl Closing {
    /// A body that is written about when it ends. One that is there as a whole has ended already.
    pub(super) fn around(body: Body, log: AuditLog, line: Value) -> Body {
        match body {
            Body::Whole(bytes) => Body::Whole(bytes),
            Body::Stream(stream) => Body::Stream(Box::pin(Self { stream, log, line })),
        }
    }
}

impl Stream for Closing {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.stream.as_mut().poll_next(context)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.line["stage"] = json!(Stage::ResponseComplete.as_str());
        self.line["stageTimestamp"] = json!(now());
        self.log.write_late(&self.line);
    }
}

//! A watch: changes as the server tells them, one JSON document a line.

use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use object::{Object, ResourceType, Value};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ask::with_kind;
use crate::cache::Detail;
use crate::error::{CallError, from_status};
use crate::skim;
use crate::transport::{AnswerBody, BoxError};

/// The longest line that is read: objects are below 3 MiB on every server, and a line is one object and a little.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Changes as they come.
pub struct WatchStream {
    request: String,
    resource: ResourceType,
    body: AnswerBody,
    lines: Lines,
    /// What is read of each object.
    detail: Detail,
}

/// One thing that a server tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object is new to the watcher.
    Added(Object),
    /// The object changed.
    Modified(Object),
    /// The object went; this is its last state.
    Deleted(Object),
    /// Everything up to this revision has been told.
    Bookmark {
        /// Where a later watch may go on.
        revision: String,
        /// Everything that was there when the watch began has been told.
        initial_end: bool,
    },
}

/// Bytes cut into lines.
#[derive(Default)]
struct Lines {
    held: BytesMut,
    /// Up to here there is no line break.
    searched: usize,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    r#type: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// A line of a watch that makes no sense.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("a line is longer than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("a line is not a watch event")]
    Frame(#[source] serde_json::Error),
    #[error("there is no watch event {0:?}")]
    Type(String),
}

impl WatchStream {
    pub(crate) fn new(request: String, resource: ResourceType, body: AnswerBody) -> Self {
        Self {
            request,
            resource,
            body,
            lines: Lines::default(),
            detail: Detail::Whole,
        }
    }

    /// Leaves out of objects what is not kept.
    #[must_use]
    pub(crate) fn keeping(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The next event; `None` when the server has ended the watch. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<WatchEvent, CallError>> {
        loop {
            match self.lines.take() {
                Ok(Some(line)) => return Some(self.read(&line)),
                Ok(None) => {}
                Err(error) => return Some(Err(self.unreadable(error))),
            }
            let frame = match self.body.frame().await? {
                Ok(frame) => frame,
                Err(source) => {
                    return Some(Err(CallError::Unreachable {
                        request: self.request.clone(),
                        source,
                    }));
                }
            };
            if let Ok(data) = frame.into_data() {
                self.lines.push(&data);
            }
        }
    }

    fn read(&self, line: &[u8]) -> Result<WatchEvent, CallError> {
        let frame: Frame<'_> = serde_json::from_slice(line)
            .map_err(|error| self.unreadable(LineError::Frame(error)))?;
        let read = |detail| {
            let object = skim::read(frame.object.get(), detail);
            object.map_err(|error| self.unreadable(LineError::Frame(error)))
        };
        let object = || read(self.detail);
        match &*frame.r#type {
            "ADDED" => Ok(WatchEvent::Added(with_kind(object()?, &self.resource))),
            "MODIFIED" => Ok(WatchEvent::Modified(with_kind(object()?, &self.resource))),
            "DELETED" => Ok(WatchEvent::Deleted(with_kind(object()?, &self.resource))),
            "BOOKMARK" => {
                let object = read(Detail::Whole)?;
                Ok(WatchEvent::Bookmark {
                    revision: object.resource_version().to_owned(),
                    initial_end: object.annotation("k8s.io/initial-events-end") == Some("true"),
                })
            }
            "ERROR" => {
                let status: Value = read(Detail::Whole)?.into_value();
                Err(from_status(self.request.clone(), 500, None, &status))
            }
            other => Err(self.unreadable(LineError::Type(other.to_owned()))),
        }
    }

    fn unreadable(&self, error: LineError) -> CallError {
        let source: BoxError = error.into();
        CallError::Unreadable {
            request: self.request.clone(),
            source,
        }
    }
}

impl Lines {
    fn push(&mut self, data: &[u8]) {
        self.held.extend_from_slice(data);
    }

    /// The next whole line that is not empty.
    fn take(&mut self) -> Result<Option<Bytes>, LineError> {
        loop {
            let Some(unsearched) = self.held.get(self.searched..) else {
                return Ok(None);
            };
            let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.held.len();
                if self.searched > LONGEST_LINE {
                    return Err(LineError::TooLong);
                }
                if self.held.is_empty() {
                    // A watch is silent for most of its life, and there may be thousands: the room that its list took is
                    // given back.
                    self.held = BytesMut::new();
                }
                return Ok(None);
            };
            let line = self.held.split_to(self.searched + found).freeze();
            self.held.advance(1);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_the_bytes_come() {
        let text = b"{\"a\":1}\n\n{\"b\":2}\r\n{\"c\":";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                while let Some(line) = lines.take().unwrap() {
                    found.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            assert_eq!(found, ["{\"a\":1}", "{\"b\":2}\r"]);
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut lines = Lines::default();
        lines.push(&vec![b' '; LONGEST_LINE + 1]);
        assert!(lines.take().is_err());
    }
}

//! A watch: changes as the server tells them, one JSON document a line.

use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use memchr::memchr;
use object::{Object, ResourceType, Value};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ask::with_kind;
use crate::cache::Detail;
use crate::error::{CallError, from_status};
use crate::skim::{Skimmed, skim};
use crate::transport::{AnswerBody, BoxError};

/// The longest line that is read: objects are below 3 MiB on every server, and a line is one object and a little.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Changes as they come.
pub struct WatchStream {
    request: String,
    resource: ResourceType,
    body: AnswerBody,
    lines: Lines,
}

/// One thing that a server tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<O = Object> {
    /// The object is new to the watcher.
    Added(O),
    /// The object changed.
    Modified(O),
    /// The object went; this is its last state.
    Deleted(O),
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
    /// What came last. Lines that are whole in it are not copied.
    piece: Bytes,
    /// The beginning of a line that goes on in the next piece. Invariant: `piece` comes after it.
    held: BytesMut,
    /// Up to here there is no line break in `held`.
    searched: usize,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    r#type: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Makes something of the text of an object of a kind.
trait Take<O>: Fn(&[u8], &ResourceType) -> Result<O, serde_json::Error> {}

impl<O, F: Fn(&[u8], &ResourceType) -> Result<O, serde_json::Error>> Take<O> for F {}

fn whole(text: &[u8], resource: &ResourceType) -> Result<Object, serde_json::Error> {
    Ok(with_kind(serde_json::from_slice(text)?, resource))
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
        }
    }

    /// The next event; `None` when the server has ended the watch. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<WatchEvent, CallError>> {
        self.next_as(whole).await
    }

    /// The next event with as much of the object's text as is kept.
    pub(crate) async fn next_text(
        &mut self,
        detail: Detail,
    ) -> Option<Result<WatchEvent<Skimmed>, CallError>> {
        self.next_as(|text, resource| skim(text, detail, resource))
            .await
    }

    async fn next_as<O>(&mut self, take: impl Take<O>) -> Option<Result<WatchEvent<O>, CallError>> {
        loop {
            match self.lines.take() {
                Ok(Some(line)) => return Some(self.read(&line, &take)),
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
                self.lines.push(data);
            }
        }
    }

    fn read<O>(&self, line: &[u8], take: &impl Take<O>) -> Result<WatchEvent<O>, CallError> {
        // What is written as usual is read in one go.
        if let Some((kind, text)) = split(line)
            && let Ok(event) = self.event(kind, text, take)
        {
            return Ok(event);
        }
        let frame: Frame<'_> = serde_json::from_slice(line)
            .map_err(|error| self.unreadable(LineError::Frame(error)))?;
        self.event(&frame.r#type, frame.object.get().as_bytes(), take)
    }

    fn event<O>(
        &self,
        kind: &str,
        text: &[u8],
        take: &impl Take<O>,
    ) -> Result<WatchEvent<O>, CallError> {
        let unreadable = |error| self.unreadable(LineError::Frame(error));
        let object = || take(text, &self.resource).map_err(unreadable);
        match kind {
            "ADDED" => Ok(WatchEvent::Added(object()?)),
            "MODIFIED" => Ok(WatchEvent::Modified(object()?)),
            "DELETED" => Ok(WatchEvent::Deleted(object()?)),
            "BOOKMARK" => {
                let object: Object = serde_json::from_slice(text).map_err(unreadable)?;
                Ok(WatchEvent::Bookmark {
                    revision: object.resource_version().to_owned(),
                    initial_end: object.annotation("k8s.io/initial-events-end") == Some("true"),
                })
            }
            "ERROR" => {
                let status: Value = serde_json::from_slice(text).map_err(unreadable)?;
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
    /// Takes the next piece, when there is no whole line any more.
    fn push(&mut self, data: Bytes) {
        if self.held.is_empty() && self.piece.is_empty() {
            self.piece = data;
        } else {
            self.held.extend_from_slice(&data);
        }
    }

    /// The next whole line that is not empty.
    fn take(&mut self) -> Result<Option<Bytes>, LineError> {
        while !self.piece.is_empty() {
            let Some(found) = memchr(b'\n', &self.piece) else {
                self.held
                    .extend_from_slice(&std::mem::take(&mut self.piece));
                self.searched = self.held.len();
                break;
            };
            let line = self.piece.split_to(found);
            self.piece.advance(1);
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
        loop {
            let Some(unsearched) = self.held.get(self.searched..) else {
                return Ok(None);
            };
            let Some(found) = memchr(b'\n', unsearched) else {
                self.searched = self.held.len();
                if self.searched > LONGEST_LINE {
                    return Err(LineError::TooLong);
                }
                if self.held.is_empty() {
                    // A watch is silent for most of its life, and there may be thousands: the room that its list took is
                    // given back.
                    self.held = BytesMut::new();
                    self.piece = Bytes::new();
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

/// The type and the object of an event as most servers write it; `None` for one that is written otherwise.
///
/// What is taken for the object is all there is up to the last brace: whoever reads it finds out if that is more.
fn split(line: &[u8]) -> Option<(&str, &[u8])> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let end = memchr(b'"', rest)?;
    let kind = std::str::from_utf8(rest.get(..end)?).ok()?;
    let rest = rest.get(end..)?.strip_prefix(b"\",\"object\":")?;
    let object = rest.trim_ascii_end().strip_suffix(b"}")?;
    (!kind.contains('\\')).then_some((kind, object))
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
                lines.push(Bytes::copy_from_slice(chunk));
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
        lines.push(vec![b' '; LONGEST_LINE + 1].into());
        assert!(lines.take().is_err());
    }

    #[test]
    fn an_event_is_split_where_it_is_written_as_usual() {
        let cases = [
            (
                r#"{"type":"ADDED","object":{"a":{}}}"#,
                Some(("ADDED", r#"{"a":{}}"#)),
            ),
            (
                "{\"type\":\"DELETED\",\"object\":{}}\r",
                Some(("DELETED", "{}")),
            ),
            (r#"{"object":{},"type":"ADDED"}"#, None),
            (r#"{ "type": "ADDED", "object": {}}"#, None),
            (r#"{"type":"ADD\u0045D","object":{}}"#, None),
            (r#"{"type":"ADDED"}"#, None),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|(kind, object)| (kind, object.as_bytes()));
            assert_eq!(split(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn events_are_read_however_they_are_written() {
        let resource = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let body = http_body_util::Empty::new().map_err(|never| match never {});
        let stream = WatchStream::new("GET /x".to_owned(), resource, body.boxed_unsync());
        let read = |line: &str| stream.read(line.as_bytes(), &whole);
        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":{}}"#,
            r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#,
        ] {
            let Ok(WatchEvent::Added(object)) = read(line) else {
                panic!("{line}");
            };
            assert_eq!((object.name(), object.kind()), ("a", "ConfigMap"), "{line}");
        }
        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}"#,
            r#"{"type":"ADDED","object":{},"more":"#,
            r#"{"type":"NEW","object":{}}"#,
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}

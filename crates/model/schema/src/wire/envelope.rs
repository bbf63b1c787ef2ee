//! What is around a message: the magic bytes, the name of its kind, and the frames of watches.

use super::decode::Problem;
use super::number::{Input, close, open, put_bytes};

/// Every body begins with it.
pub const MAGIC: &[u8; 4] = b"k8s\0";

const TYPE_META: u32 = 1;
const RAW: u32 = 2;
const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

/// A message and what it says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'b> {
    /// Such as `apps/v1`; may be empty.
    pub api_version: &'b str,
    /// Such as `Deployment`; may be empty.
    pub kind: &'b str,
    /// The message itself.
    pub raw: &'b [u8],
    /// How the message is encoded, where that is not protobuf.
    pub content_type: &'b str,
}

impl<'b> Envelope<'b> {
    /// Takes a body out of its envelope.
    pub fn open(body: &'b [u8]) -> Result<Self, Problem> {
        let mut envelope = Self {
            api_version: "",
            kind: "",
            raw: &[],
            content_type: "",
        };
        let rest = body.strip_prefix(MAGIC).ok_or(Problem::Magic)?;
        let mut input = Input::new(rest);
        while !input.is_empty() {
            let (number, delimit) = input.tag()?;
            match number {
                TYPE_META => {
                    let mut names = Input::new(input.delimited()?);
                    while !names.is_empty() {
                        let (number, delimit) = names.tag()?;
                        match number {
                            1 => envelope.api_version = text(names.delimited()?)?,
                            2 => envelope.kind = text(names.delimited()?)?,
                            _ => names.skip(number, delimit)?,
                        }
                    }
                }
                RAW => envelope.raw = input.delimited()?,
                CONTENT_ENCODING if !input.delimited()?.is_empty() => {
                    return Err(Problem::ContentEncoding);
                }
                CONTENT_ENCODING => {}
                CONTENT_TYPE => envelope.content_type = text(input.delimited()?)?,
                _ => input.skip(number, delimit)?,
            }
        }
        Ok(envelope)
    }

    /// The body: the message in its envelope.
    #[must_use]
    pub fn seal(&self) -> Vec<u8> {
        // Magic bytes, tags and lengths take less than this.
        const AROUND: usize = 64;
        let names = self.api_version.len() + self.kind.len();
        let mut out = Vec::with_capacity(self.raw.len() + names + AROUND);
        out.extend_from_slice(MAGIC);
        let start = open(TYPE_META, &mut out);
        put_bytes(1, self.api_version.as_bytes(), &mut out);
        put_bytes(2, self.kind.as_bytes(), &mut out);
        close(start, &mut out);
        put_bytes(RAW, self.raw, &mut out);
        // Upstream: both are always there, empty for protobuf itself.
        put_bytes(CONTENT_ENCODING, b"", &mut out);
        put_bytes(CONTENT_TYPE, self.content_type.as_bytes(), &mut out);
        out
    }
}

/// Appends one event of a watch: its length in four bytes, then the event with a sealed body.
pub fn watch_frame(kind: &str, body: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put_bytes(1, kind.as_bytes(), out);
    let object = open(2, out);
    put_bytes(1, body, out);
    close(object, out);
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| Problem::Utf8)
}

//! Frames of SPDY/3.1, as far as streams into containers use them.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::parts::stream::spdy::headers::{self, Header, HeaderError, Reader};

/// What a client sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A stream begins; `ends` if nothing follows on it.
    Open {
        stream: u32,
        headers: Vec<Header>,
        ends: bool,
    },
    Data {
        stream: u32,
        data: Bytes,
        ends: bool,
    },
    /// The client wants nothing more of a stream.
    Reset { stream: u32 },
    /// To be sent back as it is.
    Ping { number: u32 },
    /// The client goes.
    Away,
    /// What needs no answer: settings, windows, further headers.
    Other,
}

/// Why frames cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("version {0} of SPDY is not spoken here")]
    Version(u16),
    #[error("a frame of type {0} ends early")]
    Short(u16),
    #[error("a frame has {0} bytes")]
    Large(usize),
    #[error("cannot read the headers of a frame")]
    Headers(#[from] HeaderError),
}

const VERSION: u16 = 3;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
/// The stream ends with this frame.
const FIN: u8 = 1;
/// Clients send pieces of 32 KiB; what is much larger is no frame.
const LARGEST: usize = 1 << 20;
/// The most data in one frame that is sent.
const PIECE: usize = 32 * 1024;

/// Takes the next whole frame off a buffer; `None` if it has not all come.
pub(crate) fn take(
    buffer: &mut BytesMut,
    reader: &mut Reader,
) -> Result<Option<Frame>, FrameError> {
    let Some((&[a, b, c, d, flags, x, y, z], _)) = buffer.split_first_chunk::<8>() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_be_bytes([0, x, y, z])).unwrap_or(usize::MAX);
    if length > LARGEST {
        return Err(FrameError::Large(length));
    }
    if buffer.len() < length + 8 {
        return Ok(None);
    }
    buffer.advance(8);
    let mut payload = buffer.split_to(length).freeze();
    let ends = flags & FIN != 0;
    if a & 0x80 == 0 {
        let stream = u32::from_be_bytes([a, b, c, d]);
        let data = payload;
        return Ok(Some(Frame::Data { stream, data, ends }));
    }
    let version = u16::from_be_bytes([a & 0x7f, b]);
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    let kind = u16::from_be_bytes([c, d]);
    let number = |payload: &mut Bytes| payload.try_get_u32().map_err(|_| FrameError::Short(kind));
    Ok(Some(match kind {
        SYN_STREAM => {
            let stream = number(&mut payload)? & 0x7fff_ffff;
            // The stream it belongs to, its priority and its slot say nothing here.
            number(&mut payload)?;
            payload.try_get_u16().map_err(|_| FrameError::Short(kind))?;
            let headers = reader.read(&payload)?;
            Frame::Open {
                stream,
                headers,
                ends,
            }
        }
        HEADERS | SYN_REPLY => {
            number(&mut payload)?;
            // Read all the same: the next block is compressed with what this one says.
            reader.read(&payload)?;
            Frame::Other
        }
        RST_STREAM => Frame::Reset {
            stream: number(&mut payload)? & 0x7fff_ffff,
        },
        PING => Frame::Ping {
            number: number(&mut payload)?,
        },
        GOAWAY => Frame::Away,
        _ => Frame::Other,
    }))
}

/// Says yes to a stream.
pub(crate) fn put_reply(out: &mut BytesMut, stream: u32, is_first: bool) {
    let block = headers::nothing(is_first);
    put_control(out, SYN_REPLY, block.len() + 4);
    out.put_u32(stream);
    out.put_slice(&block);
}

/// Sends a ping back.
pub(crate) fn put_ping(out: &mut BytesMut, number: u32) {
    put_control(out, PING, 4);
    out.put_u32(number);
}

/// Sends data on a stream, in pieces; `ends` if nothing follows.
pub(crate) fn put_data(out: &mut BytesMut, stream: u32, data: &[u8], ends: bool) {
    let mut pieces = data.chunks(PIECE).peekable();
    if pieces.peek().is_none() && ends {
        put_piece(out, stream, &[], true);
    }
    while let Some(piece) = pieces.next() {
        put_piece(out, stream, piece, ends && pieces.peek().is_none());
    }
}

fn put_piece(out: &mut BytesMut, stream: u32, piece: &[u8], ends: bool) {
    out.put_u32(stream & 0x7fff_ffff);
    put_length(out, ends, piece.len());
    out.put_slice(piece);
}

fn put_control(out: &mut BytesMut, kind: u16, length: usize) {
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    put_length(out, false, length);
}

fn put_length(out: &mut BytesMut, ends: bool, length: usize) {
    out.put_u8(if ends { FIN } else { 0 });
    out.put_uint(u64::try_from(length).unwrap_or_default(), 3);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<Frame>, FrameError> {
        take(&mut BytesMut::from(bytes), &mut Reader::new())
    }

    #[test]
    fn frames_are_read_whole_or_not_at_all() {
        let mut sent = BytesMut::new();
        put_data(&mut sent, 5, b"abc", true);
        put_ping(&mut sent, 7);
        let mut reader = Reader::new();
        for end in 0..11 {
            let mut part = BytesMut::from(&sent[..end]);
            assert_eq!(take(&mut part, &mut reader), Ok(None), "{end}");
            assert_eq!(part.len(), end);
        }
        let data = Frame::Data {
            stream: 5,
            data: Bytes::from_static(b"abc"),
            ends: true,
        };
        assert_eq!(take(&mut sent, &mut reader), Ok(Some(data)));
        assert_eq!(
            take(&mut sent, &mut reader),
            Ok(Some(Frame::Ping { number: 7 }))
        );
        assert!(sent.is_empty());
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (bytes, why) in [
            (vec![0x80, 2, 0, 1, 0, 0, 0, 0], FrameError::Version(2)),
            (vec![0x80, 3, 0, 1, 0, 0, 0, 2, 9, 9], FrameError::Short(1)),
            (vec![0x80, 3, 0, 6, 0, 0, 0, 0], FrameError::Short(6)),
            (
                vec![0, 0, 0, 1, 0, 0xff, 0, 0],
                FrameError::Large(0xff_0000),
            ),
        ] {
            assert_eq!(read(&bytes), Err(why), "{bytes:?}");
        }
        let settings = [0x80, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0];
        assert_eq!(read(&settings), Ok(Some(Frame::Other)));
        let away = [0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(&away), Ok(Some(Frame::Away)));
        let reset = [0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 5];
        assert_eq!(read(&reset), Ok(Some(Frame::Reset { stream: 3 })));
    }

    #[test]
    fn much_data_goes_in_pieces_and_the_last_one_ends_it() {
        let mut sent = BytesMut::new();
        put_data(&mut sent, 1, &vec![0; PIECE + 1], true);
        put_data(&mut sent, 3, &[], true);
        put_data(&mut sent, 3, &[], false);
        let mut reader = Reader::new();
        let mut seen = Vec::new();
        while let Some(Frame::Data { stream, data, ends }) = take(&mut sent, &mut reader).unwrap() {
            seen.push((stream, data.len(), ends));
        }
        assert_eq!(seen, [(1, PIECE, false), (1, 1, true), (3, 0, true)]);
    }
}

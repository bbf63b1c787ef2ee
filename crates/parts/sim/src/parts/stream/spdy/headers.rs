//! Header blocks: names and values, compressed with what was said before and with a dictionary both sides know.
//!
//! What comes in is inflated with `flate2`, which learns the dictionary as if it had been sent as a stored block first.
//! What goes out is few bytes seldom and is stored, not deflated, which every inflater reads.

use bytes::{BufMut, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

/// A name and its value.
pub(crate) type Header = (String, String);

/// Why a header block cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("the header block is not deflated with the dictionary of SPDY/3")]
    Compression,
    #[error("the header block is larger than {MOST} bytes")]
    Large,
    #[error("the header block ends early")]
    Short,
}

/// A header block that inflates to more is no honest one.
const MOST: usize = 64 * 1024;

/// Words of the dictionary that have their length before them, in its order.
const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
    content-length content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status";
/// The rest of them, one of which has a space in it.
const FURTHER: [&str; 8] = [
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];
/// What ends the dictionary, without lengths.
const TAIL: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505\
    203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden\
    404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable\
    Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT\
    chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,\
    publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
/// The checksum by which a deflated stream names the dictionary.
const DICTIONARY_ID: u32 = 0xe3c6_a7c2;
/// The two bytes that begin a stream: deflate with a window of 32 KiB. The dictionary is not used.
const PREAMBLE: [u8; 2] = [0x78, 0x01];
/// A block of nothing, which makes a reader hand out what it has.
const FLUSH: [u8; 5] = [0, 0, 0, 0xff, 0xff];

/// Reads the header blocks of one side of a connection, in their order.
pub(crate) struct Reader {
    inflate: Decompress,
    has_begun: bool,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            has_begun: false,
        }
    }

    /// The headers of the next block.
    pub(crate) fn read(&mut self, mut block: &[u8]) -> Result<Vec<Header>, HeaderError> {
        if !self.has_begun {
            block = self.begin(block)?;
            self.has_begun = true;
        }
        let plain = self.inflate(block)?;
        parse(&plain)
    }

    /// Takes the preamble of the stream and teaches the inflater the dictionary.
    fn begin<'b>(&mut self, block: &'b [u8]) -> Result<&'b [u8], HeaderError> {
        let (preamble, rest) = block.split_at_checked(6).ok_or(HeaderError::Short)?;
        let [_, flags, id @ ..] = preamble else {
            return Err(HeaderError::Short);
        };
        let id: [u8; 4] = id.try_into().map_err(|_| HeaderError::Short)?;
        if flags & 0x20 == 0 || u32::from_be_bytes(id) != DICTIONARY_ID {
            return Err(HeaderError::Compression);
        }
        let known = dictionary();
        let mut stored = BytesMut::new();
        put_stored(&mut stored, &known);
        self.inflate(&stored)?;
        Ok(rest)
    }

    fn inflate(&mut self, mut block: &[u8]) -> Result<Vec<u8>, HeaderError> {
        let mut plain = Vec::with_capacity(4096);
        loop {
            let (before, length) = (self.inflate.total_in(), plain.len());
            let status = self
                .inflate
                .decompress_vec(block, &mut plain, FlushDecompress::Sync)
                .map_err(|_| HeaderError::Compression)?;
            let taken = usize::try_from(self.inflate.total_in().saturating_sub(before));
            block = block.get(taken.unwrap_or(usize::MAX)..).unwrap_or_default();
            let is_stuck = status == Status::BufError || plain.len() == length;
            if block.is_empty() && (is_stuck || plain.len() < plain.capacity()) {
                return Ok(plain);
            }
            if is_stuck && plain.len() < plain.capacity() {
                return Err(HeaderError::Compression);
            }
            if plain.len() >= MOST {
                return Err(HeaderError::Large);
            }
            plain.reserve(4096);
        }
    }
}

/// A header block without any header, as the first or a later one of a stream.
pub(crate) fn nothing(is_first: bool) -> BytesMut {
    let mut block = BytesMut::new();
    if is_first {
        block.put_slice(&PREAMBLE);
    }
    put_stored(&mut block, &0_u32.to_be_bytes());
    block.put_slice(&FLUSH);
    block
}

/// Writes a block that is not deflated. What is written here is short.
fn put_stored(out: &mut BytesMut, data: &[u8]) {
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
    out.put_u8(0);
    out.put_u16_le(length);
    out.put_u16_le(!length);
    out.put_slice(data.get(..usize::from(length)).unwrap_or_default());
}

fn dictionary() -> Vec<u8> {
    let mut known = Vec::with_capacity(1423);
    for word in WORDS.split_whitespace().chain(FURTHER) {
        let length = u32::try_from(word.len()).unwrap_or_default();
        known.extend_from_slice(&length.to_be_bytes());
        known.extend_from_slice(word.as_bytes());
    }
    known.extend_from_slice(TAIL.as_bytes());
    known
}

fn parse(mut plain: &[u8]) -> Result<Vec<Header>, HeaderError> {
    let count = take_number(&mut plain)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = take_text(&mut plain)?;
        headers.push((name, take_text(&mut plain)?));
    }
    Ok(headers)
}

fn take_number(plain: &mut &[u8]) -> Result<u32, HeaderError> {
    let (bytes, rest) = plain.split_first_chunk().ok_or(HeaderError::Short)?;
    *plain = rest;
    Ok(u32::from_be_bytes(*bytes))
}

fn take_text(plain: &mut &[u8]) -> Result<String, HeaderError> {
    let length = usize::try_from(take_number(plain)?).map_err(|_| HeaderError::Short)?;
    let (bytes, rest) = plain.split_at_checked(length).ok_or(HeaderError::Short)?;
    *plain = rest;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    /// Adler's checksum, as zlib defines it.
    fn checksum(data: &[u8]) -> u32 {
        let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65_521;
            (a, (b + a) % 65_521)
        });
        (b << 16) | a
    }

    #[test]
    fn the_dictionary_is_the_one_its_name_says() {
        assert_eq!(checksum(&dictionary()), DICTIONARY_ID);
    }

    fn plain(headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend_from_slice(&(text.len() as u32).to_be_bytes());
            plain.extend_from_slice(text.as_bytes());
        }
        plain
    }

    #[test]
    fn blocks_are_read_one_after_the_other() {
        let mut deflate = Compress::new(Compression::default(), false);
        let mut reader = Reader::new();
        let mut first = vec![0x78, 0xbb];
        first.extend_from_slice(&DICTIONARY_ID.to_be_bytes());
        for (place, headers) in [
            vec![("streamtype", "error"), ("port", "80")],
            vec![("streamtype", "data"), ("port", "80"), ("requestid", "0")],
        ]
        .into_iter()
        .enumerate()
        {
            let mut block = if place == 0 {
                first.clone()
            } else {
                Vec::new()
            };
            block.reserve(1024);
            deflate
                .compress_vec(&plain(&headers), &mut block, FlushCompress::Sync)
                .unwrap();
            let found = reader.read(&block).unwrap();
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(found, headers);
        }
    }

    #[test]
    fn what_is_no_header_block_is_refused() {
        for (block, why) in [
            (vec![0x78], HeaderError::Short),
            (vec![0x78, 0x01, 0, 0, 0, 0, 0, 0], HeaderError::Compression),
            (
                [&[0x78, 0xbb][..], &DICTIONARY_ID.to_be_bytes(), &[0xff; 9]].concat(),
                HeaderError::Compression,
            ),
        ] {
            assert_eq!(Reader::new().read(&block), Err(why), "{block:?}");
        }
        assert_eq!(
            parse(&[0, 0, 0, 1, 0, 0, 0, 9, b'a']),
            Err(HeaderError::Short)
        );
    }

    #[test]
    fn nothing_is_a_block_every_inflater_reads() {
        let first = nothing(true);
        let mut inflate = Decompress::new(true);
        let mut plain = Vec::with_capacity(64);
        for block in [first, nothing(false)] {
            inflate
                .decompress_vec(&block, &mut plain, FlushDecompress::Sync)
                .unwrap();
        }
        assert_eq!(plain, [0; 8]);
    }
}

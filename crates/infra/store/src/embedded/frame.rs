//! Frames and segment headers: checksummed pieces of the journal. The format is in `DESIGN.md`.

use memchr::memmem;

use crate::embedded::record::{Reader, length};

/// Tells one store's files from another's.
pub(crate) type StoreId = [u8; 16];

/// The format of journal, checkpoint and backup that this code writes, and the only one it reads.
pub(crate) const FORMAT: u32 = 2;

/// How many bytes a segment's header has.
pub(crate) const SEGMENT_HEADER: usize = 56;

/// How many bytes come before a frame's payload.
pub(crate) const FRAME_HEADER: usize = 24;

const SEGMENT_MAGIC: [u8; 8] = *b"KRVLJRNL";
const FRAME_MAGIC: [u8; 4] = *b"KVF1";

/// What a segment says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub(crate) id: StoreId,
    /// Its place among the segments, from 1.
    pub(crate) number: u64,
    /// The revision the store had when the segment was begun.
    pub(crate) revision: u64,
    /// The sequence of the last frame before it.
    pub(crate) sequence: u64,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadHeader {
    /// Not complete or not ours: on the last segment, a creation that was interrupted.
    Torn,
    /// Complete, but of a format this code does not know.
    Format(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = Vec::with_capacity(SEGMENT_HEADER);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.revision.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        out.try_into()
            .expect("invariant: the fields above are 56 bytes")
    }

    pub(crate) fn decode(content: &[u8]) -> Result<Self, BadHeader> {
        let mut reader = Reader::new(content);
        let magic = reader.array().ok_or(BadHeader::Torn)?;
        let format = reader.u32().ok_or(BadHeader::Torn)?;
        if magic != SEGMENT_MAGIC {
            return Err(BadHeader::Torn);
        }
        // Other formats may lay out the rest differently, so nothing more is expected of them than these two fields.
        // A torn sector is all zeros or all there, hence a number other than ours is meant.
        if format != FORMAT && format != 0 {
            return Err(BadHeader::Format(format));
        }
        let checked = content.get(..SEGMENT_HEADER - 4).ok_or(BadHeader::Torn)?;
        let mut fields = || {
            let header = Self {
                id: reader.array()?,
                number: reader.u64()?,
                revision: reader.u64()?,
                sequence: reader.u64()?,
            };
            (reader.u32()? == crc32fast::hash(checked)).then_some(header)
        };
        fields().ok_or(BadHeader::Torn)
    }
}

/// Fills in the header of a frame whose payload begins at [`FRAME_HEADER`].
pub(crate) fn seal(frame: &mut [u8], id: &StoreId, sequence: u64) {
    let Some((header, payload)) = frame.split_at_mut_checked(FRAME_HEADER) else {
        return;
    };
    let mut fields = Vec::with_capacity(FRAME_HEADER);
    fields.extend_from_slice(&FRAME_MAGIC);
    fields.extend_from_slice(&length(payload.len()).to_le_bytes());
    fields.extend_from_slice(&sequence.to_le_bytes());
    fields.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    fields.extend_from_slice(&header_checksum(&fields, id).to_le_bytes());
    header.copy_from_slice(&fields);
}

/// A frame found in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) sequence: u64,
    pub(crate) payload: &'a [u8],
}

/// The frame at the beginning of some bytes, if it is whole and carries the expected sequence.
pub(crate) fn unseal<'a>(bytes: &'a [u8], id: &StoreId, sequence: u64) -> Option<Frame<'a>> {
    let header = FrameHeader::decode(bytes, id)?;
    if header.sequence != sequence {
        return None;
    }
    let end = FRAME_HEADER.checked_add(header.len)?;
    let payload = bytes.get(FRAME_HEADER..end)?;
    (crc32fast::hash(payload) == header.checksum).then_some(Frame { sequence, payload })
}

/// Whether a frame of this store with a sequence above `sequence` begins anywhere in these bytes.
///
/// Such a frame was begun after everything before it had been synced. Its payload need not be whole to prove that.
pub(crate) fn has_later_frame(bytes: &[u8], id: &StoreId, sequence: u64) -> bool {
    memmem::find_iter(bytes, &FRAME_MAGIC)
        .filter_map(|start| FrameHeader::decode(bytes.get(start..)?, id))
        .any(|header| header.sequence > sequence)
}

struct FrameHeader {
    len: usize,
    sequence: u64,
    checksum: u32,
}

impl FrameHeader {
    fn decode(bytes: &[u8], id: &StoreId) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let magic: [u8; 4] = reader.array()?;
        let len = usize::try_from(reader.u32()?).ok()?;
        let sequence = reader.u64()?;
        let checksum = reader.u32()?;
        let valid = reader.u32()? == header_checksum(bytes.get(..FRAME_HEADER - 4)?, id);
        (magic == FRAME_MAGIC && valid).then_some(Self {
            len,
            sequence,
            checksum,
        })
    }
}

/// Mixes in the store's id: a value that holds another store's journal must not look like a frame of this one.
fn header_checksum(fields: &[u8], id: &StoreId) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(id);
    hasher.update(fields);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: StoreId = [7; 16];

    fn frame(sequence: u64, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; FRAME_HEADER];
        frame.extend_from_slice(payload);
        seal(&mut frame, &ID, sequence);
        frame
    }

    #[test]
    fn a_frame_is_whole_or_not_a_frame() {
        let whole = frame(3, b"payload");
        assert_eq!(unseal(&whole, &ID, 3).unwrap().payload, b"payload");
        assert_eq!(unseal(&whole, &ID, 4), None, "another sequence");
        assert_eq!(unseal(&whole, &[8; 16], 3), None, "another store");
        for cut in 0..whole.len() {
            assert_eq!(unseal(&whole[..cut], &ID, 3), None, "cut to {cut}");
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(&damaged, &ID, 3), None, "bit {bit} turned");
        }
    }

    #[test]
    fn only_a_later_frame_of_the_same_store_is_proof_of_damage() {
        let follows = |bytes: &[u8]| has_later_frame(bytes, &ID, 3);
        assert!(follows(&[b"rubbish".to_vec(), frame(4, b"x")].concat()));
        assert!(follows(&frame(4, b"torn payload")[..FRAME_HEADER + 2]));
        assert!(!follows(&frame(3, b"itself")));
        assert!(!follows(&frame(4, b"torn header")[..FRAME_HEADER - 1]));
        assert!(!has_later_frame(&frame(4, b"foreign"), &[8; 16], 3));
    }

    #[test]
    fn a_segment_header_is_whole_torn_or_of_another_format() {
        let header = SegmentHeader {
            id: ID,
            number: 2,
            revision: 30,
            sequence: 9,
        };
        let bytes = header.encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        for cut in 0..bytes.len() {
            assert_eq!(
                SegmentHeader::decode(&bytes[..cut]),
                Err(BadHeader::Torn),
                "cut to {cut}"
            );
        }
        let mut newer = bytes;
        newer[8] = 3;
        assert_eq!(SegmentHeader::decode(&newer), Err(BadHeader::Format(3)));
    }
}

//! One file of the journal: its name, its beginning, and how far it is good.

use std::io;
use std::sync::Arc;

use crate::embedded::disk::{Disk, DiskFile};
use crate::embedded::frame::{
    FRAME_HEADER, SEGMENT_HEADER, SegmentHeader, StoreId, has_later_frame, unseal,
};
use crate::embedded::open::OpenError;

/// The name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("journal-{number:020}.log")
}

fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("journal-")?
        .strip_suffix(".log")?
        .parse()
        .ok()
}

/// The numbers of the segments in a directory, in order.
pub(crate) fn segment_numbers(names: &[String]) -> Vec<u64> {
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| segment_number(name))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Writes a new segment's header durably before anything can follow it.
pub(crate) fn create_segment(
    disk: &dyn Disk,
    header: &SegmentHeader,
) -> io::Result<Arc<dyn DiskFile>> {
    let file = disk.create(&segment_name(header.number))?;
    file.write_at(&header.encode(), 0)?;
    file.sync()?;
    disk.sync()?;
    Ok(file)
}

/// Segments follow each other without a gap and belong to one store.
pub(crate) fn check_order(
    name: &str,
    header: &SegmentHeader,
    id: &StoreId,
    before: Option<&SegmentHeader>,
) -> Result<(), OpenError> {
    if header.id != *id {
        return Err(OpenError::Foreign {
            file: name.to_owned(),
        });
    }
    if segment_name(header.number) != name {
        return Err(OpenError::damaged(name, 28));
    }
    match before {
        Some(before) if before.number.saturating_add(1) != header.number => {
            Err(OpenError::MissingSegment {
                file: segment_name(before.number.saturating_add(1)),
            })
        }
        _ => Ok(()),
    }
}

/// How far a segment is good.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    /// Where the last good frame ends.
    pub(crate) end: usize,
    /// Where it begins; the same as its end when there is none.
    pub(crate) last_frame: usize,
    /// Its sequence.
    pub(crate) sequence: u64,
}

pub(crate) fn scan(
    name: &str,
    content: &[u8],
    header: &SegmentHeader,
    replay: &mut impl FnMut(&str, &[u8]) -> Result<(), OpenError>,
) -> Result<Scan, OpenError> {
    let mut scan = Scan {
        end: SEGMENT_HEADER,
        last_frame: SEGMENT_HEADER,
        sequence: header.sequence,
    };
    loop {
        let rest = content.get(scan.end..).unwrap_or_default();
        let expected = scan.sequence.saturating_add(1);
        let Some(frame) = unseal(rest, &header.id, expected) else {
            // Case 4: only what nothing follows is a torn tail.
            if has_later_frame(rest, &header.id, expected) {
                return Err(OpenError::damaged(name, scan.end as u64));
            }
            return Ok(scan);
        };
        replay(name, frame.payload)?;
        let len = FRAME_HEADER.saturating_add(frame.payload.len());
        scan = Scan {
            end: scan.end.saturating_add(len),
            last_frame: scan.end,
            sequence: frame.sequence,
        };
    }
}

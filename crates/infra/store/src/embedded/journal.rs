//! The journal on disk: segments of frames, appended by one writer. `DESIGN.md` has the format and the crash argument.

use std::io;
use std::sync::Arc;

use crate::embedded::disk::{Disk, DiskFile, read_all};
use crate::embedded::frame::{BadHeader, FORMAT, SEGMENT_HEADER, SegmentHeader, StoreId, seal};
use crate::embedded::open::OpenError;
use crate::embedded::segment::{
    Scan, check_order, create_segment, scan, segment_name, segment_numbers,
};

/// The journal of an open store.
#[derive(Debug)]
pub(crate) struct Journal {
    disk: Arc<dyn Disk>,
    id: StoreId,
    /// Oldest first; the last one is written to.
    segments: Vec<SegmentHeader>,
    file: Arc<dyn DiskFile>,
    /// Where the next frame goes.
    end: u64,
    /// Up to where there is room in the file, or was to be.
    room: u64,
    /// Bytes in the segments before the last.
    closed_bytes: u64,
    /// The sequence of the last frame.
    sequence: u64,
}

/// How much room is made at once. A write into room that is there changes nothing about the file but its bytes, so that a
/// sync of it need not wait for the file system's own journal. Reserving it without writing would not do: a file system
/// notes then with every write that the place is in use now, and a sync takes longer than without any room.
///
/// In tests it is used up every few frames, so that a crash meets all that is about it.
const ROOM: usize = if cfg!(test) { 4096 } else { 1024 * 1024 };

impl Journal {
    /// Begins the journal of a new store.
    pub(crate) fn create(disk: Arc<dyn Disk>, id: StoreId, revision: u64) -> io::Result<Self> {
        let header = SegmentHeader {
            id,
            number: 1,
            revision,
            sequence: 0,
        };
        let file = create_segment(&*disk, &header)?;
        Ok(Self {
            disk,
            id,
            segments: vec![header],
            file,
            end: SEGMENT_HEADER as u64,
            room: 0,
            closed_bytes: 0,
            sequence: 0,
        })
    }

    /// Reads the journal of an existing store, handing each payload to `replay`. Changes nothing yet.
    pub(crate) fn read(
        disk: Arc<dyn Disk>,
        id: StoreId,
        oldest: u64,
        mut replay: impl FnMut(&str, &[u8]) -> Result<(), OpenError>,
    ) -> Result<Unsettled, OpenError> {
        let numbers = segment_numbers(&disk.list().map_err(OpenError::directory)?);
        if numbers.first().is_some_and(|first| *first > oldest.max(1)) {
            return Err(OpenError::MissingSegment {
                file: segment_name(oldest.max(1)),
            });
        }
        let mut segments: Vec<SegmentHeader> = Vec::new();
        let mut tail: Option<Tail> = None;
        let mut closed_bytes = 0u64;
        let mut unborn = None;
        for (index, number) in numbers.iter().enumerate() {
            let name = segment_name(*number);
            let is_last = index.saturating_add(1) == numbers.len();
            let file = disk
                .open(&name)
                .map_err(|source| OpenError::file(&name, source))?;
            let content = read_all(&*file).map_err(|source| OpenError::file(&name, source))?;
            let header = match SegmentHeader::decode(&content) {
                Ok(header) => header,
                Err(BadHeader::Format(found)) => {
                    return Err(OpenError::Newer {
                        file: name,
                        found,
                        known: FORMAT,
                    });
                }
                // Case 6: its creation was interrupted. The header is durable before the first frame is written, so
                // a file that is longer had one.
                Err(BadHeader::Torn)
                    if is_last && !segments.is_empty() && content.len() <= SEGMENT_HEADER =>
                {
                    unborn = Some(name);
                    break;
                }
                Err(BadHeader::Torn) => return Err(OpenError::damaged(&name, 0)),
            };
            check_order(&name, &header, &id, segments.last())?;
            if let (Some(before), Some(last)) = (&tail, segments.last())
                && before.scan.sequence != header.sequence
            {
                // Frames are missing at the end of the segment before, though this one was begun after them.
                return Err(OpenError::damaged(
                    &segment_name(last.number),
                    before.scan.end as u64,
                ));
            }
            let scan = scan(&name, &content, &header, &mut replay)?;
            // A tail may only be torn where no later segment was begun: this one was synced before the next was created.
            if scan.end < content.len() && !is_last {
                return Err(OpenError::damaged(&name, scan.end as u64));
            }
            if let Some(before) = tail.replace(Tail {
                file,
                content,
                scan,
            }) {
                closed_bytes = closed_bytes.saturating_add(before.scan.end as u64);
            }
            segments.push(header);
        }
        let (
            Some(Tail {
                file,
                content,
                scan,
            }),
            Some(last),
        ) = (tail, segments.last())
        else {
            return Err(OpenError::NoJournal);
        };
        let Scan { end, sequence, .. } = scan;
        Ok(Unsettled {
            begun_at: last.revision,
            journal: Self {
                disk,
                id,
                segments,
                file,
                end: end as u64,
                room: 0,
                closed_bytes,
                sequence,
            },
            tail: content,
            last_frame: scan.last_frame,
            unborn,
        })
    }

    /// Appends a frame, whose payload begins at [`FRAME_HEADER`], and syncs it. After an error nothing more may be
    /// appended: what the file holds is unknown.
    pub(crate) fn append(&mut self, frame: &mut [u8]) -> io::Result<()> {
        let sequence = self.sequence.saturating_add(1);
        let end = self.end.saturating_add(frame.len() as u64);
        seal(frame, &self.id, sequence);
        if end > self.room {
            self.make_room(end);
        }
        self.file.write_at(frame, self.end)?;
        self.file.sync()?;
        self.sequence = sequence;
        self.end = end;
        Ok(())
    }

    /// Makes room in the file behind the next frame, whose sync covers it. Where the disk has none the frame may still fit.
    fn make_room(&mut self, end: u64) {
        self.room = end.saturating_add(ROOM as u64);
        if let Err(error) = self.file.write_at(&vec![0; ROOM], end) {
            tracing::debug!(file = self.newest(), %error, "no room could be made in advance");
        }
    }

    /// Gives back the room behind the last frame: nothing more is written to this segment.
    pub(crate) fn cut(&mut self) -> io::Result<()> {
        if self.room <= self.end {
            return Ok(());
        }
        self.room = 0;
        self.file.set_len(self.end)?;
        self.file.sync()
    }

    /// Begins a new segment if the last one has so many bytes.
    pub(crate) fn rotate_at(&mut self, bytes: u64, revision: u64) -> io::Result<()> {
        if self.end < bytes {
            return Ok(());
        }
        let number = self
            .segments
            .last()
            .map_or(1, |last| last.number.saturating_add(1));
        let header = SegmentHeader {
            id: self.id,
            number,
            revision,
            sequence: self.sequence,
        };
        // Whatever follows the frames of a segment that has a successor is damage.
        self.cut()?;
        self.file = create_segment(&*self.disk, &header)?;
        self.closed_bytes = self.closed_bytes.saturating_add(self.end);
        self.end = SEGMENT_HEADER as u64;
        self.room = 0;
        self.segments.push(header);
        Ok(())
    }

    /// Takes off the list the segments that hold nothing above a revision, oldest first, for removal once a
    /// checkpoint has that revision. The one written to stays.
    pub(crate) fn retire(&mut self, revision: u64) -> Vec<String> {
        let mut retired = Vec::new();
        // A segment ends where the next one begins.
        while let [first, second, ..] = self.segments.as_slice() {
            if second.revision > revision {
                break;
            }
            retired.push(segment_name(first.number));
            self.segments.remove(0);
        }
        retired
    }

    /// The number of the oldest segment on the list.
    pub(crate) fn oldest(&self) -> u64 {
        self.segments.first().map_or(1, |first| first.number)
    }

    /// The name of the segment written to.
    pub(crate) fn newest(&self) -> String {
        segment_name(self.segments.last().map_or(1, |last| last.number))
    }

    /// The sequence of the last frame, which is durable.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How many bytes were ever appended since the store was opened, beside those found then.
    pub(crate) fn written(&self) -> u64 {
        self.closed_bytes.saturating_add(self.end)
    }
}

/// A journal that has been read and found good, before anything was changed about it.
#[derive(Debug)]
pub(crate) struct Unsettled {
    journal: Journal,
    /// The revision the store had when the newest segment was begun.
    pub(crate) begun_at: u64,
    /// The content of the newest segment.
    tail: Vec<u8>,
    /// Where its last good frame begins.
    last_frame: usize,
    /// A segment whose creation was interrupted.
    unborn: Option<String>,
}

impl Unsettled {
    /// The name of the newest segment.
    pub(crate) fn newest(&self) -> String {
        self.journal.newest()
    }

    /// The sequence of the last good frame.
    pub(crate) fn sequence(&self) -> u64 {
        self.journal.sequence
    }

    /// Cuts a torn tail, makes sure of what may be in the page cache only, and is ready for more: the last frame, and of
    /// a segment without frames the header and the name.
    pub(crate) fn settle(self, revision: u64) -> Result<Journal, OpenError> {
        let Self { journal, tail, .. } = self;
        if let Some(name) = &self.unborn {
            let removed = journal.disk.remove(name);
            removed
                .and_then(|()| journal.disk.sync())
                .map_err(|source| OpenError::file(name, source))?;
        }
        let name = journal.newest();
        let end = usize::try_from(journal.end).unwrap_or(tail.len());
        let rest = tail.get(end..).unwrap_or_default();
        // Zeros are room that was made and not used.
        let torn = rest.iter().rposition(|byte| *byte != 0);
        if let Some(last) = torn {
            tracing::warn!(
                file = name,
                revision,
                bytes = last.saturating_add(1),
                "an unfinished write was cut off the journal"
            );
        }
        let settled = || {
            if !rest.is_empty() {
                journal.file.set_len(journal.end)?;
            }
            if end <= SEGMENT_HEADER {
                journal
                    .file
                    .write_at(tail.get(..end).unwrap_or_default(), 0)?;
            } else if let Some(frame) = tail.get(self.last_frame..end) {
                journal.file.write_at(frame, self.last_frame as u64)?;
            }
            journal.file.sync()?;
            journal.disk.sync()
        };
        settled().map_err(|source| OpenError::file(&name, source))?;
        Ok(journal)
    }
}

/// The last segment read so far.
struct Tail {
    file: Arc<dyn DiskFile>,
    content: Vec<u8>,
    scan: Scan,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::fault::FaultyDisk;
    use crate::embedded::frame::FRAME_HEADER;

    const ID: StoreId = [7; 16];

    fn append(journal: &mut Journal, payload: &[u8]) {
        let mut frame = vec![0; FRAME_HEADER];
        frame.extend_from_slice(payload);
        journal.append(&mut frame).unwrap();
    }

    fn payloads(disk: &Arc<dyn Disk>) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let read = Journal::read(Arc::clone(disk), ID, 1, |_, payload| {
            found.push(payload.to_vec());
            Ok(())
        });
        read.unwrap();
        found
    }

    #[test]
    fn room_is_made_ahead_of_the_frames_and_given_back() {
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::default());
        let mut journal = Journal::create(Arc::clone(&disk), ID, 0).unwrap();
        append(&mut journal, b"one");
        let len = || disk.open(&segment_name(1)).unwrap().len().unwrap();
        let room = len();
        assert!(room > ROOM as u64);
        append(&mut journal, b"two");
        assert_eq!(len(), room, "a frame that fits leaves the length alone");
        assert_eq!(payloads(&disk), [b"one", b"two"], "room is no damage");
        journal.rotate_at(1, 2).unwrap();
        assert_eq!(len(), journal.closed_bytes, "nothing follows the frames");
        append(&mut journal, b"six");
        assert_eq!(payloads(&disk), [b"one", b"two", b"six"]);
    }

    #[test]
    fn a_start_cuts_what_follows_the_frames_or_the_header() {
        for frames in [&[][..], &[b"one"]] {
            let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::default());
            let mut journal = Journal::create(Arc::clone(&disk), ID, 0).unwrap();
            for payload in frames {
                append(&mut journal, *payload);
            }
            let (file, end) = (disk.open(&segment_name(1)).unwrap(), journal.end);
            file.write_at(b"torn", end).unwrap();
            file.set_len(end + ROOM as u64).unwrap();
            let found = Journal::read(Arc::clone(&disk), ID, 1, |_, _| Ok(())).unwrap();
            found.settle(0).unwrap();
            assert_eq!(file.len().unwrap(), end, "{} frames", frames.len());
        }
    }
}

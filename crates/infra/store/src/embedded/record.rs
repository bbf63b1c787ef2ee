//! Records: what a frame of the journal says. The format is in `DESIGN.md`.

use bytes::Bytes;

use crate::key::Key;

/// A change as the journal tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// A transaction that changed something.
    Txn {
        revision: u64,
        time: u64,
        ops: Vec<RecordOp>,
    },
    /// History up to a revision was let go on request.
    Compact { revision: u64 },
    /// A key was given more time.
    Renew {
        key: Key,
        modified: u64,
        deadline: u64,
    },
}

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RecordOp {
    Put {
        key: Key,
        value: Bytes,
        ttl: u64,
        deadline: u64,
    },
    Delete {
        key: Key,
    },
}

/// The bytes are not what we write: a fault of ours or damage that a checksum missed.
#[derive(Debug, thiserror::Error)]
#[error("a record cannot be understood at byte {offset} of its frame")]
pub(crate) struct BadRecord {
    pub(crate) offset: usize,
}

const TXN: u8 = 1;
const COMPACT: u8 = 2;
const RENEW: u8 = 3;
const PUT: u8 = 1;
const DELETE: u8 = 2;

impl Record {
    /// Appends the record to a frame.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Txn {
                revision,
                time,
                ops,
            } => {
                begin_txn(out, *revision, *time, ops.len());
                for op in ops {
                    op.encode(out);
                }
            }
            Self::Compact { revision } => {
                out.push(COMPACT);
                out.extend_from_slice(&revision.to_le_bytes());
            }
            Self::Renew {
                key,
                modified,
                deadline,
            } => {
                out.push(RENEW);
                put_key(out, key);
                out.extend_from_slice(&modified.to_le_bytes());
                out.extend_from_slice(&deadline.to_le_bytes());
            }
        }
    }
}

/// Appends the head of a transaction; exactly `ops` operations must follow.
fn begin_txn(out: &mut Vec<u8>, revision: u64, time: u64, ops: usize) {
    out.push(TXN);
    out.extend_from_slice(&revision.to_le_bytes());
    out.extend_from_slice(&time.to_le_bytes());
    out.extend_from_slice(&length(ops).to_le_bytes());
}

impl RecordOp {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Put {
                key,
                value,
                ttl,
                deadline,
            } => {
                out.reserve(
                    value
                        .len()
                        .saturating_add(key.as_bytes().len())
                        .saturating_add(32),
                );
                out.push(PUT);
                put_key(out, key);
                out.extend_from_slice(&ttl.to_le_bytes());
                out.extend_from_slice(&deadline.to_le_bytes());
                out.extend_from_slice(&length(value.len()).to_le_bytes());
                out.extend_from_slice(value);
            }
            Self::Delete { key } => {
                out.push(DELETE);
                put_key(out, key);
            }
        }
    }
}

/// Reads all records of a frame. Keys and values are copied, so that the frame can go.
pub(crate) fn decode(frame: &[u8]) -> Result<Vec<Record>, BadRecord> {
    let mut reader = Reader {
        bytes: frame,
        offset: 0,
    };
    let mut records = Vec::new();
    while reader.offset < frame.len() {
        let offset = reader.offset;
        records.push(read_record(&mut reader).ok_or(BadRecord { offset })?);
    }
    Ok(records)
}

fn read_record(reader: &mut Reader<'_>) -> Option<Record> {
    match reader.u8()? {
        TXN => {
            let revision = reader.u64()?;
            let time = reader.u64()?;
            let count = reader.u32()?;
            let ops = (0..count).map(|_| read_op(reader)).collect::<Option<_>>()?;
            Some(Record::Txn {
                revision,
                time,
                ops,
            })
        }
        COMPACT => Some(Record::Compact {
            revision: reader.u64()?,
        }),
        RENEW => Some(Record::Renew {
            key: reader.key()?,
            modified: reader.u64()?,
            deadline: reader.u64()?,
        }),
        _ => None,
    }
}

fn read_op(reader: &mut Reader<'_>) -> Option<RecordOp> {
    match reader.u8()? {
        PUT => {
            let key = reader.key()?;
            let ttl = reader.u64()?;
            let deadline = reader.u64()?;
            let len = usize::try_from(reader.u32()?).ok()?;
            let value = Bytes::copy_from_slice(reader.take(len)?);
            Some(RecordOp::Put {
                key,
                value,
                ttl,
                deadline,
            })
        }
        DELETE => Some(RecordOp::Delete { key: reader.key()? }),
        _ => None,
    }
}

/// Takes numbers and slices off the front of bytes that may end too early.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// How much has been taken.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.offset.checked_add(len)?;
        let taken = self.bytes.get(self.offset..end)?;
        self.offset = end;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn key(&mut self) -> Option<Key> {
        let len = usize::from(self.u16()?);
        Key::new(Bytes::copy_from_slice(self.take(len)?)).ok()
    }
}

/// Appends a key with its length, which fits by the rules of [`Key`].
pub(crate) fn put_key(out: &mut Vec<u8>, key: &Key) {
    let len = u16::try_from(key.as_bytes().len()).expect("invariant: a key is at most 4096 bytes");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(key.as_bytes());
}

/// A length that fits by the limits on transactions and batches.
pub(crate) fn length(len: usize) -> u32 {
    u32::try_from(len).expect("invariant: transactions and batches are far below 4 GiB")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Key> {
        prop::collection::vec(any::<u8>(), 1..20).prop_map(|bytes| Key::new(bytes).unwrap())
    }

    fn record() -> impl Strategy<Value = Record> {
        let value = prop::collection::vec(any::<u8>(), 0..50).prop_map(Bytes::from);
        let op = prop_oneof![
            (key(), value, any::<u64>(), any::<u64>()).prop_map(|(key, value, ttl, deadline)| {
                RecordOp::Put {
                    key,
                    value,
                    ttl,
                    deadline,
                }
            }),
            key().prop_map(|key| RecordOp::Delete { key }),
        ];
        prop_oneof![
            (any::<u64>(), any::<u64>(), prop::collection::vec(op, 0..5)).prop_map(
                |(revision, time, ops)| Record::Txn {
                    revision,
                    time,
                    ops
                }
            ),
            any::<u64>().prop_map(|revision| Record::Compact { revision }),
            (key(), any::<u64>(), any::<u64>()).prop_map(|(key, modified, deadline)| {
                Record::Renew {
                    key,
                    modified,
                    deadline,
                }
            }),
        ]
    }

    proptest! {
        #[test]
        fn records_survive_the_trip_through_bytes(records in prop::collection::vec(record(), 0..6)) {
            let mut bytes = Vec::new();
            for record in &records {
                record.encode(&mut bytes);
            }
            prop_assert_eq!(decode(&bytes).unwrap(), records);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}

//! What a checkpoint that is not as it was written is good for: nothing, and it says so.

use super::*;
use crate::embedded::fault::{FaultyDisk, Image};

const META_WRITTEN: Meta = Meta {
    id: [7; 16],
    revision: 40,
    compacted: 41,
    segment: 3,
    sequence: 12,
};

fn entry(key: &[u8], modified: u64) -> Stored {
    let entry = Entry {
        key: Key::new(Bytes::copy_from_slice(key)).unwrap(),
        value: Bytes::from(vec![9; 300]),
        created: Revision(1),
        modified: Revision(modified),
        version: 2,
    };
    (Arc::new(entry), None)
}

fn entries() -> Vec<Stored> {
    (0..60)
        .map(|index| entry(format!("key/{index:02}").as_bytes(), index + 1))
        .filter(|(entry, _)| entry.modified.0 <= META_WRITTEN.revision)
        .collect()
}

/// A disk with a checkpoint, after some change to its database.
fn disk_with(
    entries: Vec<Stored>,
    change: impl FnOnce(&Checkpoint) -> Result<(), redb::Error>,
) -> FaultyDisk {
    let disk = FaultyDisk::default();
    let file = disk.create(CHECKPOINT).unwrap();
    let checkpoint = Checkpoint::create(file, &META_WRITTEN, entries.into_iter().map(Ok)).unwrap();
    change(&checkpoint).unwrap();
    disk
}

fn check_refused(disk: &FaultyDisk, expected: &str) {
    let said = Checkpoint::open(disk).unwrap_err().to_string();
    assert!(said.starts_with(expected), "{said}");
}

/// Changes one value of a table.
fn turn_bit(checkpoint: &Checkpoint, field: &str, bit: usize) -> Result<(), redb::Error> {
    let txn = checkpoint.db().begin_write()?;
    {
        let mut table = txn.open_table(META)?;
        let mut value = table.get(field)?.unwrap().value().to_vec();
        value[bit / 8] ^= 1 << (bit % 8);
        table.insert(field, value.as_slice())?;
    }
    txn.commit()?;
    Ok(())
}

#[test]
fn a_checkpoint_is_read_as_it_was_written() {
    let (_, meta, found) = Checkpoint::open(&disk_with(entries(), |_| Ok(()))).unwrap();
    assert_eq!(meta, META_WRITTEN);
    assert_eq!(found, entries());
}

#[test]
fn any_bit_turned_in_what_a_checkpoint_says_of_itself_is_refused() {
    for (field, bits) in [
        ("id", 128),
        ("revision", 64),
        ("compacted", 64),
        ("segment", 64),
        ("sequence", 64),
        ("checksum", 32),
    ] {
        for bit in (0..bits).step_by(7) {
            let disk = disk_with(Vec::new(), |checkpoint| turn_bit(checkpoint, field, bit));
            check_refused(&disk, "file checkpoint.redb is damaged at byte 0");
        }
    }
    let disk = disk_with(Vec::new(), |checkpoint| turn_bit(checkpoint, "format", 3));
    check_refused(&disk, "file checkpoint.redb has format 10");
}

#[test]
fn a_byte_that_moved_from_the_record_to_the_key_is_refused() {
    let disk = disk_with(vec![entry(b"key", 5)], |checkpoint| {
        let txn = checkpoint.db().begin_write()?;
        {
            let mut table = txn.open_table(ENTRIES)?;
            let record = table.remove(b"key".as_slice())?.unwrap().value().to_vec();
            let key = [b"key", &record[..1]].concat();
            table.insert(key.as_slice(), &record[1..])?;
        }
        txn.commit()?;
        Ok(())
    });
    check_refused(&disk, "file checkpoint.redb is damaged at key key");
}

#[test]
fn an_entry_from_after_the_checkpoint_is_refused() {
    let disk = disk_with(vec![entry(b"a", 40), entry(b"b", 41)], |_| Ok(()));
    check_refused(&disk, "file checkpoint.redb is damaged at key b");
}

#[test]
fn a_damaged_file_is_refused_or_read_as_it_was_written() {
    let whole = disk_with(entries(), |_| Ok(()));
    let file = whole.open(CHECKPOINT).unwrap();
    let content = crate::embedded::disk::read_all(&*file).unwrap();
    let mut refused = 0;
    let used = content.iter().rposition(|byte| *byte != 0).unwrap();
    for at in (0..=used).filter(|at| content[*at] != 0 || at % 16 == 0) {
        if at > 512 && at % 29 != 0 {
            continue;
        }
        let mut damaged = content.clone();
        damaged[at] ^= 0x81;
        let disk = FaultyDisk::with(&Image::from([(CHECKPOINT.to_owned(), damaged)]));
        match Checkpoint::open(&disk) {
            Err(_) => refused += 1,
            Ok((_, meta, found)) => {
                assert_eq!(meta, META_WRITTEN, "byte {at} changed");
                assert_eq!(found, entries(), "byte {at} changed");
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

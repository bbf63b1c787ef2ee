//! Restoring one backup twice, and restoring that is cut short.

use super::*;
use crate::embedded::Embedded;
use crate::embedded::fault::{Act, FaultyDisk, Image, Loss, Platter};
use crate::embedded::open::recover;
use crate::key::Key;
use bytes::Bytes;

fn backup() -> Vec<u8> {
    let mut state = State::at(0, []);
    for index in 0..5 {
        let put = crate::embedded::record::RecordOp::Put {
            key: Key::new(format!("key/{index}")).unwrap(),
            value: Bytes::from(vec![5; 700]),
            ttl: 0,
            deadline: 0,
        };
        state.apply(0, vec![put]);
    }
    let mut output = Vec::new();
    write(&state, &mut output).unwrap();
    output
}

#[test]
fn a_later_restore_begins_above_all_an_earlier_one_can_have_written() {
    let second = 1000;
    let now = RESTORE_EPOCH + 40_000 * second;
    let first = first_revision(77, now);
    assert!(first > 77 + RESTORE_SKIP);
    // Twice what has been measured.
    let written = 100_000;
    assert!(first_revision(77, now + second) > first + written);
    assert!(first_revision(77, now + 1) > first);
    assert!(
        first_revision(77, 0) > 77,
        "a clock that was never set does no harm"
    );
    assert_eq!(first_revision(u64::MAX, now), u64::MAX);
}

#[test]
fn an_interrupted_restore_is_never_taken_for_an_empty_store_and_can_be_repeated() {
    let recorded = FaultyDisk::default();
    restore_to(Arc::new(recorded.clone()), backup().as_slice(), 0).unwrap();
    let log = recorded.log();
    let begun = log
        .iter()
        .position(|act| matches!(act, Act::SyncDirectory))
        .unwrap();
    let mut platter = Platter::with(&Image::new());
    let (mut refused, mut whole) = (0, 0);
    for (number, act) in log.iter().enumerate() {
        platter.take(act);
        for loss in [Loss::All, Loss::None, Loss::Some(number as u64)] {
            let image = platter.image(loss);
            if number < begun {
                continue;
            }
            let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::with(&image));
            match recover(&disk) {
                Ok(recovered) => {
                    assert_eq!(recovered.state.len(), 5, "after act {number}, {loss:?}");
                    whole += 1;
                }
                Err(OpenError::UnfinishedRestore) => {
                    let names = disk.list().unwrap();
                    assert!(is_unfinished(&names), "after act {number}: {names:?}");
                    clear(&*disk).unwrap();
                    restore_to(Arc::clone(&disk), backup().as_slice(), 0).unwrap();
                    assert_eq!(recover(&disk).unwrap().state.len(), 5);
                    refused += 1;
                }
                Err(error) => panic!("after act {number}, {loss:?}: {error}"),
            }
        }
    }
    assert!(refused > 0 && whole > 0, "{refused} {whole}");
}

#[test]
fn a_directory_with_half_a_restore_is_refused_and_restored_again() {
    let directory = tempfile::TempDir::new().unwrap();
    std::fs::write(directory.path().join(RESTORE_NEW), "half a database").unwrap();
    let said = Embedded::open(directory.path(), crate::embedded::Options::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "a restore into this directory was interrupted: \
         restore the backup into it once more, or into an empty directory"
    );
    restore(directory.path(), backup().as_slice()).unwrap();
    let store = Embedded::open(directory.path(), crate::embedded::Options::default()).unwrap();
    assert_eq!(store.status().unwrap().entries, Some(5));
}

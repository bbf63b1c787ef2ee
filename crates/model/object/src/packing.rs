//! The text of an object made small, for as long as nobody looks at it.
//!
//! Objects of one or two kilobytes repeat little within themselves, but nearly everything they say is said by others too:
//! names of fields, owners of fields, conditions, sentences of events. A dictionary of such text makes a third or a quarter
//! of them, in some microseconds, and they are whole again in one. Packed text is stored, so what a dictionary once was is
//! part of the format: another one gets another number.

use std::borrow::Cow;

use lz4_flex::block;

/// Text that objects have in common, cut from those of a fleet in use.
const DICTIONARY: &[u8] = include_bytes!("packing/dictionary-1.txt");
/// What packed text begins with: the number of its dictionary. No JSON begins with it.
const MARK: u8 = 1;
/// The mark and the length of the text.
const HEAD: usize = 5;
/// Less text than this is kept as it is.
const SHORTEST: usize = 64;
/// No packing makes more than this of one byte, so that a length that was never true is not made room for.
const MOST_OF_A_BYTE: usize = 256;

/// Bytes that say of themselves that they are packed text, and are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is marked as packed text and cannot be unpacked")]
pub struct NotPacked;

/// The text as it is kept: packed if that makes it smaller. The same text is always the same packed.
#[must_use]
pub fn pack(text: &[u8]) -> Box<[u8]> {
    let (Ok(length), true) = (u32::try_from(text.len()), text.len() >= SHORTEST) else {
        return text.into();
    };
    let mut packed = vec![0; HEAD + block::get_maximum_output_size(text.len())];
    let (head, body) = packed.split_at_mut(HEAD);
    if let Some((mark, rest)) = head.split_first_mut() {
        *mark = MARK;
        rest.copy_from_slice(&length.to_le_bytes());
    }
    match block::compress_into_with_dict(text, body, DICTIONARY) {
        // What is kept is kept without the room that it could have needed.
        Ok(used) if HEAD + used < text.len() => {
            packed.truncate(HEAD + used);
            packed.into_boxed_slice()
        }
        _ => text.into(),
    }
}

/// The text again.
pub fn unpack(kept: &[u8]) -> Result<Cow<'_, [u8]>, NotPacked> {
    if kept.first() != Some(&MARK) {
        return Ok(Cow::Borrowed(kept));
    }
    let mut text = Vec::new();
    unpack_onto(kept, &mut text)?;
    Ok(Cow::Owned(text))
}

/// Appends the text.
pub fn unpack_onto(kept: &[u8], out: &mut Vec<u8>) -> Result<(), NotPacked> {
    let Some(([MARK, length @ ..], body)) = kept.split_first_chunk::<HEAD>() else {
        if kept.first() == Some(&MARK) {
            return Err(NotPacked);
        }
        out.extend_from_slice(kept);
        return Ok(());
    };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > body.len().saturating_mul(MOST_OF_A_BYTE) {
        return Err(NotPacked);
    }
    let begin = out.len();
    out.resize(begin + length, 0);
    let unpacked = out
        .get_mut(begin..)
        .map(|room| block::decompress_into_with_dict(body, room, DICTIONARY));
    if !matches!(unpacked, Some(Ok(found)) if found == length) {
        out.truncate(begin);
        return Err(NotPacked);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVENT: &str = r#"{"apiVersion":"v1","kind":"Event","metadata":{"creationTimestamp":"2024-05-01T10:00:00Z","name":"web.17a","namespace":"shop","uid":"0b1c2d3e-0000-4000-8000-000000000001"},"count":1,"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","namespace":"shop"},"lastTimestamp":"2024-05-01T10:00:00Z","message":"Binding has been scheduled successfully. Result: {a:0}","reason":"ScheduleBindingSucceed","source":{"component":"karmada-scheduler"},"type":"Normal"}"#;

    #[test]
    fn what_objects_have_in_common_takes_little_room() {
        let packed = pack(EVENT.as_bytes());
        assert!(packed.len() * 2 < EVENT.len(), "{} bytes", packed.len());
        assert_eq!(unpack(&packed).unwrap(), EVENT.as_bytes());
    }

    /// What is stored must be readable by every later version.
    #[test]
    fn what_was_packed_once_is_read_for_ever() {
        let stored: &[u8] = include_bytes!("packing/event-1.packed");
        assert_eq!(unpack(stored).unwrap(), EVENT.as_bytes());
    }

    #[test]
    fn text_that_is_short_or_has_no_repetition_is_kept_as_it_is() {
        let noise: Vec<u8> = (0..200_u32)
            .map(|n| (n * n * 37 % 251) as u8 | 0x80)
            .collect();
        for text in [&b""[..], b"{}", b"{\"a\":1}", &noise] {
            assert_eq!(&*pack(text), text);
            assert_eq!(unpack(text).unwrap(), text);
        }
    }

    #[test]
    fn what_is_damaged_is_refused_without_room_being_made_for_it() {
        let packed = pack(EVENT.as_bytes());
        let mut longer = packed.clone();
        longer[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut off = packed.clone();
        off[1] ^= 1;
        let cut = &packed[..packed.len() - 1];
        for damaged in [&longer[..], &off, cut, &[MARK], &[MARK, 0, 0]] {
            assert_eq!(unpack(damaged), Err(NotPacked), "{damaged:?}");
            let mut out = b"before".to_vec();
            assert_eq!(unpack_onto(damaged, &mut out), Err(NotPacked));
            assert_eq!(out, b"before");
        }
    }

    proptest! {
        #[test]
        fn text_is_the_same_again(text in "\\PC*", times in 1_usize..40) {
            let text = format!("{{{}", text.repeat(times));
            let packed = pack(text.as_bytes());
            prop_assert!(packed.len() <= text.len());
            let mut out = b"before".to_vec();
            unpack_onto(&packed, &mut out).unwrap();
            prop_assert_eq!(&out[6..], text.as_bytes());
        }

        #[test]
        fn any_bytes_are_unpacked_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = bytes.first_mut() {
                *first %= 3;
            }
            let _ = unpack(&bytes);
        }
    }
}

//! From value to canonical text, through a buffer on the stack.

use std::fmt;

use crate::quantity::{Format, Quantity, UNIT};

/// The largest number of units that is read from a text with a binary suffix.
const MAX_BINARY: u128 = i64::MAX as u128;

impl Quantity {
    /// The canonical text; dereferences to `str` and owns no heap memory.
    #[must_use]
    pub fn canonical_text(self) -> QuantityText {
        let mut text = QuantityText::empty();
        if self.nanos == 0 {
            text.push_front(b"0");
            return text;
        }
        let nanos = self.nanos.unsigned_abs();
        let (units, rest) = divide_by_unit(nanos);
        // Beyond the cap a binary suffix would read back as less.
        if self.format == Format::BinarySI && rest == 0 && (1024..=MAX_BINARY).contains(&units) {
            push_binary(&mut text, units);
        } else {
            let (mantissa, exponent) = in_thousands(nanos, units, rest, self.format);
            push_exponent(&mut text, exponent, self.format);
            push_number(&mut text, mantissa);
        }
        if self.nanos < 0 {
            text.push_front(b"-");
        }
        text
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.canonical_text())
    }
}

/// A quantity's text, kept in place.
#[derive(Clone, Copy)]
pub struct QuantityText {
    /// Filled from the end, where the least digits and the suffix are known first.
    bytes: [u8; Self::ROOM],
    start: usize,
}

impl QuantityText {
    /// The longest text is `-`, the 39 digits of 10^38 and `e-9`.
    const ROOM: usize = 1 + 39 + 3;

    fn empty() -> Self {
        Self {
            bytes: [0; Self::ROOM],
            start: Self::ROOM,
        }
    }

    fn push_front(&mut self, text: &[u8]) {
        let start = self.start - text.len();
        self.bytes[start..self.start].copy_from_slice(text);
        self.start = start;
    }
}

impl std::ops::Deref for QuantityText {
    type Target = str;

    fn deref(&self) -> &str {
        str::from_utf8(&self.bytes[self.start..]).expect("invariant: only ASCII is written")
    }
}

/// Whole units, and the billionths left over.
fn divide_by_unit(nanos: u128) -> (u128, u64) {
    // Everything up to 18Gi takes the short division, which is several times as fast.
    if let Ok(nanos) = u64::try_from(nanos) {
        return (u128::from(nanos / UNIT), nanos % UNIT);
    }
    let units = nanos / u128::from(UNIT);
    // The difference is less than one unit.
    (units, (nanos - units * u128::from(UNIT)) as u64)
}

/// The value as a whole number of the largest power of a thousand that divides it and that the form can express.
fn in_thousands(nanos: u128, units: u128, rest: u64, format: Format) -> (u128, i32) {
    if !rest.is_multiple_of(1_000) {
        return (nanos, -9);
    }
    if !rest.is_multiple_of(1_000_000) {
        return (units * 1_000_000 + u128::from(rest / 1_000), -6);
    }
    if rest != 0 {
        return (units * 1_000 + u128::from(rest / 1_000_000), -3);
    }
    let largest = match format {
        // `E` is the last letter.
        Format::BinarySI | Format::DecimalSI => 18,
        Format::DecimalExponent => i32::MAX,
    };
    let (mut mantissa, mut exponent) = (units, 0);
    while exponent < largest {
        let thousandth = match u64::try_from(mantissa) {
            Ok(mantissa) if mantissa.is_multiple_of(1_000) => u128::from(mantissa / 1_000),
            Err(_) if mantissa.is_multiple_of(1_000) => mantissa / 1_000,
            _ => break,
        };
        mantissa = thousandth;
        exponent += 3;
    }
    (mantissa, exponent)
}

fn push_binary(text: &mut QuantityText, units: u128) {
    const SUFFIXES: [&[u8]; 7] = [b"", b"Ki", b"Mi", b"Gi", b"Ti", b"Pi", b"Ei"];
    let thousands = (units.trailing_zeros() / 10).min(6);
    text.push_front(SUFFIXES[thousands as usize]);
    push_number(text, units >> (thousands * 10));
}

fn push_exponent(text: &mut QuantityText, exponent: i32, format: Format) {
    if exponent == 0 {
        return;
    }
    if format == Format::DecimalExponent {
        push_number(text, u128::from(exponent.unsigned_abs()));
        text.push_front(if exponent < 0 { b"e-" } else { b"e" });
        return;
    }
    text.push_front(match exponent {
        -9 => b"n",
        -6 => b"u",
        -3 => b"m",
        3 => b"k",
        6 => b"M",
        9 => b"G",
        12 => b"T",
        15 => b"P",
        _ => b"E",
    });
}

fn push_number(text: &mut QuantityText, number: u128) {
    let mut rest = number;
    // One digit at a time only while the number is too long for the fast division.
    let mut short = loop {
        match u64::try_from(rest) {
            Ok(short) => break short,
            Err(_) => push_digit(text, (rest % 10) as u64),
        }
        rest /= 10;
    };
    loop {
        push_digit(text, short % 10);
        short /= 10;
        if short == 0 {
            return;
        }
    }
}

fn push_digit(text: &mut QuantityText, digit: u64) {
    text.push_front(&[b'0' + digit as u8]);
}

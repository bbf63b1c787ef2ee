//! Exact amounts of a resource: `100m` of a CPU, `4Gi` of memory, `1e3` of anything.
//!
//! The grammar, with the rules that follow from it:
//!
//! ```text
//! quantity = [+|-] number [suffix]      number = digits | digits. | digits.digits | .digits
//! suffix   = Ki Mi Gi Ti Pi Ei          BinarySI         powers of 1024
//!          | n u m k M G T P E          DecimalSI        powers of 1000; no suffix is DecimalSI too
//!          | (e|E) [+|-] digits         DecimalExponent  any power of ten
//! ```
//!
//! - A quantity remembers which of the three forms it was written in and is printed in that form again.
//! - The printed form is canonical: no fraction, no precision lost, the largest suffix that allows both. So `1.5`
//!   prints as `1500m`, `1024Mi` as `1Gi`, `10000e0` as `10e3`. BinarySI is given up for DecimalSI where it would
//!   need a fraction, for values between -1024 and 1024, and for sums beyond its cap.
//! - Anything finer than a billionth is rounded away from zero: who asks for a little gets a little.
//! - BinarySI is capped at ±(2^63-1). The decimal forms are exact up to ±10^29 and capped there, at any exponent.
//!
//! A quantity is one `i128` of billionths. That covers 2^63 with room for 10^10 such quantities in a sum, makes
//! comparing and adding a single instruction pair, and needs no memory however long or extreme the text. A mantissa
//! with a scale would reach further, but every comparison would have to bring two scales together first.
//!
//! Upstream: the published page caps every form at 2^63-1, while the code caps BinarySI alone and keeps `12E`; we do as
//! the code does. Where that code prints a DecimalSI value of 10^21 or more without its suffix, or an accepted
//! spelling such as `1.500`, `+5` or `1E3` as it came, we print the canonical form. It reads a number without digits
//! (`.`, `Ki`) as zero; we refuse it, as the grammar and the CRD pattern do.

mod arithmetic;
mod encoding;
mod format;
mod parse;
#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

pub use crate::quantity::{encoding::PATTERN, format::QuantityText, parse::ParseQuantityError};

/// An exact amount, with the form it is written in.
///
/// Equality, order and hash go by value alone: `1Gi` equals `1073741824`. See [`Quantity::same_representation`] for
/// the comparison that looks at the writing as well.
#[derive(Clone, Copy, Default)]
pub struct Quantity {
    /// Invariant: at most [`MAX_NANOS`] in magnitude.
    nanos: i128,
    format: Format,
    spelling: Spelling,
}

/// The three ways to write a quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Powers of 1024: `12Mi`.
    BinarySI,
    /// Powers of 1000: `12M`, `12`, `12m`.
    #[default]
    DecimalSI,
    /// Powers of ten in figures: `12e6`.
    DecimalExponent,
}

/// A unit to count a quantity in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scale {
    /// 10^-9, the finest a quantity can express.
    Nano,
    /// 10^-6
    Micro,
    /// 10^-3
    Milli,
    /// 1
    Unit,
    /// 10^3
    Kilo,
    /// 10^6
    Mega,
    /// 10^9
    Giga,
    /// 10^12
    Tera,
    /// 10^15
    Peta,
    /// 10^18
    Exa,
}

/// Billionths in one unit.
const UNIT: u64 = 1_000_000_000;

/// The largest magnitude, 10^29 units: a power of ten, so that a capped value is recognisable in print, and the
/// largest whose billionths fit.
const MAX_NANOS: i128 = 10_i128.pow(38);

/// The largest magnitude that can be written in BinarySI.
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * UNIT as i128;

/// As much of a parsed text as upstream's comparison of whole structs can tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spelling {
    /// The power of ten that the last written digit counts, before any binary suffix.
    scale: i32,
    /// For texts that upstream keeps beside the number: the digits behind the point, or the binary suffix' power of two.
    literal: Option<u8>,
}

impl Quantity {
    /// Nothing, in DecimalSI.
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::DecimalSI,
        spelling: Spelling {
            scale: 0,
            literal: None,
        },
    };

    /// So many whole units.
    #[must_use]
    pub fn from_units(units: i64, format: Format) -> Self {
        Self::computed(i128::from(units) * i128::from(UNIT), format)
    }

    /// So many thousandths of a unit.
    #[must_use]
    pub fn from_millis(millis: i64, format: Format) -> Self {
        Self::computed(i128::from(millis) * Scale::Milli.nanos(), format)
    }

    /// So many of `scale`, in DecimalSI.
    #[must_use]
    pub fn from_scaled(count: i64, scale: Scale) -> Self {
        Self::computed(
            i128::from(count).saturating_mul(scale.nanos()),
            Format::DecimalSI,
        )
    }

    /// The value in billionths of a unit, without any loss.
    #[must_use]
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// The form this quantity is written in where the value allows it.
    #[must_use]
    pub fn format(self) -> Format {
        self.format
    }

    /// The same value, to be written in another form.
    #[must_use]
    pub fn with_format(self, format: Format) -> Self {
        Self::computed(self.nanos, format)
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// -1, 0 or 1, as the value is below, at or above zero.
    #[must_use]
    pub fn signum(self) -> i32 {
        match self.nanos.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// Whether the two are equal in value, form and writing: `4Gi` and `4096Mi` are not, nor `1` and `1000m`.
    ///
    /// Upstream: the check that resource model ranges touch compares parsed structs, which hold the digits as written
    /// with their power of ten, and the text itself where it already looked canonical (for BinarySI: unless the digits
    /// divide by 8, so `8Gi` and `8192Mi` are the same). Whatever does not fit upstream's short form (a fraction
    /// with a binary suffix, more than 18 digits) is never the same there, not even as itself; here it is. An explicit
    /// `+`, leading zeros and the case of `e` count as nothing here.
    #[must_use]
    pub fn same_representation(self, other: Self) -> bool {
        self.nanos == other.nanos && self.format == other.format && self.spelling == other.spelling
    }

    /// A value that came out of a computation: brought into range, and never written by anyone.
    fn computed(nanos: i128, format: Format) -> Self {
        Self {
            nanos: nanos.clamp(-MAX_NANOS, MAX_NANOS),
            format,
            spelling: Spelling::default(),
        }
    }
}

impl Scale {
    /// How many billionths of a unit one of this scale is.
    const fn nanos(self) -> i128 {
        1000_i128.pow(self as u32)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

/// The canonical text: what a failed assertion should show.
impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quantity({self})")
    }
}

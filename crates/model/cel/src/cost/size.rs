//! How large a value may be, and how large values at the places of a schema may be.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The fewest and the most characters, bytes, elements or entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub min: u64,
    pub max: u64,
}

impl Size {
    /// Nothing is known of it.
    pub(crate) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(crate) const fn exactly(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    pub(crate) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// A size that is either.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// What it costs at most to go through it, so much for each unit, rounded up.
    pub(crate) fn cost(self, each: f64) -> u64 {
        scaled(self.max, each)
    }
}

/// A number times a factor, rounded up; the largest number if it is none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are estimates; the conversion to an integer saturates and neither number is negative"
)]
pub(crate) fn scaled(number: u64, factor: f64) -> u64 {
    (number as f64 * factor).ceil() as u64
}

/// What is known of values at a place in a schema, and of those below.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    /// The most characters, elements or entries. Upstream: none for what has no size.
    pub most: u64,
    /// The fewest bytes it takes in JSON.
    pub bytes: u64,
    /// By the names expressions use.
    pub fields: BTreeMap<Arc<str>, Extent>,
    /// Of elements of a list and values of a map.
    pub elements: Option<Box<Extent>>,
    /// Of the keys of a map.
    pub keys: Option<Box<Extent>>,
}

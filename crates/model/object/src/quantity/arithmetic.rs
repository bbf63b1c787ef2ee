//! Sums, products and counting in a given unit.
//!
//! The operators stay within ±10^29 units instead of wrapping; the `checked_` ones say when that would happen. A sum
//! has the form of its first part, unless that is zero: then the form of the second.

use std::{
    iter::Sum,
    ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign},
};

use crate::quantity::{Format, MAX_NANOS, Quantity, Scale, UNIT};

impl Quantity {
    /// The sum, or `None` beyond the range of quantities.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.in_range(
            self.nanos.checked_add(other.nanos)?,
            self.format_with(other),
        )
    }

    /// The difference, or `None` beyond the range of quantities.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.in_range(
            self.nanos.checked_sub(other.nanos)?,
            self.format_with(other),
        )
    }

    /// The product, or `None` beyond the range of quantities.
    #[must_use]
    pub fn checked_mul(self, factor: i64) -> Option<Self> {
        self.in_range(self.nanos.checked_mul(i128::from(factor))?, self.format)
    }

    /// Whole units, rounded away from zero, at most what `i64` holds.
    #[must_use]
    pub fn value(self) -> i64 {
        self.scaled_value(Scale::Unit)
    }

    /// Thousandths, rounded away from zero, at most what `i64` holds.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        self.scaled_value(Scale::Milli)
    }

    /// How many of `scale`, rounded away from zero, at most what `i64` holds.
    ///
    /// Upstream leaves the result open where it overflows and returns 0 for most such values, so that a huge request
    /// would look like none. Staying at the limit keeps the order.
    #[must_use]
    pub fn scaled_value(self, scale: Scale) -> i64 {
        let limit = if self.nanos < 0 { i64::MIN } else { i64::MAX };
        self.checked_scaled_value(scale).unwrap_or(limit)
    }

    /// Like [`Quantity::value`], or `None` where the result does not fit.
    #[must_use]
    pub fn checked_value(self) -> Option<i64> {
        self.checked_scaled_value(Scale::Unit)
    }

    /// Like [`Quantity::milli_value`], or `None` where the result does not fit.
    #[must_use]
    pub fn checked_milli_value(self) -> Option<i64> {
        self.checked_scaled_value(Scale::Milli)
    }

    /// Like [`Quantity::scaled_value`], or `None` where the result does not fit.
    #[must_use]
    pub fn checked_scaled_value(self, scale: Scale) -> Option<i64> {
        i64::try_from(divide_away_from_zero(self.nanos, scale)).ok()
    }

    /// The value if it is a whole number of units that fits; nothing is rounded.
    #[must_use]
    pub fn exact_value(self) -> Option<i64> {
        let unit = i128::from(UNIT);
        if self.nanos % unit != 0 {
            return None;
        }
        i64::try_from(self.nanos / unit).ok()
    }

    /// The next multiple of `scale` away from zero, or the value itself if it is one.
    #[must_use]
    pub fn round_up(self, scale: Scale) -> Self {
        let count = divide_away_from_zero(self.nanos, scale);
        Self::computed(count.saturating_mul(scale.nanos()), self.format)
    }

    /// The nearest floating-point number, for scores and ratios that need no exactness.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let unit = i128::from(UNIT);
        if self.nanos % unit == 0 {
            return (self.nanos / unit) as f64;
        }
        self.nanos as f64 / UNIT as f64
    }

    fn format_with(self, other: Self) -> Format {
        if self.is_zero() {
            return other.format;
        }
        self.format
    }

    fn in_range(self, nanos: i128, format: Format) -> Option<Self> {
        (nanos.unsigned_abs() <= MAX_NANOS.unsigned_abs()).then(|| Self::computed(nanos, format))
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let format = self.format_with(other);
        Self::computed(self.nanos.saturating_add(other.nanos), format)
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let format = self.format_with(other);
        Self::computed(self.nanos.saturating_sub(other.nanos), format)
    }
}

impl Mul<i64> for Quantity {
    type Output = Self;

    fn mul(self, factor: i64) -> Self {
        Self::computed(self.nanos.saturating_mul(i128::from(factor)), self.format)
    }
}

impl Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        Self::computed(-self.nanos, self.format)
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(quantities: I) -> Self {
        quantities.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Self> for Quantity {
    fn sum<I: Iterator<Item = &'a Self>>(quantities: I) -> Self {
        quantities.copied().sum()
    }
}

fn divide_away_from_zero(nanos: i128, scale: Scale) -> i128 {
    // Scheduling asks this of small values in tight loops; dividing 64 bits is several times as fast as 128.
    if let (Ok(nanos), Ok(unit)) = (i64::try_from(nanos), i64::try_from(scale.nanos())) {
        return i128::from(nanos / unit + (nanos % unit).signum());
    }
    let unit = scale.nanos();
    nanos / unit + (nanos % unit).signum()
}

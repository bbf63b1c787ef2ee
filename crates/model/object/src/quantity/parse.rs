//! From text to value, in one pass and without memory of its own.

use std::str::FromStr;

use crate::{
    excerpt::Excerpt,
    quantity::{Format, MAX_BINARY_NANOS, MAX_NANOS, Quantity, Spelling, UNIT},
};

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// There is no text.
    #[error("a quantity must not be empty")]
    Empty,
    /// No digit stands where the number should be.
    #[error("quantity {text} does not start with a number")]
    NoNumber {
        /// What was given.
        text: Excerpt,
    },
    /// A number is followed by something that is no suffix.
    #[error(
        "quantity {text} has the unknown suffix {suffix}; there are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents such as e3"
    )]
    UnknownSuffix {
        /// What was given.
        text: Excerpt,
        /// The part behind the number.
        suffix: Excerpt,
    },
    /// The suffix is meant as an exponent but is not a whole number of 64 bits.
    #[error("quantity {text} has the exponent {exponent}, which is not a whole number of 64 bits")]
    Exponent {
        /// What was given.
        text: Excerpt,
        /// The part behind the `e`.
        exponent: Excerpt,
    },
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(ParseQuantityError::Empty);
        }
        let (is_negative, unsigned) = split_sign(text);
        let Some((number, suffix)) = Number::split_from(unsigned) else {
            return Err(ParseQuantityError::NoNumber { text: text.into() });
        };
        let suffix = Suffix::interpret(suffix).map_err(|problem| problem.in_text(text))?;

        let (magnitude, format) = match suffix {
            Suffix::Decimal(exponent) => (number.decimal_nanos(exponent), Format::DecimalSI),
            Suffix::Exponent(exponent) => (number.decimal_nanos(exponent), Format::DecimalExponent),
            Suffix::Binary(bits) => match number.binary_nanos(bits) {
                // Less than one unit has no binary suffix.
                small @ 1..ONE_UNIT => (small, Format::DecimalSI),
                magnitude => (magnitude, Format::BinarySI),
            },
        };
        Ok(Self {
            nanos: if is_negative { -magnitude } else { magnitude },
            format,
            spelling: if text == "0" {
                Spelling {
                    scale: 0,
                    literal: Some(0),
                }
            } else {
                number.spelling(suffix)
            },
        })
    }
}

const ONE_UNIT: i128 = UNIT as i128;

/// Digits of a number that certainly fit `u64`.
const SHORT: usize = 18;

/// The powers of ten that fit `u64`.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// Digits of the largest number of billionths below [`MAX_NANOS`].
const LONGEST: i128 = 38;

/// An unsigned number, as its digits on both sides of the point.
#[derive(Clone, Copy)]
struct Number<'a> {
    /// Without leading zeros.
    integer: &'a [u8],
    fraction: &'a [u8],
}

/// What the number is multiplied by.
#[derive(Clone, Copy)]
enum Suffix {
    /// A power of ten with a letter.
    Decimal(i64),
    /// A power of ten in figures.
    Exponent(i64),
    /// A power of two.
    Binary(u8),
}

enum SuffixProblem<'a> {
    Unknown(&'a str),
    Exponent(&'a str),
}

impl<'a> Number<'a> {
    /// The number a text starts with, and what follows it; `None` if there is no digit.
    fn split_from(text: &'a str) -> Option<(Self, &'a str)> {
        let (integer, rest) = split_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let number = Self {
            integer: skip_zeros(integer.as_bytes()),
            fraction: fraction.as_bytes(),
        };
        Some((number, rest))
    }

    /// The number times ten to the `exponent`, in billionths, rounded up and capped.
    fn decimal_nanos(self, exponent: i64) -> i128 {
        // How far the last digit is from the billionths: to the left if positive.
        let shift = i128::from(exponent) + 9 - self.fraction.len() as i128;
        let length = self.integer.len() + self.fraction.len();
        if length <= SHORT
            && let Some(power) = usize::try_from(shift)
                .ok()
                .and_then(|shift| POWERS.get(shift))
        {
            let mantissa = append_digits(append_digits(0, self.integer), self.fraction);
            // Less than 10^18 times at most 10^19 is within range.
            return i128::from(mantissa) * i128::from(*power);
        }
        self.long_decimal_nanos(shift)
    }

    /// For any number of digits: only those at and above the billionths are looked at one by one, the others only
    /// decide about rounding.
    fn long_decimal_nanos(self, shift: i128) -> i128 {
        let digits = || {
            let all = self.integer.iter().chain(self.fraction);
            all.skip_while(|digit| **digit == b'0')
        };
        let length = digits().count() as i128;
        if length == 0 {
            return 0;
        }
        let kept = length + shift;
        if kept > LONGEST {
            return MAX_NANOS;
        }
        let Ok(kept) = usize::try_from(kept) else {
            return 1;
        };
        let mut nanos = 0_i128;
        for digit in digits().map(Some).chain(std::iter::repeat(None)).take(kept) {
            nanos = nanos * 10 + i128::from(digit.map_or(0, |digit| digit - b'0'));
        }
        if digits().skip(kept).any(|digit| *digit != b'0') {
            nanos += 1;
        }
        nanos
    }

    /// The number times two to the `bits`, in billionths, rounded up and capped.
    fn binary_nanos(self, bits: u8) -> i128 {
        // 19 digits fit `u64`; more are beyond the cap by themselves.
        if self.integer.len() > 19 {
            return MAX_BINARY_NANOS;
        }
        // Below 2^64 * 2^60 * 2^30, which could overflow, so the cap is applied before the last factor.
        let units = i128::from(append_digits(0, self.integer)) << bits;
        if units > i128::from(i64::MAX) {
            return MAX_BINARY_NANOS;
        }
        let factor = i128::from(UNIT) << bits;
        // From the last digit to the first, each step a tenth of itself and the steps behind it. Rounding up at every
        // step gives the same as rounding up once at the end, because what is added at each step is whole.
        let fraction = self.fraction.iter().rev().fold(0_i128, |behind, digit| {
            let tenths = behind + i128::from(digit - b'0') * factor;
            tenths / 10 + i128::from(tenths % 10 != 0)
        });
        (units * i128::from(UNIT) + fraction).min(MAX_BINARY_NANOS)
    }

    /// Upstream: the text is kept if it looks canonical at a glance, which is not quite whether it is.
    fn spelling(self, suffix: Suffix) -> Spelling {
        let decimals = self.fraction.len();
        match suffix {
            Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
                let scale = exponent.saturating_sub(i64::try_from(decimals).unwrap_or(i64::MAX));
                let zeros = self.fraction.iter().rev().chain(self.integer.iter().rev());
                let ends_in_thousands = zeros.take_while(|digit| **digit == b'0').count() >= 3;
                let is_kept = scale % 3 == 0 && !ends_in_thousands && !self.integer.is_empty();
                Spelling {
                    scale: saturate(scale),
                    literal: is_kept.then(|| u8::try_from(decimals).unwrap_or(u8::MAX)),
                }
            }
            Suffix::Binary(bits) => {
                // Three decimal digits decide about divisibility by 8.
                let tail = self.integer.len().saturating_sub(3);
                let tail = append_digits(0, self.integer.get(tail..).unwrap_or_default());
                let is_kept = decimals > 0 || !tail.is_multiple_of(8);
                Spelling {
                    scale: i32::try_from(decimals).map_or(i32::MIN, |decimals| -decimals),
                    literal: is_kept.then_some(bits),
                }
            }
        }
    }
}

impl Suffix {
    fn interpret(suffix: &str) -> Result<Self, SuffixProblem<'_>> {
        Ok(match suffix.as_bytes() {
            [] => Self::Decimal(0),
            [b'n'] => Self::Decimal(-9),
            [b'u'] => Self::Decimal(-6),
            [b'm'] => Self::Decimal(-3),
            [b'k'] => Self::Decimal(3),
            [b'M'] => Self::Decimal(6),
            [b'G'] => Self::Decimal(9),
            [b'T'] => Self::Decimal(12),
            [b'P'] => Self::Decimal(15),
            [b'E'] => Self::Decimal(18),
            [b'K', b'i'] => Self::Binary(10),
            [b'M', b'i'] => Self::Binary(20),
            [b'G', b'i'] => Self::Binary(30),
            [b'T', b'i'] => Self::Binary(40),
            [b'P', b'i'] => Self::Binary(50),
            [b'E', b'i'] => Self::Binary(60),
            // Something that sets out to be a number deserves the complaint about numbers.
            [b'e' | b'E', b'0'..=b'9' | b'+' | b'-' | b'.', ..] => {
                let exponent = suffix.trim_start_matches(['e', 'E']);
                let number = exponent.parse();
                Self::Exponent(number.map_err(|_| SuffixProblem::Exponent(exponent))?)
            }
            _ => return Err(SuffixProblem::Unknown(suffix)),
        })
    }
}

impl SuffixProblem<'_> {
    fn in_text(self, text: &str) -> ParseQuantityError {
        let text = text.into();
        match self {
            Self::Unknown(suffix) => ParseQuantityError::UnknownSuffix {
                text,
                suffix: suffix.into(),
            },
            Self::Exponent(exponent) => ParseQuantityError::Exponent {
                text,
                exponent: exponent.into(),
            },
        }
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(digits)
}

fn skip_zeros(digits: &[u8]) -> &[u8] {
    let mut rest = digits;
    while let [b'0', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// `number` with further digits behind it. The caller sees to it that they fit.
fn append_digits(number: u64, digits: &[u8]) -> u64 {
    digits.iter().fold(number, |number, digit| {
        number * 10 + u64::from(digit - b'0')
    })
}

fn saturate(scale: i64) -> i32 {
    i32::try_from(scale).unwrap_or(if scale < 0 { i32::MIN } else { i32::MAX })
}

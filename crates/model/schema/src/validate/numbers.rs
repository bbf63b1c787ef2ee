//! Rules about numbers.
//!
//! Upstream: whole numbers are compared as 64-bit integers, so that a bound with a fraction loses it; a bound that
//! does not fit the number's own type is reported along with the value.

use object::{
    Value,
    field::{FieldError, FieldPath},
};
use serde_json::Number;

use super::{NOWHERE, values::dotted_path};
use crate::{rules::Rules, trail::Trail};

pub(super) fn check(
    rules: Option<&Rules>,
    types: &[&str],
    format: Option<&str>,
    number: &Number,
    trail: &Trail<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(value) = number.as_f64() else {
        return errors;
    };
    let range = Range {
        types,
        format,
        trail,
    };
    let checked = match number.as_i64() {
        Some(whole) => range.holds_whole(whole),
        None => range.holds(value),
    };
    if !checked {
        errors.push(range.refuse("Checked"));
    }
    let Some(rules) = rules else { return errors };
    let refuse = |detail: String| {
        let shown = number.as_i64().map_or_else(|| number.clone(), Number::from);
        FieldError::invalid(
            dotted_path(trail),
            shown,
            format!("{} in body {detail}", trail.dotted()),
        )
    };
    if let Some(factor) = rules.multiple_of {
        let fits = range.holds(factor);
        if !fits {
            errors.push(range.refuse("MultipleOf"));
        }
        match number.as_i64().filter(|_| fits) {
            Some(whole) => {
                let factor = truncate(factor);
                if factor <= 0 {
                    errors.push(not_positive(trail, factor.into(), &factor.to_string()));
                } else if whole % factor != 0 {
                    errors.push(refuse(format!("should be a multiple of {factor}")));
                }
            }
            None if factor <= 0.0 => errors.push(not_positive(trail, factor.into(), &show(factor))),
            None => {
                let quotient = if factor < 1.0 {
                    1.0 / factor * value
                } else {
                    value / factor
                };
                if !is_whole(quotient) {
                    errors.push(refuse(format!("should be a multiple of {}", show(factor))));
                }
            }
        }
    }
    let mut bound = |limit: Option<f64>, exclusive: bool, name: &str, is_upper: bool| {
        let Some(limit) = limit else { return };
        let fits = range.holds(limit);
        if !fits {
            errors.push(range.refuse(name));
        }
        let (order, shown) = match number.as_i64().filter(|_| fits) {
            Some(whole) => (
                Some(whole.cmp(&truncate(limit))),
                truncate(limit).to_string(),
            ),
            None => (value.partial_cmp(&limit), show(limit)),
        };
        let beyond = match order {
            Some(std::cmp::Ordering::Equal) => exclusive,
            Some(std::cmp::Ordering::Greater) => is_upper,
            Some(std::cmp::Ordering::Less) => !is_upper,
            None => false,
        };
        if beyond {
            let word = if is_upper { "less" } else { "greater" };
            let or_equal = if exclusive { "" } else { " or equal to" };
            errors.push(refuse(format!("should be {word} than{or_equal} {shown}")));
        }
    };
    bound(
        rules.minimum,
        rules.exclusive_minimum,
        "Minimum boundary",
        false,
    );
    bound(
        rules.maximum,
        rules.exclusive_maximum,
        "Maximum boundary",
        true,
    );
    errors
}

/// The numbers a type and format can hold.
struct Range<'a> {
    types: &'a [&'a str],
    format: Option<&'a str>,
    trail: &'a Trail<'a>,
}

impl Range<'_> {
    fn holds_whole(&self, value: i64) -> bool {
        match (self.types, self.format) {
            (["integer"], Some("int32")) => i32::try_from(value).is_ok(),
            _ => true,
        }
    }

    fn holds(&self, value: f64) -> bool {
        match (self.types, self.format) {
            (["integer"], Some("int32")) => value.fract() == 0.0 && value.abs() < 2f64.powi(31),
            (["integer"], _) => value.fract() == 0.0 && value.abs() < 2f64.powi(63),
            (["number"], Some("float")) => value.abs() <= f64::from(f32::MAX),
            _ => true,
        }
    }

    fn refuse(&self, what: &str) -> FieldError {
        let ty = self.types.first().copied().unwrap_or_default();
        let form = self.format.map_or_else(
            || "(default format)".to_owned(),
            |format| format!("with format {format}"),
        );
        let detail = format!(
            "{what} value must be of type {ty} {form} in {}",
            self.trail.dotted()
        );
        FieldError::invalid(FieldPath::from(NOWHERE), "", detail)
    }
}

/// Whether a number counts as an integer: no fraction to speak of, and exact in a double.
pub(super) fn is_whole(value: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0; // 2^53 - 1
    const TOLERANCE: f64 = 1e-9;
    if !value.is_finite() || value.abs() > LARGEST {
        return false;
    }
    let nearest = value.trunc();
    let difference = (value - nearest).abs();
    difference == 0.0 || (nearest != 0.0 && difference / (value.abs() + nearest.abs()) < TOLERANCE)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and losing the fraction is the rule here"
)]
fn truncate(value: f64) -> i64 {
    value as i64
}

fn not_positive(trail: &Trail<'_>, factor: Value, shown: &str) -> FieldError {
    let detail = format!(
        "factor MultipleOf declared for {} must be positive: {shown}",
        trail.dotted()
    );
    FieldError::invalid(dotted_path(trail), factor, detail)
}

/// A number as Go prints it: plain up to 21 digits, then with an exponent.
fn show(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    value.to_string()
}

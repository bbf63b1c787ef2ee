//! Amounts of memory as Java programs write them: `2g`, `512m`, `1024k`.

use object::quantity::{Format, Quantity};

use crate::{error::RuleError, node::Node};

const KIBI: f64 = 1024.0;

/// The amount at a place, in bytes; `None` if there is none.
///
/// Units are powers of 1024 whatever their case, with or without a `b` or `ib` after them. What is not written that way
/// is read as an amount of Kubernetes'.
pub(super) fn bytes(node: Node<'_, '_>) -> Result<Option<f64>, RuleError> {
    let Ok(Some(text)) = node.text() else {
        return Ok(node.quantity()?.map(Quantity::to_f64));
    };
    match parse(text) {
        Some(bytes) => Ok(Some(bytes)),
        None if text.is_empty() => Ok(None),
        None => Ok(node.quantity()?.map(Quantity::to_f64)),
    }
}

/// That many bytes, rounded up.
pub(super) fn quantity(bytes: f64) -> Quantity {
    // A float that is too large becomes the largest amount, not another one.
    Quantity::from_units(bytes.ceil() as i64, Format::BinarySI)
}

fn parse(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit
        .strip_suffix("ib")
        .or_else(|| unit.strip_suffix('b'))
        .unwrap_or(&unit);
    let power = match unit {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some(number * KIBI.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024() {
        for (text, bytes) in [
            ("1g", Some(1_073_741_824.0)),
            ("1G", Some(1_073_741_824.0)),
            ("2048m", Some(2_147_483_648.0)),
            ("512mb", Some(536_870_912.0)),
            ("1.5 gib", Some(1_610_612_736.0)),
            ("100b", Some(100.0)),
            ("1Gi", None),
            ("1024", None),
            ("", None),
            ("g", None),
        ] {
            assert_eq!(parse(text), bytes, "{text}");
        }
        assert_eq!(quantity(1_476_395_007.2).to_string(), "1408Mi");
    }
}

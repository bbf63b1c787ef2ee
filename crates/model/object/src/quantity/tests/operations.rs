//! Comparing, adding, multiplying, rounding, counting.

use std::{
    cmp::Ordering,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

use super::{
    Format::{BinarySI, DecimalExponent, DecimalSI},
    Quantity, quantity,
};
use crate::quantity::Scale;

#[test]
fn order_goes_by_value_across_forms() {
    let check = |left: &str, right: &str, order: Ordering| {
        let (a, b) = (quantity(left), quantity(right));
        assert_eq!(a.cmp(&b), order, "{left} against {right}");
        assert_eq!(b.cmp(&a), order.reverse(), "{right} against {left}");
        assert_eq!(a == b, order == Ordering::Equal, "{left} against {right}");
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        assert_eq!(
            hasher.hash_one(a) == hasher.hash_one(b),
            order == Ordering::Equal
        );
    };
    use Ordering::{Equal, Greater, Less};
    check("0", "0", Equal);
    check("0", "-0", Equal);
    check("0Ki", "0e3", Equal);
    check("1", "1000m", Equal);
    check("1", "1e0", Equal);
    check("1k", "1e3", Equal);
    check("1Ki", "1024", Equal);
    check("1Gi", "1073741824", Equal);
    check("4Gi", "4096Mi", Equal);
    check("0.5Gi", "512Mi", Equal);
    check("1000000000n", "1", Equal);
    check("100m", "50m", Greater);
    check("50m", "100m", Less);
    check("999m", "1", Less);
    check("1001m", "1", Greater);
    check("1k", "1Ki", Less);
    check("1M", "1Mi", Less);
    check("1G", "1Gi", Less);
    check("1T", "1Ti", Less);
    check("1P", "1Pi", Less);
    check("1E", "1Ei", Less);
    check("10000T", "100Gi", Greater);
    check("8Ei", "9223372036854775807", Equal);
    check("8Ei", "9223372036854775808", Less);
    check("12E", "8Ei", Greater);
    check("1e29", "1e500", Equal);
    check("-1", "1", Less);
    check("-1", "-2", Greater);
    check("-1n", "0", Less);
    check("-1Gi", "-1G", Less);
    check("1.0000000001", "1000000001n", Equal);
}

#[test]
fn sums_are_exact_and_keep_the_form_of_the_first_part() {
    let check = |left: &str, right: &str, sum: &str, difference: &str| {
        let (a, b) = (quantity(left), quantity(right));
        assert_eq!((a + b).to_string(), sum, "{left} + {right}");
        assert_eq!((a - b).to_string(), difference, "{left} - {right}");
        assert_eq!(
            a.checked_add(b).unwrap().to_string(),
            sum,
            "{left} + {right}"
        );
        assert_eq!(
            a.checked_sub(b).unwrap().to_string(),
            difference,
            "{left} - {right}"
        );
        let (mut more, mut less) = (a, a);
        more += b;
        less -= b;
        assert_eq!((more, less), (a + b, a - b));
    };
    check("1", "1", "2", "0");
    check("100m", "50m", "150m", "50m");
    check("1", "1m", "1001m", "999m");
    check("500m", "500m", "1", "0");
    check("1n", "1", "1000000001n", "-999999999n");
    check("1Gi", "1Gi", "2Gi", "0");
    check("1Gi", "512Mi", "1536Mi", "512Mi");
    check("1Gi", "1", "1073741825", "1073741823");
    check("1Gi", "1m", "1073741824001m", "1073741823999m");
    check("10", "1Ki", "1034", "-1014");
    check("1Ki", "10", "1034", "1014");
    check("1Ki", "1000", "2024", "24");
    check("1e3", "1k", "2e3", "0");
    check("1k", "1e3", "2k", "0");
    check("1e3", "500m", "1000500e-3", "999500e-3");
    check("0", "1Gi", "1Gi", "-1Gi");
    check("0", "100m", "100m", "-100m");
    check("0", "1e3", "1e3", "-1e3");
    check("0Ki", "1000", "1k", "-1k");
    check("1Gi", "0", "1Gi", "1Gi");
    check("100m", "0", "100m", "100m");
    check("-1", "1", "0", "-2");
    check("-1Gi", "-1Gi", "-2Gi", "0");
    check("8Ei", "1", "9223372036854775808", "9223372036854775806");
    check(
        "9223372036854775807",
        "9223372036854775807",
        "18446744073709551614",
        "0",
    );
    check("7Ei", "7Ei", "16140901064495857664", "0");
}

#[test]
fn sums_beyond_the_range_stay_at_its_end_or_say_so() {
    let most = quantity("1e29");
    assert_eq!(most + most, most);
    assert_eq!(-most - most, -most);
    assert_eq!(most * i64::MAX, most);
    assert_eq!(most * i64::MIN, -most);
    assert_eq!(most.checked_add(quantity("1n")), None);
    assert_eq!((-most).checked_sub(quantity("1n")), None);
    assert_eq!(most.checked_add(most), None);
    assert_eq!(most.checked_mul(2), None);
    assert_eq!(most.checked_mul(i64::MIN), None);
    assert_eq!(most.checked_mul(-1), Some(-most));
    // The sum that would be the least `i128` of all.
    let rest = quantity("70141183460469231731.687303715884105728G");
    assert_eq!((-most).checked_sub(rest), None);
    assert_eq!(-most - rest, -most);
    assert_eq!(
        Quantity::from_scaled(i64::MAX, Scale::Exa).to_string(),
        "100000000000E"
    );
}

#[test]
fn lists_add_up() {
    let requests = ["100m", "250m", "1", "0.65"].map(quantity);
    assert_eq!(requests.iter().sum::<Quantity>().to_string(), "2");
    assert_eq!(
        ["1Gi", "512Mi"]
            .map(quantity)
            .into_iter()
            .sum::<Quantity>()
            .to_string(),
        "1536Mi"
    );
    assert_eq!(
        Vec::<Quantity>::new().into_iter().sum::<Quantity>(),
        Quantity::ZERO
    );
}

#[test]
fn products_are_exact_and_keep_the_form() {
    let check = |text: &str, factor: i64, product: &str| {
        assert_eq!(
            (quantity(text) * factor).to_string(),
            product,
            "{text} * {factor}"
        );
        assert_eq!(
            quantity(text).checked_mul(factor).unwrap().to_string(),
            product
        );
    };
    check("100m", 3, "300m");
    check("100m", 10, "1");
    check("512Mi", 2, "1Gi");
    check("1Gi", 1000, "1000Gi");
    check("1Gi", 1024, "1Ti");
    check("1e3", 1000, "1e6");
    check("1", 0, "0");
    check("1Gi", 0, "0");
    check("0", i64::MAX, "0");
    check("1.5", -2, "-3");
    check("-500m", -2, "1");
    check("1n", i64::MAX, "9223372036854775807n");
    check("9223372036854775807", 2, "18446744073709551614");
    check("9223372036854775807", 10, "92233720368547758070");
    check("9223372036854775807", -1, "-9223372036854775807");
    check("9223372036", i64::MAX, "85070591722350700571333133052");
}

#[test]
fn negation_keeps_the_form() {
    for (text, negated) in [
        ("1Gi", "-1Gi"),
        ("-1e3", "1e3"),
        ("0Ki", "0"),
        ("9.01", "-9010m"),
        ("-1", "1"),
    ] {
        assert_eq!((-quantity(text)).to_string(), negated);
        assert_eq!(-(-quantity(text)), quantity(text));
    }
}

#[test]
fn counting_rounds_away_from_zero() {
    let check = |text: &str, units: i64, millis: i64| {
        for (sign, text) in [(1, text.to_owned()), (-1, format!("-{text}"))] {
            let parsed = quantity(&text);
            assert_eq!(parsed.value(), sign * units, "units of {text}");
            assert_eq!(parsed.milli_value(), sign * millis, "millis of {text}");
            assert_eq!(
                parsed.checked_value(),
                Some(sign * units),
                "units of {text}"
            );
            assert_eq!(
                parsed.checked_milli_value(),
                Some(sign * millis),
                "millis of {text}"
            );
        }
    };
    check("0", 0, 0);
    check("1n", 1, 1);
    check("1u", 1, 1);
    check("1m", 1, 1);
    check("499m", 1, 499);
    check("500m", 1, 500);
    check("999m", 1, 999);
    check("1", 1, 1_000);
    check("1.0001", 2, 1_001);
    check("1.001", 2, 1_001);
    check("1001m", 2, 1_001);
    check("1.5", 2, 1_500);
    check("1.0000000001", 2, 1_001);
    check("2Ki", 2_048, 2_048_000);
    check("0.1Ki", 103, 102_400);
    check("1Gi", 1_073_741_824, 1_073_741_824_000);
    check("64Gi", 68_719_476_736, 68_719_476_736_000);
    check("1e3", 1_000, 1_000_000);
    check(
        "9223372036854775",
        9_223_372_036_854_775,
        9_223_372_036_854_775_000,
    );
}

#[test]
fn counts_that_do_not_fit_stay_at_the_limit_or_say_so() {
    let check = |text: &str, value: Option<i64>, millis: Option<i64>| {
        let parsed = quantity(text);
        let limit = if parsed.signum() < 0 {
            i64::MIN
        } else {
            i64::MAX
        };
        assert_eq!(parsed.checked_value(), value, "{text}");
        assert_eq!(parsed.checked_milli_value(), millis, "{text}");
        assert_eq!(parsed.value(), value.unwrap_or(limit), "{text}");
        assert_eq!(parsed.milli_value(), millis.unwrap_or(limit), "{text}");
    };
    check(
        "9223372036854775807m",
        Some(9_223_372_036_854_776),
        Some(i64::MAX),
    );
    check("9223372036854775808m", Some(9_223_372_036_854_776), None);
    check(
        "-9223372036854775808m",
        Some(-9_223_372_036_854_776),
        Some(i64::MIN),
    );
    check("9223372036854775807", Some(i64::MAX), None);
    check("8Ei", Some(i64::MAX), None);
    check("-8Ei", Some(-i64::MAX), None);
    check("9223372036854775806.1", Some(i64::MAX), None);
    check("9223372036854775807.1", None, None);
    check("-9223372036854775808", Some(i64::MIN), None);
    check("-9223372036854775808.1", None, None);
    check("12E", None, None);
    check("-1e29", None, None);
}

#[test]
fn every_scale_counts_and_rounds() {
    let check = |text: &str, scale: Scale, count: i64, rounded: &str| {
        assert_eq!(
            quantity(text).scaled_value(scale),
            count,
            "{text} in {scale:?}"
        );
        assert_eq!(
            quantity(text).round_up(scale).to_string(),
            rounded,
            "{text} to {scale:?}"
        );
    };
    check("1n", Scale::Nano, 1, "1n");
    check("1n", Scale::Micro, 1, "1u");
    check("1n", Scale::Milli, 1, "1m");
    check("1n", Scale::Unit, 1, "1");
    check("1n", Scale::Exa, 1, "1E");
    check("1", Scale::Nano, 1_000_000_000, "1");
    check("1", Scale::Micro, 1_000_000, "1");
    check("9.01", Scale::Milli, 9_010, "9010m");
    check("9.01", Scale::Unit, 10, "10");
    check("-9.01", Scale::Unit, -10, "-10");
    check("-9.01", Scale::Kilo, -1, "-1k");
    check("1500", Scale::Kilo, 2, "2k");
    check("2k", Scale::Kilo, 2, "2k");
    check("1Mi", Scale::Kilo, 1_049, "1049000");
    check("1.5Gi", Scale::Mega, 1_611, "1611000000");
    check("1e10", Scale::Giga, 10, "10e9");
    check("1500G", Scale::Tera, 2, "2T");
    check("1", Scale::Peta, 1, "1P");
    check("12E", Scale::Exa, 12, "12E");
    check("0", Scale::Exa, 0, "0");
}

#[test]
fn whole_numbers_come_out_only_when_nothing_is_lost() {
    let check =
        |text: &str, value: Option<i64>| assert_eq!(quantity(text).exact_value(), value, "{text}");
    check("0", Some(0));
    check("3000m", Some(3));
    check("-1Ki", Some(-1_024));
    check("1e3", Some(1_000));
    check("1.5", None);
    check("1n", None);
    check("9223372036854775807", Some(i64::MAX));
    check("9223372036854775808", None);
}

#[test]
fn floats_are_near_enough() {
    for (text, float) in [
        ("0", 0.0),
        ("500m", 0.5),
        ("1.1Ki", 1126.4),
        ("2Gi", 2_147_483_648.0),
        ("-1n", -1e-9),
        ("12E", 1.2e19),
        ("1e27", 1e27),
    ] {
        assert_eq!(quantity(text).to_f64(), float, "{text}");
    }
}

#[test]
fn quantities_are_made_from_numbers() {
    let check = |made: Quantity, text: &str| assert_eq!(made.to_string(), text);
    check(Quantity::from_units(1, DecimalSI), "1");
    check(Quantity::from_units(1_000, DecimalSI), "1k");
    check(Quantity::from_units(1_000_000, DecimalExponent), "1e6");
    check(Quantity::from_units(1_024, BinarySI), "1Ki");
    check(Quantity::from_units(1_023, BinarySI), "1023");
    check(Quantity::from_units(1_025, BinarySI), "1025");
    check(Quantity::from_units(-1_024, BinarySI), "-1Ki");
    check(Quantity::from_units(-1_000, BinarySI), "-1k");
    check(Quantity::from_units(1_000, BinarySI), "1k");
    check(Quantity::from_units(1 << 20, BinarySI), "1Mi");
    check(
        Quantity::from_units(i64::MAX, DecimalSI),
        "9223372036854775807",
    );
    check(
        Quantity::from_units(i64::MIN, BinarySI),
        "-9223372036854775808",
    );
    check(Quantity::from_millis(1, DecimalSI), "1m");
    check(Quantity::from_millis(1_000, DecimalSI), "1");
    check(Quantity::from_millis(1_234_000, DecimalSI), "1234");
    check(Quantity::from_millis(1_000_000, DecimalExponent), "1e3");
    check(Quantity::from_millis(1_024, BinarySI), "1024m");
    check(Quantity::from_millis(1 << 20, BinarySI), "1048576m");
    check(Quantity::from_millis(2_048_000, BinarySI), "2Ki");
    check(
        Quantity::from_millis(i64::MIN, DecimalSI),
        "-9223372036854775808m",
    );
    check(Quantity::from_scaled(5, Scale::Micro), "5u");
    check(Quantity::from_scaled(-7, Scale::Tera), "-7T");
    check(
        Quantity::from_units(1 << 30, DecimalSI).with_format(BinarySI),
        "1Gi",
    );
    check(quantity("1Gi").with_format(DecimalSI), "1073741824");
    check(
        quantity("1Ti").with_format(DecimalExponent),
        "1099511627776",
    );
    check(Quantity::default(), "0");
    check(Quantity::ZERO, "0");
}

#[test]
fn signs_are_told() {
    for (text, sign) in [("-1n", -1), ("0", 0), ("-0Ki", 0), ("1n", 1), ("1Ei", 1)] {
        assert_eq!(quantity(text).signum(), sign, "{text}");
        assert_eq!(quantity(text).is_zero(), sign == 0, "{text}");
    }
}

#[test]
fn representation_is_what_upstream_sees_in_parsed_structs() {
    let check = |left: &str, right: &str, same: bool| {
        let (a, b) = (quantity(left), quantity(right));
        assert_eq!(a, b, "{left} and {right} are one value");
        assert_eq!(a.same_representation(b), same, "{left} against {right}");
        assert_eq!(b.same_representation(a), same, "{right} against {left}");
        assert!(
            a.same_representation(quantity(left)),
            "{left} against itself"
        );
    };
    check("4Gi", "4096Mi", false);
    check("4Gi", "4194304Ki", false);
    check("4Gi", "4294967296", false);
    check("1", "1000m", false);
    check("1", "1.0", false);
    check("1", "1e0", false);
    check("1.5", "1500m", false);
    check("1.500", "1500m", false);
    check("0.1", "100m", false);
    check("0.100", "100m", false);
    check("0.001k", "1", false);
    check("2k", "2000", false);
    check("1e3", "1k", false);
    check("1e3", "1000e0", false);
    check("0", "0m", false);
    check("0", "0Ki", false);
    // The digits divide by 8: upstream keeps the number alone, and the number is the same.
    check("8Gi", "8192Mi", true);
    check("16Gi", "16384Mi", true);
    check("4096Mi", "4194304Ki", true);
    check("0Ki", "0Gi", true);
    // The same digits at the same power of ten, and no canonical text beside them.
    check("1.5", "0.0015k", true);
    check("0.5", ".5", true);
    check("0.5Gi", "0.50Gi", false);
    check("0.5Gi", "512Mi", false);
    // Nobody wrote these down.
    assert!(
        quantity("1")
            .with_format(DecimalSI)
            .same_representation(Quantity::from_units(1, DecimalSI))
    );
    assert!(!quantity("1").same_representation(quantity("2")));
}

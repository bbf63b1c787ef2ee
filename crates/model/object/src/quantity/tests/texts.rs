//! Reading and printing: text to value, form and canonical text.

use super::{
    Format::{self, BinarySI, DecimalExponent, DecimalSI},
    Quantity, quantity,
};

const N: i128 = 1;
const U: i128 = 1_000 * N;
const M: i128 = 1_000 * U;
const ONE: i128 = 1_000 * M;
const KI: i128 = ONE << 10;
const MI: i128 = ONE << 20;
const GI: i128 = ONE << 30;
const TI: i128 = ONE << 40;
const PI: i128 = ONE << 50;
const EI: i128 = ONE << 60;
const E: i128 = 10_i128.pow(18) * ONE;
const CAP: i128 = 10_i128.pow(29) * ONE;
const BINARY_CAP: i128 = i64::MAX as i128 * ONE;

/// Text, canonical text, form, billionths.
type Row = (&'static str, &'static str, Format, i128);

/// Each row holds for the text with a plus sign as well, and with a minus sign for the negated value.
fn check(rows: &[Row]) {
    for &(text, canonical, format, nanos) in rows {
        check_one(text, canonical, format, nanos);
        check_one(&format!("+{text}"), canonical, format, nanos);
        let negated = if nanos == 0 {
            "0".to_owned()
        } else {
            format!("-{canonical}")
        };
        check_one(&format!("-{text}"), &negated, format, -nanos);
    }
}

fn check_one(text: &str, canonical: &str, format: Format, nanos: i128) {
    let parsed = quantity(text);
    assert_eq!(parsed.nanos(), nanos, "value of {text}");
    assert_eq!(parsed.format(), format, "form of {text}");
    assert_eq!(parsed.to_string(), canonical, "canonical text of {text}");
    assert_eq!(
        &*parsed.canonical_text(),
        canonical,
        "canonical text of {text}"
    );
    let again = quantity(canonical);
    assert_eq!(again, parsed, "value of {canonical}");
    assert_eq!(
        again.to_string(),
        canonical,
        "canonical text of {canonical}"
    );
}

#[test]
fn zero_is_zero_in_every_form() {
    check(&[
        ("0", "0", DecimalSI, 0),
        ("00", "0", DecimalSI, 0),
        ("0.", "0", DecimalSI, 0),
        (".0", "0", DecimalSI, 0),
        ("0.000000000000", "0", DecimalSI, 0),
        ("0n", "0", DecimalSI, 0),
        ("0u", "0", DecimalSI, 0),
        ("0m", "0", DecimalSI, 0),
        ("0k", "0", DecimalSI, 0),
        ("0M", "0", DecimalSI, 0),
        ("0G", "0", DecimalSI, 0),
        ("0T", "0", DecimalSI, 0),
        ("0P", "0", DecimalSI, 0),
        ("0E", "0", DecimalSI, 0),
        ("0Ki", "0", BinarySI, 0),
        ("0Mi", "0", BinarySI, 0),
        ("0Gi", "0", BinarySI, 0),
        ("0.0Ti", "0", BinarySI, 0),
        ("0Pi", "0", BinarySI, 0),
        ("0Ei", "0", BinarySI, 0),
        ("0e0", "0", DecimalExponent, 0),
        ("0E9", "0", DecimalExponent, 0),
        ("0e999999999999", "0", DecimalExponent, 0),
        ("0e-999999999999", "0", DecimalExponent, 0),
        (".000e-3", "0", DecimalExponent, 0),
    ]);
}

#[test]
fn decimal_suffixes_are_powers_of_a_thousand() {
    check(&[
        ("1n", "1n", DecimalSI, N),
        ("80n", "80n", DecimalSI, 80 * N),
        ("1080n", "1080n", DecimalSI, 1_080 * N),
        ("1000n", "1u", DecimalSI, U),
        ("1u", "1u", DecimalSI, U),
        ("4u", "4u", DecimalSI, 4 * U),
        ("1001u", "1001u", DecimalSI, 1_001 * U),
        ("1000u", "1m", DecimalSI, M),
        ("1m", "1m", DecimalSI, M),
        ("100m", "100m", DecimalSI, 100 * M),
        ("999m", "999m", DecimalSI, 999 * M),
        ("1000m", "1", DecimalSI, ONE),
        ("1500m", "1500m", DecimalSI, 1_500 * M),
        ("1080000000n", "1080m", DecimalSI, 1_080 * M),
        ("1", "1", DecimalSI, ONE),
        ("9", "9", DecimalSI, 9 * ONE),
        ("10", "10", DecimalSI, 10 * ONE),
        ("100", "100", DecimalSI, 100 * ONE),
        ("1000", "1k", DecimalSI, 1_000 * ONE),
        ("1024", "1024", DecimalSI, 1_024 * ONE),
        ("1100", "1100", DecimalSI, 1_100 * ONE),
        ("10000", "10k", DecimalSI, 10_000 * ONE),
        ("1k", "1k", DecimalSI, 1_000 * ONE),
        ("50k", "50k", DecimalSI, 50_000 * ONE),
        ("1000k", "1M", DecimalSI, 1_000_000 * ONE),
        ("1234k", "1234k", DecimalSI, 1_234_000 * ONE),
        ("7M", "7M", DecimalSI, 7_000_000 * ONE),
        ("1000M", "1G", DecimalSI, 1_000_000_000 * ONE),
        ("1234567M", "1234567M", DecimalSI, 1_234_567_000_000 * ONE),
        ("1000000k", "1G", DecimalSI, 1_000_000_000 * ONE),
        ("1000000000", "1G", DecimalSI, 1_000_000_000 * ONE),
        ("6G", "6G", DecimalSI, 6_000_000_000 * ONE),
        ("5T", "5T", DecimalSI, 5_000_000_000_000 * ONE),
        ("40T", "40T", DecimalSI, 40_000_000_000_000 * ONE),
        ("1000T", "1P", DecimalSI, E / 1_000),
        ("2P", "2P", DecimalSI, E / 500),
        ("1E", "1E", DecimalSI, E),
        ("1000P", "1E", DecimalSI, E),
        ("12E", "12E", DecimalSI, 12 * E),
        (
            "9223372036854775807",
            "9223372036854775807",
            DecimalSI,
            BINARY_CAP,
        ),
        (
            "9223372036854775808",
            "9223372036854775808",
            DecimalSI,
            BINARY_CAP + ONE,
        ),
        (
            "18446744073709551616",
            "18446744073709551616",
            DecimalSI,
            (BINARY_CAP + ONE) * 2,
        ),
        ("0001", "1", DecimalSI, ONE),
        ("000100m", "100m", DecimalSI, 100 * M),
        (
            "00000000000000000000000000000000000000000000000001",
            "1",
            DecimalSI,
            ONE,
        ),
    ]);
}

#[test]
fn no_letter_is_larger_than_exa() {
    check(&[
        ("1000E", "1000E", DecimalSI, 1_000 * E),
        ("1000000E", "1000000E", DecimalSI, 1_000_000 * E),
        ("1000000000000000000000", "1000E", DecimalSI, 1_000 * E),
        (
            "1000000000000000000001",
            "1000000000000000000001",
            DecimalSI,
            1_000 * E + ONE,
        ),
        (
            "99999999999.999999999E",
            "99999999999999999999G",
            DecimalSI,
            CAP - E / 1_000_000_000,
        ),
    ]);
}

#[test]
fn fractions_become_smaller_suffixes() {
    check(&[
        ("0.5", "500m", DecimalSI, 500 * M),
        (".5", "500m", DecimalSI, 500 * M),
        ("1.", "1", DecimalSI, ONE),
        ("1.0", "1", DecimalSI, ONE),
        ("1.5", "1500m", DecimalSI, 1_500 * M),
        ("1.25", "1250m", DecimalSI, 1_250 * M),
        ("1.500", "1500m", DecimalSI, 1_500 * M),
        ("1.000000", "1", DecimalSI, ONE),
        ("9.01", "9010m", DecimalSI, 9_010 * M),
        ("0.05", "50m", DecimalSI, 50 * M),
        ("0.005", "5m", DecimalSI, 5 * M),
        ("0.001", "1m", DecimalSI, M),
        (".001", "1m", DecimalSI, M),
        ("0.0001", "100u", DecimalSI, 100 * U),
        ("0.000001", "1u", DecimalSI, U),
        ("0.0000001", "100n", DecimalSI, 100 * N),
        ("0.000000001", "1n", DecimalSI, N),
        ("0.1m", "100u", DecimalSI, 100 * U),
        ("0.5m", "500u", DecimalSI, 500 * U),
        ("0.001u", "1n", DecimalSI, N),
        ("1.1u", "1100n", DecimalSI, 1_100 * N),
        ("0.0005k", "500m", DecimalSI, 500 * M),
        (".0001k", "100m", DecimalSI, 100 * M),
        ("8.1k", "8100", DecimalSI, 8_100 * ONE),
        ("1.5k", "1500", DecimalSI, 1_500 * ONE),
        ("100.035k", "100035", DecimalSI, 100_035 * ONE),
        ("10.035M", "10035k", DecimalSI, 10_035_000 * ONE),
        ("7.123456M", "7123456", DecimalSI, 7_123_456 * ONE),
        ("1.G", "1G", DecimalSI, 1_000_000_000 * ONE),
        ("0.001T", "1G", DecimalSI, 1_000_000_000 * ONE),
        ("6.987654321G", "6987654321", DecimalSI, 6_987_654_321 * ONE),
        ("5.444T", "5444G", DecimalSI, 5_444_000_000_000 * ONE),
        ("40.1T", "40100G", DecimalSI, 40_100_000_000_000 * ONE),
        ("2.5P", "2500T", DecimalSI, E / 400),
        ("1.01E", "1010P", DecimalSI, E + E / 100),
        (
            "1.000000000000000001E",
            "1000000000000000001",
            DecimalSI,
            E + ONE,
        ),
        (
            "1.000000000000000000000000001E",
            "1000000000000000000000000001n",
            DecimalSI,
            E + N,
        ),
    ]);
}

#[test]
fn binary_suffixes_are_powers_of_1024() {
    check(&[
        ("1Ki", "1Ki", BinarySI, KI),
        ("1Mi", "1Mi", BinarySI, MI),
        ("1Gi", "1Gi", BinarySI, GI),
        ("1Ti", "1Ti", BinarySI, TI),
        ("1Pi", "1Pi", BinarySI, PI),
        ("1Ei", "1Ei", BinarySI, EI),
        ("8Ki", "8Ki", BinarySI, 8 * KI),
        ("7Mi", "7Mi", BinarySI, 7 * MI),
        ("6Gi", "6Gi", BinarySI, 6 * GI),
        ("5Ti", "5Ti", BinarySI, 5 * TI),
        ("4Pi", "4Pi", BinarySI, 4 * PI),
        ("3Ei", "3Ei", BinarySI, 3 * EI),
        ("7Ei", "7Ei", BinarySI, 7 * EI),
        ("1024Ki", "1Mi", BinarySI, MI),
        ("1024Mi", "1Gi", BinarySI, GI),
        ("1024Gi", "1Ti", BinarySI, TI),
        ("1024Ti", "1Pi", BinarySI, PI),
        ("1024Pi", "1Ei", BinarySI, EI),
        ("1048576Ki", "1Gi", BinarySI, GI),
        ("4096Mi", "4Gi", BinarySI, 4 * GI),
        ("307200Ki", "300Mi", BinarySI, 300 * MI),
        ("1025024Mi", "1001Gi", BinarySI, 1_001 * GI),
        ("1025Ki", "1025Ki", BinarySI, 1_025 * KI),
        ("1000Ki", "1000Ki", BinarySI, 1_000 * KI),
        ("2000Mi", "2000Mi", BinarySI, 2_000 * MI),
        ("100Ti", "100Ti", BinarySI, 100 * TI),
        ("0064Gi", "64Gi", BinarySI, 64 * GI),
        ("1.Gi", "1Gi", BinarySI, GI),
        ("1.0Gi", "1Gi", BinarySI, GI),
        ("1.5Ki", "1536", BinarySI, 1_536 * ONE),
        ("1.5Gi", "1536Mi", BinarySI, 1_536 * MI),
        ("0.5Gi", "512Mi", BinarySI, 512 * MI),
        (".5Gi", "512Mi", BinarySI, 512 * MI),
        ("0.5Mi", "512Ki", BinarySI, 512 * KI),
        ("0.25Ti", "256Gi", BinarySI, 256 * GI),
        ("0.125Ei", "128Pi", BinarySI, 128 * PI),
        ("2.75Mi", "2816Ki", BinarySI, 2_816 * KI),
        ("0.00390625Mi", "4Ki", BinarySI, 4 * KI),
    ]);
}

#[test]
fn binary_values_that_need_a_fraction_or_are_small_print_as_decimal() {
    check(&[
        ("0.5Ki", "512", BinarySI, 512 * ONE),
        ("0.001Ki", "1024m", BinarySI, 1_024 * M),
        (".001Ki", "1024m", BinarySI, 1_024 * M),
        ("0.999Ki", "1022976m", BinarySI, 1_022_976 * M),
        ("100.035Ki", "102435840m", BinarySI, 102_435_840 * M),
        ("0.05Gi", "53687091200m", BinarySI, 53_687_091_200 * M),
        (
            "0.025Ti",
            "27487790694400m",
            BinarySI,
            27_487_790_694_400 * M,
        ),
        ("1.1Ki", "1126400m", BinarySI, 1_126_400 * M),
        ("0.1Gi", "107374182400m", BinarySI, 107_374_182_400 * M),
        // Below one unit the form itself is given up.
        (".000001Ki", "1024u", DecimalSI, 1_024 * U),
        (".000000001Ki", "1024n", DecimalSI, 1_024 * N),
        (".0009765625Ki", "1", BinarySI, ONE),
        (".0009765624Ki", "999999898n", DecimalSI, 999_999_898 * N),
    ]);
}

#[test]
fn a_binary_value_that_1024_does_not_divide_reads_back_as_decimal() {
    let parsed = quantity("1.953125Ki");
    assert_eq!(parsed.to_string(), "2000");
    let again = quantity("2000");
    assert_eq!(again, parsed);
    assert_eq!(again.to_string(), "2k");
    assert_eq!(again.with_format(BinarySI).to_string(), "2000");
}

#[test]
fn exponents_are_kept_as_multiples_of_three() {
    check(&[
        ("1e0", "1", DecimalExponent, ONE),
        ("1E0", "1", DecimalExponent, ONE),
        ("12e0", "12", DecimalExponent, 12 * ONE),
        ("1e1", "10", DecimalExponent, 10 * ONE),
        ("1e2", "100", DecimalExponent, 100 * ONE),
        ("1e3", "1e3", DecimalExponent, 1_000 * ONE),
        ("1E3", "1e3", DecimalExponent, 1_000 * ONE),
        ("1e+3", "1e3", DecimalExponent, 1_000 * ONE),
        ("1E+3", "1e3", DecimalExponent, 1_000 * ONE),
        ("1e03", "1e3", DecimalExponent, 1_000 * ONE),
        ("1e4", "10e3", DecimalExponent, 10_000 * ONE),
        ("1e5", "100e3", DecimalExponent, 100_000 * ONE),
        ("1e6", "1e6", DecimalExponent, 1_000_000 * ONE),
        ("1000e3", "1e6", DecimalExponent, 1_000_000 * ONE),
        ("10000e0", "10e3", DecimalExponent, 10_000 * ONE),
        ("12e6", "12e6", DecimalExponent, 12_000_000 * ONE),
        ("300e6", "300e6", DecimalExponent, 300_000_000 * ONE),
        ("1e9", "1e9", DecimalExponent, 1_000_000_000 * ONE),
        (".001e12", "1e9", DecimalExponent, 1_000_000_000 * ONE),
        ("1e13", "10e12", DecimalExponent, E / 100_000),
        ("1e14", "100e12", DecimalExponent, E / 10_000),
        ("1e18", "1e18", DecimalExponent, E),
        ("1E18", "1e18", DecimalExponent, E),
        ("1e21", "1e21", DecimalExponent, 1_000 * E),
        ("1e27", "1e27", DecimalExponent, CAP / 100),
        ("1.2e3", "1200", DecimalExponent, 1_200 * ONE),
        ("1.3E+6", "1300e3", DecimalExponent, 1_300_000 * ONE),
        ("1.40e9", "1400e6", DecimalExponent, 1_400_000_000 * ONE),
        (
            "1.53E12",
            "1530e9",
            DecimalExponent,
            1_530_000_000_000 * ONE,
        ),
        ("1.7E18", "1700e15", DecimalExponent, E + E / 10 * 7),
        ("1e-1", "100e-3", DecimalExponent, 100 * M),
        ("1e-2", "10e-3", DecimalExponent, 10 * M),
        ("1e-3", "1e-3", DecimalExponent, M),
        ("1E-3", "1e-3", DecimalExponent, M),
        ("0.001e0", "1e-3", DecimalExponent, M),
        ("80e-3", "80e-3", DecimalExponent, 80 * M),
        ("0.5e0", "500e-3", DecimalExponent, 500 * M),
        ("0.5e-1", "50e-3", DecimalExponent, 50 * M),
        ("0.5e-2", "5e-3", DecimalExponent, 5 * M),
        ("1e-6", "1e-6", DecimalExponent, U),
        ("1e-9", "1e-9", DecimalExponent, N),
        ("1000e-12", "1e-9", DecimalExponent, N),
        ("1500e-3", "1500e-3", DecimalExponent, 1_500 * M),
        ("1000e-3", "1", DecimalExponent, ONE),
        (
            "123456789e-9",
            "123456789e-9",
            DecimalExponent,
            123_456_789 * N,
        ),
    ]);
}

#[test]
fn anything_finer_than_nano_is_rounded_away_from_zero() {
    check(&[
        ("0.1n", "1n", DecimalSI, N),
        ("0.9n", "1n", DecimalSI, N),
        ("1.0n", "1n", DecimalSI, N),
        ("1.1n", "2n", DecimalSI, 2 * N),
        ("3.001n", "4n", DecimalSI, 4 * N),
        ("0.0000000001", "1n", DecimalSI, N),
        ("0.0000000005", "1n", DecimalSI, N),
        ("0.00000000050", "1n", DecimalSI, N),
        ("0.0000000010", "1n", DecimalSI, N),
        ("0.00000012345", "124n", DecimalSI, 124 * N),
        ("0.00000012354", "124n", DecimalSI, 124 * N),
        ("0.0000001230", "123n", DecimalSI, 123 * N),
        ("1.0000000001", "1000000001n", DecimalSI, ONE + N),
        ("0.9999999999", "1", DecimalSI, ONE),
        ("999.9999999999", "1k", DecimalSI, 1_000 * ONE),
        (
            "1.0000000000000000000000000000000000000000001",
            "1000000001n",
            DecimalSI,
            ONE + N,
        ),
        (
            "1.0000000000000000000000000000000000000000000",
            "1",
            DecimalSI,
            ONE,
        ),
        ("1.1E-9", "2e-9", DecimalExponent, 2 * N),
        ("0.5e-9", "1e-9", DecimalExponent, N),
        ("1e-10", "1e-9", DecimalExponent, N),
        ("1e-100", "1e-9", DecimalExponent, N),
        ("1e-2147483649", "1e-9", DecimalExponent, N),
        ("1e-9223372036854775808", "1e-9", DecimalExponent, N),
        ("10e-10", "1e-9", DecimalExponent, N),
        ("11e-10", "2e-9", DecimalExponent, 2 * N),
        (
            "123456789012345678901234567890e-30",
            "123456790e-9",
            DecimalExponent,
            123_456_790 * N,
        ),
        ("0.000000000001Ki", "2n", DecimalSI, 2 * N),
        ("0.0000000000001Ki", "1n", DecimalSI, N),
        ("1.0000000000001Ki", "1024000000001n", BinarySI, KI + N),
        (
            "0.00000000000000000000000000000000001Ei",
            "1n",
            DecimalSI,
            N,
        ),
        (
            "1.00000000000000000000000000000000001Ei",
            "1152921504606846976000000001n",
            BinarySI,
            EI + N,
        ),
    ]);
}

#[test]
fn binary_values_are_capped_at_the_largest_64_bit_number() {
    let capped = "9223372036854775807";
    check(&[
        ("7.9999999999999999999Ei", capped, BinarySI, BINARY_CAP),
        ("8Ei", capped, BinarySI, BINARY_CAP),
        ("9Ei", capped, BinarySI, BINARY_CAP),
        ("8192Pi", capped, BinarySI, BINARY_CAP),
        ("8191Pi", "8191Pi", BinarySI, 8_191 * PI),
        ("9223372036854775807Ki", capped, BinarySI, BINARY_CAP),
        (
            "9007199254740991Ki",
            "9007199254740991Ki",
            BinarySI,
            BINARY_CAP + ONE - KI,
        ),
        (
            "9007199254740991.9990234375Ki",
            capped,
            BinarySI,
            BINARY_CAP,
        ),
        ("9007199254740992Ki", capped, BinarySI, BINARY_CAP),
        ("99999999999999999999Ki", capped, BinarySI, BINARY_CAP),
        ("18446744073709551615Ei", capped, BinarySI, BINARY_CAP),
        (
            "9999999999999999999999999999999999999999999999999999Ei",
            capped,
            BinarySI,
            BINARY_CAP,
        ),
    ]);
}

#[test]
fn decimal_values_are_exact_to_ten_to_the_29_and_capped_there() {
    check(&[
        (
            "99999999999999999999999999999",
            "99999999999999999999999999999",
            DecimalSI,
            CAP - ONE,
        ),
        (
            "99999999999999999999999999999.999999999",
            "99999999999999999999999999999999999999n",
            DecimalSI,
            CAP - N,
        ),
        (
            "99999999999999999999999999999.9999999991",
            "100000000000E",
            DecimalSI,
            CAP,
        ),
        (
            "100000000000000000000000000000",
            "100000000000E",
            DecimalSI,
            CAP,
        ),
        ("100000000000E", "100000000000E", DecimalSI, CAP),
        ("100000000001E", "100000000000E", DecimalSI, CAP),
        (
            "9999999999999999999999999999999999999999999999E",
            "100000000000E",
            DecimalSI,
            CAP,
        ),
        ("1e29", "100e27", DecimalExponent, CAP),
        ("1e30", "100e27", DecimalExponent, CAP),
        ("1e38", "100e27", DecimalExponent, CAP),
        ("1e1000000", "100e27", DecimalExponent, CAP),
        ("1e4294967296", "100e27", DecimalExponent, CAP),
        ("1e9223372036854775807", "100e27", DecimalExponent, CAP),
        (
            "10000000000000000000000000000000000000000000000000000000000e-58",
            "1",
            DecimalExponent,
            ONE,
        ),
        (
            "0.000000000000000000000000000000000000000000000000000000000001e60",
            "1",
            DecimalExponent,
            ONE,
        ),
    ]);
}

#[test]
fn texts_that_are_no_quantity_are_refused_with_the_reason() {
    let check = |texts: &[&str], complaint: &str| {
        for text in texts {
            let problem = text.parse::<Quantity>().unwrap_err().to_string();
            assert!(problem.contains(complaint), "{text:?}: {problem}");
        }
    };
    check(&[""], "must not be empty");
    check(
        &[
            "+", "-", ".", "-.", "+.", "Ki", "m", "e3", "E", ".Gi", "-m", "aoeu", "--1", "+-1",
            "-+1", "++1", " 1", "\t1", "NaN", "inf", "-inf", "$1", "½", "٣", "１", "\u{0}1", "−1",
        ],
        "does not start with a number",
    );
    check(
        &[
            "1 ", "1\n", "1 Gi", "1Gi ", "1i", "1K", "1ki", "1mi", "1ui", "1ni", "1Kii", "1KiKi",
            "1mm", "1kk", "1kM", "1Zi", "1Yi", "1Z", "1Y", "1g", "1t", "1p", "1ei", "1eE", "1ee3",
            "1e", "1EE", "1Ei3", "1k3", "1Ki3", "1m-3", "1.1.M", "1..5", "1.5.", "1+1.0M", "0.1mi",
            "0.1am", ".5i", "-3.01i", "1,5", "1_000", "0x10", "1µ", "1Gib", "1GB", "1G\u{0}", "1é",
            "10%", "1/2", "1-", "1+",
        ],
        "unknown suffix",
    );
    check(
        &[
            "1e+",
            "1e-",
            "-3.01e-",
            "1E+",
            "1e1.5",
            "1e.5",
            "1e1.",
            "1e1e1",
            "1e++1",
            "1e+-1",
            "1e3Ki",
            "1e3m",
            "1e3 ",
            "1e9223372036854775808",
            "1e-9223372036854775809",
            "1e99999999999999999999999999",
            "1e1_0",
        ],
        "not a whole number of 64 bits",
    );
}

#[test]
fn complaints_name_the_text_and_what_is_wrong_in_it() {
    let check = |text: &str, complaint: &str| {
        assert_eq!(text.parse::<Quantity>().unwrap_err().to_string(), complaint);
    };
    check("four", "quantity \"four\" does not start with a number");
    check(
        "4GiB",
        "quantity \"4GiB\" has the unknown suffix \"GiB\"; there are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents such as e3",
    );
    check(
        "4e2.5",
        "quantity \"4e2.5\" has the exponent \"2.5\", which is not a whole number of 64 bits",
    );
    let long = "x".repeat(1 << 20);
    let problem = long.parse::<Quantity>().unwrap_err().to_string();
    assert!(problem.len() < 200, "{problem}");
}

#[test]
fn a_megabyte_of_digits_is_read_in_no_time() {
    let digits = "7".repeat(1 << 20);
    assert_eq!(quantity(&digits).to_string(), "100000000000E");
    assert_eq!(quantity(&format!("0.{digits}")).nanos(), 777_777_778);
    assert_eq!(quantity(&format!("{digits}e-1048576")).nanos(), 777_777_778);
    assert_eq!(
        quantity(&format!("1.{digits}Ki")).nanos(),
        1_820_444_444_445
    );
    assert_eq!(quantity(&format!("{digits}Ki")).nanos(), BINARY_CAP);
    assert_eq!(quantity(&format!("{}1", "0".repeat(1 << 20))).nanos(), ONE);
}

#[test]
fn printing_honours_width() {
    assert_eq!(
        format!("[{:>6}|{:<6}]", quantity("4Gi"), quantity("100m")),
        "[   4Gi|100m  ]"
    );
    assert_eq!(format!("{:?}", quantity("1.5")), "Quantity(1500m)");
}

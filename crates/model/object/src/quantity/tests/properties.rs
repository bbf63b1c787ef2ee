//! What holds for all quantities.

use proptest::prelude::*;

use super::{Format, Quantity, quantity};
use crate::quantity::{MAX_NANOS, Scale};

const SUFFIXES: [(&str, i128); 16] = [
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("", 1_000_000_000),
    ("k", 10_i128.pow(12)),
    ("M", 10_i128.pow(15)),
    ("G", 10_i128.pow(18)),
    ("T", 10_i128.pow(21)),
    ("P", 10_i128.pow(24)),
    ("E", 10_i128.pow(27)),
    ("Ki", 1_000_000_000 << 10),
    ("Mi", 1_000_000_000 << 20),
    ("Gi", 1_000_000_000 << 30),
    ("Ti", 1_000_000_000 << 40),
    ("Pi", 1_000_000_000 << 50),
    ("e-5", 10_000),
];

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::BinarySI),
        Just(Format::DecimalSI),
        Just(Format::DecimalExponent)
    ]
}

/// Values of every size, many of them round.
fn quantities() -> impl Strategy<Value = Quantity> {
    let nanos = prop_oneof![
        -MAX_NANOS..=MAX_NANOS,
        any::<i64>().prop_map(i128::from),
        (-2_000_i128..2_000, 0_u32..35).prop_map(|(number, zeros)| number * 10_i128.pow(zeros)),
        (-2_000_i128..2_000, 0_u32..70).prop_map(|(number, bits)| (number << bits) * 1_000_000_000),
    ];
    (nanos, formats()).prop_map(|(nanos, format)| Quantity::computed(nanos, format))
}

/// A text, and its value in billionths worked out beside the parser.
fn written() -> impl Strategy<Value = (String, i128)> {
    (-4_000_i128..4_000, 0..SUFFIXES.len()).prop_map(|(number, suffix)| {
        let (suffix, nanos) = SUFFIXES[suffix];
        (format!("{number}{suffix}"), number * nanos)
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back_and_printed_the_same(value in quantities()) {
        let text = value.to_string();
        let again = quantity(&text);
        prop_assert_eq!(again, value);
        prop_assert_eq!(again.with_format(value.format()).to_string(), text);
    }

    #[test]
    fn printed_texts_are_canonical(value in quantities()) {
        let text = value.to_string();
        prop_assert!(!text.contains('.') && !text.contains('+'));
        let digits = text.trim_start_matches('-').bytes().take_while(u8::is_ascii_digit).count();
        prop_assert!(digits > 0 && (text == "0" || !text.trim_start_matches('-').starts_with('0')));
    }

    #[test]
    fn order_agrees_with_exact_numbers((left, a) in written(), (right, b) in written()) {
        prop_assert_eq!(quantity(&left).nanos(), a, "{}", left);
        prop_assert_eq!(quantity(&left).cmp(&quantity(&right)), a.cmp(&b));
        prop_assert_eq!(quantity(&left) == quantity(&right), a == b);
    }

    #[test]
    fn order_is_total(a in quantities(), b in quantities(), c in quantities()) {
        let mut sorted = [c, a, b];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
    }

    #[test]
    fn adding_and_subtracting_cancel(a in quantities(), b in quantities()) {
        if let Some(sum) = a.checked_add(b) {
            prop_assert_eq!(sum, a + b);
            prop_assert_eq!(sum - b, a);
            prop_assert_eq!(sum - a, b);
            prop_assert_eq!(sum, b + a);
        }
        if let Some(difference) = a.checked_sub(b) {
            prop_assert_eq!(difference, a - b);
            prop_assert_eq!(difference + b, a);
            prop_assert_eq!(-difference, b - a);
        }
        prop_assert_eq!(-(-a), a);
    }

    #[test]
    fn multiplying_is_adding_often(a in quantities(), factor in -20_i64..20) {
        let part = if factor < 0 { -a } else { a };
        let sum = (0..factor.abs()).try_fold(Quantity::ZERO, |sum, _| sum.checked_add(part));
        prop_assert_eq!(a.checked_mul(factor), sum);
    }

    #[test]
    fn rounding_goes_to_the_next_multiple_away_from_zero(a in quantities()) {
        for scale in [Scale::Nano, Scale::Milli, Scale::Unit, Scale::Giga, Scale::Exa] {
            let rounded = a.round_up(scale);
            let gap = (rounded.nanos() - a.nanos()) * i128::from(a.signum());
            prop_assert!((0..scale.nanos()).contains(&gap));
            prop_assert_eq!(rounded.nanos() % scale.nanos(), 0);
            if let Some(count) = a.checked_scaled_value(scale) {
                prop_assert_eq!(i128::from(count) * scale.nanos(), rounded.nanos());
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+]?[0-9]{0,50}(\\.[0-9]{0,50})?([eE][-+]?[0-9]{0,22}|[numkKMGTPEi]{0,3})|\\PC{0,40}") {
        if let Ok(parsed) = text.parse::<Quantity>() {
            let canonical = parsed.to_string();
            prop_assert_eq!(quantity(&canonical), parsed);
            prop_assert!(parsed.same_representation(quantity(&text)));
        }
    }

    #[test]
    fn any_number_in_a_document_is_read(number: f64, whole: i64) {
        let document = serde_json::json!(number);
        let parsed: Result<Quantity, _> = serde_json::from_value(document);
        // A number that is none (NaN, infinity) became null in the document.
        prop_assert!(parsed.is_ok());
        let parsed: Quantity = serde_json::from_value(serde_json::json!(whole)).unwrap();
        prop_assert_eq!(parsed.exact_value(), Some(whole));
    }
}

//! Random texts against the quantity parser, each compared with plain long-hand arithmetic.
//!
//! `KARAVEL_FUZZ_CASES=1000000 cargo test -p karavel-object --test fuzz_quantity` runs the long version. A failure
//! names the number of its case; cases depend on nothing else.

use std::cmp::Ordering;

use karavel_object::quantity::{Format, Quantity};

#[test]
fn random_texts_neither_break_the_parser_nor_come_out_different() {
    let (mut accepted, mut refused) = (0, 0);
    for case in 0..cases() {
        let text = random_text(&mut Random(case));
        let Ok(parsed) = text.parse::<Quantity>() else {
            assert!(
                Reference::read(&text).is_none(),
                "case {case}: {text:?} was refused"
            );
            refused += 1;
            continue;
        };
        accepted += 1;
        let reference = Reference::read(&text)
            .unwrap_or_else(|| panic!("case {case}: {text:?} was taken for {parsed}"));
        assert_eq!(
            parsed.nanos().to_string(),
            reference.nanos,
            "case {case}: {text:?}"
        );

        let printed = parsed.to_string();
        let again: Quantity = printed
            .parse()
            .unwrap_or_else(|problem| panic!("case {case}: {text:?}: {problem}"));
        assert_eq!(again, parsed, "case {case}: {text:?} became {printed:?}");
        let reprinted = again.with_format(parsed.format()).to_string();
        assert_eq!(reprinted, printed, "case {case}: {text:?}");
        if reference.is_binary && parsed.nanos().unsigned_abs() >= 1_000_000_000 {
            assert_eq!(parsed.format(), Format::BinarySI, "case {case}: {text:?}");
        }

        // Nothing that can be done to the value may panic.
        let _ = (parsed + again, parsed - again, parsed * i64::MIN, -parsed);
        let _ = (parsed.value(), parsed.milli_value(), parsed.to_f64());
    }
    // Both sides of the parser were at work.
    assert!(
        accepted > cases() / 4 && refused > cases() / 8,
        "{accepted} accepted, {refused} refused"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "the person at the keyboard sets the effort; the code under test sees none of it"
)]
fn cases() -> u64 {
    let Ok(text) = std::env::var("KARAVEL_FUZZ_CASES") else {
        return 20_000;
    };
    text.parse().expect("KARAVEL_FUZZ_CASES is a number")
}

/// SplitMix64: every seed, however small, gives an unrelated sequence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn digits(&mut self, most: usize) -> String {
        let length = self.below(most + 1);
        // Rows of zeros and nines are where rounding and capping happen.
        let alphabet = self.pick(&["0123456789", "0", "09", "01", "9"]);
        (0..length)
            .map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())]))
            .collect()
    }
}

/// Mostly what a quantity looks like, sometimes with a few characters changed, sometimes anything.
fn random_text(random: &mut Random) -> String {
    if random.below(10) == 0 {
        let length = random.below(20);
        return (0..length)
            .map(|_| char::from_u32(random.below(0x300) as u32).unwrap_or('e'))
            .collect();
    }
    let most = if random.below(4) == 0 { 60 } else { 6 };
    let mut text = random.pick(&["", "", "-", "+"]).to_owned();
    text += &random.digits(most);
    if random.below(2) == 0 {
        text.push('.');
        text += &random.digits(most);
    }
    text += random.pick(&[
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e",
        "E",
    ]);
    if text.ends_with(['e', 'E']) {
        text += random.pick(&["", "-", "+"]);
        let most = if random.below(8) == 0 { 22 } else { 2 };
        text += &random.digits(most);
    }
    if random.below(6) == 0 {
        let place = random.below(text.len() + 1);
        text.insert_str(
            place,
            random.pick(&[
                ".", "-", "+", "e", "i", "0", "9", " ", "é", "K", "\u{0}", "٣",
            ]),
        );
    }
    text
}

/// The same rules with digits on paper: slow, unbounded, and sharing no step with the parser.
struct Reference {
    /// In decimal.
    nanos: String,
    is_binary: bool,
}

impl Reference {
    fn read(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| c != '.' && !c.is_ascii_digit())
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
        if integer.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let mut digits = Paper::from_text(&format!("{integer}{fraction}"));
        let mut exponent = 9 - fraction.len() as i128;
        let mut is_binary = false;
        if let Some(letter) = suffix.strip_suffix('i') {
            is_binary = true;
            for _ in 0..=["K", "M", "G", "T", "P", "E"]
                .iter()
                .position(|known| *known == letter)?
            {
                digits.multiply(1024);
            }
        } else if let Some(place) = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
            .iter()
            .position(|known| *known == suffix)
        {
            exponent += place as i128 * 3 - 9;
        } else {
            exponent += i128::from(suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?);
        }
        digits.shift(exponent);
        let cap = if is_binary {
            "9223372036854775807000000000"
        } else {
            "100000000000000000000000000000000000000"
        };
        let nanos = digits.at_most(cap);
        let is_negative = text.starts_with('-') && nanos != "0";
        Some(Self {
            nanos: if is_negative {
                format!("-{nanos}")
            } else {
                nanos
            },
            is_binary,
        })
    }
}

/// A whole number as its digits, the last first, without zeros in front.
struct Paper(Vec<u32>);

impl Paper {
    fn from_text(text: &str) -> Self {
        let mut paper = Self(
            text.bytes()
                .rev()
                .map(|digit| u32::from(digit - b'0'))
                .collect(),
        );
        paper.trim();
        paper
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0;
        for digit in &mut self.0 {
            carry += *digit * factor;
            *digit = carry % 10;
            carry /= 10;
        }
        while carry > 0 {
            self.0.push(carry % 10);
            carry /= 10;
        }
    }

    /// Times ten to the `exponent`, rounded up.
    fn shift(&mut self, exponent: i128) {
        if self.0.is_empty() {
            return;
        }
        if exponent >= 0 {
            // Anything this long is beyond every cap.
            let zeros = exponent.min(100) as usize;
            self.0.splice(0..0, std::iter::repeat_n(0, zeros));
            return;
        }
        let dropped = usize::try_from(-exponent)
            .unwrap_or(usize::MAX)
            .min(self.0.len());
        // Digits further down than the number is long are zeros and change nothing.
        let is_rounded = self.0.drain(..dropped).any(|digit| digit != 0);
        if is_rounded {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in &mut self.0 {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.0.push(1);
    }

    fn at_most(&self, cap: &str) -> String {
        if self.0.is_empty() {
            return "0".to_owned();
        }
        let text: String = self.0.iter().rev().map(u32::to_string).collect();
        let order = text
            .len()
            .cmp(&cap.len())
            .then_with(|| text.as_str().cmp(cap));
        if order == Ordering::Greater {
            cap.to_owned()
        } else {
            text
        }
    }
}

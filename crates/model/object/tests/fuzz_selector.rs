//! Random texts against the parsers of label selectors, field selectors, JSON pointers and JSONPath.
//!
//! Nothing may panic; what is read must print to something that reads as the same; what is refused must be refused at
//! a position inside the text.
//!
//! `KARAVEL_FUZZ_CASES=1000000 cargo test -p karavel-object --test fuzz_selector` runs the long version. A failure
//! names the number of its case and the text; cases depend on nothing else.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use karavel_object::{
    Value,
    jsonpath::{JsonPath, MissingKeys},
    patch::{JsonPatch, Pointer, Replace},
    selector::{FieldSelector, ParseFieldSelectorError, ParseSelectorError, Selector},
};
use serde_json::json;

/// What became of a text.
#[derive(PartialEq)]
enum Outcome {
    Accepted,
    Refused,
}

#[test]
fn label_selectors_survive_random_texts() {
    const LABELS: [&str; 8] = ["a", "in", "notin", "b.c/d", "é", "A-1", "-", "1"];
    const PIECES: [&str; 16] = [
        "=",
        "==",
        "!=",
        "!",
        ">",
        "<",
        "(",
        ")",
        ",",
        " ",
        "\t",
        " in ",
        " notin (",
        "\0",
        "9223372036854775808",
        "/",
    ];
    let set: BTreeMap<String, String> = [("a", "1"), ("in", ""), ("b.c/d", "A-1")]
        .map(|(k, v)| (k.into(), v.into()))
        .into();
    fuzz(
        |random| random_requirements(random, &LABELS, &PIECES),
        |text| match text.parse::<Selector>() {
            Ok(selector) => {
                let printed = selector.to_string();
                assert_eq!(
                    printed.parse::<Selector>().as_ref(),
                    Ok(&selector),
                    "printed as {printed:?}"
                );
                let plain = selector
                    .requirements()
                    .iter()
                    .all(|one| one.accepts(set.get(one.key()).map(String::as_str)));
                assert_eq!(selector.matches_labels(&set), plain);
                Outcome::Accepted
            }
            Err(error) => {
                let (ParseSelectorError::Between { position, .. }
                | ParseSelectorError::Shape { position, .. }
                | ParseSelectorError::Key { position, .. }
                | ParseSelectorError::Value { position, .. }) = error;
                assert!(position <= text.len(), "position {position}");
                Outcome::Refused
            }
        },
    );
}

#[test]
fn field_selectors_survive_random_texts() {
    const FIELDS: [&str; 6] = ["metadata.name", "a", "é", "", "!", " "];
    const PIECES: [&str; 9] = ["=", "==", "!=", ",", "\\", "\\,", "\\=", "\\\\", "!"];
    fuzz(
        |random| random_requirements(random, &FIELDS, &PIECES),
        |text| match text.parse::<FieldSelector>() {
            Ok(selector) => {
                let printed = selector.to_string();
                assert_eq!(
                    printed.parse::<FieldSelector>().as_ref(),
                    Ok(&selector),
                    "printed as {printed:?}"
                );
                let _ = selector.matches(|field| (field == "a").then_some("a"));
                Outcome::Accepted
            }
            Err(error) => {
                let (ParseFieldSelectorError::NoOperator { position, .. }
                | ParseFieldSelectorError::Escape { position, .. }
                | ParseFieldSelectorError::Unescaped { position, .. }) = error;
                assert!(position < text.len(), "position {position}");
                Outcome::Refused
            }
        },
    );
}

#[test]
fn pointers_and_patches_survive_random_texts() {
    const PIECES: [&str; 14] = [
        "/",
        "/a",
        "/l",
        "/-",
        "/0",
        "/-1",
        "/+1",
        "~0",
        "~1",
        "~",
        "/é",
        "99999999999999999999",
        "x",
        "/",
    ];
    let document = json!({"a": {"a": 1, "é": [2]}, "l": [0, {"a": 3}, [4]], "": {"": 5}, "~": 6});
    fuzz(
        |random| random.text(&PIECES, 6),
        |text| {
            let Ok(pointer) = text.parse::<Pointer>() else {
                assert!(!text.is_empty() && !text.starts_with('/'));
                return Outcome::Refused;
            };
            let printed = pointer.to_string();
            assert_eq!(
                printed.parse::<Pointer>().as_ref(),
                Ok(&pointer),
                "printed as {printed:?}"
            );
            let found = pointer.resolve(&document);
            for (operation, needs_target) in [
                (json!({"op": "remove", "path": text}), true),
                (json!({"op": "replace", "path": text, "value": [9]}), true),
                (json!({"op": "add", "path": text, "value": {"a": 9}}), false),
                (json!({"op": "copy", "from": "/l", "path": text}), false),
                (json!({"op": "copy", "from": text, "path": "/l/-"}), true),
                (json!({"op": "move", "from": text, "path": "/new"}), true),
                (json!({"op": "test", "path": text, "value": found}), false),
            ] {
                let patch =
                    JsonPatch::decode(&Value::Array(vec![operation.clone()])).expect("a patch");
                let patched = patch.apply(&document, Replace::Existing);
                assert!(
                    !(needs_target && found.is_none() && patched.is_ok()),
                    "{operation} found nothing and did something"
                );
                if operation["op"] == "test" && found.is_some() {
                    assert_eq!(patched.as_ref(), Ok(&document));
                }
            }
            Outcome::Accepted
        },
    );
}

#[test]
fn jsonpath_survives_random_texts() {
    const PIECES: [&str; 48] = [
        "{",
        "}",
        ".a",
        ".l",
        "..",
        ".*",
        "[*]",
        "[0]",
        "[-1]",
        "[1:2]",
        "[::2]",
        "['a']",
        "['a','l']",
        "[0,1]",
        "[?(@.a)]",
        "[?(@.a==1)]",
        "[?(@.n>\"x\")]",
        "@",
        "$",
        " ",
        "{range .l[*]}",
        "{end}",
        "range",
        "end",
        "\"t\\n\"",
        "'q'",
        "\\",
        ".",
        "1",
        "-2.5",
        "true",
        "[",
        "]",
        "(",
        ")",
        "?",
        "==",
        "!=",
        "<",
        "'",
        "\"",
        "é",
        "\n",
        "text",
        ",",
        ":",
        "[?(",
        ")]",
    ];
    const STEPS: [&str; 20] = [
        ".a",
        ".l",
        "..",
        "..n",
        ".*",
        "[*]",
        "[0]",
        "[-1]",
        "[1:2]",
        "['a']",
        "['l.a','n']",
        "[0,*]",
        "[?(@.a)]",
        "[?(@.a==1)]",
        "[?(@.n>='x')]",
        "[?(@.l[?(@<3)])]",
        " 'x'",
        " 2.50",
        "@",
        ".\\*\\é",
    ];
    let document = json!({"a": 1, "n": "x", "l": [{"a": 1, "n": "y"}, {"a": 2.5, "l": [1, 2]}, {"é": null}, 7, "s"]});
    fuzz(
        |random| {
            if random.one_in(2) {
                return random.text(&PIECES, 10);
            }
            let path = |random: &mut Random| random.text(&STEPS, 4);
            match random.below(3) {
                0 => format!("{{{}}}", path(random)),
                1 => format!("{{range {}}}{{{}}}, {{end}}", path(random), path(random)),
                _ => format!("a{{range {}}}{{{}}}", path(random), path(random)),
            }
        },
        |text| {
            if let Ok(column) = JsonPath::column(text) {
                let printed = column.to_string();
                assert_eq!(
                    JsonPath::template(&printed).as_ref(),
                    Ok(&column),
                    "printed as {printed:?}"
                );
            }
            match JsonPath::template(text) {
                Ok(path) => {
                    let printed = path.to_string();
                    assert_eq!(
                        JsonPath::template(&printed).as_ref(),
                        Ok(&path),
                        "printed as {printed:?}"
                    );
                    let _ = path.render(&document, MissingKeys::Refuse);
                    let rendered = path.render(&document, MissingKeys::Skip);
                    assert_eq!(
                        rendered.is_ok(),
                        path.find(&document, MissingKeys::Skip).is_ok()
                    );
                    Outcome::Accepted
                }
                Err(error) => {
                    assert!(error.position <= text.len(), "position {}", error.position);
                    Outcome::Refused
                }
            }
        },
    );
}

/// Half the time something that looks like a selector, otherwise anything.
fn random_requirements(random: &mut Random, words: &[&str], pieces: &[&str]) -> String {
    if random.one_in(2) {
        let both: Vec<&str> = words.iter().chain(pieces).copied().collect();
        return random.text(&both, 10);
    }
    let word = |random: &mut Random| random.pick(words).to_owned();
    let count = random.below(4);
    let requirements: Vec<String> = (0..count)
        .map(|_| match random.below(6) {
            0 => word(random),
            1 => format!("!{}", word(random)),
            2 => format!("{} in ({},{})", word(random), word(random), word(random)),
            3 => format!("{}>{}", word(random), random.below(100)),
            _ => format!(
                "{}{}{}",
                word(random),
                random.pick(&["=", "==", "!="]),
                word(random)
            ),
        })
        .collect();
    requirements.join(",")
}

/// Runs every case and says which one failed.
fn fuzz(write: impl Fn(&mut Random) -> String, read: impl Fn(&str) -> Outcome) {
    let (mut accepted, mut refused) = (0, 0);
    for case in 0..cases() {
        let text = write(&mut Random(case));
        match catch_unwind(AssertUnwindSafe(|| read(&text))) {
            Ok(Outcome::Accepted) => accepted += 1,
            Ok(Outcome::Refused) => refused += 1,
            Err(_) => panic!("case {case} failed, as said above: {text:?}"),
        }
    }
    // Both sides of the parser were at work.
    assert!(
        accepted > cases() / 10 && refused > cases() / 10,
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

/// A small generator (SplitMix64): the number of the case is its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("less than a usize")
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Pieces in a row, now and then with a character nobody thought of.
    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.below(most + 1) {
            if self.one_in(12) {
                let code = u32::try_from(self.below(0x250)).expect("less than a code point");
                text.extend(char::from_u32(code));
            } else {
                text.push_str(self.pick(pieces));
            }
        }
        text
    }
}

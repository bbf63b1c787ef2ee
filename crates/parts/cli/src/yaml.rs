//! YAML as those write it who use kubectl.
//!
//! Upstream: it is read by the rules of YAML 1.1. A bare `y`, `no` or `on` is a boolean, and `0644` is octal.

use object::Value;
use serde_saphyr::{Error, Options};

/// What to do where a word without quotes is taken for something else than text.
pub(crate) const QUOTES: &str = "put it in quotes: without them y, yes, on, n, no and off are true and false in YAML, and what looks like a number is one";

/// The documents of a text.
pub(crate) fn read_documents(text: &str) -> Result<Vec<Value>, Error> {
    serde_saphyr::from_multiple_with_options(text, options())
}

/// The one document of a text.
pub(crate) fn read_document(text: &str) -> Result<Value, Error> {
    serde_saphyr::from_str_with_options(text, options())
}

/// Where a text of some name cannot be read and why, without what is for those who write programs.
pub(crate) fn told(name: &str, error: &Error) -> String {
    let said = error.to_string();
    // How things are counted is nothing to somebody who wrote a file; what there is too much of is. The text itself
    // stands below the first line.
    let first = said.lines().next().unwrap_or_default();
    let is_deep = ["budget breached: Depth {", "recursion limit exceeded"];
    if is_deep.iter().any(|words| first.contains(words)) {
        return "things lie too deep within each other".to_owned();
    }
    if first.contains("budget breached") {
        return "it holds too much, with what its aliases stand for".to_owned();
    }
    // Whoever shows it says that it is an error.
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    said.replace(", set DuplicateKeyPolicy in Options if acceptable", "")
        .replacen("--> <input>:", &format!("--> {name}:"), 1)
}

/// Whoever names a file has read it or made it: everything that a control plane holds may be in one. Only what aliases
/// multiply is kept within bounds, and how deep things lie within each other.
fn options() -> Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: serde_saphyr::budget! {
            max_documents: 1_000_000,
            max_nodes: 50_000_000,
            max_events: 100_000_000,
            max_total_scalar_bytes: 1 << 30,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_without_quotes_mean_what_kubectl_takes_them_for() {
        for (text, expected) in [
            ("y", json!(true)),
            ("N", json!(false)),
            ("yes", json!(true)),
            ("No", json!(false)),
            ("ON", json!(true)),
            ("off", json!(false)),
            ("'y'", json!("y")),
            ("\"no\"", json!("no")),
            ("!!str yes", json!("yes")),
            ("yep", json!("yep")),
            ("0644", json!(420)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("1:30", json!("1:30")),
            ("2020-01-01", json!("2020-01-01")),
            ("~", Value::Null),
            ("{\"a\": 0.5}", json!({"a": 0.5})),
            // A key is text, whatever it looks like.
            ("y: 1", json!({"y": 1})),
        ] {
            assert_eq!(read_document(text).unwrap(), expected, "{text}");
            assert_eq!(
                read_documents(text).unwrap().pop().unwrap_or_default(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read_as_what_it_was() {
        for text in [
            "y",
            "n",
            "yes",
            "No",
            "on",
            "OFF",
            "true",
            "null",
            "~",
            "",
            "0644",
            "017",
            "0x1F",
            "1_000",
            "1e3",
            ".5",
            "2020-01-01",
            "1:30",
            "+1",
            "-",
            "a: b",
            "#",
            " padded ",
            "two\nlines\n",
            "0o7",
            "0b1",
            ".inf",
            "<<",
            "=",
        ] {
            let document = json!({"text": text, "list": [text], (text): 1});
            let written = crate::reading::write_document(&document, true).unwrap();
            assert_eq!(read_document(&written).unwrap(), document, "{written}");
        }
    }

    #[test]
    fn all_that_a_control_plane_holds_may_be_in_one_text() {
        let documents = "---\na: 1\n".repeat(3000);
        assert_eq!(read_documents(&documents).unwrap().len(), 3000);
        let items = "- {a: 1, b: 2}\n".repeat(100_000);
        let list = read_document(&items).unwrap();
        assert_eq!(list.as_array().map(Vec::len), Some(100_000));
        let deep = |levels: usize| format!("{}1{}", "{a: ".repeat(levels), "}".repeat(levels));
        assert!(read_document(&deep(50)).is_ok());
        assert!(read_document(&deep(5_000)).is_err());
    }

    #[test]
    fn what_multiplies_by_aliases_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        let said = told("f.yaml", &read_document(&bomb).unwrap_err());
        assert!(
            said.contains("aliases") && !said.contains("budget"),
            "{said}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_once_and_in_plain_words() {
        for (text, expected) in [
            (
                "a: [".to_owned(),
                "line 1 column 4: unclosed bracket '['\n --> f.yaml:1:4\n",
            ),
            (
                "a: 1\na: 2".to_owned(),
                "line 2 column 1: duplicate mapping key: a\n",
            ),
            (
                format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000)),
                "things lie too deep within each other",
            ),
            (
                format!("{}{}", "[".repeat(3_000), "]".repeat(3_000)),
                "things lie too deep within each other",
            ),
        ] {
            let said = told("f.yaml", &read_document(&text).unwrap_err());
            assert!(said.starts_with(expected), "{said}");
        }
    }
}

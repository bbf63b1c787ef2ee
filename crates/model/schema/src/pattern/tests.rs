use super::*;

#[track_caller]
fn check(pattern: &str, matching: &[&str], other: &[&str]) {
    let pattern = Pattern::new(pattern).unwrap();
    for text in matching {
        assert!(pattern.is_match(text), "{pattern:?} must match {text:?}");
    }
    for text in other {
        assert!(
            !pattern.is_match(text),
            "{pattern:?} must not match {text:?}"
        );
    }
}

#[test]
fn patterns_mean_what_they_mean_in_go() {
    check(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        &["a", "a-b"],
        &["-a", "A", ""],
    );
    check(r"^\d+$", &["123"], &["١٢", ""]);
    check(r"^\w+$", &["a_1"], &["é"]);
    check(r"^[\w.-]+$", &["a.b-c_d"], &["é", "a b"]);
    check(r"^[^\d\s]$", &["x", "é"], &["1", " "]);
    check(r"^[\D]$", &["x"], &["1"]);
    check(r"\bfoo\b", &["a foo b", "éfoo"], &["xfoo"]);
    check(r"\Bfoo", &["xfoo"], &["a foo", "foo"]);
    check("^{a}$", &["{a}"], &["a"]);
    check("^a{,2}$", &["a{,2}"], &["aa"]);
    check("^a{2}b{1,}c{0,1}$", &["aab", "aabbc"], &["ab"]);
    check("^[[a]+$", &["[a["], &["b"]);
    check("^[]a]+$", &["]a"], &["b"]);
    check("^[a&&b]+$", &["a&b"], &["c"]);
    check("^[a-]+$", &["a-"], &["b"]);
    check("^[a~~b+--]$", &["a", "~", "b", ","], &["d"]);
    check("^[[:alpha:][:^print:]]+$", &["ab\u{1}"], &["1"]);
    check(r"^\Qa.b\E+$", &["a.b", "a.bbb"], &["axb"]);
    check(r"^\x41\x{42}\103\.\<\_$", &["ABC.<_"], &["ABCx<_"]);
    check(r"^\p{Greek}\pL\P{L}\p{^L}$", &["αβ12"], &["aβ12"]);
    check(r"^(?P<year>[0-9]{4})-(?<m>\d\d)$", &["2024-01"], &["24-01"]);
    check("(?i)^straße$", &["STRAßE", "straße"], &["strasse"]);
    check("(?s)a.b", &["a\nb"], &["ab"]);
    check("^a.b$", &["aéb"], &["a\nb"]);
    check("^$", &[""], &["\n"]);
    check("a*?b+?c??", &["b"], &["a"]);
}

#[test]
fn what_go_refuses_is_refused() {
    for (pattern, text) in [
        ("(", "error parsing regexp: invalid expression: `(`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        (
            "a**",
            "error parsing regexp: invalid nested repetition operator: `*`",
        ),
        (
            "a{1001}",
            "error parsing regexp: invalid repeat count: `{1001}`",
        ),
        (
            "a{2,1}",
            "error parsing regexp: invalid repeat count: `{2,1}`",
        ),
        (
            r"\1",
            r"error parsing regexp: invalid escape sequence: `\1`",
        ),
        (
            r"\u0041",
            r"error parsing regexp: invalid escape sequence: `\u`",
        ),
        (
            r"\Z",
            r"error parsing regexp: invalid escape sequence: `\Z`",
        ),
        (
            "(?x)a",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?x`",
        ),
        (
            "(?=a)",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        ),
        (
            "(?!a)b",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
        ),
        (
            "[z-a]",
            "error parsing regexp: invalid character class range: `z-a`",
        ),
        (
            "[[:foo:]]",
            "error parsing regexp: invalid character class range: `[:foo:]`",
        ),
        ("*", "error parsing regexp: invalid expression: `*`"),
        (
            "\\",
            "error parsing regexp: trailing backslash at end of expression: ``",
        ),
        (
            "((a{100}){100}){100}",
            "error parsing regexp: expression too large: `((a{100}){100}){100}`",
        ),
    ] {
        assert_eq!(
            Pattern::new(pattern).unwrap_err().to_string(),
            text,
            "{pattern}"
        );
    }
}

#[test]
fn no_text_breaks_the_translator() {
    for pattern in [
        "\\é", "[\\é]", "\\x", "\\x{", "\\p", "\\p{", "(?", "(?P<", "[[:", "[a-", "[a-\\", "{",
        "\\Q", "é{2",
    ] {
        let _either = Pattern::new(pattern);
    }
}

//! Rust source seen as two texts: its code and its comments.
//!
//! Rules about code must not trip over prose, and rules about either must not trip over string literals (this crate
//! names every forbidden word in one). Both texts keep the line and column of everything.

/// A source file taken apart.
#[derive(Debug)]
pub(super) struct Source {
    /// The code, with blanks where comments, strings and character literals were.
    pub(super) code: String,
    /// The comments, doc comments among them, with blanks where anything else was.
    pub(super) comments: String,
}

/// What a stretch of source is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub(super) fn parse(text: &str) -> Self {
        let mut source = Self {
            code: String::with_capacity(text.len()),
            comments: String::with_capacity(text.len()),
        };
        let mut rest = text;
        // Whether the character before `rest` belongs to a word, so that `r` in `var"` does not open a raw string.
        let mut after_word = false;
        while let Some(next) = rest.chars().next() {
            let (kind, length) = token(rest, next, after_word);
            let (stretch, remainder) = rest.split_at(length);
            source.push(stretch, kind);
            after_word = kind == Kind::Code && (next.is_alphanumeric() || next == '_');
            rest = remainder;
        }
        source
    }

    fn push(&mut self, stretch: &str, kind: Kind) {
        for character in stretch.chars() {
            let blank = if character == '\n' { '\n' } else { ' ' };
            self.code
                .push(if kind == Kind::Code { character } else { blank });
            self.comments.push(if kind == Kind::Comment {
                character
            } else {
                blank
            });
        }
    }
}

/// The words of a line of code, each with what follows it.
pub(super) fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|character| !is_word(character));
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .find(|character| !is_word(character))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some((word, after))
    })
}

/// The kind and length of the stretch at the beginning of a text whose first character is `next`.
fn token(rest: &str, next: char, after_word: bool) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if next == '"' {
        return (Kind::Literal, string(rest));
    }
    if next == '\'' {
        return match character(rest) {
            Some(length) => (Kind::Literal, length),
            None => (Kind::Code, 1), // A lifetime.
        };
    }
    if !after_word && let Some(length) = raw_string(rest) {
        return (Kind::Literal, length);
    }
    (Kind::Code, next.len_utf8())
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(next) = rest.chars().next()
    {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += next.len_utf8();
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    let (_, first) = characters.next()?;
    if first == '\\' {
        characters.next()?; // Whatever is escaped, a quote among others.
        return characters
            .find(|(_, next)| *next == '\'')
            .map(|(at, _)| at + 1);
    }
    let (at, closing) = characters.next()?;
    (closing == '\'').then_some(at + 1)
}

/// `r"…"`, `r#"…"#` and their byte and C forms.
fn raw_string(text: &str) -> Option<usize> {
    let body = text
        .strip_prefix("br")
        .or_else(|| text.strip_prefix("cr"))
        .or_else(|| text.strip_prefix('r'))?;
    let inner = body.trim_start_matches('#');
    let hashes = body.len() - inner.len();
    let inner = inner.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = inner
        .find(&closing)
        .map_or(inner.len(), |at| at + closing.len());
    Some(text.len() - inner.len() + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Squeezes blanks, so that cases stay readable.
    fn squeeze(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_and_comments_are_told_apart_and_literals_vanish() {
        let cases = [
            ("a // b\nc", "a c", "// b"),
            ("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */"),
            ("a /* b", "a", "/* b"),
            ("f(\"x // y\") // z", "f( )", "// z"),
            ("f(\"x\\\" // y\"); g", "f( ); g", ""),
            ("f(r\"x\\\"); g", "f( ); g", ""),
            ("f(r#\"x\" // y\"#); g", "f( ); g", ""),
            ("f(br##\"x\"# y\"##); g", "f( ); g", ""),
            ("var\"x\" y", "var y", ""),
            ("'\"' + '\\'' + 'a", "+ + 'a", ""),
            ("fn f<'a>(x: &'a str) // y", "fn f<'a>(x: &'a str)", "// y"),
            ("'\\u{1F600}' x", "x", ""),
            ("'ü' x", "x", ""),
            ("\"open", "", ""),
        ];
        for (text, code, comments) in cases {
            let source = Source::parse(text);
            assert_eq!(squeeze(&source.code), code, "code of {text}");
            assert_eq!(squeeze(&source.comments), comments, "comments of {text}");
        }
    }

    #[test]
    fn lines_keep_their_numbers() {
        let text = "a\n/* b\n */ \"c\nd\"\ne // f\n";
        let source = Source::parse(text);
        assert_eq!(source.code.lines().count(), text.lines().count());
        assert_eq!(source.code.lines().nth(4), Some("e     "));
        assert_eq!(source.comments.lines().nth(4), Some("  // f"));
    }

    #[test]
    fn words_come_with_what_follows() {
        let found: Vec<_> = words("a.b_1::now(), ü").collect();
        assert_eq!(
            found,
            [
                ("a", ".b_1::now(), ü"),
                ("b_1", "::now(), ü"),
                ("now", "(), ü"),
                ("ü", "")
            ]
        );
    }
}

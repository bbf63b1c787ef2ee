//! Regular expressions in the syntax Kubernetes uses (Go's RE2), run by Rust's engine.
//!
//! The two are close but not the same: Go's `\d`, `\w`, `\s` and `\b` know ASCII only, its classes do not nest or
//! intersect, `{` without a count is a brace, and some of Rust's constructs do not exist. A pattern is therefore
//! read token by token and written again in a form that means in Rust what the author meant in Go; what Go refuses
//! is refused here.

use std::{fmt, fmt::Write, sync::Arc};

use regex::Regex;

/// A compiled regular expression that remembers how it was written.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    regex: Regex,
}

/// Why a text is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {problem}: `{fragment}`")]
pub struct PatternError {
    problem: &'static str,
    fragment: String,
}

impl Pattern {
    /// Compiles an expression in Go's syntax.
    ///
    /// # Errors
    /// When Go would refuse it, or the automaton would be unreasonably large.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        let translated = Translator {
            rest: source,
            out: String::with_capacity(source.len() + 16),
        }
        .run()?;
        let regex = Regex::new(&translated).map_err(|error| {
            let problem = match error {
                regex::Error::CompiledTooBig(_) => "expression too large",
                _ => "invalid expression",
            };
            PatternError {
                problem,
                fragment: source.to_owned(),
            }
        })?;
        Ok(Self {
            source: Arc::from(source),
            regex,
        })
    }

    /// Whether the expression matches somewhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The parts of `text` that match, none of which overlap.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.regex.find_iter(text).map(|found| found.as_str())
    }

    /// The expression as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.source)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Go refuses counts above this.
const MAX_REPEAT: u32 = 1000;

struct Translator<'a> {
    rest: &'a str,
    out: String,
}

type Step<T> = Result<T, PatternError>;

impl Translator<'_> {
    fn run(mut self) -> Step<String> {
        let mut repeated = false; // the previous token was a repetition
        while let Some(next) = self.rest.chars().next() {
            let start = self.rest;
            let is_repeat =
                matches!(next, '*' | '+' | '?') || (next == '{' && count(self.rest).is_some());
            if is_repeat {
                if repeated {
                    return Err(error(
                        "invalid nested repetition operator",
                        &start[..next.len_utf8()],
                    ));
                }
                self.repetition(next)?;
                if let Some(rest) = self.rest.strip_prefix('?') {
                    self.rest = rest;
                    self.out.push('?');
                }
                repeated = true;
                continue;
            }
            repeated = false;
            match next {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' if self.rest.starts_with("(?") => self.group()?,
                '(' | ')' | '|' | '^' | '$' | '.' => {
                    self.out.push(next);
                    self.skip(next);
                }
                other => {
                    self.skip(other);
                    self.literal(other);
                }
            }
        }
        Ok(self.out)
    }

    fn skip(&mut self, next: char) {
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            self.out.push(c);
        } else {
            let _infallible = write!(self.out, "\\x{{{:X}}}", u32::from(c));
        }
    }

    fn repetition(&mut self, next: char) -> Step<()> {
        if next != '{' {
            self.out.push(next);
            self.skip(next);
            return Ok(());
        }
        let Some((low, high, length)) = count(self.rest) else {
            return Ok(());
        };
        let text = &self.rest[..length];
        let too_many = low > MAX_REPEAT || high.is_some_and(|high| high > MAX_REPEAT || high < low);
        if too_many {
            return Err(error("invalid repeat count", text));
        }
        self.out.push_str(text);
        self.rest = &self.rest[length..];
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)` and `(?flags:`.
    fn group(&mut self) -> Step<()> {
        let body = &self.rest[2..];
        if body.starts_with("P<") || body.starts_with('<') {
            let Some(end) = body.find('>') else {
                return Err(error("invalid named capture", self.rest));
            };
            let name = body[..end].trim_start_matches('P').trim_start_matches('<');
            let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(plain) {
                return Err(error("invalid named capture", &self.rest[..end + 3]));
            }
            // The name has no meaning for matching, and Rust refuses some names Go allows (leading digits).
            self.out.push('(');
            self.rest = &body[end + 1..];
            return Ok(());
        }
        let is_flag = |c: char| matches!(c, 'i' | 'm' | 's' | 'U' | '-');
        let Some(end) = body.find(|c: char| !is_flag(c)) else {
            return Err(error("missing closing )", self.rest));
        };
        let (flags, after) = body.split_at(end);
        if !after.starts_with([')', ':']) || flags.ends_with('-') {
            let length = after.chars().next().map_or(0, char::len_utf8);
            return Err(error(
                "invalid or unsupported Perl syntax",
                &self.rest[..2 + end + length],
            ));
        }
        self.out.push_str(&self.rest[..end + 3]);
        self.rest = &body[end + 1..];
        Ok(())
    }

    fn escape(&mut self) -> Step<()> {
        let after = &self.rest[1..];
        if let Some(quoted) = after.strip_prefix('Q') {
            let (text, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            text.chars().for_each(|c| self.literal(c));
            self.rest = rest;
            return Ok(());
        }
        let fixed = match after.chars().next() {
            Some('A') => "\\A",
            Some('z') => "\\z",
            Some('b') => "(?-u:\\b)",
            Some('B') => "(?-u:\\B)",
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some('s') => "[\\t\\n\\x0C\\r ]",
            Some('S') => "[^\\t\\n\\x0C\\r ]",
            Some('p' | 'P') => return self.unicode_class(),
            _ => {
                let c = self.escaped_char()?;
                self.literal(c);
                return Ok(());
            }
        };
        self.out.push_str(fixed);
        self.rest = &after[1..];
        Ok(())
    }

    /// `\pL`, `\p{Greek}`, `\P{..}`, `\p{^..}`.
    fn unicode_class(&mut self) -> Step<()> {
        let start = self.rest;
        let negated = start.starts_with("\\P");
        let body = &start[2..];
        let (name, rest) = match body.strip_prefix('{') {
            Some(braced) => braced
                .split_once('}')
                .ok_or_else(|| error("invalid character class range", start))?,
            None => match body.chars().next() {
                Some(c) => body.split_at(c.len_utf8()),
                None => return Err(error("invalid character class range", start)),
            },
        };
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (!negated, name),
            None => (negated, name),
        };
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphabetic()) {
            return Err(error("invalid character class range", start));
        }
        let _infallible = write!(self.out, "\\{}{{{name}}}", if negated { 'P' } else { 'p' });
        self.rest = rest;
        Ok(())
    }

    /// An escape that stands for one character.
    fn escaped_char(&mut self) -> Step<char> {
        let start = self.rest;
        let mut chars = start[1..].chars();
        let Some(first) = chars.next() else {
            return Err(error("trailing backslash at end of expression", ""));
        };
        let after = chars.as_str();
        let invalid = || error("invalid escape sequence", start.get(..2).unwrap_or(start));
        let simple = |c| Ok((c, after));
        let (c, rest) = match first {
            'a' => simple('\x07'),
            'f' => simple('\x0C'),
            't' => simple('\t'),
            'n' => simple('\n'),
            'r' => simple('\r'),
            'v' => simple('\x0B'),
            // A single digit other than zero would be a back-reference, which RE2 does not have.
            '1'..='7' if !after.starts_with(|c: char| ('0'..='7').contains(&c)) => Err(invalid()),
            '0'..='7' => {
                let digits: usize = start[1..]
                    .chars()
                    .take(3)
                    .take_while(|c| ('0'..='7').contains(c))
                    .count();
                let (octal, rest) = start[1..].split_at(digits);
                let code = u32::from_str_radix(octal, 8).ok().and_then(char::from_u32);
                code.map(|c| (c, rest)).ok_or_else(invalid)
            }
            'x' => hexadecimal(after).ok_or_else(invalid),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => simple(c),
            _ => Err(invalid()),
        }?;
        self.rest = rest;
        Ok(c)
    }

    /// `[...]`: ranges, Perl, POSIX and Unicode classes; nothing nests or intersects.
    fn class(&mut self) -> Step<()> {
        let start = self.rest;
        let missing = || error("missing closing ]", start);
        self.rest = &self.rest[1..];
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let next = self.rest.chars().next().ok_or_else(missing)?;
            if next == ']' && !first {
                self.rest = &self.rest[1..];
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                let class = &self.rest[..end + 2];
                if !is_posix_class(class) {
                    return Err(error("invalid character class range", class));
                }
                self.out.push_str(class);
                self.rest = &self.rest[end + 2..];
                continue;
            }
            if next == '\\' {
                let known = match self.rest[1..].chars().next() {
                    Some('d') => "0-9",
                    Some('D') => "[^0-9]",
                    Some('w') => "0-9A-Za-z_",
                    Some('W') => "[^0-9A-Za-z_]",
                    Some('s') => "\\t\\n\\x0C\\r ",
                    Some('S') => "[^\\t\\n\\x0C\\r ]",
                    Some('p' | 'P') => {
                        self.unicode_class()?;
                        continue;
                    }
                    _ => "",
                };
                if !known.is_empty() {
                    self.out.push_str(known);
                    self.rest = &self.rest[2..];
                    continue;
                }
            }
            self.class_range(start)?;
        }
    }

    /// One character of a class, or a range of them.
    fn class_range(&mut self, class: &str) -> Step<()> {
        let start = self.rest;
        let low = self.class_char(class)?;
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
        if !is_range {
            self.literal(low);
            return Ok(());
        }
        self.rest = &self.rest[1..];
        let high = self.class_char(class)?;
        if high < low {
            let length = start.len() - self.rest.len();
            return Err(error("invalid character class range", &start[..length]));
        }
        self.literal(low);
        self.out.push('-');
        self.literal(high);
        Ok(())
    }

    fn class_char(&mut self, class: &str) -> Step<char> {
        match self.rest.chars().next() {
            None => Err(error("missing closing ]", class)),
            Some('\\') => self.escaped_char(),
            Some(c) => {
                self.skip(c);
                Ok(c)
            }
        }
    }
}

/// Reads `{n}`, `{n,}` or `{n,m}` at the start of `text`: the bounds and the length; `None` if it is just a brace.
fn count(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let body = text.strip_prefix('{')?;
    let end = body.find('}')?;
    let body = &body[..end];
    let number = |digits: &str| -> Option<u32> {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        // Too large for a number is too large for a count.
        plain.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (low, high) = match body.split_once(',') {
        None => {
            let low = number(body)?;
            (low, Some(low))
        }
        Some((low, "")) => (number(low)?, None),
        Some((low, high)) => (number(low)?, Some(number(high)?)),
    };
    Some((low, high, end + 2))
}

/// Reads `7F` or `{10FFFF}` after `\x`.
fn hexadecimal(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => (text.get(..2)?, text.get(2..)?),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest))
}

fn is_posix_class(class: &str) -> bool {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    ];
    let name = class.trim_start_matches("[:").trim_end_matches(":]");
    NAMES.contains(&name.strip_prefix('^').unwrap_or(name))
}

fn error(problem: &'static str, fragment: &str) -> PatternError {
    PatternError {
        problem,
        fragment: fragment.to_owned(),
    }
}

#[cfg(test)]
mod tests;

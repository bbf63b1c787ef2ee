//! Texts cut into words.

use std::sync::Arc;

use crate::ast::Literal;
use crate::problem::Problem;

/// A word and where it begins.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// How many characters stand before it.
    pub at: u32,
    pub word: Word,
}

#[derive(Clone, Debug)]
pub(crate) enum Word {
    Literal(Literal),
    Name(Arc<str>),
    /// A name in backquotes, which only selects fields.
    QuotedName(Arc<str>),
    /// Operators and punctuation.
    Mark(&'static str),
    End,
}

/// Longer marks first.
const MARKS: [&str; 29] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",",
    "[", "]", "{", "}", "(", ")", "=", "&", "|", ";", "$",
];

/// Cuts a text into words.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, Problem> {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { chars, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let at = lexer.place();
        let word = lexer.word()?;
        let ended = matches!(word, Word::End);
        tokens.push(Token { at, word });
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn place(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.checked_add(ahead)?).copied()
    }

    fn problem(&self, text: impl Into<String>) -> Problem {
        Problem::new(self.place(), text)
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek(0) {
            if c == '/' && self.peek(1) == Some('/') {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}') {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> Result<Word, Problem> {
        let Some(c) = self.peek(0) else {
            return Ok(Word::End);
        };
        if let Some((raw, bytes, prefix)) = self.string_prefix() {
            self.at += prefix;
            return self.string(raw, bytes);
        }
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        if c == '`' {
            return self.quoted_name();
        }
        if c == '_' || c.is_ascii_alphabetic() {
            let start = self.at;
            while self
                .peek(0)
                .is_some_and(|c| c == '_' || c.is_ascii_alphanumeric())
            {
                self.at += 1;
            }
            let name: String = self
                .chars
                .get(start..self.at)
                .into_iter()
                .flatten()
                .collect();
            return Ok(match name.as_str() {
                "true" => Word::Literal(Literal::Bool(true)),
                "false" => Word::Literal(Literal::Bool(false)),
                "null" => Word::Literal(Literal::Null),
                "in" => Word::Mark("in"),
                _ => Word::Name(name.into()),
            });
        }
        for mark in MARKS {
            if mark
                .chars()
                .enumerate()
                .all(|(ahead, c)| self.peek(ahead) == Some(c))
            {
                self.at += mark.len();
                return Ok(Word::Mark(mark));
            }
        }
        Err(self.problem(format!("Syntax error: token recognition error at: '{c}'")))
    }

    fn quoted_name(&mut self) -> Result<Word, Problem> {
        self.at += 1;
        let mut name = String::new();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '`' && !name.is_empty() {
                return Ok(Word::QuotedName(name.into()));
            }
            if !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ')) {
                break;
            }
            name.push(c);
        }
        Err(self.problem("Syntax error: malformed quoted field name"))
    }

    /// Whether a string begins here: raw, of bytes, and how long its prefix is.
    fn string_prefix(&self) -> Option<(bool, bool, usize)> {
        let is_quote = |c: Option<char>| matches!(c, Some('"' | '\''));
        let kind = |c: char| match c {
            'r' | 'R' => Some((true, false)),
            'b' | 'B' => Some((false, true)),
            _ => None,
        };
        let first = self.peek(0)?;
        if is_quote(Some(first)) {
            return Some((false, false, 0));
        }
        let (raw, bytes) = kind(first)?;
        if is_quote(self.peek(1)) {
            return Some((raw, bytes, 1));
        }
        let (raw_too, bytes_too) = kind(self.peek(1)?)?;
        let differs = raw != raw_too;
        (differs && is_quote(self.peek(2))).then_some((raw || raw_too, bytes || bytes_too, 2))
    }

    fn string(&mut self, raw: bool, bytes: bool) -> Result<Word, Problem> {
        let begin = self.place();
        let Some(quote) = self.peek(0) else {
            return Err(self.problem("Syntax error: a string lacks its quote"));
        };
        let long = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        self.at += if long { 3 } else { 1 };
        let mut text = Vec::new();
        loop {
            let Some(c) = self.peek(0) else {
                return Err(Problem::new(begin, "Syntax error: a string does not end"));
            };
            if c == quote && (!long || (self.peek(1) == Some(quote) && self.peek(2) == Some(quote)))
            {
                self.at += if long { 3 } else { 1 };
                break;
            }
            if !long && matches!(c, '\n' | '\r') {
                return Err(Problem::new(
                    begin,
                    "Syntax error: a string does not end on its line",
                ));
            }
            self.at += 1;
            if c == '\\' && !raw {
                self.escape(bytes, &mut text)?;
            } else {
                let mut buffer = [0; 4];
                text.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
        }
        if bytes {
            return Ok(Word::Literal(Literal::Bytes(text.into())));
        }
        let text = String::from_utf8(text)
            .map_err(|_| Problem::new(begin, "invalid UTF-8 in a string"))?;
        Ok(Word::Literal(Literal::String(text.into())))
    }

    fn escape(&mut self, bytes: bool, text: &mut Vec<u8>) -> Result<(), Problem> {
        let Some(c) = self.peek(0) else {
            return Err(self.problem("Syntax error: a string does not end"));
        };
        self.at += 1;
        let plain = match c {
            'a' => Some(7),
            'b' => Some(8),
            'f' => Some(12),
            'n' => Some(b'\n'),
            'r' => Some(b'\r'),
            't' => Some(b'\t'),
            'v' => Some(11),
            '\\' => Some(b'\\'),
            '\'' => Some(b'\''),
            '"' => Some(b'"'),
            '`' => Some(b'`'),
            '?' => Some(b'?'),
            _ => None,
        };
        if let Some(byte) = plain {
            text.push(byte);
            return Ok(());
        }
        let (radix, digits) = match c {
            'x' | 'X' => (16, 2),
            'u' if !bytes => (16, 4),
            'U' if !bytes => (16, 8),
            '0'..='3' => {
                self.at -= 1;
                (8, 3)
            }
            _ => return Err(self.problem("Syntax error: unknown escape sequence")),
        };
        let mut number = 0_u32;
        for _ in 0..digits {
            let digit = self.peek(0).and_then(|c| c.to_digit(radix));
            let Some(digit) = digit else {
                return Err(self.problem("Syntax error: an escape sequence is too short"));
            };
            self.at += 1;
            number = number.wrapping_mul(radix).wrapping_add(digit);
        }
        if bytes {
            text.push(u8::try_from(number).map_err(|_| self.problem("a byte is out of range"))?);
            return Ok(());
        }
        let Some(c) = char::from_u32(number) else {
            return Err(self.problem("Syntax error: an escape sequence is no character"));
        };
        let mut buffer = [0; 4];
        text.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        Ok(())
    }

    fn number(&mut self) -> Result<Word, Problem> {
        let begin = self.place();
        if self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X')) {
            self.at += 2;
            let digits = self.run(|c| c.is_ascii_hexdigit());
            return self.whole(begin, &digits, 16);
        }
        let mut text = self.run(|c| c.is_ascii_digit());
        let mut fraction = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            fraction = true;
            self.at += 1;
            text.push('.');
            text.push_str(&self.run(|c| c.is_ascii_digit()));
        }
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E'))
            && self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit())
        {
            fraction = true;
            text.push('e');
            if sign == 1 {
                text.extend(self.peek(1));
            }
            self.at += 1 + sign;
            text.push_str(&self.run(|c| c.is_ascii_digit()));
        }
        if !fraction {
            return self.whole(begin, &text, 10);
        }
        let number: f64 = text
            .parse()
            .map_err(|_| Problem::new(begin, "invalid double literal"))?;
        if !number.is_finite() {
            return Err(Problem::new(begin, "invalid double literal"));
        }
        Ok(Word::Literal(Literal::Double(number)))
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&belongs) {
            self.at += 1;
        }
        self.chars
            .get(start..self.at)
            .into_iter()
            .flatten()
            .collect()
    }

    /// The sign stands apart, so that the smallest number has one digit too many here: it is taken for unsigned and
    /// put right when it is negated.
    fn whole(&mut self, begin: u32, digits: &str, radix: u32) -> Result<Word, Problem> {
        let refuse = |what: &str| Problem::new(begin, format!("invalid {what} literal"));
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            let number = u64::from_str_radix(digits, radix).map_err(|_| refuse("uint"))?;
            return Ok(Word::Literal(Literal::Uint(number)));
        }
        let number = u64::from_str_radix(digits, radix).map_err(|_| refuse("int"))?;
        let whole = i64::try_from(number).or_else(|_| {
            // Only `-9223372036854775808` has a use for it.
            if number == i64::MIN.unsigned_abs() {
                Ok(i64::MIN)
            } else {
                Err(refuse("int"))
            }
        })?;
        Ok(Word::Literal(Literal::Int(whole)))
    }
}

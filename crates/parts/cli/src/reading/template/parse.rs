//! From the text of a template to its tree.

use object::Value;

use super::functions;
use super::{Node, Pipeline, Term};

/// Nothing that people write is deeper.
const DEEPEST: usize = 100;

/// Reads a template.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    let mut parser = Parser {
        pieces: cut(text)?,
        at: 0,
    };
    let (nodes, end) = parser.block(0)?;
    match end {
        None => Ok(nodes),
        Some(word) => Err(format!("unexpected {{{{{word}}}}}")),
    }
}

/// A piece of the text.
enum Piece {
    Text(String),
    Action(Vec<Token>),
}

/// Cuts the text at its braces.
fn cut(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut trims = false;
    while let Some((before, behind)) = rest.split_once("{{") {
        let inner = behind
            .strip_prefix("- ")
            .or_else(|| behind.strip_prefix("-\n"));
        let (mut said, after, ends_trimming) = action(inner.unwrap_or(behind))?;
        let mut before = if trims { before.trim_start() } else { before };
        if inner.is_some() {
            before = before.trim_end();
        }
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        said = said.trim();
        if !(said.starts_with("/*") && said.ends_with("*/")) {
            pieces.push(Piece::Action(tokens(said)?));
        }
        trims = ends_trimming;
        rest = after;
    }
    let last = if trims { rest.trim_start() } else { rest };
    if !last.is_empty() {
        pieces.push(Piece::Text(last.to_owned()));
    }
    Ok(pieces)
}

/// What stands between the braces, what comes behind them, and whether space there is dropped.
fn action(text: &str) -> Result<(&str, &str, bool), String> {
    if let Some(comment) = text.trim_start().strip_prefix("/*") {
        let (_, behind) = comment.split_once("*/").ok_or("a comment is not closed")?;
        let (between, after) = behind.split_once("}}").ok_or("an action is not closed")?;
        return Ok(("/**/", after, between.trim_start().starts_with('-')));
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '}') if text.get(at..).is_some_and(|rest| rest.starts_with("}}")) => {
                let (inner, after) = text.split_at(at);
                let after = after.get(2..).unwrap_or_default();
                return Ok(match inner.strip_suffix(" -") {
                    Some(inner) => (inner, after, true),
                    None => (inner, after, false),
                });
            }
            _ => {}
        }
    }
    Err("an action is not closed".to_owned())
}

/// A word of an action.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    /// `.a.b`, also behind a parenthesis.
    Fields(Vec<String>),
    Variable(String, Vec<String>),
    Literal(Value),
    Open,
    Close,
    Pipe,
    Comma,
    Set,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, behind) = token(first, rest)?;
        found.push(token);
        rest = behind.trim_start();
    }
    Ok(found)
}

fn token(first: char, rest: &str) -> Result<(Token, &str), String> {
    let behind = rest.get(first.len_utf8()..).unwrap_or_default();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let word = |text: &str| -> usize {
        let end = text.char_indices().find(|(_, letter)| !is_word(*letter));
        end.map_or(text.len(), |(at, _)| at)
    };
    // The fields at the beginning of a text that begins with a dot.
    let fields = |text: &str| -> (Vec<String>, usize) {
        let (mut names, mut at) = (Vec::new(), 0);
        while let Some(after) = text.get(at..).and_then(|text| text.strip_prefix('.')) {
            let length = word(after);
            at += 1 + length;
            match after.get(..length) {
                Some(name) if !name.is_empty() => names.push(name.to_owned()),
                _ => break,
            }
        }
        (names, at)
    };
    Ok(match first {
        '(' => (Token::Open, behind),
        ')' => (Token::Close, behind),
        '|' => (Token::Pipe, behind),
        ',' => (Token::Comma, behind),
        ':' if behind.starts_with('=') => (Token::Set, behind.get(1..).unwrap_or_default()),
        '=' => (Token::Set, behind),
        '"' | '\'' | '`' => quoted(first, behind)?,
        '.' => {
            let (names, end) = fields(rest);
            (Token::Fields(names), rest.get(end..).unwrap_or_default())
        }
        '$' => {
            let end = word(behind);
            let (name, behind) = behind.split_at(end);
            let (names, end) = fields(behind);
            let token = Token::Variable(name.to_owned(), names);
            (token, behind.get(end..).unwrap_or_default())
        }
        '0'..='9' | '-' | '+' => {
            let is_number = |letter: char| is_word(letter) || matches!(letter, '.' | '-' | '+');
            let end = rest.char_indices().find(|(_, letter)| !is_number(*letter));
            let (text, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            let number = text.parse::<i64>().map(Value::from);
            let number = number.or_else(|_| text.parse::<f64>().map(Value::from));
            let number = number.map_err(|_| format!("bad number {text:?}"))?;
            (Token::Literal(number), behind)
        }
        letter if is_word(letter) => {
            let (name, behind) = rest.split_at(word(rest));
            (Token::Word(name.to_owned()), behind)
        }
        other => return Err(format!("unexpected {other:?}")),
    })
}

fn quoted(open: char, text: &str) -> Result<(Token, &str), String> {
    let mut said = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == open {
            let behind = text.get(at + open.len_utf8()..).unwrap_or_default();
            let value = match open {
                // A letter in single quotes is its number.
                '\'' => Value::from(said.chars().next().map_or(0, u32::from)),
                _ => Value::from(said),
            };
            return Ok((Token::Literal(value), behind));
        }
        if letter == '\\' && open != '`' {
            let (_, escaped) = letters.next().ok_or("a text is not closed")?;
            said.push(match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
            continue;
        }
        said.push(letter);
    }
    Err("a text is not closed".to_owned())
}

struct Parser {
    pieces: Vec<Piece>,
    at: usize,
}

impl Parser {
    /// Nodes up to an `else` or `end`, which is left to the caller: its words, if there is one.
    fn block(&mut self, depth: usize) -> Result<(Vec<Node>, Option<String>), String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.get(self.at) {
            let action = match piece {
                Piece::Text(text) => {
                    nodes.push(Node::Text(text.clone()));
                    self.at += 1;
                    continue;
                }
                Piece::Action(action) => action.clone(),
            };
            let word = match action.first() {
                Some(Token::Word(word)) => word.as_str(),
                _ => "",
            };
            if matches!(word, "end" | "else") {
                return Ok((nodes, Some(word.to_owned())));
            }
            self.at += 1;
            let rest = action.get(1..).unwrap_or_default();
            nodes.push(match word {
                "if" => self.condition(rest, depth)?,
                "range" => {
                    let (names, rest) = assigned(rest);
                    let over = pipeline(rest, depth)?;
                    let (body, otherwise) = self.branches(depth)?;
                    Node::Range(names, over, body, otherwise)
                }
                "with" => {
                    let value = pipeline(rest, depth)?;
                    let (body, otherwise) = self.branches(depth)?;
                    Node::With(value, body, otherwise)
                }
                "template" | "define" | "block" | "break" | "continue" => {
                    return Err(format!("{word} is not supported"));
                }
                _ => match assigned(&action) {
                    (names, rest) if !names.is_empty() => {
                        let name = names.into_iter().next().unwrap_or_default();
                        Node::Set(name, pipeline(rest, depth)?)
                    }
                    _ => Node::Put(pipeline(&action, depth)?),
                },
            });
        }
        match depth {
            0 => Ok((nodes, None)),
            _ => Err("an end is missing".to_owned()),
        }
    }

    /// What follows `if`, up to its end.
    fn condition(&mut self, first: &[Token], depth: usize) -> Result<Node, String> {
        let mut branches = Vec::new();
        let mut condition = pipeline(first, depth)?;
        loop {
            let (body, end) = self.block(depth + 1)?;
            branches.push((condition, body));
            let words = self.take_action();
            if end.as_deref() == Some("end") {
                return Ok(Node::If(branches, Vec::new()));
            }
            match words.get(1) {
                Some(Token::Word(word)) if word == "if" => {
                    condition = pipeline(words.get(2..).unwrap_or_default(), depth)?;
                }
                Some(_) => return Err("unexpected words behind else".to_owned()),
                None => {
                    let (otherwise, end) = self.block(depth + 1)?;
                    self.take_action();
                    return match end.as_deref() {
                        Some("end") => Ok(Node::If(branches, otherwise)),
                        _ => Err("an end is missing".to_owned()),
                    };
                }
            }
        }
    }

    /// The body of a loop or of `with`, and what stands behind its `else`.
    fn branches(&mut self, depth: usize) -> Result<(Vec<Node>, Vec<Node>), String> {
        let (body, end) = self.block(depth + 1)?;
        self.take_action();
        if end.as_deref() == Some("end") {
            return Ok((body, Vec::new()));
        }
        let (otherwise, end) = self.block(depth + 1)?;
        self.take_action();
        match end.as_deref() {
            Some("end") => Ok((body, otherwise)),
            _ => Err("an end is missing".to_owned()),
        }
    }

    fn take_action(&mut self) -> Vec<Token> {
        let taken = match self.pieces.get(self.at) {
            Some(Piece::Action(action)) => action.clone(),
            _ => Vec::new(),
        };
        self.at += 1;
        taken
    }
}

/// The variables before `:=`, if there are any, and what comes behind it.
fn assigned(tokens: &[Token]) -> (Vec<String>, &[Token]) {
    let none = (Vec::new(), tokens);
    let Some(at) = tokens.iter().position(|token| *token == Token::Set) else {
        return none;
    };
    let (before, behind) = tokens.split_at(at);
    let mut names = Vec::new();
    for token in before {
        match token {
            Token::Variable(name, fields) if fields.is_empty() => names.push(name.clone()),
            Token::Comma => {}
            _ => return none,
        }
    }
    (names, behind.get(1..).unwrap_or_default())
}

fn pipeline(tokens: &[Token], depth: usize) -> Result<Pipeline, String> {
    let mut reader = Reader { tokens, at: 0 };
    let read = reader.pipeline(depth)?;
    match tokens.get(reader.at) {
        None => Ok(read),
        Some(_) => Err("a parenthesis is closed that was not opened".to_owned()),
    }
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl Reader<'_> {
    fn pipeline(&mut self, depth: usize) -> Result<Pipeline, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let mut commands = vec![Vec::new()];
        while let Some(token) = self.tokens.get(self.at) {
            let term = match token {
                Token::Close => break,
                Token::Pipe => {
                    commands.push(Vec::new());
                    self.at += 1;
                    continue;
                }
                Token::Open => {
                    self.at += 1;
                    let inner = self.pipeline(depth + 1)?;
                    if self.tokens.get(self.at) != Some(&Token::Close) {
                        return Err("a parenthesis is not closed".to_owned());
                    }
                    let fields = match self.tokens.get(self.at + 1) {
                        Some(Token::Fields(fields)) => {
                            self.at += 1;
                            fields.clone()
                        }
                        _ => Vec::new(),
                    };
                    Term::Group(inner, fields)
                }
                Token::Word(word) => constant(word)?,
                Token::Fields(fields) => Term::Fields(fields.clone()),
                Token::Variable(name, fields) => Term::Variable(name.clone(), fields.clone()),
                Token::Literal(value) => Term::Literal(value.clone()),
                Token::Comma | Token::Set => return Err("unexpected , or =".to_owned()),
            };
            self.at += 1;
            if let Some(command) = commands.last_mut() {
                command.push(term);
            }
        }
        match commands.iter().any(Vec::is_empty) {
            true => Err("a value is missing".to_owned()),
            false => Ok(commands),
        }
    }
}

fn constant(word: &str) -> Result<Term, String> {
    Ok(match word {
        "true" => Term::Literal(Value::from(true)),
        "false" => Term::Literal(Value::from(false)),
        "nil" => Term::Literal(Value::Null),
        word if functions::NAMES.contains(&word) => Term::Function(word.to_owned()),
        other => return Err(format!("function {other:?} not defined")),
    })
}

//! The parts of a parsed template, and how they print.

use std::fmt;

use super::literal::write_literal;
use crate::Value;

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    /// Text outside of braces.
    Text(Value),
    /// A path; empty for the value at hand.
    Path(Vec<Node>),
    /// A loop.
    Range {
        over: Vec<Node>,
        body: Vec<Block>,
        /// Whether there is an `{end}`.
        closed: bool,
    },
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Field(String),
    Wildcard,
    Recursive,
    Index(i64),
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Box<Filter>),
    Literal(Value),
}

/// A range of list positions; an open end reaches to the end of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    /// Invariant: positive.
    pub(super) step: Option<i64>,
}

/// A condition on the elements of a list; without a comparison, that something is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Vec<Node>,
    pub(super) comparison: Option<(Comparison, Vec<Node>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "==" => Some(Self::Equal),
            "!=" => Some(Self::NotEqual),
            "<" => Some(Self::Less),
            "<=" => Some(Self::LessOrEqual),
            ">" => Some(Self::Greater),
            ">=" => Some(Self::GreaterOrEqual),
            _ => None,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// Whether a name ends before this character, unless it is escaped.
pub(super) fn ends_name(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// Whether a name in a filter ends before this character too.
pub(super) fn ends_operand(character: char) -> bool {
    matches!(character, '!' | '<' | '>' | '=' | ')')
}

pub(super) fn starts_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

pub(super) fn write_blocks(out: &mut impl fmt::Write, blocks: &[Block]) -> fmt::Result {
    for block in blocks {
        match block {
            Block::Text(text) => out.write_str(text.as_str().unwrap_or_default())?,
            Block::Path(path) => {
                out.write_str("{")?;
                write_path(out, path)?;
                out.write_str("}")?;
            }
            Block::Range { over, body, closed } => {
                out.write_str("{range")?;
                if !over.is_empty() {
                    out.write_str(" ")?;
                    write_path(out, over)?;
                }
                out.write_str("}")?;
                write_blocks(out, body)?;
                if *closed {
                    out.write_str("{end}")?;
                }
            }
        }
    }
    Ok(())
}

fn write_path(out: &mut impl fmt::Write, path: &[Node]) -> fmt::Result {
    let mut previous: Option<&Node> = None;
    for node in path {
        // Next to a literal only a blank keeps the neighbours apart.
        if previous.is_some()
            && (matches!(node, Node::Literal(_)) || matches!(previous, Some(Node::Literal(_))))
        {
            out.write_str(" ")?;
        }
        match node {
            Node::Field(name) => {
                let follows_descent =
                    matches!(previous, Some(Node::Recursive)) && name.starts_with(starts_name);
                write_field(out, if follows_descent { "" } else { "." }, name)?;
            }
            Node::Wildcard => out.write_str(".*")?,
            Node::Recursive => out.write_str("..")?,
            Node::Index(position) => write!(out, "[{position}]")?,
            Node::Slice(slice) => {
                out.write_str("[")?;
                write_slice(out, slice)?;
                out.write_str("]")?;
            }
            Node::Union(parts) => write_union(out, parts)?,
            Node::Filter(filter) => write_filter(out, filter)?,
            Node::Literal(value) => write_literal(out, value)?,
        }
        previous = Some(node);
    }
    Ok(())
}

fn write_field(out: &mut impl fmt::Write, dot: &str, name: &str) -> fmt::Result {
    out.write_str(dot)?;
    // The empty name is ended by a sign that means nothing else.
    if name.is_empty() {
        return out.write_str("$");
    }
    let is_star = name == "*";
    for character in name.chars() {
        if is_star
            || ends_name(character)
            || ends_operand(character)
            || matches!(character, '\\' | '\'' | '"' | '(')
        {
            out.write_str("\\")?;
        }
        out.write_char(character)?;
    }
    Ok(())
}

fn write_slice(out: &mut impl fmt::Write, slice: &Slice) -> fmt::Result {
    let Slice { start, end, step } = slice;
    if *slice == Slice::default() {
        return out.write_str("*");
    }
    let text = |bound: &Option<i64>| bound.map_or_else(String::new, |bound| bound.to_string());
    write!(out, "{}:{}", text(start), text(end))?;
    match step {
        Some(step) => write!(out, ":{step}"),
        None => Ok(()),
    }
}

fn write_union(out: &mut impl fmt::Write, parts: &[Vec<Node>]) -> fmt::Result {
    for (position, part) in parts.iter().enumerate() {
        out.write_str(if position == 0 { "[" } else { "," })?;
        match part.as_slice() {
            [Node::Index(index)] => write!(out, "{index}")?,
            [Node::Slice(slice)] => write_slice(out, slice)?,
            path => {
                let mut key = String::new();
                write_path(&mut key, path)?;
                // A quoted key is a path without its first dot.
                write!(out, "'{}'", key.strip_prefix('.').unwrap_or(&key))?;
            }
        }
    }
    out.write_str("]")
}

fn write_filter(out: &mut impl fmt::Write, filter: &Filter) -> fmt::Result {
    out.write_str("[?(")?;
    write_operand(out, &filter.left)?;
    if let Some((comparison, right)) = &filter.comparison {
        out.write_str(comparison.symbol())?;
        write_operand(out, right)?;
    }
    out.write_str(")]")
}

fn write_operand(out: &mut impl fmt::Write, path: &[Node]) -> fmt::Result {
    if !matches!(path.first(), Some(Node::Literal(_))) {
        out.write_str("@")?;
    }
    write_path(out, path)
}

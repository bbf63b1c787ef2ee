//! Reading what stands in brackets: positions, slices, quoted keys, filters.

use super::{
    node::{Comparison, Filter, Node, Slice, ends_operand},
    parse::{JsonPathProblem, ParseJsonPathError, Parser, Place, is_line_end},
};

impl Parser<'_> {
    /// One or more positions, slices and quoted keys in brackets.
    pub(super) fn brackets(&mut self, path: &mut Vec<Node>) -> Result<(), ParseJsonPathError> {
        let start = self.at;
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            parts.push(if self.peek() == Some('\'') {
                self.key()?
            } else {
                vec![self.slice(start)?]
            });
            self.skip_blanks();
            match self.peek() {
                Some(']') => break,
                Some(',') => self.at += 1,
                Some(character) if !is_line_end(character) => {
                    return Err(self.fail(self.at, JsonPathProblem::BadIndex));
                }
                _ => return Err(self.fail(start, JsonPathProblem::UnterminatedArray)),
            }
        }
        self.at += 1;
        if parts.len() > 1 {
            path.push(Node::Union(parts));
            return Ok(());
        }
        let only = parts.into_iter().flatten();
        for node in only {
            if node == Node::Recursive && path.last() == Some(&Node::Recursive) {
                return Err(self.fail(start, JsonPathProblem::RepeatedDescent));
            }
            path.push(node);
        }
        Ok(())
    }

    /// Upstream: a quoted key is a path without its first dot, so that its dots part fields unless escaped.
    fn key(&mut self) -> Result<Vec<Node>, ParseJsonPathError> {
        let start = self.at;
        let inner = self
            .quoted('\'')
            .ok_or_else(|| self.fail(start, JsonPathProblem::UnterminatedArray))?;
        self.enter()?;
        let dotted = format!(".{inner}");
        // The dot stands where the quote was.
        let mut parser = Parser {
            text: &dotted,
            at: 0,
            offset: self.offset + start,
            nesting: self.nesting,
        };
        let path = parser.path(Place::Key)?;
        parser.end_of_path()?;
        self.nesting -= 1;
        Ok(path)
    }

    fn slice(&mut self, start: usize) -> Result<Node, ParseJsonPathError> {
        let rest = self.rest();
        let end = rest
            .find([']', ',', ' ', '\r', '\n'])
            .ok_or_else(|| self.fail(start, JsonPathProblem::UnterminatedArray))?;
        let text = &rest[..end];
        let fail = || self.fail(self.at, JsonPathProblem::BadIndex);
        let bound = |text: &str| match text {
            "" => Ok(None),
            // Only digits and a minus: a plus is a digit to nobody here.
            _ if text.starts_with('+') => Err(fail()),
            _ => text.parse::<i64>().map(Some).map_err(|_| fail()),
        };
        let node = match text.split(':').collect::<Vec<_>>().as_slice() {
            ["*"] => Node::Slice(Slice::default()),
            // Upstream: brackets without a position mean the first.
            [index] => Node::Index(bound(index)?.unwrap_or(0)),
            [start, end] => Node::Slice(Slice {
                start: bound(start)?,
                end: bound(end)?,
                step: None,
            }),
            [start, end, step] => Node::Slice(Slice {
                start: bound(start)?,
                end: bound(end)?,
                step: bound(step)?,
            }),
            _ => return Err(fail()),
        };
        if matches!(&node, Node::Slice(Slice { step: Some(step), .. }) if *step <= 0) {
            return Err(self.fail(self.at, JsonPathProblem::BadStep));
        }
        self.at += end;
        Ok(node)
    }

    pub(super) fn filter(&mut self) -> Result<Node, ParseJsonPathError> {
        let start = self.at;
        self.enter()?;
        self.at += "[?(".len();
        let left = self.operand()?;
        let rest = self.rest();
        let operator = &rest[..rest
            .find(|next| !matches!(next, '!' | '<' | '>' | '='))
            .unwrap_or(rest.len())];
        let comparison = if operator.is_empty() {
            None
        } else {
            let comparison = Comparison::parse(operator)
                .ok_or_else(|| self.fail(self.at, JsonPathProblem::BadOperator))?;
            self.at += operator.len();
            Some((comparison, self.operand()?))
        };
        if !self.rest().starts_with(")]") {
            return Err(match self.peek() {
                Some(character) if ends_operand(character) && character != ')' => self.fail(
                    self.at,
                    JsonPathProblem::UnrecognizedCharacter { character },
                ),
                _ => self.fail(start, JsonPathProblem::UnterminatedFilter),
            });
        }
        self.at += ")]".len();
        self.nesting -= 1;
        Ok(Node::Filter(Box::new(Filter { left, comparison })))
    }

    fn operand(&mut self) -> Result<Vec<Node>, ParseJsonPathError> {
        let start = self.at;
        let path = self.path(Place::Operand)?;
        let text = &self.text[start..self.at];
        if text.trim_matches(' ').is_empty() && self.peek().is_some_and(ends_operand) {
            return Err(self.fail(start, JsonPathProblem::MissingOperand));
        }
        Ok(path)
    }
}

//! Walking a template over a document.

use object::Value;

use super::functions::{call, holds, show};
use super::{Node, Pipeline, Term};

/// What a template makes of a document.
pub(super) fn run(nodes: &[Node], document: &Value) -> Result<String, String> {
    let mut walk = Walk {
        document,
        variables: Vec::new(),
        text: String::new(),
    };
    walk.nodes(nodes, document)?;
    Ok(walk.text)
}

struct Walk<'d> {
    document: &'d Value,
    /// The youngest last.
    variables: Vec<(String, Value)>,
    text: String,
}

impl Walk<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<(), String> {
        let known = self.variables.len();
        for node in nodes {
            match node {
                Node::Text(text) => self.text.push_str(text),
                Node::Put(pipeline) => {
                    let value = self.value(pipeline, dot)?;
                    self.text.push_str(&show(&value));
                }
                Node::Set(name, pipeline) => {
                    let value = self.value(pipeline, dot)?;
                    self.variables.push((name.clone(), value));
                }
                Node::If(branches, otherwise) => self.choose(branches, otherwise, dot)?,
                Node::Range(names, over, body, otherwise) => {
                    let over = self.value(over, dot)?;
                    self.range(names, &over, body, otherwise, dot)?;
                }
                Node::With(pipeline, body, otherwise) => {
                    let value = self.value(pipeline, dot)?;
                    match holds(&value) {
                        true => self.nodes(body, &value)?,
                        false => self.nodes(otherwise, dot)?,
                    }
                }
            }
        }
        self.variables.truncate(known);
        Ok(())
    }

    fn choose(
        &mut self,
        branches: &[(Pipeline, Vec<Node>)],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<(), String> {
        for (condition, body) in branches {
            if holds(&self.value(condition, dot)?) {
                return self.nodes(body, dot);
            }
        }
        self.nodes(otherwise, dot)
    }

    fn range(
        &mut self,
        names: &[String],
        over: &Value,
        body: &[Node],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<(), String> {
        let items: Vec<(Value, &Value)> = match over {
            Value::Null => Vec::new(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(number, item)| (Value::from(number), item))
                .collect(),
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(key, _)| *key);
                let fields = fields.into_iter();
                fields
                    .map(|(key, item)| (Value::from(key.as_str()), item))
                    .collect()
            }
            other => return Err(format!("cannot range over {}", show(other))),
        };
        if items.is_empty() {
            return self.nodes(otherwise, dot);
        }
        for (key, item) in items {
            let known = self.variables.len();
            match names {
                [value] => self.variables.push((value.clone(), item.clone())),
                [name, value, ..] => {
                    self.variables.push((name.clone(), key));
                    self.variables.push((value.clone(), item.clone()));
                }
                [] => {}
            }
            self.nodes(body, item)?;
            self.variables.truncate(known);
        }
        Ok(())
    }

    fn value(&self, pipeline: &Pipeline, dot: &Value) -> Result<Value, String> {
        let mut last: Option<Value> = None;
        for command in pipeline {
            let (first, rest) = command.split_first().ok_or("a value is missing")?;
            let mut arguments = Vec::with_capacity(rest.len() + 1);
            for term in rest {
                arguments.push(self.term(term, dot)?);
            }
            arguments.extend(last.take());
            last = Some(match first {
                Term::Function(name) => call(name, &arguments)?,
                term if arguments.is_empty() => self.term(term, dot)?,
                _ => return Err("only functions take arguments".to_owned()),
            });
        }
        Ok(last.unwrap_or_default())
    }

    fn term(&self, term: &Term, dot: &Value) -> Result<Value, String> {
        match term {
            Term::Literal(value) => Ok(value.clone()),
            Term::Fields(fields) => field(dot, fields),
            Term::Variable(name, fields) if name.is_empty() => field(self.document, fields),
            Term::Variable(name, fields) => {
                let found = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = found.ok_or_else(|| format!("undefined variable ${name}"))?;
                field(value, fields)
            }
            Term::Function(name) => call(name, &[]),
            Term::Group(pipeline, fields) => field(&self.value(pipeline, dot)?, fields),
        }
    }
}

/// What is found along fields; nothing where one is missing.
fn field(value: &Value, fields: &[String]) -> Result<Value, String> {
    let mut at = value;
    for name in fields {
        at = match at {
            Value::Object(known) => known.get(name).unwrap_or(&Value::Null),
            Value::Null => return Ok(Value::Null),
            other => return Err(format!("can't evaluate field {name} in {}", show(other))),
        };
    }
    Ok(at.clone())
}

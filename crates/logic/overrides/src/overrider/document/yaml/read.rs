//! A YAML text taken apart, with its scalars as they stand.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use object::{Map, Value, parse::DEPTH_LIMIT};

use super::{Document, Leaf, Leaves, write};
use crate::problem::Problem;

/// More than any honest file repeats by aliases; a file made to explode is refused before it costs anything.
const MOST_REPEATED: usize = 50_000;
/// How tags of YAML itself begin once they are spelt out.
const YAML_TAGS: &str = "tag:yaml.org,2002:";
/// The key whose value lends its fields to the mapping around it.
const MERGE: &str = "<<";

/// Reads one document.
pub(super) fn read(text: &str) -> Result<Document, Problem> {
    let options = granit_parser::options! { emit_comments: false };
    let events: Vec<(Event<'_>, Span)> = Parser::new_from_str_with_options(text, options)
        .collect::<Result<_, _>>()
        .map_err(|error| Problem::Yaml(error.to_string()))?;
    let mut version = None;
    let mut starts = Vec::new();
    let mut anchors = BTreeMap::new();
    for (position, (event, _)) in events.iter().enumerate() {
        match event {
            Event::DocumentStart(_, declared) => {
                version = *declared;
                starts.push(position + 1);
            }
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(_, anchor, _)
            | Event::MappingStart(_, anchor, _)
                if *anchor != 0 =>
            {
                anchors.insert(*anchor, position);
            }
            _ => {}
        }
    }
    let mut reader = Reader {
        text,
        events: &events,
        anchors,
        next: 0,
        aliases: 0,
        repeated: 0,
        place: Vec::new(),
        leaves: Leaves::new(),
        bare_keys: BTreeMap::new(),
    };
    let root = match starts.as_slice() {
        [] => reader.leaves.keep(null()),
        [start] => {
            reader.next = *start;
            reader.node()?
        }
        several => {
            let count = several.len();
            return Err(Problem::Yaml(format!("there are {count} of them in it")));
        }
    };
    Ok(Document {
        root,
        leaves: reader.leaves,
        bare_keys: reader.bare_keys,
        version,
    })
}

struct Reader<'e, 't> {
    text: &'t str,
    events: &'e [(Event<'t>, Span)],
    /// Where the node begins that an alias stands for.
    anchors: BTreeMap<usize, usize>,
    next: usize,
    /// How many aliases are being replaced, one inside the other.
    aliases: usize,
    /// How many events were read in place of aliases.
    repeated: usize,
    place: Vec<String>,
    leaves: Leaves<Leaf>,
    bare_keys: BTreeMap<String, bool>,
}

impl<'e, 't> Reader<'e, 't> {
    fn peek(&self) -> Result<&'e (Event<'t>, Span), Problem> {
        let events: &'e [_] = self.events;
        events.get(self.next).ok_or_else(|| self.problem("it ends"))
    }

    fn problem(&self, what: &str) -> Problem {
        let place: object::patch::Pointer = self.place.iter().collect();
        Problem::Yaml(format!("{what} at {:?}", place.to_string()))
    }

    fn unkept(&self, why: impl Into<String>) -> Problem {
        Problem::unkept(&self.place, why)
    }

    /// Steps over an event, which counts if it is read in place of an alias.
    fn step(&mut self) -> Result<(), Problem> {
        self.next += 1;
        if self.aliases > 0 {
            self.repeated += 1;
        }
        if self.repeated > MOST_REPEATED {
            return Err(self.problem("aliases repeat too much"));
        }
        if self.place.len() > DEPTH_LIMIT {
            return Err(self.problem(&format!("nested deeper than {DEPTH_LIMIT} levels")));
        }
        Ok(())
    }

    fn node(&mut self) -> Result<Value, Problem> {
        let (event, span) = self.peek()?;
        self.step()?;
        match event {
            Event::Alias(anchor) => self.replace(*anchor, Self::node),
            Event::Scalar(content, style, _, tag) => {
                let leaf = self.leaf(content, *style, tag.as_deref(), span)?;
                Ok(self.leaves.keep(leaf))
            }
            Event::SequenceStart(_, _, tag) => {
                self.check_tag(tag.as_deref(), "seq", span)?;
                self.items()
            }
            Event::MappingStart(_, _, tag) => {
                self.check_tag(tag.as_deref(), "map", span)?;
                self.fields()
            }
            _ => Err(self.problem("nothing is there")),
        }
    }

    /// Reads what an alias stands for, and goes on behind the alias.
    fn replace<T>(
        &mut self,
        anchor: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(self.problem("an alias stands for nothing"));
        };
        let back = self.next;
        self.next = *target;
        self.aliases += 1;
        let found = read(self);
        self.aliases -= 1;
        self.next = back;
        found
    }

    fn items(&mut self) -> Result<Value, Problem> {
        let mut items = Vec::new();
        while !matches!(self.peek()?.0, Event::SequenceEnd) {
            self.place.push(items.len().to_string());
            items.push(self.node()?);
            self.place.pop();
        }
        self.step()?;
        Ok(Value::Array(items))
    }

    fn fields(&mut self) -> Result<Value, Problem> {
        let mut fields = Map::new();
        let mut lenders = Vec::new();
        while !matches!(self.peek()?.0, Event::MappingEnd) {
            if matches!(&self.peek()?.0, Event::Scalar(key, ScalarStyle::Plain, _, None) if key == MERGE)
            {
                self.step()?;
                self.place.push(MERGE.to_owned());
                lenders.extend(self.lenders()?);
                self.place.pop();
                continue;
            }
            let key = self.key()?;
            self.place.push(key.clone());
            if fields.contains_key(&key) {
                return Err(self.unkept("it is given twice"));
            }
            fields.insert(key, self.node()?);
            self.place.pop();
        }
        self.step()?;
        // What a mapping has itself goes before what it borrows, and of two lenders the first one counts.
        for (key, value) in lenders.into_iter().flatten() {
            fields.entry(key).or_insert(value);
        }
        Ok(Value::Object(fields))
    }

    /// The mappings whose fields are merged.
    fn lenders(&mut self) -> Result<Vec<Map>, Problem> {
        let found = match self.node()? {
            Value::Array(items) => items,
            other => vec![other],
        };
        found
            .into_iter()
            .map(|lender| match lender {
                Value::Object(fields) => Ok(fields),
                _ => Err(self.problem("what is merged is no mapping")),
            })
            .collect()
    }

    fn key(&mut self) -> Result<String, Problem> {
        let (event, span) = self.peek()?;
        self.step()?;
        let (content, style, tag) = match event {
            Event::Alias(anchor) => return self.replace(*anchor, Self::key),
            Event::Scalar(content, style, _, tag) => (content, *style, tag.as_deref()),
            _ => return Err(self.unkept("a key is a list or a mapping")),
        };
        let (key, is_bare) = match self.leaf(content, style, tag, span)? {
            Leaf::Bare(key) if tag.is_none() => (key, true),
            Leaf::Text(key) => (key, false),
            Leaf::Bare(key) => return Err(self.unkept(format!("the key {key} has a tag"))),
        };
        if write::has_quotes(&key) {
            let known = self.bare_keys.insert(key.clone(), is_bare);
            if known.is_some_and(|known| known != is_bare) {
                let why = format!("the key {key} is once a text and once none");
                return Err(self.unkept(why));
            }
        }
        Ok(key)
    }

    fn leaf(
        &self,
        content: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<Leaf, Problem> {
        let is_bare = style == ScalarStyle::Plain && !content.contains('\n');
        let is_absent = is_bare && span.slice(self.text).is_none_or(str::is_empty);
        let content = if is_absent { "" } else { content };
        let Some(tag) = tag else {
            return Ok(match content {
                "" if is_bare => null(),
                _ if is_bare => Leaf::Bare(content.to_owned()),
                _ => Leaf::Text(content.to_owned()),
            });
        };
        let written = self.tag(tag, span)?;
        if written == "!" || tag.core_suffix() == Some("str") {
            return Ok(Leaf::Text(content.to_owned()));
        }
        Ok(Leaf::Bare(match content {
            "" if is_bare => written.to_owned(),
            _ if is_bare => format!("{written} {content}"),
            _ => format!("{written} {}", write::quoted(content)),
        }))
    }

    /// A tag as it stands, if it means the same without the head of the text.
    fn tag(&self, tag: &Tag, span: &Span) -> Result<&'t str, Problem> {
        let text: &'t str = self.text;
        let written = span
            .tag_span()
            .and_then(|span| span.slice(text))
            .unwrap_or_default();
        let means_the_same = match tag.original_handle() {
            "!!" => tag.handle() == YAML_TAGS,
            "!" => tag.handle() == "!",
            _ => written == "!" || written.starts_with("!<"),
        };
        if means_the_same && !written.is_empty() {
            Ok(written)
        } else {
            Err(self.unkept(format!("its tag {written} would mean something else")))
        }
    }

    fn check_tag(&self, tag: Option<&Tag>, own: &str, span: &Span) -> Result<(), Problem> {
        match tag {
            Some(tag) if tag.core_suffix() != Some(own) => {
                let written = self.tag(tag, span)?;
                Err(self.unkept(format!("its tag {written} would be lost")))
            }
            _ => Ok(()),
        }
    }
}

/// What stands where nothing does.
fn null() -> Leaf {
    Leaf::Bare("null".to_owned())
}

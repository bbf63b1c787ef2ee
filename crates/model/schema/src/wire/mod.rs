//! Kubernetes' protobuf encoding: the same objects as JSON, as messages with numbered fields.
//!
//! [`Tables`] say which number each field of each kind has; [`Tables::decode`] turns a body into an object and
//! [`Tables::encode`] turns the JSON of an object into a body, reading it once and building no tree
//! (docs/adr/0011-protobuf-by-tables.md).
//!
//! What differs from plain protobuf: a body begins with four magic bytes and an envelope that names its kind; times,
//! quantities, numbers-or-texts and free JSON are messages of their own; some fields are, in protobuf only, within a part
//! that JSON knows nothing of; and a field whose zero means "not set" is sent as zero.
//!
//! Invariants: no bytes and no JSON make these functions panic; an object deeper than [`DEEPEST`] is refused; the cost is
//! linear in the input times its depth; fields without a number are left out, numbers without a field skipped.

mod decode;
mod encode;
mod envelope;
mod number;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::decode::{DecodeError, Problem};
pub use self::encode::EncodeError;
pub use self::envelope::{Envelope, MAGIC, watch_frame};

/// How deep objects and lists may nest, as in JSON.
pub const DEEPEST: usize = object::parse::DEPTH_LIMIT;

/// The messages of all kinds that can be sent in protobuf.
#[derive(Debug, Default)]
pub struct Tables {
    messages: Vec<Message>,
    /// By `apiVersion` and `kind`.
    kinds: BTreeMap<Box<str>, BTreeMap<Box<str>, MessageId>>,
}

/// The place of a message in its [`Tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId(usize);

/// One type of messages.
#[derive(Debug, Default)]
pub struct Message {
    /// Sorted by name.
    fields: Vec<Field>,
    /// Sorted by number.
    numbers: Part,
}

/// One field, as it is in JSON and as it is sent.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: Arc<str>,
    /// Its number, after the numbers of the parts it is in only when sent.
    pub number: Vec<u32>,
    /// One value, or many.
    pub many: Many,
    /// What the values are.
    pub form: Form,
    /// What a zero that was sent means.
    pub zero: Zero,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// A list.
    List,
    /// A map from texts.
    Map,
}

/// What a value is, and so how it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A 32-bit number.
    Int32,
    /// A 64-bit number.
    Int64,
    /// A floating point number.
    Double,
    /// Bytes, in base64 in JSON.
    Bytes,
    /// Seconds since 1970, RFC 3339 in JSON.
    Time,
    /// The same to the microsecond.
    MicroTime,
    /// An amount, as text in a message of its own.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// Any JSON, as text in a message of its own.
    Json,
    /// A list of texts in a message of its own.
    Texts,
    /// A message with fields.
    Message(MessageId),
    /// A message, or a list of such messages.
    MessageOrList(MessageId),
    /// A message, or whether any is allowed.
    MessageOrBool(MessageId),
    /// A message, or a list of texts.
    MessageOrTexts(MessageId),
}

/// What a zero, an empty text or `false` means that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zero {
    /// Nothing was set: JSON leaves the field out.
    Unset,
    /// It was set to zero.
    Set,
}

/// What is found under the numbers of a message, or of a part that only exists when sent.
#[derive(Debug, Default)]
struct Part {
    numbers: Vec<(u32, Place)>,
}

#[derive(Debug)]
enum Place {
    /// A field, by its position.
    Field(usize),
    /// A part whose fields belong to the object itself in JSON.
    Part(Part),
}

impl Tables {
    /// Makes room for a message whose fields come later, so that messages can contain each other.
    pub fn reserve(&mut self) -> MessageId {
        self.messages.push(Message::default());
        MessageId(self.messages.len() - 1)
    }

    /// Says which fields a message has.
    pub fn define(&mut self, id: MessageId, mut fields: Vec<Field>) {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let mut numbers = Part::default();
        for (position, field) in fields.iter().enumerate() {
            if let Some((last, parts)) = field.number.split_last() {
                numbers.within(parts).put(*last, Place::Field(position));
            }
        }
        if let Some(message) = self.messages.get_mut(id.0) {
            *message = Message { fields, numbers };
        }
    }

    /// Lets objects that call themselves so be sent as a message.
    pub fn name(&mut self, api_version: &str, kind: &str, id: MessageId) {
        let kinds = self.kinds.entry(api_version.into()).or_default();
        kinds.insert(kind.into(), id);
    }

    /// The message of a kind, if it can be sent in protobuf.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        self.kinds.get(api_version)?.get(kind).copied()
    }

    fn message(&self, id: MessageId) -> &Message {
        self.messages
            .get(id.0)
            .expect("invariant: ids come from these tables")
    }
}

impl Message {
    fn field(&self, name: &str) -> Option<&Field> {
        let position = self
            .fields
            .binary_search_by(|field| (*field.name).cmp(name))
            .ok()?;
        self.fields.get(position)
    }
}

impl Part {
    fn within(&mut self, parts: &[u32]) -> &mut Self {
        let Some((first, rest)) = parts.split_first() else {
            return self;
        };
        let place = match self
            .numbers
            .binary_search_by_key(first, |(number, _)| *number)
        {
            Ok(place) => place,
            Err(place) => {
                self.numbers
                    .insert(place, (*first, Place::Part(Self::default())));
                place
            }
        };
        match &mut self.numbers[place].1 {
            Place::Part(part) => part.within(rest),
            Place::Field(_) => unreachable!("invariant: a number is a field or a part"),
        }
    }

    fn put(&mut self, number: u32, place: Place) {
        match self
            .numbers
            .binary_search_by_key(&number, |(known, _)| *known)
        {
            Ok(_) => unreachable!("invariant: a number is given once"),
            Err(position) => self.numbers.insert(position, (number, place)),
        }
    }

    fn find(&self, number: u32) -> Option<&Place> {
        let position = self
            .numbers
            .binary_search_by_key(&number, |(known, _)| *known)
            .ok()?;
        self.numbers.get(position).map(|(_, place)| place)
    }
}

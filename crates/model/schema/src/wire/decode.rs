//! From bytes to an object.

use std::fmt::Write as _;

use object::base64;
use object::parse::parse_json;
use object::time::{MicroTime, Time};
use object::{Map, Value};

use super::envelope::{Envelope, MAGIC};
use super::number::{Delimit, Input};
use super::{DEEPEST, Field, Form, Many, MessageId, Part, Place, Tables, Zero};

/// Why bytes are no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{problem}", if path.is_empty() { "" } else { ": " })]
pub struct DecodeError {
    /// The field that could not be read; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

/// What is wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The body does not begin as every body does.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Magic,
    /// The body is of a kind that has no message.
    #[error("there is no protobuf message for kind {kind:?} of {api_version:?}")]
    Kind {
        /// The version it is said to be in.
        api_version: String,
        /// What it is said to be.
        kind: String,
    },
    /// The message is compressed or the like.
    #[error("the message in the envelope has an unknown content encoding")]
    ContentEncoding,
    /// The bytes end within a value.
    #[error("unexpected end of the message")]
    Truncated,
    /// A number has more than 64 bits.
    #[error("a number has more than 64 bits")]
    Number,
    /// A tag names no field number or way to delimit that there is, or ends a group that is not open.
    #[error("the tag of a field is malformed")]
    Tag,
    /// A value is delimited otherwise than the field's values are.
    #[error("the value does not have the field's type")]
    Type,
    /// A text is not UTF-8.
    #[error("the text is not valid UTF-8")]
    Utf8,
    /// A time is not within the years 0000 to 9999.
    #[error("the time is out of range")]
    Time,
    /// What should be JSON is not.
    #[error("the raw value is not JSON")]
    Json,
    /// Messages are nested too deeply.
    #[error("the message is nested more than {DEEPEST} deep")]
    Depth,
}

impl Tables {
    /// The object in a body: its envelope says of which kind it is. What the envelope says of version and kind is in the
    /// object too, if it says anything.
    pub fn decode(&self, body: &[u8]) -> Result<Value, DecodeError> {
        self.decode_as(body, None, 1)
    }

    /// The object in a body, read as a message that is known beforehand: for kinds such as `DeleteOptions`, which exist in
    /// every group.
    pub fn decode_message(&self, body: &[u8], message: MessageId) -> Result<Value, DecodeError> {
        self.decode_as(body, Some(message), 1)
    }

    fn decode_as(
        &self,
        body: &[u8],
        message: Option<MessageId>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let envelope = Envelope::open(body)?;
        if envelope.content_type == "application/json" {
            return Ok(json(envelope.raw)?);
        }
        let (api_version, kind) = (envelope.api_version, envelope.kind);
        let message = message.or_else(|| self.find(api_version, kind));
        let message = message.ok_or_else(|| Problem::Kind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })?;
        let mut object = Map::new();
        for (name, text) in [("apiVersion", api_version), ("kind", kind)] {
            if !text.is_empty() {
                object.insert(name.to_owned(), Value::from(text));
            }
        }
        self.read_message(message, envelope.raw, depth, &mut object)?;
        Ok(Value::Object(object))
    }

    fn read_message(
        &self,
        id: MessageId,
        bytes: &[u8],
        depth: usize,
        into: &mut Map,
    ) -> Result<(), DecodeError> {
        let message = self.message(id);
        self.read_part(&message.fields, &message.numbers, bytes, depth, into)
    }

    fn read_part(
        &self,
        fields: &[Field],
        part: &Part,
        bytes: &[u8],
        depth: usize,
        into: &mut Map,
    ) -> Result<(), DecodeError> {
        if depth > DEEPEST {
            return Err(Problem::Depth.into());
        }
        let mut input = Input::new(bytes);
        while !input.is_empty() {
            let (number, delimit) = input.tag()?;
            match part.find(number) {
                None => input.skip(number, delimit)?,
                Some(Place::Part(inner)) => {
                    let bytes = length_of(&mut input, delimit)?;
                    self.read_part(fields, inner, bytes, depth, into)?;
                }
                Some(Place::Field(position)) => {
                    let Some(field) = fields.get(*position) else {
                        continue;
                    };
                    self.read_field(field, &mut input, delimit, depth, into)
                        .map_err(|error| error.within(&field.name))?;
                }
            }
        }
        Ok(())
    }

    fn read_field(
        &self,
        field: &Field,
        input: &mut Input<'_>,
        delimit: Delimit,
        depth: usize,
        into: &mut Map,
    ) -> Result<(), DecodeError> {
        match field.many {
            Many::List => {
                let list = entry(into, &field.name, || Value::Array(Vec::new()));
                let Value::Array(list) = list else {
                    return Err(Problem::Type.into());
                };
                if delimit == Delimit::Length && matches!(field.form, Form::Int32 | Form::Int64) {
                    let mut packed = Input::new(input.delimited()?);
                    while !packed.is_empty() {
                        list.push(Value::from(varint_of(&mut packed, Delimit::Varint)? as i64));
                    }
                    return Ok(());
                }
                list.push(self.read_value(field.form, input, delimit, depth + 1)?);
                Ok(())
            }
            Many::Map => {
                let (key, value) =
                    self.read_entry(field.form, length_of(input, delimit)?, depth + 1)?;
                let map = entry(into, &field.name, || Value::Object(Map::new()));
                let Value::Object(map) = map else {
                    return Err(Problem::Type.into());
                };
                map.insert(key, value);
                Ok(())
            }
            Many::One => {
                // A message that comes in pieces is the sum of them.
                if let Form::Message(id) = field.form {
                    let bytes = length_of(input, delimit)?;
                    let inner = entry(into, &field.name, || Value::Object(Map::new()));
                    let Value::Object(inner) = inner else {
                        return Err(Problem::Type.into());
                    };
                    return self.read_message(id, bytes, depth + 1, inner);
                }
                let value = self.read_value(field.form, input, delimit, depth)?;
                if is_unset(field, &value) {
                    into.shift_remove(&*field.name);
                } else {
                    into.insert(field.name.to_string(), value);
                }
                Ok(())
            }
        }
    }

    fn read_entry(
        &self,
        form: Form,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(String, Value), DecodeError> {
        let mut key = String::new();
        let mut value = None;
        let mut input = Input::new(bytes);
        while !input.is_empty() {
            let (number, delimit) = input.tag()?;
            match number {
                1 => text(length_of(&mut input, delimit)?)?.clone_into(&mut key),
                2 => value = Some(self.read_value(form, &mut input, delimit, depth)?),
                _ => input.skip(number, delimit)?,
            }
        }
        let value = match (value, form) {
            (Some(value), _) => value,
            // A zero need not be sent.
            (None, Form::Text | Form::Bytes) => Value::from(""),
            (None, Form::Bool) => Value::from(false),
            (None, Form::Int32 | Form::Int64 | Form::Double) => Value::from(0),
            (None, form) => self.read_value(form, &mut Input::new(&[0]), Delimit::Length, depth)?,
        };
        Ok((key, value))
    }

    fn read_value(
        &self,
        form: Form,
        input: &mut Input<'_>,
        delimit: Delimit,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        match form {
            Form::Bool => Ok(Value::from(varint_of(input, delimit)? != 0)),
            // Negative numbers are sent as 64 bits, of which the lower ones count.
            Form::Int32 => Ok(Value::from(varint_of(input, delimit)? as i32)),
            Form::Int64 => Ok(Value::from(varint_of(input, delimit)? as i64)),
            Form::Double if delimit == Delimit::Fixed64 => {
                let number = f64::from_bits(input.fixed64()?);
                Ok(double(number))
            }
            Form::Double => Err(Problem::Type.into()),
            _ => {
                let bytes = length_of(input, delimit)?;
                self.read_delimited(form, bytes, depth + 1)
            }
        }
    }

    fn read_delimited(&self, form: Form, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
        if depth > DEEPEST {
            return Err(Problem::Depth.into());
        }
        let message = |id: MessageId, bytes: &[u8]| {
            let mut map = Map::new();
            self.read_message(id, bytes, depth, &mut map)?;
            Ok::<_, DecodeError>(Value::Object(map))
        };
        Ok(match form {
            Form::Text => Value::from(text(bytes)?),
            Form::Bytes => Value::from(base64::encode(bytes)),
            Form::Message(id) => message(id, bytes)?,
            Form::Time => time(bytes, |seconds, _| {
                let time = Time::from_unix_seconds(seconds);
                (time.unix_seconds() == seconds).then(|| time.to_string())
            })?,
            Form::MicroTime => time(bytes, |seconds, nanos| {
                let micros = seconds.checked_mul(1_000_000)?;
                let micros = micros.checked_add(i64::from(nanos) / 1_000)?;
                let time = MicroTime::from_unix_micros(micros);
                (time.unix_micros() == micros).then(|| time.to_string())
            })?,
            Form::Quantity => match fields(bytes)?.bytes(1) {
                Some(bytes) if !bytes.is_empty() => Value::from(text(bytes)?),
                _ => Value::from("0"),
            },
            Form::IntOrString => {
                let fields = fields(bytes)?;
                match fields.number(1) {
                    Some(1) => Value::from(text(fields.bytes(3).unwrap_or_default())?),
                    _ => Value::from(fields.number(2).unwrap_or_default() as i32),
                }
            }
            Form::Json => match fields(bytes)?.bytes(1) {
                None => Value::Null,
                Some(raw) if raw.starts_with(MAGIC) => self.decode_as(raw, None, depth)?,
                Some(raw) => {
                    let value = json(raw)?;
                    if depth + levels(&value) > DEEPEST {
                        return Err(Problem::Depth.into());
                    }
                    value
                }
            },
            Form::Texts => {
                let items = fields(bytes)?;
                let items = items.all(1).map(|item| Ok(Value::from(text(item)?)));
                Value::Array(items.collect::<Result<_, Problem>>()?)
            }
            Form::MessageOrList(id) => {
                let fields = fields(bytes)?;
                match fields.bytes(1) {
                    Some(bytes) => message(id, bytes)?,
                    None => Value::Array(
                        fields
                            .all(2)
                            .map(|item| message(id, item))
                            .collect::<Result<_, _>>()?,
                    ),
                }
            }
            Form::MessageOrBool(id) => {
                let fields = fields(bytes)?;
                match fields.bytes(2) {
                    Some(bytes) => message(id, bytes)?,
                    None => Value::from(fields.number(1).unwrap_or_default() != 0),
                }
            }
            Form::MessageOrTexts(id) => {
                let fields = fields(bytes)?;
                match fields.bytes(1) {
                    Some(bytes) => message(id, bytes)?,
                    None => {
                        let items = fields.all(2).map(|item| Ok(Value::from(text(item)?)));
                        Value::Array(items.collect::<Result<_, Problem>>()?)
                    }
                }
            }
            Form::Bool | Form::Int32 | Form::Int64 | Form::Double => {
                return Err(Problem::Type.into());
            }
        })
    }
}

impl DecodeError {
    fn within(mut self, name: &str) -> Self {
        let rest = std::mem::take(&mut self.path);
        let dot = if rest.is_empty() { "" } else { "." };
        // A path is for people: where it would be longer than a line the end of it is enough.
        if rest.len() < 512 {
            let _ = write!(self.path, "{name}{dot}");
        }
        self.path.push_str(&rest);
        self
    }
}

impl From<Problem> for DecodeError {
    fn from(problem: Problem) -> Self {
        Self {
            path: String::new(),
            problem,
        }
    }
}

/// The few fields of a message that stands for one value.
struct Few<'b> {
    numbers: [Option<u64>; 3],
    /// In the order they were sent.
    values: Vec<(u32, &'b [u8])>,
}

fn fields(bytes: &[u8]) -> Result<Few<'_>, Problem> {
    let mut few = Few {
        numbers: [None; 3],
        values: Vec::new(),
    };
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        match input.tag()? {
            (number @ 1..=3, Delimit::Varint) => {
                let value = input.varint()?;
                if let Some(place) = few.numbers.get_mut(number as usize - 1) {
                    *place = Some(value);
                }
            }
            (number @ 1..=3, Delimit::Length) => few.values.push((number, input.delimited()?)),
            (number, delimit) => input.skip(number, delimit)?,
        }
    }
    Ok(few)
}

impl<'b> Few<'b> {
    fn number(&self, number: u32) -> Option<u64> {
        *self.numbers.get(number as usize - 1)?
    }

    /// The last of that number: where a value is sent twice the later one counts.
    fn bytes(&self, number: u32) -> Option<&'b [u8]> {
        self.all(number).last()
    }

    fn all(&self, number: u32) -> impl Iterator<Item = &'b [u8]> {
        let values = self.values.iter();
        values.filter_map(move |(known, bytes)| (*known == number).then_some(*bytes))
    }
}

fn entry<'m>(map: &'m mut Map, name: &str, make: impl FnOnce() -> Value) -> &'m mut Value {
    // Looked up before it is put in: most fields that come again are there already, and a lookup needs no copy.
    if !map.contains_key(name) {
        map.insert(name.to_owned(), make());
    }
    map.get_mut(name)
        .expect("invariant: it was put in just now")
}

/// Whether a value stands for "not set".
fn is_unset(field: &Field, value: &Value) -> bool {
    match (field.form, value) {
        (_, Value::Null) => true, // A time of which nothing was sent.
        _ if field.zero == Zero::Set => false,
        (Form::Text | Form::Bytes, Value::String(text)) => text.is_empty(),
        (Form::Bool, Value::Bool(value)) => !value,
        (Form::Int32 | Form::Int64 | Form::Double | Form::IntOrString, Value::Number(number)) => {
            number.as_f64() == Some(0.0)
        }
        _ => false,
    }
}

fn length_of<'i>(input: &mut Input<'i>, delimit: Delimit) -> Result<&'i [u8], Problem> {
    match delimit {
        Delimit::Length => input.delimited(),
        _ => Err(Problem::Type),
    }
}

fn varint_of(input: &mut Input<'_>, delimit: Delimit) -> Result<u64, Problem> {
    match delimit {
        Delimit::Varint => input.varint(),
        _ => Err(Problem::Type),
    }
}

fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| Problem::Utf8)
}

/// JSON has no infinities; Go refuses to write them too. Whole numbers are written as such.
fn double(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Value::from(number as i64);
    }
    serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)
}

fn time(bytes: &[u8], shown: impl FnOnce(i64, i32) -> Option<String>) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let fields = fields(bytes)?;
    let seconds = fields.number(1).unwrap_or_default() as i64;
    let nanos = fields.number(2).unwrap_or_default() as i32;
    shown(seconds, nanos).map(Value::from).ok_or(Problem::Time)
}

fn json(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    parse_json(bytes)
        .map(|parsed| parsed.value)
        .map_err(|_| Problem::Json)
}

/// How deep lists and objects are nested. The parser has bounded it.
fn levels(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(levels).max(),
        Value::Object(fields) => fields.values().map(levels).max(),
        _ => return 0,
    };
    below.unwrap_or(0) + 1
}

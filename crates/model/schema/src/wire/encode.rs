//! From the JSON of an object to bytes, in one pass and without a tree.

use std::borrow::Cow;
use std::fmt;

use object::Value;
use object::base64;
use object::time::{MicroTime, Time};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::envelope::Envelope;
use super::number::{Delimit, close, open, put_bytes, put_number, put_tag};
use super::{Field, Form, Many, MessageId, Tables};

/// Why an object cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The kind has no message, or the object does not say what it is.
    #[error("objects of kind {kind:?} of {api_version:?} cannot be encoded in protobuf")]
    Kind {
        /// The version it says it is in.
        api_version: String,
        /// What it says it is.
        kind: String,
    },
    /// The JSON is none, or not what the kind's fields hold.
    #[error("the object does not have the shape of its kind")]
    Shape(#[from] serde_json::Error),
}

impl Tables {
    /// The body for an object given as JSON, in its envelope.
    pub fn encode(&self, json: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let mut raw = Vec::with_capacity(json.len());
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let root = Root {
            tables: self,
            out: &mut raw,
        };
        let names = match root.deserialize(&mut deserializer) {
            Ok(names) => names,
            // Kind and version came after something else: their place is for whoever wrote the object to choose.
            Err(_) => return self.encode_tree(json),
        };
        let envelope = Envelope {
            api_version: &names.0,
            kind: &names.1,
            raw: &raw,
            content_type: "",
        };
        Ok(envelope.seal())
    }

    fn encode_tree(&self, json: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let value: Value = serde_json::from_slice(json)?;
        let name = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (name("apiVersion"), name("kind"));
        let id = self.find(api_version, kind);
        let id = id.ok_or_else(|| EncodeError::Kind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })?;
        let mut raw = Vec::with_capacity(json.len());
        self.fields_of(id, &mut raw)
            .deserialize(&mut serde_json::Deserializer::from_slice(json))?;
        let envelope = Envelope {
            api_version,
            kind,
            raw: &raw,
            content_type: "",
        };
        Ok(envelope.seal())
    }

    fn fields_of<'e>(&'e self, id: MessageId, out: &'e mut Vec<u8>) -> Fields<'e> {
        Fields {
            tables: self,
            id,
            out,
        }
    }
}

/// A whole object, which says first what it is.
struct Root<'e> {
    tables: &'e Tables,
    out: &'e mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = (String, String);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = (String, String);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that begins with its kind and version")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let (mut api_version, mut kind) = (String::new(), String::new());
        for _ in 0..2 {
            match access.next_key::<Cow<'_, str>>()?.as_deref() {
                Some("apiVersion") => api_version = access.next_value()?,
                Some("kind") => kind = access.next_value()?,
                _ => return Err(A::Error::custom("kind and version do not come first")),
            }
        }
        let id = self.tables.find(&api_version, &kind);
        let id = id.ok_or_else(|| A::Error::custom("no such kind"))?;
        self.tables.fields_of(id, self.out).visit_map(access)?;
        Ok((api_version, kind))
    }
}

/// The fields of a message, appended one after the other.
struct Fields<'e> {
    tables: &'e Tables,
    id: MessageId,
    out: &'e mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let message = self.tables.message(self.id);
        let mut parts = Parts::default();
        while let Some(name) = access.next_key::<Cow<'_, str>>()? {
            let field = message.field(&name);
            let Some((field, (number, path))) =
                field.and_then(|field| Some((field, field.number.split_last()?)))
            else {
                access.next_value::<IgnoredAny>()?;
                continue;
            };
            let out = match path {
                [] => &mut *self.out,
                path => parts.within(path),
            };
            access.next_value_seed(Values {
                tables: self.tables,
                field,
                number: *number,
                out,
            })?;
        }
        parts.write(self.out);
        Ok(())
    }
}

/// What is gathered for parts that only exist when sent.
#[derive(Default)]
struct Parts {
    content: Vec<u8>,
    inner: Vec<(u32, Self)>,
}

impl Parts {
    fn within(&mut self, path: &[u32]) -> &mut Vec<u8> {
        let Some((first, rest)) = path.split_first() else {
            return &mut self.content;
        };
        let place = match self.inner.iter().position(|(number, _)| number == first) {
            Some(place) => place,
            None => {
                self.inner.push((*first, Self::default()));
                self.inner.len() - 1
            }
        };
        self.inner[place].1.within(rest)
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (number, part) in &self.inner {
            let start = open(*number, out);
            out.extend_from_slice(&part.content);
            part.write(out);
            close(start, out);
        }
    }
}

/// All values of a field.
struct Values<'e> {
    tables: &'e Tables,
    field: &'e Field,
    number: u32,
    out: &'e mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.field.many {
            Many::One => OneValue {
                tables: self.tables,
                form: self.field.form,
                number: self.number,
                out: self.out,
            }
            .deserialize(deserializer),
            Many::List | Many::Map => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.field.many {
            Many::Map => "an object",
            _ => "a list",
        })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        if self.field.many != Many::List {
            return Err(A::Error::custom("expected an object and found a list"));
        }
        loop {
            let element = OneValue {
                tables: self.tables,
                form: self.field.form,
                number: self.number,
                out: self.out,
            };
            if access.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        if self.field.many != Many::Map {
            return Err(A::Error::custom("expected a list and found an object"));
        }
        while let Some(key) = access.next_key::<Cow<'_, str>>()? {
            let start = open(self.number, self.out);
            put_bytes(1, key.as_bytes(), self.out);
            access.next_value_seed(OneValue {
                tables: self.tables,
                form: self.field.form,
                number: 2,
                out: self.out,
            })?;
            close(start, self.out);
        }
        Ok(())
    }
}

/// One value with the tag before it; nothing for `null`.
struct OneValue<'e> {
    tables: &'e Tables,
    form: Form,
    number: u32,
    out: &'e mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for OneValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.form != Form::Json {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
        if raw.get() != "null" {
            let start = open(self.number, self.out);
            put_bytes(1, raw.get().as_bytes(), self.out);
            close(start, self.out);
        }
        Ok(())
    }
}

impl OneValue<'_> {
    fn integer<E: Error>(self, value: i64) -> Result<(), E> {
        match self.form {
            Form::Int32 | Form::Int64 => {
                put_number(self.number, value as u64, self.out);
                Ok(())
            }
            Form::Double => {
                put_tag(self.number, Delimit::Fixed64, self.out);
                self.out
                    .extend_from_slice(&(value as f64).to_bits().to_le_bytes());
                Ok(())
            }
            Form::IntOrString => {
                let start = open(self.number, self.out);
                put_number(1, 0, self.out);
                put_number(2, value as u64, self.out);
                put_bytes(3, b"", self.out);
                close(start, self.out);
                Ok(())
            }
            Form::Quantity => self.text(&value.to_string()),
            _ => Err(E::custom("unexpected number")),
        }
    }

    fn text<E: Error>(self, text: &str) -> Result<(), E> {
        match self.form {
            Form::Text => put_bytes(self.number, text.as_bytes(), self.out),
            Form::Quantity => {
                let start = open(self.number, self.out);
                put_bytes(1, text.as_bytes(), self.out);
                close(start, self.out);
            }
            Form::IntOrString => {
                let start = open(self.number, self.out);
                put_number(1, 1, self.out);
                put_number(2, 0, self.out);
                put_bytes(3, text.as_bytes(), self.out);
                close(start, self.out);
            }
            Form::Bytes => {
                let start = open(self.number, self.out);
                base64::decode_into(text, self.out)
                    .ok_or_else(|| E::custom("the text is not base64"))?;
                close(start, self.out);
            }
            Form::Time => {
                let time: Time = text.parse().map_err(E::custom)?;
                self.time(time.unix_seconds(), 0);
            }
            Form::MicroTime => {
                let time: MicroTime = text.parse().map_err(E::custom)?;
                let micros = time.unix_micros();
                // Never negative and below a second: the remainder is Euclid's.
                let nanos = micros.rem_euclid(1_000_000) * 1_000;
                self.time(micros.div_euclid(1_000_000), nanos as u64);
            }
            _ => return Err(E::custom("unexpected text")),
        }
        Ok(())
    }

    fn time(self, seconds: i64, nanos: u64) {
        let start = open(self.number, self.out);
        put_number(1, seconds as u64, self.out);
        put_number(2, nanos, self.out);
        close(start, self.out);
    }
}

impl<'de> Visitor<'de> for OneValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of the form {:?}", self.form)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        match self.form {
            Form::Bool => put_number(self.number, u64::from(value), self.out),
            Form::MessageOrBool(_) => {
                let start = open(self.number, self.out);
                put_number(1, u64::from(value), self.out);
                close(start, self.out);
            }
            _ => return Err(E::custom("unexpected boolean")),
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.integer(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        match self.form {
            Form::Double => {
                put_tag(self.number, Delimit::Fixed64, self.out);
                self.out.extend_from_slice(&value.to_bits().to_le_bytes());
                Ok(())
            }
            Form::Quantity => self.text(&value.to_string()),
            _ => Err(E::custom("unexpected fraction")),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.text(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let (form, number) = match self.form {
            Form::Texts => (Form::Text, 1),
            Form::MessageOrTexts(_) => (Form::Text, 2),
            Form::MessageOrList(id) => (Form::Message(id), 2),
            _ => return Err(A::Error::custom("unexpected list")),
        };
        let start = open(self.number, self.out);
        loop {
            let element = OneValue {
                tables: self.tables,
                form,
                number,
                out: self.out,
            };
            if access.next_element_seed(element)?.is_none() {
                break;
            }
        }
        close(start, self.out);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let (id, number) = match self.form {
            Form::Message(id) => (id, None),
            Form::MessageOrList(id) | Form::MessageOrTexts(id) => (id, Some(1)),
            Form::MessageOrBool(id) => (id, Some(2)),
            _ => return Err(A::Error::custom("unexpected object")),
        };
        let outer = open(self.number, self.out);
        if matches!(self.form, Form::MessageOrBool(_)) {
            put_number(1, 1, self.out); // A schema allows something.
        }
        let inner = number.map(|number| open(number, self.out));
        self.tables.fields_of(id, self.out).visit_map(access)?;
        if let Some(inner) = inner {
            close(inner, self.out);
        }
        close(outer, self.out);
        Ok(())
    }
}

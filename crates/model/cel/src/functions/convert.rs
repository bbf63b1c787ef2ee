//! From one type to another.

use object::duration::Duration;

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::json;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (
        &[
            "int(int) int",
            "int(uint) int",
            "int(double) int",
            "int(string) int",
            "int(timestamp) int",
            "int(duration) int",
        ],
        int,
    ),
    (
        &[
            "uint(int) uint",
            "uint(uint) uint",
            "uint(double) uint",
            "uint(string) uint",
        ],
        uint,
    ),
    (
        &[
            "double(int) double",
            "double(uint) double",
            "double(double) double",
            "double(string) double",
        ],
        double,
    ),
    (
        &[
            "string(int) string",
            "string(uint) string",
            "string(double) string",
            "string(string) string",
            "string(bool) string",
            "string(bytes) string",
            "string(timestamp) string",
            "string(duration) string",
            "string(IP) string",
            "string(CIDR) string",
            "string(Semver) string",
            "string(URL) string",
        ],
        string,
    ),
    (&["bytes(string) bytes", "bytes(bytes) bytes"], bytes),
    (&["bool(bool) bool", "bool(string) bool"], bool),
    (
        &[
            "timestamp(string) timestamp",
            "timestamp(timestamp) timestamp",
            "timestamp(int) timestamp",
        ],
        to_timestamp,
    ),
    (
        &[
            "duration(string) duration",
            "duration(duration) duration",
            "duration(int) duration",
        ],
        to_duration,
    ),
    (&["dyn(A) dyn"], same),
    (&["type(A) type"], type_of),
];

fn same<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    args.first().cloned().ok_or_else(Fault::no_overload)
}

fn type_of<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let value = args.first().ok_or_else(Fault::no_overload)?;
    Ok(Value::Type(value.type_name().into()))
}

fn int<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let range = || Fault::new("range error converting to int");
    match args {
        [Value::Int(number)] => Ok(Value::Int(*number)),
        [Value::Uint(number)] => i64::try_from(*number)
            .map(Value::Int)
            .map_err(|_| Fault::new("integer overflow")),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be within range"
        )]
        [Value::Double(number)] => {
            if !(-9.223_372_036_854_775e18..9.223_372_036_854_775e18).contains(number) {
                return Err(Fault::new("integer overflow"));
            }
            Ok(Value::Int(*number as i64))
        }
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            text.parse().map(Value::Int).map_err(|_| range())
        }
        [Value::Timestamp(time)] => Ok(Value::Int(time.as_second())),
        [Value::Duration(span)] => Ok(Value::Int(*span)),
        _ => Err(Fault::no_overload()),
    }
}

fn uint<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let overflow = || Fault::new("unsigned integer overflow");
    match args {
        [Value::Int(number)] => u64::try_from(*number)
            .map(Value::Uint)
            .map_err(|_| overflow()),
        [Value::Uint(number)] => Ok(Value::Uint(*number)),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be within range"
        )]
        [Value::Double(number)] => {
            if !(0.0..1.844_674_407_370_955e19).contains(number) {
                return Err(overflow());
            }
            Ok(Value::Uint(*number as u64))
        }
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            text.parse()
                .map(Value::Uint)
                .map_err(|_| Fault::new("range error converting to uint"))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn double<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        #[expect(clippy::cast_precision_loss, reason = "that is what the conversion is")]
        [Value::Int(number)] => Ok(Value::Double(*number as f64)),
        #[expect(clippy::cast_precision_loss, reason = "that is what the conversion is")]
        [Value::Uint(number)] => Ok(Value::Double(*number as f64)),
        [Value::Double(number)] => Ok(Value::Double(*number)),
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            text.parse()
                .map(Value::Double)
                .map_err(|_| Fault::new("type conversion error from 'string' to 'double'"))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn string<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [value] = args else {
        return Err(Fault::no_overload());
    };
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Bytes(bytes) => {
            meter.pay_for_bytes(bytes.len())?;
            String::from_utf8(bytes.to_vec())
                .map(Into::into)
                .map_err(|_| Fault::new("invalid UTF-8 in bytes, cannot convert to string"))
        }
        other => text_of(other)
            .map(Into::into)
            .ok_or_else(Fault::no_overload),
    }
}

fn bytes<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        [Value::Bytes(bytes)] => Ok(Value::Bytes(bytes.clone())),
        _ => Err(Fault::no_overload()),
    }
}

fn bool<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Bool(value)] => Ok(Value::Bool(*value)),
        [Value::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(Fault::new("type conversion error from 'string' to 'bool'")),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn to_timestamp<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Timestamp(time)] => Ok(Value::Timestamp(*time)),
        [Value::Int(seconds)] => jiff::Timestamp::from_second(*seconds)
            .map(Value::Timestamp)
            .map_err(|_| Fault::new("timestamp overflow")),
        [Value::String(text)] => timestamp(text).map(Value::Timestamp).ok_or_else(|| {
            Fault::new("type conversion error from 'string' to 'google.protobuf.Timestamp'")
        }),
        _ => Err(Fault::no_overload()),
    }
}

fn to_duration<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Duration(span)] | [Value::Int(span)] => Ok(Value::Duration(*span)),
        [Value::String(text)] => duration(text).map(Value::Duration).ok_or_else(|| {
            Fault::new("type conversion error from 'string' to 'google.protobuf.Duration'")
        }),
        _ => Err(Fault::no_overload()),
    }
}

/// A point in time as RFC 3339 has it.
pub(crate) fn timestamp(text: &str) -> Option<jiff::Timestamp> {
    // The date, the letter between and the clock: jiff takes more than the standard has.
    let strict = text.len() >= 20
        && text
            .as_bytes()
            .get(10)
            .is_some_and(|c| matches!(c, b'T' | b't'))
        && !text.contains('[');
    strict.then(|| text.parse().ok()).flatten()
}

/// A span of time as Go writes it.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let span: Duration = text.parse().ok()?;
    Some(span.nanos())
}

/// The bytes of base64.
pub(crate) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    object::base64::decode(text)
}

/// What `string()` makes of values other than bytes.
pub(crate) fn text_of(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => double_text(*number),
        Value::String(text) => text.to_string(),
        Value::Timestamp(time) => json::timestamp_text(*time),
        Value::Duration(span) => seconds_text(*span),
        Value::Ip(address) => super::net::ip_text(*address),
        Value::Cidr(range) => range.to_string(),
        Value::Semver(version) => version.to_string(),
        Value::Url(url) => url.to_string(),
        Value::Quantity(quantity) => quantity.to_string(),
        Value::Type(name) => name.to_string(),
        _ => return None,
    })
}

/// The shortest text that gives the number back.
pub(crate) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = match power.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', power),
        };
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{number}")
}

/// Seconds with a fraction where there is one: `90s`, `0.5s`.
pub(crate) fn seconds_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

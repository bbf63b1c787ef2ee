//! Texts.

use super::{Outcome, Row, printf};
use crate::evaluate::{Fault, Meter};
use crate::value::{Text, Value};

pub(super) const ROWS: &[Row] = &[
    (&["string.contains(string) bool"], contains),
    (&["string.startsWith(string) bool"], starts_with),
    (&["string.endsWith(string) bool"], ends_with),
    (&["string.charAt(int) string"], char_at),
    (
        &[
            "string.indexOf(string) int",
            "string.indexOf(string, int) int",
        ],
        index_of,
    ),
    (
        &[
            "string.lastIndexOf(string) int",
            "string.lastIndexOf(string, int) int",
        ],
        last_index_of,
    ),
    (&["string.lowerAscii() string"], lower),
    (&["string.upperAscii() string"], upper),
    (
        &[
            "string.replace(string, string) string",
            "string.replace(string, string, int) string",
        ],
        replace,
    ),
    (
        &[
            "string.split(string) list(string)",
            "string.split(string, int) list(string)",
        ],
        split,
    ),
    (
        &[
            "string.substring(int) string",
            "string.substring(int, int) string",
        ],
        substring,
    ),
    (&["string.trim() string"], trim),
    (&["string.reverse() string"], reverse),
    (
        &[
            "list(string).join() string",
            "list(string).join(string) string",
        ],
        join,
    ),
    (&["string.format(list(dyn)) string"], printf::format),
    (&["strings.quote(string) string"], quote),
    (
        &[
            "size(string) int",
            "size(bytes) int",
            "size(list(A)) int",
            "size(map(A, B)) int",
            "string.size() int",
            "bytes.size() int",
            "list(A).size() int",
            "map(A, B).size() int",
        ],
        size,
    ),
];

/// The target and one text beside it.
fn two<'v>(args: &'v [Value<'_>]) -> Result<(&'v str, &'v str), Fault> {
    match args {
        [Value::String(text), Value::String(other)] => Ok((text, other)),
        _ => Err(Fault::no_overload()),
    }
}

fn one<'v>(meter: &mut Meter, args: &'v [Value<'_>]) -> Result<&'v str, Fault> {
    match args {
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            Ok(text)
        }
        _ => Err(Fault::no_overload()),
    }
}

fn size<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            Ok(Value::size(text.chars().count()))
        }
        [Value::Bytes(bytes)] => Ok(Value::size(bytes.len())),
        [Value::List(list)] => Ok(Value::size(list.len())),
        [Value::Map(map)] => Ok(Value::size(map.len())),
        _ => Err(Fault::no_overload()),
    }
}

fn contains<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, other) = two(args)?;
    meter.pay_for_bytes(text.len().saturating_add(other.len()))?;
    Ok(Value::Bool(text.contains(other)))
}

fn starts_with<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, other) = two(args)?;
    meter.pay_for_bytes(other.len())?;
    Ok(Value::Bool(text.starts_with(other)))
}

fn ends_with<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, other) = two(args)?;
    meter.pay_for_bytes(other.len())?;
    Ok(Value::Bool(text.ends_with(other)))
}

fn out_of_range(place: i64) -> Fault {
    Fault::new(format!("index out of range: {place}"))
}

fn place_of(place: i64, length: usize) -> Result<usize, Fault> {
    usize::try_from(place)
        .ok()
        .filter(|place| *place <= length)
        .ok_or_else(|| out_of_range(place))
}

fn char_at<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::Int(place)] = args else {
        return Err(Fault::no_overload());
    };
    meter.pay_for_bytes(text.len())?;
    let at = place_of(*place, text.chars().count())?;
    Ok(text
        .chars()
        .nth(at)
        .map(String::from)
        .unwrap_or_default()
        .into())
}

fn characters(meter: &mut Meter, text: &str) -> Result<Vec<char>, Fault> {
    meter.pay_for_bytes(text.len())?;
    Ok(text.chars().collect())
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, wanted, from) = match args {
        [Value::String(text), Value::String(wanted)] => (text, wanted, 0),
        [Value::String(text), Value::String(wanted), Value::Int(from)] => (text, wanted, *from),
        _ => return Err(Fault::no_overload()),
    };
    let (text, wanted) = (characters(meter, text)?, characters(meter, wanted)?);
    let from = place_of(from, text.len())?;
    if wanted.is_empty() {
        return Ok(Value::size(from));
    }
    meter.pay_for_bytes(text.len().saturating_mul(wanted.len()))?;
    let found = text
        .windows(wanted.len())
        .skip(from)
        .position(|window| window == wanted);
    Ok(found.map_or(Value::Int(-1), |place| Value::size(place + from)))
}

fn last_index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, wanted, until) = match args {
        [Value::String(text), Value::String(wanted)] => (text, wanted, None),
        [
            Value::String(text),
            Value::String(wanted),
            Value::Int(until),
        ] => (text, wanted, Some(*until)),
        _ => return Err(Fault::no_overload()),
    };
    let (text, wanted) = (characters(meter, text)?, characters(meter, wanted)?);
    let until = match until {
        Some(until) => place_of(until, text.len())?,
        None => text.len(),
    };
    if wanted.is_empty() {
        return Ok(Value::size(until));
    }
    meter.pay_for_bytes(text.len().saturating_mul(wanted.len()))?;
    let found = text
        .windows(wanted.len())
        .take(until.saturating_add(1))
        .rposition(|window| window == wanted);
    Ok(found.map_or(Value::Int(-1), Value::size))
}

fn lower<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(one(meter, args)?.to_ascii_lowercase().into())
}

fn upper<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(one(meter, args)?.to_ascii_uppercase().into())
}

fn trim<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(one(meter, args)?.trim().to_owned().into())
}

fn reverse<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(one(meter, args)?.chars().rev().collect::<String>().into())
}

fn quote<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let text = one(meter, args)?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Ok(quoted.into())
}

fn replace<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, from, to, times) = match args {
        [Value::String(text), Value::String(from), Value::String(to)] => (text, from, to, -1),
        [
            Value::String(text),
            Value::String(from),
            Value::String(to),
            Value::Int(times),
        ] => (text, from, to, *times),
        _ => return Err(Fault::no_overload()),
    };
    // At most as many replacements as there are characters and one.
    let most = (text.len() + 1).saturating_mul(to.len());
    let likely = if from.is_empty() {
        most
    } else {
        most / from.len()
    };
    meter.pay_for_bytes(text.len().saturating_add(likely))?;
    let made = match usize::try_from(times) {
        Ok(times) => text.replacen(&**from, to, times),
        Err(_) => text.replace(&**from, to),
    };
    Ok(made.into())
}

fn split<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, by, most) = match args {
        [Value::String(text), Value::String(by)] => (text, by, -1),
        [Value::String(text), Value::String(by), Value::Int(most)] => (text, by, *most),
        _ => return Err(Fault::no_overload()),
    };
    meter.pay_for_bytes(text.len())?;
    let piece = |part: &str| Value::String(Text::Shared(part.into()));
    if most == 0 {
        return Ok(Vec::new().into());
    }
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let parts: Vec<Value<'a>> = if by.is_empty() {
        let mut parts = Vec::new();
        let mut rest: &str = text;
        while let Some(c) = rest.chars().next() {
            if parts.len() + 1 == limit {
                break;
            }
            parts.push(piece(&c.to_string()));
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        if !rest.is_empty() {
            parts.push(piece(rest));
        }
        parts
    } else {
        text.splitn(limit, &**by).map(piece).collect()
    };
    meter.pay_for_items(parts.len())?;
    Ok(parts.into())
}

fn substring<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, from, until) = match args {
        [Value::String(text), Value::Int(from)] => (text, *from, None),
        [Value::String(text), Value::Int(from), Value::Int(until)] => (text, *from, Some(*until)),
        _ => return Err(Fault::no_overload()),
    };
    let text = characters(meter, text)?;
    let start = place_of(from, text.len())?;
    let end = match until {
        Some(until) => place_of(until, text.len())?,
        None => text.len(),
    };
    let part = text.get(start..end).ok_or_else(|| {
        Fault::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        ))
    })?;
    Ok(part.iter().collect::<String>().into())
}

fn join<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (list, between) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(between)] => (list, &**between),
        _ => return Err(Fault::no_overload()),
    };
    let mut made = String::new();
    for (place, item) in list.iter().enumerate() {
        let Value::String(text) = &item else {
            return Err(Fault::no_overload());
        };
        meter.pay(1)?;
        meter.pay_for_bytes(text.len().saturating_add(between.len()))?;
        if place > 0 {
            made.push_str(between);
        }
        made.push_str(text);
    }
    Ok(made.into())
}

//! Addresses of the web, absolute or beginning with a slash.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::{Key, Map, Text, Value};

pub(super) const ROWS: &[Row] = &[
    (&["url(string) URL"], url),
    (&["isURL(string) bool"], is_url),
    (&["URL.getScheme() string"], scheme),
    (&["URL.getHost() string"], host),
    (&["URL.getHostname() string"], hostname),
    (&["URL.getPort() string"], port),
    (&["URL.getEscapedPath() string"], path),
    (&["URL.getQuery() map(string,list(string))"], query),
];

/// An address taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Url {
    fn parse(text: &str) -> Option<Self> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return None;
        }
        let without_fragment = text.split_once('#').map_or(text, |(before, _)| before);
        let (before, query) = match without_fragment.split_once('?') {
            Some((before, query)) => (before, query),
            None => (without_fragment, ""),
        };
        let (scheme, rest) = match before.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, Some(rest)),
            _ if before.starts_with('/') => ("", None),
            _ => return None,
        };
        let (host, path) = match rest {
            None => ("", before),
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (rest.get(..end)?, rest.get(end..)?)
            }
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        (is_host(host) && is_escaped(path)).then(|| Self {
            text: text.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }

    /// The host without its port, and the port.
    fn place(&self) -> (&str, &str) {
        if let Some(rest) = self.host.strip_prefix('[') {
            return match rest.split_once(']') {
                Some((name, port)) => (name, port.strip_prefix(':').unwrap_or_default()),
                None => (rest, ""),
            };
        }
        self.host.rsplit_once(':').unwrap_or((&self.host, ""))
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => match text.find(':') {
            Some(place) => text.split_at(place),
            None => (text, ""),
        },
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    port.bytes().all(|byte| byte.is_ascii_digit())
        && !name.bytes().any(|byte| {
            matches!(
                byte,
                b' ' | b'<' | b'>' | b'"' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
            )
        })
        && is_escaped(name)
}

/// Whether every percent sign stands before two digits.
fn is_escaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(place, byte)| {
        *byte != b'%'
            || bytes
                .get(place + 1..place + 3)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// A part of a query as it was meant.
fn decoded(text: &str) -> Option<String> {
    let mut made = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => made.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                made.push(u8::try_from(high * 16 + low).ok()?);
            }
            other => made.push(other),
        }
    }
    String::from_utf8(made).ok()
}

fn parsed<'v>(meter: &mut Meter, args: &'v [Value<'_>]) -> Result<(&'v str, Option<Url>), Fault> {
    match args {
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            Ok((text, Url::parse(text)))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn url<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match parsed(meter, args)? {
        (_, Some(url)) => Ok(Value::Url(Arc::new(url))),
        (text, None) => Err(Fault::new(format!(
            "URL parse error during conversion from string: parse {text:?}: invalid URI for request"
        ))),
    }
}

fn is_url<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parsed(meter, args)?.1.is_some()))
}

fn target<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, Fault> {
    match args {
        [Value::Url(url)] => Ok(url),
        _ => Err(Fault::no_overload()),
    }
}

fn scheme<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(target(args)?.scheme.clone().into())
}

fn host<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(target(args)?.host.clone().into())
}

fn hostname<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(target(args)?.place().0.to_owned().into())
}

fn port<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(target(args)?.place().1.to_owned().into())
}

fn path<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(target(args)?.path.clone().into())
}

fn query<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let url = target(args)?;
    meter.pay_for_bytes(url.query.len())?;
    let mut found: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
    for part in url.query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if let (Some(name), Some(value)) = (decoded(name), decoded(value)) {
            found.entry(name).or_default().push(value.into());
        }
    }
    let entries = found
        .into_iter()
        .map(|(name, values)| (Key::String(Text::Shared(name.into())), values.into()));
    Ok(Value::Map(Map::Made(Arc::new(entries.collect()))))
}

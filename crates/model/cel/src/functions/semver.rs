//! Version numbers: three numbers, what comes before a release, and what a build says of itself.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (
        &["semver(string) Semver", "semver(string, bool) Semver"],
        semver,
    ),
    (
        &["isSemver(string) bool", "isSemver(string, bool) bool"],
        is_semver,
    ),
    (&["Semver.major() int"], major),
    (&["Semver.minor() int"], minor),
    (&["Semver.patch() int"], patch),
    (&["Semver.compareTo(Semver) int"], compare_to),
    (&["Semver.isGreaterThan(Semver) bool"], is_greater),
    (&["Semver.isLessThan(Semver) bool"], is_less),
];

/// A version number.
#[derive(Clone, Debug)]
pub struct Semver {
    numbers: [u64; 3],
    before: Vec<Part>,
    build: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Semver {
    fn parse(text: &str, lenient: bool) -> Option<Self> {
        let text = if lenient {
            text.trim().trim_start_matches('v')
        } else {
            text
        };
        let (text, build) = text.split_once('+').unwrap_or((text, ""));
        let (core, before) = match text.split_once('-') {
            Some((core, before)) => (core, Some(before)),
            None => (text, None),
        };
        let mut parts: Vec<String> = core.split('.').map(str::to_owned).collect();
        if lenient {
            for part in &mut parts {
                let shorter = part.trim_start_matches('0');
                let shorter = if shorter.is_empty() && !part.is_empty() {
                    "0"
                } else {
                    shorter
                };
                *part = shorter.to_owned();
            }
            while parts.len() < 3 {
                parts.push("0".to_owned());
            }
        }
        let [major, minor, patch] = parts.as_slice() else {
            return None;
        };
        let before = match before {
            Some(before) => before.split('.').map(part).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let named = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if !build.is_empty() && !build.split('.').all(named) {
            return None;
        }
        Some(Self {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            before,
            build: build.to_owned(),
        })
    }
}

fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

fn part(text: &str) -> Option<Part> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Part::Number);
    }
    let named = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    named.then(|| Part::Word(text.to_owned()))
}

impl Ord for Semver {
    /// Builds do not count; a version before a release comes before it.
    fn cmp(&self, other: &Self) -> Ordering {
        let before = match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.before.cmp(&other.before),
        };
        self.numbers.cmp(&other.numbers).then(before)
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Semver {}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (place, part) in self.before.iter().enumerate() {
            f.write_str(if place == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Word(word) => f.write_str(word)?,
            }
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

fn parsed(args: &[Value<'_>]) -> Result<Option<Semver>, Fault> {
    match args {
        [Value::String(text)] => Ok(Semver::parse(text, false)),
        [Value::String(text), Value::Bool(lenient)] => Ok(Semver::parse(text, *lenient)),
        _ => Err(Fault::no_overload()),
    }
}

fn semver<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let Some(Value::String(text)) = args.first() {
        meter.pay_for_bytes(text.len())?;
    }
    match parsed(args)? {
        Some(version) => Ok(Value::Semver(Arc::new(version))),
        None => Err(Fault::new("invalid semantic version")),
    }
}

fn is_semver<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    if let Some(Value::String(text)) = args.first() {
        meter.pay_for_bytes(text.len())?;
    }
    Ok(Value::Bool(parsed(args)?.is_some()))
}

fn component<'a>(args: &[Value<'a>], place: usize) -> Outcome<'a> {
    match args {
        [Value::Semver(version)] => {
            let number = version.numbers.get(place).copied().unwrap_or_default();
            Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn major<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    component(args, 0)
}

fn minor<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    component(args, 1)
}

fn patch<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    component(args, 2)
}

fn order(args: &[Value<'_>]) -> Result<Ordering, Fault> {
    match args {
        [Value::Semver(a), Value::Semver(b)] => Ok(a.cmp(b)),
        _ => Err(Fault::no_overload()),
    }
}

fn compare_to<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn is_greater<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn is_less<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}

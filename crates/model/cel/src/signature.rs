//! Signatures as text: `string.contains(string) bool`, `sets.contains(list(A), list(A)) bool`.

use std::sync::Arc;

use crate::ty::{Opaque, Type};

/// What a function takes and gives.
#[derive(Debug)]
pub(crate) struct Signature {
    /// Whether it is called on a target, which is then the first parameter.
    pub member: bool,
    pub parameters: Vec<Type>,
    pub result: Type,
}

/// The placeholders a signature may have.
pub(crate) const PARAMS: usize = 3;

/// Reads a signature. A target is written as a type before a dot; a word that is no type belongs to the name.
pub(crate) fn read(text: &'static str) -> Option<(&'static str, Signature)> {
    let (head, result) = text.rsplit_once(' ')?;
    // `map(string, int)` as a result has a blank of its own; no function gives such a map.
    let open = opening(head)?;
    let (called, rest) = (head.get(..open)?, head.get(open + 1..)?);
    let arguments = rest.strip_suffix(')')?;
    let mut parameters = Vec::new();
    let (target, name) = match called.rsplit_once('.') {
        Some((target, name)) if ty(target).is_some() => (ty(target), name),
        _ => (None, called),
    };
    let member = target.is_some();
    parameters.extend(target);
    for part in split(arguments) {
        parameters.push(ty(part)?);
    }
    let signature = Signature {
        member,
        parameters,
        result: ty(result)?,
    };
    Some((name, signature))
}

/// The bracket that opens the arguments: the partner of the last one.
fn opening(head: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (place, c) in head.char_indices().rev() {
        match c {
            ')' => open += 1,
            '(' => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parts between commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (place, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(text.get(start..place));
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

fn ty(text: &str) -> Option<Type> {
    if let Some(inside) = text.strip_suffix(')') {
        let (outer, inside) = inside.split_once('(')?;
        let mut parts = split(inside).into_iter().map(ty);
        let first = Arc::new(parts.next()??);
        return match outer {
            "list" => Some(Type::List(first)),
            "optional" => Some(Type::Optional(first)),
            "map" => Some(Type::Map(first, Arc::new(parts.next()??))),
            _ => None,
        };
    }
    Some(match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type,
        "A" => Type::Param(0),
        "B" => Type::Param(1),
        "C" => Type::Param(2),
        "Quantity" => Type::Opaque(Opaque::Quantity),
        "URL" => Type::Opaque(Opaque::Url),
        "IP" => Type::Opaque(Opaque::Ip),
        "CIDR" => Type::Opaque(Opaque::Cidr),
        "Semver" => Type::Opaque(Opaque::Semver),
        "Format" => Type::Opaque(Opaque::Format),
        "Authorizer" => Type::Opaque(Opaque::Authorizer),
        "PathCheck" => Type::Opaque(Opaque::PathCheck),
        "GroupCheck" => Type::Opaque(Opaque::GroupCheck),
        "ResourceCheck" => Type::Opaque(Opaque::ResourceCheck),
        "Decision" => Type::Opaque(Opaque::Decision),
        _ => return None,
    })
}

/// Whether `actual` may stand where `formal` is wanted; placeholders are filled on the way.
pub(crate) fn admits(formal: &Type, actual: &Type, bound: &mut [Option<Type>; PARAMS]) -> bool {
    match (formal, actual) {
        (Type::Param(place), actual) => match bound.get_mut(usize::from(*place)) {
            Some(Some(known)) if known.is_dyn() => {
                *known = actual.clone();
                true
            }
            Some(Some(known)) => known.agrees_with(actual),
            Some(free) => {
                *free = Some(actual.clone());
                true
            }
            None => false,
        },
        (_, actual) if actual.is_dyn() => true,
        (Type::List(formal), Type::List(actual))
        | (Type::Optional(formal), Type::Optional(actual)) => admits(formal, actual, bound),
        (Type::Map(a, b), Type::Map(c, d)) => admits(a, c, bound) && admits(b, d, bound),
        (formal, actual) => formal.agrees_with(actual),
    }
}

/// A type with its placeholders filled; what nothing was said about may be anything.
pub(crate) fn filled(ty: &Type, bound: &[Option<Type>; PARAMS]) -> Type {
    match ty {
        Type::Param(place) => bound
            .get(usize::from(*place))
            .cloned()
            .flatten()
            .unwrap_or(Type::Dyn),
        Type::List(items) => Type::list(filled(items, bound)),
        Type::Optional(inner) => Type::optional(filled(inner, bound)),
        Type::Map(keys, values) => Type::Map(
            Arc::new(filled(keys, bound)),
            Arc::new(filled(values, bound)),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_can_be_read() {
        for form in crate::functions::all_forms() {
            assert!(read(form).is_some(), "{form}");
        }
    }

    #[test]
    fn targets_are_types_and_names_may_have_dots() {
        let (name, signature) = read("list(A).indexOf(A) int").unwrap();
        assert_eq!((name, signature.member), ("indexOf", true));
        assert_eq!(signature.parameters.len(), 2);
        let (name, signature) = read("sets.contains(list(A), list(A)) bool").unwrap();
        assert_eq!((name, signature.member), ("sets.contains", false));
    }
}

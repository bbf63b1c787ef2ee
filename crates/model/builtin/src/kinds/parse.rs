//! Reading the text of [`super::Kind`]s.

use super::{ALL_VERBS, Dependents, Generation, Kind, KindRef, NameRule, Selector, Subresource};
use crate::columns::Column;

/// Why a text is not a list of kinds.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// The group, version and package the following kinds belong to.
#[derive(Clone, Copy, Default)]
struct Home<'a> {
    group: &'a str,
    version: &'a str,
    package: &'a str,
}

/// Reads a list of kinds.
///
/// # Errors
/// When a line has not the form described in [`crate::kinds`].
pub fn parse(text: &str) -> Result<Vec<Kind<'_>>, ParseError> {
    let mut home = Home::default();
    let mut kinds = Vec::new();
    for (index, line) in text.lines().enumerate() {
        read_line(&mut home, &mut kinds, line).map_err(|problem| ParseError {
            line: index + 1,
            problem,
        })?;
    }
    Ok(kinds)
}

fn read_line<'a>(
    home: &mut Home<'a>,
    kinds: &mut Vec<Kind<'a>>,
    line: &'a str,
) -> Result<(), String> {
    if line.trim().is_empty() || line.starts_with('#') {
        return Ok(());
    }
    if let Some(group) = line.strip_prefix("group ") {
        (home.group, home.version) = group_version(group);
        return Ok(());
    }
    if let Some(package) = line.strip_prefix("package ") {
        home.package = package;
        return Ok(());
    }
    let Some(mark) = line.strip_prefix("  ") else {
        kinds.push(read_kind(line, *home)?);
        return Ok(());
    };
    let kind = kinds.last_mut().ok_or("a kind must come first")?;
    if let Some(column) = mark.strip_prefix("| ") {
        kind.columns.push(Column::parse(column)?);
        return Ok(());
    }
    read_mark(kind, mark)
}

fn read_kind<'a>(line: &'a str, home: Home<'a>) -> Result<Kind<'a>, String> {
    let mut words = line.split(' ');
    let (Some(kind), Some(plural)) = (words.next(), words.next()) else {
        return Err("expected `Kind plural short…`".to_owned());
    };
    let Home {
        group,
        version,
        package,
    } = home;
    Ok(Kind {
        group,
        version,
        kind,
        package,
        plural,
        short_names: words.collect(),
        categories: Vec::new(),
        namespaced: true,
        verbs: ALL_VERBS.to_vec(),
        names: NameRule::Subdomain,
        generation: None,
        dependents: Dependents::Background,
        graceful: false,
        stored: None,
        selectors: Vec::new(),
        subresources: Vec::new(),
        columns: Vec::new(),
    })
}

fn read_mark<'a>(kind: &mut Kind<'a>, mark: &'a str) -> Result<(), String> {
    let (word, rest) = mark.split_once(' ').unwrap_or((mark, ""));
    match word {
        "cluster" => kind.namespaced = false,
        "graceful" => kind.graceful = true,
        "in" => kind.categories = rest.split(' ').collect(),
        "verbs" => kind.verbs = rest.split(' ').collect(),
        "names" => kind.names = name_rule(rest)?,
        "generation" => kind.generation = Some(generation(rest)?),
        "delete" => kind.dependents = dependents(rest)?,
        "stored" => kind.stored = Some(kind_ref(rest)?),
        "select" => kind.selectors = rest.split(' ').map(selector).collect::<Result<_, _>>()?,
        "sub" => kind.subresources.push(subresource(rest)?),
        _ => return Err(format!("unknown mark {word}")),
    }
    Ok(())
}

fn name_rule(name: &str) -> Result<NameRule, String> {
    Ok(match name {
        "label" => NameRule::Label,
        "dns1035" => NameRule::Dns1035,
        "path-segment" => NameRule::PathSegment,
        "ip-address" => NameRule::IpAddress,
        "any" => NameRule::Any,
        _ => return Err(format!("unknown rule {name} for names")),
    })
}

fn generation(rest: &str) -> Result<Generation<'_>, String> {
    let mut generation = Generation::default();
    for word in rest.split(' ') {
        match word.strip_prefix('+') {
            None if word == "once" => {}
            None => generation.fields.push(word),
            Some("labels") => generation.labels = true,
            Some("annotations") => generation.annotations = true,
            Some("later") => generation.later = true,
            Some(other) => return Err(format!("unknown mark +{other} of a generation")),
        }
    }
    Ok(generation)
}

fn dependents(name: &str) -> Result<Dependents, String> {
    Ok(match name {
        "orphan" => Dependents::Orphan,
        "unsupported" => Dependents::Unsupported,
        _ => return Err(format!("unknown policy {name} for dependents")),
    })
}

fn selector(text: &str) -> Result<Selector<'_>, String> {
    let (text, ty) = text.split_once(':').unwrap_or((text, "string"));
    let (label, path) = text.split_once('=').unwrap_or((text, text));
    let absent = match ty {
        "string" => "",
        "int" => "0",
        "bool" => "false",
        _ => return Err(format!("unknown type {ty} of selector {label}")),
    };
    Ok(Selector {
        label,
        path,
        absent,
    })
}

fn subresource(rest: &str) -> Result<Subresource<'_>, String> {
    let (head, kind) = match rest.split_once(" : ") {
        Some((head, kind)) => (head, Some(kind_ref(kind)?)),
        None => (rest, None),
    };
    let mut words = head.split(' ');
    let name = words.next().unwrap_or_default();
    let mut verbs: Vec<&str> = words.collect();
    if verbs.is_empty() {
        verbs = vec!["get", "patch", "update"];
    }
    Ok(Subresource { name, verbs, kind })
}

fn kind_ref(text: &str) -> Result<KindRef<'_>, String> {
    let (version, kind) = text
        .split_once(' ')
        .ok_or("expected `group/version Kind`")?;
    let (group, version) = group_version(version);
    Ok(KindRef {
        group,
        version,
        kind,
    })
}

fn group_version(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or(("", text))
}

//! Reading the text of [`super::File`].

use std::borrow::Cow;

use object::Value;

use super::{
    Assigned, Body, Field, File, Merge, Package, Patch, Published, Scalar, TypeDef, TypeExpr, Union,
};

/// Why a text is not a file of types.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads a file of types.
///
/// # Errors
/// When a line has not the form described in [`crate::types`].
pub fn parse(text: &str) -> Result<File<'_>, ParseError> {
    let mut file = File {
        title: "",
        packages: Vec::new(),
    };
    for (index, line) in text.lines().enumerate() {
        read_line(&mut file, line).map_err(|problem| ParseError {
            line: index + 1,
            problem,
        })?;
    }
    Ok(file)
}

fn read_line<'a>(file: &mut File<'a>, line: &'a str) -> Result<(), String> {
    if line.trim().is_empty() {
        return Ok(());
    }
    if let Some(title) = line.strip_prefix("# ") {
        file.title = title;
        return Ok(());
    }
    if let Some(name) = line.strip_prefix("package ") {
        file.packages.push(Package {
            name,
            uses: Vec::new(),
            types: Vec::new(),
        });
        return Ok(());
    }
    let package = file
        .packages
        .last_mut()
        .ok_or("a package line must come first")?;
    if let Some(alias) = line.strip_prefix("use ") {
        package.uses.push(
            alias
                .split_once(" = ")
                .ok_or("expected `use alias = package`")?,
        );
        return Ok(());
    }
    if let Some(field) = line.strip_prefix("  ") {
        let field = read_field(field, package)?;
        let Some(TypeDef {
            body: Body::Fields(fields),
            ..
        }) = package.types.last_mut()
        else {
            return Err("a field needs a type with fields above it".to_owned());
        };
        if fields
            .last()
            .is_some_and(|before| before.name >= field.name)
        {
            return Err(format!("field {} is out of order", field.name));
        }
        fields.push(field);
        return Ok(());
    }
    package.types.push(read_type(line)?);
    Ok(())
}

fn read_type(line: &str) -> Result<TypeDef<'_>, String> {
    let (head, doc) = split_doc(line);
    let (name, mut rest) = head.split_once(' ').unwrap_or((head, ""));
    let mut def = TypeDef {
        name: Cow::Borrowed(name),
        doc: doc.map(Cow::Borrowed),
        body: Body::Fields(Vec::new()),
        object: false,
        list: false,
        atomic: false,
        union: None,
    };
    while !rest.is_empty() {
        let (word, args, after) = next_word(rest)?;
        rest = after;
        match (word, args) {
            ("object", None) => def.object = true,
            ("list", None) => def.list = true,
            ("atomic", None) => def.atomic = true,
            ("union", Some(args)) => def.union = Some(read_union(args)?),
            ("=", None) => {
                let (scalar, _, after) = next_word(rest)?;
                rest = after;
                def.body = Body::Value(
                    Scalar::named(scalar).ok_or_else(|| format!("unknown value type {scalar}"))?,
                );
            }
            _ => return Err(format!("unknown mark {word} on a type")),
        }
    }
    Ok(def)
}

fn read_union(args: &str) -> Result<Union<'_>, String> {
    let (discriminator, members) = args
        .split_once(": ")
        .ok_or("expected `union(field: member=Value)`")?;
    let members = members
        .split(", ")
        .map(|member| {
            member
                .split_once('=')
                .ok_or_else(|| format!("union member {member} names no value"))
        })
        .collect::<Result<_, _>>()?;
    Ok(Union {
        discriminator,
        members,
    })
}

fn read_field<'a>(line: &'a str, package: &Package<'a>) -> Result<Field<'a>, String> {
    let (name, rest) = line.split_once(' ').ok_or("a field needs a type")?;
    let (name, number) = match name.split_once(':') {
        Some((name, number)) => (name, read_number(number)?),
        None => (name, Vec::new()),
    };
    let (name, required) = name
        .strip_suffix('*')
        .map_or((name, false), |name| (name, true));
    let (ty, rest) = read_type_expr(rest.trim_start(), package)?;
    let (keeps_zero, mut rest) = rest
        .strip_prefix('?')
        .map_or((false, rest), |rest| (true, rest));
    let mut field = Field {
        name,
        required,
        number,
        ty,
        keeps_zero,
        published: Published::Implied,
        assigned: None,
        shown: false,
        merge: Merge::Unstated,
        patch: None,
        doc: None,
    };
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(field);
        }
        if let Some(doc) = rest.strip_prefix("# ") {
            field.doc = Some(doc);
            return Ok(field);
        }
        rest = read_mark(&mut field, rest)?;
    }
}

fn read_number(text: &str) -> Result<Vec<u32>, String> {
    let number = |part: &str| part.parse().ok().filter(|number| *number > 0);
    text.split('.')
        .map(number)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("field number {text}"))
}

/// Reads one mark behind a field's type and returns what follows.
fn read_mark<'a>(field: &mut Field<'a>, rest: &'a str) -> Result<&'a str, String> {
    if let Some(after) = rest.strip_prefix("= none") {
        field.published = Published::None;
        return Ok(after);
    }
    if let Some(after) = rest.strip_prefix("= ") {
        let (value, after) = read_json(after)?;
        field.published = Published::Value(value);
        return Ok(after);
    }
    for (mark, zero_is_absent) in [(":= ", false), ("?= ", true)] {
        if let Some(after) = rest.strip_prefix(mark) {
            let (value, after) = read_json(after)?;
            let (condition, after) = read_condition(after)?;
            field.assigned = Some(Assigned {
                value,
                zero_is_absent,
                condition,
            });
            return Ok(after);
        }
    }
    let (word, args, after) = next_word(rest)?;
    let patch = || field.patch.clone().unwrap_or_default();
    match (word, args) {
        ("shown", None) => field.shown = true,
        ("atomic", None) => field.merge = Merge::Atomic,
        ("granular", None) => field.merge = Merge::Granular,
        ("set", None) => field.merge = Merge::Set,
        ("by", Some(args)) => field.merge = Merge::By(args.split(", ").collect()),
        ("merge", key) => {
            // Without a key of its own a list merges by its first key, and a list of plain values by none.
            let first = match &field.merge {
                Merge::By(keys) => keys.first().copied(),
                _ => None,
            };
            field.patch = Some(Patch {
                merge: true,
                key: key.or(first),
                ..patch()
            });
        }
        ("replace", None) => {
            field.patch = Some(Patch {
                replace: true,
                ..patch()
            })
        }
        ("retainKeys", None) => {
            field.patch = Some(Patch {
                retain_keys: true,
                ..patch()
            })
        }
        _ => return Err(format!("unknown mark {word} on field {}", field.name)),
    }
    Ok(after)
}

/// A sibling field and the values it must have.
type Condition<'a> = Option<(&'a str, Vec<&'a str>)>;

fn read_condition(rest: &str) -> Result<(Condition<'_>, &str), String> {
    let Some(condition) = rest.strip_prefix(" if ") else {
        return Ok((None, rest));
    };
    let (field, after) = condition
        .split_once(" = ")
        .ok_or("expected `if field = Value`")?;
    let (values, after) = after.split_once(' ').unwrap_or((after, ""));
    Ok((Some((field, values.split('|').collect())), after))
}

fn read_json(rest: &str) -> Result<(Value, &str), String> {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let value = values
        .next()
        .ok_or("a value is missing")?
        .map_err(|error| error.to_string())?;
    let end = values.byte_offset();
    Ok((value, rest.get(end..).unwrap_or("")))
}

fn read_type_expr<'a>(
    text: &'a str,
    package: &Package<'a>,
) -> Result<(TypeExpr<'a>, &'a str), String> {
    type Wrap<'a> = fn(Box<TypeExpr<'a>>) -> TypeExpr<'a>;
    let brackets: [(char, char, Wrap<'a>); 2] =
        [('[', ']', TypeExpr::List), ('{', '}', TypeExpr::Map)];
    for (open, close, wrap) in brackets {
        if let Some(inner) = text.strip_prefix(open) {
            let (inner, rest) = read_type_expr(inner, package)?;
            let rest = rest
                .strip_prefix(close)
                .ok_or_else(|| format!("expected {close}"))?;
            return Ok((wrap(Box::new(inner)), rest));
        }
    }
    let end = text.find([' ', '(', ']', '}', '?']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if let Some(choices) = rest.strip_prefix('(') {
        if name != "string" {
            return Err(format!("choices of {name}"));
        }
        let (choices, rest) = choices.split_once(')').ok_or("expected )")?;
        return Ok((TypeExpr::Choice(choices.split('|').collect()), rest));
    }
    if let Some(scalar) = Scalar::named(name) {
        return Ok((TypeExpr::Scalar(scalar), rest));
    }
    let Some((alias, name)) = name.split_once('.') else {
        return Ok((
            TypeExpr::Named {
                package: package.name,
                name,
            },
            rest,
        ));
    };
    let (_, package) = package
        .uses
        .iter()
        .find(|(known, _)| *known == alias)
        .ok_or_else(|| format!("unknown alias {alias}"))?;
    Ok((TypeExpr::Named { package, name }, rest))
}

/// The next word, its arguments in parentheses, and what follows.
fn next_word(rest: &str) -> Result<(&str, Option<&str>, &str), String> {
    let rest = rest.trim_start();
    let end = rest.find([' ', '(']).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let Some(args) = after.strip_prefix('(') else {
        return Ok((word, None, after.trim_start()));
    };
    let (args, after) = args.split_once(')').ok_or("expected )")?;
    Ok((word, Some(args), after.trim_start()))
}

fn split_doc(line: &str) -> (&str, Option<&str>) {
    match line.split_once(" # ") {
        Some((head, doc)) => (head, Some(doc)),
        None => (line, None),
    }
}

//! Writing the text of [`super::File`], so that a changed file can be brought into its usual form.

use std::fmt::{self, Display, Write};

use super::{Body, Field, File, Merge, Package, Published, TypeDef, TypeExpr};

/// Documentation of a type's fields starts in one column, unless that would be further right than this.
const WIDEST_COLUMN: usize = 44;

impl Display for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.title)?;
        for (index, package) in self.packages.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            writeln!(f, "package {}", package.name)?;
            for (alias, name) in &package.uses {
                writeln!(f, "use {alias} = {name}")?;
            }
            for def in &package.types {
                writeln!(f)?;
                write_type(f, def, package)?;
            }
        }
        Ok(())
    }
}

fn write_type(f: &mut impl Write, def: &TypeDef<'_>, package: &Package<'_>) -> fmt::Result {
    write!(f, "{}", def.name)?;
    for (mark, set) in [(" object", def.object), (" list", def.list)] {
        f.write_str(if set { mark } else { "" })?;
    }
    if let Body::Value(scalar) = &def.body {
        write!(f, " = {}", scalar.name())?;
    }
    if def.atomic {
        f.write_str(" atomic")?;
    }
    if let Some(union) = &def.union {
        let members: Vec<String> = union
            .members
            .iter()
            .map(|(field, value)| format!("{field}={value}"))
            .collect();
        write!(f, " union({}: {})", union.discriminator, members.join(", "))?;
    }
    if let Some(doc) = &def.doc {
        write!(f, " # {doc}")?;
    }
    writeln!(f)?;
    let Body::Fields(fields) = &def.body else {
        return Ok(());
    };
    let rows: Vec<(String, String, Option<&str>)> = fields
        .iter()
        .map(|field| {
            let mark = if field.required { "*" } else { "" };
            let number: Vec<String> = field.number.iter().map(ToString::to_string).collect();
            let colon = if number.is_empty() { "" } else { ":" };
            (
                format!("{}{mark}{colon}{}", field.name, number.join(".")),
                describe(field, package),
                field.doc,
            )
        })
        .collect();
    let name_width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let documented = rows.iter().filter(|(.., doc)| doc.is_some());
    let type_width = documented
        .map(|(_, ty, _)| ty.len())
        .max()
        .unwrap_or(0)
        .min(WIDEST_COLUMN);
    for (name, ty, doc) in &rows {
        match doc {
            Some(doc) => writeln!(f, "  {name:name_width$}  {ty:type_width$}  # {doc}")?,
            None => writeln!(f, "  {name:name_width$}  {ty}")?,
        }
    }
    Ok(())
}

/// A field's type and marks.
fn describe(field: &Field<'_>, package: &Package<'_>) -> String {
    let mark = if field.keeps_zero { "?" } else { "" };
    let mut parts = vec![format!("{}{mark}", expression(&field.ty, package))];
    match &field.published {
        Published::Implied => {}
        Published::None => parts.push("= none".to_owned()),
        Published::Value(value) => parts.push(format!("= {value}")),
    }
    if field.shown {
        parts.push("shown".to_owned());
    }
    match &field.merge {
        Merge::Unstated => {}
        Merge::Atomic => parts.push("atomic".to_owned()),
        Merge::Granular => parts.push("granular".to_owned()),
        Merge::Set => parts.push("set".to_owned()),
        Merge::By(keys) => parts.push(format!("by({})", keys.join(", "))),
    }
    if let Some(patch) = &field.patch {
        let implied = matches!(&field.merge, Merge::By(keys) if keys.len() == 1 && keys.first().copied() == patch.key);
        match patch.key {
            _ if !patch.merge => {}
            Some(key) if !implied => parts.push(format!("merge({key})")),
            _ => parts.push("merge".to_owned()),
        }
        if patch.retain_keys {
            parts.push("retainKeys".to_owned());
        }
        if patch.replace {
            parts.push("replace".to_owned());
        }
    }
    if let Some(assigned) = &field.assigned {
        let mark = if assigned.zero_is_absent { "?=" } else { ":=" };
        parts.push(format!("{mark} {}", assigned.value));
        if let Some((sibling, values)) = &assigned.condition {
            parts.push(format!("if {sibling} = {}", values.join("|")));
        }
    }
    parts.join(" ")
}

fn expression(ty: &TypeExpr<'_>, package: &Package<'_>) -> String {
    match ty {
        TypeExpr::Scalar(scalar) => scalar.name().to_owned(),
        TypeExpr::Choice(values) => format!("string({})", values.join("|")),
        TypeExpr::List(items) => format!("[{}]", expression(items, package)),
        TypeExpr::Map(values) => format!("{{{}}}", expression(values, package)),
        TypeExpr::Named {
            package: home,
            name,
        } => match package.uses.iter().find(|(_, known)| known == home) {
            Some((alias, _)) => format!("{alias}.{name}"),
            None => (*name).to_owned(),
        },
    }
}

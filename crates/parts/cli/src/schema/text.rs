//! A kind or a field for people, laid out as kubectl does.

use object::GroupVersionKind;

use super::walk::{Described, Field};

/// How wide a line of a description is.
const WIDTH: usize = 80;

/// The page about what was asked for.
pub(super) fn write(
    kind: &GroupVersionKind,
    fields: &[String],
    described: &Described,
    recursive: bool,
) -> String {
    let mut page = String::new();
    if !kind.group.is_empty() {
        page.push_str(&format!("GROUP:      {}\n", kind.group));
    }
    page.push_str(&format!(
        "KIND:       {}\nVERSION:    {}\n\n",
        kind.kind, kind.version
    ));
    if let Some(field) = fields.last() {
        page.push_str(&format!("FIELD: {field} <{}>\n", described.kind));
        write_values(&mut page, &described.values, 0);
        page.push('\n');
    }
    page.push_str("DESCRIPTION:\n");
    match described.description.is_empty() {
        true => page.push_str("    <empty>\n"),
        false => write_words(&mut page, &described.description, 4),
    }
    if described.fields.is_empty() {
        return page;
    }
    page.push_str("\nFIELDS:\n");
    match recursive {
        true => write_names(&mut page, &described.fields, 2),
        false => write_fields(&mut page, &described.fields),
    }
    page
}

fn headline(page: &mut String, field: &Field, indent: usize) {
    let required = if field.is_required { " -required-" } else { "" };
    page.push_str(&format!(
        "{:indent$}{}\t<{}>{required}\n",
        "", field.name, field.described.kind
    ));
}

fn write_fields(page: &mut String, fields: &[Field]) {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            page.push('\n');
        }
        headline(page, field, 2);
        write_values(page, &field.described.values, 2);
        match field.described.description.is_empty() {
            true => page.push_str("    <no description>\n"),
            false => write_words(page, &field.described.description, 4),
        }
    }
}

fn write_names(page: &mut String, fields: &[Field], indent: usize) {
    for field in fields {
        headline(page, field, indent);
        write_values(page, &field.described.values, indent);
        write_names(page, &field.described.fields, indent + 2);
    }
}

fn write_values(page: &mut String, values: &[String], indent: usize) {
    if !values.is_empty() {
        page.push_str(&format!("{:indent$}enum: {}\n", "", values.join(", ")));
    }
}

/// Words in lines; paragraphs stay apart.
fn write_words(page: &mut String, text: &str, indent: usize) {
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let taken = line.chars().count();
            if taken > 0 && indent + taken + 1 + word.chars().count() > WIDTH {
                page.push_str(&format!("{:indent$}{line}\n", ""));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        match line.is_empty() {
            true => page.push('\n'),
            false => page.push_str(&format!("{:indent$}{line}\n", "")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(kind: &str, description: &str, fields: Vec<Field>) -> Described {
        Described {
            kind: kind.to_owned(),
            description: description.to_owned(),
            values: Vec::new(),
            fields,
        }
    }

    #[test]
    fn a_page_reads_as_kubectls() {
        let inner = Field {
            name: "size".to_owned(),
            is_required: true,
            described: Described {
                values: vec!["1".to_owned(), "2".to_owned()],
                ..described("integer", "How large.", Vec::new())
            },
        };
        let spec = Field {
            name: "spec".to_owned(),
            is_required: false,
            described: described("Spec", "", vec![inner]),
        };
        let kind = GroupVersionKind::from_api_version("x.io/v1", "Thing").unwrap();
        let whole = described("Object", "A thing.", vec![spec.clone()]);
        let head = "GROUP:      x.io\nKIND:       Thing\nVERSION:    v1\n\n";
        for (fields, described, recursive, expected) in [
            (
                vec![],
                &whole,
                false,
                "DESCRIPTION:\n    A thing.\n\nFIELDS:\n  spec\t<Spec>\n    <no description>\n",
            ),
            (
                vec![],
                &whole,
                true,
                "DESCRIPTION:\n    A thing.\n\nFIELDS:\n  spec\t<Spec>\n    size\t<integer> -required-\n    enum: 1, 2\n",
            ),
            (
                vec!["spec".to_owned()],
                &spec.described,
                false,
                "FIELD: spec <Spec>\n\nDESCRIPTION:\n    <empty>\n\nFIELDS:\n  size\t<integer> -required-\n  enum: 1, 2\n    How large.\n",
            ),
        ] {
            assert_eq!(
                write(&kind, &fields, described, recursive),
                format!("{head}{expected}")
            );
        }
    }
}

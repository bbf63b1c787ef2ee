//! How an answer is written: the words after `-o`, and what programs get.

use object::jsonpath::{JsonPath, MissingKeys};
use serde_json::Value;

use super::sorting::relaxed;
use super::tables::clean;
use super::template::GoTemplate;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::table::Table;

/// How an answer is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Output {
    /// The columns that matter most.
    #[default]
    Table,
    /// All columns.
    Wide,
    /// One document.
    Json,
    /// One document.
    Yaml,
    /// The same in the dialect with braces.
    Kyaml,
    /// A kind and a name in each line.
    Name,
    /// What a template of paths makes of the document.
    JsonPath(JsonPath),
    /// The values that a path finds in the document, as a list.
    JsonPathAsJson(JsonPath),
    /// A table with columns of one's own: headlines and paths.
    Columns(Vec<(String, JsonPath)>),
    /// What a template in Go's language makes of the document.
    GoTemplate(GoTemplate),
}

/// All words for ways of writing, for whoever has mistyped one.
const WORDS: &str = "table, wide, json, yaml, kyaml, name, jsonpath=TEMPLATE, custom-columns=HEAD:PATH,..., go-template=TEMPLATE";

/// The same without what follows them.
const NAMES: [&str; 9] = [
    "table",
    "wide",
    "json",
    "yaml",
    "kyaml",
    "name",
    "jsonpath",
    "custom-columns",
    "go-template",
];

impl Output {
    /// Reads what stands after `-o`, along with a template that is given apart from it: `-o go-template --template ...`.
    pub fn with_template(text: &str, template: &str) -> Result<Self, String> {
        match text {
            "table" | "go-template" | "template" => Self::parse(&format!("go-template={template}")),
            "go-template-file" | "templatefile" | "jsonpath" | "jsonpath-file"
            | "jsonpath-as-json" => Self::parse(&format!("{text}={template}")),
            other => Self::parse(other),
        }
    }

    /// Whether a word after `-o` needs a template, which may be given apart from it.
    #[must_use]
    pub fn needs_template(text: &str) -> bool {
        let words = [
            "go-template",
            "template",
            "go-template-file",
            "templatefile",
            "jsonpath",
            "jsonpath-file",
            "jsonpath-as-json",
        ];
        words.contains(&text)
    }

    /// Reads what stands after `-o`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = match text.split_once('=') {
            Some((word, rest)) => (word, Some(rest)),
            None => (text, None),
        };
        let from_file = |path: &str| {
            let read = crate::files::read_text(path.as_ref());
            read.map_err(|why| format!("cannot read {path}: {why}"))
        };
        match (word, rest) {
            ("table" | "", None) => Ok(Self::Table),
            ("wide", None) => Ok(Self::Wide),
            ("json", None) => Ok(Self::Json),
            ("yaml", None) => Ok(Self::Yaml),
            ("kyaml", None) => Ok(Self::Kyaml),
            ("name", None) => Ok(Self::Name),
            ("jsonpath", Some(template)) => path(template).map(Self::JsonPath),
            ("jsonpath-file", Some(file)) => path(&from_file(file)?).map(Self::JsonPath),
            ("jsonpath-as-json", Some(template)) => path(template).map(Self::JsonPathAsJson),
            ("custom-columns", Some(columns)) => read_columns(columns).map(Self::Columns),
            ("custom-columns-file", Some(file)) => {
                // Headlines in the first line, paths in the second.
                let text = from_file(file)?;
                let mut lines = text.lines();
                let (heads, paths) = (lines.next(), lines.next());
                let heads = heads.unwrap_or_default().split_whitespace();
                let paths = paths.unwrap_or_default().split_whitespace();
                let pairs: Vec<String> =
                    heads.zip(paths).map(|(h, p)| format!("{h}:{p}")).collect();
                read_columns(&pairs.join(",")).map(Self::Columns)
            }
            ("jsonpath" | "custom-columns" | "jsonpath-as-json" | "go-template", None) => {
                Err(format!("{word} needs what to show: -o {word}=..."))
            }
            ("go-template" | "template", Some(text)) => template(text),
            ("go-template-file" | "templatefile", Some(file)) => template(&from_file(file)?),
            _ => {
                let meant = nearest(word, NAMES);
                let meant = meant.map(|name| format!("did you mean {name:?}? "));
                Err(format!(
                    "{}choose one of: {WORDS}",
                    meant.unwrap_or_default()
                ))
            }
        }
    }

    /// Reads the same for objects that were just written, of which no server makes tables.
    pub fn parse_written(text: &str) -> Result<Self, String> {
        match Self::parse(text)? {
            Self::Wide => Err(
                "what was written has no columns: choose json, yaml, kyaml, name, jsonpath=TEMPLATE, custom-columns=HEAD:PATH,... or go-template=TEMPLATE"
                    .to_owned(),
            ),
            output => Ok(output),
        }
    }

    /// Whether it is a table as servers make them.
    #[must_use]
    pub fn is_table(&self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

fn template(text: &str) -> Result<Output, String> {
    let parsed = GoTemplate::parse(text).map(Output::GoTemplate);
    parsed.map_err(|error| format!("error parsing template {text:?}: {error}"))
}

fn path(template: &str) -> Result<JsonPath, String> {
    JsonPath::template(template).map_err(|error| format!("{template:?}: {error}"))
}

fn read_columns(text: &str) -> Result<Vec<(String, JsonPath)>, String> {
    let column = |part: &str| {
        let Some((head, path)) = part.split_once(':').filter(|(head, _)| !head.is_empty()) else {
            return Err(format!("{part:?} is no HEAD:PATH"));
        };
        let bare = relaxed(path).ok_or_else(|| format!("{path:?} is no path"))?;
        let path = JsonPath::column(&bare).map_err(|error| format!("{path:?}: {error}"))?;
        Ok((head.to_owned(), path))
    };
    text.split(',').map(column).collect()
}

/// A document in JSON or YAML, with the line end that files have.
pub(crate) fn write_document(document: &Value, yaml: bool) -> Result<String, Failure> {
    let unprintable = |error: &dyn std::error::Error| {
        let what = format!("the objects cannot be written: {error}");
        Failure::failed(what, "choose another --output")
    };
    if yaml {
        let text = serde_saphyr::to_string(document).map_err(|error| unprintable(&error))?;
        return Ok(text.trim_end().to_owned() + "\n");
    }
    let text = serde_json::to_string_pretty(document).map_err(|error| unprintable(&error))?;
    Ok(text + "\n")
}

/// What a template makes of a document.
pub(super) fn write_path(template: &JsonPath, document: &Value) -> Result<String, Failure> {
    let rendered = template.render(document, MissingKeys::Skip);
    rendered.map_err(|error| Failure::refused(format!("-o jsonpath: {error}"), "correct the path"))
}

/// What a path finds in a document, as a list.
pub(super) fn write_found(template: &JsonPath, document: &Value) -> Result<String, Failure> {
    let found = template
        .find(document, MissingKeys::Skip)
        .map_err(|error| {
            Failure::refused(format!("-o jsonpath-as-json: {error}"), "correct the path")
        })?;
    let found: Vec<Value> = found.into_iter().flatten().cloned().collect();
    write_document(&Value::from(found), false)
}

/// A table with columns of one's own.
pub(super) fn write_columns(
    columns: &[(String, JsonPath)],
    items: &[Value],
    is_bare: bool,
) -> String {
    tabulate(columns, items, is_bare).to_string()
}

/// The same, to be laid out along with others.
pub(super) fn tabulate(columns: &[(String, JsonPath)], items: &[Value], is_bare: bool) -> Table {
    let header = columns.iter().map(|(head, _)| head.clone());
    let row = |item: &Value| {
        columns
            .iter()
            .map(|(_, path)| match path.find(item, MissingKeys::Skip) {
                Ok(found) => {
                    let found: Vec<String> =
                        found.iter().flatten().map(|value| plain(value)).collect();
                    match found.is_empty() {
                        true => "<none>".to_owned(),
                        false => found.join(","),
                    }
                }
                Err(_) => "<none>".to_owned(),
            })
            .collect()
    };
    Table {
        header: if is_bare {
            Vec::new()
        } else {
            header.collect()
        },
        rows: items.iter().map(row).collect(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_after_o_are_known_or_corrected() {
        for (text, expected) in [
            ("json", Ok(Output::Json)),
            ("wide", Ok(Output::Wide)),
            ("jsom", Err("did you mean \"json\"? choose one of: table")),
            ("jsn", Err("did you mean \"json\"?")),
            ("unicorn", Err("choose one of: table")),
            ("jsonpath", Err("needs what to show")),
            ("jsonpath={.a", Err("{.a")),
            ("custom-columns=a", Err("no HEAD:PATH")),
            ("go-template={{.a", Err("error parsing template")),
            ("go-template", Err("needs what to show")),
            ("custom-columns-file=/nowhere/at/all", Err("cannot read")),
        ] {
            match (Output::parse(text), expected) {
                (found, Ok(expected)) => assert_eq!(found, Ok(expected)),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn a_template_may_be_given_apart() {
        for (text, template, expected) in [
            ("go-template", "{{.a}}", "go-template={{.a}}"),
            ("table", "{{.a}}", "go-template={{.a}}"),
            ("jsonpath", "{.a}", "jsonpath={.a}"),
            ("json", "{{.a}}", "json"),
        ] {
            let found = Output::with_template(text, template);
            assert_eq!(found, Output::parse(expected), "{text}");
        }
    }

    #[test]
    fn what_was_written_is_shown_in_every_way_but_as_a_servers_table() {
        for text in [
            "json",
            "yaml",
            "name",
            "jsonpath={.a}",
            "go-template={{.a}}",
        ] {
            assert_eq!(Output::parse_written(text), Output::parse(text), "{text}");
        }
        assert!(Output::parse_written("wide").is_err());
    }

    #[test]
    fn paths_and_columns_show_what_they_find() {
        let items = [
            json!({"metadata": {"name": "a", "labels": {"x/y": "1"}}, "n": [1, 2]}),
            json!({"metadata": {"name": "b\u{7}"}}),
        ];
        let columns = |text| match Output::parse(text) {
            Ok(Output::Columns(columns)) => columns,
            other => panic!("{other:?}"),
        };
        let shown = write_columns(
            &columns("custom-columns=NAME:.metadata.name,X:{.metadata.labels.x/y},N:n[*]"),
            &items,
            false,
        );
        assert_eq!(
            shown,
            "NAME     X        N\na        1        1,2\nb\\u{7}   <none>   <none>\n"
        );
        let document = json!({"items": items});
        let Ok(Output::JsonPath(template)) = Output::parse("jsonpath={.items[*].n}") else {
            panic!("no template");
        };
        assert_eq!(write_path(&template, &document).unwrap(), "[1,2]");
        assert_eq!(
            write_found(&template, &document).unwrap(),
            "[\n  [\n    1,\n    2\n  ]\n]\n"
        );
    }
}

//! Templates in Go's language, as `-o go-template` takes them: fields, variables, conditions, loops and the functions that
//! scripts use.
//!
//! Flow: [`parse`] makes a tree of the text, [`run`] walks it over a document. What the language knows and this does not
//! (templates that call one another, methods) is refused by name.

mod functions;
mod parse;
mod run;

use object::Value;

use crate::failure::Failure;

/// A template.
#[derive(Clone, Debug, PartialEq)]
pub struct GoTemplate {
    nodes: Vec<Node>,
}

impl GoTemplate {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text).map(|nodes| Self { nodes })
    }

    /// What the template makes of a document.
    pub fn write(&self, document: &Value) -> Result<String, Failure> {
        run::run(&self.nodes, document).map_err(|why| {
            Failure::refused(
                format!("error executing template: {why}"),
                "look at the document with -o json, and correct the template",
            )
        })
    }
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// As it stands.
    Text(String),
    /// The value of a pipeline.
    Put(Pipeline),
    /// A variable gets a value.
    Set(String, Pipeline),
    /// The first branch that holds, else the last one.
    If(Vec<(Pipeline, Vec<Node>)>, Vec<Node>),
    /// The same for every item, with names for its key and itself.
    Range(Vec<String>, Pipeline, Vec<Node>, Vec<Node>),
    /// With another value in view, if it is one.
    With(Pipeline, Vec<Node>, Vec<Node>),
}

/// Commands, each of which gets the value of the one before as its last argument.
type Pipeline = Vec<Vec<Term>>;

/// A word of a command.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// A constant.
    Literal(Value),
    /// Fields of what is in view; itself without any.
    Fields(Vec<String>),
    /// Fields of a variable; the one without a name is the document.
    Variable(String, Vec<String>),
    /// A function.
    Function(String),
    /// Fields of the value of a pipeline.
    Group(Pipeline, Vec<String>),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_write_as_go_does() {
        let document = json!({
            "kind": "List", "n": 3, "none": null, "yes": true,
            "items": [
                {"metadata": {"name": "a", "labels": {"x-y": "1", "app": "web"}}, "ports": [80, 443]},
                {"metadata": {"name": "b"}},
            ],
        });
        for (template, expected) in [
            ("plain", Ok("plain")),
            ("{{.kind}}", Ok("List")),
            (
                "{{ .n }}-{{ .yes }}-{{ .missing }}-{{.none}}",
                Ok("3-true-<no value>-<no value>"),
            ),
            (
                "{{range .items}}{{.metadata.name}}{{\"\\n\"}}{{end}}",
                Ok("a\nb\n"),
            ),
            (
                "{{range $i, $e := .items}}{{$i}}={{$e.metadata.name}} {{end}}",
                Ok("0=a 1=b "),
            ),
            (
                "{{range $e := .items}}{{$e.metadata.name}}{{$.kind}}{{end}}",
                Ok("aListbList"),
            ),
            ("{{range .nothing}}x{{else}}empty{{end}}", Ok("empty")),
            (
                "{{range $k, $v := (index .items 0).metadata.labels}}{{$k}}:{{$v}},{{end}}",
                Ok("app:web,x-y:1,"),
            ),
            (
                "{{index (index .items 0).metadata.labels \"x-y\"}}",
                Ok("1"),
            ),
            (
                "{{with (index .items 1)}}{{.metadata.name}}{{end}}",
                Ok("b"),
            ),
            ("{{with .missing}}x{{else}}y{{end}}", Ok("y")),
            (
                "{{if .yes}}a{{else}}b{{end}}{{if not .yes}}c{{end}}",
                Ok("a"),
            ),
            (
                "{{if eq .n 1}}one{{else if eq .n 3}}three{{else}}many{{end}}",
                Ok("three"),
            ),
            (
                "{{if and .yes (gt .n 2)}}both{{end}}{{if or .none .yes}}one{{end}}",
                Ok("bothone"),
            ),
            (
                "{{len .items}} {{.items | len}} {{ len \"äb\" }}",
                Ok("2 2 3"),
            ),
            (
                "{{printf \"%s/%d %v %q %%\" .kind .n .yes .kind}}",
                Ok("List/3 true \"List\" %"),
            ),
            ("{{ \"aGk=\" | base64decode }}", Ok("hi")),
            ("{{$x := .kind}}{{$x}} {{ $y := 2 }}{{ $y }}", Ok("List 2")),
            ("a {{- .kind -}} b{{/* said */}}c", Ok("aListbc")),
            (
                "{{(index .items 0).ports}} {{(index .items 1).metadata}}",
                Ok("[80 443] map[name:b]"),
            ),
            ("{{println .kind}}{{print 1 2}}", Ok("List\n1 2")),
            (
                "{{ne .kind \"x\"}} {{lt 1 2}} {{le 2 2}} {{ge 1 2}}",
                Ok("true true true false"),
            ),
            ("{{ `raw` }} {{ 'a' }}", Ok("raw 97")),
            ("{{.kind", Err("is not closed")),
            ("{{end}}", Err("end")),
            ("{{range .items}}", Err("end")),
            ("{{nosuch .kind}}", Err("nosuch")),
            ("{{template \"x\"}}", Err("template")),
            ("{{index .items 7}}", Err("out of range")),
            ("{{range .kind}}{{end}}", Err("cannot range")),
            ("{{.kind.name}}", Err("field name")),
            ("{{(}}", Err("")),
            ("{{\"a}}", Err("")),
            ("{{if}}{{end}}", Err("")),
            ("{{| len}}", Err("")),
        ] {
            let written = GoTemplate::parse(template).and_then(|parsed| {
                parsed
                    .write(&document)
                    .map_err(|failure| failure.to_string())
            });
            match (written, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{template}"),
                (Err(found), Err(expected)) => {
                    assert!(found.contains(expected), "{template}: {found}");
                }
                (found, expected) => panic!("{template}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        for text in [
            "{{if .x}}".repeat(10_000),
            format!("{{{{{}1{}}}}}", "(".repeat(10_000), ")".repeat(10_000)),
        ] {
            assert!(GoTemplate::parse(&text).is_err());
        }
    }
}

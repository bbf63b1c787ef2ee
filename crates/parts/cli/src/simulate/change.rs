//! What differs between two objects, as lines of a diff.

use object::{Object, Value};
use overrides::change::{Change, changes};
use overrides::{Effect, Step};

use crate::masking::{self, When};
use crate::reading::clean;

/// One place that differs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Where.
    pub(crate) path: String,
    /// What was there.
    pub(crate) before: Option<Value>,
    /// What would be there.
    pub(crate) after: Option<Value>,
}

/// Annotations and labels by which the control plane keeps its books: they change along, and say nothing.
const BOOKS: [&str; 2] = ["karmada.io~1", "karmada.io/"];

/// The places in which two objects differ, the control plane's own notes apart. Of a Secret it is told which entries
/// differ, and not how.
pub(crate) fn lines(before: &Value, after: &Value) -> Vec<Line> {
    let is_secret = [before, after]
        .into_iter()
        .filter_map(Value::as_object)
        .any(masking::is_secret);
    written(changes(before, after), is_secret)
}

/// What overrides change on the way to a cluster.
pub(super) fn overridden(template: &Object, steps: &[Step]) -> Vec<Line> {
    let is_secret = masking::is_secret(template.fields());
    let applied = steps.iter().filter_map(|step| match &step.effect {
        Effect::Applied(changed) => Some(changed),
        Effect::Skipped(_) => None,
    });
    let changes = applied.flatten().flat_map(|(_, changes)| changes);
    written(changes.cloned().collect(), is_secret)
}

fn written(changes: Vec<Change>, is_secret: bool) -> Vec<Line> {
    let found = changes.into_iter().map(|change| Line {
        path: change.path.to_string(),
        before: change.before,
        after: change.after,
    });
    found
        .flat_map(apart_by_key)
        .filter(|line| {
            let is_meta = line.path.starts_with("/metadata/annotations")
                || line.path.starts_with("/metadata/labels");
            !(is_meta && BOOKS.iter().any(|book| line.path.contains(book)))
        })
        .map(|line| match is_secret {
            true => Line {
                before: masking::masked(&line.path, line.before, When::Before),
                after: masking::masked(&line.path, line.after, When::After),
                path: line.path,
            },
            false => line,
        })
        .collect()
}

/// Labels and annotations one by one, also where all of them come or go at once.
fn apart_by_key(line: Line) -> Vec<Line> {
    if !["/metadata/annotations", "/metadata/labels"].contains(&line.path.as_str()) {
        return vec![line];
    }
    let keys = |value: &Option<Value>| -> Vec<(String, Value)> {
        let fields = value.as_ref().and_then(Value::as_object).into_iter();
        let fields = fields.flatten();
        fields
            .map(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("{}/{key}", line.path), value.clone())
            })
            .collect()
    };
    let (gone, come) = (keys(&line.before), keys(&line.after));
    let gone = gone.into_iter().map(|(path, before)| Line {
        path,
        before: Some(before),
        after: None,
    });
    let come = come.into_iter().map(|(path, after)| Line {
        path,
        before: None,
        after: Some(after),
    });
    gone.chain(come).collect()
}

impl std::fmt::Display for Line {
    /// `~ /spec/replicas  2 -> 3`, `+ /metadata/labels/a  "b"`, `- /spec/paused  true`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = clean(&self.path);
        let text = |value: &Value| clean(&value.to_string());
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let (before, after) = apart(&text(before), &text(after));
                write!(f, "~ {path}  {before} -> {after}")
            }
            (None, Some(after)) => write!(f, "+ {path}  {}", cut(&text(after), 0)),
            (Some(before), None) => write!(f, "- {path}  {}", cut(&text(before), 0)),
            (None, None) => Ok(()),
        }
    }
}

/// So much of a value is shown.
const MOST: usize = 60;
/// So much of what two values share is shown before the place where they differ.
const SHARED: usize = 16;

/// Two different texts, each cut so that the place is seen where they differ.
fn apart(before: &str, after: &str) -> (String, String) {
    // Lines are broken between words, which would hide how many spaces there are.
    let words = |text: &str| text.split_whitespace().collect::<String>();
    if words(before) == words(after) {
        let shown = |text: &str| text.replace(' ', "\u{b7}");
        return cut_alike(&shown(before), &shown(after));
    }
    cut_alike(before, after)
}

fn cut_alike(before: &str, after: &str) -> (String, String) {
    let is_long = |text: &str| text.chars().nth(MOST).is_some();
    if !is_long(before) && !is_long(after) {
        return (before.to_owned(), after.to_owned());
    }
    let pairs = before.chars().zip(after.chars());
    let shared = pairs.take_while(|(one, other)| one == other).count();
    let start = match shared < MOST / 2 {
        true => 0,
        false => shared - SHARED,
    };
    (cut(before, start), cut(after, start))
}

/// A text from a place on, in as many characters as a line has left.
fn cut(text: &str, start: usize) -> String {
    let head = if start > 0 { "..." } else { "" };
    let shown: String = text.chars().skip(start).take(MOST).collect();
    let tail = match text.chars().nth(start + MOST) {
        Some(_) => "...",
        None => "",
    };
    format!("{head}{shown}{tail}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_shown_place_by_place_without_the_books() {
        let before = json!({"metadata": {"annotations": {"a": "1", "resourcetemplate.karmada.io/generation": "1"}}, "spec": {"replicas": 2, "paused": true}});
        let after = json!({"metadata": {"annotations": {"resourcetemplate.karmada.io/generation": "2"}, "labels": {"x": "y"}}, "spec": {"replicas": 3}});
        let shown: Vec<String> = lines(&before, &after)
            .iter()
            .map(ToString::to_string)
            .collect();
        for line in [
            "~ /spec/replicas  2 -> 3",
            "- /spec/paused  true",
            "- /metadata/annotations/a  \"1\"",
            "+ /metadata/labels/x  \"y\"",
        ] {
            assert!(shown.iter().any(|shown| shown == line), "{line}: {shown:?}");
        }
        assert!(
            shown.iter().all(|line| !line.contains("karmada.io")),
            "{shown:?}"
        );
    }

    #[test]
    fn what_secrets_hold_is_not_shown() {
        let secret = |kind: &str, data: Value| json!({"apiVersion": "v1", "kind": kind, "data": data, "type": "Opaque"});
        for (kind, before, after, expected) in [
            (
                "Secret",
                json!({"a": "eA=="}),
                json!({"a": "eQ==", "b": "eg=="}),
                "~ /data/a  \"*** (before)\" -> \"*** (after)\", + /data/b  \"*** (after)\"",
            ),
            (
                "Secret",
                json!({"a": "eA=="}),
                json!({}),
                "- /data/a  \"*** (before)\"",
            ),
            (
                "Secret",
                Value::Null,
                json!({"a": "eA=="}),
                "~ /data  \"*** (before)\" -> \"*** (after)\"",
            ),
            (
                "ConfigMap",
                json!({"a": "x"}),
                json!({"a": "y"}),
                "~ /data/a  \"x\" -> \"y\"",
            ),
        ] {
            let found = lines(&secret(kind, before), &secret(kind, after));
            let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(", "), expected);
        }
    }

    #[test]
    fn what_secrets_hold_is_not_shown_by_notes_either() {
        let note = |text: &str| json!({"kubectl.kubernetes.io/last-applied-configuration": text});
        let secret =
            |metadata: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
        let place = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        let whole = "\"*** (before)\" -> \"*** (after)\"";
        for (before, after, expected) in [
            (
                secret(json!({"annotations": note("eA==")})),
                secret(json!({"annotations": note("eQ==")})),
                format!("~ {place}  {whole}"),
            ),
            (
                secret(json!({})),
                secret(json!({"annotations": note("eQ==")})),
                format!("+ {place}  \"*** (after)\""),
            ),
            (
                secret(Value::Null),
                secret(json!({"annotations": note("eQ==")})),
                format!("~ /metadata  {whole}"),
            ),
            (
                Value::Null,
                secret(json!({"annotations": note("eQ==")})),
                format!("~   {whole}"),
            ),
            (
                secret(json!({"annotations": {"a": "1"}})),
                secret(json!({"annotations": {"a": "2"}})),
                "~ /metadata/annotations/a  \"1\" -> \"2\"".to_owned(),
            ),
        ] {
            let found = lines(&before, &after);
            let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(", "), expected);
        }
    }

    #[test]
    fn long_values_are_cut_where_they_differ() {
        let long = |end: &str| json!(format!("{}{end}", "x".repeat(200)));
        for (before, after, expected) in [
            (json!("a"), json!("b"), "~ /p  \"a\" -> \"b\"".to_owned()),
            (
                long("one"),
                long("two"),
                format!("~ /p  ...{0}one\" -> ...{0}two\"", "x".repeat(16)),
            ),
            (
                json!(format!("a{}", "x".repeat(70))),
                json!("b"),
                format!("~ /p  \"a{}... -> \"b\"", "x".repeat(58)),
            ),
            (
                json!("a b"),
                json!("a  b"),
                "~ /p  \"a\u{b7}b\" -> \"a\u{b7}\u{b7}b\"".to_owned(),
            ),
        ] {
            let line = Line {
                path: "/p".to_owned(),
                before: Some(before),
                after: Some(after),
            };
            assert_eq!(line.to_string(), expected);
        }
    }
}

//! What differs between two objects, as lines of a diff.

use object::Value;
use overrides::change::changes;

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

/// The places in which two objects differ, the control plane's own notes apart.
pub(crate) fn lines(before: &Value, after: &Value) -> Vec<Line> {
    let found = changes(before, after).into_iter().map(|change| Line {
        path: change.path.to_string(),
        before: change.before,
        after: change.after,
    });
    found
        .filter(|line| {
            let is_meta = line.path.starts_with("/metadata/annotations")
                || line.path.starts_with("/metadata/labels");
            !(is_meta && BOOKS.iter().any(|book| line.path.contains(book)))
        })
        .collect()
}

impl std::fmt::Display for Line {
    /// `~ /spec/replicas  2 -> 3`, `+ /metadata/labels/a  "b"`, `- /spec/paused  true`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = clean(&self.path);
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                write!(f, "~ {path}  {} -> {}", short(before), short(after))
            }
            (None, Some(after)) => write!(f, "+ {path}  {}", short(after)),
            (Some(before), None) => write!(f, "- {path}  {}", short(before)),
            (None, None) => Ok(()),
        }
    }
}

/// A value in as many characters as a line has left.
fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = clean(&value.to_string());
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
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
        ] {
            assert!(shown.iter().any(|shown| shown == line), "{line}: {shown:?}");
        }
        assert!(
            shown.iter().all(|line| !line.contains("karmada.io")),
            "{shown:?}"
        );
    }
}

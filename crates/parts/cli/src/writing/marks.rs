//! Labels and annotations.

use client::{Client, ListOptions, PatchKind};
use intent::Part;
use object::{Object, Value, names};
use serde_json::json;

use super::{DryRun, Writing, discover};
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reach::call_failure;
use crate::reading::{self, Answer, Sink, blame_places};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Labels.
    Labels,
    /// Annotations.
    Annotations,
}

/// What is marked, and how.
#[derive(Clone, Debug)]
pub struct MarkQuery {
    /// Which of the two.
    pub marks: Marks,
    /// `TYPE NAME...` or `TYPE/NAME...`, then `KEY=VALUE` and `KEY-`.
    pub words: Vec<String>,
    /// Those with these labels; empty for none.
    pub selector: String,
    /// All of the type in the namespace.
    pub all: bool,
    /// Change what is there already.
    pub overwrite: bool,
    /// Show what is there afterwards.
    pub list: bool,
    /// What all writes share.
    pub writing: Writing,
}

/// One change: a value, or that the mark goes.
type Change = (String, Option<String>);

/// Marks objects, and says of each what came of it.
pub async fn mark(control: &Client, query: &MarkQuery, print: Sink<'_>) -> Result<Answer, Failure> {
    let (words, changes) = take_apart(query.marks, &query.words)?;
    if changes.is_empty() && !query.list {
        return Err(Failure::refused(
            format!("at least one {} update is required", noun(query.marks)),
            "write KEY=VALUE to set one and KEY- to remove it",
        ));
    }
    let discovery = discover(control).await?;
    let namespace = query.writing.namespace(control);
    let mut failures = Vec::new();
    for wanted in reading::read_words(&words)? {
        let resource = &reading::resolve(&discovery, &wanted.word)?.resource;
        let mut objects = Vec::new();
        if wanted.names.is_empty() {
            if !query.all && query.selector.is_empty() {
                return Err(Failure::refused(
                    "one or more resources must be specified as <resource> <name> or <resource>/<name>",
                    "name objects, choose them with -l, or add --all",
                ));
            }
            let options = ListOptions {
                label_selector: query.selector.clone(),
                ..ListOptions::default()
            };
            let listed = control.list_all(resource, &namespace, &options).await;
            objects = listed.map_err(|error| call_failure(&error))?.items;
        }
        for name in &wanted.names {
            let key = reading::key(resource, &namespace, name);
            match control.get(resource, &key).await {
                Ok(object) => objects.push(object),
                Err(error) => {
                    let failure = missing(control, resource, &key, &error).await;
                    failures.push((key.to_string(), failure));
                }
            }
        }
        for object in objects {
            let marked = one(control, resource, &object, query, &changes).await;
            match marked {
                Ok(line) => print(&line)?,
                Err(failure) => failures.push((object.key().to_string(), failure)),
            }
        }
    }
    Ok(Answer {
        failure: blame_places(failures),
        ..Answer::default()
    })
}

async fn one(
    control: &Client,
    resource: &object::ResourceType,
    object: &Object,
    query: &MarkQuery,
    changes: &[Change],
) -> Result<String, Failure> {
    let field = field(query.marks);
    let present = |key: &str| object.at(&["metadata", field, key]).and_then(Value::as_str);
    for (key, value) in changes {
        if let (Some(value), Some(there)) = (value, present(key))
            && there != value
            && !query.overwrite
        {
            return Err(Failure::refused(
                format!("'{key}' already has a value ({there}), and --overwrite is false"),
                "add --overwrite to change it",
            ));
        }
    }
    let is_same = changes
        .iter()
        .all(|(key, value)| present(key) == value.as_deref());
    let mut after = object.clone();
    if !is_same && query.writing.dry_run != DryRun::Client {
        let marks: object::Map = changes
            .iter()
            .map(|(key, value)| (key.clone(), value.clone().map_or(Value::Null, Value::from)))
            .collect();
        let patch =
            json!({"metadata": {field: marks, "resourceVersion": object.resource_version()}});
        let options = query.writing.options();
        after = control
            .patch(
                resource,
                &object.key(),
                PatchKind::Merge,
                &patch,
                &Part::Object,
                &options,
            )
            .await
            .map_err(|error| call_failure(&error))?;
    }
    if query.list {
        let marks = match query.marks {
            Marks::Labels => after.labels(),
            Marks::Annotations => after.annotations(),
        };
        return Ok(marks
            .into_iter()
            .map(|(key, value)| format!("{key}={value}\n"))
            .collect());
    }
    let only_removes = changes.iter().all(|(_, value)| value.is_none());
    let word = match (query.marks, is_same, only_removes) {
        (Marks::Labels, true, _) => "not labeled",
        (Marks::Labels, false, true) => "unlabeled",
        (Marks::Labels, false, false) => "labeled",
        // Upstream: annotations are always said to be annotated.
        (Marks::Annotations, ..) => "annotated",
    };
    query.writing.say(resource, &after, word)
}

fn field(marks: Marks) -> &'static str {
    match marks {
        Marks::Labels => "labels",
        Marks::Annotations => "annotations",
    }
}

fn noun(marks: Marks) -> &'static str {
    match marks {
        Marks::Labels => "label",
        Marks::Annotations => "annotation",
    }
}

/// Objects come first, then changes.
fn take_apart(marks: Marks, words: &[String]) -> Result<(Vec<String>, Vec<Change>), Failure> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-');
    let first = words.iter().position(is_change).unwrap_or(words.len());
    let (objects, changes) = words.split_at(first);
    let mut all: Vec<Change> = Vec::new();
    for word in changes {
        let change = match word.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => match word.strip_suffix('-') {
                Some(key) => (key.to_owned(), None),
                None => {
                    return Err(Failure::refused(
                        format!(
                            "all resources must be specified before {} changes: {word}",
                            noun(marks)
                        ),
                        "write the objects first, then KEY=VALUE and KEY-",
                    ));
                }
            },
        };
        let mut problems = names::check_qualified_name(&change.0);
        if let (Marks::Labels, Some(value)) = (marks, &change.1) {
            problems.extend(names::check_label_value(value));
        }
        if let Some(problem) = problems.first() {
            return Err(Failure::refused(
                format!("invalid {} {word:?}: {problem}", noun(marks)),
                "write KEY=VALUE to set one and KEY- to remove it",
            ));
        }
        if all.iter().any(|(key, _)| *key == change.0) {
            return Err(Failure::refused(
                format!(
                    "can not both modify and remove the same {}: {}",
                    noun(marks),
                    change.0
                ),
                "name each key once",
            ));
        }
        all.push(change);
    }
    Ok((objects.to_vec(), all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_first_and_changes_after() {
        for (line, expected) in [
            ("deploy web a=b c-", Ok("deploy web|a=b c-")),
            ("deploy/web a=", Ok("deploy/web|a=")),
            ("deploy web", Ok("deploy web|")),
            ("deploy web a=b db", Err("before label changes: db")),
            ("deploy web a=b a-", Err("the same label: a")),
            ("deploy web a=b!c", Err("invalid label")),
            ("deploy web =b", Err("invalid label")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match (take_apart(Marks::Labels, &words), expected) {
                (Ok((objects, changes)), Ok(expected)) => {
                    let shown: Vec<String> = changes
                        .iter()
                        .map(|(key, value)| match value {
                            Some(value) => format!("{key}={value}"),
                            None => format!("{key}-"),
                        })
                        .collect();
                    assert_eq!(
                        format!("{}|{}", objects.join(" "), shown.join(" ")),
                        expected
                    );
                }
                (Err(failure), Err(expected)) => {
                    assert!(failure.to_string().contains(expected), "{failure}")
                }
                (found, expected) => panic!("{line}: {found:?} instead of {expected:?}"),
            }
        }
    }
}

//! Labels and annotations.

use client::{Client, ListOptions, PatchKind};
use intent::Part;
use object::{Object, ResourceType, Value, names};
use serde_json::json;

use super::choice::Choice;
use super::{DryRun, Writing, discover, kind_here};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::missing;
use crate::reach::call_failure;
use crate::reading::{self, Answer, Sink, blame_objects};

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
    /// Objects from files; then all words are changes.
    pub manifests: Vec<Manifest>,
    /// Those with these labels; empty for none.
    pub selector: String,
    /// Those with these fields; empty for none.
    pub field_selector: String,
    /// Only if the one object has this revision.
    pub resource_version: Option<String>,
    /// All of the type in the namespace.
    pub all: bool,
    /// In all namespaces.
    pub all_namespaces: bool,
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
    let (found, mut failures) = find(control, query, &words).await?;
    if query.resource_version.is_some() && found.len() > 1 {
        return Err(Failure::refused(
            "--resource-version may only be used with a single resource",
            "name one object",
        ));
    }
    let mut notes = Vec::new();
    if found.is_empty() && failures.is_empty() {
        notes.push("No resources found".to_owned());
    }
    for (number, (resource, object)) in found.into_iter().enumerate() {
        match persist(control, &resource, &object, query, &changes).await {
            Ok(lines) if query.list => print(&lines)?,
            Ok(lines) => print(&format!("{}{lines}", query.writing.separator(number)))?,
            Err(failure) => failures.push((object.key().to_string(), failure)),
        }
    }
    Ok(Answer {
        failure: blame_objects(failures),
        notes,
        ..Answer::default()
    })
}

/// Marks the objects of files as they are written there; nobody is asked, and nothing is kept.
pub fn mark_here(query: &MarkQuery, print: Sink<'_>) -> Result<Answer, Failure> {
    let (words, changes) = take_apart(query.marks, &query.words)?;
    if query.manifests.is_empty() || !words.is_empty() {
        return Err(Failure::refused(
            "one or more files must be specified as -f when --local is set",
            "give files with -f, and only KEY=VALUE and KEY- beside them",
        ));
    }
    let choice = Choice::new(&query.selector, &query.field_selector, query.all);
    let mut failures = Vec::new();
    let chosen = choice.of_manifests(&query.manifests)?;
    for (number, manifest) in chosen.into_iter().enumerate() {
        let object = &manifest.object;
        let told = is_same(object, query, &changes).and_then(|is_same| {
            let after = marked(object, query.marks, &changes);
            told(
                &kind_here(object),
                (object, &after),
                query,
                &changes,
                is_same,
            )
        });
        match told {
            Ok(lines) if query.list => print(&lines)?,
            Ok(lines) => print(&format!("{}{lines}", query.writing.separator(number)))?,
            Err(failure) => failures.push((manifest.place.clone(), failure)),
        }
    }
    Ok(Answer {
        failure: blame_objects(failures),
        ..Answer::default()
    })
}

type Found = (Vec<(ResourceType, Object)>, Vec<(String, Failure)>);

/// The objects that are meant, and those that could not be found.
async fn find(control: &Client, query: &MarkQuery, words: &[String]) -> Result<Found, Failure> {
    let discovery = discover(control).await?;
    let home = query.writing.home(control);
    let namespace = &home.namespace;
    let everywhere = match query.all_namespaces {
        true => "",
        false => namespace,
    };
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    let choice = Choice::new(&query.selector, &query.field_selector, query.all);
    for manifest in choice.of_manifests(&query.manifests)? {
        let located = manifest.locate(&discovery, &home);
        match located {
            Ok((resource, object)) => match control.get(&resource, &object.key()).await {
                Ok(object) => found.push((resource, object)),
                Err(error) => failures.push((manifest.place.clone(), call_failure(&error))),
            },
            Err(failure) => failures.push((manifest.place.clone(), failure)),
        }
    }
    if words.is_empty() && !query.manifests.is_empty() {
        return Ok((found, failures));
    }
    for wanted in reading::read_words(words)? {
        choice.check_names(&wanted)?;
        let resource = &reading::resolve(&discovery, &wanted.word)?.resource;
        if wanted.names.is_empty() {
            if !query.all && query.selector.is_empty() && query.field_selector.is_empty() {
                return Err(Failure::refused(
                    "one or more resources must be specified as <resource> <name> or <resource>/<name>",
                    "name objects, choose them with -l, or add --all",
                ));
            }
            let options = ListOptions {
                label_selector: query.selector.clone(),
                field_selector: query.field_selector.clone(),
                ..ListOptions::default()
            };
            let listed = control.list_all(resource, everywhere, &options).await;
            let items = listed.map_err(|error| call_failure(&error))?.items;
            found.extend(items.into_iter().map(|object| (resource.clone(), object)));
        }
        if query.all_namespaces && !wanted.names.is_empty() {
            return Err(Failure::refused(
                "a resource cannot be retrieved by name across all namespaces",
                "leave -A or the name out",
            ));
        }
        for name in &wanted.names {
            let key = reading::key(resource, namespace, name);
            match control.get(resource, &key).await {
                Ok(object) => found.push((resource.clone(), object)),
                Err(error) => {
                    let failure = missing(control, resource, &key, &error).await;
                    failures.push((key.to_string(), failure));
                }
            }
        }
    }
    Ok((found, failures))
}

/// How often an object that somebody else changes meanwhile is looked at anew.
const ATTEMPTS: usize = 5;

/// Why one attempt to mark an object came to nothing.
enum Setback {
    /// Somebody wrote it after it was read.
    Stale(Failure),
    /// It would be so again.
    Final(Failure),
}

/// Marks one object. If somebody else writes it meanwhile, as controllers do, it is looked at anew, unless a revision was
/// asked for.
async fn persist(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    query: &MarkQuery,
    changes: &[Change],
) -> Result<String, Failure> {
    let mut newer: Option<Object> = None;
    for attempt in 1.. {
        let object = newer.as_ref().unwrap_or(object);
        match one(control, resource, object, query, changes).await {
            Ok(lines) => return Ok(lines),
            Err(Setback::Stale(_)) if attempt < ATTEMPTS && query.resource_version.is_none() => {
                let read = control.get(resource, &object.key()).await;
                newer = Some(read.map_err(|error| call_failure(&error))?);
            }
            Err(Setback::Stale(failure) | Setback::Final(failure)) => return Err(failure),
        }
    }
    Ok(String::new())
}

async fn one(
    control: &Client,
    resource: &ResourceType,
    object: &Object,
    query: &MarkQuery,
    changes: &[Change],
) -> Result<String, Setback> {
    let is_same = is_same(object, query, changes).map_err(Setback::Final)?;
    let mut after = marked(object, query.marks, changes);
    if !is_same && query.writing.dry_run != DryRun::Client {
        let revision = query.resource_version.as_deref();
        let revision = revision.unwrap_or_else(|| object.resource_version());
        let mut patch = patch(query.marks, changes);
        patch["metadata"]["resourceVersion"] = Value::from(revision);
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
            .map_err(|error| match error.is_conflict() {
                true => Setback::Stale(call_failure(&error)),
                false => Setback::Final(call_failure(&error)),
            })?;
    }
    told(resource, (object, &after), query, changes, is_same).map_err(Setback::Final)
}

/// The marks that an object has, by key.
fn present<'o>(object: &'o Object, marks: Marks, key: &str) -> Option<&'o str> {
    object
        .at(&["metadata", field(marks), key])
        .and_then(Value::as_str)
}

/// Whether an object is marked so already; refused if it is marked otherwise, and that is to stay.
fn is_same(object: &Object, query: &MarkQuery, changes: &[Change]) -> Result<bool, Failure> {
    let present = |key: &str| present(object, query.marks, key);
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
    let mut changes = changes.iter();
    Ok(changes.all(|(key, value)| present(key) == value.as_deref()))
}

/// The changes as a merge patch.
fn patch(marks: Marks, changes: &[Change]) -> Value {
    let marked: object::Map = changes
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().map_or(Value::Null, Value::from)))
        .collect();
    json!({"metadata": {field(marks): marked}})
}

/// An object as it is once it is marked.
fn marked(object: &Object, marks: Marks, changes: &[Change]) -> Object {
    let value = object.clone().into_value();
    let merged = object::patch::merge(&value, &patch(marks, changes));
    Object::from_value(merged).unwrap_or_else(|_| object.clone())
}

/// What is said of an object that was marked.
fn told(
    resource: &ResourceType,
    (before, after): (&Object, &Object),
    query: &MarkQuery,
    changes: &[Change],
    is_same: bool,
) -> Result<String, Failure> {
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
    let said = query.writing.say(resource, after, word)?;
    let is_line = query.writing.document().is_none();
    let is_there = |key: &str| present(before, query.marks, key).is_some();
    let absent = changes
        .iter()
        .filter(|(key, value)| is_line && value.is_none() && !is_there(key));
    let mut lines: String = absent
        .map(|(key, _)| format!("{} {key:?} not found.\n", noun(query.marks)))
        .collect();
    lines.push_str(&said);
    Ok(lines)
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
        if let Some((key, value)) = all.iter().find(|(key, _)| *key == change.0) {
            let noun = noun(marks);
            let what = match value.is_some() == change.1.is_some() {
                true => format!("the {noun} {key} is named twice"),
                false => format!("can not both modify and remove the same {noun}: {key}"),
            };
            return Err(Failure::refused(what, "name each key once"));
        }
        all.push(change);
    }
    Ok((objects.to_vec(), all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_marked_without_asking_anybody() {
        let manifests = Manifest::parse(
            "f.yaml",
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {a: b, gone: x}}}",
        );
        let query = |words: &str, overwrite: bool, output: Option<reading::Output>| MarkQuery {
            marks: Marks::Labels,
            words: words.split(' ').map(str::to_owned).collect(),
            manifests: manifests.as_ref().unwrap().clone(),
            selector: String::new(),
            field_selector: String::new(),
            resource_version: None,
            all: false,
            all_namespaces: false,
            overwrite,
            list: false,
            writing: Writing {
                output,
                ..Writing::default()
            },
        };
        let said = |query: &MarkQuery| {
            let mut text = String::new();
            let mut print = |part: &str| {
                text.push_str(part);
                Ok(())
            };
            let failure = mark_here(query, &mut print).map_or_else(Some, |answer| answer.failure);
            failure.map_or(text, |failure| failure.to_string())
        };
        let labels = reading::Output::parse("jsonpath={.metadata.labels}").unwrap();
        for (words, overwrite, output, expected) in [
            (
                "c=d gone-",
                false,
                Some(labels.clone()),
                "{\"a\":\"b\",\"c\":\"d\"}",
            ),
            ("c=d", false, None, "deployment.apps/web labeled\n"),
            ("a=b", false, None, "deployment.apps/web not labeled\n"),
            (
                "a=c",
                false,
                None,
                "f.yaml: 'a' already has a value (b), and --overwrite is false",
            ),
            ("a=c gone-", true, Some(labels.clone()), "{\"a\":\"c\"}"),
            (
                "deploy web a=c",
                true,
                None,
                "one or more files must be specified as -f when --local is set",
            ),
        ] {
            let query = query(words, overwrite, output);
            assert_eq!(said(&query), expected, "{words}");
        }
        for (selector, expected) in [
            ("a=b", "deployment.apps/web labeled\n"),
            ("a=other", ""),
            ("a in (", "--selector \"a in (\": "),
        ] {
            let chosen = MarkQuery {
                selector: selector.to_owned(),
                ..query("c=d", false, None)
            };
            let said = said(&chosen);
            assert!(said.starts_with(expected), "{selector}: {said}");
            assert_eq!(said.is_empty(), expected.is_empty(), "{selector}: {said}");
        }
    }

    #[test]
    fn objects_come_first_and_changes_after() {
        for (line, expected) in [
            ("deploy web a=b c-", Ok("deploy web|a=b c-")),
            ("deploy/web a=", Ok("deploy/web|a=")),
            ("deploy web", Ok("deploy web|")),
            ("deploy web a=b db", Err("before label changes: db")),
            ("deploy web a=b a-", Err("the same label: a")),
            ("deploy web a=b a=c", Err("a is named twice")),
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

//! Ours against the reference: every property of every definition, both ways, but for the descriptions.
//!
//! What must differ is listed, with its reason, in `compat/crd-differences.txt`; the list may only shrink.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

use karavel_api::schema;
use serde_json::Value;

#[test]
fn definitions_agree_with_the_reference() {
    let Some(folder) = reference_folder() else {
        println!(
            "NOT RUN: the reference definitions are not here (set KARAVEL_REFERENCE to their folder)"
        );
        return;
    };
    let ours: BTreeMap<String, Value> = schema::crds().into_iter().map(named).collect();
    let theirs: BTreeMap<String, Value> =
        read_definitions(&folder).into_iter().map(named).collect();
    let mut found = BTreeSet::new();
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let mut differences = Differences {
            name,
            found: &mut found,
        };
        differences.compare(ours.get(name), theirs.get(name), "", Place::Document);
    }
    let listed = listed_differences();
    let unlisted: Vec<&String> = found.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&found).collect();
    assert!(
        unlisted.is_empty(),
        "differ from the reference: {unlisted:#?}"
    );
    assert!(
        gone.is_empty(),
        "no longer differ, so take them off the list: {gone:#?}"
    );
    assert_eq!(theirs.len(), 19, "the reference is incomplete");
}

/// `KARAVEL_REFERENCE`, or the folder beside the workspace.
fn reference_folder() -> Option<PathBuf> {
    if let Ok(folder) = env::var("KARAVEL_REFERENCE") {
        return Some(PathBuf::from(folder));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/reference/crds");
    folder.is_dir().then_some(folder)
}

fn read_definitions(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).expect("the reference folder can be read");
    let files = entries.map(|entry| entry.expect("entries can be read").path());
    files
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .map(|file| {
            let text = fs::read_to_string(&file).expect("reference files can be read");
            serde_saphyr::from_str(&text).expect("reference files are YAML")
        })
        .collect()
}

fn named(definition: Value) -> (String, Value) {
    let name = definition["metadata"]["name"]
        .as_str()
        .expect("definitions have names");
    (name.to_owned(), definition)
}

/// The differences that are accepted: one a line, its reason after ` # `.
fn listed_differences() -> BTreeSet<String> {
    let lines = include_str!("../../compat/crd-differences.txt").lines();
    let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries
        .map(|line| {
            let (difference, reason) = line
                .split_once(" # ")
                .expect("every difference has a reason");
            assert!(reason.len() > 10, "not a reason: {reason:?}");
            difference.trim().to_owned()
        })
        .collect()
}

/// What the keys of an object mean.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Fields of the definition, or keywords of a schema.
    Document,
    /// Names of properties, any of which might be called `description`.
    Properties,
}

struct Differences<'a> {
    name: &'a str,
    found: &'a mut BTreeSet<String>,
}

impl Differences<'_> {
    fn compare(&mut self, ours: Option<&Value>, theirs: Option<&Value>, path: &str, place: Place) {
        match (ours, theirs) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
                for key in keys {
                    if place == Place::Document && key == "description" {
                        continue;
                    }
                    let inner = match (place, key.as_str()) {
                        (Place::Document, "properties") => Place::Properties,
                        _ => Place::Document,
                    };
                    self.compare(
                        ours.get(key),
                        theirs.get(key),
                        &format!("{path}.{key}"),
                        inner,
                    );
                }
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs)))
                if ours.len() == theirs.len() =>
            {
                for (position, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    let path = format!("{path}[{position}]");
                    self.compare(Some(ours), Some(theirs), &path, Place::Document);
                }
            }
            (ours, theirs) if ours == theirs => {}
            (ours, theirs) => {
                let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), summary);
                let line = format!(
                    "{} {path}: {} instead of {}",
                    self.name,
                    show(ours),
                    show(theirs)
                );
                self.found.insert(line);
            }
        }
    }
}

/// Enough of a value to know it by.
fn summary(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

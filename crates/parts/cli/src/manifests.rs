//! Objects in files: YAML or JSON, one or many, from files, directories or standard input.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use client::{Client, Discovery};
use object::selector::Selector;
use object::{GroupVersionKind, Object, ResourceType, Value};

use crate::failure::Failure;
use crate::files::{self, Unread};
use crate::nearest::nearest;
use crate::yaml;

/// Files that are looked into when a directory is named.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// An object and where it was found.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file and the number of the document in it, for messages.
    pub place: String,
    /// The object.
    pub object: Object,
}

impl Manifest {
    /// Reads objects from files and directories; `-` is standard input. `deep` goes into directories below too.
    pub fn read_all(paths: &[PathBuf], deep: bool) -> Result<Vec<Self>, Failure> {
        let mut all = Vec::new();
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        for path in paths {
            if path.as_os_str() == "-" {
                let read = files::bytes_of(std::io::stdin()).and_then(files::text_of);
                let text = read.map_err(|why| unreadable("standard input", &why))?;
                all.extend(parse("standard input", &text)?);
                continue;
            }
            if path
                .to_str()
                .is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
            {
                return Err(Failure::refused(
                    format!("{} is on another machine", path.display()),
                    "fetch it first, and give the file, or - for standard input",
                ));
            }
            for file in files_of(path, deep)? {
                // A file that is named twice, or lies in a directory that is named too, is meant once.
                let place = std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
                let is_plain = std::fs::metadata(&file).is_ok_and(|about| about.is_file());
                if is_plain && !seen.insert(place) {
                    continue;
                }
                let name = file.display().to_string();
                let text = files::read_text(&file).map_err(|why| unreadable(&name, &why))?;
                all.extend(parse(&name, &text)?);
            }
        }
        if all.is_empty() {
            return Err(Failure::refused(
                "no objects are in what was given",
                "name a file with -f, or - for standard input",
            ));
        }
        Ok(all)
    }

    /// Reads the one object of a file.
    pub fn read_one(path: &Path) -> Result<Self, Failure> {
        let mut found = Self::read_all(&[path.to_owned()], false)?;
        match (found.pop(), found.is_empty()) {
            (Some(manifest), true) => Ok(manifest),
            _ => Err(Failure::refused(
                format!("{} has more than one object", path.display()),
                "give a file with one object",
            )),
        }
    }

    /// Those with some labels; all if `selector` is empty.
    pub fn select(mut all: Vec<Self>, selector: &str) -> Result<Vec<Self>, Failure> {
        let wanted = self::selector(selector)?;
        all.retain(|manifest| wanted.matches(|key| manifest.object.label(key)));
        match all.is_empty() {
            false => Ok(all),
            true => Err(Failure::refused(
                format!("no objects have the labels {selector}"),
                "leave -l out, or correct it",
            )),
        }
    }

    /// Refuses objects without a name where it is by their names that objects are found. Upstream: the words of kubectl.
    pub fn check_names(all: &[Self]) -> Result<(), Failure> {
        Self::first_nameless(all).map_or(Ok(()), |manifest| Err(manifest.nameless()))
    }

    pub(crate) fn first_nameless(all: &[Self]) -> Option<&Self> {
        all.iter()
            .find(|manifest| manifest.object.name().is_empty())
    }

    /// What is said of an object that has no name.
    pub(crate) fn nameless(&self) -> Failure {
        let hint = match self.object.text_at(&["metadata", "generateName"]) {
            None | Some("") => "metadata.name is missing",
            Some(_) => {
                "metadata.name is missing, and only `karavel create -f FILE` makes names of metadata.generateName"
            }
        };
        Failure::refused(
            "resource name may not be empty",
            format!("{}: {hint}", self.place),
        )
    }

    /// Reads the objects in a text.
    pub fn parse(name: &str, text: &str) -> Result<Vec<Self>, Failure> {
        parse(name, text)
    }

    /// The object as somebody would name it on a command line: `KIND.VERSION.GROUP/NAME`.
    #[must_use]
    pub fn word(&self) -> String {
        let (kind, name) = (self.object.group_version_kind(), self.object.name());
        match kind.group.as_str() {
            "" => format!("{}.{}/{name}", kind.kind, kind.version),
            group => format!("{}.{}.{group}/{name}", kind.kind, kind.version),
        }
    }

    /// The namespace that the object names, or the one that was asked for. It is a mistake if these are two.
    pub fn namespace(&self, asked: Option<&str>) -> Result<Option<String>, Failure> {
        match (self.object.namespace(), asked) {
            ("", asked) => Ok(asked.map(str::to_owned)),
            (named, Some(asked)) if named != asked => Err(elsewhere(named, asked)),
            (named, _) => Ok(Some(named.to_owned())),
        }
    }

    /// Where the object belongs, with its namespace.
    pub(crate) fn locate(
        &self,
        discovery: &Discovery,
        home: &Home,
    ) -> Result<(ResourceType, Object), Failure> {
        let kind = self.object.group_version_kind();
        let Some(found) = discovery.find(&kind) else {
            return Err(Failure::refused(
                format!(
                    "no matches for kind {:?} in version {:?}",
                    kind.kind,
                    kind.api_version()
                ),
                kind_hint(discovery, &kind),
            ));
        };
        Ok((found.resource.clone(), self.settle(&found.resource, home)?))
    }

    /// The object with the namespace that it belongs to as one of a kind.
    pub(crate) fn settle(&self, resource: &ResourceType, home: &Home) -> Result<Object, Failure> {
        let mut object = self.object.clone();
        if !resource.namespaced {
            return Ok(object);
        }
        match object.namespace() {
            "" => {
                let set = object.set(&["metadata", "namespace"], home.namespace.as_str());
                set.map_err(|error| Failure::refused(error.to_string(), "correct the metadata"))?;
            }
            named if home.is_asked_for && named != home.namespace => {
                return Err(elsewhere(named, &home.namespace));
            }
            _ => {}
        }
        Ok(object)
    }
}

/// The namespace that a command is about.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// That of objects which name none.
    pub(crate) namespace: String,
    /// Whether somebody asked for it: then objects that name another are a mistake.
    pub(crate) is_asked_for: bool,
}

impl Home {
    /// The one that was asked for; what the kubeconfig names otherwise.
    pub(crate) fn new(asked: Option<&str>, control: &Client) -> Self {
        let usual = || control.raw().default_namespace().to_owned();
        // What a script gives whose variable is not set is none, and never all of them.
        let asked = asked.filter(|namespace| !namespace.is_empty());
        Self {
            namespace: asked.map_or_else(usual, str::to_owned),
            is_asked_for: asked.is_some(),
        }
    }
}

/// Reads what is given with `-l`.
pub(crate) fn selector(text: &str) -> Result<Selector, Failure> {
    text.parse().map_err(|error| {
        let what = format!("--selector {text:?}: {error}");
        Failure::refused(what, "write for example: -l app=web")
    })
}

/// Upstream: the words of kubectl.
fn elsewhere(named: &str, asked: &str) -> Failure {
    Failure::refused(
        format!(
            "the namespace from the provided object {named:?} does not match the namespace {asked:?}. You must pass '--namespace={named}' to perform this operation."
        ),
        "leave -n out, or correct the file",
    )
}

/// The kind that was probably meant by one that is not served.
fn kind_hint(discovery: &Discovery, wrong: &GroupVersionKind) -> String {
    let served = || discovery.resources.iter().map(|found| &found.resource.kind);
    let same = served().filter(|kind| kind.kind == wrong.kind);
    let mut versions: Vec<String> = same.map(GroupVersionKind::api_version).collect();
    versions.sort();
    versions.dedup();
    if !versions.is_empty() {
        return format!("did you mean apiVersion: {}?", versions.join(" or "));
    }
    let near = nearest(&wrong.kind, served().map(|kind| kind.kind.as_str()));
    match near.and_then(|near| served().find(|kind| kind.kind == near)) {
        Some(kind) => format!(
            "did you mean kind: {} with apiVersion: {}?",
            kind.kind,
            kind.api_version()
        ),
        None => "check apiVersion and kind; a CustomResourceDefinition has to be applied before its objects"
            .to_owned(),
    }
}

/// The values in a text: documents of YAML, lists taken apart.
pub fn read_values(name: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let documents = yaml::read_documents(text).map_err(|error| {
        Failure::refused(
            format!("{name}: {}", yaml::told(name, &error)),
            "correct the file",
        )
    })?;
    let items = documents.into_iter().flat_map(|document| match document {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => vec![other],
    });
    Ok(items.collect())
}

fn unreadable(name: &str, why: &Unread) -> Failure {
    match why.is_missing() {
        true => Failure::refused(format!("the path {name:?} does not exist"), why.hint()),
        false => why.of("", name),
    }
}

/// The files of a path, by name.
fn files_of(path: &Path, deep: bool) -> Result<Vec<PathBuf>, Failure> {
    let name = path.display().to_string();
    let about = std::fs::metadata(path).map_err(|error| unreadable(&name, &error.into()))?;
    if !about.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(&name, &error.into()))?;
    let mut entries: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            if deep {
                found.extend(files_of(&path, deep)?);
            }
        } else if path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| ENDINGS.contains(&ending))
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// The objects in a text: documents of YAML, of which JSON is a part. Lists are taken apart.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Manifest>, Failure> {
    let wrong = |place: &str, why: String| {
        Failure::refused(
            format!("{place}: {why}"),
            "correct the file; `karavel create deployment web --image=nginx --dry-run -o yaml` writes an example",
        )
    };
    let documents =
        yaml::read_documents(text).map_err(|error| wrong(name, yaml::told(name, &error)))?;
    let mut all = Vec::new();
    for (number, document) in documents.into_iter().enumerate() {
        let place = match number {
            0 => name.to_owned(),
            _ => format!("{name} (document {})", number + 1),
        };
        if document.is_null() {
            continue;
        }
        for item in apart(document) {
            let object =
                Object::from_value(item).map_err(|error| wrong(&place, error.to_string()))?;
            for (field, value) in [
                ("apiVersion", object.api_version()),
                ("kind", object.kind()),
            ] {
                if value.is_empty() && object.at(&[field]).is_none_or(Value::is_null) {
                    return Err(wrong(&place, format!("{field} is missing")));
                }
            }
            if let Some((path, value)) = no_text(&object) {
                let what = format!("{place}: {path}: expected text, found {value}");
                return Err(Failure::refused(what, yaml::QUOTES));
            }
            all.push(Manifest {
                place: place.clone(),
                object,
            });
        }
    }
    Ok(all)
}

/// A list taken apart, and the lists in it; anything else is one by itself.
fn apart(document: Value) -> Vec<Value> {
    let kind = document["kind"].as_str().unwrap_or_default().to_owned();
    let (Some(item_kind), Some(items)) = (kind.strip_suffix("List"), document["items"].as_array())
    else {
        return vec![document];
    };
    let version = &document["apiVersion"];
    let one = |item: &Value| {
        let mut item = item.clone();
        // What servers list is of the list's kind, and need not say so.
        let is_silent = item["kind"].is_null() && item["apiVersion"].is_null();
        if let Some(fields) = item
            .as_object_mut()
            .filter(|_| is_silent && !item_kind.is_empty())
        {
            fields.insert("apiVersion".to_owned(), version.clone());
            fields.insert("kind".to_owned(), item_kind.into());
        }
        apart(item)
    };
    items.iter().flat_map(one).collect()
}

/// Fields of all kinds that are text.
const TEXTS: [&[&str]; 5] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "generateName"],
    &["metadata", "namespace"],
];

/// The first of the fields that are text in all kinds which is something else, such as a name `y` without quotes.
fn no_text(object: &Object) -> Option<(String, &Value)> {
    let is_wrong = |value: &&Value| !value.is_string() && !value.is_null();
    let mut plain = TEXTS.iter().filter_map(|path| {
        let value = object.at(path).filter(is_wrong)?;
        Some((path.join("."), value))
    });
    let maps = ["labels", "annotations"].into_iter();
    let mut marks = maps.flat_map(|field| {
        let pairs = object.at(&["metadata", field]).and_then(Value::as_object);
        let pairs = pairs.into_iter().flatten();
        let wrong = pairs.filter(|(_, value)| !value.is_string() && !value.is_null());
        wrong.map(move |(key, value)| (format!("metadata.{field}.{key}"), value))
    });
    plain.next().or_else(|| marks.next())
}

#[cfg(test)]
mod tests {
    use object::ObjectKey;

    use super::*;

    #[test]
    fn a_file_that_is_named_twice_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.yaml");
        std::fs::write(
            &file,
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
        )
        .unwrap();
        for paths in [
            vec![file.clone(), file.clone()],
            vec![directory.path().to_owned(), file.clone()],
            vec![directory.path().join("./a.yaml"), file.clone()],
        ] {
            let found = Manifest::read_all(&paths, false).unwrap();
            assert_eq!(found.len(), 1, "{paths:?}");
        }
    }

    #[test]
    fn objects_of_another_namespace_than_the_one_asked_for_are_refused() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let nodes = ResourceType::cluster("", "v1", "Node", "nodes");
        let refusal = "the namespace from the provided object \"shop\" does not match the namespace \"big\". You must pass '--namespace=shop' to perform this operation.";
        for (resource, named, home, is_asked_for, expected) in [
            (&pods, "", "big", true, Ok("big")),
            (&pods, "", "big", false, Ok("big")),
            (&pods, "shop", "shop", true, Ok("shop")),
            (&pods, "shop", "big", false, Ok("shop")),
            (&pods, "shop", "big", true, Err(refusal)),
            (&nodes, "", "big", true, Ok("")),
        ] {
            let key = ObjectKey::namespaced(named, "a");
            let manifest = Manifest {
                place: "f".to_owned(),
                object: Object::new(&resource.kind, &key),
            };
            let home = Home {
                namespace: home.to_owned(),
                is_asked_for,
            };
            let settled = manifest.settle(resource, &home);
            let settled = settled.map(|object| object.namespace().to_owned());
            let settled = settled.map_err(|failure| failure.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(settled, expected, "{named:?} {home:?}");
        }
    }

    #[test]
    fn objects_are_chosen_by_their_labels() {
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}";
        for (selector, expected) in [
            ("", Some("a b")),
            ("app=web", Some("a")),
            ("!app", Some("b")),
            ("app in (web, db)", Some("a")),
            ("app=other", None),
            ("app in (", None),
        ] {
            let all = parse("f", text).unwrap();
            let found = Manifest::select(all, selector).ok().map(|found| {
                let names: Vec<&str> = found.iter().map(|found| found.object.name()).collect();
                names.join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{selector}");
        }
    }

    #[test]
    fn objects_are_found_in_any_spelling() {
        for (text, expected) in [
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
                Ok("a"),
            ),
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n",
                Ok("a b"),
            ),
            (
                "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]}",
                Ok("p"),
            ),
            // As servers list them: of the list's kind, without saying so; and lists in lists.
            (
                "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}",
                Ok("a b"),
            ),
            (
                "{apiVersion: v1, kind: List, items: [{apiVersion: apps/v1, kind: DeploymentList, items: [{metadata: {name: d}}]}]}",
                Ok("d"),
            ),
            (
                "{apiVersion: v1, kind: List, items: [{metadata: {name: a}}]}",
                Err("apiVersion is missing"),
            ),
            ("{apiVersion: v1, kind: ConfigMapList, items: []}", Ok("")),
            ("", Ok("")),
            ("# nothing\n", Ok("")),
            ("kind: Pod", Err("apiVersion is missing")),
            ("apiVersion: v1", Err("kind is missing")),
            ("[1, 2]", Err("f.yaml")),
            ("a: [", Err("f.yaml")),
            ("a: 1\na: 2", Err("duplicate mapping key: a\n")),
            ("just words", Err("f.yaml")),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}",
                Err("metadata.name: expected text, found true"),
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'y'}}",
                Ok("y"),
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: 'y', on-call: no}}}",
                Err("metadata.labels.on-call: expected text, found false"),
            ),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {mode: 0644}}}",
                Err("metadata.annotations.mode: expected text, found 420"),
            ),
            (
                "{apiVersion: 1, kind: ConfigMap}",
                Err("apiVersion: expected text, found 1"),
            ),
        ] {
            match (parse("f.yaml", text), expected) {
                (Ok(found), Ok(expected)) => {
                    let names: Vec<&str> = found.iter().map(|found| found.object.name()).collect();
                    assert_eq!(names.join(" "), expected, "{text}");
                }
                (Err(failure), Err(expected)) => {
                    assert!(failure.to_string().contains(expected), "{text}: {failure}")
                }
                (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
            }
        }
    }
}

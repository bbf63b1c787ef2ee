//! Changing part of an object.

use client::{Client, PatchKind};
use intent::Part;
use object::patch::{JsonPatch, Replace, merge};
use object::{Object, ResourceType, Value};

use super::{DryRun, Writing, discover, kind_here, part};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::missing;
use crate::reading::{self, Answer};
use crate::schema::{meant_fields, write_failure};
use crate::yaml;

/// Texts of secrets, which are kept under another name.
const WRITTEN_ONLY: &str = "stringData";
/// So begin words of a patch that say how to merge.
const DIRECTIVE: char = '$';

/// What is changed.
#[derive(Clone, Debug)]
pub struct PatchQuery {
    /// `TYPE NAME`, or `TYPE/NAME`.
    pub words: Vec<String>,
    /// The change, in JSON or YAML.
    pub patch: String,
    /// What the change is written in.
    pub kind: PatchKind,
    /// The part of the object, such as status; the object itself if absent.
    pub subresource: Option<String>,
    /// What all writes share.
    pub writing: Writing,
}

/// Changes part of an object, and says what came of it, and what did not.
pub async fn patch(control: &Client, query: &PatchQuery) -> Result<Answer, Failure> {
    let (word, name) = reading::read_one(&query.words)?;
    let patch = read(&query.patch, query.kind)?;
    let discovery = discover(control).await?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let namespace = query.writing.namespace(control);
    let key = reading::key(resource, &namespace, &name);
    let before = match control.get(resource, &key).await {
        Ok(before) => before,
        Err(error) => return Err(missing(control, resource, &key, &error).await),
    };
    let plain = |text: String| Answer {
        text,
        ..Answer::default()
    };
    if query.writing.dry_run == DryRun::Client && query.writing.document().is_none() {
        return query.writing.say(resource, &before, "patched").map(plain);
    }
    if query.writing.dry_run == DryRun::Client
        && let Some(after) = patched(&before, &patch, query.kind)?
    {
        return query.writing.say(resource, &after, "patched").map(plain);
    }
    let part = part(query.subresource.as_deref());
    let mut options = query.writing.options();
    // Only the server knows how lists are merged; it keeps nothing of what it shows.
    options.dry_run |= query.writing.dry_run == DryRun::Client;
    let after = control
        .patch(resource, &key, query.kind, &patch, &part, &options)
        .await;
    let after = match after {
        Ok(after) => after,
        Err(error) => {
            let failure = write_failure(control, resource, &error).await;
            return Err(match unmergeable(query.kind, error.code()) {
                Some(hint) => failure.advised(hint),
                None => failure,
            });
        }
    };
    let is_same = before.resource_version() == after.resource_version()
        && query.writing.dry_run == DryRun::No;
    let word = match is_same {
        true => "patched (no change)",
        false => "patched",
    };
    let lost = match query.kind {
        PatchKind::Json => Vec::new(),
        // A part is an object of another kind.
        _ if part != Part::Object => Vec::new(),
        _ => not_kept(&patch, &after.clone().into_value()),
    };
    Ok(Answer {
        notes: warnings(control, resource, &lost).await,
        ..plain(query.writing.say(resource, &after, word)?)
    })
}

/// What to do about a patch that the server does not read: how lists of custom kinds merge is nowhere said.
fn unmergeable(kind: PatchKind, code: u16) -> Option<&'static str> {
    const UNSUPPORTED: u16 = 415;
    let is_so = kind == PatchKind::Strategic && code == UNSUPPORTED;
    is_so.then_some("custom kinds have no strategic patches: add --type merge")
}

/// Upstream: the server warns of fields that it does not know, and kubectl shows that in these words.
async fn warnings(control: &Client, resource: &ResourceType, lost: &[Vec<String>]) -> Vec<String> {
    let mut notes: Vec<String> = lost.iter().map(|path| warning(path)).collect();
    let unknown: Vec<Vec<String>> = lost
        .iter()
        .filter(|path| !is_status(path))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        notes.extend(meant_fields(control, resource, &unknown).await);
    }
    notes
}

fn warning(path: &[String]) -> String {
    match is_status(path) {
        true => "Warning: the status is left as it is: add --subresource=status".to_owned(),
        false => format!("Warning: unknown field {:?}", path.join(".")),
    }
}

fn is_status(path: &[String]) -> bool {
    path.first().is_some_and(|first| first == "status")
}

/// The fields of a patch that came to nothing: those that nobody knows, and the status, which is a part of its own.
fn not_kept(patch: &Value, after: &Value) -> Vec<Vec<String>> {
    let mut all = lost(patch, after);
    let wanted = patch.get("status").filter(|status| !is_nothing(status));
    if let (Some(wanted), Some(status)) = (wanted, after.get("status"))
        && merge(status, wanted) != *status
    {
        all.retain(|path| !is_status(path));
        all.push(vec!["status".to_owned()]);
    }
    all
}

/// Whether a value of a patch leaves nothing behind: it is empty, or takes away.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.all(|(key, value)| key.starts_with(DIRECTIVE) || is_nothing(value))
        }
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The fields of a patch that the object does not have afterwards: nobody keeps what nobody knows. Lists are merged by
/// rules of their own, and what is empty or is to be read nowhere need not be there.
fn lost(patch: &Value, after: &Value) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (key, value) in patch.as_object().into_iter().flatten() {
        if is_nothing(value) || key.starts_with(DIRECTIVE) || key == WRITTEN_ONLY {
            continue;
        }
        match after.get(key) {
            None => all.push(vec![key.clone()]),
            Some(below) => all.extend(lost(value, below).into_iter().map(|mut path| {
                path.insert(0, key.clone());
                path
            })),
        }
    }
    all
}

/// Changes part of an object of a file as it is written there; nobody is asked, and nothing is kept.
pub fn patch_here(
    manifest: &Manifest,
    text: &str,
    kind: PatchKind,
    writing: &Writing,
) -> Result<String, Failure> {
    let patch = read(text, kind)?;
    let before = &manifest.object;
    let Some(after) = patched(before, &patch, kind)? else {
        return Err(Failure::refused(
            "how a strategic patch merges lists is known to servers alone",
            "add --type merge or --type json, or leave --local out",
        ));
    };
    writing.say(&kind_here(before), &after, "patched")
}

/// An object after a change; `None` if only a server can tell.
fn patched(before: &Object, patch: &Value, kind: PatchKind) -> Result<Option<Object>, Failure> {
    let refused = |error: String| Failure::refused(error, example(kind));
    let value = before.clone().into_value();
    let after = match kind {
        PatchKind::Json => {
            let operations =
                JsonPatch::decode(patch).map_err(|error| refused(error.to_string()))?;
            let applied = operations.apply(&value, Replace::ExistingOrMissing);
            applied.map_err(|error| refused(error.to_string()))?
        }
        PatchKind::Merge => merge(&value, patch),
        _ => return Ok(None),
    };
    let after = Object::from_value(after).map_err(|error| refused(error.to_string()))?;
    Ok(Some(after))
}

/// Reads a change: a list of operations for a JSON patch, an object otherwise.
fn read(text: &str, kind: PatchKind) -> Result<Value, Failure> {
    let parsed = yaml::read_document(text);
    let patch = parsed.map_err(|error| {
        Failure::refused(
            format!(
                "the patch is neither JSON nor YAML: {}",
                yaml::told("patch", &error)
            ),
            example(kind),
        )
    })?;
    let fits = match kind {
        PatchKind::Json => patch.is_array(),
        _ => patch.is_object(),
    };
    match fits {
        true => Ok(patch),
        false => Err(Failure::refused(
            "the patch says nothing about any field",
            example(kind),
        )),
    }
}

fn example(kind: PatchKind) -> &'static str {
    match kind {
        PatchKind::Json => {
            "write for example: -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]'"
        }
        _ => "write for example: -p '{\"spec\":{\"replicas\":3}}'",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_patched_without_asking_anybody() {
        let manifests = Manifest::parse(
            "f.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b}}",
        );
        let manifest = manifests.unwrap().remove(0);
        let writing = Writing {
            output: Some(reading::Output::parse("jsonpath={.data}").unwrap()),
            ..Writing::default()
        };
        for (kind, patch, expected) in [
            (
                PatchKind::Merge,
                "{data: {a: null, c: d}}",
                Ok("{\"c\":\"d\"}"),
            ),
            (
                PatchKind::Json,
                "[{op: replace, path: /data/a, value: e}]",
                Ok("{\"a\":\"e\"}"),
            ),
            (
                PatchKind::Json,
                "[{op: remove, path: /data/x}]",
                Err("-p '["),
            ),
            (PatchKind::Strategic, "{data: {}}", Err("--type merge")),
        ] {
            let found = patch_here(&manifest, patch, kind, &writing);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(failure), Err(hint)) => assert!(failure.hint().contains(hint), "{failure}"),
                (found, expected) => panic!("{patch}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn what_is_not_kept_of_a_patch_is_known() {
        let after = json!({"spec": {"replicas": 3, "template": {"spec": {"containers": []}}}, "data": {"a": "Yg=="}, "status": {"ready": 1}});
        for (patch, expected) in [
            (json!({"spec": {"replicas": 3}}), ""),
            (json!({"status": {"ready": 1}}), ""),
            (json!({"status": {"ready": 2, "nope": 1}}), "status"),
            (json!({"spec": {"replicaz": 3}}), "spec.replicaz"),
            (json!({"specs": {"replicas": 3}}), "specs"),
            (
                json!({"spec": {"template": {"spec": {"nodeNmae": "x", "containers": [{"nope": 1}]}}, "x": 1}}),
                "spec.template.spec.nodeNmae spec.x",
            ),
            (
                json!({"spec": {"paused": null, "strategy": {}, "$patch": "merge"}}),
                "",
            ),
            (
                json!({"metadata": {"annotations": {"gone": null}}, "affinity": {"$patch": "delete"}}),
                "",
            ),
            (json!({"stringData": {"a": "b"}, "metadata": {}}), ""),
        ] {
            let found: Vec<String> = not_kept(&patch, &after)
                .iter()
                .map(|path| path.join("."))
                .collect();
            assert_eq!(found.join(" "), expected, "{patch}");
        }
    }

    #[test]
    fn a_patch_is_an_object_or_a_list_of_operations() {
        for (text, kind, is_fine) in [
            ("{\"spec\":{}}", PatchKind::Merge, true),
            ("spec: {replicas: 3}", PatchKind::Strategic, true),
            ("[{\"op\":\"test\"}]", PatchKind::Json, true),
            ("{\"spec\":{}}", PatchKind::Json, false),
            ("[]", PatchKind::Merge, false),
            ("not json", PatchKind::Strategic, false),
            ("{", PatchKind::Merge, false),
            ("", PatchKind::Merge, false),
        ] {
            let found = read(text, kind);
            assert_eq!(found.is_ok(), is_fine, "{text:?} {kind:?}: {found:?}");
            if let Err(failure) = found {
                assert_eq!(failure.exit_code(), 1);
                assert!(failure.hint().contains("-p '"), "{}", failure.hint());
            }
        }
    }
}

//! Changing an object in an editor.

use client::{Client, PatchKind};
use intent::Part;
use object::{Object, patch};

use super::{DryRun, Writing, discover, last_applied, part};
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reach::call_failure;
use crate::reading;
use crate::schema::write_failure;

/// What stands above the object.
pub(super) const HEAD: &str = "# Change the object below. Lines that begin with # are left out; an unchanged or empty file changes\n# nothing.\n#\n";

/// What is edited, and how.
#[derive(Clone, Debug, Default)]
pub struct EditQuery {
    /// `TYPE NAME`, or `TYPE/NAME`.
    pub words: Vec<String>,
    /// What all writes share.
    pub writing: Writing,
    /// Note what was written as kubectl does, for its next `apply`.
    pub save_config: bool,
    /// Show the change that was sent.
    pub output_patch: bool,
    /// The part of the object, such as status; the object itself if absent.
    pub subresource: Option<String>,
}

/// Lets `change` alter the text of an object, and writes what came of it; `change` is mostly an editor.
pub async fn edit(
    control: &Client,
    query: &EditQuery,
    change: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let EditQuery { words, writing, .. } = query;
    let (word, name) = reading::read_one(words)?;
    let discovery = discover(control).await?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let namespace = writing.namespace(control);
    let key = reading::key(resource, &namespace, &name);
    let part = part(query.subresource.as_deref());
    let before = match control.get_part(resource, &key, &part).await {
        Ok(before) => before,
        Err(error) if part != Part::Object => return Err(call_failure(&error)),
        Err(error) => return Err(missing(control, resource, &key, &error).await),
    };
    let shown = reading::mark(before.clone(), None, false);
    let text = reading::write_document(&shown, true)?;
    let changed = change(&format!("{HEAD}{text}"))?;
    let Some(mut after) = read(&changed, &before)? else {
        return Ok("Edit cancelled, no changes made.\n".to_owned());
    };
    if query.save_config {
        last_applied::note(&mut after)?;
    }
    let options = writing.strict_options();
    if writing.dry_run == DryRun::Client {
        return writing.say(resource, &after, "edited");
    }
    // Only what was changed is sent: what others changed elsewhere in the meantime stays.
    let shown = without_owners(&before).into_value();
    let patch = patch::diff(&shown, &after.into_value());
    let told = match query.output_patch {
        true => format!("Patch: {patch}\n"),
        false => String::new(),
    };
    let written = control
        .patch(resource, &key, PatchKind::Merge, &patch, &part, &options)
        .await;
    let written = match written {
        Ok(written) => written,
        Err(error) => return Err(write_failure(control, resource, &error).await),
    };
    Ok(told + &writing.say(resource, &written, "edited")?)
}

/// What the text says; nothing if it says what was there. Its revision is the server's.
fn read(text: &str, before: &Object) -> Result<Option<Object>, Failure> {
    let body = uncommented(text);
    if body.trim().is_empty() {
        return Ok(None);
    }
    let mut found = crate::manifests::parse("the edited text", &body)?;
    let (Some(manifest), true) = (found.pop(), found.is_empty()) else {
        return Err(Failure::refused(
            "the edited text is not one object",
            "leave one object in it; others are made with `karavel create -f`",
        ));
    };
    let mut after = manifest.object;
    if after == without_owners(before) {
        return Ok(None);
    }
    let is_same = |a: &str, b: &str| a == b;
    if !is_same(after.name(), before.name())
        || !is_same(after.namespace(), before.namespace())
        || !is_same(after.kind(), before.kind())
    {
        return Err(Failure::refused(
            "the name, the namespace and the kind of an object cannot be edited",
            "leave them as they are; a text without uid and resourceVersion makes another object by `karavel create -f`",
        ));
    }
    let set = after.set(&["metadata", "resourceVersion"], before.resource_version());
    set.map_err(|error| Failure::refused(error.to_string(), "edit again"))?;
    Ok(Some(after))
}

/// A text without the lines that begin with #.
pub(super) fn uncommented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// As it is shown: who owns which fields is nothing to be edited.
fn without_owners(object: &Object) -> Object {
    let mut bare = object.clone();
    bare.remove(&["metadata", "managedFields"]);
    bare
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_change_is_written() {
        let before = Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7", "managedFields": []}, "data": {"x": "1"}})).unwrap();
        let text = |name: &str, value: &str| {
            format!(
                "# c\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  resourceVersion: \"7\"\ndata:\n  x: \"{value}\"\n"
            )
        };
        assert!(read(&text("a", "1"), &before).unwrap().is_none());
        assert!(read("# nothing\n", &before).unwrap().is_none());
        let changed = read(&text("a", "2").replace("\"7\"", "\"9\""), &before)
            .unwrap()
            .unwrap();
        assert_eq!(changed.text_at(&["data", "x"]), Some("2"));
        assert_eq!(changed.resource_version(), "7");
        assert!(read(&text("b", "2"), &before).is_err());
        assert!(read("a: [", &before).is_err());
    }
}

//! One kubeconfig of several, so that one `--context` away is another cluster.

use std::path::{Path, PathBuf};

use object::Value;

use crate::failure::Failure;

/// Adds the contexts of other kubeconfigs to one, which keeps its current context. What was added before is replaced.
pub fn merge_kubeconfigs(into: &Path, others: &[PathBuf]) -> Result<(), Failure> {
    let mut merged = read(into)?;
    for path in others {
        let other = read(path)?;
        for part in ["clusters", "contexts", "users"] {
            add(&mut merged, &other, part, &owner(&other));
        }
    }
    let text = serde_json::to_string_pretty(&merged).unwrap_or_default();
    listen::write_private(into, &format!("{text}\n")).map_err(|error| {
        Failure::failed(
            format!("cannot write {}: {error}", into.display()),
            "check the path, its owner and the space left",
        )
    })
}

/// What tells the users of one file from those of another: the file's current context.
fn owner(config: &Value) -> String {
    config["current-context"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Adds the entries of one part. Users have the same name in all files of a kind, so they are called after their file.
fn add(merged: &mut Value, other: &Value, part: &str, owner: &str) {
    let Some(entries) = other[part].as_array() else {
        return;
    };
    for entry in entries {
        let mut entry = entry.clone();
        if part == "users" {
            entry["name"] = Value::from(owner);
        }
        if part == "contexts" {
            entry["context"]["user"] = Value::from(owner);
        }
        let Some(list) = merged[part].as_array_mut() else {
            merged[part] = Value::from(vec![entry]);
            continue;
        };
        list.retain(|known| known["name"] != entry["name"]);
        list.push(entry);
    }
}

fn read(path: &Path) -> Result<Value, Failure> {
    let unusable = |why: String| {
        Failure::failed(
            format!("cannot read the kubeconfig {}: {why}", path.display()),
            "remove it and start again: it is written anew",
        )
    };
    let text = crate::files::read_text(path).map_err(|why| unusable(why.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(name: &str, user: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": format!("https://{name}")}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
            "users": [{"name": user, "user": {"token": name}}],
        })
    }

    #[test]
    fn every_context_keeps_its_own_user_and_merging_twice_adds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, user: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, config(name, user).to_string()).unwrap();
            path
        };
        let main = write("main", "admin");
        let others = [write("east", "sim"), write("west", "sim")];
        for _ in 0..2 {
            merge_kubeconfigs(&main, &others).unwrap();
            let merged = read(&main).unwrap();
            assert_eq!(merged["current-context"], "main");
            let users: Vec<_> = merged["users"].as_array().unwrap().iter().collect();
            assert_eq!(users.len(), 3);
            let contexts = merged["contexts"].as_array().unwrap();
            for context in contexts {
                let user = users
                    .iter()
                    .find(|user| user["name"] == context["context"]["user"]);
                assert_eq!(user.unwrap()["user"]["token"], context["name"]);
            }
            assert_eq!(contexts.len(), 3);
        }
        assert!(merge_kubeconfigs(&directory.path().join("none"), &[]).is_err());
    }
}

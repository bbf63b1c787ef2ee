//! The file a client of members needs.
//!
//! Keeps:  what a user added or set in the file stays: other clusters, users and contexts, the current context, the
//!         namespace of a context. Addresses, certificates and keys are the members'.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use listen::Issued;
use serde_json::{Map, Value, json};

/// A cluster a client can reach.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: String,
}

/// Who clients are.
const USER: &str = "karavel-sim-admin";

/// A kubeconfig with one context for each cluster, all with the same authority and user; the first is current. What a
/// user set in the one `before` it stays.
pub(crate) fn document(
    entries: &[Entry<'_>],
    authority_pem: &str,
    client: &Issued,
    before: Option<&Value>,
) -> Value {
    let encoded = |text: &str| serve::encoding::base64(text.as_bytes());
    let authority = encoded(authority_pem);
    let clusters = entries.iter().map(|entry| {
        json!({
            "name": entry.name,
            "cluster": {"server": entry.server, "certificate-authority-data": authority},
        })
    });
    let contexts = entries.iter().map(|entry| {
        let mut context = json!({"cluster": entry.name, "user": USER});
        let known = before.and_then(|before| named(before, "contexts", entry.name)?.get("context"));
        let namespace = known.and_then(|known| known.get("namespace"));
        if let (Some(fields), Some(namespace)) = (context.as_object_mut(), namespace) {
            fields.insert("namespace".to_owned(), namespace.clone());
        }
        json!({"name": entry.name, "context": context})
    });
    let user = json!({
        "name": USER,
        "user": {
            "client-certificate-data": encoded(&client.certificate_pem),
            "client-key-data": encoded(&client.key_pem),
        },
    });
    let mut document = before
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_else(|| Map::from_iter([("apiVersion".to_owned(), json!("v1"))]));
    document.insert("kind".to_owned(), json!("Config"));
    forget(&mut document, entries);
    put(&mut document, "clusters", clusters.collect());
    put(&mut document, "contexts", contexts.collect());
    put(&mut document, "users", vec![user]);
    let mut document = Value::Object(document);
    let current = document.get("current-context").and_then(Value::as_str);
    let stays = current.is_some_and(|name| named(&document, "contexts", name).is_some());
    if let (Some(fields), false) = (document.as_object_mut(), stays) {
        let first = entries.first().map_or("", |entry| entry.name);
        fields.insert("current-context".to_owned(), json!(first));
    }
    document
}

/// The file of the last time, if there is one that can be read. Kubectl writes YAML where this program wrote JSON.
pub(crate) fn read(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).ok()?;
    serde_saphyr::from_str::<Value>(&text)
        .ok()
        .filter(Value::is_object)
}

/// Writes the file, for its owner alone. JSON is YAML, so every client can read it.
pub(crate) fn write(path: &Path, document: &Value) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    listen::write_private(path, &format!("{text}\n"))
}

/// Takes away members of the last time that are not there any more.
fn forget(document: &mut Map<String, Value>, entries: &[Entry<'_>]) {
    let contexts = document.get("contexts").and_then(Value::as_array);
    let gone: BTreeSet<String> = contexts
        .into_iter()
        .flatten()
        .filter_map(|item| {
            let (name, context) = (item.get("name")?.as_str()?, item.get("context")?);
            let is_own = context.get("user")?.as_str()? == USER
                && context.get("cluster")?.as_str()? == name
                && entries.iter().all(|entry| entry.name != name);
            is_own.then(|| name.to_owned())
        })
        .collect();
    for list in ["contexts", "clusters"] {
        if let Some(items) = document.get_mut(list).and_then(Value::as_array_mut) {
            items.retain(|item| {
                let name = item.get("name").and_then(Value::as_str);
                name.is_none_or(|name| !gone.contains(name))
            });
        }
    }
}

/// Puts items into a list, each in the place of the one of its name.
fn put(document: &mut Map<String, Value>, list: &str, items: Vec<Value>) {
    let known = document.get(list).and_then(Value::as_array);
    let mut kept: Vec<Value> = known.cloned().unwrap_or_default();
    let names: BTreeSet<&str> = items
        .iter()
        .filter_map(|item| item.get("name")?.as_str())
        .collect();
    kept.retain(|item| {
        let name = item.get("name").and_then(Value::as_str);
        name.is_some_and(|name| !names.contains(name))
    });
    let items: Vec<Value> = items.iter().cloned().chain(kept).collect();
    document.insert(list.to_owned(), items.into());
}

fn named<'v>(document: &'v Value, list: &str, name: &str) -> Option<&'v Value> {
    let mut items = document.get(list)?.as_array()?.iter();
    items.find(|item| item.get("name").and_then(Value::as_str) == Some(name))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn client() -> Issued {
        Issued {
            certificate_pem: "c".to_owned(),
            key_pem: "k".to_owned(),
            renew_at: SystemTime::UNIX_EPOCH,
            expires_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_a_user_set_stays_and_what_members_show_is_new() {
        let client = client();
        let entry = |port: u16| Entry {
            name: "m1",
            server: format!("https://127.0.0.1:{port}"),
        };
        let first = document(&[entry(4001)], "a", &client, None);
        assert_eq!(first["current-context"], "m1");

        let mut edited = first.clone();
        edited["contexts"][0]["context"]["namespace"] = json!("shop");
        edited["contexts"][0]["context"]["user"] = json!("somebody");
        let other = json!({"name": "mine", "context": {"cluster": "m1", "user": "me"}});
        edited["contexts"].as_array_mut().unwrap().push(other);
        edited["current-context"] = json!("mine");
        let second = document(&[entry(4002)], "a", &client, Some(&edited));
        assert_eq!(second["current-context"], "mine");
        let server = &named(&second, "clusters", "m1").unwrap()["cluster"]["server"];
        assert_eq!(server, "https://127.0.0.1:4002");
        let context = |name: &str| named(&second, "contexts", name).unwrap()["context"].clone();
        assert_eq!(
            context("m1"),
            json!({"cluster": "m1", "user": USER, "namespace": "shop"})
        );
        assert_eq!(context("mine"), json!({"cluster": "m1", "user": "me"}));
        assert_eq!(second["clusters"].as_array().map(Vec::len), Some(1));

        // A member of another name takes the place of one that is gone.
        let renamed = [Entry {
            name: "m2",
            server: "https://127.0.0.1:4003".to_owned(),
        }];
        let third = document(&renamed, "a", &client, Some(&first));
        assert_eq!(third["current-context"], "m2");
        assert_eq!(third["clusters"].as_array().map(Vec::len), Some(1));
        assert_eq!(third["contexts"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_current_context_that_is_gone_gives_way() {
        let client = client();
        let entries = [Entry {
            name: "m1",
            server: "https://127.0.0.1:1".to_owned(),
        }];
        for (before, current) in [
            (json!({"current-context": "gone"}), "m1"),
            (json!({"contexts": 7, "clusters": "x"}), "m1"),
            (
                json!({"contexts": [{"name": "a"}], "current-context": "a"}),
                "a",
            ),
        ] {
            let made = document(&entries, "", &client, Some(&before));
            assert_eq!(made["current-context"], current, "{before}");
            assert_eq!(made["clusters"][0]["name"], "m1");
        }
    }
}

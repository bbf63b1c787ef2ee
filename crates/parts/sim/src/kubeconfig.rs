//! The file a client of members needs.

use std::io;
use std::path::Path;

use listen::Issued;
use serde_json::{Value, json};

/// A cluster a client can reach.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: String,
}

/// A kubeconfig with one context for each cluster, all with the same authority and user; the first is current.
pub(crate) fn document(entries: &[Entry<'_>], authority_pem: &str, client: &Issued) -> Value {
    let encoded = |text: &str| serve::encoding::base64(text.as_bytes());
    let authority = encoded(authority_pem);
    let user = "karavel-sim-admin";
    let clusters = entries.iter().map(|entry| {
        json!({
            "name": entry.name,
            "cluster": {"server": entry.server, "certificate-authority-data": authority},
        })
    });
    let contexts = entries
        .iter()
        .map(|entry| json!({"name": entry.name, "context": {"cluster": entry.name, "user": user}}));
    json!({
        "apiVersion": "v1", "kind": "Config",
        "current-context": entries.first().map_or("", |entry| entry.name),
        "clusters": clusters.collect::<Vec<_>>(),
        "contexts": contexts.collect::<Vec<_>>(),
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": encoded(&client.certificate_pem),
                "client-key-data": encoded(&client.key_pem),
            },
        }],
    })
}

/// Writes the file, for its owner alone. JSON is YAML, so every client can read it.
pub(crate) fn write(path: &Path, document: &Value) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    listen::write_private(path, &format!("{text}\n"))
}

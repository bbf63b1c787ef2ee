//! The file a client needs: where the server is, whom to trust, who one is.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use listen::Issued;
use serde_json::{Value, json};

/// The context clients find themselves in; what users of Karmada expect.
pub(crate) const CONTEXT: &str = "karmada-apiserver";

/// A kubeconfig with one context.
pub(crate) fn document(server: &str, authority_pem: &str, client: &Issued) -> Value {
    let encoded = |text: &str| serve::encoding::base64(text.as_bytes());
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": CONTEXT,
        "clusters": [{
            "name": CONTEXT,
            "cluster": {"server": server, "certificate-authority-data": encoded(authority_pem)},
        }],
        "users": [{
            "name": CONTEXT,
            "user": {
                "client-certificate-data": encoded(&client.certificate_pem),
                "client-key-data": encoded(&client.key_pem),
            },
        }],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
    })
}

/// Writes a file only its owner can read, whole or not at all. JSON is YAML, so every client can read it.
pub(crate) fn write(path: &Path, document: &Value) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(serde_json::to_string_pretty(document)?.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

//! The file a client needs: where the server is, whom to trust, who one is.

use std::io;
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

/// What newcomers may know: where the server is and whom to trust, and nobody's credentials. JSON is YAML.
pub(crate) fn public(server: &str, authority_pem: &str) -> String {
    let authority = serve::encoding::base64(authority_pem.as_bytes());
    let document = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "", "contexts": [], "users": [],
        "clusters": [{"name": "", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "preferences": {},
    });
    document.to_string()
}

/// Writes the file. JSON is YAML, so every client can read it.
pub(crate) fn write(path: &Path, document: &Value) -> io::Result<()> {
    listen::write_private(
        path,
        &format!("{}\n", serde_json::to_string_pretty(document)?),
    )
}

//! Where the server is and who one is: what is needed of a kubeconfig to talk to a server of ours.

use std::path::Path;

use object::Value;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::failure::Failure;

/// A server and how to talk to it.
pub(crate) struct Access {
    /// Such as `127.0.0.1:5443`.
    pub(crate) authority: String,
    /// Whom to trust and what to show.
    pub(crate) tls: ClientConfig,
}

/// Reads the current context of a kubeconfig.
pub(crate) fn read(path: &Path) -> Result<Access, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::refused(
            format!("cannot read kubeconfig {shown}: {error}"),
            "name the kubeconfig of a running server with --kubeconfig; it is in the server's data directory",
        )
    })?;
    let unusable = |why: &str| {
        Failure::refused(
            format!("kubeconfig {shown} cannot be used: {why}"),
            "use the file the server wrote into its data directory",
        )
    };
    let config: Value = serde_saphyr::from_str(&text).map_err(|_| unusable("it is not YAML"))?;
    let context = config["current-context"]
        .as_str()
        .ok_or_else(|| unusable("it has no current-context"))?;
    let context = &named(&config["contexts"], context)
        .ok_or_else(|| unusable("its current context is missing"))?["context"];
    let part = |list: &str, name: &str| {
        let name = context[name].as_str()?;
        named(&config[list], name)
    };
    let cluster =
        &part("clusters", "cluster").ok_or_else(|| unusable("its cluster is missing"))?["cluster"];
    let user = &part("users", "user").ok_or_else(|| unusable("its user is missing"))?["user"];
    let pem = |value: &Value, name: &str| {
        let text = value[name]
            .as_str()
            .ok_or_else(|| unusable(&format!("{name} is missing")))?;
        unbase64(text).ok_or_else(|| unusable(&format!("{name} is not base64")))
    };
    let server = cluster["server"].as_str().unwrap_or_default();
    let authority = server
        .strip_prefix("https://")
        .ok_or_else(|| unusable("its server is not an https address"))?;
    let mut roots = RootCertStore::empty();
    let trusted = pem(cluster, "certificate-authority-data")?;
    let trusted = CertificateDer::from_pem_slice(&trusted)
        .map_err(|_| unusable("its authority is no certificate"))?;
    roots
        .add(trusted)
        .map_err(|_| unusable("its authority is no certificate"))?;
    let chain = CertificateDer::from_pem_slice(&pem(user, "client-certificate-data")?)
        .map_err(|_| unusable("its client certificate is none"))?;
    let key = PrivateKeyDer::from_pem_slice(&pem(user, "client-key-data")?)
        .map_err(|_| unusable("its client key is none"))?;
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unusable("TLS cannot be set up"))?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![chain], key)
        .map_err(|_| unusable("its client certificate and key do not belong together"))?;
    Ok(Access {
        authority: authority.trim_end_matches('/').to_owned(),
        tls,
    })
}

fn named<'v>(list: &'v Value, name: &str) -> Option<&'v Value> {
    list.as_array()?.iter().find(|entry| entry["name"] == name)
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut bits: u32 = 0;
    let mut count = 0;
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for byte in text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
    {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(out)
}

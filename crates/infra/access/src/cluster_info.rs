//! What newcomers may know before they are known: where the server is and whom to trust, vouched for by each token.
//!
//! Reads:  the ConfigMap `kube-public/cluster-info`, bootstrap tokens in `kube-system`.
//! Writes: that ConfigMap: the kubeconfig if there is none, the authority in it if it is not the server's, and one signature
//!         for each token that may sign; deletes tokens whose time is over.
//! Keeps:  a signature for every such token and none for any other; nobody is told to trust an authority that was replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Method;
use object::Value;
use object::time::Time;
use serde_json::json;
use serve::cache;
use serve::server::Server;

use crate::bootstrap_token::{self, NAME_PREFIX, NAMESPACE, SECRET_TYPE};
use crate::following::{Follower, write};
use crate::service_account::secret_text;

const PUBLIC: &str = "kube-public";
const NAME: &str = "cluster-info";
/// The field with what is vouched for.
const KUBECONFIG: &str = "kubeconfig";
/// Where a kubeconfig has the authority.
const AUTHORITY: &str = "certificate-authority-data";
/// What fields with signatures begin with; the token's id follows.
const SIGNATURE: &str = "jws-kubeconfig-";
/// How often tokens are looked at without a change.
const LONGEST_REST: Duration = Duration::from_secs(3600);

/// Keeps the ConfigMap signed, until it is dropped. `kubeconfig` is what newcomers are told if nobody says otherwise.
pub async fn follow(server: Arc<Server>, kubeconfig: String) {
    let mut secrets = Follower::new(&server, "", "secrets");
    let mut maps = Follower::new(&server, "", "configmaps");
    loop {
        // Which of them changed does not matter: there are few tokens, and they are read together.
        secrets.changed_keys();
        maps.changed_keys();
        let now = server.now();
        let mut signers = BTreeMap::new();
        let mut rest = LONGEST_REST;
        for key in secrets.keys_in(NAMESPACE) {
            let Some(record) = secrets.collection.find(&key) else {
                continue;
            };
            if !record.head().name.starts_with(NAME_PREFIX) {
                continue;
            }
            let secret = record.value();
            if secret["type"] != SECRET_TYPE {
                continue;
            }
            if bootstrap_token::is_expired(&secret, now) {
                delete(&server, record.head().name, record.head().uid).await;
                continue;
            }
            rest = rest.min(until_expiry(&secret, now));
            if let Some((id, key)) = signer(&secret) {
                signers.insert(id, key);
            }
        }
        let existing = maps.collection.find(&cache::object_key(PUBLIC, NAME));
        let existing = existing.map(|record| record.value());
        if let Some(wanted) = signed(existing.as_ref(), &kubeconfig, &signers) {
            let collection = format!("/api/v1/namespaces/{PUBLIC}/configmaps");
            match existing {
                None => write(&server, Method::POST, &collection, &wanted).await,
                Some(_) => {
                    let path = format!("{collection}/{NAME}");
                    write(&server, Method::PUT, &path, &wanted).await;
                }
            }
        }
        tokio::select! {
            () = secrets.changed() => {}
            () = maps.changed() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// The ConfigMap as it should be; `None` if it is so.
fn signed(
    existing: Option<&Value>,
    kubeconfig: &str,
    signers: &BTreeMap<String, String>,
) -> Option<Value> {
    let fresh = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": PUBLIC},
    });
    let mut map = existing.cloned().unwrap_or(fresh);
    if !map["data"].is_object() {
        map["data"] = json!({});
    }
    let told = map["data"][KUBECONFIG].as_str().map(str::to_owned);
    let told = told.filter(|told| !told.is_empty());
    let told = told.map_or_else(|| kubeconfig.to_owned(), |told| trusting(&told, kubeconfig));
    let data = map["data"].as_object_mut()?;
    data.insert(KUBECONFIG.to_owned(), json!(told));
    let is_current = |field: &str| {
        field
            .strip_prefix(SIGNATURE)
            .is_none_or(|id| signers.contains_key(id))
    };
    data.retain(|field, _| is_current(field));
    for (id, secret) in signers {
        data.insert(format!("{SIGNATURE}{id}"), json!(vouch(&told, id, secret)));
    }
    (existing != Some(&map)).then_some(map)
}

/// What newcomers are told, with the authority of the server's own kubeconfig. Where the server is remains what an
/// administrator said, and so do further authorities beside its own.
fn trusting(told: &str, kubeconfig: &str) -> String {
    let (Some(trusted), Some(own)) = (authority_in(told), authority_in(kubeconfig)) else {
        return told.to_owned();
    };
    let decoded = |text: &str| String::from_utf8(STANDARD.decode(text).ok()?).ok();
    let names_own = decoded(trusted)
        .zip(decoded(own))
        .is_some_and(|(trusted, own)| trusted.contains(own.trim()));
    if names_own {
        return told.to_owned();
    }
    told.replace(trusted, own)
}

/// The authority of the one cluster in a kubeconfig, be it JSON or YAML on lines.
fn authority_in(kubeconfig: &str) -> Option<&str> {
    let (_, rest) = kubeconfig.split_once(AUTHORITY)?;
    let value = rest.trim_start_matches(['"', '\'', ':', ' ']);
    let is_base64 = |char: char| char.is_ascii_alphanumeric() || "+/=".contains(char);
    let value = value.split(|char| !is_base64(char)).next()?;
    (!value.is_empty()).then_some(value)
}

/// A signature over a text that travels without it.
fn vouch(text: &str, id: &str, secret: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "kid": id}).to_string());
    let input = format!("{header}.{}", URL_SAFE_NO_PAD.encode(text));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, input.as_bytes()));
    format!("{header}..{signature}")
}

fn signer(secret: &Value) -> Option<(String, String)> {
    if secret_text(secret, "usage-bootstrap-signing")? != "true" {
        return None;
    }
    let (id, key) = (
        secret_text(secret, "token-id")?,
        secret_text(secret, "token-secret")?,
    );
    // Upstream: a Secret speaks for the token it is named after and for no other.
    let name = secret["metadata"]["name"].as_str()?;
    if name.strip_prefix(NAME_PREFIX)? != id {
        return None;
    }
    bootstrap_token::split(&format!("{id}.{key}"))?;
    Some((id, key))
}

fn until_expiry(secret: &Value, now: Time) -> Duration {
    let end = secret_text(secret, "expiration").and_then(|end| end.parse::<Time>().ok());
    let seconds = end.map(|end| end.seconds_since(now).max(1).unsigned_abs());
    seconds.map_or(LONGEST_REST, Duration::from_secs)
}

async fn delete(server: &Server, name: &str, uid: &str) {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}");
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid},
    });
    write(server, Method::DELETE, &path, &options).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_vouches_for_what_newcomers_are_told() {
        let one: BTreeMap<String, String> =
            [("abcdef".to_owned(), "0123456789abcdef".to_owned())].into();
        let made = signed(None, "server: x", &one).unwrap();
        assert_eq!(made["data"][KUBECONFIG], "server: x");
        let signature = made["data"]["jws-kubeconfig-abcdef"].as_str().unwrap();
        // {"alg":"HS256","kid":"abcdef"}, nothing between, and a MAC made with another program.
        assert_eq!(
            signature,
            "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..12QOLDu0CdCYAf1dYg_1gIYYh3nF5e4GYNIm1MfG10o"
        );
        assert_eq!(signed(Some(&made), "server: x", &one), None);
        let mut changed = made.clone();
        changed["data"][KUBECONFIG] = json!("server: y");
        let again = signed(Some(&changed), "server: x", &one).unwrap();
        assert_eq!(
            again["data"][KUBECONFIG], "server: y",
            "an administrator's word counts"
        );
        assert_ne!(again["data"]["jws-kubeconfig-abcdef"], signature);
        let none = signed(Some(&made), "server: x", &BTreeMap::new()).unwrap();
        assert_eq!(none["data"], json!({KUBECONFIG: "server: x"}));
    }

    #[test]
    fn a_secret_signs_by_the_token_it_is_named_after() {
        for (name, id, usage, signs) in [
            ("bootstrap-token-abcdef", "abcdef", "true", true),
            ("bootstrap-token-abcdef", "abcdeg", "true", false),
            ("bootstrap-token-abcdef", "abcdef", "false", false),
            ("bootstrap-token-", "", "true", false),
            ("abcdef", "abcdef", "true", false),
        ] {
            let data = json!({
                "token-id": STANDARD.encode(id), "token-secret": STANDARD.encode("0123456789abcdef"),
                "usage-bootstrap-signing": STANDARD.encode(usage),
            });
            let secret = json!({"metadata": {"name": name}, "data": data});
            let found = signer(&secret).map(|(id, _)| id);
            assert_eq!(found.as_deref(), signs.then_some(id), "{name} {id} {usage}");
        }
    }

    #[test]
    fn newcomers_are_told_of_the_authority_there_is_now() {
        let own = STANDARD.encode("-- new --\n");
        let kubeconfig = format!(r#"{{"server":"x","{AUTHORITY}":"{own}"}}"#);
        let encoded = |text: &str| STANDARD.encode(text);
        for (told, authority, expected) in [
            (
                r#"{"server":"y","AUTHORITY":"CA"}"#,
                "-- old --\n",
                "replaced",
            ),
            ("server: y\nAUTHORITY: CA\n", "-- old --\n", "replaced"),
            ("server: y\nAUTHORITY: 'CA'\n", "-- old --\n", "replaced"),
            ("server: y\nAUTHORITY: CA\n", "-- new --\n", "kept"),
            (
                "server: y\nAUTHORITY: CA\n",
                "-- old --\n-- new --\n",
                "kept",
            ),
            ("server: y\n", "", "kept"),
        ] {
            let text = |authority: &str| {
                told.replace("AUTHORITY", AUTHORITY)
                    .replace("CA", authority)
            };
            let before = text(&encoded(authority));
            let after = match expected {
                "replaced" => text(&own),
                _ => before.clone(),
            };
            let existing = json!({"data": {KUBECONFIG: before}});
            let made = signed(Some(&existing), &kubeconfig, &BTreeMap::new());
            let made = made.unwrap_or(existing);
            assert_eq!(made["data"][KUBECONFIG], after, "{told} {authority}");
        }
    }
}

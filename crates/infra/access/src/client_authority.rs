//! Tells servers beside this one by which authority its clients are known.
//!
//! Reads:  one ConfigMap.
//! Writes: that ConfigMap, `kube-system/extension-apiserver-authentication`.
//! Keeps:  it is there and names the authority there is now; no front proxy speaks for others, so none is named.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use object::Value;
use serde_json::json;
use serve::cache::{self, Collection};
use serve::server::Server;

use crate::following::{Follower, write};

const NAMESPACE: &str = "kube-system";
/// What the ConfigMap is called. Upstream: the same; whoever asks this server about its clients reads it.
const NAME: &str = "extension-apiserver-authentication";
const FIELD: &str = "client-ca-file";
/// How long to wait after a write that was refused, or that others undid at once.
const RETRY: Duration = Duration::from_secs(10);

/// Keeps the ConfigMap, until it is dropped. `authority_pem` is what clients' certificates are judged by.
pub async fn follow(server: Arc<Server>, authority_pem: String) {
    let mut maps = Follower::new(&server, "", "configmaps");
    let key = cache::object_key(NAMESPACE, NAME);
    loop {
        let changed = maps.changed_keys();
        // After too many changes at once nobody says that it is gone.
        if changed.contains(&key) || maps.collection.find(&key).is_none() {
            while !put_right(&server, &maps.collection, &authority_pem).await {
                tokio::time::sleep(RETRY).await;
            }
        }
        maps.changed().await;
    }
}

/// Writes what the ConfigMap lacks, and says whether it then is as it should be.
async fn put_right(server: &Server, maps: &Collection, authority_pem: &str) -> bool {
    let existing = || {
        let record = maps.find(&cache::object_key(NAMESPACE, NAME));
        record.map(|record| record.value())
    };
    let before = existing();
    let Some(wanted) = told(before.as_ref(), authority_pem) else {
        return true;
    };
    let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    match before {
        None => write(server, Method::POST, &collection, &wanted).await,
        Some(_) => {
            let path = format!("{collection}/{NAME}");
            write(server, Method::PUT, &path, &wanted).await;
        }
    }
    told(existing().as_ref(), authority_pem).is_none()
}

/// The ConfigMap as it should be; `None` if it is so. What others wrote beside the authority stays.
fn told(existing: Option<&Value>, authority_pem: &str) -> Option<Value> {
    let fresh = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE},
    });
    let mut wanted = existing.cloned().unwrap_or(fresh);
    if !wanted["data"].is_object() {
        wanted["data"] = json!({});
    }
    wanted["data"][FIELD] = json!(authority_pem);
    (existing != Some(&wanted)).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_there_is_now_is_told_and_the_rest_left_alone() {
        let made = told(None, "PEM").unwrap();
        assert_eq!(made["data"], json!({FIELD: "PEM"}));
        let mut more = made.clone();
        more["data"]["requestheader-client-ca-file"] = json!("other");
        let mut old = more.clone();
        old["data"][FIELD] = json!("OLD");
        let mut bare = made.clone();
        bare.as_object_mut().unwrap().shift_remove("data");
        for (existing, expected) in [
            (&made, None),
            (&more, None),
            (&old, Some(&more)),
            (&bare, Some(&made)),
        ] {
            let wanted = told(Some(existing), "PEM");
            assert_eq!(
                wanted.map(|wanted| wanted["data"].clone()),
                expected.map(|it| it["data"].clone())
            );
        }
    }
}

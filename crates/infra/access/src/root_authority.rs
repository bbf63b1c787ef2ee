//! Tells every namespace whom clients of this API trust.
//!
//! Reads:  namespaces, the ConfigMaps of one name.
//! Writes: the ConfigMap `kube-root-ca.crt` of each namespace.
//! Keeps:  no namespace that stays is without it, and it says what the server says of itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use object::Value;
use serde_json::json;
use serve::cache;
use serve::server::Server;

use crate::following::{Follower, write};

/// What the ConfigMap is called. Upstream: the same, and pods mount it by this name.
pub const NAME: &str = "kube-root-ca.crt";
/// The field with the certificate.
const FIELD: &str = "ca.crt";
const NOTE: &str = "kubernetes.io/description";
const NOTE_TEXT: &str =
    "The authority behind the certificate of this API server, for whoever calls it.";

/// Keeps the ConfigMaps, until it is dropped. `authority_pem` is what clients must trust.
pub async fn follow(server: Arc<Server>, authority_pem: String) {
    let mut namespaces = Follower::new(&server, "", "namespaces");
    let mut maps = Follower::new(&server, "", "configmaps");
    loop {
        let mut dirty: BTreeSet<String> = namespaces.changed_keys();
        for key in maps.changed_keys() {
            if let Some((namespace, NAME)) = key.split_once('/') {
                dirty.insert(namespace.to_owned());
            }
        }
        for namespace in dirty {
            let stays = namespaces
                .collection
                .find(&namespace)
                .is_some_and(|record| !record.head().terminating);
            if !stays {
                continue;
            }
            let existing = maps.collection.find(&cache::object_key(&namespace, NAME));
            let existing = existing.map(|record| record.value());
            let Some(wanted) = told(existing.as_ref(), &namespace, &authority_pem) else {
                continue;
            };
            let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
            match existing {
                None => write(&server, Method::POST, &collection, &wanted).await,
                Some(_) => {
                    let path = format!("{collection}/{NAME}");
                    write(&server, Method::PUT, &path, &wanted).await;
                }
            }
        }
        tokio::select! {
            () = namespaces.changed() => {}
            () = maps.changed() => {}
        }
    }
}

/// The ConfigMap as it should be; `None` if it is so. What others wrote beside the data stays.
fn told(existing: Option<&Value>, namespace: &str, authority_pem: &str) -> Option<Value> {
    let data = json!({FIELD: authority_pem});
    let Some(existing) = existing else {
        return Some(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": namespace, "annotations": {NOTE: NOTE_TEXT}},
            "data": data,
        }));
    };
    if existing["data"] == data {
        return None;
    }
    let mut wanted = existing.clone();
    wanted["data"] = data;
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_of_itself_is_put_right_and_the_rest_left_alone() {
        let made = told(None, "shop", "PEM").unwrap();
        assert_eq!(made["metadata"]["namespace"], "shop");
        assert_eq!(made["data"], json!({"ca.crt": "PEM"}));
        let mut labelled = made.clone();
        labelled["metadata"]["labels"] = json!({"team": "a"});
        let mut spoilt = labelled.clone();
        spoilt["data"] = json!({"ca.crt": "", "more": "x"});
        let mut emptied = labelled.clone();
        emptied.as_object_mut().unwrap().shift_remove("data");
        for (existing, expected) in [(&made, None), (&labelled, None), (&spoilt, Some(&labelled))] {
            assert_eq!(told(Some(existing), "shop", "PEM").as_ref(), expected);
        }
        let again = told(Some(&emptied), "shop", "PEM").unwrap();
        assert_eq!(again["data"], labelled["data"]);
    }
}

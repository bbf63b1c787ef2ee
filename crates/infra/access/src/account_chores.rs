//! Keeps accounts and their Secrets in step: every namespace has the account `default`, every Secret made for a token
//! gets one, and Secrets of accounts that are gone go too.
//!
//! Reads:  namespaces, service accounts, Secrets.
//! Writes: service accounts named `default`; Secrets of type `kubernetes.io/service-account-token`.
//! Keeps:  a token in every such Secret whose account exists, and no such Secret without its account.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use object::Value;
use serde_json::json;
use serve::encoding::base64;
use serve::record::Record;
use serve::server::Server;

use crate::access::Access;
use crate::following::{Follower, write};

/// The type of Secrets that hold tokens.
pub const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
/// Names the account a Secret is for.
const NAME: &str = "kubernetes.io/service-account.name";
/// Names the uid of the account a Secret is for.
const UID: &str = "kubernetes.io/service-account.uid";

/// What a chore does about one Secret.
#[derive(Clone, Debug, PartialEq)]
enum Plan {
    Nothing,
    /// The Secret with its token.
    Fill(Value),
    /// The account is gone, or is another one of the same name.
    Delete,
}

/// Does the chores until it is dropped. `authority_pem` is what users of the tokens must trust.
pub async fn follow(server: Arc<Server>, access: Arc<Access>, authority_pem: String) {
    let mut namespaces = Follower::new(&server, "", "namespaces");
    let mut accounts = Follower::new(&server, "", "serviceaccounts");
    let mut secrets = Follower::new(&server, "", "secrets");
    loop {
        let mut lacking: BTreeSet<String> = namespaces.changed_keys();
        let mut dirty: BTreeSet<String> = secrets.changed_keys();
        for key in accounts.changed_keys() {
            let Some((namespace, name)) = key.split_once('/') else {
                continue;
            };
            if name == "default" {
                lacking.insert(namespace.to_owned());
            }
            dirty.extend(secrets.keys_in(namespace));
        }
        for namespace in lacking {
            let is_there = namespaces
                .collection
                .find(&namespace)
                .is_some_and(|record| !record.head().terminating);
            let has_account = access.accounts().account(&namespace, "default").is_some();
            if is_there && !has_account {
                create_account(&server, &namespace).await;
            }
        }
        for key in dirty {
            if let Some(record) = secrets.collection.find(&key) {
                see_to(&server, &access, &record, &authority_pem).await;
            }
        }
        tokio::select! {
            () = namespaces.changed() => {}
            () = accounts.changed() => {}
            () = secrets.changed() => {}
        }
    }
}

async fn see_to(server: &Server, access: &Access, record: &Record, authority_pem: &str) {
    let head = record.head();
    let secret = record.value();
    let account = secret["metadata"]["annotations"][NAME]
        .as_str()
        .unwrap_or_default();
    if secret["type"] != TOKEN_TYPE || account.is_empty() || head.terminating {
        return;
    }
    let found = access.accounts().account(head.namespace, account);
    let uid = found.as_ref().map(|found| found.head().uid.to_string());
    let issue = |uid: &str| {
        access
            .accounts()
            .issue_legacy(head.namespace, head.name, account, uid)
    };
    let plan = plan(&secret, uid.as_deref(), authority_pem, issue);
    let path = format!(
        "/api/v1/namespaces/{}/secrets/{}",
        head.namespace, head.name
    );
    let (method, body) = match plan {
        Plan::Nothing => return,
        Plan::Fill(secret) => (Method::PUT, secret),
        Plan::Delete => (
            Method::DELETE,
            json!({
                "apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": {"uid": head.uid, "resourceVersion": record.revision().to_string()},
            }),
        ),
    };
    write(server, method, &path, &body).await;
}

/// What a Secret for a token lacks. `uid` is the account's, if there is one; `issue` makes a token for it.
fn plan(
    secret: &Value,
    uid: Option<&str>,
    authority_pem: &str,
    issue: impl FnOnce(&str) -> Option<String>,
) -> Plan {
    let Some(uid) = uid else { return Plan::Delete };
    let said = secret["metadata"]["annotations"][UID]
        .as_str()
        .unwrap_or_default();
    if !said.is_empty() && said != uid {
        return Plan::Delete;
    }
    let mut filled = secret.clone();
    filled["metadata"]["annotations"][UID] = json!(uid);
    let namespace = secret["metadata"]["namespace"].as_str().unwrap_or_default();
    if !filled["data"].is_object() {
        filled["data"] = json!({});
    }
    for (field, text) in [("ca.crt", authority_pem), ("namespace", namespace)] {
        filled["data"][field] = json!(base64(text.as_bytes()));
    }
    if filled["data"]["token"].as_str().is_none_or(str::is_empty) {
        let Some(token) = issue(uid) else {
            return Plan::Nothing;
        };
        filled["data"]["token"] = json!(base64(token.as_bytes()));
    }
    if filled == *secret {
        Plan::Nothing
    } else {
        Plan::Fill(filled)
    }
}

async fn create_account(server: &Server, namespace: &str) {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace},
    });
    write(server, Method::POST, &path, &account).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_secret_is_filled_once_and_goes_with_its_account() {
        let bare = json!({
            "type": TOKEN_TYPE, "metadata": {"name": "s", "namespace": "shop", "annotations": {NAME: "till"}},
        });
        let issue = |uid: &str| Some(format!("token of {uid}"));
        let Plan::Fill(filled) = plan(&bare, Some("u1"), "PEM", issue) else {
            panic!("a bare secret is filled");
        };
        assert_eq!(
            filled["data"],
            json!({"ca.crt": base64(b"PEM"), "namespace": base64(b"shop"), "token": base64(b"token of u1")})
        );
        assert_eq!(filled["metadata"]["annotations"][UID], "u1");
        for (secret, uid, expected) in [
            (&filled, Some("u1"), Plan::Nothing),
            (&filled, Some("u2"), Plan::Delete),
            (&filled, None, Plan::Delete),
            (&bare, None, Plan::Delete),
        ] {
            assert_eq!(plan(secret, uid, "PEM", issue), expected);
        }
        let Plan::Fill(renewed) = plan(&filled, Some("u1"), "NEW", |_| None) else {
            panic!("another authority is told");
        };
        assert_eq!(renewed["data"]["token"], filled["data"]["token"]);
    }
}

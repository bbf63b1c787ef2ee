//! Tokens of service accounts, for programs that act as them.

use client::Client;
use intent::Part;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use super::Writing;
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reading;

/// What a token is for.
#[derive(Clone, Debug, Default)]
pub struct AccountTokenQuery {
    /// The service account.
    pub account: String,
    /// Who shall accept it; the server itself if empty.
    pub audiences: Vec<String>,
    /// How long it shall hold; the server's choice if absent.
    pub seconds: Option<u64>,
    /// The object that it ends with: its kind, name and uid.
    pub bound_to: Option<(String, String, String)>,
    /// What all writes share.
    pub writing: Writing,
}

/// A new token of a service account; the whole answer of the server in JSON or YAML.
pub async fn create_account_token(
    control: &Client,
    query: &AccountTokenQuery,
) -> Result<String, Failure> {
    let kind = ResourceType::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
    let key = ObjectKey::namespaced(query.writing.namespace(control), query.account.as_str());
    let body = request(query)?;
    let part = Part::Named("token".into());
    let answer = match control.create_part(&kind, &key, &part, &body).await {
        Ok(answer) => answer,
        Err(error) => return Err(missing(control, &kind, &key, &error).await),
    };
    match query.writing.document() {
        Some(output) => reading::show_objects(vec![answer.into_value()], output),
        None => match answer.text_at(&["status", "token"]) {
            Some(token) if !token.is_empty() => Ok(format!("{token}\n")),
            _ => Err(Failure::failed(
                "the server returned no token",
                "see the server's log",
            )),
        },
    }
}

fn request(query: &AccountTokenQuery) -> Result<Object, Failure> {
    let mut spec = json!({"audiences": query.audiences});
    if let Some(seconds) = query.seconds {
        spec["expirationSeconds"] = json!(seconds);
    }
    if let Some((kind, name, uid)) = &query.bound_to {
        let version = match kind.as_str() {
            "Pod" | "Secret" | "Node" => "v1",
            other => {
                return Err(Failure::refused(
                    format!("a token cannot be bound to a {other:?}"),
                    "choose --bound-object-kind Pod, Secret or Node",
                ));
            }
        };
        if name.is_empty() {
            return Err(Failure::refused(
                "--bound-object-name is required if --bound-object-kind is provided",
                "add --bound-object-name",
            ));
        }
        let mut bound = json!({"kind": kind, "apiVersion": version, "name": name});
        if !uid.is_empty() {
            bound["uid"] = Value::from(uid.as_str());
        }
        spec["boundObjectRef"] = bound;
    }
    let kind = GroupVersionKind::from_api_version("authentication.k8s.io/v1", "TokenRequest");
    let kind = kind.map_err(|error| Failure::failed(error.to_string(), "report this mistake"))?;
    let mut object = Object::new(&kind, &ObjectKey::cluster(""));
    object.fields_mut().insert("spec".to_owned(), spec);
    object.remove(&["metadata", "name"]);
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_was_typed() {
        let bound = |kind: &str, name: &str| {
            let bound_to = Some((kind.to_owned(), name.to_owned(), String::new()));
            let query = AccountTokenQuery {
                audiences: vec!["a".to_owned()],
                seconds: Some(600),
                bound_to,
                ..AccountTokenQuery::default()
            };
            request(&query).map(|made| made.at(&["spec"]).cloned().unwrap_or_default())
        };
        assert_eq!(
            bound("Pod", "p").unwrap(),
            json!({"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}})
        );
        assert!(bound("Service", "p").is_err());
        assert!(bound("Pod", "").is_err());
    }
}

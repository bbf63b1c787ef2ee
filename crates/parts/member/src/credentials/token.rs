//! Tokens of a member's accounts: what they say of themselves, and how new ones are asked for.

use client::{CallError, Client};
use intent::Part;
use object::base64;
use object::time::Time;
use object::{GroupVersionKind, Object, ObjectKey, Value};
use serde_json::json;

use crate::resources;

/// How long a token is asked to last: long enough for a control plane that is away for weeks, short enough that one which
/// leaked is worth nothing after a while. A member may give less.
pub const LIFETIME_SECONDS: i64 = 30 * 24 * 3600;

/// What a token says of itself. Nobody checks here that it is true: it only decides when another one is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    /// Whose it is.
    pub(crate) account: ObjectKey,
    pub(crate) issued: Time,
    pub(crate) expires: Time,
}

impl Claims {
    /// Reads a token; `None` for one that never ends, or that is none of a service account's.
    pub(crate) fn of(token: &str) -> Option<Self> {
        let payload = token.split('.').nth(1)?;
        let standard: String = payload
            .chars()
            .map(|letter| match letter {
                '-' => '+',
                '_' => '/',
                other => other,
            })
            .collect();
        let padding = "=".repeat((4 - standard.len() % 4) % 4);
        let payload = base64::decode(&(standard + &padding))?;
        let payload: Value = serde_json::from_slice(&payload).ok()?;
        let seconds = |name: &str| payload.get(name).and_then(Value::as_i64);
        let about = payload.get("kubernetes.io")?;
        let namespace = about.get("namespace")?.as_str()?;
        let name = about.get("serviceaccount")?.get("name")?.as_str()?;
        Some(Self {
            account: ObjectKey::namespaced(namespace, name),
            issued: Time::from_unix_seconds(seconds("iat")?),
            expires: Time::from_unix_seconds(seconds("exp")?),
        })
    }

    /// When another one is asked for: once a third of the time has passed, so that trouble has two thirds to be mended.
    pub(crate) fn renewal(&self) -> Time {
        let lifetime = self.expires.seconds_since(self.issued).max(0);
        self.issued.plus_seconds(lifetime / 3)
    }
}

/// Asks a member for a token of one of its accounts that ends after so many seconds, or with the Secret of the account's
/// name. `None` if the member does not issue such tokens.
pub(crate) async fn issue(
    member: &Client,
    account: &ObjectKey,
    seconds: i64,
) -> Result<Option<String>, CallError> {
    let secret = member.get_metadata(&resources::secrets(), account).await;
    let secret = match secret {
        Ok(secret) => Some(secret),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let kind = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
    let mut request = Object::new(&kind, &ObjectKey::cluster(""));
    let mut spec = json!({"expirationSeconds": seconds});
    if let Some(secret) = secret {
        spec["boundObjectRef"] = json!({"apiVersion": "v1", "kind": "Secret", "name": secret.name(), "uid": secret.uid()});
    }
    request.fields_mut().shift_remove("metadata");
    request.fields_mut().insert("spec".to_owned(), spec);
    let part = Part::Named("token".into());
    let issued = member
        .create_part(&resources::service_accounts(), account, &part, &request)
        .await;
    match issued {
        Ok(issued) => {
            let token = issued.text_at(&["status", "token"]).unwrap_or_default();
            Ok((!token.is_empty()).then(|| token.to_owned()))
        }
        // The account, or the way to ask: older servers know only tokens in Secrets.
        Err(error) if error.is_not_found() || error.code() == 405 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token as accounts have it, without a signature.
    fn token(claims: &Value) -> String {
        let payload = base64::encode(claims.to_string().as_bytes());
        let payload = payload
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_");
        format!("e30.{payload}.")
    }

    #[test]
    fn tokens_say_whose_they_are_and_when_they_end() {
        let account =
            json!({"namespace": "karmada-cluster", "serviceaccount": {"name": "karmada-m1~?>"}});
        let whole = json!({"iat": 1000, "exp": 4600, "kubernetes.io": account});
        let claims = Claims::of(&token(&whole)).unwrap();
        assert_eq!(claims.account.to_string(), "karmada-cluster/karmada-m1~?>");
        assert_eq!(claims.expires, Time::from_unix_seconds(4600));
        assert_eq!(claims.renewal(), Time::from_unix_seconds(2200));
        for other in [
            token(&json!({"iat": 1000, "kubernetes.io": account})),
            token(&json!({"iat": 1000, "exp": 4600})),
            token(&json!({"exp": "soon"})),
            "opaque".to_owned(),
            "a.!.c".to_owned(),
            String::new(),
        ] {
            assert_eq!(Claims::of(&other), None, "{other}");
        }
    }
}

//! Tokens newcomers introduce themselves with: `abcdef.0123456789abcdef`, kept in Secrets of `kube-system`.

use std::sync::Arc;

use aws_lc_rs::constant_time;
use object::Value;
use object::time::Time;
use serve::cache::{self, Cache, Collection};
use serve::call::User;
use serve::server::Surroundings;

use crate::authenticate::{Authenticated, TokenAuthenticator, TokenError};
use crate::service_account::secret_text;

/// The type of the Secrets.
pub const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
/// The namespace of the Secrets.
pub const NAMESPACE: &str = "kube-system";
/// What their names begin with; the token's id follows.
pub const NAME_PREFIX: &str = "bootstrap-token-";
/// The group of everybody who shows such a token, and what further groups begin with.
const GROUP: &str = "system:bootstrappers";

/// Believes bootstrap tokens.
pub struct BootstrapTokens {
    secrets: Arc<Collection>,
    surroundings: Arc<dyn Surroundings>,
    /// Whom the tokens are meant for: this server.
    audiences: Vec<String>,
}

impl BootstrapTokens {
    /// The tokens in the Secrets of a cache.
    #[must_use]
    pub fn new(cache: &Cache, audiences: Vec<String>, surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            secrets: cache.collection(&cache::name_of("", "secrets")),
            surroundings,
            audiences,
        }
    }
}

impl TokenAuthenticator for BootstrapTokens {
    fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        let Some((id, secret)) = split(token) else {
            return Ok(None);
        };
        let key = cache::object_key(NAMESPACE, &format!("{NAME_PREFIX}{id}"));
        let Some(record) = self.secrets.find(&key) else {
            return Ok(None);
        };
        if record.head().terminating {
            return Ok(None);
        }
        let Some(user) = believe(&record.value(), id, secret, self.surroundings.now()) else {
            return Ok(None);
        };
        let shared = audiences
            .iter()
            .filter(|audience| self.audiences.contains(audience));
        Ok(Some(Authenticated {
            user,
            audiences: shared.cloned().collect(),
        }))
    }
}

/// The id and the secret of a token.
#[must_use]
pub fn split(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let is_part = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    (is_part(id, 6) && is_part(secret, 16)).then_some((id, secret))
}

/// The user a Secret makes of whoever knows its token.
fn believe(object: &Value, id: &str, secret: &str, now: Time) -> Option<User> {
    if object.get("type").and_then(Value::as_str) != Some(SECRET_TYPE) {
        return None;
    }
    let kept = secret_text(object, "token-secret")?;
    constant_time::verify_slices_are_equal(kept.as_bytes(), secret.as_bytes()).ok()?;
    if secret_text(object, "token-id")? != id || is_expired(object, now) {
        return None;
    }
    if secret_text(object, "usage-bootstrap-authentication")? != "true" {
        return None;
    }
    Some(User {
        name: format!("system:bootstrap:{id}"),
        groups: groups(object)?,
        ..User::default()
    })
}

/// Whether a token's time is over. One whose end cannot be read has none left.
#[must_use]
pub fn is_expired(secret: &Value, now: Time) -> bool {
    match secret_text(secret, "expiration") {
        None => false,
        Some(end) => end.parse::<Time>().map_or(true, |end| now >= end),
    }
}

/// The groups of whoever shows the token; `None` if one of them is not a bootstrapper's.
fn groups(secret: &Value) -> Option<Vec<String>> {
    let further = secret_text(secret, "auth-extra-groups").unwrap_or_default();
    let mut groups = vec![GROUP.to_owned()];
    for group in further
        .split(',')
        .map(str::trim)
        .filter(|group| !group.is_empty())
    {
        let rest = group.strip_prefix(GROUP)?.strip_prefix(':')?;
        let is_sound = rest.len() <= 256
            && rest.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b':' || byte == b'-'
            })
            && rest.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit());
        if !is_sound {
            return None;
        }
        groups.push(group.to_owned());
    }
    groups.sort();
    groups.dedup();
    Some(groups)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serve::encoding::base64;

    use super::*;

    #[test]
    fn a_token_is_believed_while_its_secret_says_so() {
        let now = Time::from_unix_seconds(1_700_000_000);
        let sound = [
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let cases: [Case<'_>; 9] = [
            (&[], Some("system:bootstrappers")),
            (
                &[("auth-extra-groups", "system:bootstrappers:a:b")],
                Some("system:bootstrappers,system:bootstrappers:a:b"),
            ),
            (&[("auth-extra-groups", "system:masters")], None),
            (&[("auth-extra-groups", "system:bootstrappers:")], None),
            (&[("token-secret", "0123456789abcdeX")], None),
            (&[("token-id", "abcdeg")], None),
            (&[("usage-bootstrap-authentication", "yes")], None),
            (
                &[("expiration", "2023-11-14T22:13:21Z")],
                Some("system:bootstrappers"),
            ),
            (&[("expiration", "2023-11-14T22:13:20Z")], None),
        ];
        for (changes, expected) in cases {
            let mut data = json!({});
            for (field, text) in sound.iter().chain(changes) {
                data[*field] = json!(base64(text.as_bytes()));
            }
            let secret = json!({"type": SECRET_TYPE, "data": data});
            let groups = believe(&secret, "abcdef", "0123456789abcdef", now)
                .map(|user| user.groups.join(","));
            assert_eq!(groups.as_deref(), expected, "{changes:?}");
        }
        let other = json!({"type": "Opaque", "data": {}});
        assert_eq!(believe(&other, "abcdef", "0123456789abcdef", now), None);
    }

    #[test]
    fn tokens_have_one_form() {
        for (token, is_token) in [
            ("abcdef.0123456789abcdef", true),
            ("abcde.0123456789abcdef", false),
            ("abcdef.0123456789abcde", false),
            ("Abcdef.0123456789abcdef", false),
            ("abcdef0123456789abcdef", false),
            ("abcdef.0123456789.bcdef", false),
        ] {
            assert_eq!(split(token).is_some(), is_token, "{token}");
        }
    }
}

//! Who is asking: the certificate of the connection, or the first authenticator that knows the token.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use listen::{CertifiedUser, Peer};
use serve::call::User;
use serve::server::Surroundings;
use serve::status::Status;

use crate::names::{self, ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::subprotocol;

/// What a user showed, among what else is known of them. Upstream: the same key.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// Knows users by tokens they show.
pub trait TokenAuthenticator: Send + Sync {
    /// The user of a token that is meant for one of `audiences`; `Ok(None)` if this is no token of a sort that is known
    /// here, an error if it is and must not be believed.
    fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError>;
}

/// A user, and whom the token that says so is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// Who it is.
    pub user: User,
    /// Those of the audiences asked about that the token is meant for.
    pub audiences: Vec<String>,
}

/// Why a token is not believed. The text never has any of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(pub String);

impl TokenError {
    /// A refusal.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// All ways to say who one is.
#[derive(Clone)]
pub struct Authenticators {
    tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// Whom tokens must be meant for when they are shown to this server.
    audiences: Vec<String>,
    surroundings: Arc<dyn Surroundings>,
}

impl Authenticators {
    /// These authenticators, asked in order, for tokens meant for one of `audiences`.
    #[must_use]
    pub fn new(
        tokens: Vec<Arc<dyn TokenAuthenticator>>,
        audiences: Vec<String>,
        surroundings: Arc<dyn Surroundings>,
    ) -> Self {
        Self {
            tokens,
            audiences,
            surroundings,
        }
    }

    /// Whom tokens must be meant for when they are shown to this server.
    #[must_use]
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The user of a request. Whoever shows nothing is anonymous; whoever shows something that is not believed is
    /// refused.
    pub fn user(&self, peer: Option<&Peer>, headers: &HeaderMap) -> Result<User, Status> {
        let certified = peer.and_then(|peer| peer.user.as_ref());
        // A connection may be older than the certificate that opened it lasts.
        let now = self.surroundings.now().unix_seconds();
        let is_good = |certified: &&CertifiedUser| certified.is_plain && now < certified.ends;
        if let Some(certified) = certified.filter(is_good) {
            let id = format!("X509SHA256={}", certified.fingerprint);
            return Ok(with_everybody(User {
                name: certified.name.clone(),
                uid: certified.uid.clone(),
                groups: certified.groups.clone(),
                extra: BTreeMap::from([(CREDENTIAL.to_owned(), vec![id])]),
            }));
        }
        // Upstream: whoever shows what is not believed is not taken for one who shows nothing.
        let mut shows_something =
            certified.is_some() || peer.is_some_and(|peer| peer.is_distrusted);
        let in_header = bearer(headers).map(|token| Ok(token.to_owned()));
        let in_protocol = subprotocol::token(headers).transpose();
        for shown in [in_header, in_protocol].into_iter().flatten() {
            shows_something = true;
            match shown.and_then(|token| self.token(&token, &self.audiences)) {
                Ok(Some(known)) => return Ok(known.user),
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "token refused"),
            }
        }
        match shows_something {
            true => Err(Status::unauthorized()),
            false => Ok(names::anonymous()),
        }
    }

    /// The user of a token, for requests and for reviews.
    pub fn token(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        let mut refusal = None;
        for authenticator in &self.tokens {
            match authenticator.authenticate(token, audiences) {
                Ok(Some(known)) => {
                    return Ok(Some(Authenticated {
                        user: with_everybody(known.user),
                        ..known
                    }));
                }
                Ok(None) => {}
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(None), Err)
    }
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Adds the group of everybody who is known. Upstream: whoever is called like nobody is not known.
pub(crate) fn with_everybody(mut user: User) -> User {
    if user.name == ANONYMOUS {
        return user;
    }
    let is_there = user
        .groups
        .iter()
        .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if !is_there {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    user
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use object::time::Time;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    struct Fixed;

    impl Surroundings for Fixed {
        fn now(&self) -> Time {
            Time::from_unix_seconds(NOW)
        }
        fn uid(&self) -> String {
            String::new()
        }
        fn suffix(&self) -> String {
            String::new()
        }
    }

    impl TokenAuthenticator for Fixed {
        fn authenticate(
            &self,
            token: &str,
            audiences: &[String],
        ) -> Result<Option<Authenticated>, TokenError> {
            match token {
                "good" => Ok(Some(Authenticated {
                    user: User {
                        name: "ann".to_owned(),
                        ..User::default()
                    },
                    audiences: audiences.to_vec(),
                })),
                "bad" => Err(TokenError::new("it is bad")),
                _ => Ok(None),
            }
        }
    }

    #[test]
    fn a_certificate_comes_first_then_a_token_then_nobody() {
        let tokens: Vec<Arc<dyn TokenAuthenticator>> = vec![Arc::new(Fixed)];
        let all = Authenticators::new(tokens, vec!["here".to_owned()], Arc::new(Fixed));
        let certified = Peer {
            address: "127.0.0.1:1".parse().unwrap(),
            user: Some(CertifiedUser {
                name: "carl".to_owned(),
                groups: vec!["ops".to_owned()],
                uid: "7".to_owned(),
                fingerprint: "ab12".to_owned(),
                ends: NOW + 1,
                is_plain: true,
            }),
            is_distrusted: false,
        };
        let distrusted = Peer {
            user: None,
            is_distrusted: true,
            ..certified.clone()
        };
        let nobody = Peer {
            user: Some(CertifiedUser {
                name: "system:anonymous".to_owned(),
                groups: Vec::new(),
                uid: String::new(),
                fingerprint: String::new(),
                ends: NOW + 1,
                is_plain: true,
            }),
            ..certified.clone()
        };
        let mut ended = certified.clone();
        ended.user.as_mut().unwrap().ends = NOW;
        let mut two_uids = certified.clone();
        two_uids.user.as_mut().unwrap().is_plain = false;
        let shown = all.user(Some(&certified), &HeaderMap::new()).unwrap();
        assert_eq!(
            (shown.uid.as_str(), shown.extra[CREDENTIAL].join(",")),
            ("7", "X509SHA256=ab12".to_owned())
        );
        for (peer, header, expected) in [
            (None, "", Ok("system:anonymous [system:unauthenticated]")),
            (None, "Bearer good", Ok("ann [system:authenticated]")),
            (None, "bearer  good ", Ok("ann [system:authenticated]")),
            (
                Some(&certified),
                "Bearer bad",
                Ok("carl [ops,system:authenticated]"),
            ),
            (Some(&nobody), "", Ok("system:anonymous []")),
            (Some(&ended), "", Err(401)),
            (Some(&ended), "Bearer bad", Err(401)),
            (Some(&two_uids), "", Err(401)),
            (Some(&distrusted), "", Err(401)),
            (
                Some(&distrusted),
                "Bearer good",
                Ok("ann [system:authenticated]"),
            ),
            (
                Some(&two_uids),
                "Bearer good",
                Ok("ann [system:authenticated]"),
            ),
            (
                Some(&ended),
                "Bearer good",
                Ok("ann [system:authenticated]"),
            ),
            (None, "Bearer bad", Err(401)),
            (None, "Bearer unknown", Err(401)),
            (
                None,
                "Bearer",
                Ok("system:anonymous [system:unauthenticated]"),
            ),
            (
                None,
                "Basic x",
                Ok("system:anonymous [system:unauthenticated]"),
            ),
        ] {
            let mut headers = HeaderMap::new();
            if !header.is_empty() {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            }
            let user = all
                .user(peer, &headers)
                .map(|user| format!("{} [{}]", user.name, user.groups.join(",")))
                .map_err(|status| status.code);
            assert_eq!(user.as_deref().map_err(|code| *code), expected, "{header}");
        }
    }
    #[test]
    fn a_web_socket_may_bring_its_token_among_its_subprotocols() {
        let tokens: Vec<Arc<dyn TokenAuthenticator>> = vec![Arc::new(Fixed)];
        let all = Authenticators::new(tokens, vec!["here".to_owned()], Arc::new(Fixed));
        // "good", "bad" and "unknown".
        for (encoded, header, expected) in [
            ("Z29vZA", "", Ok("ann")),
            ("Z29vZA", "Bearer bad", Ok("ann")),
            ("YmFk", "Bearer good", Ok("ann")),
            ("YmFk", "", Err(401)),
            ("dW5rbm93bg", "", Err(401)),
        ] {
            let protocols = format!("a, base64url.bearer.authorization.k8s.io.{encoded}");
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("upgrade", "websocket"),
                ("connection", "upgrade"),
                ("sec-websocket-protocol", &protocols),
                ("authorization", header),
            ] {
                if !value.is_empty() {
                    headers.insert(name, HeaderValue::from_str(value).unwrap());
                }
            }
            let user = all.user(None, &headers);
            let user = user.map(|user| user.name).map_err(|status| status.code);
            assert_eq!(
                user.as_deref().map_err(|code| *code),
                expected,
                "{encoded} {header}"
            );
        }
    }
}

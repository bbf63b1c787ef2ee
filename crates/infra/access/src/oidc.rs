//! Users that another issuer vouches for: OpenID Connect tokens.
//!
//! The issuer says at a well-known place where its keys are. They are fetched at the start, again at intervals, and soon
//! when a token names a key nobody has seen. Until the first fetch has succeeded its tokens are refused.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use object::Value;
use serve::call::User;
use serve::server::Surroundings;
use tokio::sync::Notify;

use crate::authenticate::{Authenticated, TokenAuthenticator, TokenError};
use crate::key_set::KeySet;

/// Where issuers say where their keys are.
const DISCOVERY: &str = "/.well-known/openid-configuration";
/// How often keys are fetched anew.
const REFRESH: Duration = Duration::from_secs(10 * 60);
/// How soon they may be fetched anew because somebody asks: a stranger's tokens must not make us call the issuer often.
const SOONEST: Duration = Duration::from_secs(10);
/// The longest token that is looked at.
const LONGEST: usize = 64 * 1024;
/// The most groups taken from a token.
const MOST_GROUPS: usize = 1024;
/// How far clocks may be apart at the beginning of a token. Upstream: nothing is granted at its end.
const LEEWAY_SECONDS: i64 = 10;

/// An issuer that is believed, and what of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcOptions {
    /// Its URL, exactly as its tokens have it.
    pub issuer: String,
    /// Whom tokens must be meant for.
    pub client_id: String,
    /// The claim that is the user's name.
    pub username_claim: String,
    /// What is put before the name; `None` is the usual: the issuer and `#`, but nothing before e-mail addresses.
    pub username_prefix: Option<String>,
    /// The claim with the user's groups, if they are taken.
    pub groups_claim: Option<String>,
    /// What is put before each group.
    pub groups_prefix: String,
    /// Claims that must be there with these values.
    pub required_claims: BTreeMap<String, String>,
    /// The algorithms that are believed.
    pub algorithms: Vec<String>,
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The issuer is no place keys can safely come from.
    #[error("the issuer {0:?} must be an https URL without query or fragment")]
    Issuer(String),
    /// Whom tokens are meant for is not said.
    #[error("the client id must not be empty")]
    Client,
    /// An algorithm that is not known, or proves nothing.
    #[error("the signing algorithm {0:?} is not known")]
    Algorithm(String),
}

/// Fetches a document over HTTPS.
pub trait Fetch: Send + Sync {
    /// What is at a URL, or why not.
    fn fetch<'a>(&'a self, url: &'a str) -> Fetched<'a>;
}

/// What a fetch comes to.
pub type Fetched<'a> = Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>>;

/// An issuer whose tokens are believed.
pub struct Oidc {
    options: OidcOptions,
    keys: ArcSwap<KeySet>,
    /// Somebody showed a token of a key nobody has seen.
    unknown: Notify,
    surroundings: Arc<dyn Surroundings>,
}

impl OidcOptions {
    /// The usual claims and algorithms.
    #[must_use]
    pub fn new(issuer: &str, client_id: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            username_claim: "sub".to_owned(),
            username_prefix: None,
            groups_claim: None,
            groups_prefix: String::new(),
            required_claims: BTreeMap::new(),
            algorithms: vec!["RS256".to_owned()],
        }
    }

    fn check(&self) -> Result<(), OidcError> {
        const KNOWN: [&str; 10] = [
            "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
            "EdDSA",
        ];
        if !self.issuer.starts_with("https://") || self.issuer.contains(['?', '#', '@']) {
            return Err(OidcError::Issuer(self.issuer.clone()));
        }
        if self.client_id.is_empty() {
            return Err(OidcError::Client);
        }
        let unknown = |name: &&String| !KNOWN.contains(&name.as_str());
        match self.algorithms.iter().find(unknown) {
            Some(name) => Err(OidcError::Algorithm(name.clone())),
            None => Ok(()),
        }
    }
}

impl Oidc {
    /// Believes an issuer, once [`Oidc::follow`] has fetched its keys.
    ///
    /// # Errors
    /// When the options make no sense.
    pub fn new(
        options: OidcOptions,
        surroundings: Arc<dyn Surroundings>,
    ) -> Result<Self, OidcError> {
        options.check()?;
        Ok(Self {
            options,
            keys: ArcSwap::default(),
            unknown: Notify::new(),
            surroundings,
        })
    }

    /// Fetches the issuer's keys, for ever.
    pub async fn follow(&self, fetch: &dyn Fetch) {
        loop {
            let wait = match self.refresh(fetch).await {
                Ok(()) => REFRESH,
                Err(why) => {
                    let issuer = self.options.issuer.as_str();
                    tracing::warn!(issuer, error = why, "the issuer's keys were not fetched");
                    SOONEST
                }
            };
            tokio::time::sleep(SOONEST.min(wait)).await;
            let rest = wait.saturating_sub(SOONEST);
            // Whoever asked in the meantime is heard at once.
            drop(tokio::time::timeout(rest, self.unknown.notified()).await);
        }
    }

    async fn refresh(&self, fetch: &dyn Fetch) -> Result<(), String> {
        let issuer = self.options.issuer.trim_end_matches('/');
        let document = parse(&fetch.fetch(&format!("{issuer}{DISCOVERY}")).await?)?;
        let field = |name: &str| document.get(name).and_then(Value::as_str);
        if field("issuer") != Some(&self.options.issuer) {
            return Err("the discovery document names another issuer".to_owned());
        }
        let place = field("jwks_uri").unwrap_or_default();
        if !place.starts_with("https://") {
            return Err("the discovery document has no https jwks_uri".to_owned());
        }
        let keys = KeySet::read(&parse(&fetch.fetch(place).await?)?);
        if keys.is_empty() {
            return Err("the issuer publishes no key that can be used".to_owned());
        }
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    /// The claims of a token of this issuer that it signed; `Ok(None)` if it is another's.
    fn claims(&self, token: &str) -> Result<Option<Value>, TokenError> {
        let mut parts = token.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let (Some(header), Some(claims)) = (decode(header), decode(payload)) else {
            return Ok(None);
        };
        if text(&claims, "iss") != self.options.issuer {
            return Ok(None);
        }
        // RFC 7515: whoever does not understand what a header calls critical must not believe the token. Nothing of that
        // kind is understood here.
        if header.get("crit").is_some() {
            return Err(TokenError::new(
                "oidc: the token's header calls something critical that is not understood",
            ));
        }
        let algorithm = text(&header, "alg");
        if !self
            .options
            .algorithms
            .iter()
            .any(|known| known == algorithm)
        {
            return Err(TokenError::new(
                "oidc: the token's algorithm is not believed",
            ));
        }
        let id = header.get("kid").and_then(Value::as_str);
        let keys = self.keys.load();
        if !keys.has(id) {
            self.unknown.notify_one();
            return Err(TokenError::new("oidc: the token's key is not known"));
        }
        let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed);
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .map_err(|_| TokenError::new("oidc: invalid signature"))?;
        if !keys.verify(algorithm, id, signed.as_bytes(), &signature) {
            return Err(TokenError::new("oidc: invalid signature"));
        }
        Ok(Some(claims))
    }

    fn check_time(&self, claims: &Value) -> Result<(), TokenError> {
        let moment = |name: &str| {
            let number = claims.get(name)?;
            number
                .as_i64()
                .or_else(|| number.as_f64().map(|n| n as i64))
        };
        let now = self.surroundings.now().unix_seconds();
        let Some(end) = moment("exp") else {
            return Err(TokenError::new("oidc: the token has no end"));
        };
        if now >= end {
            return Err(TokenError::new("oidc: the token has expired"));
        }
        if moment("nbf").is_some_and(|begin| now < begin.saturating_sub(LEEWAY_SECONDS)) {
            return Err(TokenError::new("oidc: the token is not valid yet"));
        }
        Ok(())
    }

    fn user(&self, claims: &Value) -> Result<User, TokenError> {
        let options = &self.options;
        let claim = options.username_claim.as_str();
        let name = text(claims, claim);
        if name.is_empty() {
            return Err(TokenError::new(format!("oidc: no claim {claim:?}")));
        }
        let is_email = claim == "email";
        let unverified = claims
            .get("email_verified")
            .is_some_and(|verified| verified.as_bool() != Some(true));
        if is_email && unverified {
            return Err(TokenError::new("oidc: email not verified"));
        }
        for (claim, value) in &options.required_claims {
            if text(claims, claim) != value {
                return Err(TokenError::new(format!(
                    "oidc: the required claim {claim:?} has another value"
                )));
            }
        }
        let prefix = match &options.username_prefix {
            Some(prefix) => prefix.clone(),
            None if is_email => String::new(),
            None => format!("{}#", options.issuer),
        };
        let name = format!("{prefix}{name}");
        let groups = self.groups(claims)?;
        // Nobody's word but ours makes somebody one of the system's own.
        if std::iter::once(&name)
            .chain(&groups)
            .any(|name| name.starts_with("system:"))
        {
            return Err(TokenError::new(
                "oidc: names that begin with system: are not for issuers to give",
            ));
        }
        Ok(User {
            name,
            groups,
            ..User::default()
        })
    }

    /// Upstream: groups that cannot be read are no reason to go without them; what somebody may not do can hang on one.
    fn groups(&self, claims: &Value) -> Result<Vec<String>, TokenError> {
        let Some(claim) = &self.options.groups_claim else {
            return Ok(Vec::new());
        };
        let groups = match claims.get(claim) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(Value::String(one)) => Some(vec![one.as_str()]),
            Some(Value::Array(several)) => several.iter().map(Value::as_str).collect(),
            Some(_) => None,
        };
        let groups = groups.ok_or_else(|| {
            TokenError::new(format!(
                "oidc: the claim {claim:?} is neither a text nor a list of texts"
            ))
        })?;
        let prefix = &self.options.groups_prefix;
        let groups = groups.into_iter().take(MOST_GROUPS);
        Ok(groups.map(|group| format!("{prefix}{group}")).collect())
    }
}

impl TokenAuthenticator for Oidc {
    fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        if token.len() > LONGEST {
            return Ok(None);
        }
        let Some(claims) = self.claims(token)? else {
            return Ok(None);
        };
        let is_ours = match claims.get("aud") {
            Some(Value::String(one)) => *one == self.options.client_id,
            Some(Value::Array(several)) => several
                .iter()
                .any(|one| one.as_str() == Some(&self.options.client_id)),
            _ => false,
        };
        if !is_ours {
            return Err(TokenError::new(
                "oidc: the token is meant for somebody else",
            ));
        }
        self.check_time(&claims)?;
        let user = self.user(&claims)?;
        // Upstream: whom such a token is meant for is settled by the client id; it counts for whoever asks.
        Ok(Some(Authenticated {
            user,
            audiences: audiences.to_vec(),
        }))
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|_| "the issuer's answer is not JSON".to_owned())
}

fn decode(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;

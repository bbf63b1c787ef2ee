//! Tokens of service accounts: what is in them, and whether one is to be believed.
//!
//! A token is believed while its signature, its time and its audience are right and everything it is bound to is still
//! the same object: the account always, a Secret, Pod or Node if it names one. Deleting any of them ends the token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::{constant_time, digest};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use object::Value;
use object::time::Time;
use serde_json::json;
use serve::cache::{self, Cache, Collection};
use serve::call::User;
use serve::record::Record;
use serve::server::Surroundings;

use crate::authenticate::{Authenticated, TokenAuthenticator, TokenError};
use crate::keys::Keys;
use crate::names;
use crate::token_use::Uses;

/// Who issues tokens, as Kubernetes' servers call themselves by default.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Who issued the tokens that lie in Secrets.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The label on a Secret whose token is no longer believed, with the day since when. Upstream: the same.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// How far clocks may be apart, and how long what is being deleted still counts.
const LEEWAY_SECONDS: i64 = 60;
/// How many tokens whose signature was right are remembered, twice over. A signature costs far more than a look.
const REMEMBERED: usize = 4096;
/// Longer texts are no token of ours.
const LONGEST: usize = 16 * 1024;

/// Makes and believes tokens of service accounts.
pub struct ServiceAccounts {
    keys: Keys,
    issuer: String,
    surroundings: Arc<dyn Surroundings>,
    accounts: Arc<Collection>,
    secrets: Arc<Collection>,
    pods: Arc<Collection>,
    nodes: Arc<Collection>,
    signed: Mutex<Signed>,
    uses: Arc<Uses>,
}

/// What a token is bound to besides its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundTo {
    /// `pod`, `secret` or `node`, as claims name it.
    pub claim: &'static str,
    /// The object's name.
    pub name: String,
    /// The object's uid.
    pub uid: String,
}

/// What to put into a token.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// The account's namespace.
    pub namespace: &'a str,
    /// The account's name.
    pub name: &'a str,
    /// The account's uid.
    pub uid: &'a str,
    /// Whom it is meant for.
    pub audiences: &'a [String],
    /// When it is made.
    pub now: Time,
    /// How long it lasts.
    pub seconds: i64,
    /// What else it ends with.
    pub bound: &'a [BoundTo],
}

/// Claims of tokens whose signature was right, by the hash of the token. Two generations: the old one goes when the
/// young one is full.
#[derive(Default)]
struct Signed {
    young: HashMap<[u8; 32], Arc<Value>>,
    old: HashMap<[u8; 32], Arc<Value>>,
}

impl ServiceAccounts {
    /// Tokens signed with `keys` in the name of `issuer`, for the accounts of a cache.
    #[must_use]
    pub fn new(
        keys: Keys,
        issuer: String,
        cache: &Cache,
        surroundings: Arc<dyn Surroundings>,
    ) -> Self {
        let core = |plural: &str| cache.collection(&cache::name_of("", plural));
        Self {
            keys,
            issuer,
            surroundings,
            accounts: core("serviceaccounts"),
            secrets: core("secrets"),
            pods: core("pods"),
            nodes: core("nodes"),
            signed: Mutex::default(),
            uses: Arc::default(),
        }
    }

    /// Who issues the tokens.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The keys tokens are signed with.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Which Secrets' tokens were shown.
    pub(crate) fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }

    /// The account of a name, if there is one.
    #[must_use]
    pub fn account(&self, namespace: &str, name: &str) -> Option<Arc<Record>> {
        self.accounts.find(&cache::object_key(namespace, name))
    }

    /// A token that ends by itself, and its id as users who show it have it; `None` if it cannot be signed.
    #[must_use]
    pub fn issue(&self, grant: &Grant<'_>) -> Option<(String, String)> {
        let id = self.surroundings.uid();
        let now = grant.now.unix_seconds();
        let mut kubernetes = json!({
            "namespace": grant.namespace,
            "serviceaccount": {"name": grant.name, "uid": grant.uid},
        });
        for bound in grant.bound {
            kubernetes[bound.claim] = if bound.uid.is_empty() {
                json!({"name": bound.name})
            } else {
                json!({"name": bound.name, "uid": bound.uid})
            };
        }
        let token = self.keys.sign(&json!({
            "aud": grant.audiences, "exp": now.saturating_add(grant.seconds), "iat": now, "iss": self.issuer,
            "jti": id, "kubernetes.io": kubernetes, "nbf": now,
            "sub": names::service_account_user(grant.namespace, grant.name),
        }))?;
        Some((token, format!("JTI={id}")))
    }

    /// A token that lasts as long as the Secret it lies in; `None` if it cannot be signed.
    #[must_use]
    pub fn issue_legacy(
        &self,
        namespace: &str,
        secret: &str,
        name: &str,
        uid: &str,
    ) -> Option<String> {
        self.keys.sign(&json!({
            "iss": LEGACY_ISSUER,
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": secret,
            "kubernetes.io/serviceaccount/service-account.name": name,
            "kubernetes.io/serviceaccount/service-account.uid": uid,
            "sub": names::service_account_user(namespace, name),
        }))
    }

    /// The claims of a token signed by one of our keys; `Ok(None)` if it is none of our tokens.
    fn claims(&self, token: &str) -> Result<Option<Arc<Value>>, TokenError> {
        if token.len() > LONGEST {
            return Ok(None);
        }
        let mut id = [0; 32];
        id.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        if let Some(claims) = self.remembered(&id) {
            return Ok(Some(claims));
        }
        let mut parts = token.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let (Some(header), Some(claims)) = (decode(header), decode(payload)) else {
            return Ok(None);
        };
        let issuer = text(&claims, "iss");
        if issuer != self.issuer && issuer != LEGACY_ISSUER {
            return Ok(None);
        }
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
            return Err(TokenError::new("invalid bearer token"));
        };
        let signed = token
            .rsplit_once('.')
            .map_or("", |(signed, _)| signed)
            .as_bytes();
        let id_of_key = header.get("kid").and_then(Value::as_str);
        let is_signed = self
            .keys
            .verify(text(&header, "alg"), id_of_key, signed, &signature);
        if !is_signed {
            return Err(TokenError::new("invalid bearer token"));
        }
        let claims = Arc::new(claims);
        self.remember(id, &claims);
        Ok(Some(claims))
    }

    fn remembered(&self, id: &[u8; 32]) -> Option<Arc<Value>> {
        let signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        signed.young.get(id).or_else(|| signed.old.get(id)).cloned()
    }

    fn remember(&self, id: [u8; 32], claims: &Arc<Value>) {
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        if signed.young.len() >= REMEMBERED {
            signed.old = std::mem::take(&mut signed.young);
        }
        signed.young.insert(id, Arc::clone(claims));
    }

    fn believe(
        &self,
        claims: &Value,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        let meant_for = audiences_of(claims);
        let shared: Vec<String> = audiences
            .iter()
            .filter(|audience| meant_for.contains(&audience.as_str()))
            .cloned()
            .collect();
        if shared.is_empty() {
            return Err(TokenError::new(format!(
                "token audiences {meant_for:?} is invalid for the target audiences {audiences:?}"
            )));
        }
        let now = self.surroundings.now();
        check_time(claims, now)?;
        let own = claims.get("kubernetes.io").unwrap_or(&Value::Null);
        let namespace = text(own, "namespace");
        let account = reference(own, "serviceaccount");
        self.check_account(namespace, &account, now)?;
        let mut user = service_account(namespace, account.0, account.1);
        let ended = || TokenError::new("service account token has been invalidated");
        if own.get("secret").is_some() {
            let secret = reference(own, "secret");
            check_same(&self.secrets, namespace, &secret, now).ok_or_else(ended)?;
        }
        let pod = own.get("pod").is_some();
        if pod {
            let pod = reference(own, "pod");
            check_same(&self.pods, namespace, &pod, now).ok_or_else(ended)?;
            put_extra(&mut user, "pod-name", pod.0);
            put_extra(&mut user, "pod-uid", pod.1);
        }
        if own.get("node").is_some() {
            let node = reference(own, "node");
            // Upstream: the node of a pod is told and not checked.
            if !pod {
                check_same(&self.nodes, "", &node, now).ok_or_else(ended)?;
            }
            put_extra(&mut user, "node-name", node.0);
            put_extra(&mut user, "node-uid", node.1);
        }
        let id = text(claims, "jti");
        if !id.is_empty() {
            put_extra(&mut user, "credential-id", &format!("JTI={id}"));
        }
        Ok(Some(Authenticated {
            user,
            audiences: shared,
        }))
    }

    /// Tokens in Secrets are meant for this server alone, and end with the Secret.
    fn believe_legacy(
        &self,
        token: &str,
        claims: &Value,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        let field = |name: &str| text(claims, &format!("kubernetes.io/serviceaccount/{name}"));
        let namespace = field("namespace");
        let (name, uid) = (field("service-account.name"), field("service-account.uid"));
        let (secret, now) = (field("secret.name"), self.surroundings.now());
        let ended = || TokenError::new("service account token has been invalidated");
        let secret = self
            .secrets
            .find(&cache::object_key(namespace, secret))
            .ok_or_else(ended)?;
        if is_deleted(&secret, now) {
            return Err(ended());
        }
        if secret
            .head()
            .label(INVALID_SINCE)
            .is_some_and(|since| !since.is_empty())
        {
            return Err(TokenError::new(format!(
                "the token of service account {namespace}/{name} has been marked invalid"
            )));
        }
        let kept = secret_text(&secret.value(), "token").unwrap_or_default();
        constant_time::verify_slices_are_equal(kept.as_bytes(), token.as_bytes())
            .map_err(|_| TokenError::new("token does not match server's copy"))?;
        self.check_account(namespace, &(name, uid), now)?;
        self.uses.note(&secret, now);
        Ok(Some(Authenticated {
            user: service_account(namespace, name, uid),
            audiences: audiences
                .iter()
                .filter(|audience| **audience == self.issuer)
                .cloned()
                .collect(),
        }))
    }

    fn check_account(
        &self,
        namespace: &str,
        (name, uid): &(&str, &str),
        now: Time,
    ) -> Result<(), TokenError> {
        let account = self
            .account(namespace, name)
            .ok_or_else(|| TokenError::new(format!("serviceaccounts {name:?} not found")))?;
        if account.head().uid != *uid {
            return Err(TokenError::new(format!(
                "service account UID ({}) does not match claim ({uid})",
                account.head().uid
            )));
        }
        if is_deleted(&account, now) {
            return Err(TokenError::new(format!(
                "service account {namespace}/{name} has been deleted"
            )));
        }
        Ok(())
    }
}

impl TokenAuthenticator for ServiceAccounts {
    fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, TokenError> {
        let Some(claims) = self.claims(token)? else {
            return Ok(None);
        };
        if text(&claims, "iss") == LEGACY_ISSUER {
            return self.believe_legacy(token, &claims, audiences);
        }
        self.believe(&claims, audiences)
    }
}

/// The text of a field of a Secret.
pub(crate) fn secret_text(secret: &Value, field: &str) -> Option<String> {
    let encoded = secret.get("data")?.get(field)?.as_str()?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn service_account(namespace: &str, name: &str, uid: &str) -> User {
    User {
        name: names::service_account_user(namespace, name),
        uid: uid.to_owned(),
        groups: names::service_account_groups(namespace),
        ..User::default()
    }
}

fn put_extra(user: &mut User, key: &str, value: &str) {
    if !value.is_empty() {
        user.extra.insert(
            format!("authentication.kubernetes.io/{key}"),
            vec![value.to_owned()],
        );
    }
}

fn check_time(claims: &Value, now: Time) -> Result<(), TokenError> {
    let moment = |name: &str| claims.get(name).and_then(Value::as_i64);
    let now = now.unix_seconds();
    if moment("exp").is_some_and(|end| now > end.saturating_add(LEEWAY_SECONDS)) {
        return Err(TokenError::new("service account token has expired"));
    }
    if moment("nbf").is_some_and(|begin| now < begin.saturating_sub(LEEWAY_SECONDS)) {
        return Err(TokenError::new("service account token is not valid yet"));
    }
    if moment("iat").is_some_and(|issued| now < issued.saturating_sub(LEEWAY_SECONDS)) {
        return Err(TokenError::new(
            "service account token is issued in the future",
        ));
    }
    Ok(())
}

/// Whether an object is still the one a token is bound to.
fn check_same(
    collection: &Collection,
    namespace: &str,
    (name, uid): &(&str, &str),
    now: Time,
) -> Option<()> {
    let record = collection.find(&cache::object_key(namespace, name))?;
    (record.head().uid == *uid && !is_deleted(&record, now)).then_some(())
}

fn is_deleted(record: &Record, now: Time) -> bool {
    if !record.head().terminating {
        return false;
    }
    let value = record.value();
    let since = value["metadata"]["deletionTimestamp"]
        .as_str()
        .and_then(|text| text.parse::<Time>().ok());
    since.is_none_or(|since| now.seconds_since(since) > LEEWAY_SECONDS)
}

fn audiences_of(claims: &Value) -> Vec<&str> {
    match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn reference<'a>(claims: &'a Value, name: &str) -> (&'a str, &'a str) {
    let reference = claims.get(name).unwrap_or(&Value::Null);
    (text(reference, "name"), text(reference, "uid"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn decode(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

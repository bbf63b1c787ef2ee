//! Tokens that newcomers introduce themselves with: Secrets of `kube-system`, as kubeadm keeps them.

use aws_lc_rs::digest::{SHA256, digest};
use client::{Client, DeleteOptions, ListOptions, WriteOptions};
use object::time::Time;
use object::{Object, ObjectKey, ResourceType, Value, base64};
use rand::RngExt as _;
use serde_json::json;

use crate::age;
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reach::call_failure;
use crate::reading::Answer;
use crate::table::Table;
use crate::writing::MANAGER;

const NAMESPACE: &str = "kube-system";
/// What the names of the Secrets begin with; the token's id follows.
const PREFIX: &str = "bootstrap-token-";
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
/// What a token may be for.
const USAGES: [&str; 2] = ["signing", "authentication"];
/// What the groups of whoever shows a token begin with.
const GROUPS: &str = "system:bootstrappers:";
/// The letters of tokens, and how many there are of them before and behind the dot.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const ID: usize = 6;
const SECRET: usize = 16;

/// A token that is to be made.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// How many seconds it lasts; 0 for ever.
    pub seconds: i64,
    /// What it is for: signing, authentication.
    pub usages: Vec<String>,
    /// The groups of whoever shows it.
    pub groups: Vec<String>,
    /// What it was made for, in words.
    pub description: String,
}

/// Makes a token, and gives it.
pub async fn create_token(control: &Client, new: &NewToken, now: Time) -> Result<String, Failure> {
    check(new)?;
    let (id, secret) = (letters(ID), letters(SECRET));
    let mut data = json!({"token-id": id, "token-secret": secret});
    for usage in &new.usages {
        data[format!("usage-bootstrap-{usage}")] = Value::from("true");
    }
    if new.seconds > 0 {
        data["expiration"] = Value::from(now.plus_seconds(new.seconds).to_string());
    }
    if !new.description.is_empty() {
        data["description"] = Value::from(new.description.as_str());
    }
    if !new.groups.is_empty() {
        data["auth-extra-groups"] = Value::from(new.groups.join(","));
    }
    let secret_object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE,
        "metadata": {"name": format!("{PREFIX}{id}"), "namespace": NAMESPACE},
        "stringData": data,
    });
    let object = Object::from_value(secret_object)
        .map_err(|error| Failure::failed(error.to_string(), "please report it"))?;
    control
        .create(&secrets(), &object, &WriteOptions::by(MANAGER))
        .await
        .map_err(|error| call_failure(&error))?;
    Ok(format!("{id}.{secret}"))
}

/// The public key of the control plane's authority as newcomers are told to expect it: `sha256:` and the digest.
pub async fn authority_pin(control: &Client) -> Result<String, Failure> {
    let kind = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
    let key = ObjectKey::namespaced("kube-public", "cluster-info");
    let public = control.get(&kind, &key).await;
    let public = public.map_err(|error| call_failure(&error))?;
    let kubeconfig = public.text_at(&["data", "kubeconfig"]).unwrap_or_default();
    pin(kubeconfig).ok_or_else(|| {
        Failure::refused(
            "no CA certificates found in kubeconfig",
            "the ConfigMap kube-public/cluster-info has to name the authority of the control plane",
        )
    })
}

/// A row for each token; Secrets that are no tokens are named.
pub async fn tokens(control: &Client, now: Time) -> Result<Answer, Failure> {
    let options = ListOptions {
        field_selector: format!("type={SECRET_TYPE}"),
        ..ListOptions::default()
    };
    let listed = control.list_all(&secrets(), NAMESPACE, &options).await;
    let listed = listed.map_err(|error| call_failure(&error))?.items;
    let mut table = Table::new(&[
        "TOKEN",
        "TTL",
        "EXPIRES",
        "USAGES",
        "DESCRIPTION",
        "EXTRA GROUPS",
    ]);
    let mut notes = Vec::new();
    for secret in &listed {
        match row(secret, now) {
            Some(row) => table.rows.push(row),
            None => notes.push(format!(
                "warning: the Secret {} is no token and left out",
                secret.key()
            )),
        }
    }
    Ok(Answer {
        text: table.to_string(),
        notes,
        failure: None,
    })
}

/// The ids of all tokens.
pub(crate) async fn ids(control: &Client) -> Result<Vec<String>, Failure> {
    let options = ListOptions {
        field_selector: format!("type={SECRET_TYPE}"),
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = control.list_all(&secrets(), NAMESPACE, &options).await;
    let listed = listed.map_err(|error| call_failure(&error))?.items;
    let ids = listed
        .iter()
        .filter_map(|secret| secret.name().strip_prefix(PREFIX));
    Ok(ids.map(str::to_owned).collect())
}

/// Deletes the token with this id, or this whole token, and says so.
pub async fn delete_token(control: &Client, word: &str) -> Result<String, Failure> {
    let id = word.split('.').next().unwrap_or_default();
    let is_whole = !word.contains('.') || is_token(word);
    if !is_part(id, ID) || !is_whole {
        return Err(Failure::refused(
            format!(
                "given token didn't match pattern: {word:?} is neither a token nor the id of one"
            ),
            "`karavel token list` shows them; the id stands before the dot",
        ));
    }
    let key = ObjectKey::namespaced(NAMESPACE, format!("{PREFIX}{id}"));
    let deleted = control
        .delete(&secrets(), &key, &DeleteOptions::default())
        .await;
    match deleted {
        Ok(_) => Ok(format!("bootstrap token {id:?} deleted\n")),
        Err(error) if error.is_not_found() => {
            let failure = missing(control, &secrets(), &key, &error).await;
            let said = error.refusal().map(|refusal| refusal.message.clone());
            let said = said.unwrap_or_default();
            Err(failure
                .reworded(|_| format!("failed to delete bootstrap token {id:?}, err: {said}")))
        }
        Err(error) => Err(call_failure(&error)),
    }
}

fn secrets() -> ResourceType {
    ResourceType::namespaced("", "v1", "Secret", "secrets")
}

fn check(new: &NewToken) -> Result<(), Failure> {
    if new.seconds < 0 {
        return Err(Failure::refused(
            "--ttl: a token cannot last less than no time",
            "write a time such as 24h, or 0 for ever",
        ));
    }
    if let Some(usage) = new
        .usages
        .iter()
        .find(|usage| !USAGES.contains(&usage.as_str()))
    {
        return Err(Failure::refused(
            format!("--usages: {usage:?} is nothing a token is for"),
            "choose signing, authentication or both",
        ));
    }
    let is_group = |group: &String| {
        group.strip_prefix(GROUPS).is_some_and(|rest| {
            let is_letter = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b':' | b'-')
            };
            let ends_well = rest
                .bytes()
                .next_back()
                .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            rest.len() <= 256 && rest.bytes().all(is_letter) && ends_well
        })
    };
    match new.groups.iter().find(|group| !is_group(group)) {
        Some(group) => Err(Failure::refused(
            format!("--groups: {group:?} is no group of newcomers"),
            format!("groups begin with {GROUPS} and go on in lower-case letters, digits, : and -"),
        )),
        None => Ok(()),
    }
}

fn letters(count: usize) -> String {
    let mut chance = rand::rng();
    let mut letter = || {
        let at = chance.random_range(0..LETTERS.len());
        LETTERS.get(at).copied().map_or('0', char::from)
    };
    (0..count).map(|_| letter()).collect()
}

fn is_part(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| LETTERS.contains(&byte))
}

fn is_token(text: &str) -> bool {
    let parts = text.split_once('.');
    parts.is_some_and(|(id, secret)| is_part(id, ID) && is_part(secret, SECRET))
}

/// The first certificate of the authority in a kubeconfig, as its public key's digest.
fn pin(kubeconfig: &str) -> Option<String> {
    let config: Value = serde_saphyr::from_str(kubeconfig).ok()?;
    let data = config["clusters"].get(0)?["cluster"]["certificate-authority-data"].as_str()?;
    let pem = base64::decode(data)?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let key = digest(&SHA256, certificate.public_key().raw);
    let hex: String = key
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Some(format!("sha256:{hex}"))
}

/// A token as a row; nothing if the Secret is no token.
fn row(secret: &Object, now: Time) -> Option<Vec<String>> {
    let text = |key: &str| {
        let bytes = base64::decode(secret.text_at(&["data", key])?)?;
        String::from_utf8(bytes).ok()
    };
    let token = format!("{}.{}", text("token-id")?, text("token-secret")?);
    if !is_token(&token) || secret.name().strip_prefix(PREFIX) != token.split('.').next() {
        return None;
    }
    let (ttl, expires) = match text("expiration") {
        None => ("<forever>".to_owned(), "<never>".to_owned()),
        Some(date) => {
            let end: Time = date.parse().ok()?;
            let left = match end.seconds_since(now) {
                left if left > 0 => age::short(left),
                _ => "<expired>".to_owned(),
            };
            (left, end.to_string())
        }
    };
    let usages: Vec<&str> = USAGES
        .into_iter()
        .filter(|usage| text(&format!("usage-bootstrap-{usage}")).as_deref() == Some("true"))
        .collect();
    let or_none = |text: Option<String>| {
        text.filter(|text| !text.is_empty())
            .unwrap_or_else(|| "<none>".to_owned())
    };
    Some(vec![
        token,
        ttl,
        expires,
        or_none(Some(usages.join(","))),
        or_none(text("description")),
        or_none(text("auth-extra-groups")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_one_form() {
        for _ in 0..20 {
            let token = format!("{}.{}", letters(ID), letters(SECRET));
            assert!(is_token(&token), "{token}");
        }
        for text in ["", "abcdef", "abcdef.x", "ABCDEF.0123456789abcdef"] {
            assert!(!is_token(text), "{text}");
        }
    }

    #[test]
    fn what_no_token_can_be_is_refused() {
        let words = |text: &str| vec![text.to_owned()];
        for (new, is_fine) in [
            (NewToken::default(), true),
            (
                NewToken {
                    usages: words("signing"),
                    groups: words("system:bootstrappers:karmada:default-cluster-token"),
                    ..NewToken::default()
                },
                true,
            ),
            (
                NewToken {
                    seconds: -1,
                    ..NewToken::default()
                },
                false,
            ),
            (
                NewToken {
                    usages: words("singing"),
                    ..NewToken::default()
                },
                false,
            ),
            (
                NewToken {
                    groups: words("system:masters"),
                    ..NewToken::default()
                },
                false,
            ),
            (
                NewToken {
                    groups: words("system:bootstrappers:"),
                    ..NewToken::default()
                },
                false,
            ),
        ] {
            assert_eq!(check(&new).is_ok(), is_fine, "{new:?}");
        }
    }

    #[test]
    fn a_row_says_how_long_a_token_lasts_and_what_for() {
        let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        let secret = |name: &str, pairs: &[(&str, &str)]| {
            let data: object::Map = pairs
                .iter()
                .map(|(key, value)| {
                    (
                        (*key).to_owned(),
                        Value::from(base64::encode(value.as_bytes())),
                    )
                })
                .collect();
            Object::from_value(
                json!({"metadata": {"name": name, "namespace": NAMESPACE}, "data": data}),
            )
            .unwrap()
        };
        let parts = [("token-id", "abcdef"), ("token-secret", "0123456789abcdef")];
        let more = [
            ("expiration", "2026-01-02T00:00:00Z"),
            ("usage-bootstrap-signing", "true"),
            ("description", "for east"),
        ];
        let all = [&parts[..], &more[..]].concat();
        for (name, pairs, expected) in [
            (
                "bootstrap-token-abcdef",
                &parts[..],
                Some("abcdef.0123456789abcdef|<forever>|<never>|<none>|<none>|<none>"),
            ),
            (
                "bootstrap-token-abcdef",
                &all,
                Some("abcdef.0123456789abcdef|24h|2026-01-02T00:00:00Z|signing|for east|<none>"),
            ),
            ("bootstrap-token-other1", &parts, None),
            ("bootstrap-token-abcdef", &[], None),
        ] {
            let found = row(&secret(name, pairs), now).map(|row| row.join("|"));
            assert_eq!(found.as_deref(), expected);
        }
    }
}

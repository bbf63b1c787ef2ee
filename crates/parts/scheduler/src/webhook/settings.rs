//! Which webhooks there are, as a file says it.
//!
//! ```yaml
//! webhooks:
//! - name: Carbon
//!   url: https://carbon.example.com/review
//!   certificateAuthority: |
//!     -----BEGIN CERTIFICATE-----
//!   points: [Filter, Score]
//!   timeout: 500ms
//!   failurePolicy: Ignore
//! ```

use std::{sync::Arc, time::Duration};

use object::Value;
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

/// How long an answer may take unless it is said.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How long it may be said that an answer may take: every binding waits so long if nobody answers.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A plugin outside of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// What `--plugins` calls it.
    pub name: Arc<str>,
    /// Where it is: `https://host:port`.
    pub server: String,
    /// And the path there.
    pub path: String,
    /// PEM certificates of those who may have signed its certificate; empty for those the machine trusts.
    pub authority: String,
    /// Whether it refuses clusters.
    pub filters: bool,
    /// Whether it orders clusters.
    pub scores: bool,
    /// How long an answer may take.
    pub timeout: Duration,
    /// What its failure means.
    pub failure_policy: FailurePolicy,
}

/// What the failure of a webhook means for a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It has no say.
    Ignore,
    /// Nothing is decided; the binding is tried again later.
    #[default]
    Fail,
}

/// A mistake in the file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    field: String,
    problem: String,
}

impl WebhookSettings {
    /// Its whole address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.server, self.path)
    }
}

/// The webhooks of a file.
pub fn read_all(file: &Value) -> Result<Vec<WebhookSettings>, ConfigError> {
    let known = ["apiVersion", "kind", "webhooks"];
    refuse_unknown(file, "", &known)?;
    let webhooks = match file.get("webhooks") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(webhooks)) => webhooks,
        Some(_) => return Err(wrong("webhooks", "expected a list")),
    };
    let mut all: Vec<WebhookSettings> = Vec::with_capacity(webhooks.len());
    for (index, webhook) in webhooks.iter().enumerate() {
        let webhook = read(webhook, &format!("webhooks[{index}]"))?;
        if all.iter().any(|known| known.name == webhook.name) {
            let field = format!("webhooks[{index}].name");
            return Err(wrong(field, format!("{:?} is there twice", &*webhook.name)));
        }
        all.push(webhook);
    }
    Ok(all)
}

fn read(webhook: &Value, at: &str) -> Result<WebhookSettings, ConfigError> {
    let fields = [
        "name",
        "url",
        "certificateAuthority",
        "points",
        "timeout",
        "failurePolicy",
    ];
    refuse_unknown(webhook, at, &fields)?;
    let text = |name: &str| match webhook.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(wrong(format!("{at}.{name}"), "expected a text")),
    };
    let required = |name: &str| {
        let text = text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| wrong(format!("{at}.{name}"), "is required"))
    };
    let name = required("name")?;
    if name.starts_with('-') || name.contains([',', '*', ' ']) {
        let problem = "must not begin with a minus sign nor contain a comma, a star or a blank";
        return Err(wrong(format!("{at}.name"), problem));
    }
    let (server, path) = split(required("url")?)
        .ok_or_else(|| wrong(format!("{at}.url"), "expected https://host[:port]/path"))?;
    let (filters, scores) = points(webhook.get("points"), at)?;
    let timeout = match text("timeout")? {
        None => TIMEOUT,
        Some(text) => duration(text)
            .filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST_TIMEOUT)
            .ok_or_else(|| {
                wrong(
                    format!("{at}.timeout"),
                    "expected 1ms to 30s, such as 500ms",
                )
            })?,
    };
    let failure_policy = match text("failurePolicy")? {
        None | Some("Fail") => FailurePolicy::Fail,
        Some("Ignore") => FailurePolicy::Ignore,
        Some(_) => {
            return Err(wrong(
                format!("{at}.failurePolicy"),
                "expected Fail or Ignore",
            ));
        }
    };
    Ok(WebhookSettings {
        name: name.into(),
        server,
        path,
        authority: authority(text("certificateAuthority")?, at)?,
        filters,
        scores,
        timeout,
        failure_policy,
    })
}

/// The certificates to trust, each looked at: one that cannot be read would be found out at the first decision.
fn authority(text: Option<&str>, at: &str) -> Result<String, ConfigError> {
    let text = text.unwrap_or_default();
    let wrong = |problem: &str| wrong(format!("{at}.certificateAuthority"), problem);
    let expected = || wrong("expected certificates in PEM");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|_| expected())?;
        let added = roots.add(certificate);
        added.map_err(|_| wrong("one of the certificates cannot be read"))?;
    }
    match (roots.is_empty(), text.trim()) {
        (true, "") => Ok(String::new()),
        (true, _) => Err(expected()),
        (false, _) => Ok(text.to_owned()),
    }
}

fn points(value: Option<&Value>, at: &str) -> Result<(bool, bool), ConfigError> {
    let expected = || {
        wrong(
            format!("{at}.points"),
            "expected a list of Filter and Score",
        )
    };
    let listed = match value {
        None | Some(Value::Null) => return Ok((true, true)),
        Some(Value::Array(listed)) if !listed.is_empty() => listed,
        Some(_) => return Err(expected()),
    };
    let (mut filters, mut scores) = (false, false);
    for point in listed {
        match point.as_str() {
            Some("Filter") => filters = true,
            Some("Score") => scores = true,
            _ => return Err(expected()),
        }
    }
    Ok((filters, scores))
}

/// Server and path of a URL; `None` unless it is an HTTPS one.
fn split(url: &str) -> Option<(String, String)> {
    let uri: http::Uri = url.parse().ok()?;
    if uri.scheme_str() != Some("https") {
        return None;
    }
    let authority = uri.authority()?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Some((format!("https://{authority}"), path.to_owned()))
}

fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

fn refuse_unknown(value: &Value, at: &str, known: &[&str]) -> Result<(), ConfigError> {
    let Some(fields) = value.as_object() else {
        let at = if at.is_empty() { "the file" } else { at };
        return Err(wrong(at, "expected fields"));
    };
    let unknown = fields.keys().find(|name| !known.contains(&name.as_str()));
    match unknown {
        None => Ok(()),
        Some(name) if at.is_empty() => Err(wrong(name.as_str(), "there is no such field")),
        Some(name) => Err(wrong(format!("{at}.{name}"), "there is no such field")),
    }
}

fn wrong(field: impl Into<String>, problem: impl Into<String>) -> ConfigError {
    ConfigError {
        field: field.into(),
        problem: problem.into(),
    }
}

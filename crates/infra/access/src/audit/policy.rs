//! How much is written about which requests.

use std::collections::BTreeSet;

use object::Value;
use serde_json::json;
use serve::call::User;

use super::event::Stage;
use super::secrecy::Secrecy;
use crate::attempt::{Attempt, What};
use crate::rule::Rule;

/// How much is written about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Who, what, when and how it ended.
    Metadata,
    /// That and what was sent.
    Request,
    /// That and what was answered.
    RequestResponse,
}

/// What is written about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How much.
    pub level: Level,
    /// Stages nothing is written at.
    pub omitted: BTreeSet<Stage>,
    /// Whether bodies are written without their managed fields.
    pub omits_managed_fields: bool,
    /// Whether the request is about secrets by where it was sent.
    pub is_secret: bool,
}

/// Which requests are written about, and how much.
#[derive(Clone, Debug, Default)]
pub struct AuditPolicy {
    rules: Vec<AuditRule>,
    omitted: BTreeSet<Stage>,
    omits_managed_fields: bool,
    secrecy: Secrecy,
}

#[derive(Clone, Debug)]
struct AuditRule {
    level: Level,
    /// Those of the policy too.
    omitted: BTreeSet<Stage>,
    omits_managed_fields: bool,
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
    verbs: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    /// Resources and paths, as roles name them.
    on: Vec<Rule>,
}

/// A policy that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct AuditPolicyError {
    /// Where, such as `rules[2].level`.
    pub field: String,
    /// What is wrong there.
    pub why: String,
}

impl Level {
    /// As policies and events name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

impl AuditPolicy {
    /// Reads an `audit.k8s.io/v1` Policy.
    pub fn read(policy: &Value) -> Result<Self, AuditPolicyError> {
        let mut read = Self {
            rules: Vec::new(),
            omitted: stages(policy, "omitStages")?,
            omits_managed_fields: policy["omitManagedFields"].as_bool().unwrap_or(false),
            secrecy: Secrecy::default(),
        };
        let rules = policy["rules"].as_array().into_iter().flatten();
        for (place, rule) in rules.enumerate() {
            let rule =
                read.rule(rule)
                    .map_err(|AuditPolicyError { field, why }| AuditPolicyError {
                        field: format!("rules[{place}].{field}"),
                        why,
                    })?;
            read.rules.push(rule);
        }
        Ok(read)
    }

    /// Never writes the bodies of these resources either, given by group, plural and kind.
    #[must_use]
    pub fn hiding(mut self, resources: &[(&str, &str, &str)]) -> Self {
        for resource in resources {
            self.secrecy.add(*resource);
        }
        self
    }

    /// What is written about a request: what the first rule that fits says, nothing if none does.
    #[must_use]
    pub fn extent(&self, sender: Option<&User>, attempt: &Attempt) -> Extent {
        let fitting = self.rules.iter().find(|rule| rule.fits(sender, attempt));
        let is_secret = self.secrecy.covers(attempt);
        let Some(rule) = fitting else {
            return Extent {
                level: Level::None,
                omitted: BTreeSet::new(),
                omits_managed_fields: false,
                is_secret,
            };
        };
        Extent {
            level: if is_secret {
                rule.level.min(Level::Metadata)
            } else {
                rule.level
            },
            omitted: rule.omitted.clone(),
            omits_managed_fields: rule.omits_managed_fields,
            is_secret,
        }
    }

    /// What was sent and what was answered with this code, without bodies that are secrets by what they say they are.
    #[must_use]
    pub fn without_secrets(
        &self,
        request: Option<Value>,
        response: Option<Value>,
        code: u16,
    ) -> (Option<Value>, Option<Value>) {
        self.secrecy.strip(request, response, code)
    }

    fn rule(&self, rule: &Value) -> Result<AuditRule, AuditPolicyError> {
        let level = match rule["level"].as_str().unwrap_or_default() {
            "None" => Level::None,
            "Metadata" => Level::Metadata,
            "Request" => Level::Request,
            "RequestResponse" => Level::RequestResponse,
            other => {
                let why = format!("{other:?} is none of None, Metadata, Request, RequestResponse");
                return Err(wrong("level", why));
            }
        };
        let mut omitted = stages(rule, "omitStages")?;
        omitted.extend(&self.omitted);
        let texts = |field: &str| -> BTreeSet<String> {
            let texts = rule[field].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (namespaces, urls) = (texts("namespaces"), texts("nonResourceURLs"));
        let mut on = resources(rule)?;
        if !urls.is_empty() {
            if !on.is_empty() || !namespaces.is_empty() {
                let why = "a rule is about resources or about other paths, not about both";
                return Err(wrong("nonResourceURLs", why.to_owned()));
            }
            check_urls(&urls)?;
            on.push(Rule::from_value(
                &json!({"verbs": ["*"], "nonResourceURLs": urls}),
            ));
        }
        Ok(AuditRule {
            level,
            omitted,
            omits_managed_fields: rule["omitManagedFields"]
                .as_bool()
                .unwrap_or(self.omits_managed_fields),
            users: texts("users"),
            groups: texts("userGroups"),
            verbs: texts("verbs"),
            namespaces,
            on,
        })
    }
}

impl AuditRule {
    fn fits(&self, sender: Option<&User>, attempt: &Attempt) -> bool {
        let among = |texts: &BTreeSet<String>, text: &str| texts.is_empty() || texts.contains(text);
        let users_fit =
            self.users.is_empty() || sender.is_some_and(|user| self.users.contains(&user.name));
        let groups_fit = self.groups.is_empty()
            || sender.is_some_and(|user| {
                let mut groups = user.groups.iter();
                groups.any(|group| self.groups.contains(group))
            });
        let place_fits = match &attempt.what {
            What::Resource(target) => among(&self.namespaces, &target.namespace),
            What::Path(_) => self.namespaces.is_empty(),
        };
        users_fit
            && groups_fit
            && among(&self.verbs, &attempt.verb)
            && place_fits
            && (self.on.is_empty() || self.on.iter().any(|rule| rule.allows(attempt)))
    }
}

/// The resources a rule is about.
fn resources(rule: &Value) -> Result<Vec<Rule>, AuditPolicyError> {
    let mut on = Vec::new();
    let entries = rule["resources"].as_array().into_iter().flatten();
    for (place, resources) in entries.enumerate() {
        let is_empty = |field: &str| resources[field].as_array().is_none_or(Vec::is_empty);
        if is_empty("resources") && !is_empty("resourceNames") {
            let field = format!("resources[{place}].resourceNames");
            return Err(AuditPolicyError {
                field,
                why: "names need at least one resource they are of".to_owned(),
            });
        }
        let all = json!(["*"]);
        let names = if is_empty("resources") {
            &all
        } else {
            &resources["resources"]
        };
        let group = resources["group"].as_str().unwrap_or_default();
        on.push(Rule::from_value(&json!({
            "verbs": ["*"], "apiGroups": [group], "resources": names,
            "resourceNames": resources["resourceNames"],
        })));
    }
    Ok(on)
}

fn check_urls(urls: &BTreeSet<String>) -> Result<(), AuditPolicyError> {
    for url in urls.iter().filter(|url| *url != "*") {
        let stem = url.strip_suffix('*').unwrap_or(url);
        if !url.starts_with('/') || stem.contains('*') {
            let why = format!("{url:?} must begin with a '/' and may have a '*' only at its end");
            return Err(wrong("nonResourceURLs", why));
        }
    }
    Ok(())
}

fn stages(value: &Value, field: &str) -> Result<BTreeSet<Stage>, AuditPolicyError> {
    let names = value[field].as_array().into_iter().flatten();
    let stages = names.map(|name| {
        let name = name.as_str().unwrap_or_default();
        Stage::named(name).ok_or_else(|| {
            let known = Stage::ALL.map(Stage::as_str).join(", ");
            wrong(field, format!("{name:?} is none of {known}"))
        })
    });
    stages.collect()
}

fn wrong(field: &str, why: String) -> AuditPolicyError {
    AuditPolicyError {
        field: field.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests;

//! How much is written about which requests.

mod fields;

use std::collections::BTreeSet;

use object::{Value, names};
use serve::call::User;
use serve::target::ResourceTarget;

use super::event::Stage;
use super::secrecy::Secrecy;
use crate::attempt::{Attempt, What};
use crate::rule::url_covers;

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
    resources: Vec<Resources>,
    /// Paths that are no resources, as roles name them.
    urls: BTreeSet<String>,
}

/// Resources of one group.
#[derive(Clone, Debug)]
struct Resources {
    group: String,
    /// `pods`, `pods/log`, `pods/*`, `*/scale`, `*`; none means all.
    resources: BTreeSet<String>,
    /// Which of their objects; none means all.
    names: BTreeSet<String>,
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
    /// Reads an `audit.k8s.io/v1` Policy. One without rules would note nothing, and nobody writes one for that.
    pub fn read(policy: &Value) -> Result<Self, AuditPolicyError> {
        fields::check(policy)?;
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
        if read.rules.is_empty() {
            let why = "there are none, so nothing would be noted";
            return Err(wrong("rules", why.to_owned()));
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
        let (namespaces, urls) = (texts(rule, "namespaces"), texts(rule, "nonResourceURLs"));
        let resources = resources(rule)?;
        if !urls.is_empty() {
            if !resources.is_empty() || !namespaces.is_empty() {
                let why = "a rule is about resources or about other paths, not about both";
                return Err(wrong("nonResourceURLs", why.to_owned()));
            }
            check_urls(&urls)?;
        }
        Ok(AuditRule {
            level,
            omitted,
            omits_managed_fields: rule["omitManagedFields"]
                .as_bool()
                .unwrap_or(self.omits_managed_fields),
            users: texts(rule, "users"),
            groups: texts(rule, "userGroups"),
            verbs: texts(rule, "verbs"),
            namespaces,
            resources,
            urls,
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
            What::Resource(target) => {
                let mut resources = self.resources.iter();
                among(&self.namespaces, &target.namespace)
                    && self.urls.is_empty()
                    && (self.resources.is_empty() || resources.any(|one| one.covers(target)))
            }
            What::Path(path) => {
                let mut urls = self.urls.iter();
                self.namespaces.is_empty()
                    && self.resources.is_empty()
                    && (self.urls.is_empty() || urls.any(|url| url_covers(url, path)))
            }
        };
        users_fit && groups_fit && among(&self.verbs, &attempt.verb) && place_fits
    }
}

impl Resources {
    /// Upstream: the same. `pods/*` is the pods themselves too, unlike in roles, where it means nothing.
    fn covers(&self, target: &ResourceTarget) -> bool {
        if self.group != target.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let (resource, part) = (target.resource.as_str(), target.subresource.as_str());
        let means = |known: &String| match known.split_once('/') {
            None => known == "*" || (known == resource && part.is_empty()),
            Some((known, "*")) => known == resource,
            Some(("*", known)) => known == part,
            Some((known, known_part)) => known == resource && known_part == part,
        };
        (self.names.is_empty() || self.names.contains(&target.name))
            && self.resources.iter().any(means)
    }
}

/// The resources a rule is about.
fn resources(rule: &Value) -> Result<Vec<Resources>, AuditPolicyError> {
    let mut on = Vec::new();
    let entries = rule["resources"].as_array().into_iter().flatten();
    for (place, entry) in entries.enumerate() {
        let wrong = |field: &str, why: String| wrong(&format!("resources[{place}].{field}"), why);
        let group = entry["group"].as_str().unwrap_or_default();
        let problems = names::check_dns1123_subdomain(group);
        if !group.is_empty() && !problems.is_empty() {
            return Err(wrong("group", format!("{group:?}: {}", problems.join(","))));
        }
        let (resources, names) = (texts(entry, "resources"), texts(entry, "resourceNames"));
        if resources.is_empty() && !names.is_empty() {
            let why = "names need at least one resource they are of";
            return Err(wrong("resourceNames", why.to_owned()));
        }
        on.push(Resources {
            group: group.to_owned(),
            resources,
            names,
        });
    }
    Ok(on)
}

fn texts(value: &Value, field: &str) -> BTreeSet<String> {
    let texts = value[field].as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
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

//! One rule of a role, ready to be held against attempts and against other rules.

use std::fmt;

use object::{Map, Value};

use crate::attempt::{Attempt, What};

/// What one rule of a role gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// What may be done; `*` is everything.
    pub verbs: Box<[Box<str>]>,
    /// In which groups; empty text is the core group, `*` all.
    pub groups: Box<[Box<str>]>,
    /// With which resources: `pods`, `pods/log`, `*/scale`, `*`.
    pub resources: Box<[Box<str>]>,
    /// With which objects; none means all.
    pub names: Box<[Box<str>]>,
    /// On which paths that are no resources; a `*` at the end is anything that follows.
    pub urls: Box<[Box<str>]>,
}

impl Rule {
    /// Reads a rule of a Role or ClusterRole. What is not text is left out, so a damaged rule gives less, never more.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let texts = |field: &str| -> Box<[Box<str>]> {
            value
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(Box::from)
                .collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            urls: texts("nonResourceURLs"),
        }
    }

    /// The rules of a Role or ClusterRole.
    #[must_use]
    pub fn all_of(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::from_value).collect()
    }

    /// As roles and reviews write it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for (name, texts) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !texts.is_empty() || name == "verbs" {
                let texts = texts.iter().map(|text| Value::from(&**text));
                fields.insert(name.to_owned(), texts.collect());
            }
        }
        Value::Object(fields)
    }

    /// Whether the rule gives what is attempted.
    #[must_use]
    pub fn allows(&self, attempt: &Attempt) -> bool {
        if !has_or_star(&self.verbs, &attempt.verb) {
            return false;
        }
        match &attempt.what {
            What::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            What::Resource(target) => {
                has_or_star(&self.groups, &target.group)
                    && self
                        .resources
                        .iter()
                        .any(|known| resource_matches(known, &target.resource, &target.subresource))
                    && (self.names.is_empty() || has(&self.names, &target.name))
            }
        }
    }

    /// Whether this rule gives everything the one verb, group, resource, name or path of `atom` stands for.
    fn covers(&self, atom: &Atom<'_>) -> bool {
        if !has_or_star(&self.verbs, atom.verb) {
            return false;
        }
        match atom.on {
            On::Url(path) => self.urls.iter().any(|url| url_covers(url, path)),
            On::Resource {
                group,
                resource,
                name,
            } => {
                let names = match name {
                    Some(name) => self.names.is_empty() || has(&self.names, name),
                    None => self.names.is_empty(),
                };
                names
                    && has_or_star(&self.groups, group)
                    && (has_or_star(&self.resources, resource)
                        || resource
                            .split_once('/')
                            .is_some_and(|(_, part)| has(&self.resources, &format!("*/{part}"))))
            }
        }
    }

    fn atoms(&self) -> impl Iterator<Item = Atom<'_>> {
        let names: Vec<Option<&str>> = if self.names.is_empty() {
            vec![None]
        } else {
            self.names.iter().map(|name| Some(&**name)).collect()
        };
        let mut atoms = Vec::new();
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    atoms.extend(names.iter().map(|name| Atom {
                        verb,
                        on: On::Resource {
                            group,
                            resource,
                            name: *name,
                        },
                    }));
                }
            }
        }
        for url in &self.urls {
            atoms.extend(self.verbs.iter().map(|verb| Atom {
                verb,
                on: On::Url(url),
            }));
        }
        atoms.into_iter()
    }
}

/// What `owner` lacks of what `wanted` gives, with the verbs of one thing together; empty if nothing is lacking.
#[must_use]
pub fn missing(owner: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut lacking: Vec<(On<'_>, Vec<&str>)> = Vec::new();
    for atom in wanted.iter().flat_map(Rule::atoms) {
        if owner.iter().any(|rule| rule.covers(&atom)) {
            continue;
        }
        match lacking.iter_mut().find(|(on, _)| *on == atom.on) {
            Some((_, verbs)) if verbs.contains(&atom.verb) => {}
            Some((_, verbs)) => verbs.push(atom.verb),
            None => lacking.push((atom.on, vec![atom.verb])),
        }
    }
    lacking
        .into_iter()
        .map(|(on, verbs)| on.rule(&verbs))
        .collect()
}

/// One verb on one thing: the smallest rule there is.
struct Atom<'a> {
    verb: &'a str,
    on: On<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum On<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
    },
    Url(&'a str),
}

impl On<'_> {
    fn rule(self, verbs: &[&str]) -> Rule {
        let one = |text: &str| -> Box<[Box<str>]> { Box::new([Box::from(text)]) };
        let verbs = verbs.iter().map(|verb| Box::from(*verb)).collect();
        match self {
            Self::Url(url) => Rule {
                verbs,
                urls: one(url),
                ..Rule::default()
            },
            Self::Resource {
                group,
                resource,
                name,
            } => Rule {
                verbs,
                groups: one(group),
                resources: one(resource),
                names: name.map(one).unwrap_or_default(),
                urls: Box::default(),
            },
        }
    }
}

/// As refusals show what is lacking.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let shown = parts
            .iter()
            .filter(|(_, texts)| !texts.is_empty())
            .map(|(name, texts)| {
                let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
                format!("{name}:[{}]", texts.join(" "))
            });
        write!(f, "{{{}}}", shown.collect::<Vec<_>>().join(", "))
    }
}

fn has(texts: &[Box<str>], text: &str) -> bool {
    texts.iter().any(|known| **known == *text)
}

fn has_or_star(texts: &[Box<str>], text: &str) -> bool {
    texts
        .iter()
        .any(|known| **known == *text || &**known == "*")
}

/// Whether a resource of a rule means this resource or part of one.
fn resource_matches(known: &str, resource: &str, part: &str) -> bool {
    if known == "*" {
        return true;
    }
    match known.split_once('/') {
        None => part.is_empty() && known == resource,
        Some((_, known_part)) if known_part != part => false,
        Some((known_resource, _)) => known_resource == "*" || known_resource == resource,
    }
}

/// Whether a path of a rule means this one.
pub(crate) fn url_covers(known: &str, path: &str) -> bool {
    known == "*"
        || known == path
        || (known.ends_with('*') && path.starts_with(known.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use serve::target::ResourceTarget;

    use super::*;

    /// `verb group resource[/part] [name]` or `verb /path`.
    fn attempt(text: &str) -> Attempt {
        let words: Vec<&str> = text.split(' ').collect();
        let verb = Cow::Owned(words[0].to_owned());
        if words[1].starts_with('/') {
            return Attempt {
                verb,
                what: What::Path(words[1].to_owned()),
            };
        }
        let (resource, part) = words[2].split_once('/').unwrap_or((words[2], ""));
        let group = if words[1] == "core" { "" } else { words[1] };
        Attempt {
            verb,
            what: What::Resource(ResourceTarget {
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: part.to_owned(),
                name: words.get(3).copied().unwrap_or_default().to_owned(),
                ..ResourceTarget::default()
            }),
        }
    }

    #[test]
    fn rules_give_what_they_say_and_no_more() {
        let pods =
            json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]});
        let scale = json!({"verbs": ["update"], "apiGroups": ["*"], "resources": ["*/scale"]});
        let named = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"]});
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        let urls = json!({"verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/healthz"]});
        let every_url = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
        for (rule, text, expected) in [
            (&pods, "get core pods x", true),
            (&pods, "get core pods/log x", true),
            (&pods, "get core pods/exec x", false),
            (&pods, "watch core pods", false),
            (&pods, "get apps pods x", false),
            (&scale, "update apps deployments/scale x", true),
            (&scale, "update apps deployments x", false),
            (&scale, "update core pods/status x", false),
            (&named, "get core secrets a", true),
            (&named, "get core secrets c", false),
            (&named, "get core secrets", false),
            (&all, "impersonate core users x", true),
            (&all, "get apps deployments/status x", true),
            (&all, "get /api", false),
            (&urls, "get /api", true),
            (&urls, "get /api/v1", true),
            (&urls, "get /apis", false),
            (&urls, "post /api", false),
            (&urls, "get core pods", false),
            (&every_url, "post /anything", true),
            (&every_url, "get core pods", false),
        ] {
            assert_eq!(
                Rule::from_value(rule).allows(&attempt(text)),
                expected,
                "{rule} {text}"
            );
        }
    }

    #[test]
    fn what_is_lacking_is_named_by_what_it_is_on() {
        let rule = |value: Value| Rule::from_value(&value);
        let pods = rule(
            json!({"verbs": ["get", "list", "delete"], "apiGroups": [""], "resources": ["pods"]}),
        );
        let some_pods = rule(
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}),
        );
        let readers = rule(
            json!({"verbs": ["get", "list"], "apiGroups": ["*"], "resources": ["*", "*/status"]}),
        );
        let scale =
            rule(json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["*/scale"]}));
        let one_scale = rule(
            json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments/scale"]}),
        );
        let urls = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/a/*"]}));
        let url = rule(json!({"verbs": ["get", "post"], "nonResourceURLs": ["/a/b"]}));
        for (owner, wanted, expected) in [
            (&pods, &some_pods, ""),
            (
                &some_pods,
                &pods,
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\" \"delete\"]}",
            ),
            (
                &readers,
                &pods,
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}",
            ),
            (&scale, &one_scale, ""),
            (
                &one_scale,
                &scale,
                "{APIGroups:[\"apps\"], Resources:[\"*/scale\"], Verbs:[\"get\"]}",
            ),
            (
                &urls,
                &url,
                "{NonResourceURLs:[\"/a/b\"], Verbs:[\"post\"]}",
            ),
        ] {
            let lacking: Vec<String> =
                missing(std::slice::from_ref(owner), std::slice::from_ref(wanted))
                    .iter()
                    .map(ToString::to_string)
                    .collect();
            assert_eq!(lacking.join("; "), expected, "{owner} / {wanted}");
        }
    }
}

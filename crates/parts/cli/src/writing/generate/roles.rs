//! Roles, and who has them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RBAC, Words};
use crate::failure::Failure;

/// The group of a resource, and its full name; `None` if nobody is asked.
pub(super) type Groups<'g> = &'g dyn Fn(&str) -> Result<Option<(String, String)>, Failure>;

/// Verbs on paths that are no resources.
const PATH_VERBS: [&str; 8] = [
    "*", "get", "post", "put", "delete", "patch", "head", "options",
];

/// Verbs that mean something for some resources alone, which need not be served.
const SPECIAL_VERBS: [(&str, &[(&str, &str)]); 4] = [
    (
        "use",
        &[
            ("policy", "podsecuritypolicies"),
            ("extensions", "podsecuritypolicies"),
        ],
    ),
    ("bind", &[(RBAC, "roles"), (RBAC, "clusterroles")]),
    ("escalate", &[(RBAC, "roles"), (RBAC, "clusterroles")]),
    (
        "impersonate",
        &[
            ("", "users"),
            ("", "serviceaccounts"),
            ("", "groups"),
            ("authentication.k8s.io", "userextras"),
        ],
    ),
];

/// A role in a namespace.
pub(super) fn role(words: &Words<'_>, group: Groups<'_>) -> Result<Value, Failure> {
    let verbs = verbs(words)?;
    if words.listed("resource").is_empty() {
        return Err(Failure::refused(
            "at least one resource must be specified",
            "add --resource=pods",
        ));
    }
    Ok(json!({"rules": rules(words, &verbs, group)?}))
}

/// A role in the whole cluster.
pub(super) fn cluster_role(words: &Words<'_>, group: Groups<'_>) -> Result<Value, Failure> {
    let (resources, paths) = (words.listed("resource"), words.listed("non-resource-url"));
    if words.has("aggregation-rule") {
        let others = ["verb", "resource", "non-resource-url", "resource-name"];
        if others.iter().any(|flag| words.has(flag)) {
            return Err(Failure::refused(
                "aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames",
                "leave --aggregation-rule or the others out",
            ));
        }
        let labels = labels("aggregation-rule", &words.listed("aggregation-rule"))?;
        return Ok(json!({
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]},
            "rules": [],
        }));
    }
    let verbs = verbs(words)?;
    if resources.is_empty() && paths.is_empty() {
        return Err(Failure::refused(
            "one of resource or nonResourceURL must be specified",
            "add --resource=pods or --non-resource-url=/healthz",
        ));
    }
    let mut rules = rules(words, &verbs, group)?;
    if !paths.is_empty() {
        if !paths.iter().all(|path| path.starts_with('/')) {
            return Err(Failure::refused(
                "nonResourceURL should start with /",
                "write for example --non-resource-url=/healthz",
            ));
        }
        if let Some(verb) = verbs.iter().find(|verb| !PATH_VERBS.contains(verb)) {
            return Err(Failure::refused(
                format!("invalid verb: {verb:?} for nonResourceURL"),
                format!("choose among {}", PATH_VERBS.join(", ")),
            ));
        }
        rules.push(json!({"verbs": verbs, "nonResourceURLs": paths}));
    }
    Ok(json!({"rules": rules}))
}

/// The verbs, each once.
fn verbs<'a>(words: &Words<'a>) -> Result<Vec<&'a str>, Failure> {
    let mut verbs: Vec<&str> = Vec::new();
    for verb in words.listed("verb") {
        // All verbs are those that were named too.
        if verb == "*" {
            return Ok(vec!["*"]);
        }
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    match verbs.is_empty() {
        true => Err(Failure::refused(
            "at least one verb must be specified",
            "add --verb=get,list,watch",
        )),
        false => Ok(verbs),
    }
}

/// A rule for each group of resources, by the group's name.
fn rules(words: &Words<'_>, verbs: &[&str], group: Groups<'_>) -> Result<Vec<Value>, Failure> {
    // A name may have a comma in it; the flag is given once for each.
    let mut names: Vec<&str> = Vec::new();
    for name in words.all("resource-name") {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut grouped: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in words.listed("resource") {
        let (word, part) = match word.split_once('/') {
            Some((word, "")) => (word, String::new()),
            Some((word, part)) => (word, format!("/{part}")),
            None => (word, String::new()),
        };
        let (group, plural) = resolve(word, verbs, group)?;
        let known = grouped.entry(group).or_default();
        let resource = format!("{plural}{part}");
        if !known.contains(&resource) {
            known.push(resource);
        }
    }
    let rule = |(group, resources): (String, Vec<String>)| {
        let mut rule = json!({"verbs": verbs, "apiGroups": [group], "resources": resources});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    Ok(grouped.into_iter().map(rule).collect())
}

/// The group of a resource, and its full name, if these verbs may be said of it.
fn resolve(word: &str, verbs: &[&str], group: Groups<'_>) -> Result<(String, String), Failure> {
    let (plain, named_group) = word.split_once('.').unwrap_or((word, ""));
    let named = || (named_group.to_owned(), plain.to_owned());
    match plain {
        "" => {
            return Err(Failure::refused(
                "resource must be specified if apiGroup/subresource specified",
                "write for example --resource=pods/log",
            ));
        }
        "*" => return Ok(named()),
        _ => {}
    }
    let found = match group(word) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => return Ok(named()),
        Err(failure) => Err(failure),
    };
    let unserved = named();
    let resource = found.as_ref().unwrap_or(&unserved).clone();
    let mut is_special = false;
    for verb in verbs {
        let special = SPECIAL_VERBS.iter().find(|(known, _)| known == verb);
        let Some((_, resources)) = special else {
            continue;
        };
        let (group, plural) = (resource.0.as_str(), resource.1.as_str());
        if !resources.contains(&(group, plural)) {
            return Err(Failure::refused(
                format!("can not perform '{verb}' on '{plural}' in group '{group}'"),
                "leave the verb out, or name what it is for: --verb=bind --resource=roles",
            ));
        }
        is_special = true;
    }
    match is_special {
        true => Ok(resource),
        false => found,
    }
}

/// Labels in words.
pub(super) fn labels(flag: &str, pairs: &[&str]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &&str| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Failure::refused(
            format!("--{flag}: {text:?} is no KEY=VALUE"),
            format!("write for example --{flag}=app=web"),
        )),
    };
    pairs.iter().map(pair).collect()
}

/// The binding of a role to users, groups and service accounts.
pub(super) fn binding(words: &Words<'_>, takes_roles: bool) -> Result<Value, Failure> {
    let roles = (
        words.value("role").filter(|_| takes_roles),
        words.value("clusterrole"),
    );
    let (kind, role) = match roles {
        (Some(role), None) => ("Role", role),
        (None, Some(role)) => ("ClusterRole", role),
        _ => {
            return Err(Failure::refused(
                "exactly one role has to be named",
                "add --clusterrole=view",
            ));
        }
    };
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        let named = words.all(flag);
        subjects.extend(named.map(|name| json!({"kind": kind, "apiGroup": RBAC, "name": name})));
    }
    for text in words.all("serviceaccount") {
        let Some((namespace, name)) = text.split_once(':') else {
            return Err(Failure::refused(
                format!("--serviceaccount: {text:?} is no NAMESPACE:NAME"),
                "write for example --serviceaccount=default:builder",
            ));
        };
        subjects.push(json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}));
    }
    Ok(json!({
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": subjects,
    }))
}

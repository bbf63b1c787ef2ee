//! Roles and bindings written as text, one line for each rule and binding.
//!
//! ```text
//! clusterrole NAME [in LABEL] [gathers LABEL]   LABEL is short for rbac.authorization.k8s.io/LABEL
//! role NAMESPACE/NAME
//!   VERBS | GROUPS | RESOURCES [| NAMES]        `read` is get list watch; `write` is every change; `core` the core group
//!   VERBS | paths | URLS
//! bind NAME [of clusterrole|role ROLE] to user|group|account SUBJECT [to …]
//! ```
//!
//! A binding is of the role of its own name unless it says otherwise; one named `NAMESPACE/NAME` holds there alone.

use std::collections::BTreeMap;

use object::{Map, Value};
use serde_json::json;

use crate::names::RBAC_GROUP;

/// The roles every Kubernetes API has.
const DEFAULT: &str = include_str!("../roles/default.roles");
/// The roles of Kubernetes' controllers.
const CONTROLLERS: &str = include_str!("../roles/controllers.roles");

/// What Kubernetes' own roles are labelled with.
pub const BOOTSTRAPPING: &str = "kubernetes.io/bootstrapping";
/// Whether a role or binding is completed at every start.
pub const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// A role or binding that every start makes sure of.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// `clusterroles`, `roles`, `clusterrolebindings` or `rolebindings`.
    pub plural: &'static str,
    /// Empty for those that hold everywhere.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The object itself.
    pub object: Value,
    /// What becomes of rules that somebody added to it.
    pub additions: Additions,
}

/// What becomes of rules that a role has and is not expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Additions {
    /// They stay: roles are for users, and users know whom they give more.
    Stay,
    /// They go: the role says what a part of this process does, and no more than that.
    Go,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct RolesError {
    /// Which, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

/// The roles and bindings every Kubernetes API has, gathered ones complete.
#[must_use]
pub fn defaults() -> Vec<Expected> {
    let parse = |text| {
        parse(text, BOOTSTRAPPING).expect("invariant: our own tables can be read, as tests show")
    };
    let mut all = parse(DEFAULT);
    all.extend(parse(CONTROLLERS));
    all
}

/// Reads a table. `label` is the key of the label that says where the objects come from.
pub fn parse(text: &str, label: &str) -> Result<Vec<Expected>, RolesError> {
    let mut all: Vec<Expected> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fail = |why| RolesError {
            line: index + 1,
            why,
        };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            let rule = rule(line).ok_or_else(|| fail("a rule is VERBS | GROUPS | RESOURCES"))?;
            let role = all
                .last_mut()
                .filter(|last| last.plural.ends_with("roles"))
                .ok_or_else(|| fail("a rule stands below its role"))?;
            if let Some(rules) = role.object["rules"].as_array_mut() {
                rules.push(rule);
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let expected = match words.next() {
            Some("clusterrole") => cluster_role(words, label),
            Some("role") => role(words, label),
            Some("bind") => binding(words, label),
            _ => None,
        };
        all.push(expected.ok_or_else(|| fail("neither role nor binding"))?);
    }
    Ok(all)
}

fn cluster_role<'a>(mut words: impl Iterator<Item = &'a str>, label: &str) -> Option<Expected> {
    let name = words.next()?;
    let mut expected = expected("clusterroles", "ClusterRole", name, label)?;
    expected.object["rules"] = json!([]);
    while let Some(word) = words.next() {
        let key = format!("{RBAC_GROUP}/{}", words.next()?);
        match word {
            "in" => expected.object["metadata"]["labels"][key] = json!("true"),
            "gathers" => {
                let labels: Map = [(key, json!("true"))].into_iter().collect();
                expected.object["aggregationRule"] =
                    json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
            }
            _ => return None,
        }
    }
    Some(expected)
}

fn role<'a>(mut words: impl Iterator<Item = &'a str>, label: &str) -> Option<Expected> {
    let mut expected = expected("roles", "Role", words.next()?, label)?;
    expected.object["rules"] = json!([]);
    words.next().is_none().then_some(expected)
}

fn binding<'a>(words: impl Iterator<Item = &'a str>, label: &str) -> Option<Expected> {
    let mut words = words.peekable();
    let full = words.next()?;
    let is_namespaced = full.contains('/');
    let (plural, kind) = if is_namespaced {
        ("rolebindings", "RoleBinding")
    } else {
        ("clusterrolebindings", "ClusterRoleBinding")
    };
    let mut expected = expected(plural, kind, full, label)?;
    let mut role = (
        if is_namespaced { "Role" } else { "ClusterRole" },
        expected.name.clone(),
    );
    if words.next_if_eq(&"of").is_some() {
        role.0 = match words.next()? {
            "clusterrole" => "ClusterRole",
            "role" => "Role",
            _ => return None,
        };
        words.next()?.clone_into(&mut role.1);
    }
    let mut subjects = Vec::new();
    while let Some(word) = words.next() {
        if word != "to" {
            return None;
        }
        subjects.push(match (words.next()?, words.next()?) {
            ("user", name) => json!({"kind": "User", "apiGroup": RBAC_GROUP, "name": name}),
            ("group", name) => json!({"kind": "Group", "apiGroup": RBAC_GROUP, "name": name}),
            ("account", account) => {
                let (namespace, name) = account.split_once('/')?;
                json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
            }
            _ => return None,
        });
    }
    expected.object["roleRef"] = json!({"apiGroup": RBAC_GROUP, "kind": role.0, "name": role.1});
    expected.object["subjects"] = subjects.into();
    Some(expected)
}

fn expected(plural: &'static str, kind: &str, full: &str, label: &str) -> Option<Expected> {
    let (namespace, name) = match plural {
        "roles" | "rolebindings" => full.split_once('/')?,
        _ => ("", full),
    };
    let labels: Map = [(label.to_owned(), json!("rbac-defaults"))]
        .into_iter()
        .collect();
    let annotations: Map = [(AUTOUPDATE.to_owned(), json!("true"))]
        .into_iter()
        .collect();
    let mut metadata = json!({"name": name, "labels": labels, "annotations": annotations});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    Some(Expected {
        plural,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        object: json!({"apiVersion": format!("{RBAC_GROUP}/v1"), "kind": kind, "metadata": metadata}),
        additions: Additions::Stay,
    })
}

fn rule(line: &str) -> Option<Value> {
    let mut cells = line.split('|').map(|cell| {
        cell.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    });
    let (verbs, groups, resources) = (cells.next()?, cells.next()?, cells.next()?);
    let mut rule = Map::new();
    rule.insert("verbs".to_owned(), json!(spell_out(&verbs)));
    if groups == ["paths"] {
        rule.insert("nonResourceURLs".to_owned(), json!(resources));
        return cells.next().is_none().then_some(Value::Object(rule));
    }
    let groups = groups
        .iter()
        .map(|group| if group == "core" { "" } else { group });
    rule.insert("apiGroups".to_owned(), json!(groups.collect::<Vec<_>>()));
    rule.insert("resources".to_owned(), json!(resources));
    if let Some(names) = cells.next() {
        rule.insert("resourceNames".to_owned(), json!(names));
    }
    cells.next().is_none().then_some(Value::Object(rule))
}

fn spell_out(verbs: &[String]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for verb in verbs {
        match verb.as_str() {
            "read" => all.extend(["get", "list", "watch"]),
            "write" => all.extend(["create", "delete", "deletecollection", "patch", "update"]),
            verb => all.push(verb),
        }
    }
    all.sort_unstable();
    all
}

/// The rules a ClusterRole gathers from the others, in the order of their names, each once; `None` if it gathers none.
#[must_use]
pub fn gather(role: &Value, all: &BTreeMap<String, Value>) -> Option<Vec<Value>> {
    let selectors = role
        .get("aggregationRule")?
        .get("clusterRoleSelectors")?
        .as_array()?;
    let name = role["metadata"]["name"].as_str().unwrap_or_default();
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let Ok(selector) =
            serde_json::from_value::<object::selector::LabelSelector>(selector.clone())
        else {
            continue;
        };
        let Ok(selector) = selector.compile(&object::field::FieldPath::default()) else {
            continue;
        };
        for (_, other) in all.iter().filter(|(other, _)| *other != name) {
            let labels = &other["metadata"]["labels"];
            if !selector.matches(|key| labels.get(key).and_then(Value::as_str)) {
                continue;
            }
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}

/// Gathers until nothing changes: a gathered role may be gathered in turn. Returns the names of the roles that changed.
pub fn gather_all(all: &mut BTreeMap<String, Value>) -> Vec<String> {
    let mut changed = Vec::new();
    // A chain is never longer than there are roles; roles that gather each other in a circle might never settle.
    for _ in 0..=all.len() {
        let news: Vec<(String, Vec<Value>)> = all
            .iter()
            .filter_map(|(name, role)| Some((name, role, gather(role, all)?)))
            .filter(|(_, role, rules)| role["rules"].as_array() != Some(rules))
            .map(|(name, _, rules)| (name.clone(), rules))
            .collect();
        if news.is_empty() {
            break;
        }
        for (name, rules) in news {
            if let Some(role) = all.get_mut(&name) {
                role["rules"] = rules.into();
            }
            changed.push(name);
        }
    }
    changed.sort();
    changed.dedup();
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_roles_and_bindings() {
        let table = "# words\n\nclusterrole a:b in aggregate-to-edit gathers aggregate-to-view\n  read x | core apps | pods pods/log | n\n  get | paths | /a /b/*\n\
                     bind a:b to group g to account ns/sa\nrole ns/r\nbind ns/q of role r to user u\n";
        let shown: Vec<String> = parse(table, "example.com/bootstrapping")
            .unwrap()
            .iter()
            .map(|expected| {
                let mut object = expected.object.clone();
                for field in ["apiVersion", "kind"] {
                    object.as_object_mut().unwrap().shift_remove(field);
                }
                object["metadata"]
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("annotations");
                format!("{} {object}", expected.plural)
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"clusterroles {"metadata":{"name":"a:b","labels":{"example.com/bootstrapping":"rbac-defaults","rbac.authorization.k8s.io/aggregate-to-edit":"true"}},"rules":[{"verbs":["get","list","watch","x"],"apiGroups":["","apps"],"resources":["pods","pods/log"],"resourceNames":["n"]},{"verbs":["get"],"nonResourceURLs":["/a","/b/*"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}]}}"#,
                r#"clusterrolebindings {"metadata":{"name":"a:b","labels":{"example.com/bootstrapping":"rbac-defaults"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a:b"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"},{"kind":"ServiceAccount","name":"sa","namespace":"ns"}]}"#,
                r#"roles {"metadata":{"name":"r","labels":{"example.com/bootstrapping":"rbac-defaults"},"namespace":"ns"},"rules":[]}"#,
                r#"rolebindings {"metadata":{"name":"q","labels":{"example.com/bootstrapping":"rbac-defaults"},"namespace":"ns"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"}]}"#,
            ]
        );
    }

    #[test]
    fn lines_that_mean_nothing_are_named() {
        for (table, error) in [
            (
                "  get | core | pods",
                "line 1: a rule stands below its role",
            ),
            (
                "clusterrole a\n  get core pods",
                "line 2: a rule is VERBS | GROUPS | RESOURCES",
            ),
            ("role a", "line 1: neither role nor binding"),
            ("bind a to nobody x", "line 1: neither role nor binding"),
            ("grant a", "line 1: neither role nor binding"),
        ] {
            assert_eq!(parse(table, "x").unwrap_err().to_string(), error, "{table}");
        }
    }

    #[test]
    fn the_default_roles_are_all_there_and_gather_one_another() {
        let all = defaults();
        let count = |plural: &str| {
            all.iter()
                .filter(|expected| expected.plural == plural)
                .count()
        };
        // Kubernetes 1.34 has so many.
        assert_eq!(
            [
                count("clusterroles"),
                count("clusterrolebindings"),
                count("roles"),
                count("rolebindings")
            ],
            [68, 49, 7, 7]
        );
        let mut roles: BTreeMap<String, Value> = all
            .into_iter()
            .filter(|expected| expected.plural == "clusterroles")
            .map(|expected| (expected.name, expected.object))
            .collect();
        assert_eq!(gather_all(&mut roles), ["admin", "edit", "view"]);
        let rules = |name: &str| roles[name]["rules"].as_array().unwrap().len();
        assert_eq!(rules("view"), rules("system:aggregate-to-view"));
        assert_eq!(
            rules("edit"),
            rules("system:aggregate-to-edit") + rules("view")
        );
        assert_eq!(
            rules("admin"),
            rules("system:aggregate-to-admin") + rules("edit")
        );
        assert!(gather_all(&mut roles).is_empty());
    }
}

//! What the server says it serves, in the old form (a document for each group and version) and the new (one for all).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use object::{Map, Value, base64};
use serde_json::json;

use crate::negotiate::Aggregated;
use crate::resource::{Resource, Subresource, Table, Version};
use crate::target::Verb;

/// A resource and one of its versions.
type InVersion<'t> = (&'t Arc<Resource>, &'t Version);

/// The resources of one group, by version, versions in the order of preference.
struct Group<'t> {
    name: &'t str,
    priority: u32,
    versions: Vec<(&'t str, Vec<InVersion<'t>>)>,
}

/// `/api` in the old form.
#[must_use]
pub fn core_versions(table: &Table, address: &str) -> Value {
    let groups = groups(table);
    let core = groups.iter().find(|group| group.name.is_empty());
    let versions: Vec<&str> = core
        .into_iter()
        .flat_map(|group| group.versions.iter().map(|(name, _)| *name))
        .collect();
    json!({
        "kind": "APIVersions", "versions": versions,
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis` in the old form.
#[must_use]
pub fn group_list(table: &Table) -> Value {
    let named: Vec<Value> = groups(table)
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(Group::summary)
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": named})
}

/// `/apis/GROUP`; `None` if there is no such group.
#[must_use]
pub fn group(table: &Table, name: &str) -> Option<Value> {
    let groups = groups(table);
    let found = groups
        .iter()
        .find(|group| group.name == name && !name.is_empty())?;
    let mut summary = found.summary();
    if let Some(fields) = summary.as_object_mut() {
        fields.insert("kind".to_owned(), json!("APIGroup"));
        fields.insert("apiVersion".to_owned(), json!("v1"));
    }
    Some(summary)
}

/// `/api/VERSION` and `/apis/GROUP/VERSION`; `None` if there is no such version.
#[must_use]
pub fn resource_list(table: &Table, group: &str, version: &str) -> Option<Value> {
    let groups = groups(table);
    let found = groups.iter().find(|known| known.name == group)?;
    let (_, resources) = found.versions.iter().find(|(name, _)| *name == version)?;
    let listed: Vec<Value> = resources
        .iter()
        .flat_map(|(resource, version)| {
            let parts = version
                .subresources
                .iter()
                .map(|part| part_entry(resource, part));
            std::iter::once(entry(resource, version)).chain(parts.collect::<Vec<_>>())
        })
        .collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": listed,
    }))
}

/// `/api` (`core`) and `/apis` in the new form.
#[must_use]
pub fn aggregated(table: &Table, core: bool, version: Aggregated) -> Value {
    let items: Vec<Value> = groups(table)
        .iter()
        .filter(|group| group.name.is_empty() == core)
        .map(Group::aggregated)
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": version.api_version(), "metadata": {}, "items": items,
    })
}

/// The paths of all documents of the old form.
#[must_use]
pub fn paths(table: &Table) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for group in groups(table) {
        let root = match group.name {
            "" => "/api".to_owned(),
            name => format!("/apis/{name}"),
        };
        paths.extend(
            group
                .versions
                .iter()
                .map(|(name, _)| format!("{root}/{name}")),
        );
        if !group.name.is_empty() {
            paths.push(root);
        }
    }
    paths
}

impl Aggregated {
    /// What the document says it is.
    fn api_version(self) -> &'static str {
        match self {
            Self::V2 => "apidiscovery.k8s.io/v2",
            Self::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }

    /// What clients call it, who look there for which form they got.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Self::V2Beta1 => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
        }
    }
}

fn groups(table: &Table) -> Vec<Group<'_>> {
    let mut by_name: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for resource in table.iter() {
        let group = by_name.entry(&resource.group).or_insert_with(|| Group {
            name: &resource.group,
            priority: resource.group_priority,
            versions: Vec::new(),
        });
        group.priority = group.priority.max(resource.group_priority);
        for version in resource.versions.iter().filter(|version| version.served) {
            match group
                .versions
                .iter_mut()
                .find(|(name, _)| *name == &*version.name)
            {
                Some((_, resources)) => resources.push((resource, version)),
                None => group
                    .versions
                    .push((&version.name, vec![(resource, version)])),
            }
        }
    }
    let mut groups: Vec<Group<'_>> = by_name
        .into_values()
        .filter(|group| !group.versions.is_empty())
        .collect();
    for group in &mut groups {
        group
            .versions
            .sort_by_key(|(name, _)| Reverse(version_rank(name)));
    }
    groups.sort_by_key(|group| (Reverse(group.priority), group.name));
    groups
}

/// Stable versions before beta before alpha, newer before older; names of another form come last, by the alphabet.
#[must_use]
pub fn version_rank(name: &str) -> (u8, u64, u64, Reverse<String>) {
    let unknown = || (0, 0, 0, Reverse(name.to_owned()));
    let Some(rest) = name.strip_prefix('v') else {
        return unknown();
    };
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let (major, rest) = rest.split_at(digits(rest));
    let Ok(major) = major.parse() else {
        return unknown();
    };
    let (stage, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        _ if rest.is_empty() => return (3, major, 0, Reverse(String::new())),
        (Some(rest), _) => (2, rest),
        (_, Some(rest)) => (1, rest),
        _ => return unknown(),
    };
    rest.parse().map_or_else(
        |_| unknown(),
        |minor| (stage, major, minor, Reverse(String::new())),
    )
}

impl Group<'_> {
    fn summary(&self) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(version, _)| json!({"groupVersion": api_version(self.name, version), "version": version}))
            .collect();
        json!({"name": self.name, "versions": versions, "preferredVersion": versions.first()})
    }

    fn aggregated(&self) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(name, resources)| {
                let resources: Vec<Value> = resources
                    .iter()
                    .map(|(resource, version)| aggregated_entry(resource, version))
                    .collect();
                json!({"version": name, "resources": resources, "freshness": "Current"})
            })
            .collect();
        let mut metadata = Map::new();
        if !self.name.is_empty() {
            metadata.insert("name".to_owned(), json!(self.name));
        }
        metadata.insert("creationTimestamp".to_owned(), Value::Null);
        json!({"metadata": metadata, "versions": versions})
    }
}

fn entry(resource: &Resource, version: &Version) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(&*resource.plural));
    fields.insert("singularName".to_owned(), json!(&*resource.singular));
    fields.insert("namespaced".to_owned(), json!(resource.namespaced));
    fields.insert("kind".to_owned(), json!(&*resource.kind));
    fields.insert("verbs".to_owned(), verbs(&version.verbs));
    put_names(&mut fields, resource);
    if resource.rules.is_stored() {
        let hash = storage_version_hash(&resource.stored_as, &resource.kind);
        fields.insert("storageVersionHash".to_owned(), json!(hash));
    }
    Value::Object(fields)
}

/// What tells programs that move stored objects whether they are kept in another version than before. Upstream: the
/// beginning of the digest of what objects are stored as.
fn storage_version_hash(stored_as: &str, kind: &str) -> String {
    let (group, version) = stored_as.split_once('/').unwrap_or(("", stored_as));
    let stored = format!("{group}/{version}/{kind}");
    let digest = digest(&SHA256, stored.as_bytes());
    base64::encode(digest.as_ref().get(..8).unwrap_or_default())
}

fn part_entry(resource: &Resource, part: &Subresource) -> Value {
    let mut fields = Map::new();
    fields.insert(
        "name".to_owned(),
        json!(format!("{}/{}", resource.plural, part.name)),
    );
    fields.insert("singularName".to_owned(), json!(""));
    fields.insert("namespaced".to_owned(), json!(resource.namespaced));
    let kind = match &part.kind {
        Some((group, version, kind)) => {
            fields.insert("group".to_owned(), json!(&**group));
            fields.insert("version".to_owned(), json!(&**version));
            kind
        }
        None => &resource.kind,
    };
    fields.insert("kind".to_owned(), json!(&**kind));
    fields.insert("verbs".to_owned(), verbs(&part.verbs));
    Value::Object(fields)
}

fn aggregated_entry(resource: &Resource, version: &Version) -> Value {
    let mut fields = Map::new();
    fields.insert("resource".to_owned(), json!(&*resource.plural));
    fields.insert(
        "responseKind".to_owned(),
        response_kind(&resource.group, &version.name, &resource.kind),
    );
    fields.insert(
        "scope".to_owned(),
        json!(if resource.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        }),
    );
    fields.insert("singularResource".to_owned(), json!(&*resource.singular));
    fields.insert("verbs".to_owned(), verbs(&version.verbs));
    put_names(&mut fields, resource);
    if !version.subresources.is_empty() {
        let parts: Vec<Value> = version
            .subresources
            .iter()
            .map(|part| {
                let own = (
                    Arc::clone(&resource.group),
                    Arc::clone(&version.name),
                    Arc::clone(&resource.kind),
                );
                let (group, version, kind) = part.kind.as_ref().unwrap_or(&own);
                json!({
                    "subresource": &*part.name, "responseKind": response_kind(group, version, kind),
                    "verbs": verbs(&part.verbs),
                })
            })
            .collect();
        fields.insert("subresources".to_owned(), Value::Array(parts));
    }
    Value::Object(fields)
}

fn put_names(fields: &mut Map, resource: &Resource) {
    for (name, list) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !list.is_empty() {
            fields.insert(
                name.to_owned(),
                list.iter().map(|text| json!(&**text)).collect(),
            );
        }
    }
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

/// Upstream: verbs are listed by the alphabet.
fn verbs(verbs: &[Verb]) -> Value {
    let mut names: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
    names.sort_unstable();
    json!(names)
}

/// `group/version`, or the bare version in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_told_by_its_digest() {
        for (stored_as, kind, expected) in [
            ("v1", "Pod", "xPOwRZ+Yhw8="),
            ("apps/v1", "Deployment", "8aSe+NMegvE="),
        ] {
            assert_eq!(storage_version_hash(stored_as, kind), expected, "{kind}");
        }
    }

    #[test]
    fn versions_are_ranked_by_stage_then_age() {
        let mut names = vec![
            "v1alpha1",
            "v2",
            "foo10",
            "v1",
            "v11beta2",
            "v10",
            "v1beta1",
            "v12alpha1",
            "foo1",
            "v3beta1",
            "v11alpha2",
            "v10beta3",
        ];
        names.sort_by_key(|name| Reverse(version_rank(name)));
        assert_eq!(
            names,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v1beta1",
                "v12alpha1",
                "v11alpha2",
                "v1alpha1",
                "foo1",
                "foo10"
            ]
        );
    }
}

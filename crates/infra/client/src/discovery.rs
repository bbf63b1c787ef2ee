//! What a server serves.

use bytes::Bytes;
use object::{GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource, ResourceType};
use serde::Deserialize;

use crate::call::Client;
use crate::error::CallError;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// What a server serves, in its own order of preference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// All resources of all groups and versions that could be read.
    pub resources: Vec<Discovered>,
    /// Groups and versions that are announced but could not be read: what they serve is not known.
    pub failed: Vec<FailedGroup>,
}

/// One resource in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The kind and its place.
    pub resource: ResourceType,
    /// The singular, as people type it; may be empty.
    pub singular: String,
    /// Abbreviations that people may type.
    pub short_names: Vec<String>,
    /// Groups of kinds that can be listed together.
    pub categories: Vec<String>,
    /// What can be done with it: `get`, `list`, `watch`, `create`, …
    pub verbs: Vec<String>,
    /// What is below its objects: `status`, `scale`, …
    pub subresources: Vec<String>,
    /// Whether this is the version of the group that the server prefers.
    pub preferred: bool,
}

/// A group and version that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGroup {
    /// Which.
    pub group_version: GroupVersion,
    /// Why not.
    pub message: String,
}

impl Discovery {
    /// The resource of a kind in its version.
    #[must_use]
    pub fn find(&self, kind: &GroupVersionKind) -> Option<&Discovered> {
        self.resources
            .iter()
            .find(|found| found.resource.kind == *kind)
    }

    /// The resource of a kind in the version the server likes best.
    #[must_use]
    pub fn find_kind(&self, kind: &GroupKind) -> Option<&Discovered> {
        self.resources.iter().find(|found| {
            found.resource.kind.kind == kind.kind && found.resource.kind.group == kind.group
        })
    }

    /// The resource that a URL names.
    #[must_use]
    pub fn find_resource(&self, resource: &GroupVersionResource) -> Option<&Discovered> {
        self.resources
            .iter()
            .find(|found| found.resource.resource() == *resource)
    }

    /// Whether it is known that the kind is not served: it was not found, and its group and version could be read.
    #[must_use]
    pub fn lacks(&self, kind: &GroupVersionKind) -> bool {
        let version = kind.group_version();
        let unknown = |failed: &FailedGroup| failed.group_version == version;
        self.find(kind).is_none() && !self.failed.iter().any(unknown)
    }

    /// One resource for each kind: the version the server likes best.
    pub fn preferred(&self) -> impl Iterator<Item = &Discovered> {
        self.resources.iter().enumerate().filter_map(|(at, found)| {
            let kind = found.resource.kind.group_kind();
            let earlier = self.resources.get(..at).unwrap_or_default();
            let known = |other: &Discovered| other.resource.kind.group_kind() == kind;
            (!earlier.iter().any(known)).then_some(found)
        })
    }
}

impl Discovered {
    /// Whether it can be done.
    #[must_use]
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

impl Client {
    /// What the server serves: in two requests if it can, else group by group. A group that cannot be read is named among
    /// the failed ones; only a server that cannot be read at all is an error.
    pub async fn discover(&self) -> Result<Discovery, CallError> {
        let (core, groups) = tokio::join!(
            self.document("/api", AGGREGATED),
            self.document("/apis", AGGREGATED)
        );
        let (core, groups) = (core?, groups?);
        let mut found = Discovery::default();
        for (root, document) in [("/api", &core), ("/apis", &groups)] {
            match read(root, document)? {
                Document::Aggregated(list) => found.add_aggregated(list),
                Document::Core(versions) => {
                    for version in versions.versions {
                        self.add_version(&mut found, "", &version, true).await;
                    }
                }
                Document::Groups(list) => {
                    for group in list.groups {
                        let preferred = group.preferred_version.version;
                        for version in order(group.versions, &preferred) {
                            let is_preferred = version == preferred;
                            self.add_version(&mut found, &group.name, &version, is_preferred)
                                .await;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    async fn add_version(
        &self,
        found: &mut Discovery,
        group: &str,
        version: &str,
        preferred: bool,
    ) {
        let group_version = GroupVersion::new(group, version);
        let path = match group {
            "" => format!("/api/{version}"),
            _ => format!("/apis/{group}/{version}"),
        };
        let list = match self.document(&path, "application/json").await {
            Ok(bytes) => decode::<ResourceList>(&path, &bytes),
            Err(error) => Err(error),
        };
        match list {
            Ok(list) => found.add_legacy(&group_version, list, preferred),
            Err(error) => found.failed.push(FailedGroup {
                group_version,
                message: telemetry::chain(&error).to_string(),
            }),
        }
    }
}

impl Discovery {
    fn add_aggregated(&mut self, list: GroupDiscoveryList) {
        for group in list.items {
            let name = group.metadata.name;
            for (place, version) in group.versions.into_iter().enumerate() {
                let group_version = GroupVersion::new(name.as_str(), version.version);
                // A stale version is what the server last knew of a group it cannot reach now.
                if version.freshness == "Stale" {
                    let message = "the server could not reach whoever serves it".to_owned();
                    self.failed.push(FailedGroup {
                        group_version,
                        message,
                    });
                    continue;
                }
                for resource in version.resources {
                    let kind = resource.response_kind.kind;
                    self.resources.push(Discovered {
                        resource: ResourceType {
                            kind: group_version.with_kind(kind),
                            plural: resource.resource,
                            namespaced: resource.scope == "Namespaced",
                        },
                        singular: resource.singular_resource,
                        short_names: resource.short_names,
                        categories: resource.categories,
                        verbs: resource.verbs,
                        subresources: resource
                            .subresources
                            .into_iter()
                            .map(|below| below.subresource)
                            .collect(),
                        preferred: place == 0,
                    });
                }
            }
        }
    }

    fn add_legacy(&mut self, group_version: &GroupVersion, list: ResourceList, preferred: bool) {
        let first = self.resources.len();
        let mut below = Vec::new();
        for resource in list.resources {
            if let Some((plural, name)) = resource.name.split_once('/') {
                below.push((plural.to_owned(), name.to_owned()));
                continue;
            }
            self.resources.push(Discovered {
                resource: ResourceType {
                    kind: group_version.with_kind(resource.kind),
                    plural: resource.name,
                    namespaced: resource.namespaced,
                },
                singular: resource.singular_name,
                short_names: resource.short_names,
                categories: resource.categories,
                verbs: resource.verbs,
                subresources: Vec::new(),
                preferred,
            });
        }
        let added = self.resources.get_mut(first..).unwrap_or_default();
        for (plural, name) in below {
            if let Some(found) = added
                .iter_mut()
                .find(|found| found.resource.plural == plural)
            {
                found.subresources.push(name);
            }
        }
    }
}

/// The preferred version first, then the others as they came.
fn order(versions: Vec<VersionName>, preferred: &str) -> Vec<String> {
    let mut names: Vec<String> = versions.into_iter().map(|known| known.version).collect();
    names.sort_by_key(|name| name != preferred);
    names
}

enum Document {
    Aggregated(GroupDiscoveryList),
    Core(Versions),
    Groups(GroupList),
}

fn read(root: &str, bytes: &Bytes) -> Result<Document, CallError> {
    let kind: Kind = decode(root, bytes)?;
    match (kind.kind.as_str(), root) {
        ("APIGroupDiscoveryList", _) => decode(root, bytes).map(Document::Aggregated),
        (_, "/api") => decode(root, bytes).map(Document::Core),
        _ => decode(root, bytes).map(Document::Groups),
    }
}

fn decode<T: for<'de> Deserialize<'de>>(path: &str, bytes: &[u8]) -> Result<T, CallError> {
    serde_json::from_slice(bytes).map_err(|source| CallError::Unreadable {
        request: format!("GET {path}"),
        source: source.into(),
    })
}

#[derive(Default, Deserialize)]
struct Kind {
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    #[serde(default)]
    versions: Vec<VersionName>,
    #[serde(default)]
    preferred_version: VersionName,
}

#[derive(Default, Deserialize)]
struct VersionName {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

#[derive(Deserialize)]
struct GroupDiscoveryList {
    #[serde(default)]
    items: Vec<GroupDiscovery>,
}

#[derive(Deserialize)]
struct GroupDiscovery {
    #[serde(default)]
    metadata: Name,
    #[serde(default)]
    versions: Vec<VersionDiscovery>,
}

#[derive(Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct VersionDiscovery {
    version: String,
    #[serde(default)]
    resources: Vec<ResourceDiscovery>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery {
    resource: String,
    #[serde(default)]
    response_kind: Kind,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<SubresourceDiscovery>,
}

#[derive(Deserialize)]
struct SubresourceDiscovery {
    subresource: String,
}

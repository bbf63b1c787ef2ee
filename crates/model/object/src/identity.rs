//! What an object is and where it is found: kinds, resources and keys.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An API group and one of its versions, as `apiVersion` spells them: `apps/v1`, or `v1` for the core group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1` or `v1alpha2`.
    pub version: String,
}

/// A kind in any version of its group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: String,
    /// Such as `Deployment`.
    pub kind: String,
}

/// A kind in one version: what an object says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Such as `Deployment`.
    pub kind: String,
}

/// A collection in one version: what a URL says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// The lower-case plural, such as `deployments`.
    pub resource: String,
}

/// An object's place among others of its kind: `namespace/name`, or `name` for cluster-scoped kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Unique in the namespace.
    pub name: String,
}

/// An `apiVersion` with more than one slash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected GroupVersion string: {text}")]
pub struct ParseGroupVersionError {
    text: String,
}

/// A key with more than one slash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected key format: {text:?}, want \"namespace/name\" or \"name\"")]
pub struct ParseKeyError {
    text: String,
}

impl GroupVersion {
    /// From its two parts.
    #[must_use]
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
        }
    }

    /// This group and version's `kind`.
    #[must_use]
    pub fn with_kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_api_version(f, &self.group, &self.version)
    }
}

impl FromStr for GroupVersion {
    type Err = ParseGroupVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(version), None, None) => Ok(Self::new("", version)),
            (Some(group), Some(version), None) => Ok(Self::new(group, version)),
            _ => Err(ParseGroupVersionError {
                text: text.to_owned(),
            }),
        }
    }
}

impl GroupKind {
    /// From its two parts.
    #[must_use]
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(f, &self.kind, &self.group)
    }
}

impl GroupVersionKind {
    /// From its three parts.
    #[must_use]
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// From what an object says of itself.
    pub fn from_api_version(api_version: &str, kind: &str) -> Result<Self, ParseGroupVersionError> {
        Ok(api_version.parse::<GroupVersion>()?.with_kind(kind))
    }

    /// The `apiVersion` field.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    /// Without the kind.
    #[must_use]
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group.clone(), self.version.clone())
    }

    /// Without the version.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }
}

/// Upstream: `apps/v1, Kind=Deployment`. Policy names made by the command line hash this text.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The core group keeps its leading slash, unlike in `apiVersion`.
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl GroupVersionResource {
    /// From its three parts.
    #[must_use]
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }

    /// Without the resource.
    #[must_use]
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group.clone(), self.version.clone())
    }

    /// `deployments.apps`, as error messages and CRD names have it.
    #[must_use]
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            return self.resource.clone();
        }
        format!("{}.{}", self.resource, self.group)
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}, Resource={}",
            self.group, self.version, self.resource
        )
    }
}

impl ObjectKey {
    /// A namespaced object.
    #[must_use]
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// A cluster-scoped object.
    #[must_use]
    pub fn cluster(name: impl Into<String>) -> Self {
        Self {
            namespace: String::new(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None => Ok(Self::cluster(text)),
            Some((namespace, name)) if !name.contains('/') => Ok(Self::namespaced(namespace, name)),
            Some(_) => Err(ParseKeyError {
                text: text.to_owned(),
            }),
        }
    }
}

fn write_api_version(f: &mut fmt::Formatter<'_>, group: &str, version: &str) -> fmt::Result {
    if group.is_empty() {
        return f.write_str(version);
    }
    write!(f, "{group}/{version}")
}

fn write_dotted(f: &mut fmt::Formatter<'_>, first: &str, group: &str) -> fmt::Result {
    if group.is_empty() {
        return f.write_str(first);
    }
    write!(f, "{first}.{group}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_parse_and_print() {
        for (text, group, version) in [
            ("v1", "", "v1"),
            ("apps/v1", "apps", "v1"),
            ("", "", ""),
            ("a.b/", "a.b", ""),
        ] {
            let parsed: GroupVersion = text.parse().unwrap();
            assert_eq!(parsed, GroupVersion::new(group, version));
        }
        assert!("a/b/c".parse::<GroupVersion>().is_err());
        assert_eq!(GroupVersionKind::new("", "v1", "Pod").api_version(), "v1");
        assert_eq!(
            GroupVersionKind::new("apps", "v1", "Deployment").api_version(),
            "apps/v1"
        );
    }

    #[test]
    fn kinds_and_resources_print_as_clients_know_them() {
        assert_eq!(
            GroupVersionKind::new("apps", "v1", "Deployment").to_string(),
            "apps/v1, Kind=Deployment"
        );
        assert_eq!(
            GroupVersionKind::new("", "v1", "Pod").to_string(),
            "/v1, Kind=Pod"
        );
        assert_eq!(
            GroupKind::new("apps", "Deployment").to_string(),
            "Deployment.apps"
        );
        assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
        assert_eq!(
            GroupVersionResource::new("apps", "v1", "deployments").group_resource(),
            "deployments.apps"
        );
        assert_eq!(
            GroupVersionResource::new("", "v1", "pods").group_resource(),
            "pods"
        );
    }

    #[test]
    fn keys_parse_and_print() {
        for text in ["web", "shop/web"] {
            assert_eq!(text.parse::<ObjectKey>().unwrap().to_string(), text);
        }
        assert!("a/b/c".parse::<ObjectKey>().is_err());
    }
}

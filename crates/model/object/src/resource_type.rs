//! Where objects of one kind are found in an API.

use std::fmt::Write as _;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::identity::{GroupVersion, GroupVersionKind, GroupVersionResource, ObjectKey};

/// A kind and the place of its objects in URLs: what a client must know to reach them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceType {
    /// What the objects say of themselves.
    pub kind: GroupVersionKind,
    /// The lower-case plural, as URLs have it.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

impl ResourceType {
    /// A kind whose objects live in namespaces.
    #[must_use]
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            kind: GroupVersionKind::new(group, version, kind),
            plural: plural.to_owned(),
            namespaced: true,
        }
    }

    /// A kind whose objects live in no namespace.
    #[must_use]
    pub fn cluster(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            namespaced: false,
            ..Self::namespaced(group, version, kind, plural)
        }
    }

    /// Group and version, as `apiVersion` spells them.
    #[must_use]
    pub fn group_version(&self) -> GroupVersion {
        self.kind.group_version()
    }

    /// The collection's identity.
    #[must_use]
    pub fn resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(
            self.kind.group.as_str(),
            self.kind.version.as_str(),
            self.plural.as_str(),
        )
    }

    /// The path of the collection; of all namespaces if `namespace` is empty, and of a cluster-scoped kind in any case.
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        let mut path = String::with_capacity(64);
        self.write_path(namespace, &mut path);
        path
    }

    /// The path of one object.
    #[must_use]
    pub fn object_path(&self, key: &ObjectKey) -> String {
        let mut path = String::with_capacity(96);
        self.write_path(&key.namespace, &mut path);
        path.push('/');
        write_segment(&key.name, &mut path);
        path
    }

    fn write_path(&self, namespace: &str, path: &mut String) {
        if self.kind.group.is_empty() {
            path.push_str("/api/");
        } else {
            path.push_str("/apis/");
            write_segment(&self.kind.group, path);
            path.push('/');
        }
        write_segment(&self.kind.version, path);
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            write_segment(namespace, path);
        }
        path.push('/');
        write_segment(&self.plural, path);
    }
}

/// As plans show it: `{"apiVersion": …, "kind": …, "plural": …, "namespaced": …}`.
impl Serialize for ResourceType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ResourceType", 4)?;
        fields.serialize_field("apiVersion", &self.kind.api_version())?;
        fields.serialize_field("kind", &self.kind.kind)?;
        fields.serialize_field("plural", &self.plural)?;
        fields.serialize_field("namespaced", &self.namespaced)?;
        fields.end()
    }
}

/// Names of roles may hold almost anything but slashes; what a path cannot carry is escaped.
fn write_segment(segment: &str, path: &mut String) {
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                path.push(char::from(byte));
            }
            // Writing to a text cannot fail.
            _ => _ = write!(path, "%{byte:02X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let deployments = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
        let roles = ResourceType::cluster(
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRole",
            "clusterroles",
        );
        let check = |found: String, wanted: &str| assert_eq!(found, wanted);
        check(pods.path(""), "/api/v1/pods");
        check(pods.path("shop"), "/api/v1/namespaces/shop/pods");
        check(
            deployments.object_path(&ObjectKey::namespaced("shop", "web")),
            "/apis/apps/v1/namespaces/shop/deployments/web",
        );
        check(
            roles.object_path(&ObjectKey::cluster("system:a b/ü")),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%20b%2F%C3%BC",
        );
        // A namespace given for a cluster-scoped kind is not part of its path.
        check(
            roles.path("shop"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        );
    }

    #[test]
    fn plans_show_what_is_meant() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        assert_eq!(
            serde_json::to_string(&pods).unwrap(),
            r#"{"apiVersion":"v1","kind":"Pod","plural":"pods","namespaced":true}"#
        );
    }
}

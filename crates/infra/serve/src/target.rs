//! What a request is aimed at: the path and method of a call, read as Kubernetes reads them.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::status::Subject;

/// A call, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A call on resources.
    Resource(ResourceTarget),
    /// Any other path: discovery, health, metrics.
    Path(String),
}

/// A call on a collection, an object or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTarget {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Empty for cluster-scoped resources and for calls across all namespaces.
    pub namespace: String,
    /// The plural.
    pub resource: String,
    /// Empty for collections.
    pub name: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// What follows the subresource: the path a proxy forwards, without its leading slash.
    pub rest: String,
}

/// Why a path is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A segment is not UTF-8 once its escapes are undone.
    #[error("path segment {segment:?} is not valid UTF-8")]
    Encoding {
        /// As it came.
        segment: String,
    },
    /// A segment would mean another path once decoded: an escaped slash, `.`, `..` or a NUL.
    #[error("path segment {segment:?} is not allowed")]
    Forbidden {
        /// As it came.
        segment: String,
    },
}

/// What is to be done, in the words RBAC rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// One object.
    Get,
    /// A collection.
    List,
    /// Changes of a collection or an object.
    Watch,
    /// A new object.
    Create,
    /// A whole object replaced.
    Update,
    /// A part of an object changed.
    Patch,
    /// One object.
    Delete,
    /// All objects of a selection.
    DeleteCollection,
}

impl Verb {
    /// As RBAC rules and discovery spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// The verb a method means; `None` for methods that mean nothing here.
    #[must_use]
    pub fn of(method: &Method, target: &ResourceTarget, watches: bool) -> Option<Self> {
        let one = !target.name.is_empty();
        Some(match *method {
            Method::GET | Method::HEAD if watches => Self::Watch,
            Method::GET | Method::HEAD if one => Self::Get,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if one => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => return None,
        })
    }
}

impl ResourceTarget {
    /// What it names, for messages about it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            group: &self.group,
            resource: &self.resource,
            name: &self.name,
        }
    }

    /// Whether it leads to what stands behind an object, which lasts as long as others please. Upstream: the parts of
    /// objects that count as long-running.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        matches!(
            self.subresource.as_str(),
            "proxy" | "exec" | "attach" | "portforward" | "log"
        )
    }

    /// Whether a verb makes sense here: objects are made in collections and changed one by one, and what lives in
    /// namespaces is made and deleted in one of them.
    #[must_use]
    pub fn takes(&self, verb: Verb, namespaced: bool) -> bool {
        let everywhere = namespaced && self.namespace.is_empty();
        match verb {
            Verb::Get | Verb::List | Verb::Watch => true,
            Verb::Create => (self.name.is_empty() || !self.subresource.is_empty()) && !everywhere,
            Verb::Update | Verb::Patch | Verb::Delete => !self.name.is_empty(),
            Verb::DeleteCollection => !everywhere,
        }
    }
}

impl Target {
    /// Reads a path. A leading `watch/` segment, the old way to ask for a watch, is reported in the second part.
    pub fn parse(path: &str) -> Result<(Self, bool), TargetError> {
        let segments = decode(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Ok((Self::Path(path.to_owned()), false)),
        };
        let (watches, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            _ => (false, rest),
        };
        let (namespace, rest) = match rest {
            // `namespaces/x`, `namespaces/x/status` and `namespaces/x/finalize` are the namespace itself.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let segment = |position: usize| rest.get(position).copied().unwrap_or_default().to_owned();
        let target = ResourceTarget {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            resource: segment(0),
            name: segment(1),
            subresource: segment(2),
            rest: rest.get(3..).unwrap_or_default().join("/"),
        };
        Ok((Self::Resource(target), watches))
    }
}

/// Undoes percent-encoding segment by segment, so that an escaped slash cannot become a separator.
fn decode(path: &str) -> Result<Vec<String>, TargetError> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            let decoded =
                percent_decode_str(segment)
                    .decode_utf8()
                    .map_err(|_| TargetError::Encoding {
                        segment: segment.to_owned(),
                    })?;
            let escapes = decoded != segment;
            if decoded == "."
                || decoded == ".."
                || decoded.contains('\0')
                || (escapes && decoded.contains('/'))
            {
                return Err(TargetError::Forbidden {
                    segment: segment.to_owned(),
                });
            }
            Ok(decoded.into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match Target::parse(path) {
            Err(error) => error.to_string(),
            Ok((Target::Path(path), _)) => format!("path {path}"),
            Ok((Target::Resource(target), watches)) => {
                let ResourceTarget {
                    group,
                    version,
                    namespace,
                    resource,
                    name,
                    subresource,
                    rest,
                } = target;
                let watch = if watches { "watch " } else { "" };
                format!(
                    "{watch}{group}|{version}|{namespace}|{resource}|{name}|{subresource}|{rest}"
                )
            }
        }
    }

    #[test]
    fn paths_are_read_as_kubernetes_reads_them() {
        for (path, expected) in [
            ("/api/v1/namespaces/d/pods/p/log", "|v1|d|pods|p|log|"),
            ("/api/v1/namespaces/d/pods", "|v1|d|pods|||"),
            ("/api/v1/pods", "|v1||pods|||"),
            ("/api/v1/namespaces", "|v1||namespaces|||"),
            ("/api/v1/namespaces/d", "|v1||namespaces|d||"),
            ("/api/v1/namespaces/d/status", "|v1||namespaces|d|status|"),
            (
                "/api/v1/namespaces/d/finalize",
                "|v1||namespaces|d|finalize|",
            ),
            (
                "/apis/apps/v1/namespaces/d/deployments/w/scale",
                "apps|v1|d|deployments|w|scale|",
            ),
            (
                "/apis/apps/v1/watch/namespaces/d/deployments",
                "watch apps|v1|d|deployments|||",
            ),
            ("/api/v1/nodes/n/proxy/a/b", "|v1||nodes|n|proxy|a/b"),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
                "rbac.authorization.k8s.io|v1||clusterroles|system:node||",
            ),
            ("//api//v1//pods/", "|v1||pods|||"),
            ("/api/v1", "path /api/v1"),
            ("/apis/apps/v1", "path /apis/apps/v1"),
            ("/healthz", "path /healthz"),
            (
                "/api/v1/namespaces/d/pods/..%2Fsecrets",
                "path segment \"..%2Fsecrets\" is not allowed",
            ),
            (
                "/api/v1/pods/%2e%2e",
                "path segment \"%2e%2e\" is not allowed",
            ),
            (
                "/api/v1/pods/../secrets",
                "path segment \"..\" is not allowed",
            ),
            (
                "/api/v1/pods/%ff",
                "path segment \"%ff\" is not valid UTF-8",
            ),
            (
                "/api/v1/pods/a%00b",
                "path segment \"a%00b\" is not allowed",
            ),
        ] {
            assert_eq!(shown(path), expected, "{path}");
        }
    }

    #[test]
    fn methods_mean_verbs() {
        let collection = ResourceTarget::default();
        let object = ResourceTarget {
            name: "x".to_owned(),
            ..ResourceTarget::default()
        };
        for (method, target, watches, verb) in [
            (Method::GET, &object, false, Some(Verb::Get)),
            (Method::HEAD, &object, false, Some(Verb::Get)),
            (Method::GET, &collection, false, Some(Verb::List)),
            (Method::GET, &collection, true, Some(Verb::Watch)),
            (Method::POST, &collection, false, Some(Verb::Create)),
            (Method::PUT, &object, false, Some(Verb::Update)),
            (Method::PATCH, &object, false, Some(Verb::Patch)),
            (Method::DELETE, &object, false, Some(Verb::Delete)),
            (
                Method::DELETE,
                &collection,
                false,
                Some(Verb::DeleteCollection),
            ),
            (Method::OPTIONS, &object, false, None),
        ] {
            assert_eq!(Verb::of(&method, target, watches), verb);
        }
    }
}

//! Names that may be typed next.

use client::{Client, ListOptions};
use object::Object;

use crate::chosen::Chosen;
use crate::failure::Failure;
use crate::pods;
use crate::reach::{Reach, call_failure};
use crate::reading::{self, Place};

/// What is to be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// The kinds there are.
    Kinds,
    /// The objects of a kind. With `prefixed`, as `TYPE/NAME`.
    Names {
        /// The kind, in any of its spellings.
        kind: String,
        /// With the kind and a slash before each name.
        prefixed: bool,
    },
    /// The pods of a member.
    Pods {
        /// The member.
        cluster: String,
    },
    /// The containers of a pod in a member.
    Containers {
        /// The member.
        cluster: String,
        /// The pod, or what has pods.
        pod: String,
    },
}

/// What may be typed, in the namespace given or else in the one that the kubeconfig names.
pub async fn proposals(
    control: &Client,
    wanted: &Proposal,
    namespace: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let connected = control.raw();
    let namespace = namespace.unwrap_or_else(|| connected.default_namespace());
    let names = |items: &[Object]| -> Vec<String> {
        items
            .iter()
            .map(|object| object.name().to_owned())
            .collect()
    };
    match wanted {
        Proposal::Kinds => {
            let discovery = control.discover().await;
            let discovery = discovery.map_err(|error| call_failure(&error))?;
            let kinds = discovery.resources.iter().filter(|found| found.can("list"));
            Ok(kinds.map(|found| found.resource.plural.clone()).collect())
        }
        Proposal::Names { kind, prefixed } => {
            let discovery = control.discover().await;
            let discovery = discovery.map_err(|error| call_failure(&error))?;
            let resource = &reading::resolve(&discovery, kind)?.resource;
            let namespace = if resource.namespaced { namespace } else { "" };
            let options = ListOptions {
                metadata_only: true,
                ..ListOptions::default()
            };
            let listed = control.list_all(resource, namespace, &options).await;
            let listed = listed.map_err(|error| call_failure(&error))?.items;
            Ok(match prefixed {
                true => listed
                    .iter()
                    .map(|object| format!("{kind}/{}", object.name()))
                    .collect(),
                false => names(&listed),
            })
        }
        Proposal::Pods { cluster } => {
            let place = Place::member(control, cluster).with_little_patience();
            Ok(names(&pods::all(&place, namespace).await?))
        }
        Proposal::Containers { cluster, pod } => {
            let place = Place::member(control, cluster).with_little_patience();
            pods::containers_of(&place, namespace, pod).await
        }
    }
}

/// The contexts of the kubeconfigs that are meant; none if they cannot be read.
#[must_use]
pub fn contexts(reach: &Reach) -> Vec<String> {
    Chosen::read(reach).contexts()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_those_of_the_kubeconfig_that_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        let reach = Reach {
            kubeconfig: Some(path.clone()),
            context: None,
        };
        assert!(contexts(&reach).is_empty());
        for (text, expected) in [
            ("contexts: [{name: a}, {name: b}, {}]", vec!["a", "b"]),
            ("contexts: none", vec![]),
            ("a: [", vec![]),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(contexts(&reach), expected, "{text}");
        }
    }
}

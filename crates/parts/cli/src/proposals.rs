//! Names that may be typed next.

use client::{Client, ListOptions};
use object::Object;

use crate::chosen::Chosen;
use crate::failure::Failure;
use crate::pods;
use crate::reach::{Reach, call_failure};
use crate::reading::{self, Place, Scope};
use crate::tokens;

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
        /// Where they are.
        scope: Scope,
        /// In which members, if in any; all of them if empty.
        clusters: Vec<String>,
    },
    /// The ids of the tokens that newcomers introduce themselves with.
    Tokens,
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
        Proposal::Names {
            kind,
            prefixed,
            scope,
            clusters,
        } => {
            let places = reading::places(control, *scope, clusters).await?;
            let asked = places
                .into_iter()
                .map(|place| names_in(place.with_little_patience(), kind, namespace));
            // What one member does not tell, others may.
            let found = futures_util::future::join_all(asked).await.into_iter();
            let found = found.flat_map(Result::unwrap_or_default);
            Ok(match prefixed {
                true => found.map(|name| format!("{kind}/{name}")).collect(),
                false => found.collect(),
            })
        }
        Proposal::Tokens => tokens::ids(control).await,
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

/// The names of the objects of a kind in one place.
async fn names_in(place: Place, kind: &str, namespace: &str) -> Result<Vec<String>, Failure> {
    let client = place.client();
    let discovery = client.discover().await;
    let discovery = discovery.map_err(|error| place.failure(&error))?;
    let resource = &reading::resolve(&discovery, kind)?.resource;
    let namespace = if resource.namespaced { namespace } else { "" };
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = client.list_all(resource, namespace, &options).await;
    let listed = listed.map_err(|error| place.failure(&error))?.items;
    Ok(listed
        .iter()
        .map(|object| object.name().to_owned())
        .collect())
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

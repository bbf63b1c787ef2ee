//! Kinds that come along with objects of them: a definition and what it defines, supposed together.
//!
//! No server knows such a kind yet, so that nobody can try its objects on; they are taken as they are written. Clusters
//! serve it once they have the definition, and so they do where a definition that is there goes to further ones.

use api::cluster::{ApiEnablement, ApiResource};
use object::{GroupVersionKind, Object, ResourceType, Value};

use super::fate::{Simulated, What};
use crate::manifests::Manifest;
use crate::picture::Picture;

/// What definitions are.
const DEFINITION: &str = "CustomResourceDefinition";
const GROUP: &str = "apiextensions.k8s.io/";

/// A kind that a supposed definition defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    /// Where its objects would be.
    pub(super) resource: ResourceType,
    /// The name of the definition.
    definition: String,
}

/// Where definitions are.
pub(super) fn definitions() -> ResourceType {
    ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        DEFINITION,
        "customresourcedefinitions",
    )
}

/// Whether an object defines a kind.
pub(super) fn is_definition(object: &Object) -> bool {
    object.kind() == DEFINITION && object.api_version().starts_with(GROUP)
}

/// The kinds that an object defines, in all versions that would be served; none if it is no definition.
pub(crate) fn kinds_of(object: &Object) -> Vec<GroupVersionKind> {
    let definition = Some(object).filter(|object| is_definition(object));
    let announced = definition.into_iter().flat_map(defined);
    announced.map(|announced| announced.resource.kind).collect()
}

/// The kinds that objects define, in all versions that would be served.
pub(super) fn announced(manifests: &[Manifest]) -> Vec<Announced> {
    let objects = manifests.iter().map(|manifest| &manifest.object);
    let definitions = objects.filter(|object| is_definition(object));
    definitions.flat_map(defined).collect()
}

fn defined(definition: &Object) -> Vec<Announced> {
    let text = |path: &[&str]| definition.text_at(path).unwrap_or_default();
    let (group, kind) = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    let plural = text(&["spec", "names", "plural"]);
    let is_namespaced = text(&["spec", "scope"]) == "Namespaced";
    let versions = definition
        .at(&["spec", "versions"])
        .and_then(Value::as_array);
    let versions = versions.into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    let names = served.filter_map(|version| version["name"].as_str());
    let found = names.map(|version| Announced {
        resource: match is_namespaced {
            true => ResourceType::namespaced(group, version, kind, plural),
            false => ResourceType::cluster(group, version, kind, plural),
        },
        definition: definition.name().to_owned(),
    });
    found.collect()
}

/// Where objects of a kind would be, if it is one of those.
pub(super) fn find<'a>(all: &'a [Announced], kind: &GroupVersionKind) -> Option<&'a ResourceType> {
    let mut resources = all.iter().map(|announced| &announced.resource);
    resources.find(|resource| resource.kind == *kind)
}

/// The kinds that templates define.
pub(super) fn defined_by<'t>(templates: impl Iterator<Item = &'t Object>) -> Vec<Announced> {
    let definitions = templates.filter(|object| is_definition(object));
    definitions.flat_map(defined).collect()
}

/// Lets clusters serve the kinds whose definitions they would have; whether any did not before.
pub(super) fn serve(after: &mut Picture, outcome: &Simulated, announced: &[Announced]) -> bool {
    let mut is_news = false;
    for one in announced {
        let fates = outcome.templates.iter();
        let fates = fates.filter(|fate| fate.kind == DEFINITION && fate.name == one.definition);
        for fate in fates.flat_map(|fate| &fate.clusters) {
            let has_it = match fate.what {
                What::Created | What::Changed(_) => true,
                // A cluster that is not known to have it may have another.
                What::Stays => fate.look.is_none(),
                _ => false,
            };
            let cluster = after.clusters.get_mut(&fate.cluster);
            if let Some(cluster) = cluster.filter(|_| has_it) {
                is_news |= enable(&mut cluster.status.api_enablements, &one.resource);
            }
        }
    }
    is_news
}

/// Adds a kind to what a cluster serves, if it is not there.
fn enable(enablements: &mut Vec<ApiEnablement>, resource: &ResourceType) -> bool {
    let group_version = resource.kind.api_version();
    let known = enablements
        .iter()
        .position(|known| known.group_version == group_version);
    let place = known.unwrap_or_else(|| {
        enablements.push(ApiEnablement {
            group_version,
            resources: Vec::new(),
        });
        enablements.len() - 1
    });
    let Some(enablement) = enablements.get_mut(place) else {
        return false;
    };
    let mut served = enablement.resources.iter();
    if served.any(|served| served.kind == resource.kind.kind) {
        return false;
    }
    enablement.resources.push(ApiResource {
        name: resource.plural.clone(),
        kind: resource.kind.kind.clone(),
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_announce_the_versions_that_would_be_served() {
        let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.shop.io}
spec:
  group: shop.io
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions: [{name: v1, served: true}, {name: v1beta1, served: false}, {name: v2, served: true}]
---
{apiVersion: shop.io/v1, kind: CustomResourceDefinition, metadata: {name: somebody-elses}, spec: {versions: [{name: v1, served: true}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: empty}}
";
        let manifests = Manifest::parse("f", text).unwrap();
        let found = announced(&manifests);
        let shown: Vec<String> = found
            .iter()
            .map(|found| {
                format!(
                    "{} {}",
                    found.resource.kind.api_version(),
                    found.resource.path("n")
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "shop.io/v1 /apis/shop.io/v1/namespaces/n/gadgets",
                "shop.io/v2 /apis/shop.io/v2/namespaces/n/gadgets"
            ]
        );
        let kind = |version: &str| GroupVersionKind::from_api_version(version, "Gadget").unwrap();
        assert!(find(&found, &kind("shop.io/v2")).is_some());
        assert!(find(&found, &kind("shop.io/v1beta1")).is_none());
    }

    #[test]
    fn what_a_cluster_serves_is_listed_once() {
        let resource = ResourceType::namespaced("shop.io", "v1", "Gadget", "gadgets");
        let other = ResourceType::namespaced("shop.io", "v1", "Wheel", "wheels");
        let mut enablements = Vec::new();
        let news = [&resource, &other, &resource].map(|one| enable(&mut enablements, one));
        assert_eq!(news, [true, true, false]);
        let [one] = enablements.as_slice() else {
            panic!("{enablements:?}");
        };
        let names: Vec<&str> = one.resources.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            (one.group_version.as_str(), names),
            ("shop.io/v1", vec!["gadgets", "wheels"])
        );
    }
}

//! What stands beside an object and belongs on its page: the pods of a workload, who is behind a service.

use std::collections::BTreeMap;

use client::ListOptions;
use object::{Object, ResourceType};

use super::parts::endpoints::SERVICE;
use super::parts::selectors;
use super::values::field;
use crate::failure::Failure;
use crate::reading::Place;

/// What is read beside an object.
pub(super) struct Need {
    api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    within: Within,
    which: Which,
}

/// Where it is looked for.
enum Within {
    /// The namespace of the object.
    Own,
    /// The namespace that the object is.
    Itself,
    /// A namespace by its name.
    Named(&'static str),
    /// All namespaces.
    All,
}

/// Which of them are asked for.
pub(super) enum Which {
    /// All there are.
    All,
    /// Those that the object selects.
    Selected,
    /// Those that carry this label with the name of the object.
    Labelled(&'static str),
    /// Those with such fields; `{}` stands for the name of the object.
    Fields(&'static str),
}

pub(super) const ALL: Which = Which::All;
pub(super) const SELECTOR: Which = Which::Selected;

/// What is in the namespace of an object.
pub(super) const fn own(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    which: Which,
) -> Need {
    Need {
        api_version,
        kind,
        plural,
        within: Within::Own,
        which,
    }
}

pub(super) const SERVICES: Need = own("v1", "Service", "services", ALL);
pub(super) const SLICES: Need = own(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    "endpointslices",
    ALL,
);
pub(super) const SLICES_OF_SERVICE: Need = Need {
    which: Which::Labelled(SERVICE),
    ..SLICES
};
pub(super) const QUOTAS: Need = Need {
    within: Within::Itself,
    ..own("v1", "ResourceQuota", "resourcequotas", ALL)
};
pub(super) const LIMITS: Need = Need {
    within: Within::Itself,
    ..own("v1", "LimitRange", "limitranges", ALL)
};
pub(super) const PODS_OF_NODE: Need = Need {
    within: Within::All,
    which: Which::Fields("spec.nodeName={},status.phase!=Succeeded,status.phase!=Failed"),
    ..own("v1", "Pod", "pods", ALL)
};
pub(super) const LEASES: Need = Need {
    within: Within::Named("kube-node-lease"),
    which: Which::Fields("metadata.name={}"),
    ..own("coordination.k8s.io/v1", "Lease", "leases", ALL)
};

/// What was found, by the plural of its kind; or why it could not be read.
#[derive(Default)]
pub(super) struct Beside(BTreeMap<&'static str, Result<Vec<Object>, Failure>>);

impl Beside {
    /// What was found of a kind.
    pub(super) fn all(&self, plural: &str) -> Result<&[Object], &Failure> {
        match self.0.get(plural) {
            Some(Ok(found)) => Ok(found),
            Some(Err(failure)) => Err(failure),
            None => Ok(&[]),
        }
    }

    pub(super) fn insert(&mut self, plural: &'static str, found: Result<Vec<Object>, Failure>) {
        self.0.insert(plural, found);
    }
}

/// Reads what belongs on the page of an object. What cannot be read is told there: it takes nothing away from the rest.
pub(super) async fn read(place: &Place, object: &Object, needs: &[Need]) -> Beside {
    let mut beside = Beside::default();
    for need in needs {
        beside.insert(need.plural, list(place, object, need).await);
    }
    beside
}

async fn list(place: &Place, object: &Object, need: &Need) -> Result<Vec<Object>, Failure> {
    let (group, version) = need
        .api_version
        .rsplit_once('/')
        .unwrap_or(("", need.api_version));
    let namespace = match need.within {
        Within::Own => object.namespace(),
        Within::Itself => object.name(),
        Within::Named(name) => name,
        Within::All => "",
    };
    let mut options = ListOptions::default();
    match need.which {
        Which::All => {}
        Which::Labelled(label) => options.label_selector = format!("{label}={}", object.name()),
        Which::Fields(fields) => options.field_selector = fields.replace("{}", object.name()),
        Which::Selected => match selectors::question(&field(object, "spec")["selector"]) {
            // What selects by nothing is no selector of anybody's pods.
            None => return Ok(Vec::new()),
            Some(selector) if selector.is_empty() => return Ok(Vec::new()),
            Some(selector) => options.label_selector = selector,
        },
    }
    let kind = ResourceType::namespaced(group, version, need.kind, need.plural);
    let listed = place.client().list_all(&kind, namespace, &options).await;
    Ok(listed.map_err(|error| place.failure(&error))?.items)
}

//! Kinds that are there without any definition, and what becomes of definitions that have their names.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use api::registry;
use serve::resource::{Resource, Table};

use super::names::Refusal;

/// The group and name of every kind that is compiled in. Whoever acts on what a definition says of its objects asks here
/// first whether they are its own: definitions and their status can be written by users.
#[must_use]
pub fn built_in() -> &'static BTreeSet<(&'static str, &'static str)> {
    static NAMES: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
        let multicluster = registry::RESOURCES.iter();
        let multicluster = multicluster.map(|kind| (kind.group, kind.plural));
        kinds::builtin_names().chain(multicluster).collect()
    });
    &NAMES
}

/// Whether a definition adds what it describes. One of a multi-cluster kind is as good as its word if the kind is served
/// as it says, and changes nothing about it: whoever installs these kinds as they are elsewhere need not know that they are
/// here already. One that says otherwise would promise what nobody serves, and nobody has a reason to install a kind that
/// every API has.
pub(super) fn adds(base: &Table, defined: &Resource) -> Result<bool, Refusal> {
    let known = base
        .iter()
        .find(|known| known.group == defined.group && known.plural == defined.plural);
    let Some(known) = known else {
        return Ok(true);
    };
    let is_multicluster = registry::RESOURCES
        .iter()
        .any(|kind| kind.group == &*known.group && kind.plural == &*known.plural);
    let why = match is_multicluster {
        true => departure(known, defined),
        false => Some(format!("{}.{} is built in", known.plural, known.group)),
    };
    match why {
        None => Ok(false),
        Some(message) => Err(Refusal {
            names: "BuiltIn",
            established: "NotAccepted",
            message,
            shown: "not all names are accepted".to_owned(),
            fields: vec!["plural"],
        }),
    }
}

/// In what a definition departs from the built-in kind of its name.
fn departure(built_in: &Resource, defined: &Resource) -> Option<String> {
    let name = format!("{}.{}", built_in.plural, built_in.group);
    if built_in.kind != defined.kind {
        let (is, said) = (&built_in.kind, &defined.kind);
        return Some(format!(
            "{name} is built in and its kind is {is}, not {said}"
        ));
    }
    if built_in.namespaced != defined.namespaced {
        let scope = |resource: &Resource| match resource.namespaced {
            true => "Namespaced",
            false => "Cluster",
        };
        let (is, said) = (scope(built_in), scope(defined));
        return Some(format!(
            "{name} is built in and its scope is {is}, not {said}"
        ));
    }
    let served = |resource: &Resource| -> Vec<String> {
        let versions = resource.versions.iter().filter(|version| version.served);
        versions.map(|version| version.name.to_string()).collect()
    };
    let here = served(built_in);
    let missing = served(defined)
        .into_iter()
        .find(|version| !here.contains(version))?;
    let here = here.join(", ");
    Some(format!(
        "{name} is built in and served in {here}, not in {missing}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multicluster;

    #[test]
    fn the_names_are_those_of_what_is_served_without_definitions() {
        let resources = kinds::template_resources().into_iter();
        let resources: Vec<Resource> = resources.chain(multicluster::resources()).collect();
        let served: BTreeSet<(&str, &str)> = resources
            .iter()
            .map(|resource| (&*resource.group, &*resource.plural))
            .collect();
        assert_eq!(&served, built_in());
    }
}

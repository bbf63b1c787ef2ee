//! The right word for a wrong one: the known word that is a slip or two away.

use client::{CallError, Client, ListOptions};
use futures_util::stream::{self, StreamExt as _};
use object::{Object, ObjectKey, ResourceType};

use crate::failure::Failure;
use crate::picture::namespaces;
use crate::reach::call_failure;

/// Where clusters are listed, for those who look for one.
const CLUSTERS: &str = "`karavel clusters` lists the clusters there are";

/// The known word nearest to a wrong one, if it is near at all: a slip, and one more for every four letters. Of words
/// equally near, the first.
pub fn nearest<'n>(wrong: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.into_iter().map(|word| (distance(wrong, word), word));
    let (steps, word) = near.min_by_key(|(steps, _)| *steps)?;
    (steps <= 1 + wrong.chars().count() / 4 && steps < wrong.chars().count()).then_some(word)
}

/// How many letters have to be added, dropped, changed or swapped with their neighbour.
#[must_use]
pub fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut above: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied();
            let changed = at(&last, column).map(|steps| steps + usize::from(letter != other));
            let dropped = at(&last, column + 1).map(|steps| steps + 1);
            let added = at(&line, column).map(|steps| steps + 1);
            let is_swap = row > 0
                && column > 0
                && from.get(row - 1) == Some(other)
                && to.get(column - 1) == Some(letter);
            let swapped = if is_swap {
                at(&above, column - 1).map(|steps| steps + 1)
            } else {
                None
            };
            let best = [changed, dropped, added, swapped].into_iter().flatten();
            line.push(best.min().unwrap_or_default());
        }
        above = std::mem::replace(&mut last, line);
    }
    last.last().copied().unwrap_or_default()
}

/// What to do about names of clusters that nobody has.
pub(crate) fn cluster_hint<'n>(
    unknown: &[&str],
    known: impl IntoIterator<Item = &'n str> + Clone,
) -> String {
    let near = unknown
        .iter()
        .filter_map(|wrong| nearest(wrong, known.clone()));
    let near: Vec<String> = near.map(|name| format!("{name:?}")).collect();
    match near.is_empty() {
        true => CLUSTERS.to_owned(),
        false => format!("did you mean {}? {CLUSTERS}", near.join(", ")),
    }
}

/// An object that could not be read by its name: if it is not there, along with the name or the namespace that was
/// probably meant.
pub(crate) async fn missing(
    client: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
    error: &CallError,
) -> Failure {
    let failure = call_failure(error);
    if !error.is_not_found() {
        return failure;
    }
    let space = absent_space(client, resource, key).await;
    let failure = space.as_ref().map_or(failure, call_failure);
    if let Some(name) = near_name(client, resource, key).await {
        return failure.advised(format!("did you mean {name:?}?"));
    }
    if !resource.namespaced || key.namespace.is_empty() {
        return failure;
    }
    let by_name = format!("metadata.name={}", key.name);
    let elsewhere = heads(client, resource, "", by_name).await;
    if let Some(found) = elsewhere.first() {
        return failure.advised(format!(
            "there is one in the namespace {0:?}: add -n {0}",
            found.namespace()
        ));
    }
    if space.is_none() {
        return failure;
    }
    match near_space(client, &key.namespace).await {
        Some(near) => failure.advised(format!("did you mean -n {near}?")),
        None => failure,
    }
}

/// The name that was probably meant by one that no object of the kind has, in the same namespace.
pub(crate) async fn near_name(
    client: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
) -> Option<String> {
    let here = heads(client, resource, &key.namespace, String::new()).await;
    near_among(&key.name, &here)
}

/// The namespace that was probably meant by one that is not there.
pub(crate) async fn near_space(client: &Client, wrong: &str) -> Option<String> {
    let spaces = heads(client, &namespaces(), "", String::new()).await;
    near_among(wrong, &spaces)
}

/// The nearest of the objects' names. They are mostly of small letters, whatever was typed.
fn near_among(wrong: &str, objects: &[Object]) -> Option<String> {
    let near = |wrong: &str| nearest(wrong, objects.iter().map(Object::name)).map(str::to_owned);
    near(wrong).or_else(|| near(&wrong.to_lowercase()))
}

/// Who some objects are; none if they cannot be listed.
async fn heads(
    client: &Client,
    resource: &ResourceType,
    namespace: &str,
    fields: String,
) -> Vec<Object> {
    let options = ListOptions {
        metadata_only: true,
        field_selector: fields,
        limit: LOOKED_AT,
        ..ListOptions::default()
    };
    let listed = client.list(resource, namespace, &options).await;
    listed.map(|list| list.items).unwrap_or_default()
}

/// What is said beside an empty answer if none of those who were asked has the namespace: it was mistyped, mostly.
pub(crate) async fn note_absent_space(
    clients: &[Client],
    namespace: &str,
    whose: Whose,
) -> Option<String> {
    if matches!(namespace, "" | "default") {
        return None;
    }
    let first = clients.first()?;
    let space = ObjectKey::cluster(namespace);
    let kind = namespaces();
    let mut looks = stream::iter(clients)
        .map(|client| client.get_metadata(&kind, &space))
        .buffer_unordered(LOOKS);
    while let Some(found) = looks.next().await {
        if !found.is_err_and(|error| error.is_not_found()) {
            return None;
        }
    }
    let near = near_space(first, namespace).await;
    Some(absent_space_note(namespace, near.as_deref(), whose))
}

/// Who was asked for a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The control plane.
    ControlPlane,
    /// Members, perhaps along with it. They need not have what the control plane has.
    Members,
}

fn absent_space_note(namespace: &str, near: Option<&str>, whose: Whose) -> String {
    let place = match whose {
        Whose::ControlPlane => "",
        Whose::Members => " in these clusters",
    };
    let meant = near.map(|near| format!(": did you mean -n {near}?"));
    format!(
        "there is no namespace {namespace:?}{place}{}",
        meant.unwrap_or_default()
    )
}

/// What is said of the namespace of an object that is not there, if that is not there either. Upstream: whoever looks for
/// something in it is told of that.
pub(crate) async fn absent_space(
    client: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
) -> Option<CallError> {
    if !resource.namespaced || matches!(key.namespace.as_str(), "" | "default") {
        return None;
    }
    let space = ObjectKey::cluster(&key.namespace);
    let found = client.get_metadata(&namespaces(), &space).await;
    found.err().filter(CallError::is_not_found)
}

/// So many names are looked at for the one that was meant.
const LOOKED_AT: u32 = 500;
/// So many places are asked at once for a namespace.
const LOOKS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_slips() {
        for (from, to, steps) in [
            ("", "", 0),
            ("pod", "pod", 0),
            ("pdo", "pod", 1),
            ("pd", "pod", 1),
            ("pood", "pod", 1),
            ("pad", "pod", 1),
            ("", "pod", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), steps, "{from} {to}");
        }
    }

    #[test]
    fn a_namespace_that_is_nowhere_is_told() {
        for (near, whose, expected) in [
            (
                Some("shop"),
                Whose::ControlPlane,
                "there is no namespace \"shpo\": did you mean -n shop?",
            ),
            (
                None,
                Whose::Members,
                "there is no namespace \"shpo\" in these clusters",
            ),
        ] {
            assert_eq!(absent_space_note("shpo", near, whose), expected);
        }
    }

    #[test]
    fn names_are_meant_in_small_letters() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let all = ["web", "db"].map(|name| Object::new(&pods.kind, &ObjectKey::cluster(name)));
        for (wrong, expected) in [("WEB", Some("web")), ("wbe", Some("web")), ("x", None)] {
            assert_eq!(near_among(wrong, &all).as_deref(), expected, "{wrong}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["get", "describe", "simulate", "member1", "member2"];
        for (wrong, expected) in [
            ("gt", Some("get")),
            ("simulat", Some("simulate")),
            ("membr2", Some("member2")),
            ("membr1", Some("member1")),
            ("nosuch", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, known), expected, "{wrong}");
        }
        assert_eq!(cluster_hint(&["nope"], known), CLUSTERS);
        assert!(cluster_hint(&["membr1"], known).starts_with("did you mean \"member1\"?"));
    }
}

//! From `POD` or `TYPE/NAME` to pods and containers.

use client::{Client, ListOptions};
use object::{Object, ObjectKey, ResourceType, Value};

use crate::failure::Failure;
use crate::nearest::missing;
use crate::reading::{Place, key, resolve};

/// What to do about a pod that is looked for where none runs.
const IN_MEMBERS: &str = "pods run in members: name one with --cluster; `karavel get pods -s members` shows which pods there are, and where";
/// Says of a pod which container is meant, when nobody did.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// Where pods are found.
pub(super) fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

/// The namespace that is meant.
pub(super) fn namespace(control: &Client, given: Option<&str>) -> String {
    match given.filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => namespace.to_owned(),
        None => control.raw().default_namespace().to_owned(),
    }
}

/// The pods that a word means: one by name, or those of what is named.
pub(super) async fn find(
    place: &Place,
    namespace: &str,
    word: &str,
) -> Result<Vec<Object>, Failure> {
    let (_, pods) = find_with_owner(place, namespace, word).await?;
    Ok(pods)
}

/// The same along with what is named, if that is no pod.
pub(super) async fn find_with_owner(
    place: &Place,
    namespace: &str,
    word: &str,
) -> Result<(Option<Object>, Vec<Object>), Failure> {
    let (kind, name) = read(word)?;
    let client = place.client();
    let failed = |error: &client::CallError| name_place(place, place.failure(error));
    if matches!(kind, "pod" | "pods" | "po" | "Pod.v1") {
        let key = ObjectKey::namespaced(namespace, name);
        return match client.get(&pods(), &key).await {
            Ok(pod) => Ok((None, vec![pod])),
            Err(error) if error.is_not_found() && !place.is_member() => {
                Err(place.failure(&error).advised(IN_MEMBERS))
            }
            Err(error) if error.is_not_found() => {
                let failure = missing(&client, &pods(), &key, &error).await;
                Err(name_place(place, failure))
            }
            Err(error) => Err(failed(&error)),
        };
    }
    let discovery = client.discover().await.map_err(|error| failed(&error))?;
    let resource = &resolve(&discovery, kind)?.resource;
    let key = key(resource, namespace, name);
    let owner = match client.get(resource, &key).await {
        Ok(owner) => owner,
        Err(error) if error.is_not_found() => {
            let failure = missing(&client, resource, &key, &error).await;
            return Err(name_place(place, failure));
        }
        Err(error) => return Err(failed(&error)),
    };
    let selector = selector(&owner).ok_or_else(|| {
        Failure::refused(
            format!("{word} selects no pods"),
            "name a pod, or something with a selector such as deployment/web",
        )
    })?;
    let pods = select(place, namespace, &selector).await?;
    Ok((Some(owner), pods))
}

/// The type and the name of `POD` or `TYPE/NAME`. A path without a name would be that of all pods.
fn read(word: &str) -> Result<(&str, &str), Failure> {
    let (kind, name) = word.split_once('/').unwrap_or(("pods", word));
    match kind.is_empty() || name.is_empty() || name.contains('/') {
        false => Ok((kind, name)),
        true => Err(Failure::refused(
            match word {
                "" => "the name of a pod may not be empty".to_owned(),
                word => format!("{word:?} is no POD and no TYPE/NAME"),
            },
            "name a pod, or something with a selector such as deployment/web; `karavel get pods -s members` shows the pods there are",
        )),
    }
}

/// The pods with some labels, those that run first.
pub(super) async fn select(
    place: &Place,
    namespace: &str,
    selector: &str,
) -> Result<Vec<Object>, Failure> {
    let options = ListOptions {
        label_selector: selector.to_owned(),
        ..ListOptions::default()
    };
    let listed = place.client().list_all(&pods(), namespace, &options).await;
    let mut found = listed
        .map_err(|error| name_place(place, place.failure(&error)))?
        .items;
    found.sort_by_key(|pod| {
        let runs = pod.text_at(&["status", "phase"]) == Some("Running");
        (!runs || pod.is_terminating(), pod.name().to_owned())
    });
    if found.is_empty() && !place.is_member() {
        return Err(Failure::refused(
            format!("no pods with {selector} in {namespace}"),
            IN_MEMBERS,
        ));
    }
    if found.is_empty() {
        return Err(Failure::refused(
            format!(
                "cluster({}): no pods with {selector} in {namespace}",
                place.name
            ),
            "`karavel get pods -s members` shows the pods there are",
        ));
    }
    Ok(found)
}

/// A label selector in words, from the field of that name.
fn selector(owner: &Object) -> Option<String> {
    let selector = owner.at(&["spec", "selector"])?;
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let mut parts: Vec<String> = labels
        .as_object()?
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = expression["key"].as_str()?;
        let values: Vec<&str> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        parts.push(match expression["operator"].as_str()? {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    (!parts.is_empty()).then(|| parts.join(","))
}

/// The names of a pod's containers, those that come first and those that come along too if all are wanted.
pub(super) fn containers(pod: &Object, all: bool) -> Vec<String> {
    let lists: &[&str] = if all {
        &["initContainers", "containers", "ephemeralContainers"]
    } else {
        &["containers"]
    };
    lists
        .iter()
        .filter_map(|list| pod.at(&["spec", list])?.as_array())
        .flatten()
        .filter_map(|container| container["name"].as_str())
        .map(str::to_owned)
        .collect()
}

/// All pods of a namespace.
pub(crate) async fn all(place: &Place, namespace: &str) -> Result<Vec<Object>, Failure> {
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = place.client().list_all(&pods(), namespace, &options).await;
    Ok(listed.map_err(|error| place.failure(&error))?.items)
}

/// The containers of the pod that a word means.
pub(crate) async fn containers_of(
    place: &Place,
    namespace: &str,
    word: &str,
) -> Result<Vec<String>, Failure> {
    let found = find(place, namespace, word).await?;
    Ok(found
        .first()
        .map(|pod| containers(pod, true))
        .unwrap_or_default())
}

/// The container that is meant, and what to say if it was guessed.
pub(super) fn container(
    pod: &Object,
    given: Option<&str>,
) -> Result<(String, Option<String>), Failure> {
    if let Some(given) = given {
        let known = containers(pod, true);
        if known.iter().any(|name| name == given) {
            return Ok((given.to_owned(), None));
        }
        return Err(Failure::refused(
            format!("container {given} is not valid for pod {}", pod.name()),
            format!("it has: {}", known.join(", ")),
        ));
    }
    let known = containers(pod, false);
    let preferred = pod.annotation(DEFAULT_CONTAINER);
    let preferred = preferred.filter(|name| known.iter().any(|known| known == name));
    if let Some(name) = preferred {
        return Ok((name.to_owned(), None));
    }
    let first = known.first().cloned().ok_or_else(|| {
        Failure::refused(
            format!("pod {} has no containers", pod.name()),
            "choose another pod",
        )
    })?;
    let note = (known.len() > 1)
        .then(|| format!("Defaulted container {first:?} out of: {}", known.join(", ")));
    Ok((first, note))
}

/// A failure that says in which cluster it happened.
pub(super) fn name_place(place: &Place, failure: Failure) -> Failure {
    if !place.is_member() {
        return failure;
    }
    failure.in_cluster(&place.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_has_a_name() {
        for (word, expected) in [
            ("web-1", Some(("pods", "web-1"))),
            ("deployment/web", Some(("deployment", "web"))),
            ("", None),
            ("pod/", None),
            ("/web", None),
            ("a/b/c", None),
        ] {
            assert_eq!(read(word).ok(), expected, "{word}");
        }
        let said = read("").unwrap_err().to_string();
        assert_eq!(said, "the name of a pod may not be empty");
    }

    #[test]
    fn selectors_are_written_as_words() {
        for (selector_field, expected) in [
            (json!({"matchLabels": {"a": "b"}}), Some("a=b")),
            (json!({"a": "b", "c": "d"}), Some("a=b,c=d")),
            (
                json!({"matchLabels": {}, "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["x", "y"]},
                    {"key": "b", "operator": "DoesNotExist"},
                ]}),
                Some("a in (x,y),!b"),
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
                None,
            ),
            (json!({}), None),
            (Value::Null, None),
        ] {
            let owner = Object::from_value(json!({"spec": {"selector": selector_field}}));
            assert_eq!(selector(&owner.unwrap()).as_deref(), expected);
        }
    }

    #[test]
    fn the_container_is_the_one_named_or_marked_or_first() {
        let pod = |annotation: &str| {
            Object::from_value(json!({
                "metadata": {"name": "p", "annotations": {DEFAULT_CONTAINER: annotation}},
                "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]},
            }))
            .unwrap()
        };
        for (annotation, given, expected) in [
            ("", None, Ok(("a", true))),
            ("b", None, Ok(("b", false))),
            ("nope", None, Ok(("a", true))),
            ("b", Some("i"), Ok(("i", false))),
            ("", Some("x"), Err("it has: i, a, b")),
        ] {
            match (container(&pod(annotation), given), expected) {
                (Ok((name, note)), Ok((wanted, is_noted))) => {
                    assert_eq!((name.as_str(), note.is_some()), (wanted, is_noted));
                }
                (Err(failure), Err(hint)) => assert_eq!(failure.hint(), hint),
                (found, expected) => panic!("{found:?} instead of {expected:?}"),
            }
        }
    }
}

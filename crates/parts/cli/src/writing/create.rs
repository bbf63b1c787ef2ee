//! New objects: from files, or of a few words.

use client::Client;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use super::{DryRun, Writing, discover};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reach::call_failure;
use crate::reading::{Answer, Sink, blame_places};

/// Creates objects, one after the other; one that is refused does not keep the others back.
pub async fn create(
    control: &Client,
    manifests: &[Manifest],
    writing: &Writing,
    print: Sink<'_>,
) -> Result<Answer, Failure> {
    let discovery = discover(control).await?;
    let namespace = writing.namespace(control);
    let mut failures = Vec::new();
    for manifest in manifests {
        let created = async {
            let (resource, object) = manifest.locate(&discovery, &namespace)?;
            let made = match writing.dry_run {
                DryRun::Client => object,
                _ => control
                    .create(&resource, &object, &writing.dry_run.options())
                    .await
                    .map_err(|error| call_failure(&error))?,
            };
            print(&writing.say(&resource, &made, "created")?)
        };
        if let Err(failure) = created.await {
            failures.push((manifest.place.clone(), failure));
        }
    }
    Ok(Answer {
        failure: blame_places(failures),
        ..Answer::default()
    })
}

/// An object of a few words: the kind, its name, and pairs of what else it says.
pub fn generate(kind: &str, name: &str, pairs: &[(String, String)]) -> Result<Manifest, Failure> {
    let value = |key: &str| {
        let found = pairs.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    let literals = || -> Result<Vec<(String, String)>, Failure> {
        let pairs = pairs.iter().filter(|(key, _)| key == "from-literal");
        pairs
            .map(|(_, text)| match text.split_once('=') {
                Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                _ => Err(Failure::refused(
                    format!("--from-literal: {text:?} is no KEY=VALUE"),
                    "write for example --from-literal=colour=blue",
                )),
            })
            .collect()
    };
    let (resource, body): (ResourceType, Value) = match kind {
        "namespace" | "ns" => (
            ResourceType::cluster("", "v1", "Namespace", "namespaces"),
            json!({}),
        ),
        "serviceaccount" | "sa" => (
            ResourceType::namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
            json!({}),
        ),
        "configmap" | "cm" => {
            let data: object::Map = literals()?
                .into_iter()
                .map(|(key, value)| (key, value.into()))
                .collect();
            (
                ResourceType::namespaced("", "v1", "ConfigMap", "configmaps"),
                json!({"data": data}),
            )
        }
        "secret" => {
            let data: object::Map = literals()?
                .into_iter()
                .map(|(key, value)| (key, value.into()))
                .collect();
            (
                ResourceType::namespaced("", "v1", "Secret", "secrets"),
                json!({"type": "Opaque", "stringData": data}),
            )
        }
        "deployment" | "deploy" => {
            let Some(image) = value("image") else {
                return Err(Failure::refused(
                    "required flag(s) \"image\" not set",
                    "add --image=nginx",
                ));
            };
            let replicas = value("replicas").unwrap_or("1").parse::<i32>();
            let replicas = replicas.map_err(|error| {
                Failure::refused(format!("--replicas: {error}"), "write a number")
            })?;
            (
                ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
                deployment(name, image, replicas),
            )
        }
        other => {
            return Err(Failure::refused(
                format!("objects of type {other:?} cannot be made of words"),
                "write a file and give it with -f; words make: namespace, deployment, configmap, secret, serviceaccount",
            ));
        }
    };
    let mut object = Object::new(&resource.kind, &ObjectKey::cluster(name));
    if let Value::Object(fields) = body {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("labels", labels) => {
                    let _ = object.set(&["metadata", "labels"], labels);
                }
                (_, value) => drop(object.fields_mut().insert(key, value)),
            }
        }
    }
    Ok(Manifest {
        place: format!("{kind}/{name}"),
        object,
    })
}

fn deployment(name: &str, image: &str, replicas: i32) -> Value {
    // The container is called after the image, without where it comes from and which version it is.
    let container = image.rsplit('/').next().unwrap_or(image);
    let container = container.split([':', '@']).next().unwrap_or(container);
    json!({
        "labels": {"app": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": container, "image": image}]},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_words_make_an_object() {
        let pairs = |text: &str| -> Vec<(String, String)> {
            let pairs = text
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        };
        for (kind, words, path, expected) in [
            ("namespace", "", &["kind"][..], Ok(json!("Namespace"))),
            (
                "deployment",
                "image=docker.io/library/nginx:1.27 replicas=3",
                &["spec", "replicas"],
                Ok(json!(3)),
            ),
            (
                "deployment",
                "image=docker.io/library/nginx:1.27",
                &["spec", "template", "spec", "containers"],
                Ok(json!([{"name": "nginx", "image": "docker.io/library/nginx:1.27"}])),
            ),
            (
                "configmap",
                "from-literal=a=b=c",
                &["data"],
                Ok(json!({"a": "b=c"})),
            ),
            (
                "secret",
                "from-literal=a=b",
                &["stringData"],
                Ok(json!({"a": "b"})),
            ),
            ("deployment", "", &[], Err("image")),
            (
                "deployment",
                "image=x replicas=many",
                &[],
                Err("--replicas"),
            ),
            ("configmap", "from-literal=a", &[], Err("no KEY=VALUE")),
            ("unicorn", "", &[], Err("unicorn")),
        ] {
            match (generate(kind, "n", &pairs(words)), expected) {
                (Ok(made), Ok(expected)) => {
                    assert_eq!(made.object.at(path), Some(&expected), "{kind} {words}");
                    assert_eq!(made.object.name(), "n");
                }
                (Err(failure), Err(expected)) => {
                    assert!(failure.to_string().contains(expected), "{failure}")
                }
                (found, expected) => panic!("{kind}: {found:?} instead of {expected:?}"),
            }
        }
    }
}

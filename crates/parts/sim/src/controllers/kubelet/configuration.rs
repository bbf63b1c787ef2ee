//! What a pod takes from ConfigMaps and Secrets, and what of it is not there.

use object::{Object, Value};

use crate::read;

/// Looks a ConfigMap or Secret up: the names of its entries, `None` if it is not there.
pub(crate) type Lookup<'a> = &'a dyn Fn(Source, &str) -> Option<Vec<String>>;

/// The same for all namespaces: the source, the namespace, the name.
pub(crate) type Shelf<'a> = &'a dyn Fn(Source, &str, &str) -> Option<Vec<String>>;

/// Where configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    ConfigMap,
    Secret,
}

/// Every namespace gets this one as soon as it is there, so nobody waits for it.
const ALWAYS_THERE: &str = "kube-root-ca.crt";

impl Source {
    fn lower(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// What a container's environment refers to and is not there.
pub(crate) fn lacking(namespace: &str, container: &Value, find: Lookup<'_>) -> Option<String> {
    let whole = read::items(container, "envFrom").iter().find_map(|entry| {
        let (source, reference) = either(entry, "configMapRef", "secretRef")?;
        missing(source, reference, read::text(reference, "name"), find)
    });
    whole.or_else(|| {
        read::items(container, "env").iter().find_map(|entry| {
            let from = entry.get("valueFrom")?;
            let (source, reference) = either(from, "configMapKeyRef", "secretKeyRef")?;
            let name = read::text(reference, "name");
            if let Some(why) = missing(source, reference, name, find) {
                return Some(why);
            }
            let (entries, key) = (find(source, name)?, read::text(reference, "key"));
            let is_there = entries.iter().any(|entry| entry == key) || is_optional(reference);
            (!is_there).then(|| {
                format!(
                    "couldn't find key {key} in {} {namespace}/{name}",
                    source.name()
                )
            })
        })
    })
}

/// The first volume that cannot be mounted, and why. A kubelet leaves alone what no container mounts.
pub(crate) fn unmountable(pod: &Object, find: Lookup<'_>) -> Option<(String, String)> {
    read::list(pod, &["spec", "volumes"])
        .iter()
        .filter(|volume| is_mounted(pod, read::text(volume, "name")))
        .find_map(|volume| {
            let own = [
                (Source::ConfigMap, "configMap", "name"),
                (Source::Secret, "secret", "secretName"),
            ];
            let direct = own.into_iter().find_map(|(source, field, name)| {
                let reference = volume.get(field)?;
                missing(source, reference, read::text(reference, name), find)
            });
            let projected = || {
                let sources = volume.get("projected")?;
                read::items(sources, "sources").iter().find_map(|entry| {
                    let (source, reference) = either(entry, "configMap", "secret")?;
                    missing(source, reference, read::text(reference, "name"), find)
                })
            };
            let why = direct.or_else(projected)?;
            Some((read::text(volume, "name").to_owned(), why))
        })
}

/// Whether a container of any sort uses a volume.
fn is_mounted(pod: &Object, volume: &str) -> bool {
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .flat_map(|sort| read::list(pod, &["spec", sort]))
        .flat_map(|container| {
            let mounts = read::items(container, "volumeMounts").iter();
            mounts.chain(read::items(container, "volumeDevices"))
        })
        .any(|mount| read::text(mount, "name") == volume)
}

fn either<'v>(entry: &'v Value, map: &str, secret: &str) -> Option<(Source, &'v Value)> {
    let map = entry.get(map).map(|found| (Source::ConfigMap, found));
    map.or_else(|| Some((Source::Secret, entry.get(secret)?)))
}

fn missing(source: Source, reference: &Value, name: &str, find: Lookup<'_>) -> Option<String> {
    let is_there = is_optional(reference) || name == ALWAYS_THERE || find(source, name).is_some();
    (!is_there).then(|| format!("{} {name:?} not found", source.lower()))
}

fn is_optional(reference: &Value) -> bool {
    reference.get("optional").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(source: Source, name: &str) -> Option<Vec<String>> {
        let is_there = (source, name) == (Source::ConfigMap, "there");
        is_there.then(|| vec!["key".to_owned()])
    }

    #[test]
    fn containers_lack_what_they_name_and_do_not_find() {
        let env = |reference: Value| json!({"env": [{"name": "A", "valueFrom": reference}]});
        for (container, lack) in [
            (
                json!({"envFrom": [{"configMapRef": {"name": "there"}}]}),
                "",
            ),
            (
                json!({"envFrom": [{"configMapRef": {"name": "gone"}}]}),
                "configmap \"gone\" not found",
            ),
            (
                json!({"envFrom": [{"secretRef": {"name": "there"}}]}),
                "secret \"there\" not found",
            ),
            (
                json!({"envFrom": [{"secretRef": {"name": "gone", "optional": true}}]}),
                "",
            ),
            (
                env(json!({"configMapKeyRef": {"name": "there", "key": "key"}})),
                "",
            ),
            (
                env(json!({"configMapKeyRef": {"name": "there", "key": "other"}})),
                "couldn't find key other in ConfigMap d/there",
            ),
            (
                env(
                    json!({"configMapKeyRef": {"name": "there", "key": "other", "optional": true}}),
                ),
                "",
            ),
            (env(json!({"fieldRef": {"fieldPath": "metadata.name"}})), ""),
        ] {
            let found = lacking("d", &container, &find).unwrap_or_default();
            assert_eq!(found, lack, "{container}");
        }
    }

    #[test]
    fn volumes_of_what_is_not_there_cannot_be_mounted() {
        for (volume, why) in [
            (json!({"configMap": {"name": "there"}}), ""),
            (
                json!({"configMap": {"name": "gone"}}),
                "configmap \"gone\" not found",
            ),
            (
                json!({"secret": {"secretName": "gone"}}),
                "secret \"gone\" not found",
            ),
            (
                json!({"projected": {"sources": [{"secret": {"name": "gone"}}]}}),
                "secret \"gone\" not found",
            ),
            (
                json!({"projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}),
                "",
            ),
            (json!({"emptyDir": {}}), ""),
        ] {
            let mut volume = volume;
            volume["name"] = json!("v");
            for (containers, why) in [
                (json!({}), ""),
                (
                    json!({"containers": [{"volumeMounts": [{"name": "w"}]}]}),
                    "",
                ),
                (
                    json!({"containers": [{}, {"volumeMounts": [{"name": "w"}, {"name": "v"}]}]}),
                    why,
                ),
                (
                    json!({"initContainers": [{"volumeDevices": [{"name": "v"}]}]}),
                    why,
                ),
            ] {
                let mut spec = containers.clone();
                spec["volumes"] = json!([volume]);
                let pod = json!({"metadata": {"name": "p"}, "spec": spec});
                let pod = Object::from_value(pod).unwrap();
                let found = unmountable(&pod, &find).map_or_else(String::new, |(_, why)| why);
                assert_eq!(found, why, "{volume} {containers}");
            }
        }
    }
}

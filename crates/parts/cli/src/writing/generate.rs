//! Objects of a few words: a kind, a name, and what flags say.

use object::{Map, Object, ObjectKey, ResourceType, Value, base64};
use serde_json::json;

use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::nearest;

/// What can be made of words.
const KINDS: [&str; 16] = [
    "namespace",
    "deployment",
    "job",
    "cronjob",
    "configmap",
    "secret",
    "secret generic",
    "serviceaccount",
    "service clusterip",
    "service nodeport",
    "service loadbalancer",
    "service externalname",
    "rolebinding",
    "clusterrolebinding",
    "quota",
    "priorityclass",
];

/// An object of a few words: the kind, its name, and pairs of what else it says, as flags without their dashes. What is to
/// be run stands under the empty name, a word each.
pub fn generate(kind: &str, name: &str, pairs: &[(String, String)]) -> Result<Manifest, Failure> {
    let words = Words { name, pairs };
    let (resource, body) = make(kind, &words)?;
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

fn make(kind: &str, words: &Words<'_>) -> Result<(ResourceType, Value), Failure> {
    let core = |kind: &str, plural: &str| ResourceType::namespaced("", "v1", kind, plural);
    Ok(match kind {
        "namespace" | "ns" => (
            ResourceType::cluster("", "v1", "Namespace", "namespaces"),
            json!({}),
        ),
        "serviceaccount" | "sa" => (core("ServiceAccount", "serviceaccounts"), json!({})),
        "configmap" | "cm" => (core("ConfigMap", "configmaps"), configmap(words)?),
        "secret" | "secret generic" => (core("Secret", "secrets"), secret(words)?),
        "deployment" | "deploy" => (
            ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
            deployment(words)?,
        ),
        "job" => (
            ResourceType::namespaced("batch", "v1", "Job", "jobs"),
            json!({"spec": {"template": pods(words, "Never")?}}),
        ),
        "cronjob" | "cj" => (
            ResourceType::namespaced("batch", "v1", "CronJob", "cronjobs"),
            json!({"spec": {
                "schedule": words.required("schedule", "--schedule='0 * * * *'")?,
                "jobTemplate": {
                    "metadata": {"name": words.name},
                    "spec": {"template": pods(words, "OnFailure")?},
                },
            }}),
        ),
        "service clusterip" => (core("Service", "services"), service(words, "ClusterIP")?),
        "service nodeport" => (core("Service", "services"), service(words, "NodePort")?),
        "service loadbalancer" => (core("Service", "services"), service(words, "LoadBalancer")?),
        "service externalname" => (core("Service", "services"), external(words)?),
        "rolebinding" => (
            ResourceType::namespaced(
                "rbac.authorization.k8s.io",
                "v1",
                "RoleBinding",
                "rolebindings",
            ),
            role_binding(words, true)?,
        ),
        "clusterrolebinding" => (
            ResourceType::cluster(
                "rbac.authorization.k8s.io",
                "v1",
                "ClusterRoleBinding",
                "clusterrolebindings",
            ),
            role_binding(words, false)?,
        ),
        "quota" | "resourcequota" => (core("ResourceQuota", "resourcequotas"), quota(words)?),
        "priorityclass" | "pc" => (
            ResourceType::cluster(
                "scheduling.k8s.io",
                "v1",
                "PriorityClass",
                "priorityclasses",
            ),
            json!({"value": words.number("value")?.unwrap_or(0)}),
        ),
        other => {
            let hint = match nearest(other, KINDS) {
                Some(kind) => format!("did you mean {kind:?}?"),
                None => format!(
                    "write a file and give it with -f; words make: {}",
                    KINDS.join(", ")
                ),
            };
            return Err(Failure::refused(
                format!("objects of type {other:?} cannot be made of words"),
                hint,
            ));
        }
    })
}

/// What was said of an object.
struct Words<'a> {
    name: &'a str,
    pairs: &'a [(String, String)],
}

impl<'a> Words<'a> {
    fn all(&self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(known, _)| known == key);
        pairs.map(|(_, value)| value.as_str())
    }

    fn value(&self, key: &'a str) -> Option<&'a str> {
        self.all(key).last()
    }

    fn required(&self, key: &'a str, example: &str) -> Result<&'a str, Failure> {
        self.value(key).ok_or_else(|| {
            Failure::refused(
                format!("required flag(s) {key:?} not set"),
                format!("add {example}"),
            )
        })
    }

    fn number(&self, key: &'a str) -> Result<Option<i32>, Failure> {
        let number = self.value(key).map(str::parse::<i32>).transpose();
        number.map_err(|error| Failure::refused(format!("--{key}: {error}"), "write a number"))
    }

    /// What is to be run; absent if nothing is said about it.
    fn command(&self) -> Option<Vec<&'a str>> {
        let words: Vec<&str> = self.all("").collect();
        (!words.is_empty()).then_some(words)
    }
}

/// Entries of KEY=VALUE.
fn literals(words: &Words<'_>) -> Result<Vec<(String, String)>, Failure> {
    let literals = words.all("from-literal");
    literals
        .map(|text| match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(Failure::refused(
                format!("--from-literal: {text:?} is no KEY=VALUE"),
                "write for example --from-literal=colour=blue",
            )),
        })
        .collect()
}

/// Entries from files, called as the file unless named otherwise.
fn files(words: &Words<'_>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let read = |text: &str| {
        let (key, path) = match text.split_once('=') {
            Some((key, path)) => (key.to_owned(), path),
            None => {
                let name = std::path::Path::new(text).file_name();
                let name = name.map(|name| name.to_string_lossy().into_owned());
                (name.unwrap_or_default(), text)
            }
        };
        match std::fs::read(path) {
            Ok(bytes) if !key.is_empty() => Ok((key, bytes)),
            Ok(_) => Err(Failure::refused(
                format!("--from-file: {text:?} has no name"),
                "write KEY=FILE",
            )),
            Err(error) => Err(Failure::refused(
                format!("--from-file: cannot read {path}: {error}"),
                "check the path and who may read it",
            )),
        }
    };
    words.all("from-file").map(read).collect()
}

fn configmap(words: &Words<'_>) -> Result<Value, Failure> {
    let (mut data, mut binary) = (Map::new(), Map::new());
    for (key, value) in literals(words)? {
        data.insert(key, value.into());
    }
    for (key, bytes) in files(words)? {
        match String::from_utf8(bytes) {
            Ok(text) => drop(data.insert(key, text.into())),
            Err(raw) => drop(binary.insert(key, base64::encode(raw.as_bytes()).into())),
        }
    }
    let mut body = json!({"data": data});
    if !binary.is_empty() {
        body["binaryData"] = Value::Object(binary);
    }
    Ok(body)
}

fn secret(words: &Words<'_>) -> Result<Value, Failure> {
    let kind = words.value("type").unwrap_or("Opaque");
    let mut texts = Map::new();
    for (key, value) in literals(words)? {
        texts.insert(key, value.into());
    }
    let mut body = json!({"type": kind, "stringData": texts});
    let mut data = Map::new();
    for (key, bytes) in files(words)? {
        data.insert(key, base64::encode(&bytes).into());
    }
    if !data.is_empty() {
        body["data"] = Value::Object(data);
    }
    Ok(body)
}

fn deployment(words: &Words<'_>) -> Result<Value, Failure> {
    let image = words.required("image", "--image=nginx")?;
    // The container is called after the image, without where it comes from and which version it is.
    let container = image.rsplit('/').next().unwrap_or(image);
    let container = container.split([':', '@']).next().unwrap_or(container);
    let mut container = json!({"name": container, "image": image});
    if let Some(command) = words.command() {
        container["command"] = json!(command);
    }
    if let Some(port) = words.number("port")? {
        container["ports"] = json!([{"containerPort": port}]);
    }
    let name = words.name;
    Ok(json!({
        "labels": {"app": name},
        "spec": {
            "replicas": words.number("replicas")?.unwrap_or(1),
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }))
}

/// Pods that end.
fn pods(words: &Words<'_>, restart: &str) -> Result<Value, Failure> {
    let image = words.required("image", "--image=busybox")?;
    let mut container = json!({"name": words.name, "image": image});
    if let Some(command) = words.command() {
        container["command"] = json!(command);
    }
    Ok(json!({"spec": {"containers": [container], "restartPolicy": restart}}))
}

fn service(words: &Words<'_>, kind: &str) -> Result<Value, Failure> {
    let wrong = |text: &str| {
        Failure::refused(
            format!("--tcp: {text:?} is no port"),
            "write PORT:TARGET, such as --tcp=80:8080, or one number for both",
        )
    };
    let mut ports = Vec::new();
    for text in words.all("tcp").flat_map(|text| text.split(',')) {
        let (port, target) = text.split_once(':').unwrap_or((text, text));
        let number = port.parse::<u16>().map_err(|_| wrong(text))?;
        let target = match target.parse::<u16>() {
            Ok(number) => json!(number),
            Err(_) if target.is_empty() => return Err(wrong(text)),
            Err(_) => json!(target),
        };
        let name = text.replace(':', "-");
        ports.push(json!({"name": name, "port": number, "protocol": "TCP", "targetPort": target}));
    }
    let is_headless = words.value("clusterip") == Some("None");
    if ports.is_empty() && !is_headless {
        return Err(Failure::refused(
            "at least one tcp port specifier must be provided",
            "add --tcp=80:8080",
        ));
    }
    if let (Some(node), Some(port)) = (words.number("node-port")?, ports.first_mut()) {
        port["nodePort"] = json!(node);
    }
    let mut spec = json!({"type": kind, "selector": {"app": words.name}, "ports": ports});
    if let Some(address) = words.value("clusterip") {
        spec["clusterIP"] = json!(address);
    }
    Ok(json!({"labels": {"app": words.name}, "spec": spec}))
}

fn external(words: &Words<'_>) -> Result<Value, Failure> {
    let to = words.required("external-name", "--external-name=example.com")?;
    Ok(json!({
        "labels": {"app": words.name},
        "spec": {"type": "ExternalName", "selector": {"app": words.name}, "externalName": to},
    }))
}

fn role_binding(words: &Words<'_>, takes_roles: bool) -> Result<Value, Failure> {
    let roles = (
        words.value("role").filter(|_| takes_roles),
        words.value("clusterrole"),
    );
    let (kind, role) = match roles {
        (Some(role), None) => ("Role", role),
        (None, Some(role)) => ("ClusterRole", role),
        _ => {
            return Err(Failure::refused(
                "exactly one role has to be named",
                "add --clusterrole=view",
            ));
        }
    };
    let group = "rbac.authorization.k8s.io";
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        let named = words.all(flag);
        subjects.extend(named.map(|name| json!({"kind": kind, "apiGroup": group, "name": name})));
    }
    for text in words.all("serviceaccount") {
        let Some((namespace, name)) = text.split_once(':') else {
            return Err(Failure::refused(
                format!("--serviceaccount: {text:?} is no NAMESPACE:NAME"),
                "write for example --serviceaccount=default:builder",
            ));
        };
        subjects.push(json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}));
    }
    Ok(json!({
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": subjects,
    }))
}

fn quota(words: &Words<'_>) -> Result<Value, Failure> {
    let mut hard = Map::new();
    for text in words.all("hard").flat_map(|text| text.split(',')) {
        let Some((name, amount)) = text.split_once('=') else {
            return Err(Failure::refused(
                format!("--hard: {text:?} is no RESOURCE=AMOUNT"),
                "write for example --hard=cpu=4,pods=10",
            ));
        };
        hard.insert(name.to_owned(), amount.into());
    }
    Ok(json!({"spec": {"hard": hard}}))
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
            ("namespace", "", "kind", Ok(json!("Namespace"))),
            (
                "deployment",
                "image=docker.io/library/nginx:1.27 replicas=3",
                "spec.replicas",
                Ok(json!(3)),
            ),
            (
                "deployment",
                "image=docker.io/library/nginx:1.27 port=80 =sleep =9",
                "spec.template.spec.containers",
                Ok(
                    json!([{"name": "nginx", "image": "docker.io/library/nginx:1.27", "ports": [{"containerPort": 80}], "command": ["sleep", "9"]}]),
                ),
            ),
            (
                "job",
                "image=busybox =date",
                "spec.template.spec",
                Ok(
                    json!({"containers": [{"name": "n", "image": "busybox", "command": ["date"]}], "restartPolicy": "Never"}),
                ),
            ),
            (
                "cronjob",
                "image=busybox schedule=@hourly",
                "spec.schedule",
                Ok(json!("@hourly")),
            ),
            (
                "configmap",
                "from-literal=a=b=c",
                "data",
                Ok(json!({"a": "b=c"})),
            ),
            (
                "secret",
                "from-literal=a=b",
                "stringData",
                Ok(json!({"a": "b"})),
            ),
            (
                "service clusterip",
                "tcp=80:8080",
                "spec.ports",
                Ok(json!([{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}])),
            ),
            (
                "service nodeport",
                "tcp=80 node-port=30080",
                "spec.ports",
                Ok(
                    json!([{"name": "80", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080}]),
                ),
            ),
            (
                "service externalname",
                "external-name=x.io",
                "spec.externalName",
                Ok(json!("x.io")),
            ),
            (
                "rolebinding",
                "role=r user=jane serviceaccount=a:b",
                "subjects",
                Ok(
                    json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}, {"kind": "ServiceAccount", "namespace": "a", "name": "b"}]),
                ),
            ),
            (
                "clusterrolebinding",
                "clusterrole=view group=devs",
                "roleRef.name",
                Ok(json!("view")),
            ),
            (
                "quota",
                "hard=cpu=4,pods=10",
                "spec.hard",
                Ok(json!({"cpu": "4", "pods": "10"})),
            ),
            ("priorityclass", "value=7", "value", Ok(json!(7))),
            ("deployment", "", "", Err("image")),
            ("deployment", "image=x replicas=many", "", Err("--replicas")),
            ("cronjob", "image=x", "", Err("schedule")),
            ("configmap", "from-literal=a", "", Err("no KEY=VALUE")),
            (
                "configmap",
                "from-file=/no/such/file",
                "",
                Err("cannot read"),
            ),
            ("service clusterip", "", "", Err("at least one tcp port")),
            ("service clusterip", "tcp=web", "", Err("--tcp")),
            ("clusterrolebinding", "role=r", "", Err("exactly one role")),
            (
                "rolebinding",
                "role=r serviceaccount=x",
                "",
                Err("NAMESPACE:NAME"),
            ),
            ("quota", "hard=cpu", "", Err("--hard")),
            ("unicorn", "", "", Err("unicorn")),
        ] {
            match (generate(kind, "n", &pairs(words)), expected) {
                (Ok(made), Ok(expected)) => {
                    let path: Vec<&str> = path.split('.').collect();
                    assert_eq!(made.object.at(&path), Some(&expected), "{kind} {words}");
                    assert_eq!(made.object.name(), "n");
                }
                (Err(failure), Err(expected)) => {
                    assert!(failure.to_string().contains(expected), "{failure}");
                }
                (found, expected) => panic!("{kind}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn files_are_entries_called_as_the_file_or_as_was_said() {
        let directory = tempfile::tempdir().unwrap();
        let (text, raw) = (directory.path().join("a.txt"), directory.path().join("raw"));
        std::fs::write(&text, "hello").unwrap();
        std::fs::write(&raw, [0xff, 0]).unwrap();
        let pairs = [
            ("from-file".to_owned(), text.display().to_string()),
            ("from-file".to_owned(), format!("other={}", raw.display())),
        ];
        let made = generate("configmap", "n", &pairs).unwrap().object;
        assert_eq!(made.at(&["data"]), Some(&json!({"a.txt": "hello"})));
        assert_eq!(made.at(&["binaryData"]), Some(&json!({"other": "/wA="})));
        let made = generate("secret generic", "n", &pairs).unwrap().object;
        assert_eq!(made.at(&["data", "other"]), Some(&json!("/wA=")));
    }
}

//! Objects of a few words: a kind, a name, and what flags say.
//!
//! What comes of them is what kubectl's words make, without the empty fields it writes along.

mod entries;
mod flags;
mod hash;
mod ingress;
mod roles;
mod services;
mod workloads;

#[cfg(test)]
mod tests;

pub use flags::{check_flags, read_words_to_create, words_to_create};

use client::Client;
use object::{Map, Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use self::flags::{KINDS, TOKEN, full_name};
use super::{Writing, discover};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::nearest;
use crate::reach::call_failure;
use crate::reading;

/// Where roles and their bindings are.
const RBAC: &str = "rbac.authorization.k8s.io";

/// An object of a few words: the kind, its name, and pairs of what else it says, as flags without their dashes. What is to
/// be run stands under the empty name, a word each.
///
/// The control plane is asked where the words need it: which group the resources of a role are of, and what a cronjob
/// that a job is made from says.
pub async fn generate(
    control: &Client,
    writing: &Writing,
    (kind, name): (&str, &str),
    pairs: &[(String, String)],
) -> Result<Manifest, Failure> {
    check_flags(Some(kind), pairs)?;
    let words = Words { name, pairs };
    match kind {
        "role" | "clusterrole" if words.has("resource") => {
            let discovery = discover(control).await?;
            let group = |word: &str| {
                let found = reading::resolve(&discovery, word)?;
                let resource = &found.resource;
                let found = (resource.kind.group.clone(), resource.plural.clone());
                Ok(Some(found))
            };
            named(kind, &words, make(kind, &words, &group)?)
        }
        "job" if words.has("from") => {
            let namespace = writing.namespace(control);
            let source = workloads::source(&words)?;
            let key = ObjectKey::namespaced(&namespace, source);
            let found = control.get(&workloads::cronjobs(), &key).await;
            let cronjob = found.map_err(|error| call_failure(&error))?;
            named(
                kind,
                &words,
                (workloads::jobs(), workloads::job_of(&cronjob)),
            )
        }
        _ => generate_alone(kind, name, pairs),
    }
}

/// The object of words and its kind where nobody has to be asked for them; `None` where somebody has to.
pub(super) fn generate_here(
    (kind, name): (&str, &str),
    pairs: &[(String, String)],
) -> Result<Option<(ResourceType, Object)>, Failure> {
    check_flags(Some(kind), pairs)?;
    let words = Words { name, pairs };
    let is_asked_for = match kind {
        "role" | "clusterrole" => words.has("resource"),
        "job" => words.has("from"),
        _ => false,
    };
    if is_asked_for {
        return Ok(None);
    }
    let made = make(kind, &words, &|_: &str| Ok(None))?;
    let resource = made.0.clone();
    Ok(Some((resource, named(kind, &words, made)?.object)))
}

/// Says what is wrong with words, as far as nobody has to be asked.
pub fn check_words(kind: &str, name: &str, pairs: &[(String, String)]) -> Result<(), Failure> {
    check_flags(Some(kind), pairs)?;
    let words = Words { name, pairs };
    match kind {
        "job" if words.has("from") => {
            workloads::source(&words)?;
            named(kind, &words, (workloads::jobs(), json!({}))).map(drop)
        }
        _ => generate_alone(kind, name, pairs).map(drop),
    }
}

/// The same for what can be made without asking anybody.
fn generate_alone(kind: &str, name: &str, pairs: &[(String, String)]) -> Result<Manifest, Failure> {
    let words = Words { name, pairs };
    let nobody = |_: &str| Ok(None);
    named(kind, &words, make(kind, &words, &nobody)?)
}

/// Puts what was made under the name it was given, with a hash behind it on request.
fn named(kind: &str, words: &Words<'_>, made: (ResourceType, Value)) -> Result<Manifest, Failure> {
    match words.has("append-hash") {
        true => finish(kind, &hash::name(words.name, &made)?, made),
        false => finish(kind, words.name, made),
    }
}

/// Puts what was made under a name.
fn finish(
    kind: &str,
    name: &str,
    (resource, body): (ResourceType, Value),
) -> Result<Manifest, Failure> {
    let mut object = Object::new(&resource.kind, &ObjectKey::cluster(name));
    if let Value::Object(fields) = body {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("labels" | "annotations" | "ownerReferences", value) => {
                    let set = object.set(&["metadata", key.as_str()], value);
                    set.map_err(|error| Failure::refused(error.to_string(), "correct the flags"))?;
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

fn make(
    kind: &str,
    words: &Words<'_>,
    group: roles::Groups<'_>,
) -> Result<(ResourceType, Value), Failure> {
    let core = |kind: &str, plural: &str| ResourceType::namespaced("", "v1", kind, plural);
    let service = || core("Service", "services");
    let secret = || core("Secret", "secrets");
    Ok(match full_name(kind) {
        "namespace" => (
            ResourceType::cluster("", "v1", "Namespace", "namespaces"),
            json!({}),
        ),
        "serviceaccount" => (core("ServiceAccount", "serviceaccounts"), json!({})),
        "configmap" => (core("ConfigMap", "configmaps"), entries::configmap(words)?),
        "secret" | "secret generic" => (secret(), entries::secret(words)?),
        "secret tls" => (secret(), entries::tls(words)?),
        "secret docker-registry" => (secret(), entries::registry(words)?),
        "deployment" => (
            ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
            workloads::deployment(words)?,
        ),
        "job" => (workloads::jobs(), workloads::job(words)?),
        "cronjob" => (workloads::cronjobs(), workloads::cronjob(words)?),
        "poddisruptionbudget" => (
            ResourceType::namespaced(
                "policy",
                "v1",
                "PodDisruptionBudget",
                "poddisruptionbudgets",
            ),
            workloads::disruption_budget(words)?,
        ),
        "service clusterip" => (service(), services::service(words, "ClusterIP")?),
        "service nodeport" => (service(), services::service(words, "NodePort")?),
        "service loadbalancer" => (service(), services::service(words, "LoadBalancer")?),
        "service externalname" => (service(), services::external(words)?),
        "ingress" => (
            ResourceType::namespaced("networking.k8s.io", "v1", "Ingress", "ingresses"),
            ingress::ingress(words)?,
        ),
        "role" => (
            ResourceType::namespaced(RBAC, "v1", "Role", "roles"),
            roles::role(words, group)?,
        ),
        "clusterrole" => (
            ResourceType::cluster(RBAC, "v1", "ClusterRole", "clusterroles"),
            roles::cluster_role(words, group)?,
        ),
        "rolebinding" => (
            ResourceType::namespaced(RBAC, "v1", "RoleBinding", "rolebindings"),
            roles::binding(words, true)?,
        ),
        "clusterrolebinding" => (
            ResourceType::cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
            roles::binding(words, false)?,
        ),
        "quota" => (core("ResourceQuota", "resourcequotas"), quota(words)?),
        "priorityclass" => (
            ResourceType::cluster(
                "scheduling.k8s.io",
                "v1",
                "PriorityClass",
                "priorityclasses",
            ),
            priority_class(words)?,
        ),
        other => return Err(unknown(other)),
    })
}

fn unknown(kind: &str) -> Failure {
    let kinds = || {
        let kinds = KINDS.iter().map(|(kind, _)| *kind);
        // A token has words of its own, and gets here with a word too many.
        kinds.filter(|kind| *kind != TOKEN)
    };
    let below = |above: &str| -> Vec<&str> {
        let words = kinds().filter_map(|known| known.strip_prefix(above)?.strip_prefix(' '));
        words.collect()
    };
    // A name stands where the sort should: `create service web`.
    let first = kind.split(' ').next().unwrap_or_default();
    let sorts = below(first);
    let hint = match nearest(kind, kinds()) {
        Some(kind) => format!("did you mean {kind:?}?"),
        None if !sorts.is_empty() => format!(
            "say which sort of {first}: karavel create {first} {} NAME",
            sorts.join("|")
        ),
        None => format!(
            "write a file and give it with -f; words make: {}",
            kinds().collect::<Vec<_>>().join(", ")
        ),
    };
    let what = format!("objects of type {kind:?} cannot be made of words");
    Failure::refused(what, hint)
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
    let mut spec = json!({"hard": hard});
    let scopes = words.listed("scopes");
    if !scopes.is_empty() {
        spec["scopes"] = json!(scopes);
    }
    Ok(json!({"spec": spec}))
}

fn priority_class(words: &Words<'_>) -> Result<Value, Failure> {
    let policy = words
        .value("preemption-policy")
        .unwrap_or("PreemptLowerPriority");
    let mut body =
        json!({"value": words.number("value")?.unwrap_or(0), "preemptionPolicy": policy});
    if let Some(text) = words.value("description") {
        body["description"] = json!(text);
    }
    if words.value("global-default") == Some("true") {
        body["globalDefault"] = json!(true);
    }
    Ok(body)
}

/// What was said of an object.
pub(super) struct Words<'a> {
    pub(super) name: &'a str,
    pairs: &'a [(String, String)],
}

impl<'a> Words<'a> {
    pub(super) fn all(&self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(known, _)| known == key);
        pairs.map(|(_, value)| value.as_str())
    }

    pub(super) fn value(&self, key: &'a str) -> Option<&'a str> {
        self.all(key).last()
    }

    pub(super) fn required(&self, key: &'a str, example: &str) -> Result<&'a str, Failure> {
        self.value(key).ok_or_else(|| {
            Failure::refused(
                format!("required flag(s) {key:?} not set"),
                format!("add {example}"),
            )
        })
    }

    /// Values of a flag, each of which may be several with commas in between.
    pub(super) fn listed(&self, key: &'a str) -> Vec<&'a str> {
        let values = self.all(key).flat_map(|text| text.split(','));
        values
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// Whether a flag without a value was given.
    pub(super) fn has(&self, key: &'a str) -> bool {
        self.value(key).is_some()
    }

    pub(super) fn number(&self, key: &'a str) -> Result<Option<i32>, Failure> {
        let number = self.value(key).map(str::parse::<i32>).transpose();
        number.map_err(|error| Failure::refused(format!("--{key}: {error}"), "write a number"))
    }

    /// What is to be run; absent if nothing is said about it.
    pub(super) fn command(&self) -> Option<Vec<&'a str>> {
        let words: Vec<&str> = self.all("").collect();
        (!words.is_empty()).then_some(words)
    }
}

//! Why a template is where it is, and what became of it there: everything that is known, in one place.
//!
//! What the API says is read; whose the template is and what overrides make of it is decided again, by the rules that
//! decide at the server; what the scheduler weighed comes from its own records; what members have, from members. Whatever
//! cannot be learnt is said, and takes nothing away from the rest.

mod clusters;
mod decisions;
mod facts;
mod text;

use api::names::{binding_name, work_name};
use client::{Client, Discovery, ListOptions};
use futures_util::stream::{self, StreamExt as _};
use http::Method;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use crate::failure::Failure;
use crate::nearest::{cluster_hint, missing};
use crate::picture::{Forms, Picture, Presumption, is_namespace};
use crate::reach::call_failure;
use crate::reading::{self, Answer, Place};
use facts::Facts;

/// How many members are asked at once.
const MEMBERS: usize = 32;

/// How an explanation is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// For people, in 80 columns.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// What is to be explained.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `TYPE/NAME`, or the two apart.
    pub words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// Only what concerns this cluster.
    pub cluster: Option<String>,
    /// How it is written.
    pub telling: Telling,
    /// What the control plane is presumed to run with, in place of what it says itself.
    pub presumed: Presumption,
}

/// Explains a template.
pub async fn explain(control: &Client, question: &Question) -> Result<Answer, Failure> {
    refuse_nameless(&question.words)?;
    let (word, name) = reading::read_one(&question.words)?;
    let discovery = control.discover().await;
    let discovery = discovery.map_err(|error| call_failure(&error))?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let connected = control.raw();
    let namespace = question.namespace.as_deref();
    let namespace = namespace.unwrap_or_else(|| connected.default_namespace());
    let key = reading::key(resource, namespace, &name);
    let asked = match control.get(resource, &key).await {
        Ok(template) => template,
        Err(error) => return Err(missing(control, resource, &key, &error).await),
    };
    let (presumed, home) = (&question.presumed, asked.namespace());
    let mut picture = Picture::read_within(control, &discovery, presumed, home).await?;
    if let Some(cluster) = &question.cluster
        && picture.sees_clusters
        && !picture.clusters.contains_key(cluster)
    {
        return Err(Failure::refused(
            format!("clusters don't exist: {cluster}"),
            cluster_hint(&[cluster], picture.clusters.keys().map(String::as_str)),
        ));
    }
    let binding = find_binding(control, resource, &asked).await?;
    let forms = read_forms(control, &discovery, &mut picture, asked, binding.as_ref()).await;
    let asked = forms.main();
    let meant = picture.version_meant(asked, binding.as_ref());
    let meant = meant.map_or(asked, |version| forms.in_version(&version));
    let bound = binding.as_ref();
    let bound = bound.and_then(|binding| picture.version_bound(asked, binding));
    let template = bound.map_or(meant, |version| forms.in_version(&version));
    // A namespace that no policy claims goes to clusters by itself, or stays at home for a reason.
    let travels = (binding.is_none() && is_namespace(template))
        .then(|| Travels::of(picture.keeps_at_home(template)));
    let (works, decisions) = match &binding {
        Some(binding) => (
            list_works(control, binding).await?,
            read_decisions(control, binding).await,
        ),
        None if travels.is_some() => (list_namesakes(control, template).await?, Ok(Vec::new())),
        None => (Some(Vec::new()), Ok(Vec::new())),
    };
    if works.is_none() {
        let doubt = "this user may not list works, which are left out";
        picture.settings.doubts.push(doubt.to_owned());
    }
    let (works, sees_works) = (works.as_deref().unwrap_or_default(), works.is_some());
    let required_by = match &binding {
        Some(binding) => find_dependents(control, binding).await?,
        None => Vec::new(),
    };
    let mut places = facts::members(binding.as_ref(), works);
    if travels == Some(Travels::Everywhere) {
        places.extend(picture.clusters.keys().cloned());
        places.sort();
        places.dedup();
    }
    places.retain(|name| question.cluster.as_ref().is_none_or(|only| only == name));
    let found = discovery.find(&template.group_version_kind());
    let resource = found.map_or(resource, |found| &found.resource);
    let members: Vec<(String, Result<Object, Unseen>)> = stream::iter(places)
        .map(|member| ask_member(picture.member(control, &member), resource, template))
        .buffered(MEMBERS)
        .collect()
        .await;
    let told = facts::tell(&Facts {
        asked,
        meant,
        template,
        binding: binding.as_ref(),
        works,
        sees_works,
        required_by: &required_by,
        travels: travels.as_ref(),
        picture: &picture,
        decisions: &decisions,
        members: &members,
        cluster: question.cluster.as_deref(),
        left_alone: facts::left_alone(binding.as_ref(), &picture),
    });
    let text = match question.telling {
        Telling::Text => text::write(&told),
        Telling::Json => reading::write_document(&told, false)?,
    };
    let unseen = members.into_iter().filter_map(|(name, found)| match found {
        Err(Unseen::Unknown(failure)) => Some((name, failure)),
        _ => None,
    });
    Ok(Answer {
        text,
        notes: Vec::new(),
        failure: reading::blame(unseen.collect(), false),
    })
}

/// A template in all versions in which somebody means it, in that first in which it was asked for. What cannot be read is
/// left out, and said.
async fn read_forms(
    control: &Client,
    discovery: &Discovery,
    picture: &mut Picture,
    asked: Object,
    binding: Option<&Object>,
) -> Forms {
    let kinds = picture.kinds_named(&asked, binding);
    let mut forms = Forms::new(asked);
    for kind in kinds {
        let Some(found) = discovery.find(&kind) else {
            continue;
        };
        match control.get(&found.resource, &forms.main().key()).await {
            Ok(form) => forms.add(form),
            Err(error) => {
                let (version, why) = (kind.api_version(), call_failure(&error));
                let doubt = format!("what it is in {version} cannot be read ({why})");
                picture.settings.doubts.push(doubt);
            }
        }
    }
    forms
}

/// A type with a stroke and nothing behind it is a name that was forgotten, or whose completion did not come.
fn refuse_nameless(words: &[String]) -> Result<(), Failure> {
    let kinds = words.iter().filter_map(|word| word.strip_suffix('/'));
    let mut kinds = kinds.filter(|kind| !kind.is_empty());
    match kinds.next() {
        Some(kind) => Err(Failure::refused(
            format!("a name is missing behind \"{kind}/\""),
            format!("write {kind}/NAME; `karavel get {kind}` lists the names there are"),
        )),
        None => Ok(()),
    }
}

/// How a namespace gets around that no policy claims.
#[derive(Debug, PartialEq, Eq)]
enum Travels {
    /// To every cluster.
    Everywhere,
    /// To none, for this reason.
    Nowhere(String),
}

impl Travels {
    fn of(kept: Option<String>) -> Self {
        kept.map_or(Self::Everywhere, Self::Nowhere)
    }
}

/// Why nothing is known of a member's object.
#[derive(Debug)]
enum Unseen {
    /// It is not there.
    Absent,
    /// The member could not be asked.
    Unknown(Failure),
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("it is not there"),
            Self::Unknown(failure) => write!(f, "it cannot be asked now ({failure})"),
        }
    }
}

/// What a member has of the template.
async fn ask_member(
    place: Place,
    resource: &ResourceType,
    template: &Object,
) -> (String, Result<Object, Unseen>) {
    let found = place.client().get(resource, &template.key()).await;
    let found = found.map_err(|error| match error.is_not_found() {
        true => Unseen::Absent,
        false => Unseen::Unknown(place.failure(&error)),
    });
    (place.name, found)
}

/// The scheduler's last decisions about a binding, the newest first.
async fn read_decisions(control: &Client, binding: &Object) -> Result<Vec<Value>, String> {
    let kind = binding_kind(binding.namespace());
    let path = format!("{}/decisions", kind.object_path(&binding.key()));
    let answer = control
        .request(Method::GET, &path, "application/json", Vec::new().into())
        .await;
    let bytes = answer.map_err(|error| match error.is_not_found() {
        true => "this control plane keeps no records of decisions".to_owned(),
        false => call_failure(&error).to_string(),
    })?;
    let list: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let records = list["items"].as_array().cloned().unwrap_or_default();
    Ok(decisions::of_binding(records, binding))
}

fn binding_kind(namespace: &str) -> ResourceType {
    let (group, version) = ("work.karmada.io", "v1alpha2");
    match namespace {
        "" => ResourceType::cluster(
            group,
            version,
            "ClusterResourceBinding",
            "clusterresourcebindings",
        ),
        _ => ResourceType::namespaced(group, version, "ResourceBinding", "resourcebindings"),
    }
}

async fn find_binding(
    control: &Client,
    resource: &ResourceType,
    template: &Object,
) -> Result<Option<Object>, Failure> {
    let name = binding_name(&resource.kind.kind, template.name());
    let kind = binding_kind(template.namespace());
    let key = match resource.namespaced {
        true => ObjectKey::namespaced(template.namespace(), &name),
        false => ObjectKey::cluster(&name),
    };
    match control.get(&kind, &key).await {
        // Templates of equal kinds and names in two groups share a name of a binding; only one of them has it.
        Ok(binding) => Ok(facts::is_about(&binding, template).then_some(binding)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(call_failure(&error)),
    }
}

/// The templates that this one comes along with, each with the clusters it is needed in.
async fn find_dependents(control: &Client, binding: &Object) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let listed = binding
        .at(&["spec", "requiredBy"])
        .and_then(Value::as_array);
    for one in listed.into_iter().flatten() {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        let key = ObjectKey::namespaced(text("namespace"), text("name"));
        let found = control.get(&binding_kind(&key.namespace), &key).await;
        let template = match found {
            Ok(found) => found.at(&["spec", "resource"]).cloned().unwrap_or_default(),
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(call_failure(&error)),
        };
        all.push(json!({
            "binding": {"namespace": key.namespace, "name": key.name},
            "template": template,
            "clusters": one["clusters"],
        }));
    }
    Ok(all)
}

/// The works of a binding; `None` if the user may not list works.
async fn list_works(control: &Client, binding: &Object) -> Result<Option<Vec<Object>>, Failure> {
    let Some((label, id)) = facts::permanent_id(binding) else {
        return Ok(Some(Vec::new()));
    };
    let options = ListOptions {
        label_selector: format!("{label}={id}"),
        ..ListOptions::default()
    };
    works(control, &options).await
}

/// The works that have the name of those for a template without a binding; `None` if the user may not list works.
async fn list_namesakes(
    control: &Client,
    template: &Object,
) -> Result<Option<Vec<Object>>, Failure> {
    let name = work_name(template.kind(), template.name(), template.namespace());
    let options = ListOptions {
        field_selector: format!("metadata.name={name}"),
        ..ListOptions::default()
    };
    works(control, &options).await
}

async fn works(control: &Client, options: &ListOptions) -> Result<Option<Vec<Object>>, Failure> {
    let kind = ResourceType::namespaced("work.karmada.io", "v1alpha1", "Work", "works");
    match control.list_all(&kind, "", options).await {
        Ok(listed) => Ok(Some(listed.items)),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(call_failure(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_forgotten_is_asked_for() {
        for (words, expected) in [
            (
                &["deployment/"][..],
                "a name is missing behind \"deployment/\"",
            ),
            (&["a/b", "svc/"], "a name is missing behind \"svc/\""),
            (&["deployment/web"], ""),
            (&["deployment", "web"], ""),
            (&["/"], ""),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let said =
                refuse_nameless(&words).map_or_else(|said| said.to_string(), |()| String::new());
            assert_eq!(said, expected);
        }
    }
}

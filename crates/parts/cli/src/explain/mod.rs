//! Why a template is where it is, and what became of it there: everything that is known, in one place.
//!
//! What the API says is read; whose the template is and what overrides make of it is decided again, by the rules that
//! decide at the server; what the scheduler weighed comes from its own records; what members have, from members. Whatever
//! cannot be learnt is said, and takes nothing away from the rest.

mod clusters;
mod decisions;
mod facts;
mod text;

use api::names::binding_name;
use client::{Client, ListOptions};
use futures_util::stream::{self, StreamExt as _};
use http::Method;
use object::{Object, ObjectKey, ResourceType, Value};

use crate::failure::Failure;
use crate::picture::Picture;
use crate::reach::call_failure;
use crate::reading::{self, Place};
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
}

/// Explains a template.
pub async fn explain(control: &Client, question: &Question) -> Result<String, Failure> {
    let (word, name) = reading::read_one(&question.words)?;
    let discovery = control.discover().await;
    let discovery = discovery.map_err(|error| call_failure(&error))?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let connected = control.raw();
    let namespace = question.namespace.as_deref();
    let namespace = namespace.unwrap_or_else(|| connected.default_namespace());
    let template = control
        .get(resource, &reading::key(resource, namespace, &name))
        .await
        .map_err(|error| call_failure(&error))?;
    let picture = Picture::read(control).await?;
    if let Some(cluster) = &question.cluster
        && !picture.clusters.contains_key(cluster)
    {
        return Err(Failure::refused(
            format!("clusters don't exist: {cluster}"),
            "`karavel clusters` lists the clusters there are",
        ));
    }
    let binding = find_binding(control, resource, &template).await?;
    let (works, decisions) = match &binding {
        Some(binding) => (
            list_works(control, binding).await?,
            read_decisions(control, binding).await,
        ),
        None => (Vec::new(), Ok(Vec::new())),
    };
    let places = facts::members(binding.as_ref(), &works);
    let members: Vec<(String, Result<Object, String>)> = stream::iter(places)
        .map(|member| ask_member(control, member, resource, &template))
        .buffered(MEMBERS)
        .collect()
        .await;
    let told = facts::tell(&Facts {
        template: &template,
        binding: binding.as_ref(),
        works: &works,
        picture: &picture,
        decisions: &decisions,
        members: &members,
        cluster: question.cluster.as_deref(),
    });
    match question.telling {
        Telling::Text => Ok(text::write(&told)),
        Telling::Json => reading::write_document(&told, false),
    }
}

/// What a member has of the template.
async fn ask_member(
    control: &Client,
    member: String,
    resource: &ResourceType,
    template: &Object,
) -> (String, Result<Object, String>) {
    let client = Place::member(control, &member).client();
    let found = client.get(resource, &template.key()).await;
    let found = found.map_err(|error| match error.is_not_found() {
        true => "it is not there".to_owned(),
        false => call_failure(&error).to_string(),
    });
    (member, found)
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
    Ok(list["items"].as_array().cloned().unwrap_or_default())
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

async fn list_works(control: &Client, binding: &Object) -> Result<Vec<Object>, Failure> {
    let Some((label, id)) = facts::permanent_id(binding) else {
        return Ok(Vec::new());
    };
    let kind = ResourceType::namespaced("work.karmada.io", "v1alpha1", "Work", "works");
    let options = ListOptions {
        label_selector: format!("{label}={id}"),
        ..ListOptions::default()
    };
    let listed = control.list_all(&kind, "", &options).await;
    Ok(listed.map_err(|error| call_failure(&error))?.items)
}

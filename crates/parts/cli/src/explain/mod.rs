//! Why a template is where it is, and what became of it there: everything the API knows, in one place.
//!
//! What the scheduler weighed on the way to its decision is in its own records in the server's data directory, which
//! the API does not show; it is not told here.

mod facts;
mod text;

use api::names::binding_name;
use client::{Client, ListOptions};
use object::{Object, ObjectKey, ResourceType};

use crate::failure::Failure;
use crate::reach::call_failure;
use crate::reading;
use facts::Facts;

/// How an explanation is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// For people, in 80 columns.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Explains the template that `TYPE/NAME` names. `namespace` is what the kubeconfig names if absent.
pub async fn explain(
    control: &Client,
    words: &[String],
    namespace: Option<&str>,
    telling: Telling,
) -> Result<String, Failure> {
    let (word, name) = reading::read_one(words)?;
    let discovery = control.discover().await;
    let discovery = discovery.map_err(|error| call_failure(&error))?;
    let resource = &reading::resolve(&discovery, &word)?.resource;
    let connected = control.raw();
    let namespace = namespace.unwrap_or_else(|| connected.default_namespace());
    let template = control
        .get(resource, &reading::key(resource, namespace, &name))
        .await
        .map_err(|error| call_failure(&error))?;
    let binding = find_binding(control, resource, &template).await?;
    let works = match &binding {
        Some(binding) => list_works(control, binding).await?,
        None => Vec::new(),
    };
    let told = facts::tell(&Facts {
        template: &template,
        binding: binding.as_ref(),
        works: &works,
    });
    match telling {
        Telling::Text => Ok(text::write(&told)),
        Telling::Json => serde_json::to_string_pretty(&told)
            .map(|text| text + "\n")
            .map_err(|error| {
                let what = format!("the explanation cannot be written: {error}");
                Failure::failed(what, "leave --output out")
            }),
    }
}

async fn find_binding(
    control: &Client,
    resource: &ResourceType,
    template: &Object,
) -> Result<Option<Object>, Failure> {
    let name = binding_name(&resource.kind.kind, template.name());
    let (group, version) = ("work.karmada.io", "v1alpha2");
    let found = if resource.namespaced {
        let kind = ResourceType::namespaced(group, version, "ResourceBinding", "resourcebindings");
        let key = ObjectKey::namespaced(template.namespace(), &name);
        control.get(&kind, &key).await
    } else {
        let kind = ResourceType::cluster(
            group,
            version,
            "ClusterResourceBinding",
            "clusterresourcebindings",
        );
        control.get(&kind, &ObjectKey::cluster(&name)).await
    };
    match found {
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

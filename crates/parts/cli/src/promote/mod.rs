//! Taking an object that a member has into the control plane. The member's copy goes on as it is, and gets the
//! labels and annotations by which the control plane knows what is its own.

mod template;

use client::{CallError, Client, DeleteOptions, WriteOptions};
use intent::Propagation;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType};

use crate::failure::Failure;
use crate::nearest::near_name;
use crate::picture::{Picture, Presumption};
use crate::reach::call_failure;
use crate::reading::{self, Output, Place, Scope, Sink};
use crate::writing::{DryRun, MANAGER, Strictness, name_of, policy_for};
use template::strip;

/// What is to be promoted.
#[derive(Clone, Debug, Default)]
pub struct PromoteQuery {
    /// `TYPE NAME`, or `TYPE/NAME`.
    pub words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// The member.
    pub cluster: String,
    /// What it refers to comes along.
    pub dependencies: bool,
    /// A policy that sends it where it is.
    pub with_policy: bool,
    /// What the policy is to be called; a computed name if absent.
    pub policy_name: Option<String>,
    /// Only show what would be created.
    pub output: Option<Output>,
    /// Only check; the server is asked whether it would take what would be created, either way.
    pub dry_run: DryRun,
}

/// Promotes an object. `member` is a client for the member if it is not to be reached through the control plane.
pub async fn promote(
    control: &Client,
    member: Option<&Client>,
    query: &PromoteQuery,
    print: Sink<'_>,
) -> Result<(), Failure> {
    let (word, name) = reading::read_one(&query.words)?;
    let source = match member {
        Some(member) => member.clone(),
        None => {
            let chosen = std::slice::from_ref(&query.cluster);
            let places = reading::places(control, Scope::Members, chosen).await?;
            let place = places.into_iter().next();
            place
                .unwrap_or_else(|| Place::member(control, &query.cluster))
                .client()
        }
    };
    let namespace = reading::meant_namespace(control, query.namespace.as_deref(), false);
    let discovery = source
        .discover()
        .await
        .map_err(|error| of_member(query, &error))?;
    let resource = reading::resolve(&discovery, &word)?.resource.clone();
    let key = reading::key(&resource, &namespace, &name);
    let found = match source.get(&resource, &key).await {
        Ok(found) => found,
        Err(error) if error.is_not_found() => {
            let near = near_name(&source, &resource, &key).await;
            return Err(absent(&word, &name, &query.cluster, near.as_deref()));
        }
        Err(error) => return Err(of_member(query, &error)),
    };
    let template = strip(found.clone());
    let clusters = [query.cluster.clone()];
    let strictness = Strictness::Adopting {
        with_dependencies: query.dependencies,
    };
    let (policy_kind, policy) = policy_for(
        &resource,
        &template,
        query.policy_name.as_deref(),
        &clusters,
        strictness,
    );
    if let Some(output) = &query.output {
        let mut all = vec![(&resource, &template)];
        all.extend(query.with_policy.then_some((&policy_kind, &policy)));
        return show(&all, output, print);
    }
    let needed = match query.dependencies {
        true => dependencies(control, &source, &discovery, &found).await?,
        false => Vec::new(),
    };
    check(
        control,
        &resource,
        &template,
        query,
        (&policy_kind, &policy),
        print,
    )
    .await?;
    if exists(control, &resource, &template).await? {
        return Ok(());
    }
    if query.dry_run != DryRun::No {
        let mut all = needed;
        all.push((resource, template));
        all.extend(query.with_policy.then_some((policy_kind, policy)));
        for (kind, object) in &all {
            if exists(control, kind, object).await? {
                continue;
            }
            try_create(control, kind, object).await?;
            let (name, suffix) = (name_of(kind, object.name()), query.dry_run.suffix());
            print(&format!("{name} created{suffix}\n"))?;
        }
        return Ok(());
    }
    let mut made: Vec<(ResourceType, Object)> = Vec::new();
    for (kind, object) in needed {
        if exists(control, &kind, &object).await? {
            continue;
        }
        match control
            .create(&kind, &object, &WriteOptions::by(MANAGER))
            .await
        {
            Ok(object) => made.push((kind, object)),
            Err(error) => {
                take_back(control, &made).await;
                return Err(call_failure(&error));
            }
        }
    }
    // The policy first: a template that is there without it may be claimed by another, and be sent elsewhere.
    let mut wanted = Vec::new();
    wanted.extend(query.with_policy.then_some((&policy_kind, &policy)));
    wanted.push((&resource, &template));
    for (kind, object) in wanted {
        match control
            .create(kind, object, &WriteOptions::by(MANAGER))
            .await
        {
            Ok(object) => made.push((kind.clone(), object)),
            Err(error) => {
                take_back(control, &made).await;
                return Err(call_failure(&error));
            }
        }
    }
    print(&format!(
        "ResourceTemplate ({key}) is created successfully\n"
    ))?;
    if query.with_policy {
        print(&format!(
            "{} ({}) is created successfully\n",
            policy_kind.kind.kind,
            policy.key()
        ))?;
    }
    print(&format!(
        "Resource \"{}\"({key}) is promoted successfully\n",
        gvr(&resource)
    ))
}

/// Upstream: in these words.
fn absent(word: &str, name: &str, cluster: &str, near: Option<&str>) -> Failure {
    let meant = near.map(|near| format!("did you mean {near:?}? "));
    Failure::refused(
        format!("the {word} or {name} don't exist in cluster({cluster})"),
        format!(
            "{}`karavel get {word} -s members -C {cluster}` shows what it has",
            meant.unwrap_or_default()
        ),
    )
}

fn gvr(resource: &ResourceType) -> String {
    let kind = &resource.kind;
    format!(
        "{}/{}, Resource={}",
        kind.group, kind.version, resource.plural
    )
}

fn of_member(query: &PromoteQuery, error: &CallError) -> Failure {
    call_failure(error).in_cluster(&query.cluster)
}

/// Shows what would be created instead of creating it.
fn show(all: &[(&ResourceType, &Object)], output: &Output, print: Sink<'_>) -> Result<(), Failure> {
    for (resource, object) in all {
        let value = (*object).clone().into_value();
        // In YAML each by itself, as whoever reads them one after the other expects.
        let shown = match output {
            Output::Name => format!("{}\n", name_of(resource, object.name())),
            Output::Table | Output::Wide | Output::Yaml => {
                format!("---\n{}", reading::write_document(&value, true)?)
            }
            // A document of JSON is one value; and what is picked is picked from all of them.
            picked => {
                let values = all.iter().map(|(_, object)| (*object).clone().into_value());
                return print(&reading::show_objects(values.collect(), picked)?);
            }
        };
        print(&shown)?;
    }
    Ok(())
}

/// Says what stands in the way before anything is written.
async fn check(
    control: &Client,
    resource: &ResourceType,
    template: &Object,
    query: &PromoteQuery,
    (policy_kind, policy): (&ResourceType, &Object),
    print: Sink<'_>,
) -> Result<(), Failure> {
    if exists(control, resource, template).await? {
        return print(&format!(
            "Resource \"{}\"({}) already exist in karmada control plane, you can edit PropagationPolicy and OverridePolicy to propagate it\n",
            gvr(resource),
            template.key()
        ));
    }
    // A policy of the name would be found only after the template was created, and the template would stay alone.
    if query.with_policy && exists(control, policy_kind, policy).await? {
        return Err(Failure::refused(
            format!(
                "the {} {} already exist",
                policy_kind.kind.kind,
                policy.key()
            ),
            "choose another name with --policy-name, or --auto-create-policy=false",
        ));
    }
    if query.with_policy {
        check_rivals(control, template, policy).await?;
    }
    Ok(())
}

/// Another policy that selects the template may go before the one that is made for it, and send it elsewhere or take it
/// away from where it is.
async fn check_rivals(control: &Client, template: &Object, policy: &Object) -> Result<(), Failure> {
    let mut picture = picture(control).await?;
    picture.take(policy);
    let decision = picture.claim(template, None);
    let Some(chosen) = decision.claim.chosen else {
        return Ok(());
    };
    let id = &chosen.policy.id;
    if (id.name.as_str(), id.namespace.as_str()) == (policy.name(), policy.namespace()) {
        return Ok(());
    }
    let own = decision.claim.considered.iter();
    let why = own
        .filter(|(found, _)| found.policy.id.name == policy.name())
        .map(|(_, verdict)| format!(" ({verdict})"))
        .next();
    Err(Failure::refused(
        format!(
            "{id} selects it too, and would have it instead of a policy made for it{}",
            why.unwrap_or_default()
        ),
        "--auto-create-policy=false leaves it to that policy, which may send it elsewhere; `karavel simulate -f` shows where",
    ))
}

async fn picture(control: &Client) -> Result<Picture, Failure> {
    let discovery = control.discover().await;
    let discovery = discovery.map_err(|error| call_failure(&error))?;
    Picture::read(control, &discovery, &Presumption::default()).await
}

async fn exists(control: &Client, kind: &ResourceType, object: &Object) -> Result<bool, Failure> {
    match control.get_metadata(kind, &object.key()).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(call_failure(&error)),
    }
}

/// Lets the server say whether it would take an object.
async fn try_create(control: &Client, kind: &ResourceType, object: &Object) -> Result<(), Failure> {
    let options = WriteOptions {
        dry_run: true,
        ..WriteOptions::by(MANAGER)
    };
    match control.create(kind, object, &options).await {
        Err(error) if !error.is_already_exists() => Err(call_failure(&error)),
        _ => Ok(()),
    }
}

async fn take_back(control: &Client, made: &[(ResourceType, Object)]) {
    for (kind, object) in made {
        let options = DeleteOptions {
            uid: Some(object.uid().to_owned()),
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        // What cannot be taken back is named by nobody: the failure that led here is what counts.
        let _ = control.delete(kind, &object.key(), &options).await;
    }
}

/// What the object refers to, as the member has it.
async fn dependencies(
    control: &Client,
    source: &Client,
    discovery: &client::Discovery,
    object: &Object,
) -> Result<Vec<(ResourceType, Object)>, Failure> {
    let rules = picture(control).await?.interpreter;
    let references = match rules.dependencies(object) {
        Ok(references) => references,
        Err(interpret::InterpretError::NoRule { .. }) => Vec::new(),
        Err(error) => {
            return Err(Failure::failed(
                format!(
                    "what it refers to cannot be found out: {}",
                    telemetry::chain(&error)
                ),
                "leave --dependencies out",
            ));
        }
    };
    let mut all = Vec::new();
    for reference in references {
        let kind = GroupVersionKind::from_api_version(&reference.api_version, &reference.kind);
        let Some(found) = kind.ok().and_then(|kind| discovery.find(&kind)) else {
            continue;
        };
        if reference.name.is_empty() {
            continue;
        }
        let key = ObjectKey::namespaced(&reference.namespace, &reference.name);
        match source.get(&found.resource, &key).await {
            Ok(object) => all.push((found.resource.clone(), strip(object))),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(call_failure(&error)),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use object::Value;
    use serde_json::json;

    use super::*;

    #[test]
    fn wide_is_shown_as_a_table_is() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let object = Object::from_value(object).unwrap();
        let resource = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let shown = |output: &Output| {
            let mut text = String::new();
            let mut print = |part: &str| {
                text.push_str(part);
                Ok(())
            };
            show(&[(&resource, &object)], output, &mut print).unwrap();
            text
        };
        let yaml = shown(&Output::Yaml);
        assert!(yaml.starts_with("---\napiVersion: v1\n"), "{yaml}");
        assert_eq!(shown(&Output::Table), yaml);
        assert_eq!(shown(&Output::Wide), yaml);
        let json: Value = serde_json::from_str(&shown(&Output::Json)).unwrap();
        assert_eq!(json["kind"], "ConfigMap");
        assert_eq!(shown(&Output::Name), "configmap/a\n");
    }

    #[test]
    fn what_a_member_lacks_is_answered_with_what_was_meant() {
        let hint = |near| absent("deploy", "odl", "m1", near).hint().to_owned();
        let shows = "`karavel get deploy -s members -C m1` shows what it has";
        assert_eq!(hint(None), shows);
        assert_eq!(hint(Some("old")), format!("did you mean \"old\"? {shows}"));
    }

    #[test]
    fn several_objects_are_one_document_of_json() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let object = Object::from_value(object).unwrap();
        let resource = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
        let mut text = String::new();
        let mut print = |part: &str| {
            text.push_str(part);
            Ok(())
        };
        let all = [(&resource, &object), (&resource, &object)];
        show(&all, &Output::Json, &mut print).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&list["kind"], &list["apiVersion"]),
            (&json!("List"), &json!("v1"))
        );
        assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
    }
}

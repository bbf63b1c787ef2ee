//! An object for people: what it is, what it says, how it is, and what happened to it lately.
//!
//! Flow: objects are found; for kinds with a page of their own ([`summary`]) what stands [`beside`] them is read, and the
//! page is written from these [`Facts`] alone, part by part, on a [`sheet`]; all other kinds have every field of theirs
//! written out ([`generic`]).

mod beside;
mod generic;
mod kinds;
mod parts;
mod sheet;
mod summary;
#[cfg(test)]
mod tests;
mod values;

use client::{Client, ListOptions};
use object::time::Time;
use object::{Object, ResourceType, Value};

use crate::events;
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reading::{self, Answer, Place, Scope};
use beside::Beside;

/// What is to be described.
#[derive(Clone, Debug, Default)]
pub struct DescribeQuery {
    /// `TYPE [NAME_PREFIX...]`, or `TYPE/NAME...`.
    pub words: Vec<String>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// All namespaces.
    pub all_namespaces: bool,
    /// Only objects with these labels; empty for all.
    pub selector: String,
    /// Where to look; where the cluster is if absent.
    pub scope: Option<Scope>,
    /// The member.
    pub cluster: Option<String>,
    /// What happened lately too.
    pub show_events: bool,
}

/// Everything a page may look at, gathered beforehand.
struct Facts<'o> {
    object: &'o Object,
    /// The member it is in, if it is in one.
    cluster: Option<&'o str>,
    beside: Beside,
    /// What happened lately, if that was asked for.
    events: Option<Result<Vec<Object>, Failure>>,
    now: Time,
}

impl Facts<'_> {
    /// A field of the object.
    fn at(&self, name: &str) -> &Value {
        values::field(self.object, name)
    }
}

/// Describes objects.
pub async fn describe(
    control: &Client,
    query: &DescribeQuery,
    now: Time,
) -> Result<Answer, Failure> {
    let wanted = reading::read_words(&query.words)?;
    let is_named = wanted.iter().any(|wanted| !wanted.names.is_empty());
    reading::refuse_names(is_named, &[&query.selector])?;
    let place = reading::place(control, query.scope, query.cluster.as_deref()).await?;
    let asked = query.namespace.as_deref();
    let namespace = reading::meant_namespace(control, asked, query.all_namespaces);
    let client = place.client();
    let failed = |error: &client::CallError| named(&place, place.failure(error));
    let discovery = client.discover().await.map_err(|error| failed(&error))?;
    let mut pages = Vec::new();
    let mut failures = Vec::new();
    let mut is_namespaced = false;
    for wanted in &wanted {
        let resource = &reading::resolve(&discovery, &wanted.word)?.resource;
        is_namespaced |= resource.namespaced;
        let (objects, absent) =
            find(&place, resource, &namespace, &wanted.names, &query.selector).await?;
        failures.extend(
            absent
                .into_iter()
                .map(|failure| (place.name.clone(), failure)),
        );
        for object in objects {
            pages.push(page(&place, &object, query.show_events, now).await);
        }
    }
    let failure = reading::blame(failures, !place.is_member());
    let mut notes = Vec::new();
    if pages.is_empty() && failure.is_none() {
        notes.push(reading::nothing_found(&namespace, is_namespaced));
        if is_namespaced {
            let here = std::slice::from_ref(&place);
            notes.extend(reading::no_such_space(here, &namespace).await);
        }
    }
    Ok(Answer {
        text: pages.join("\n\n"),
        notes,
        failure,
    })
}

/// Describes what several questions are about, one after the other, and tells of all that is not there.
pub async fn describe_all(
    control: &Client,
    queries: &[DescribeQuery],
    now: Time,
) -> Result<Answer, Failure> {
    let (mut whole, mut failures) = (Answer::default(), Vec::new());
    for query in queries {
        let part = describe(control, query, now).await?;
        if !whole.text.is_empty() && !part.text.is_empty() {
            whole.text.push_str("\n\n");
        }
        whole.text.push_str(&part.text);
        whole.notes.extend(part.notes);
        failures.extend(part.failure.map(|failure| (String::new(), failure)));
    }
    // Each says where it happened already.
    whole.failure = reading::blame(failures, true);
    Ok(whole)
}

fn named(place: &Place, failure: Failure) -> Failure {
    match place.is_member() {
        true => failure.in_cluster(&place.name),
        false => failure,
    }
}

async fn page(place: &Place, object: &Object, show_events: bool, now: Time) -> String {
    let summary = summary::of(object);
    let needs = summary.map_or(&[] as &[_], |summary| summary.needs);
    let has_events = summary.is_none_or(|summary| summary.has_events);
    let events = match show_events && has_events {
        true => Some(events::about(place, object).await),
        false => None,
    };
    let facts = Facts {
        object,
        cluster: place.is_member().then_some(place.name.as_str()),
        beside: beside::read(place, object, needs).await,
        events,
        now,
    };
    match summary {
        Some(summary) => summary.page(&facts),
        None => generic::page(&facts),
    }
}

/// The objects named; a name that nothing has is the beginning of names. All objects if none is named.
async fn find(
    place: &Place,
    resource: &ResourceType,
    namespace: &str,
    names: &[String],
    selector: &str,
) -> Result<(Vec<Object>, Vec<Failure>), Failure> {
    let options = ListOptions {
        label_selector: selector.to_owned(),
        ..ListOptions::default()
    };
    let client = place.client();
    let failed = |error: &client::CallError| named(place, place.failure(error));
    let list = || async {
        let listed = client.list_all(resource, namespace, &options).await;
        Ok(listed.map_err(|error| failed(&error))?.items)
    };
    if names.is_empty() {
        return Ok((list().await?, Vec::new()));
    }
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    for name in names {
        let key = reading::key(resource, namespace, name);
        let error = match client.get(resource, &key).await {
            Ok(object) => {
                found.push(object);
                continue;
            }
            Err(error) => error,
        };
        if !error.is_not_found() {
            return Err(failed(&error));
        }
        let mut alike = list().await?;
        alike.retain(|object: &Object| object.name().starts_with(name.as_str()));
        if alike.is_empty() {
            absent.push(missing(&client, resource, &key, &error).await);
        }
        found.extend(alike);
    }
    Ok((found, absent))
}

//! Asking one place, and putting together what all said, kind by kind.

use client::{CallError, Client, Discovered, ListOptions};
use http::Method;
use object::{Object, ObjectKey, ResourceType, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::kinds;
use super::place::Place;
use super::tables::ServerTable;
use super::words::Wanted;
use crate::failure::Failure;
use crate::nearest::{absent_space, missing};
use crate::writing;

/// How many rows a page of a long table has. Upstream: the same.
pub(super) const PAGE: u32 = 500;

/// What every place is asked.
pub(super) struct Asked<'a> {
    pub(super) wanted: &'a [Wanted],
    /// Empty for all.
    pub(super) namespace: String,
    pub(super) selector: &'a str,
    pub(super) fields: &'a str,
    /// Rows come with whole objects, to be sorted by.
    pub(super) with_objects: bool,
    /// Tables rather than objects.
    pub(super) tables: bool,
    pub(super) ignore_not_found: bool,
    /// A part of the objects, such as status; empty for the objects themselves.
    pub(super) part: &'a str,
    /// A name that nobody has is answered with the one that was probably meant.
    pub(super) suggests: bool,
}

impl Asked<'_> {
    /// The namespace in which something is looked for.
    fn namespace<'s>(&'s self, wanted: &'s Wanted) -> &'s str {
        wanted.namespace.as_deref().unwrap_or(&self.namespace)
    }

    /// What may be misspelled if it is not there. Where a part is asked for, that may be what is not there.
    fn suspect(&self, key: ObjectKey) -> Option<ObjectKey> {
        self.part.is_empty().then_some(key)
    }
}

/// What one place said.
pub(super) struct Part {
    place: Place,
    /// For each kind that was asked for, as far as it came.
    found: Vec<Option<(ResourceType, Found)>>,
    failures: Vec<Failure>,
}

/// What was found of one kind in one place.
pub(super) enum Found {
    Table(ServerTable),
    Objects(Vec<Object>),
}

/// What was found of one kind.
#[derive(Default)]
pub(super) struct Section {
    resource: Option<ResourceType>,
    pub(super) parts: Vec<(Place, Found)>,
}

/// Asks a place for everything that is wanted.
pub(super) async fn ask(place: &Place, asked: &Asked<'_>) -> Part {
    let mut part = Part {
        place: place.clone(),
        found: Vec::new(),
        failures: Vec::new(),
    };
    let client = place.client();
    let discovery = match client.discover().await {
        Ok(discovery) => discovery,
        Err(error) => {
            part.failures.push(place.failure(&error));
            return part;
        }
    };
    let tables = place.tables();
    for wanted in asked.wanted {
        let Discovered { resource, .. } = match kinds::resolve(&discovery, &wanted.word) {
            Ok(found) => found,
            Err(failure) => {
                part.failures.push(failure);
                part.found.push(None);
                continue;
            }
        };
        let mut failures = Vec::new();
        let found = if asked.tables {
            Found::Table(read_table(&tables, resource, wanted, asked, &mut failures).await)
        } else {
            Found::Objects(read_objects(&client, resource, wanted, asked, &mut failures).await)
        };
        part.found.push(Some((resource.clone(), found)));
        for (key, error) in failures {
            if asked.ignore_not_found && error.is_not_found() {
                continue;
            }
            part.failures
                .push(match key.filter(|_| error.is_not_found()) {
                    Some(key) if asked.suggests => missing(&client, resource, &key, &error).await,
                    Some(key) => {
                        let space = absent_space(&client, resource, &key).await;
                        place.failure(space.as_ref().unwrap_or(&error))
                    }
                    None => place.failure(&error),
                });
        }
    }
    part
}

/// What could not be read: the object, if it was asked for by name, and why.
type Unread = (Option<ObjectKey>, CallError);

async fn read_table(
    client: &Client,
    resource: &ResourceType,
    wanted: &Wanted,
    asked: &Asked<'_>,
    failures: &mut Vec<Unread>,
) -> ServerTable {
    let mut table = ServerTable::default();
    for name in &wanted.names {
        let key = key(resource, asked.namespace(wanted), name);
        let mut path = resource.object_path(&key);
        if !asked.part.is_empty() {
            let part = utf8_percent_encode(asked.part, NON_ALPHANUMERIC);
            path.push_str(&format!("/{part}"));
        }
        if asked.with_objects {
            path.push_str("?includeObject=Object");
        }
        match read(client, &path).await {
            Ok(answer) => table.append(ServerTable::read(&answer)),
            Err(error) => failures.push((asked.suspect(key), error)),
        }
    }
    if !wanted.names.is_empty() {
        return table;
    }
    let mut token = String::new();
    loop {
        let path = resource.path(asked.namespace(wanted));
        match read(client, &page(&path, asked, &token)).await {
            Ok(answer) => {
                table.append(ServerTable::read(&answer));
                token = answer["metadata"]["continue"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
            }
            Err(error) => {
                failures.push((None, error));
                return table;
            }
        }
        if token.is_empty() {
            return table;
        }
    }
}

async fn read_objects(
    client: &Client,
    resource: &ResourceType,
    wanted: &Wanted,
    asked: &Asked<'_>,
    failures: &mut Vec<Unread>,
) -> Vec<Object> {
    if wanted.names.is_empty() {
        let options = ListOptions {
            label_selector: asked.selector.to_owned(),
            field_selector: asked.fields.to_owned(),
            ..ListOptions::default()
        };
        let namespace = asked.namespace(wanted);
        let listed = client.list_all(resource, namespace, &options).await;
        return listed.map_or_else(
            |error| {
                failures.push((None, error));
                Vec::new()
            },
            |list| list.items,
        );
    }
    let mut objects = Vec::new();
    for name in &wanted.names {
        let key = key(resource, asked.namespace(wanted), name);
        let part = writing::part(Some(asked.part));
        match client.get_part(resource, &key, &part).await {
            Ok(object) => objects.push(object),
            Err(error) => failures.push((asked.suspect(key), error)),
        }
    }
    objects
}

pub(super) async fn read(client: &Client, path: &str) -> Result<Value, CallError> {
    let bytes = client
        .request(Method::GET, path, "application/json", Vec::new().into())
        .await?;
    serde_json::from_slice(&bytes).map_err(|source| CallError::Unreadable {
        request: format!("GET {}", path.split('?').next().unwrap_or_default()),
        source: source.into(),
    })
}

pub(crate) fn key(resource: &ResourceType, namespace: &str, name: &str) -> ObjectKey {
    match resource.namespaced {
        true => ObjectKey::namespaced(namespace, name),
        false => ObjectKey::cluster(name),
    }
}

/// A page of a collection.
fn page(path: &str, asked: &Asked<'_>, token: &str) -> String {
    let mut page = format!("{path}?limit={PAGE}");
    let include = if asked.with_objects { "Object" } else { "" };
    for (name, value) in [
        ("labelSelector", asked.selector),
        ("fieldSelector", asked.fields),
        ("includeObject", include),
        ("continue", token),
    ] {
        if !value.is_empty() {
            let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
            page.push_str(&format!("&{name}={value}"));
        }
    }
    page
}

/// What all places said, kind by kind, and what went wrong, place by place.
pub(super) fn gather(kinds: usize, parts: Vec<Part>) -> (Vec<Section>, Vec<(String, Failure)>) {
    let mut sections: Vec<Section> = std::iter::repeat_with(Section::default)
        .take(kinds)
        .collect();
    let mut failures = Vec::new();
    for part in parts {
        let named = |failure| (part.place.name.clone(), failure);
        failures.extend(part.failures.into_iter().map(named));
        for (section, found) in sections.iter_mut().zip(part.found) {
            let Some((resource, found)) = found else {
                continue;
            };
            section.resource.get_or_insert(resource);
            section.parts.push((part.place.clone(), found));
        }
    }
    (sections, failures)
}

/// Those of one kind together, where its first one stands: a table has one headline for each kind.
pub(super) fn join(sections: Vec<Section>) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    for section in sections {
        let mut known = all.iter_mut();
        match known.find(|known| known.resource == section.resource) {
            Some(known) => known.parts.extend(section.parts),
            None => all.push(section),
        }
    }
    all
}

/// Remembers which kind a section is about.
pub(super) fn gather_kind(section: &mut Section, resource: ResourceType) {
    section.resource.get_or_insert(resource);
}

impl Section {
    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|(_, found)| match found {
            Found::Table(table) => table.rows.is_empty(),
            Found::Objects(objects) => objects.is_empty(),
        })
    }

    /// Whether the kind lives in namespaces.
    pub(super) fn is_namespaced(&self) -> bool {
        let resource = self.resource.as_ref();
        resource.is_some_and(|resource| resource.namespaced)
    }

    /// Whether the kind is that of pods.
    pub(super) fn is_pods(&self) -> bool {
        let resource = self.resource.as_ref();
        resource.is_some_and(|resource| resource.kind.group.is_empty() && resource.plural == "pods")
    }

    /// Whether the kind is one that members make for themselves: there is none in a control plane.
    pub(super) fn is_of_members(&self) -> bool {
        let Some(resource) = &self.resource else {
            return false;
        };
        let (group, plural) = (resource.kind.group.as_str(), resource.plural.as_str());
        matches!(
            (group, plural),
            ("", "pods" | "nodes") | ("apps", "replicasets")
        )
    }

    /// The kind as it stands before a slash and a name: `deployment.apps`.
    pub(super) fn kind_word(&self) -> String {
        let Some(resource) = &self.resource else {
            return String::new();
        };
        let kind = resource.kind.kind.to_lowercase();
        match resource.kind.group.as_str() {
            "" => kind,
            group => format!("{kind}.{group}"),
        }
    }

    /// The tables, with the places they come from.
    pub(super) fn tables(self) -> Vec<(String, ServerTable)> {
        let table = |(place, found): (Place, Found)| match found {
            Found::Table(table) => Some((place.name, table)),
            Found::Objects(_) => None,
        };
        self.parts.into_iter().filter_map(table).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_carry_the_selectors_and_where_they_begin() {
        for (selector, fields, token, expected) in [
            ("", "", "", "/api/v1/pods?limit=500"),
            (
                "a=b,c",
                "",
                "",
                "/api/v1/pods?limit=500&labelSelector=a%3Db%2Cc",
            ),
            (
                "",
                "x=y",
                "x&y",
                "/api/v1/pods?limit=500&fieldSelector=x%3Dy&continue=x%26y",
            ),
        ] {
            let asked = Asked {
                wanted: &[],
                namespace: String::new(),
                selector,
                fields,
                with_objects: false,
                tables: true,
                ignore_not_found: false,
                suggests: false,
                part: "",
            };
            assert_eq!(page("/api/v1/pods", &asked, token), expected);
        }
    }
}

//! Objects go with their owners; namespaces and definitions take their content along.
//!
//! Reads:  the heads of all objects of all kinds, custom ones too.
//! Writes: deletions of what has lost its owners; owner references that lead nowhere; the finalizers of deletions in the
//!         foreground and of orphaning, of namespaces that are empty and of definitions without objects.
//! Keeps:  nothing outlives its last owner; nothing is deleted while one of its owners is there. The cache is complete
//!         and current here, because every write is in it before it is answered.

mod follow;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kinds::DEFINITIONS;
use object::Value;
use object::time::Time;
use serve::cache::{self, Collection, Place};
use serve::record::Record;
use serve::resource::Table;
use serve::server::Server;

use crate::engine::action::Action;
use crate::tables;
use plan::{Facts, Owner};

/// Where objects of a collection are written.
#[derive(Clone)]
struct Route {
    group: Arc<str>,
    kind: Arc<str>,
    root: Arc<str>,
    plural: Arc<str>,
    namespaced: bool,
}

struct Followed {
    collection: Arc<Collection>,
    place: Place,
    route: Route,
}

/// An object by its collection and key.
type Spot = (Arc<str>, Arc<str>);

/// Follows the heads of everything and says what must go.
pub(crate) struct Collector {
    followed: BTreeMap<Arc<str>, Followed>,
    /// What refers to an owner, by the owner's uid.
    dependents: BTreeMap<Box<str>, BTreeSet<Spot>>,
    due: BTreeSet<Spot>,
    namespaces: BTreeSet<Arc<str>>,
    /// Definitions that may be on their way out.
    definitions: BTreeSet<Arc<str>>,
    table: Option<Arc<Table>>,
}

impl Collector {
    pub(crate) fn new() -> Self {
        Self {
            followed: BTreeMap::new(),
            dependents: BTreeMap::new(),
            due: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            definitions: BTreeSet::new(),
            table: None,
        }
    }

    /// Takes in what changed and says what is to be done about it.
    pub(crate) fn look(&mut self, server: &Server) -> Vec<Action> {
        let table = server.table();
        let is_known = self
            .table
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &table));
        if !is_known {
            self.follow(&table, server.cache());
            self.table = Some(table);
        }
        self.pull();
        let mut actions = Vec::new();
        for (collection, key) in std::mem::take(&mut self.due) {
            actions.extend(self.decide(&collection, &key));
        }
        for namespace in std::mem::take(&mut self.namespaces) {
            actions.extend(self.empty(&namespace, server.now()));
        }
        for definition in std::mem::take(&mut self.definitions) {
            actions.extend(self.retire(&definition, server));
        }
        actions
    }

    /// The object an owner reference means, if it is there.
    fn find_owner(&self, reference: &Value, namespace: &str) -> Option<(Spot, Arc<Record>)> {
        let text = |name: &str| reference.get(name).and_then(Value::as_str);
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let (name, followed) = self.followed.iter().find(|(_, followed)| {
            *followed.route.kind == *kind && *followed.route.group == *group
        })?;
        let namespace = if followed.route.namespaced {
            namespace
        } else {
            ""
        };
        let key = cache::object_key(namespace, text("name")?);
        let record = followed.collection.find(&key)?;
        let is_same = text("uid") == Some(record.head().uid);
        is_same.then(|| ((Arc::clone(name), key.into()), record))
    }

    /// Whether a kind is followed: an owner of an unknown kind is taken to be there.
    fn knows(&self, reference: &Value) -> bool {
        let text = |name: &str| {
            reference
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let api_version = text("apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.followed.values().any(|followed| {
            *followed.route.kind == *text("kind") && *followed.route.group == *group
        })
    }

    fn decide(&self, collection: &Arc<str>, key: &Arc<str>) -> Vec<Action> {
        let Some(followed) = self.followed.get(collection) else {
            return Vec::new();
        };
        let Some(record) = followed.collection.find(key) else {
            return Vec::new();
        };
        let object = record.value();
        let references = object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let owners: Vec<Owner> = references
            .iter()
            .map(
                |reference| match self.find_owner(reference, record.head().namespace) {
                    Some((_, owner)) if !owner.head().terminating => Owner::Present,
                    Some((_, owner)) => Owner::of(&owner.value()),
                    None if self.knows(reference) => Owner::Absent,
                    None => Owner::Present,
                },
            )
            .collect();
        // Most objects stay, whoever depends on them.
        if !record.head().terminating && owners.iter().all(|owner| *owner == Owner::Present) {
            return Vec::new();
        }
        let dependents = self.dependents.get(record.head().uid);
        let dependents: Vec<(String, Value)> = dependents
            .into_iter()
            .flatten()
            .filter_map(|(name, key)| {
                let followed = self.followed.get(name)?;
                let dependent = followed.collection.find(key)?;
                Some((path_of(&followed.route, key), dependent.value()))
            })
            .collect();
        plan::decide(&Facts {
            path: path_of(&followed.route, key),
            object: &object,
            references: &references,
            owners: &owners,
            dependents: &dependents,
        })
    }

    /// A definition on its way out: its objects are asked to go; when none is left it may go itself.
    fn retire(&self, name: &Arc<str>, server: &Server) -> Vec<Action> {
        let definitions = self.followed.get(DEFINITIONS);
        let found = definitions.and_then(|followed| followed.collection.find(name));
        let Some(record) = found.filter(|record| record.head().terminating) else {
            return Vec::new();
        };
        let definition = record.value();
        let text = |path: &str| definition.pointer(path).and_then(Value::as_str);
        let collection = text("/spec/names/plural")
            .zip(text("/spec/group"))
            // What is there without the definition does not go with it.
            .filter(|(plural, group)| !tables::is_built_in(group, plural))
            .and_then(|(plural, group)| self.followed.get(&*cache::name_of(group, plural)));
        let objects: Vec<(String, Arc<Record>)> = collection
            .map(|followed| {
                let snapshot = followed.collection.snapshot();
                let objects = snapshot.objects.values();
                objects
                    .map(|record| (path_of(&followed.route, record.key()), Arc::clone(record)))
                    .collect()
            })
            .unwrap_or_default();
        plan::retire(&definition, &objects, server.now())
    }

    /// A namespace on its way out: everything in it is asked to go; when nothing is left it may go itself.
    fn empty(&self, namespace: &Arc<str>, now: Time) -> Vec<Action> {
        let Some(record) = self
            .followed
            .get("core/namespaces")
            .and_then(|followed| followed.collection.find(namespace))
        else {
            return Vec::new();
        };
        if !record.head().terminating {
            return Vec::new();
        }
        let mut content = Vec::new();
        for followed in self
            .followed
            .values()
            .filter(|followed| followed.route.namespaced)
        {
            let snapshot = followed.collection.snapshot();
            for record in snapshot.objects.in_namespace(namespace) {
                content.push((path_of(&followed.route, record.key()), Arc::clone(record)));
            }
        }
        plan::empty(&record.value(), &content, now)
    }
}

fn path_of(route: &Route, key: &str) -> String {
    let (namespace, name) = key.rsplit_once('/').unwrap_or(("", key));
    if namespace.is_empty() {
        return format!("{}/{}/{name}", route.root, route.plural);
    }
    format!(
        "{}/namespaces/{namespace}/{}/{name}",
        route.root, route.plural
    )
}

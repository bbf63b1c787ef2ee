//! Objects go with their owners; namespaces and definitions take their content along.
//!
//! Reads:  the heads of all objects of all kinds, custom ones too.
//! Writes: deletions of what has lost its owners; owner references that lead nowhere; the finalizers of deletions in the
//!         foreground and of orphaning, of namespaces that are empty and of definitions without objects.
//! Keeps:  nothing outlives its last owner; nothing is deleted while one of its owners is there. The cache is complete
//!         and current here, because every write is in it before it is answered.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use object::Value;
use serve::cache::{self, Cache, Change, Collection, Place};
use serve::record::Record;
use serve::resource::Table;
use serve::server::Server;

use crate::engine::action::Action;
use plan::{Facts, Owner};

/// Where definitions are.
const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// As many changes as are taken from a collection at a time.
const BATCH: usize = 1024;

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
            actions.extend(self.empty(&namespace));
        }
        for definition in std::mem::take(&mut self.definitions) {
            actions.extend(self.retire(&definition, server));
        }
        actions
    }

    /// Begins to follow collections that are new in the table, and looks again at what may have waited for them. Those
    /// that are no longer in the table are followed on: what is in them may still be somebody's.
    fn follow(&mut self, table: &Table, cache: &Cache) {
        for (name, waiting) in [
            ("core/namespaces", &mut self.namespaces),
            (DEFINITIONS, &mut self.definitions),
        ] {
            let snapshot = cache.collection(name).snapshot();
            let ending = snapshot.objects.iter();
            let ending = ending.filter(|(_, record)| record.head().terminating);
            waiting.extend(ending.map(|(key, _)| Arc::clone(key)));
        }
        for resource in table.iter().filter(|resource| resource.rules.is_stored()) {
            // Kinds that are kept as another one are followed as that one.
            if *resource.collection != *cache::name_of(&resource.group, &resource.plural)
                || self.followed.contains_key(&resource.collection)
            {
                continue;
            }
            let version = resource.versions.iter().find(|version| version.served);
            let Some(version) = version else { continue };
            let api_version = resource.api_version(&version.name);
            let root = if resource.group.is_empty() {
                format!("/api/{api_version}")
            } else {
                format!("/apis/{api_version}")
            };
            let collection = cache.collection(&resource.collection);
            let (snapshot, place) = collection.begin();
            let route = Route {
                group: Arc::clone(&resource.group),
                kind: Arc::clone(&resource.kind),
                root: root.into(),
                plural: Arc::clone(&resource.plural),
                namespaced: resource.namespaced,
            };
            let name = Arc::clone(&resource.collection);
            for (key, record) in &snapshot.objects {
                self.note(&name, key, None, Some(record));
            }
            self.followed.insert(
                name,
                Followed {
                    collection,
                    place,
                    route,
                },
            );
        }
    }

    fn pull(&mut self) {
        let mut changes: Vec<(Arc<str>, Arc<Change>)> = Vec::new();
        let mut lost: Vec<Arc<str>> = Vec::new();
        for (name, followed) in &mut self.followed {
            loop {
                let Ok((batch, next)) = followed.collection.changes(followed.place, BATCH) else {
                    followed.place = followed.collection.begin().1;
                    lost.push(Arc::clone(name));
                    break;
                };
                followed.place = next;
                let count = batch.len();
                changes.extend(batch.into_iter().map(|change| (Arc::clone(name), change)));
                if count < BATCH {
                    break;
                }
            }
        }
        for (name, change) in changes {
            let (before, after) = (change.previous.as_ref(), change.current.as_ref());
            let Some(record) = after.or(before) else {
                continue;
            };
            let key = key_of(record);
            self.note(&name, &key, before, after);
        }
        for name in lost {
            self.relearn(&name);
        }
    }

    /// Looks at everything in a collection that changed too fast to be followed, and at all that may have lost an owner.
    fn relearn(&mut self, name: &Arc<str>) {
        let Some(followed) = self.followed.get(name) else {
            return;
        };
        let snapshot = followed.collection.snapshot();
        for (key, record) in &snapshot.objects {
            self.note(name, key, None, Some(record));
        }
        let everything: Vec<Spot> = self.dependents.values().flatten().cloned().collect();
        self.due.extend(everything);
    }

    fn note(
        &mut self,
        name: &Arc<str>,
        key: &Arc<str>,
        before: Option<&Arc<Record>>,
        after: Option<&Arc<Record>>,
    ) {
        let spot = (Arc::clone(name), Arc::clone(key));
        let mut has_left = false;
        for owner in before.iter().flat_map(|record| &record.head().owners) {
            if let Some(spots) = self.dependents.get_mut(owner) {
                spots.remove(&spot);
                if spots.is_empty() {
                    self.dependents.remove(owner);
                }
            }
            has_left |= after.is_none_or(|after| !after.head().owners.contains(owner));
        }
        // An owner that waits for its dependents may have waited for this one.
        if has_left {
            self.wake_owner(before);
        }
        match after {
            Some(record) => {
                for owner in &record.head().owners {
                    let spots = self.dependents.entry(owner.clone()).or_default();
                    spots.insert(spot.clone());
                }
                // An object that stays and keeps its owners needs no look: what becomes of them wakes it.
                let owners = &record.head().owners;
                let is_settled = before.is_some_and(|before| before.head().owners == *owners);
                if record.head().terminating || !(owners.is_empty() || is_settled) {
                    self.due.insert(spot);
                }
                if &**name == "core/namespaces" && record.head().terminating {
                    self.namespaces.insert(Arc::clone(key));
                }
                if &**name == DEFINITIONS && record.head().terminating {
                    self.definitions.insert(Arc::clone(key));
                }
                if record.head().terminating {
                    self.wake_dependents(&record.head().uid);
                }
            }
            None => {
                if let Some(record) = before {
                    let head = record.head();
                    self.wake_dependents(&head.uid);
                    if !head.namespace.is_empty() {
                        self.namespaces.insert(Arc::from(&*head.namespace));
                    }
                    // The name of a definition is made of those of its kind and group.
                    if let Some(followed) = self.followed.get(name)
                        && !followed.route.group.is_empty()
                    {
                        let (plural, group) = (&followed.route.plural, &followed.route.group);
                        self.definitions.insert(format!("{plural}.{group}").into());
                    }
                }
            }
        }
    }

    fn wake_dependents(&mut self, uid: &str) {
        if let Some(spots) = self.dependents.get(uid) {
            self.due.extend(spots.iter().cloned());
        }
    }

    fn wake_owner(&mut self, record: Option<&Arc<Record>>) {
        let Some(record) = record else { return };
        let value = record.value();
        let owners = value.pointer("/metadata/ownerReferences");
        for owner in owners.and_then(Value::as_array).into_iter().flatten() {
            if let Some((spot, _)) = self.find_owner(owner, &record.head().namespace) {
                self.due.insert(spot);
            }
        }
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
        let is_same = text("uid") == Some(&*record.head().uid);
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
                |reference| match self.find_owner(reference, &record.head().namespace) {
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
        let dependents = self.dependents.get(&*record.head().uid);
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
            .and_then(|(plural, group)| self.followed.get(&*cache::name_of(group, plural)));
        let objects: Vec<(String, Arc<Record>)> = collection
            .map(|followed| {
                let snapshot = followed.collection.snapshot();
                let objects = snapshot.objects.iter();
                objects
                    .map(|(key, record)| (path_of(&followed.route, key), Arc::clone(record)))
                    .collect()
            })
            .unwrap_or_default();
        plan::retire(&definition, &objects, server.now())
    }

    /// A namespace on its way out: everything in it is asked to go; when nothing is left it may go itself.
    fn empty(&self, namespace: &Arc<str>) -> Vec<Action> {
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
        let prefix: Arc<str> = format!("{namespace}/").into();
        let mut content = Vec::new();
        for followed in self
            .followed
            .values()
            .filter(|followed| followed.route.namespaced)
        {
            let snapshot = followed.collection.snapshot();
            for (key, record) in snapshot.objects.range(Arc::clone(&prefix)..) {
                if !key.starts_with(&*prefix) {
                    break;
                }
                content.push((path_of(&followed.route, key), Arc::clone(record)));
            }
        }
        plan::empty(&record.value(), &content)
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

fn key_of(record: &Record) -> Arc<str> {
    let head = record.head();
    cache::object_key(&head.namespace, &head.name).into()
}

//! What the server serves: resources as data, and the rules of their kinds.
//!
//! Built-in kinds, users' custom resources and the product's own kinds are all entries of one [`Table`]; the verbs know
//! none of them by name. What a kind does beyond storing fields is behind [`KindRules`].

use std::collections::BTreeMap;
use std::sync::Arc;

use object::field::FieldError;
use object::time::Time;
use object::{Map, Value};
use schema::Schema;

use crate::cache;
use crate::target::Verb;

/// One resource in all its versions.
pub struct Resource {
    /// Empty for the core group.
    pub group: Arc<str>,
    /// What objects call themselves.
    pub kind: Arc<str>,
    /// What lists of them call themselves.
    pub list_kind: Arc<str>,
    /// What URLs call them.
    pub plural: Arc<str>,
    /// What people call one of them.
    pub singular: Arc<str>,
    /// What people in a hurry call them.
    pub short_names: Vec<Arc<str>>,
    /// Groups of kinds people list together, such as `all`.
    pub categories: Vec<Arc<str>>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// All versions, the preferred one first.
    pub versions: Vec<Version>,
    /// The place of the version objects are stored in.
    pub storage: usize,
    /// Groups with a higher number come first in discovery, and so win when a client asks for a kind without its group.
    pub group_priority: u32,
    /// What the kind does beyond storing fields.
    pub rules: Arc<dyn KindRules>,
}

/// One version of a resource.
pub struct Version {
    /// Such as `v1`.
    pub name: Arc<str>,
    /// Whether requests are answered in it.
    pub served: bool,
    /// What is said to whoever uses a deprecated version.
    pub warning: Option<Arc<str>>,
    /// Which fields there are.
    pub schema: Option<Schema>,
    /// The verbs on objects and collections.
    pub verbs: Vec<Verb>,
    /// Parts of an object with endpoints of their own.
    pub subresources: Vec<Subresource>,
    /// What a table shows.
    pub columns: Arc<[Column]>,
    /// Fields to select by, besides `metadata.name` and `metadata.namespace`.
    pub selectable: Vec<Arc<str>>,
}

/// A part of an object with an endpoint of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Such as `status`.
    pub name: Arc<str>,
    /// The group, version and kind of what it takes and gives, where that is not the object's own.
    pub kind: Option<(Arc<str>, Arc<str>, Arc<str>)>,
    /// What may be done with it.
    pub verbs: Vec<Verb>,
    /// How it is served.
    pub action: Action,
}

/// How a subresource is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The object, of which only the status is written.
    Status,
    /// A `Scale`, read from and written to these paths.
    Scale {
        /// Where the wanted number is.
        wanted: Arc<str>,
        /// Where the present number is.
        present: Arc<str>,
        /// Where the selector is, if anywhere.
        selector: Option<Arc<str>>,
    },
    /// Whatever the part that registered the resource does with it.
    Custom,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The headline.
    pub name: Arc<str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: Arc<str>,
    /// `name` for the name; otherwise mostly empty.
    pub format: Arc<str>,
    /// What it means.
    pub description: Arc<str>,
    /// 0 is always shown, more only in wide tables.
    pub priority: i32,
}

/// What a kind does beyond storing fields. Every method has the effect of the plainest kind by default.
pub trait KindRules: Send + Sync {
    /// Sets what the server decides about a new object.
    fn prepare_create(&self, object: &mut Map) {
        object.shift_remove("status");
    }

    /// Takes back what a writer of the object (`part` empty) or of one of its parts may not change.
    fn prepare_update(&self, old: &Map, new: &mut Map, part: &str) {
        keep_other_parts(old, new, part);
    }

    /// Sets what the author left out.
    fn apply_defaults(&self, _version: &str, _object: &mut Map) {}

    /// Everything wrong with an object; `old` is what it replaces.
    fn validate(&self, _old: Option<&Map>, _new: &Map) -> Vec<FieldError> {
        Vec::new()
    }

    /// The object in another version. `None` if the kind has no such version.
    fn convert(&self, object: &Map, api_version: &str) -> Option<Map> {
        let mut converted = object.clone();
        converted.insert("apiVersion".to_owned(), Value::from(api_version));
        Some(converted)
    }

    /// One row of a table, a cell for each column.
    fn cells(&self, version: &str, object: &Value, now: Time) -> Vec<Value>;

    /// The value of a selectable field, as text.
    fn field(&self, object: &Value, path: &str) -> Option<String> {
        let value = path
            .split('.')
            .try_fold(object, |value, name| value.get(name))?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    }

    /// Whether changes of the wanted state are counted in `metadata.generation`.
    fn counts_generations(&self) -> bool {
        true
    }

    /// Whether names follow the rules of this kind; what is wrong otherwise.
    fn check_name(&self, name: &str) -> Vec<String> {
        object::names::check_dns1123_subdomain(name)
    }
}

/// Everything served.
#[derive(Default)]
pub struct Table {
    resources: BTreeMap<(Arc<str>, Arc<str>), Arc<Resource>>,
}

/// A resource in one of its versions.
#[derive(Clone)]
pub struct Served {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The place of the version asked for.
    pub version: usize,
}

impl Table {
    /// Adds a resource, or replaces it.
    pub fn insert(&mut self, resource: Resource) {
        let key = (Arc::clone(&resource.group), Arc::clone(&resource.plural));
        self.resources.insert(key, Arc::new(resource));
    }

    /// Takes a resource away.
    pub fn remove(&mut self, group: &str, plural: &str) {
        self.resources
            .remove(&(Arc::from(group), Arc::from(plural)));
    }

    /// A resource in a version it is served in.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        let resource = self.resources.get(&(Arc::from(group), Arc::from(plural)))?;
        let place = resource
            .versions
            .iter()
            .position(|known| known.served && &*known.name == version)?;
        Some(Served {
            resource: Arc::clone(resource),
            version: place,
        })
    }

    /// All resources, by group and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }
}

impl Clone for Table {
    fn clone(&self) -> Self {
        Self {
            resources: self.resources.clone(),
        }
    }
}

impl Served {
    /// The version asked for.
    #[must_use]
    pub fn version(&self) -> &Version {
        self.resource
            .versions
            .get(self.version)
            .expect("invariant: Table::find checked the place")
    }

    /// `group/version`, or the bare version in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.resource.api_version(&self.version().name)
    }

    /// Whether the resource or one of its parts takes a verb.
    #[must_use]
    pub fn allows(&self, subresource: &str, verb: Verb) -> bool {
        match subresource {
            "" => self.version().verbs.contains(&verb),
            part => self
                .subresource(part)
                .is_some_and(|part| part.verbs.contains(&verb)),
        }
    }

    /// Whether objects are stored as they are asked for.
    #[must_use]
    pub fn is_stored_form(&self) -> bool {
        self.version == self.resource.storage
    }

    /// A part by name.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.version()
            .subresources
            .iter()
            .find(|part| &*part.name == name)
    }
}

impl Resource {
    /// The name of its collection in the cache and the store.
    #[must_use]
    pub fn collection(&self) -> String {
        cache::name_of(&self.group, &self.plural)
    }

    /// `group/version`, or the bare version in the core group.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }

    /// The version objects are stored in.
    #[must_use]
    pub fn storage_version(&self) -> &Version {
        self.versions
            .get(self.storage)
            .expect("invariant: a resource has its storage version")
    }
}

/// A writer of the object leaves the status alone; a writer of the status leaves everything but it and the metadata
/// that concerns it alone.
pub fn keep_other_parts(old: &Map, new: &mut Map, part: &str) {
    if part != "status" {
        match old.get("status") {
            Some(status) => drop(new.insert("status".to_owned(), status.clone())),
            None => drop(new.shift_remove("status")),
        }
        return;
    }
    let status = new.get("status").cloned();
    let managed = new
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .cloned();
    let version = new
        .get("metadata")
        .and_then(|metadata| metadata.get("resourceVersion"))
        .cloned();
    *new = old.clone();
    match status {
        Some(status) => drop(new.insert("status".to_owned(), status)),
        None => drop(new.shift_remove("status")),
    }
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        for (name, value) in [("managedFields", managed), ("resourceVersion", version)] {
            if let Some(value) = value {
                metadata.insert(name.to_owned(), value);
            }
        }
    }
}

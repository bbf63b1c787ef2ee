//! What the server serves: resources as data, and the rules of their kinds.
//!
//! Built-in kinds, users' custom resources and the product's own kinds are all entries of one [`Table`]; the verbs know
//! none of them by name. What a kind does beyond storing fields is behind [`KindRules`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use object::field::FieldError;
use object::time::Time;
use object::{Map, Value};
use schema::Schema;

use crate::conversion::Converter;
use crate::lifecycle::Propagation;
use crate::negotiate::{Sendable, Wire};
use crate::scaling;
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
    /// The collection objects are kept in: [`crate::cache::name_of`] this resource, or another one that keeps them too.
    pub collection: Arc<str>,
    /// The `apiVersion` objects are stored in.
    pub stored_as: Arc<str>,
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
    Scale(ScalePaths),
    /// Whatever the part that registered the resource does with it.
    Custom,
}

/// Where the size of an object is, as dotted paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The wanted number.
    pub wanted: Arc<str>,
    /// The present number.
    pub present: Arc<str>,
    /// The selector, as text, if there is one.
    pub selector: Option<Arc<str>>,
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

/// How much a kind's schema has to say about its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaDuty {
    /// Fields, types, defaults and rules, as for custom kinds.
    Everything,
    /// Fields and types; defaults and rules are the kind's own, as for built-in kinds. Lists may be merged by patches
    /// that know their keys.
    Shape,
}

/// What a kind does beyond storing fields. Every method has the effect of the plainest kind by default.
///
/// Objects are JSON objects here, in the version asked for; an implementer that finds something else leaves it alone.
pub trait KindRules: Send + Sync {
    /// Sets what the server decides about a new object.
    fn prepare_create(&self, _version: &str, object: &mut Value, _now: Time) {
        if let Some(fields) = object.as_object_mut() {
            fields.shift_remove("status");
        }
    }

    /// Takes back what a writer of the object (`part` empty) or of one of its parts may not change.
    fn prepare_update(&self, _version: &str, old: &Value, new: &mut Value, part: &str) {
        keep_other_parts(old, new, part);
    }

    /// Whether preparing a new object fills in what its author left out and could take away by saying the same again, such as
    /// a selector that the server generates.
    fn adds_on_create(&self) -> bool {
        false
    }

    /// Fields a writer through the object (`part` empty) or one of its parts cannot own, because what it says there is
    /// not kept.
    fn unowned_fields(&self, _version: &str, part: &str) -> &'static [&'static str] {
        if part == "status" {
            &["spec"]
        } else {
            &["status"]
        }
    }

    /// Sets what the author left out.
    fn apply_defaults(&self, _version: &str, _object: &mut Value) {}

    /// How much the schema has to say.
    fn schema_duty(&self) -> SchemaDuty {
        SchemaDuty::Everything
    }

    /// Whether lists say for all their objects what these are. Upstream: those of kinds that are compiled in do, and those
    /// of custom kinds let each object say it.
    fn is_typed(&self) -> bool {
        self.schema_duty() == SchemaDuty::Shape
    }

    /// The messages objects of the kind are sent as in protobuf; `None` if they are only sent as JSON and YAML.
    fn wire(&self) -> Option<Wire> {
        None
    }

    /// Everything wrong with an object; `old` is what it replaces, through `part` if that is not empty.
    fn validate(
        &self,
        _version: &str,
        _old: Option<&Value>,
        _new: &Value,
        _part: &str,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Everything wrong with an object that its schema cannot say by itself, given what the schema found.
    fn judge_further(
        &self,
        _version: &str,
        _old: Option<&Value>,
        _new: &Value,
        _found: &[FieldError],
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Who converts objects of the kind, if [`KindRules::convert`] cannot do it at once.
    fn converter(&self) -> Option<&dyn Converter> {
        None
    }

    /// Objects written before this revision may lack defaults which the kind's schemas have got since; 0 if none does.
    fn defaults_since(&self) -> u64 {
        0
    }

    /// The `Scale` of an object whose kind has one.
    fn scale_of(&self, object: &Value, paths: &ScalePaths) -> Value {
        scaling::scale_of(object, paths)
    }

    /// Sets the size a `Scale` asks for.
    fn apply_scale(&self, scale: &Value, object: &mut Value, paths: &ScalePaths) {
        scaling::apply_scale(scale, object, paths);
    }

    /// The object in another version; `None` if the kind has no such version.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut converted = object.clone();
        converted
            .as_object_mut()?
            .insert("apiVersion".to_owned(), Value::from(api_version));
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

    /// The generation of a new object; `None` if the kind counts none.
    fn first_generation(&self) -> Option<i64> {
        Some(1)
    }

    /// Whether the difference between two objects is a new generation.
    fn is_new_generation(&self, old: &Value, new: &Value) -> bool {
        wants_differ(old, new)
    }

    /// Whether names follow the rules of this kind; what is wrong otherwise.
    fn check_name(&self, name: &str) -> Vec<String> {
        object::names::check_dns1123_subdomain(name)
    }

    /// Whether a deletion is answered with the object that went, rather than with word of it.
    fn is_shown_when_gone(&self) -> bool {
        false
    }

    /// Whether an update must say which revision it is made from.
    fn needs_revision(&self) -> bool {
        false
    }

    /// Whether the object holds itself back from deletion, beyond `metadata.finalizers`: namespaces do.
    fn holds(&self, _object: &Value) -> bool {
        false
    }

    /// How many seconds an object that is asked to go may take to end what it does, given what the client says. Whoever
    /// ends it for the object then deletes it with no time left. `None` for kinds that do nothing that would have to end.
    fn grace(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Marks an object that was asked to go and is held.
    fn begin_ending(&self, _object: &mut Value) {}

    /// Whether objects are kept. Those of reviews are not: a handler answers them.
    fn is_stored(&self) -> bool {
        true
    }

    /// Whether an update of an object that is not there makes it.
    fn is_created_by_update(&self) -> bool {
        false
    }

    /// What becomes of owned objects when a deletion does not say.
    fn default_propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// What whoever deletes one without saying that is told.
    fn undecided_deletion(&self) -> Option<&'static str> {
        None
    }
}

/// Everything served.
#[derive(Default)]
pub struct Table {
    resources: BTreeMap<(Arc<str>, Arc<str>), Arc<Resource>>,
    /// The messages of what is no resource: metadata, options, refusals.
    wire: Option<Wire>,
    /// Whose objects no refusal repeats, by group and name.
    secret: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// A resource in one of its versions.
#[derive(Clone)]
pub struct Served {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The place of the version asked for.
    pub version: usize,
    /// Whether what its objects hold is kept out of refusals, which are logged and passed on.
    pub is_secret: bool,
}

impl Table {
    /// Adds a resource, or replaces it.
    pub fn insert(&mut self, resource: impl Into<Arc<Resource>>) {
        let resource = resource.into();
        let key = (Arc::clone(&resource.group), Arc::clone(&resource.plural));
        self.wire = self.wire.or_else(|| resource.rules.wire());
        self.resources.insert(key, resource);
    }

    /// Takes a resource away.
    pub fn remove(&mut self, group: &str, plural: &str) {
        self.resources
            .remove(&(Arc::from(group), Arc::from(plural)));
    }

    /// From now on no refusal repeats what objects of a resource hold, whether it is there already or not.
    pub fn keep_secret(&mut self, group: &str, plural: &str) {
        self.secret.insert((Arc::from(group), Arc::from(plural)));
    }

    /// A resource in a version it is served in.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        let key: (Arc<str>, Arc<str>) = (Arc::from(group), Arc::from(plural));
        let resource = self.resources.get(&key)?;
        let place = resource
            .versions
            .iter()
            .position(|known| known.served && &*known.name == version)?;
        Some(Served {
            resource: Arc::clone(resource),
            version: place,
            is_secret: self.secret.contains(&key),
        })
    }

    /// Whether there is a resource of this name.
    pub(crate) fn serves(&self, group: &Arc<str>, plural: &Arc<str>) -> bool {
        let key = (Arc::clone(group), Arc::clone(plural));
        self.resources.contains_key(&key)
    }

    /// Whether a resource that was served before still is, and nothing about it has changed.
    pub(crate) fn has(&self, resource: &Arc<Resource>) -> bool {
        let key = (Arc::clone(&resource.group), Arc::clone(&resource.plural));
        let known = self.resources.get(&key);
        known.is_some_and(|known| Arc::ptr_eq(known, resource))
    }

    /// The messages of what is no resource: metadata, options, refusals.
    #[must_use]
    pub fn wire(&self) -> Option<Wire> {
        self.wire
    }

    /// What of a resource can be sent in protobuf.
    #[must_use]
    pub fn sendable(&self, served: &Served) -> Sendable {
        Sendable {
            objects: served.resource.rules.wire(),
            metadata: self.wire,
        }
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
            wire: self.wire,
            secret: self.secret.clone(),
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
        *self.resource.stored_as == *self.api_version()
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
    /// `group/version`, or the bare version in the core group.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }
}

/// A writer of the object leaves the status alone; a writer of the status leaves everything but it and the metadata
/// that concerns it alone.
pub fn keep_other_parts(old: &Value, new: &mut Value, part: &str) {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object_mut()) else {
        return;
    };
    if part != "status" {
        put_or_remove(after, "status", before.get("status").cloned());
        return;
    }
    let status = after.shift_remove("status");
    let mut metadata = after.shift_remove("metadata").unwrap_or_default();
    after.clone_from(before);
    put_or_remove(after, "status", status);
    let (Some(kept), Some(sent)) = (
        after.get_mut("metadata").and_then(Value::as_object_mut),
        metadata.as_object_mut(),
    ) else {
        return;
    };
    for name in ["managedFields", "resourceVersion"] {
        if let Some(value) = sent.shift_remove(name) {
            kept.insert(name.to_owned(), value);
        }
    }
}

/// Whether anything but metadata and status differs.
#[must_use]
pub fn wants_differ(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old != new;
    };
    let is_wanted = |name: &str| !matches!(name, "metadata" | "status" | "apiVersion" | "kind");
    let covered = |a: &Map, b: &Map| {
        a.iter()
            .all(|(name, value)| !is_wanted(name) || b.get(name) == Some(value))
    };
    !(covered(old, new) && covered(new, old))
}

fn put_or_remove(fields: &mut Map, name: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.shift_remove(name)),
    }
}

//! The two ways to write an object, and what becomes of its owners.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use object::{Map, Value, time::Time};

use super::{
    check::{self, TypeProblem},
    errors::{ApplyError, Conflict, Failure},
    fieldset::FieldSet,
    managers::{Manager, Managers, Operation, Owned},
    merge,
    owners::{Context, Versioned},
    path::{PathElement, is_identical, is_same},
    shortcut,
    typed::{Ty, fields_of},
};
use crate::node::Schema;

/// The annotation `kubectl apply` keeps on the client's side.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations may hold no more than this in total.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Who owns what was there before anyone applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Fields that say which object it is, and those the server sets: nobody owns them.
pub(super) static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// The other versions of a kind: managers own fields in the version they wrote.
pub trait Versions {
    /// The schema of a version; `None` if there is no such version any more.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// An object in another version.
    ///
    /// # Errors
    /// Why it cannot be converted.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;

    /// Fields that writes through this endpoint do not change, whatever the request says, such as `status`.
    fn ignored(&self, _api_version: &str) -> Option<FieldSet> {
        None
    }
}

/// For kinds with one version.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOtherVersion;

impl Versions for NoOtherVersion {
    fn schema(&self, _: &str) -> Option<&Schema> {
        None
    }

    fn convert(&self, _: &Value, api_version: &str) -> Result<Value, String> {
        Err(format!("there is no version {api_version}"))
    }
}

/// Who writes, how and when.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// The kind's schema in the version of the request.
    pub schema: &'a Schema,
    /// The version of the request: `apps/v1`.
    pub api_version: &'a str,
    /// The kind's other versions.
    pub versions: &'a dyn Versions,
    /// The name the writer gives itself.
    pub manager: &'a str,
    /// The subresource it writes through; empty for the object itself.
    pub subresource: &'a str,
    /// When.
    pub now: Time,
}

/// What came of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object to store, with its managed fields. Defaults have not been set in it.
    pub object: Value,
    /// Whether anything but ownership changed.
    pub changed: bool,
}

impl<'a> Write<'a> {
    /// Merges a declaration into the live object, if there is one.
    ///
    /// Fields the manager declared before and does not any more are removed, unless someone else owns them. Fields
    /// someone else owns and that would change are conflicts, unless `force` takes them over.
    ///
    /// # Errors
    /// When there are conflicts, or something does not fit the schema; nothing changes then.
    pub fn apply(
        &self,
        live: Option<&Value>,
        declared: &Value,
        force: bool,
    ) -> Result<Applied, ApplyError> {
        self.check_request(declared)?;
        let bare = self.bare(live, declared);
        let mut managers = match live {
            Some(live) => Managers::of(live)?,
            None => Managers::default(),
        };
        if managers.0.is_empty() {
            let nothing = identity_of(declared);
            managers = self
                .record(&nothing, &bare, managers, BEFORE_FIRST_APPLY)
                .map_err(|problems| ApplyError::Live {
                    object: describe(&bare),
                    problems,
                })?;
        }
        let context = self.context();
        // Only those who once applied from the client get a second try.
        let spare = (self.manager == "kubectl" && !force).then(|| managers.clone());
        let mut outcome = self.merge(&context, &bare, declared, managers, force);
        if let (Err(ApplyError::Conflicts(conflicts)), Some(managers)) = (&outcome, spare) {
            // What `kubectl apply` wrote from the client is the same user's; it is taken over without asking.
            let left: Vec<Conflict> = match self.owned_by_annotation(&bare) {
                Some(owned) => conflicts
                    .iter()
                    .filter(|conflict| !owned.contains(&conflict.field))
                    .cloned()
                    .collect(),
                None => conflicts.clone(),
            };
            outcome = if left.is_empty() {
                self.merge(&context, &bare, declared, managers, true)
            } else {
                Err(ApplyError::Conflicts(left))
            };
        }
        let (mut object, managers, changed) = outcome?;
        if self.manager == "kubectl" {
            refresh_last_applied(&mut object, declared);
        }
        set_managed_fields(&mut object, managers.encode());
        Ok(Applied { object, changed })
    }

    /// The managed fields after a write that was not an apply. `None` when nobody's are kept.
    ///
    /// `live` is the stored object, if there was one, and `new` what takes its place. A request may set the managed
    /// fields itself: one entry that says nothing starts over. An empty list says nothing at all.
    ///
    /// # Errors
    /// When one of the objects does not fit the schema: then ownership cannot be told.
    pub fn update(
        &self,
        live: Option<&Value>,
        new: &Value,
    ) -> Result<Option<Value>, Vec<TypeProblem>> {
        match live.and_then(|live| Some((live, shortcut::record(self, live, new)?))) {
            Some((_, outcome)) if outcome.from_new => Ok(outcome.copy(new)),
            Some((live, outcome)) => Ok(outcome.copy(live)),
            None => self.update_in_full(live, new),
        }
    }

    /// Records in an object that takes the place of `live` who owns what, as [`Write::update`] tells.
    ///
    /// A write that changes nothing leaves no trace.
    pub fn own(&self, live: Option<&Value>, new: &mut Value) {
        let outcome = live.and_then(|live| shortcut::record(self, live, new));
        let differs = outcome.as_ref().is_some_and(shortcut::Outcome::differs);
        let managed = match outcome {
            Some(outcome) if outcome.from_new => outcome.reuse(new),
            Some(outcome) => live.and_then(|live| outcome.copy(live)),
            // Upstream: an object whose ownership cannot be told has no owners, rather than wrong ones.
            None => self.update_in_full(live, new).unwrap_or_default(),
        };
        let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        match managed {
            Some(managed) => drop(metadata.insert("managedFields".to_owned(), managed)),
            None => drop(metadata.shift_remove("managedFields")),
        }
        if let Some(live) = live.filter(|_| !differs) {
            keep_times(new, live);
        }
    }

    /// [`Write::update`] for any objects and entries.
    pub(super) fn update_in_full(
        &self,
        live: Option<&Value>,
        new: &Value,
    ) -> Result<Option<Value>, Vec<TypeProblem>> {
        let managers = self.managers_to_start_from(live, new);
        let is_stored = live.is_some_and(|live| !text_at(live, &["metadata", "uid"]).is_empty());
        if managers.0.is_empty() && is_stored {
            return Ok(None); // Nobody's fields were kept so far; the first apply starts that.
        }
        let old = self.bare(live, new);
        let new = if entries_of(new).is_some() {
            Cow::Owned(without_managed_fields(new))
        } else {
            Cow::Borrowed(new)
        };
        let mut managers = self.record(&old, &new, managers, self.manager)?;
        managers.cap();
        Ok(managers.encode())
    }

    /// What a manager that applies owns of an object, as a declaration; `None` if it owns nothing.
    #[must_use]
    pub fn owned(&self, object: &Value) -> Option<Value> {
        let managers = Managers::of(object).ok()?;
        let manager = Manager::new(
            self.manager,
            Operation::Apply,
            self.api_version,
            self.subresource,
        );
        let owned = managers.0.get(&manager)?;
        Some(merge::extract(
            Ty::of(self.schema),
            &without_managed_fields(object),
            &owned.fields,
        ))
    }

    fn context(&self) -> Context<'a> {
        Context {
            schema: self.schema,
            api_version: self.api_version,
            versions: self.versions,
        }
    }

    fn check_request(&self, declared: &Value) -> Result<(), ApplyError> {
        let version = text_at(declared, &["apiVersion"]);
        if version != self.api_version {
            let text = format!(
                "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
                self.api_version
            );
            return Err(ApplyError::BadRequest(text));
        }
        let managed = declared
            .get("metadata")
            .and_then(|metadata| metadata.get("managedFields"));
        if managed.is_some_and(|managed| !managed.is_null()) {
            return Err(ApplyError::BadRequest(
                "metadata.managedFields must be nil".to_owned(),
            ));
        }
        Ok(())
    }

    /// The live object without its managed fields; of an object yet to be, only what it is.
    fn bare(&self, live: Option<&Value>, like: &Value) -> Value {
        live.map_or_else(|| identity_of(like), without_managed_fields)
    }

    fn merge(
        &self,
        context: &Context<'_>,
        live: &Value,
        declared: &Value,
        mut managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers, bool), ApplyError> {
        let ty = Ty::of(self.schema);
        let object = || describe(declared);
        let problems = check::check(ty, declared, false);
        if !problems.is_empty() {
            return Err(ApplyError::Declaration {
                object: object(),
                problems,
            });
        }
        let problems = check::check(ty, live, true);
        if !problems.is_empty() {
            return Err(ApplyError::Live {
                object: describe(live),
                problems,
            });
        }
        context.reconcile(&mut managers);
        let ignored = |version: &str| self.versions.ignored(version);
        let merged = merge::merge(ty, Some(live), Some(declared)).unwrap_or_default();
        let mut fields = fields_of(ty, declared).1;
        if let Some(ignored) = ignored(self.api_version) {
            fields = fields.difference_below(&ignored);
        }
        let manager = Manager::new(
            self.manager,
            Operation::Apply,
            self.api_version,
            self.subresource,
        );
        let last = managers.0.get(&manager).cloned();
        let time = last.as_ref().and_then(|last| last.time);
        let owned = Owned {
            fields,
            api_version: self.api_version.to_owned(),
            time,
        };
        managers.0.insert(manager.clone(), owned);
        let new = context.prune(
            context.here(Cow::Owned(merged)),
            &managers,
            &manager,
            last.as_ref(),
        )?;
        let old: Versioned<'_> = context.here(Cow::Borrowed(live));
        let (_, taken) = context.hand_over(&old, &new, &mut managers, Some(&manager), &ignored)?;
        if !force && !taken.is_empty() {
            let conflicts = taken.iter().flat_map(|(manager, fields)| {
                fields.paths().into_iter().map(|path| Conflict {
                    manager: manager.clone(),
                    field: show(&path),
                })
            });
            return Err(ApplyError::Conflicts(conflicts.collect()));
        }
        let changed = !is_same(live, &new.value);
        if let Some(owned) = managers.0.get_mut(&manager) {
            owned.fields = owned.fields.difference(&NEVER_OWNED);
            if changed {
                owned.time = Some(self.now);
            }
        }
        managers.drop_empty();
        let object = if changed {
            new.value.into_owned()
        } else {
            live.clone()
        };
        Ok((object, managers, changed))
    }

    /// Ownership after `old` became `new` by the hand of `name`.
    fn record(
        &self,
        old: &Value,
        new: &Value,
        mut managers: Managers,
        name: &str,
    ) -> Result<Managers, Vec<TypeProblem>> {
        let ty = Ty::of(self.schema);
        for object in [new, old] {
            let problems = check::check(ty, object, true);
            if !problems.is_empty() {
                return Err(problems);
            }
        }
        let context = self.context();
        context.reconcile(&mut managers);
        let ignored = |version: &str| self.versions.ignored(version);
        let (old, new) = (
            context.here(Cow::Borrowed(old)),
            context.here(Cow::Borrowed(new)),
        );
        let (changes, _) = context
            .hand_over(&old, &new, &mut managers, None, &ignored)
            .map_err(|failure| {
                let Failure::Convert { to, problem } = failure;
                vec![TypeProblem {
                    path: String::new(),
                    problem: format!("cannot be converted to {to}: {problem}"),
                }]
            })?;
        let mut fields = changes.modified.union(&changes.added);
        if let Some(ignored) = ignored(self.api_version) {
            fields = fields.difference_below(&ignored);
        }
        fields = fields.difference(&NEVER_OWNED);
        if !fields.is_empty() {
            let manager = Manager::new(name, Operation::Update, self.api_version, self.subresource);
            if let Some(before) = managers.0.get(&manager) {
                fields = fields.union(&before.fields);
            }
            let owned = Owned {
                fields,
                api_version: self.api_version.to_owned(),
                time: Some(self.now),
            };
            managers.0.insert(manager, owned);
        }
        Ok(managers)
    }

    fn managers_to_start_from(&self, live: Option<&Value>, new: &Value) -> Managers {
        let stored = || {
            live.and_then(|live| Managers::of(live).ok())
                .unwrap_or_default()
        };
        // A subresource has no say in who owns the rest.
        if !self.subresource.is_empty() {
            return stored();
        }
        let given = new
            .get("metadata")
            .and_then(|metadata| metadata.get("managedFields"));
        let starts_over = match given {
            Some(Value::Array(entries)) => {
                matches!(entries.as_slice(), [Value::Object(only)] if only.is_empty())
            }
            _ => false,
        };
        if starts_over {
            return Managers::default();
        }
        // Clients that do not know the list must not delete it by accident.
        Managers::of(new)
            .ok()
            .filter(|managers| !managers.0.is_empty())
            .unwrap_or_else(stored)
    }

    /// The fields `kubectl apply` wrote from the client that are still as it wrote them.
    fn owned_by_annotation(&self, live: &Value) -> Option<BTreeSet<String>> {
        let text = text_at(live, &["metadata", "annotations", LAST_APPLIED]);
        let applied: Value = serde_json::from_str(text).ok()?;
        if text_at(&applied, &["apiVersion"]) != self.api_version {
            return None;
        }
        let ty = Ty::of(self.schema);
        if !check::check(ty, &applied, false).is_empty()
            || !check::check(ty, live, false).is_empty()
        {
            return None;
        }
        let changes = super::compare::Comparison::of(ty, &applied, live);
        let changed = changes
            .modified
            .union(&changes.added)
            .union(&changes.removed);
        let owned = fields_of(ty, &applied).1.difference(&changed);
        Some(owned.paths().iter().map(|path| show(path)).collect())
    }
}

/// Gives an object the times of the stored one's managed fields, if they are all that differs: a write that changes
/// nothing must leave no trace.
pub fn keep_times(object: &mut Value, stored: &Value) {
    let entries = |object| entries_of(object).and_then(Value::as_array);
    let (Some(new), Some(old)) = (entries(object), entries(stored)) else {
        return;
    };
    let same = new.len() == old.len()
        && same_but_for_managed_fields(object, stored)
        && new.iter().zip(old).all(|(new, old)| {
            same_but_for(new, old, Some("time"), |_, new, old| is_equal(new, old))
        });
    if same {
        let old = Value::Array(old.clone());
        set_managed_fields(object, Some(old));
    }
}

fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn same_but_for_managed_fields(a: &Value, b: &Value) -> bool {
    same_but_for(a, b, None, |name, a, b| {
        if name == "metadata" {
            same_but_for(a, b, Some("managedFields"), |_, a, b| is_equal(a, b))
        } else {
            is_equal(a, b)
        }
    })
}

/// Whether two values are the same, as `same` has it for each field but one, which either may lack.
fn same_but_for(
    a: &Value,
    b: &Value,
    skipped: Option<&str>,
    same: impl Fn(&str, &Value, &Value) -> bool,
) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else {
        return is_equal(a, b);
    };
    let count = |fields: &Map| {
        fields.len() - usize::from(skipped.is_some_and(|name| fields.contains_key(name)))
    };
    count(a) == count(b)
        && a.iter()
            .filter(|(name, _)| Some(name.as_str()) != skipped)
            .all(|(name, a)| b.get(name).is_some_and(|b| same(name, a, b)))
}

/// Equality; identity, which is quicker to tell, is tried first.
fn is_equal(a: &Value, b: &Value) -> bool {
    is_identical(a, b) || a == b
}

/// Keeps the annotation of client-side apply in step, for those who go back and forth.
fn refresh_last_applied(object: &mut Value, declared: &Value) {
    let annotations = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"));
    let Some(Value::Object(annotations)) = annotations else {
        return;
    };
    if annotations
        .get(LAST_APPLIED)
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        return;
    }
    let mut declared = declared.clone();
    let noted = declared
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(Value::Object(noted)) = noted {
        noted.shift_remove(LAST_APPLIED);
    }
    let text = format!("{}\n", crate::canonical::text(&declared));
    annotations.insert(LAST_APPLIED.to_owned(), Value::from(text));
    let size: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATIONS_LIMIT {
        annotations.shift_remove(LAST_APPLIED);
    }
}

fn set_managed_fields(object: &mut Value, entries: Option<Value>) {
    let Value::Object(fields) = object else {
        return;
    };
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else {
        return;
    };
    match entries {
        Some(entries) => drop(metadata.insert("managedFields".to_owned(), entries)),
        None => drop(metadata.shift_remove("managedFields")),
    }
}

fn without_managed_fields(object: &Value) -> Value {
    let Value::Object(fields) = object else {
        return object.clone();
    };
    let copy = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Object(metadata) if name == "metadata" => {
                let kept = metadata.iter().filter(|(name, _)| *name != "managedFields");
                Value::Object(
                    kept.map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                )
            }
            other => other.clone(),
        };
        (name.clone(), value)
    };
    Value::Object(fields.iter().map(copy).collect())
}

/// An object of the same kind with nothing in it.
fn identity_of(object: &Value) -> Value {
    let named = ["apiVersion", "kind"].into_iter();
    Value::Object(
        named
            .filter_map(|name| Some((name.to_owned(), object.get(name)?.clone())))
            .collect(),
    )
}

fn text_at<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    path.iter()
        .try_fold(value, |value, name| value.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Which object an error is about.
fn describe(object: &Value) -> String {
    let (namespace, name) = (
        text_at(object, &["metadata", "namespace"]),
        text_at(object, &["metadata", "name"]),
    );
    let (version, kind) = (text_at(object, &["apiVersion"]), text_at(object, &["kind"]));
    // Upstream: the core group has no name, but its slash stays.
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{namespace}/{name}; {slash}{version}, Kind={kind}")
}

fn show(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

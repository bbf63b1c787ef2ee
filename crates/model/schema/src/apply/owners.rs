//! How ownership moves when an object changes.

use std::{borrow::Cow, collections::BTreeMap};

use object::Value;

use super::{
    compare::Comparison,
    errors::Failure,
    fieldset::FieldSet,
    managers::{Manager, Managers, Owned},
    merge,
    reconcile::reconcile,
    typed::{Ty, fields_of, with_named_parents},
    write::Versions,
};
use crate::node::Schema;

/// What is needed to look at an object in the version a manager wrote.
pub(super) struct Context<'a> {
    pub(super) schema: &'a Schema,
    pub(super) api_version: &'a str,
    pub(super) versions: &'a dyn Versions,
}

/// An object in some version.
#[derive(Clone)]
pub(super) struct Versioned<'a> {
    pub(super) value: Cow<'a, Value>,
    pub(super) schema: &'a Schema,
    pub(super) api_version: String,
}

impl<'a> Versioned<'a> {
    pub(super) fn ty(&self) -> Ty<'a> {
        Ty::of(self.schema)
    }
}

impl<'a> Context<'a> {
    /// An object in the version of the request.
    pub(super) fn here(&self, value: Cow<'a, Value>) -> Versioned<'a> {
        Versioned {
            value,
            schema: self.schema,
            api_version: self.api_version.to_owned(),
        }
    }

    /// The same object in another version; `None` if that version is no longer there.
    fn convert(
        &self,
        object: &Versioned<'a>,
        api_version: &str,
    ) -> Result<Option<Versioned<'a>>, Failure> {
        if object.api_version == api_version {
            return Ok(Some(object.clone()));
        }
        let schema = if api_version == self.api_version {
            Some(self.schema)
        } else {
            self.versions.schema(api_version)
        };
        let Some(schema) = schema else {
            return Ok(None);
        };
        let value = self
            .versions
            .convert(&object.value, api_version)
            .map_err(|problem| Failure::Convert {
                to: api_version.to_owned(),
                problem,
            })?;
        Ok(Some(Versioned {
            value: Cow::Owned(value),
            schema,
            api_version: api_version.to_owned(),
        }))
    }

    /// Brings what managers own in line with the schemas of today. Managers of versions that are gone go too.
    pub(super) fn reconcile(&self, managers: &mut Managers) {
        let schema_of = |version: &str| {
            if version == self.api_version {
                Some(self.schema)
            } else {
                self.versions.schema(version)
            }
        };
        managers
            .0
            .retain(|_, owned| match schema_of(&owned.api_version) {
                Some(schema) => {
                    owned.fields = reconcile(Ty::of(schema), &owned.fields);
                    true
                }
                None => false,
            });
    }

    /// Takes what changed between two objects from everyone but `writer`, and says from whom what was taken.
    ///
    /// Also returned: what changed, in the version of the request.
    pub(super) fn hand_over(
        &self,
        old: &Versioned<'a>,
        new: &Versioned<'a>,
        managers: &mut Managers,
        writer: Option<&Manager>,
        ignored: &dyn Fn(&str) -> Option<FieldSet>,
    ) -> Result<(Comparison, BTreeMap<Manager, FieldSet>), Failure> {
        let compare = |old: &Versioned<'_>, new: &Versioned<'_>| {
            let comparison = Comparison::of(old.ty(), &old.value, &new.value);
            match ignored(&old.api_version) {
                Some(ignored) => comparison.without(&ignored),
                None => comparison,
            }
        };
        let here = compare(old, new);
        let mut by_version: BTreeMap<String, Comparison> = BTreeMap::new();
        let mut taken = BTreeMap::new();
        let mut gone = Vec::new();
        for (manager, owned) in &mut managers.0 {
            if Some(manager) == writer {
                continue;
            }
            let version = owned.api_version.as_str();
            if version != self.api_version && !by_version.contains_key(version) {
                let (Some(old), Some(new)) =
                    (self.convert(old, version)?, self.convert(new, version)?)
                else {
                    gone.push(manager.clone());
                    continue;
                };
                by_version.insert(version.to_owned(), compare(&old, &new));
            }
            let comparison = by_version.get(version).unwrap_or(&here);
            let lost = owned
                .fields
                .intersection(&comparison.modified.union(&comparison.added));
            if !lost.is_empty() {
                owned.fields = owned.fields.difference(&lost);
                taken.insert(manager.clone(), lost);
            }
            if !comparison.removed.is_empty() {
                owned.fields = owned.fields.difference(&comparison.removed);
            }
        }
        managers.0.retain(|manager, _| !gone.contains(manager));
        managers.drop_empty();
        Ok((here, taken))
    }

    /// Removes from a merged object what the applier applied last time and not this time, unless someone else owns it.
    pub(super) fn prune(
        &self,
        merged: Versioned<'a>,
        managers: &Managers,
        applier: &Manager,
        last: Option<&Owned>,
    ) -> Result<Versioned<'a>, Failure> {
        let Some(last) = last.filter(|last| !last.fields.is_empty()) else {
            return Ok(merged);
        };
        // A declaration names everything around what it names: if it still has all of the last one, nothing goes.
        let still = (last.api_version == self.api_version)
            .then(|| managers.0.get(applier))
            .flatten();
        if still.is_some_and(|still| last.fields.difference(&still.fields).is_empty()) {
            return Ok(merged);
        }
        let Some(converted) = self.convert(&merged, &last.api_version)? else {
            return Ok(merged);
        };
        let ty = converted.ty();
        let last_fields = with_named_parents(Some(ty), &last.fields);
        let pruned = Versioned {
            value: Cow::Owned(merge::remove(ty, &converted.value, &last_fields)),
            ..converted.clone()
        };
        let pruned = self.add_back_owned(&converted, pruned, managers)?;
        let pruned = self.add_back_dangling(&converted, pruned, last)?;
        Ok(self.convert(&pruned, self.api_version)?.unwrap_or(pruned))
    }

    /// Puts back what any manager owns, version by version, that of the pruned object first: conversion may need it.
    fn add_back_owned(
        &self,
        merged: &Versioned<'a>,
        pruned: Versioned<'a>,
        managers: &Managers,
    ) -> Result<Versioned<'a>, Failure> {
        let mut owned_at: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in managers.0.values() {
            let set = owned_at.entry(&owned.api_version).or_default();
            *set = set.union(&owned.fields);
        }
        let first = pruned.api_version.clone();
        let order = owned_at
            .keys()
            .filter(|version| **version == first)
            .chain(owned_at.keys().filter(|version| **version != first));
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for version in order {
            let Some(owned) = owned_at.get(version) else {
                continue;
            };
            let (Some(whole), Some(part)) = (
                self.convert(&merged, version)?,
                self.convert(&pruned, version)?,
            ) else {
                continue;
            };
            let named = |set: &FieldSet| with_named_parents(Some(whole.ty()), set);
            let all = named(&fields_of(whole.ty(), &whole.value).1);
            let kept = named(&fields_of(part.ty(), &part.value).1).union(&named(owned));
            let value = merge::remove(whole.ty(), &whole.value, &all.difference(&kept));
            pruned = Versioned {
                value: Cow::Owned(value),
                ..whole.clone()
            };
            merged = whole;
        }
        Ok(pruned)
    }

    /// Puts back what the applier did not own before: nobody's fields are not its to remove.
    fn add_back_dangling(
        &self,
        merged: &Versioned<'a>,
        pruned: Versioned<'a>,
        last: &Owned,
    ) -> Result<Versioned<'a>, Failure> {
        let Some(pruned) = self.convert(&pruned, &last.api_version)? else {
            return Ok(merged.clone());
        };
        let ty = merged.ty();
        let named = |set: &FieldSet| with_named_parents(Some(ty), set);
        let kept = named(&fields_of(ty, &pruned.value).1);
        let all = named(&fields_of(ty, &merged.value).1);
        let dropped = all.difference(&kept).intersection(&named(&last.fields));
        Ok(Versioned {
            value: Cow::Owned(merge::remove(ty, &merged.value, &dropped)),
            ..merged.clone()
        })
    }
}

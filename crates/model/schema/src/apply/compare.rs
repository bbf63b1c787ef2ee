//! What changed between two objects, field by field.

use std::collections::BTreeMap;

use object::{Map, Value};

use super::{
    fieldset::FieldSet,
    path::{PathElement, is_identical, is_same},
    typed::{Elements, Form, Ty},
};

/// Objects with more fields than this are walked in the order of their names.
pub(super) const MANY_FIELDS: usize = 64;

/// The fields that differ between two objects; each is in at most one of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

/// What happened to one value as a whole.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Removed,
    Modified,
    Added,
}

impl Comparison {
    /// Compares two objects of one type.
    pub(super) fn of(ty: Ty<'_>, old: &Value, new: &Value) -> Self {
        compare(ty, Some(old), Some(new)).0
    }

    /// Compares two objects of one type without a field of their metadata; `None` if they are odd.
    pub(super) fn without_metadata_field(
        ty: Ty<'_>,
        old: &Map,
        new: &Map,
        skipped: &str,
    ) -> Option<Self> {
        let metadata_ty = ty.field("metadata")?;
        let (Some(Value::Object(old_metadata)), Some(Value::Object(new_metadata))) =
            (old.get("metadata"), new.get("metadata"))
        else {
            return None;
        };
        let has_fields = |metadata: &Map| metadata.keys().any(|name| name != skipped);
        let is_shared =
            |ty: Ty<'_>, value: Option<&Value>| ty.form(value) == Form::Map && !ty.is_atomic_map();
        let is_usual = has_fields(old_metadata)
            && has_fields(new_metadata)
            && is_shared(metadata_ty, old.get("metadata"))
            && is_shared(ty, None);
        if !is_usual {
            return None;
        }
        let mut comparison = compare_maps(ty, Some(old), Some(new), Some("metadata"));
        let metadata = compare_maps(
            metadata_ty,
            Some(old_metadata),
            Some(new_metadata),
            Some(skipped),
        );
        comparison.add(|| ty.field_element("metadata"), (metadata, Vec::new()));
        Some(comparison)
    }

    /// Leaves out some fields and everything inside them.
    pub(super) fn without(self, ignored: &FieldSet) -> Self {
        Self {
            removed: self.removed.difference_below(ignored),
            modified: self.modified.difference_below(ignored),
            added: self.added.difference_below(ignored),
        }
    }

    fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    fn set(&mut self, change: Change) -> &mut FieldSet {
        match change {
            Change::Removed => &mut self.removed,
            Change::Modified => &mut self.modified,
            Change::Added => &mut self.added,
        }
    }

    /// Adds what happened inside and to the value at `element`.
    fn add(
        &mut self,
        element: impl FnOnce() -> PathElement,
        (below, changes): (Comparison, Vec<Change>),
    ) {
        // Most of two objects is the same: the element is made only where something differs.
        if changes.is_empty() && below.is_same() {
            return;
        }
        let element = element();
        let sets = [
            (&mut self.removed, below.removed),
            (&mut self.modified, below.modified),
            (&mut self.added, below.added),
        ];
        for (set, below) in sets {
            if !below.is_empty() {
                set.insert_child(element.clone(), below);
            }
        }
        for change in changes {
            self.set(change).insert_member(element.clone());
        }
    }

    fn merge(self, other: Self) -> Self {
        Self {
            removed: self.removed.union(&other.removed),
            modified: self.modified.union(&other.modified),
            added: self.added.union(&other.added),
        }
    }
}

/// The fields inside a value that came as a whole; most of an object that is new is that.
fn added_below(ty: Ty<'_>, new: &Value) -> FieldSet {
    let mut added = FieldSet::default();
    match (ty.form(Some(new)), new) {
        (Form::Map, Value::Object(fields)) if fields.len() > MANY_FIELDS => {
            return compare_as(Form::Map, ty, None, Some(new)).0.added;
        }
        (Form::Map, Value::Object(fields)) if !ty.is_atomic_map() => {
            for (name, value) in fields {
                let Some(field_ty) = ty.field(name) else {
                    continue;
                };
                let element = ty.field_element(name);
                let below = added_below(field_ty, value);
                if !below.is_empty() {
                    added.insert_child(element.clone(), below);
                }
                added.insert_member(element);
            }
        }
        (Form::List, Value::Array(_)) => {
            return compare_as(Form::List, ty, None, Some(new)).0.added;
        }
        _ => {}
    }
    added
}

fn compare(ty: Ty<'_>, old: Option<&Value>, new: Option<&Value>) -> (Comparison, Vec<Change>) {
    if let (None, Some(new)) = (old, new) {
        let comparison = Comparison {
            added: added_below(ty, new),
            ..Comparison::default()
        };
        return (comparison, vec![Change::Added]);
    }
    if let (Some(old), Some(new)) = (old, new)
        && is_identical(old, new)
    {
        return Default::default();
    }
    let (old_form, new_form) = (ty.form(old), ty.form(new));
    let form = if new.is_none() { old_form } else { new_form };
    let (mut comparison, is_leaf, mut changes) = compare_as(form, ty, old, new);
    if let (Some(_), Some(_), false) = (old, new, old_form == new_form) {
        // The value changed its nature: what it was made of goes, what it is now comes.
        let (other, _, more) = compare_as(old_form, ty, old, new);
        comparison = comparison.merge(other);
        changes.extend(more);
    }
    if !is_leaf {
        match (old, new) {
            (None, _) => changes.push(Change::Added),
            (_, None) => changes.push(Change::Removed),
            _ => {}
        }
    }
    (comparison, changes)
}

/// Compares as one form; says also whether the value is owned whole, and what happened to it then.
fn compare_as<'v>(
    form: Form,
    ty: Ty<'_>,
    old: Option<&'v Value>,
    new: Option<&'v Value>,
) -> (Comparison, bool, Vec<Change>) {
    let leaf = || {
        let change = match (old, new) {
            (None, None) => None,
            (None, Some(_)) => Some(Change::Added),
            (Some(_), None) => Some(Change::Removed),
            (Some(old), Some(new)) => (!is_same(old, new)).then_some(Change::Modified),
        };
        (Comparison::default(), true, change.into_iter().collect())
    };
    match form {
        Form::Scalar => leaf(),
        Form::Map => {
            let fields = |value: Option<&'v Value>| value.and_then(Value::as_object);
            let is_empty = |fields: Option<&Map>| fields.is_none_or(Map::is_empty);
            let (old, new) = (fields(old), fields(new));
            if ty.is_atomic_map() || (is_empty(old) && is_empty(new)) {
                return leaf();
            }
            (compare_maps(ty, old, new, None), false, Vec::new())
        }
        Form::List => {
            let items = |value: Option<&'v Value>| {
                value
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
                    .unwrap_or_default()
            };
            let (old, new) = (items(old), items(new));
            if matches!(ty.elements(), Elements::Atomic) || (old.is_empty() && new.is_empty()) {
                return leaf();
            }
            (compare_lists(ty, old, new), false, Vec::new())
        }
    }
}

/// Compares the fields of two objects, one of which may not be there, but for the one to be skipped.
fn compare_maps<'v>(
    ty: Ty<'_>,
    old: Option<&'v Map>,
    new: Option<&'v Map>,
    skipped: Option<&str>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let (is_old, is_new) = (old.is_some(), new.is_some());
    let mut add = |name: &str, old: Option<&Value>, new: Option<&Value>| {
        let Some(field_ty) = ty.field(name) else {
            return;
        };
        // What an object always has neither comes nor goes with what is inside it.
        let unset = match (old, new) {
            (Some(_), Some(_)) => None,
            _ => ty.property(name).and_then(|field| field.unset.as_deref()),
        };
        let old = old.or(unset.filter(|_| is_old));
        let new = new.or(unset.filter(|_| is_new));
        comparison.add(|| ty.field_element(name), compare(field_ty, old, new));
    };
    let count = |fields: Option<&Map>| fields.map_or(0, Map::len);
    if count(old).saturating_add(count(new)) > MANY_FIELDS {
        // Sets are built in order: what is put between others there moves them all.
        let names = |fields: Option<&'v Map>| fields.into_iter().flat_map(Map::keys);
        let mut all: Vec<&'v String> = names(old).chain(names(new)).collect();
        all.sort_unstable();
        all.dedup();
        let value =
            |fields: Option<&'v Map>, name: &str| fields.and_then(|fields| fields.get(name));
        for name in all
            .into_iter()
            .filter(|name| Some(name.as_str()) != skipped)
        {
            add(name, value(old, name), value(new, name));
        }
        return comparison;
    }
    // Both mostly have their fields in one order: the next one is tried before the one of that name is looked for.
    let mut next = new.into_iter().flatten().peekable();
    for (name, before) in old.into_iter().flatten() {
        let after = match next.next_if(|(other, _)| *other == name) {
            Some((_, after)) => Some(after),
            None => new.and_then(|fields| fields.get(name)),
        };
        if Some(name.as_str()) != skipped {
            add(name, Some(before), after);
        }
    }
    let is_added = |name: &str| old.is_none_or(|fields| !fields.contains_key(name));
    let mut known = old.into_iter().flatten().peekable();
    for (name, after) in new.into_iter().flatten() {
        let is_known = known.next_if(|(other, _)| *other == name).is_some();
        if !is_known && Some(name.as_str()) != skipped && is_added(name) {
            add(name, None, Some(after));
        }
    }
    comparison
}

fn compare_lists(ty: Ty<'_>, old: &[Value], new: &[Value]) -> Comparison {
    let mut elements: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in old {
        if let Ok(element) = ty.element(item) {
            elements.entry(element).or_default().0.push(item);
        }
    }
    for item in new {
        if let Ok(element) = ty.element(item) {
            elements.entry(element).or_default().1.push(item);
        }
    }
    let mut comparison = Comparison::default();
    for (element, (before, after)) in &elements {
        let (first, last) = (before.first().copied(), after.first().copied());
        match (before.len(), after.len()) {
            (0 | 1, 0 | 1) => comparison.add(|| element.clone(), compare(ty.item(), first, last)),
            // Repeated elements are owned together, as one.
            (2.., 2..) => {
                let same = before.len() == after.len()
                    && before.iter().zip(after).all(|(a, b)| is_same(a, b));
                if !same {
                    comparison.modified.insert_member(element.clone());
                }
            }
            (2.., _) => {
                if last.is_some() {
                    comparison.add(|| element.clone(), compare(ty.item(), None, last));
                }
                comparison.removed.insert_member(element.clone());
            }
            (_, 2..) => {
                if first.is_some() {
                    comparison.add(|| element.clone(), compare(ty.item(), first, None));
                }
                comparison.added.insert_member(element.clone());
            }
        }
    }
    comparison
}

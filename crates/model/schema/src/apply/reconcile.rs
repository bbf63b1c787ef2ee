//! Ownership after a schema changed: what was owned by its parts may now be owned whole.

use super::{
    fieldset::FieldSet,
    path::PathElement,
    typed::{Elements, Form, Ty},
};

/// The set as the schema of today would have it. Parts of what is now owned whole become the whole; the other way
/// round nothing is done, as if the whole had always been owned by its parts.
pub(super) fn reconcile(ty: Ty<'_>, set: &FieldSet) -> FieldSet {
    below(ty, set)
}

fn below(ty: Ty<'_>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet {
        members: set.members.clone(),
        children: Vec::with_capacity(set.children.len()),
    };
    for (element, child) in &set.children {
        let name = match element {
            PathElement::Field(name) => Some(&**name),
            _ => None,
        };
        match type_below(ty, name) {
            Some(inner) if is_whole(inner) => out.insert_member(element.clone()),
            Some(inner) => out.insert_child(element.clone(), below(inner, child)),
            None => out.insert_child(element.clone(), child.clone()),
        }
    }
    out
}

/// The type below a field, or below a list element if there is no name; `None` where nothing is to be done.
pub(super) fn type_below<'a>(ty: Ty<'a>, name: Option<&str>) -> Option<Ty<'a>> {
    if ty.form(None) != Form::Map {
        return Some(ty.item());
    }
    if ty.is_free_map() {
        return None;
    }
    ty.field(name?)
}

/// Whether values of a type have one owner although they have parts.
pub(super) fn is_whole(ty: Ty<'_>) -> bool {
    match ty.form(None) {
        Form::Map => !ty.is_free_map() && ty.is_atomic_map(),
        Form::List => matches!(ty.elements(), Elements::Atomic),
        Form::Scalar => false,
    }
}

//! Filling up objects: Kubernetes' defaults, in the form a typed server writes.
//!
//! Most defaults are data, on the field lines of the types files (`:=`, `?=`, `=`). They belong to types rather than
//! kinds, so a pod template gets them wherever it occurs. The few that look at more than one field are functions,
//! found by type in `rules.rs`.
//!
//! A typed server also drops what says nothing (`null`, empty lists and maps, zeros that mean absent), shows some
//! fields that were never set, and writes quantities and times in one way. Clients compare objects, so all of that is
//! done here too; it makes filling up idempotent and its result canonical.
//!
//! Not done here, because it needs more than the object: addresses and ports of services, priorities and service
//! accounts of pods (admission), the time a device was tainted.

mod plan;
mod pod;
mod rules;
mod service;
#[cfg(test)]
mod tests;
mod twins;
mod walk;
mod workload;

use object::{GroupVersionKind, Value};

pub(crate) use self::workload::cpu_metric;

use crate::{kinds, types};

/// Fills `object` up with the defaults of its kind and brings it into canonical form. Kinds that are not built in, and
/// values that have not the shape their type asks for, are left as they are.
pub fn apply_defaults(gvk: &GroupVersionKind, object: &mut Value) {
    if let Some(kind) = kinds::kind(gvk) {
        apply_to_type(&kind.type_name(), object);
    }
}

/// The same for a value of any built-in type, such as `io.k8s.api.autoscaling.v1.Scale`.
pub fn apply_to_type(type_name: &str, value: &mut Value) {
    if let Some(id) = types::catalog().id(type_name) {
        walk::clean(plan::plans(), id, value);
        walk::fill(plan::plans(), id, value);
    }
}

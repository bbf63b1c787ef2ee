//! A number of replicas is a number of things: never less than none, and within 32 bits as everywhere in the API.
//!
//! A binding that asked for less than none would be placed nowhere, and its template would go to members undivided.

use std::fmt;

use api::work::v1alpha2::Component;
use object::field::FieldPath;

/// What is wrong with a number of replicas.
pub(crate) fn wrong(replicas: i32) -> Option<String> {
    (replicas < 0).then(|| beyond(replicas))
}

/// The first of these components with a wrong number of replicas, by its place in the list, and what is wrong with it.
pub(crate) fn miscounted(
    components: &[Component],
    list: &FieldPath,
) -> Option<(FieldPath, String)> {
    let mut components = components.iter().enumerate();
    components.find_map(|(position, component)| {
        let problem = wrong(component.replicas)?;
        Some((list.index(position).child("replicas"), problem))
    })
}

/// That a number is none of replicas, in words.
pub(crate) fn beyond(number: impl fmt::Display) -> String {
    format!("{number} is not between 0 and {}", i32::MAX)
}

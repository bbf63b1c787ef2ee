//! An answer that is an object must still be the object that was asked about.
//!
//! Whoever may say how a kind is interpreted would otherwise say what any object in members is.

use object::Object;

/// The field by which `now` is another object than `given`, and what is wrong with it.
pub(crate) fn changed(given: &Object, now: &Object) -> Option<(&'static str, String)> {
    let identity = [
        ("apiVersion", now.api_version(), given.api_version()),
        ("kind", now.kind(), given.kind()),
        ("metadata.name", now.name(), given.name()),
        ("metadata.namespace", now.namespace(), given.namespace()),
    ];
    let (field, now, before) = identity
        .into_iter()
        .find(|(_, now, before)| now != before)?;
    let problem = format!("is {now:?} and was {before:?}; it must not change");
    Some((field, problem))
}

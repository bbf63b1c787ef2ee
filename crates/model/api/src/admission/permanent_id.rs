//! Ids that stay with an object and all that is made from it.

use object::{Object, parse::ShapeError};

use super::{Refusal, Request};
use crate::read::ReadError;

/// Gives the object an id under the label `key`, unless it has one: a restored object keeps its own.
pub(super) fn keep_or_give(
    object: &mut Object,
    kind: &'static str,
    key: &str,
    request: &Request<'_>,
) -> Result<(), Refusal> {
    if object.label(key).is_some_and(|id| !id.is_empty()) {
        return Ok(());
    }
    let id = (request.fresh_id)();
    object
        .set(&["metadata", "labels", key], id)
        .map_err(|error| Refusal::Unreadable {
            problem: ReadError::Field {
                kind,
                source: ShapeError {
                    path: error.path,
                    problem: "expected an object".to_owned(),
                },
            },
        })
}

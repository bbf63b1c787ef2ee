//! What of a Secret is not shown to whoever looks over a shoulder: that it differs may be told, not how.

use object::{Map, Value};

/// Where a Secret keeps it: the last is what `kubectl apply` notes, whole.
const PLACES: [&str; 3] = [
    "/data",
    "/stringData",
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
];

/// Which side of a change a value is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// Whether an object is a Secret.
pub(crate) fn is_secret(object: &Map) -> bool {
    let is = |field: &str, expected: &str| object.get(field).is_some_and(|found| found == expected);
    is("kind", "Secret") && is("apiVersion", "v1")
}

/// A value of a Secret as it may be shown: as it is, or a mark that there is one.
pub(crate) fn masked(path: &str, value: Option<Value>, when: When) -> Option<Value> {
    let is_below = |path: &str, place: &str| {
        let rest = path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // What is above such a place has it inside.
    let tells = |place: &&str| is_below(path, place) || is_below(place, path);
    if !PLACES.iter().any(tells) {
        return value;
    }
    let mark = match when {
        When::Before => "*** (before)",
        When::After => "*** (after)",
    };
    value.map(|_| mark.into())
}

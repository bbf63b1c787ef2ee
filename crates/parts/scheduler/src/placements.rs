//! Placements, read and compiled once for all bindings that carry the same.
//!
//! A policy claims many templates, and each of their bindings carries a copy of its placement. Reading one costs far
//! more than comparing its text.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use api::policy::Placement;
use object::{Value, parse};
use schedule::{placement::PreparedPlacement, trigger::Applied};

/// How many placements are kept; then all are forgotten and the ones in use come back.
const KEPT: usize = 4096;

/// A placement in every form a decision needs.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// As the binding has it.
    pub placement: Placement,
    /// Compiled for decisions.
    pub compiled: PreparedPlacement,
    /// As the annotation on the binding spells it.
    pub text: String,
}

/// Why a placement cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlacementError {
    /// It does not have the shape of one.
    #[error("cannot read the placement")]
    Shape(#[source] parse::ShapeError),
    /// It cannot be written down again.
    #[error("cannot write the placement down: {0}")]
    Text(String),
}

/// What was compiled, by the text of the placement as it is in the binding.
#[derive(Debug, Default)]
pub(crate) struct Placements {
    known: Mutex<HashMap<String, Arc<Prepared>>>,
    /// Annotations that are not the text of the placement they stand beside: older placements, other spellings.
    applied: Mutex<HashMap<String, Option<Arc<Placement>>>>,
}

impl Placements {
    /// The placement in `value`, ready for decisions.
    pub(crate) fn prepare(&self, value: &Value) -> Result<Arc<Prepared>, PlacementError> {
        let spelling = value.to_string();
        if let Some(prepared) = lock(&self.known).get(&spelling) {
            return Ok(Arc::clone(prepared));
        }
        let placement: Placement = parse::shape(value).map_err(PlacementError::Shape)?;
        let text = serde_json::to_string(&placement)
            .map_err(|error| PlacementError::Text(error.to_string()))?;
        let prepared = Arc::new(Prepared {
            compiled: PreparedPlacement::compile(&placement),
            placement,
            text,
        });
        put(&self.known, spelling, Arc::clone(&prepared));
        Ok(prepared)
    }

    /// The placement that an annotation keeps; `None` if it cannot be read.
    pub(crate) fn applied(&self, text: &str) -> Option<Arc<Placement>> {
        if let Some(known) = lock(&self.applied).get(text) {
            return known.clone();
        }
        let read = serde_json::from_str::<Value>(text).ok();
        let read = read.and_then(|value| parse::shape::<Placement, _>(&value).ok());
        let read = read.map(Arc::new);
        put(&self.applied, text.to_owned(), read.clone());
        read
    }
}

/// The placement that led to the present targets, compared by text before it is read.
#[derive(Clone, Debug)]
pub(crate) enum Previous {
    /// There is no annotation.
    Absent,
    /// It says what the binding says.
    Same,
    /// It says something else.
    Other(Arc<Placement>),
    /// It cannot be read.
    Unreadable,
}

impl Previous {
    /// What `annotation` says, beside a binding with the placement `present`.
    #[must_use]
    pub(crate) fn of(
        annotation: Option<&str>,
        present: &Prepared,
        placements: &Placements,
    ) -> Self {
        match annotation {
            None => Self::Absent,
            Some(text) if text == present.text => Self::Same,
            Some(text) => placements
                .applied(text)
                .map_or(Self::Unreadable, Self::Other),
        }
    }

    /// As the trigger looks at it.
    #[must_use]
    pub(crate) fn applied<'a>(&'a self, present: &'a Prepared) -> Applied<'a> {
        match self {
            Self::Absent => Applied::Absent,
            Self::Same => Applied::Placement(&present.placement),
            Self::Other(placement) => Applied::Placement(placement),
            Self::Unreadable => Applied::Unreadable,
        }
    }
}

fn put<V>(map: &Mutex<HashMap<String, V>>, key: String, value: V) {
    let mut map = lock(map);
    if map.len() >= KEPT {
        map.clear();
    }
    map.insert(key, value);
}

/// The maps are never left half changed, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_placements_are_compiled_once() {
        let placements = Placements::default();
        let value = json!({"clusterAffinity": {"clusterNames": ["m1"]}, "spreadConstraints": []});
        let one = placements.prepare(&value).unwrap();
        let other = placements.prepare(&value.clone()).unwrap();
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(one.text, r#"{"clusterAffinity":{"clusterNames":["m1"]}}"#);
    }

    #[test]
    fn an_annotation_is_read_only_if_its_text_differs() {
        let placements = Placements::default();
        let present = placements
            .prepare(&json!({"clusterAffinity": {"clusterNames": ["m1"]}}))
            .unwrap();
        let of = |text| match Previous::of(text, &present, &placements) {
            Previous::Absent => "absent".to_owned(),
            Previous::Same => "same".to_owned(),
            Previous::Other(placement) => (*placement == present.placement).to_string(),
            Previous::Unreadable => "unreadable".to_owned(),
        };
        assert_eq!(of(None), "absent");
        assert_eq!(of(Some(&present.text)), "same");
        let spaced = r#"{"clusterAffinity": {"clusterNames": ["m1"], "exclude": []}}"#;
        assert_eq!(of(Some(spaced)), "true");
        assert_eq!(of(Some(r#"{"clusterAffinity":{}}"#)), "false");
        for unreadable in ["", "{", "7", r#"{"clusterAffinity":7}"#] {
            assert_eq!(of(Some(unreadable)), "unreadable", "{unreadable}");
        }
    }

    #[test]
    fn what_is_no_placement_is_refused_with_its_path() {
        let problem = Placements::default()
            .prepare(&json!({"clusterAffinity": {"clusterNames": "m1"}}))
            .unwrap_err();
        let PlacementError::Shape(shape) = problem else {
            panic!("a shape was expected")
        };
        assert!(
            shape
                .to_string()
                .starts_with("clusterAffinity.clusterNames: "),
            "{shape}"
        );
    }
}

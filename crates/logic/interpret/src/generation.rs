//! Which generation of the template a status speaks of.
//!
//! The template's generation travels to the members as an annotation and comes back inside the reflected status, beside
//! the member's own generation. So the template's `observedGeneration` can be moved on exactly when every member has
//! seen the latest template and reported on it. Replica counts are written in any case: right after an edit the
//! template shows the old numbers with an `observedGeneration` that lags behind, which is how tools know to wait.
//!
//! This is the same for every kind whose status has the field, whatever else is in it.
//! Upstream: four kinds have it, and for StatefulSets it never moves on, because their reflected status leaves out what
//! the members observed.

use api::{well_known::annotations, work::v1alpha2::AggregatedStatusItem};
use object::{Map, Object, Value};

use crate::{error::RuleError, node::Node};

/// The generation of the member's object, in its reflected status.
pub const GENERATION: &str = "generation";

/// The generation of the template that the member's object was made from, in its reflected status.
pub const TEMPLATE_GENERATION: &str = "resourceTemplateGeneration";

/// The generation that a status speaks of.
pub const OBSERVED_GENERATION: &str = "observedGeneration";

/// Notes in a status that is carried back which generations it speaks of.
///
/// A member's object without the annotation counts as made from generation 0, so it never moves the template on.
/// Upstream: its whole status is dropped.
pub fn stamp(status: &mut Map, observed: &Object) -> Result<(), RuleError> {
    let template = template_generation(Node::of(observed))?;
    stamp_all(status, observed, template)
}

/// [`stamp`], where an annotation that cannot be read is as good as none.
pub(crate) fn stamp_if_known(status: &mut Map, observed: &Object) -> Result<(), RuleError> {
    let annotation = observed.annotation(annotations::TEMPLATE_GENERATION);
    let template = annotation.and_then(|text| text.parse().ok());
    stamp_all(status, observed, template.unwrap_or_default())
}

fn stamp_all(status: &mut Map, observed: &Object, template: i64) -> Result<(), RuleError> {
    let root = Node::of(observed);
    let seen = root.at(&["status", OBSERVED_GENERATION])?.integer()?;
    let own = root.at(&["metadata", "generation"])?.integer()?;
    put(status, GENERATION, own.unwrap_or_default());
    put(status, TEMPLATE_GENERATION, template);
    put(status, OBSERVED_GENERATION, seen.unwrap_or_default());
    Ok(())
}

/// What the template's `observedGeneration` is to be: its generation if every member reports on that, else what it was.
///
/// No members are all members, so a template that goes nowhere has been observed.
pub fn observed(template: &Object, items: &[AggregatedStatusItem]) -> Result<i64, RuleError> {
    let root = Node::of(template);
    let latest = root
        .at(&["metadata", "generation"])?
        .integer()?
        .unwrap_or_default();
    for item in items {
        if !is_current(item, latest)? {
            let before = root.at(&["status", OBSERVED_GENERATION])?.integer()?;
            return Ok(before.unwrap_or_default());
        }
    }
    Ok(latest)
}

/// Whether the member reports on its latest generation, and that was made from this generation of the template.
fn is_current(item: &AggregatedStatusItem, latest: i64) -> Result<bool, RuleError> {
    const NAMES: [&str; 3] = [GENERATION, OBSERVED_GENERATION, TEMPLATE_GENERATION];
    let status = Node::reported(item);
    if status.is_absent() {
        return Ok(false);
    }
    let mut found = [0_i64; NAMES.len()];
    status.integers(
        |name| NAMES.iter().position(|known| *known == name),
        |position, number| {
            if let Some(place) = found.get_mut(position) {
                *place = number;
            }
        },
    )?;
    let [own, observed, template] = found;
    Ok(template >= latest && observed >= own)
}

fn template_generation(root: Node<'_, '_>) -> Result<i64, RuleError> {
    let annotations = root.at(&["metadata", "annotations"])?;
    let Some(value) = annotations
        .fields()?
        .and_then(|fields| fields.get(annotations::TEMPLATE_GENERATION))
    else {
        return Ok(0);
    };
    let annotation = annotations.key(annotations::TEMPLATE_GENERATION, value);
    let text = annotation.text_or_empty()?;
    text.parse()
        .map_err(|_| annotation.wrong(format!("{text:?} is not a generation")))
}

/// Zero is left out, as the API does with it.
fn put(status: &mut Map, name: &str, generation: i64) {
    if generation != 0 {
        status.insert(name.to_owned(), Value::from(generation));
    }
}

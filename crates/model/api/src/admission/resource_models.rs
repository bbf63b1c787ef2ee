//! Grades of nodes: how they are filled in, put into order and checked.

use object::{
    field::{FieldError, FieldPath},
    quantity::{Format, Quantity},
};

use super::problems::shown;
use crate::cluster::{ResourceModel, ResourceModelRange};

/// The grades of a cluster that is made without any: each begins at so many cores and GiB, and ends where the next
/// begins.
const DEFAULT_STARTS: &[(i64, i64)] = &[
    (0, 0),
    (1, 4),
    (2, 16),
    (4, 32),
    (8, 64),
    (16, 128),
    (32, 256),
    (64, 512),
    (128, 1024),
];

/// Grades for a cluster that is made without any.
pub(super) fn defaults() -> Vec<ResourceModel> {
    let ends = DEFAULT_STARTS
        .iter()
        .skip(1)
        .map(|(cores, gib)| (cores_of(*cores), memory_of(*gib)));
    let last = (
        Quantity::from_units(i64::MAX, Format::DecimalSI),
        Quantity::from_units(i64::MAX, Format::BinarySI),
    );
    let spans = DEFAULT_STARTS.iter().zip(ends.chain([last]));
    (0..)
        .zip(spans)
        .map(
            |(grade, ((cores, gib), (cores_end, memory_end)))| ResourceModel {
                grade,
                ranges: vec![
                    range("cpu", cores_of(*cores), cores_end),
                    range("memory", memory_of(*gib), memory_end),
                ],
            },
        )
        .collect()
}

/// Puts grades into order, lets the first begin at nothing and the last have no end.
pub(super) fn standardise(models: &mut [ResourceModel]) {
    models.sort_by_key(|model| model.grade);
    for range in models
        .first_mut()
        .into_iter()
        .flat_map(|model| &mut model.ranges)
    {
        range.min = Quantity::from_units(0, range.min.format());
    }
    for range in models
        .last_mut()
        .into_iter()
        .flat_map(|model| &mut model.ranges)
    {
        range.max = Quantity::from_units(i64::MAX, range.max.format());
    }
}

/// Checks grades; the first thing that is wrong speaks for the whole list, because what follows depends on it.
pub(super) fn check(models: &[ResourceModel], path: FieldPath) -> Option<FieldError> {
    let problem = problem_of(models)?;
    Some(FieldError::invalid(path, shown(&models), problem))
}

fn problem_of(models: &[ResourceModel]) -> Option<&'static str> {
    let mut previous: Option<&ResourceModel> = None;
    for model in models {
        if let Some(previous) = previous {
            if previous.grade == model.grade {
                return Some("grades must differ");
            }
            if previous.ranges.len() != model.ranges.len() {
                return Some("all grades must have the same number of ranges");
            }
        }
        let is_last = std::ptr::eq(model, models.last()?);
        for (position, range) in model.ranges.iter().enumerate() {
            let before = previous.and_then(|previous| previous.ranges.get(position));
            if let Some(problem) = range_problem(range, before, is_last) {
                return Some(problem);
            }
        }
        previous = Some(model);
    }
    None
}

fn range_problem(
    range: &ResourceModelRange,
    before: Option<&ResourceModelRange>,
    is_last: bool,
) -> Option<&'static str> {
    if range.max <= range.min {
        return Some("the max of a range must be greater than its min");
    }
    match before {
        None if !range.min.is_zero() => {
            return Some("the ranges of the first grade must begin at 0");
        }
        Some(before) if before.name != range.name => {
            return Some("all grades must have the same resources in the same order");
        }
        // Upstream: the writing counts, so that 4Gi and 4096Mi do not meet.
        Some(before) if !before.max.same_representation(range.min) => {
            return Some(
                "a range must begin where that of the grade before ends, in the same writing",
            );
        }
        _ => {}
    }
    if is_last && range.max.value() != i64::MAX {
        return Some("the ranges of the last grade must end at 9223372036854775807");
    }
    None
}

fn range(name: &str, min: Quantity, max: Quantity) -> ResourceModelRange {
    ResourceModelRange {
        name: name.to_owned(),
        min,
        max,
    }
}

fn cores_of(cores: i64) -> Quantity {
    Quantity::from_units(cores, Format::DecimalSI)
}

fn memory_of(gib: i64) -> Quantity {
    const GIB: i64 = 1 << 30;
    Quantity::from_units(gib * GIB, Format::BinarySI)
}

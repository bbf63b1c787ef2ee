//! Pages about objects of every kind that has one of its own. A case is what a server says: the object first, then what
//! stands beside it. The pages were compared with what `kubectl describe` 1.32 makes of the same cases.

mod cluster;
mod network;
mod storage;
mod unusual;
mod workloads;

use object::Object;

use super::beside::Beside;
use super::{Facts, generic, summary};
use crate::failure::Failure;
use crate::yaml::read_documents;

/// The objects of a case.
fn read(case: &str) -> Vec<Object> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/describe/cases");
    let text = std::fs::read_to_string(format!("{folder}/{case}.yaml")).unwrap();
    let documents = read_documents(&text).unwrap().into_iter();
    documents
        .map(|value| Object::from_value(value).unwrap())
        .collect()
}

/// The page about the first object of a case, at the turn of the year.
fn page(case: &str) -> String {
    let objects = read(case);
    let (object, others) = objects.split_first().unwrap();
    write(object, None, |kind| {
        let found = others.iter().filter(|other| other.kind() == kind);
        Ok(found.cloned().collect())
    })
}

/// The page about an object; `find` says what stands beside it of a kind.
fn write(
    object: &Object,
    cluster: Option<&str>,
    find: impl Fn(&str) -> Result<Vec<Object>, Failure>,
) -> String {
    let summary = summary::of(object);
    let mut beside = Beside::default();
    for need in summary.map_or(&[] as &[_], |summary| summary.needs) {
        beside.insert(need.plural, find(need.kind));
    }
    let facts = Facts {
        object,
        cluster,
        beside,
        events: Some(find("Event")),
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
    };
    match summary {
        Some(summary) => summary.page(&facts),
        None => generic::page(&facts),
    }
}

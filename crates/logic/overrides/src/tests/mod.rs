//! Cases: policies, an object and a cluster in, the rendered object out.

mod clusters;
mod documents;
mod identity;
mod images;
mod metadata;
mod order;
mod plaintext;
mod properties;
mod records;
mod rights;
mod words;

use std::error::Error;

use api::{
    cluster::Cluster,
    policy::{ClusterOverridePolicy, OverridePolicy},
    read::read,
};
use object::Object;

use crate::{ClusterFacts, OverrideError, Overrides, Policy, Rendered, Template, explain, render};

pub(crate) fn one(document: &str) -> Object {
    serde_saphyr::from_str(document).unwrap()
}

/// The policies among the documents.
pub(crate) fn policies(documents: &str) -> Overrides {
    let documents: Vec<Object> = serde_saphyr::from_multiple(documents).unwrap();
    documents.iter().map(policy).collect()
}

pub(crate) fn policy(document: &Object) -> Policy {
    if document.kind() == "OverridePolicy" {
        Policy::from(&read::<OverridePolicy>(document).unwrap())
    } else {
        Policy::from(&read::<ClusterOverridePolicy>(document).unwrap())
    }
}

pub(crate) fn cluster(document: &str) -> Cluster {
    read(&one(document)).unwrap()
}

/// What an object becomes in the cluster m1.
pub(crate) fn rendered(
    policies: &Overrides,
    object: &Object,
) -> Result<Rendered, Box<OverrideError>> {
    let m1 = cluster("{kind: Cluster, metadata: {name: m1}}");
    let facts = ClusterFacts::from(&m1);
    let plain = render(policies, &Template::new(object), &facts);
    // Invariant: explaining comes to the same result.
    let (_, explained) = explain(policies, &Template::new(object), &facts);
    match (&plain, &explained) {
        (Ok(plain), Ok(explained)) => assert_eq!(plain, explained),
        (Err(plain), Err(explained)) => assert_eq!(chain(plain), chain(explained)),
        other => panic!("{other:?}"),
    }
    plain
}

/// An object after one rule, given as the fields of its overriders, as compact JSON; or what is wrong.
pub(crate) fn after(overriders: &str, object: &str) -> String {
    let policies = policies(&format!(
        "{{kind: OverridePolicy, metadata: {{name: op, namespace: test}}, spec: {{overrideRules: [{{overriders: {{{overriders}}}}}]}}}}"
    ));
    match rendered(&policies, &one(object)) {
        Ok(rendered) => serde_json::to_string(&rendered.object).unwrap(),
        Err(error) => chain(&error),
    }
}

/// The value at a path of the object after one rule, as compact JSON; or what is wrong.
pub(crate) fn value_after(overriders: &str, object: &str, pointer: &str) -> String {
    let text = after(overriders, object);
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(object) => object
            .pointer(pointer)
            .map_or_else(|| "nothing".to_owned(), ToString::to_string),
        Err(_) => text,
    }
}

/// An error and its causes.
pub(crate) fn chain(error: &OverrideError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

//! What an object is, which no override changes: members get the template's copy and no other object.

use object::{Object, Value};

use crate::problem::{Fault, Problem};

/// The group, kind, namespace and name of a template. The version is not part of it: it is a form of the same object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Identity<'a> {
    pub(crate) fn of(template: &'a Object) -> Self {
        Self {
            group: group(template.api_version()),
            kind: template.kind(),
            namespace: template.namespace(),
            name: template.name(),
        }
    }

    /// Whether a document is still the same object; the first thing that differs is told.
    pub(crate) fn check(&self, document: &Value) -> Result<(), Fault> {
        // By key and not by pointer, which would copy every key: this runs after each overrider.
        let whole = Some(document);
        let metadata = document.get("metadata");
        for (what, path, from, to) in [
            (
                "API group",
                "/apiVersion",
                self.group,
                group(text(whole, "apiVersion")),
            ),
            ("kind", "/kind", self.kind, text(whole, "kind")),
            (
                "namespace",
                "/metadata/namespace",
                self.namespace,
                text(metadata, "namespace"),
            ),
            ("name", "/metadata/name", self.name, text(metadata, "name")),
        ] {
            if from != to {
                return Err(Fault {
                    path: path.to_owned(),
                    problem: Problem::Identity {
                        what,
                        from: from.to_owned(),
                        to: to.to_owned(),
                    },
                });
            }
        }
        Ok(())
    }
}

fn text<'a>(parent: Option<&'a Value>, key: &str) -> &'a str {
    let found = parent.and_then(|parent| parent.get(key));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// What is before the version. A text with more parts names no group, and is none but its own.
fn group(api_version: &str) -> &str {
    match api_version.split_once('/') {
        None => "",
        Some((_, version)) if version.contains('/') => api_version,
        Some((group, _)) => group,
    }
}

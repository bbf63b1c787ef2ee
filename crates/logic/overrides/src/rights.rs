//! What an object lets people do, which no override changes: nobody is asked there whether they hold what they give.

use std::collections::BTreeMap;

use object::{Object, Value};

use crate::problem::{Fault, Problem};

const GROUP: &str = "rbac.authorization.k8s.io/";
const KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
/// Where such objects say who may do what.
const FIELDS: [&str; 4] = ["rules", "aggregationRule", "roleRef", "subjects"];

/// The template, if it is an object that gives rights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights<'a>(Option<&'a Object>);

impl<'a> Rights<'a> {
    pub(crate) fn of(template: &'a Object) -> Self {
        let gives = template.api_version().starts_with(GROUP) && KINDS.contains(&template.kind());
        Self(gives.then_some(template))
    }

    /// Whether a document gives the same rights; the first field that differs is told. By what came out and not by the
    /// paths of rules, which have many ways to one place.
    pub(crate) fn check(&self, document: &Value) -> Result<(), Fault> {
        let Some(template) = self.0 else {
            return Ok(());
        };
        for field in FIELDS {
            if said(template.fields().get(field)) != said(document.get(field)) {
                return Err(Fault {
                    path: format!("/{field}"),
                    problem: Problem::Rights,
                });
            }
        }
        let (before, after) = (
            gathered(template.fields().get("metadata")),
            gathered(document.get("metadata")),
        );
        let mut labels = before.keys().chain(after.keys());
        match labels.find(|label| before.get(*label) != after.get(*label)) {
            None => Ok(()),
            Some(label) => Err(Fault {
                path: format!(
                    "/metadata/labels/{}",
                    label.replace('~', "~0").replace('/', "~1")
                ),
                problem: Problem::Rights,
            }),
        }
    }
}

/// The labels by which other roles gather the rights of one. Whom a member's own roles gather by other labels is not known
/// here; these are the labels of the roles that every cluster has, and the usual form of others.
fn gathered(metadata: Option<&Value>) -> BTreeMap<&str, &Value> {
    let labels = metadata.and_then(|metadata| metadata.get("labels"));
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    labels
        .filter(|(label, _)| label.starts_with(GROUP) || label.contains("aggregate-to-"))
        .map(|(label, value)| (label.as_str(), value))
        .collect()
}

/// Null says nothing.
fn said(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

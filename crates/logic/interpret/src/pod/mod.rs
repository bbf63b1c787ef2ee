//! What is in a pod spec: what the pod needs, and what it refers to.
//!
//! Kinds that run pods have their pod spec at different places; all of them are read here, as are the pod templates
//! that scripts hand in.

mod needs;
mod references;
mod requests;

use api::{config::DependentObjectReference, work::v1alpha2::ReplicaRequirements};
use object::Value;

use crate::{error::RuleError, native::Options, node::Node};

pub(crate) use crate::pod::{
    needs::requirements,
    references::{core, references},
};

/// What one pod of this template needs, or `None` if it can run anywhere.
pub fn template_requirements(
    template: &Value,
    options: Options,
) -> Result<Option<ReplicaRequirements>, RuleError> {
    requirements(Node::value(template, "").at(&["spec"])?, options)
}

/// What pods of this template refer to, all of it in `namespace`.
pub fn template_references(
    template: &Value,
    namespace: &str,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    references(Node::value(template, "").at(&["spec"])?, namespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_on_its_own_is_read_like_one_in_a_workload() {
        let template = json!({"spec": {
            "priorityClassName": "high",
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}, "envFrom": [{"secretRef": {"name": "s"}}]}],
        }});
        let options = Options {
            resource_quota_estimate: true,
        };
        let needs = template_requirements(&template, options).unwrap().unwrap();
        assert_eq!(needs.priority_class_name, "high");
        assert_eq!(needs.resource_request["cpu"].to_string(), "1");
        let found = template_references(&template, "test").unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|to| (&*to.kind, &*to.namespace, &*to.name))
            .collect();
        assert_eq!(found, [("Secret", "test", "s")]);
    }

    #[test]
    fn errors_start_at_the_template() {
        let template = json!({"spec": {"containers": 7}});
        let error = template_requirements(&template, Options::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.containers: expected a list, found a number"
        );
    }
}

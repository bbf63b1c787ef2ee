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

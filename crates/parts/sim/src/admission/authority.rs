//! What users may do, for policies that ask.

use std::sync::Arc;

use access::Access;
use access::attempt::{Attempt, What};
use access::policy::Decision;
use serve::call::User;
use serve::target::ResourceTarget;

/// Answers questions of expressions by the roles in force.
pub(crate) struct Asker(pub(crate) Arc<Access>);

impl admission::Authority for Asker {
    fn decide(&self, user: &User, question: &cel::Question) -> cel::Decision {
        let what = match &question.path {
            Some(path) => What::Path(path.to_string()),
            None => What::Resource(ResourceTarget {
                group: question.group.to_string(),
                version: "*".to_owned(),
                namespace: question.namespace.to_string(),
                resource: question.resource.to_string(),
                name: question.name.to_string(),
                subresource: question.subresource.to_string(),
                rest: String::new(),
            }),
        };
        let verb = question.verb.to_string().into();
        let decision = self.0.decide(user, &Attempt { verb, what });
        cel::Decision {
            allowed: !matches!(decision, Decision::Denied(_)),
            reason: decision.reason(),
            error: None,
        }
    }
}

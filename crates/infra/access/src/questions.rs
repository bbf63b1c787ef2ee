//! What users may do, for expressions that ask.

use std::sync::Arc;

use serve::call::User;
use serve::target::ResourceTarget;

use crate::access::Access;
use crate::attempt::{Attempt, What};
use crate::policy::Decision;

impl Access {
    /// Answers questions of expressions by the roles in force.
    pub fn answers(
        self: &Arc<Self>,
    ) -> impl Fn(&User, &cel::Question) -> cel::Decision + Send + Sync + use<> {
        let access = Arc::clone(self);
        move |user, question| access.answer(user, question)
    }

    fn answer(&self, user: &User, question: &cel::Question) -> cel::Decision {
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
        let decision = self.decide(user, &Attempt { verb, what });
        cel::Decision {
            allowed: !matches!(decision, Decision::Denied(_)),
            reason: decision.reason(),
            error: None,
        }
    }
}

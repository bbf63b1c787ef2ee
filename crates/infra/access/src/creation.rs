//! Whoever makes an object must be let create it, whichever way they ask: an apply or an update of an object that is not
//! there makes one too.
//!
//! The gate reads heads of requests, which say `patch` or `update` of these. Whether they make something is known only
//! where objects are looked up, so this is asked there, as admission.

use std::sync::{Arc, OnceLock};

use serve::call::{Admission, Call, Proposal, Verdict, at_once};
use serve::status::Status;
use serve::target::Verb;

use crate::access::Access;
use crate::attempt::Attempt;
use crate::names;
use crate::policy::Decision;

/// Judges applies and updates that make an object.
///
/// It is to be the first that is asked: nobody else, least of all a webhook, is shown what may not be made. Upstream:
/// mutating webhooks are.
#[derive(Default)]
pub struct CreationCheck {
    /// Set once the server is open, before it answers anybody.
    access: OnceLock<Arc<Access>>,
}

impl CreationCheck {
    /// Judges by these rules from now on.
    pub fn judge_by(&self, access: &Arc<Access>) {
        drop(self.access.set(Arc::clone(access)));
    }

    fn check(&self, call: &Call) -> Result<(), Status> {
        let is_let_already = !matches!(call.verb, Verb::Patch | Verb::Update);
        if is_let_already || !call.target.subresource.is_empty() || names::is_master(&call.user) {
            return Ok(());
        }
        let Some(access) = self.access.get() else {
            return Ok(());
        };
        // The name counts, unlike in a creation by its own verb: rules for one name let that one be made.
        let attempt = Attempt::on("create", call.target.clone());
        match access.decide(&call.user, &attempt) {
            Decision::Denied(why) => Err(attempt.forbidden(&call.user, &why)),
            _ => Ok(()),
        }
    }
}

impl Admission for CreationCheck {
    fn mutate<'a>(&'a self, call: &'a Call, proposal: Proposal<'a>) -> Verdict<'a> {
        let is_made = proposal.old.is_none() && proposal.new.is_some();
        let verdict = if is_made { self.check(call) } else { Ok(()) };
        at_once(verdict.map(|()| Vec::new()))
    }
}

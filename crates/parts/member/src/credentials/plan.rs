//! Which tokens are to be replaced, and when.

use api::cluster::{Cluster, sync_mode};
use intent::{Action, Part, Plan};
use object::time::Time;
use object::{Object, ObjectKey, Value};
use serde_json::json;

use crate::connect::token_in;
use crate::credentials::EXPIRES_AT;
use crate::credentials::token::Claims;
use crate::resources;

/// Everything the decision may look at.
pub(super) struct Inputs<'a> {
    pub(super) object: &'a Object,
    pub(super) cluster: &'a Cluster,
    /// The Secrets that the cluster names and owns, as far as they are there.
    pub(super) secrets: &'a [&'a Object],
    pub(super) now: Time,
}

/// What is to be done about a cluster's credentials.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// Tokens to ask the member for.
    pub(super) due: Vec<Due>,
    /// What is written about them on the cluster, and when to look again.
    pub(super) plan: Plan,
}

/// A token that is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Whose it is, in the member.
    pub(super) account: ObjectKey,
    /// Where it is kept, here.
    pub(super) secret: ObjectKey,
    /// How long the one that is there was to last.
    pub(super) seconds: i64,
}

pub(super) fn decide(inputs: &Inputs<'_>) -> Decision {
    let mut decision = Decision::default();
    let is_ours = inputs.cluster.spec.sync_mode == sync_mode::PUSH;
    if !is_ours || inputs.object.is_terminating() {
        return decision;
    }
    let mut earliest: Option<Time> = None;
    for secret in inputs.secrets {
        let Some(claims) = token_in(secret).as_deref().and_then(Claims::of) else {
            continue;
        };
        earliest = Some(earliest.map_or(claims.expires, |known| known.min(claims.expires)));
        if claims.renewal() > inputs.now {
            decision.plan.wake_at(claims.renewal());
            continue;
        }
        decision.due.push(Due {
            secret: secret.key(),
            seconds: claims.expires.seconds_since(claims.issued),
            account: claims.account,
        });
    }
    let wanted = earliest.map(|time| time.to_string());
    if inputs.object.annotation(EXPIRES_AT) != wanted.as_deref() {
        let wanted = wanted.map_or(Value::Null, Value::from);
        let patch = json!({"metadata": {"annotations": {EXPIRES_AT: wanted}}});
        let resource = resources::of::<Cluster>();
        let action = Action::patch(resource, inputs.object, patch, Part::Object);
        decision.plan.push(action);
    }
    decision
}

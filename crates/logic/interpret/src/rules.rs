//! What a layer of rules offers.

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component, ReplicaRequirements},
};
use object::{Object, Value};

use crate::{error::RuleError, kind::KindRef, operation::Operation};

/// How many replicas a template asks for, and what one of them needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replicas {
    /// How many.
    pub replicas: i32,
    /// What one needs; `None` if it can run anywhere.
    pub requirements: Option<ReplicaRequirements>,
}

/// Which questions a layer answers.
pub trait Coverage: Send + Sync {
    /// Whether there is a rule for this operation on exactly this kind.
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool;

    /// Whose rule it is, if the layer has rules of several.
    fn origin(&self, kind: KindRef<'_>, operation: Operation) -> Option<String> {
        let _ = (kind, operation);
        None
    }
}

/// A layer whose rules run in this process.
///
/// Only what [`covers`](Coverage::covers) promised is ever asked.
pub trait Rules: Coverage {
    /// How many replicas the template asks for, and what one needs.
    fn replicas(&self, template: &Object) -> Result<Replicas, RuleError>;

    /// The kinds of pod in the template, each with its replicas.
    fn components(&self, template: &Object) -> Result<Vec<Component>, RuleError>;

    /// The template with that number of replicas.
    fn revise(&self, template: Object, replicas: i32) -> Result<Object, RuleError>;

    /// The desired object with what the member owns taken from the observed one.
    fn retain(&self, desired: Object, observed: &Object) -> Result<Object, RuleError>;

    /// The next `.status` of the template; `None` leaves it as it is.
    ///
    /// An item without a status is a member that has not reported yet.
    fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError>;

    /// The part of the member's status that is carried back; `None` if there is none.
    fn reflect(&self, observed: &Object) -> Result<Option<Value>, RuleError>;

    /// Whether the member's object does what it should.
    fn is_healthy(&self, observed: &Object) -> Result<bool, RuleError>;

    /// What the template refers to.
    fn dependencies(&self, template: &Object) -> Result<Vec<DependentObjectReference>, RuleError>;
}

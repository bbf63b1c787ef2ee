//! Rules for Kubernetes' own kinds, one file for each.
//!
//! A kind is a row of [`KINDS`]: a function for each operation it has a rule for. Status is reflected for every kind
//! there is: where no rule says which part, the whole of it.

mod certificates;
mod counters;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption_budget;
mod entry_points;
mod horizontal_pod_autoscaler;
mod ingress;
mod job;
mod job_status;
mod phases;
mod pods;
mod replica_set;
mod secret;
mod service;
mod service_account;
mod service_import;
mod stateful_set;
mod volumes;
mod workload;

pub(crate) use secret::ACCOUNT_TOKEN;

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use object::{Object, Value};

use crate::{
    error::RuleError,
    kind::KindRef,
    node::Node,
    operation::Operation,
    rules::{Coverage, Replicas, Rules},
};

/// What the native rules are told by configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The feature gate `ResourceQuotaEstimate`: say which namespace and priority class replicas have.
    pub resource_quota_estimate: bool,
}

/// The native layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native {
    options: Options,
}

/// The rules for one kind; an operation without a function has no rule.
struct KindRules {
    kind: KindRef<'static>,
    replicas: Option<CountReplicas>,
    revise: Option<Revise>,
    retain: Option<Retain>,
    aggregate: Option<Aggregate>,
    reflect: Option<Reflect>,
    is_healthy: Option<JudgeHealth>,
    dependencies: Option<FindDependencies>,
}

type CountReplicas = fn(&Object, Options) -> Result<Replicas, RuleError>;
type Revise = fn(Object, i32) -> Result<Object, RuleError>;
type Retain = fn(Object, &Object) -> Result<Object, RuleError>;
type Aggregate = fn(&Object, &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError>;
type Reflect = fn(&Object) -> Result<Option<Value>, RuleError>;
type JudgeHealth = fn(&Object) -> Result<bool, RuleError>;
type FindDependencies = fn(&Object) -> Result<Vec<DependentObjectReference>, RuleError>;

const KINDS: [&KindRules; 20] = [
    &deployment::RULES,
    &replica_set::RULES,
    &stateful_set::RULES,
    &daemon_set::RULES,
    &job::RULES,
    &cron_job::RULES,
    &pods::RULES,
    &service::RULES,
    &service_account::RULES,
    &secret::RULES,
    &volumes::CLAIM_RULES,
    &volumes::VOLUME_RULES,
    &ingress::RULES,
    &disruption_budget::RULES,
    &horizontal_pod_autoscaler::RULES,
    &service_import::RULES,
    &certificates::MUTATING_WEBHOOKS,
    &certificates::VALIDATING_WEBHOOKS,
    &certificates::CUSTOM_RESOURCE,
    &certificates::API_SERVICE,
];

impl Native {
    /// The native rules under this configuration.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// What they were told.
    #[must_use]
    pub fn options(self) -> Options {
        self.options
    }

    /// The kinds that have rules.
    pub fn kinds() -> impl Iterator<Item = KindRef<'static>> {
        KINDS.into_iter().map(|rules| rules.kind)
    }
}

impl KindRules {
    /// A kind without rules, to be filled in.
    const fn of(api_version: &'static str, kind: &'static str) -> Self {
        Self {
            kind: KindRef { api_version, kind },
            replicas: None,
            revise: None,
            retain: None,
            aggregate: None,
            reflect: None,
            is_healthy: None,
            dependencies: None,
        }
    }

    fn covers(&self, operation: Operation) -> bool {
        match operation {
            Operation::InterpretReplica => self.replicas.is_some(),
            Operation::InterpretComponent => false,
            Operation::ReviseReplica => self.revise.is_some(),
            Operation::Retain => self.retain.is_some(),
            Operation::AggregateStatus => self.aggregate.is_some(),
            Operation::InterpretStatus => true,
            Operation::InterpretHealth => self.is_healthy.is_some(),
            Operation::InterpretDependency => self.dependencies.is_some(),
        }
    }
}

impl Coverage for Native {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        operation == Operation::InterpretStatus
            || find(kind).is_some_and(|rules| rules.covers(operation))
    }
}

/// Asked about a kind without the rule, which [`Coverage`] rules out, each gives the answer that changes nothing.
impl Rules for Native {
    fn replicas(&self, template: &Object) -> Result<Replicas, RuleError> {
        match rule(template, |rules| rules.replicas) {
            Some(replicas) => replicas(template, self.options),
            None => Ok(Replicas::default()),
        }
    }

    fn components(&self, _: &Object) -> Result<Vec<Component>, RuleError> {
        Ok(Vec::new())
    }

    fn revise(&self, template: Object, replicas: i32) -> Result<Object, RuleError> {
        match rule(&template, |rules| rules.revise) {
            Some(revise) => revise(template, replicas),
            None => Ok(template),
        }
    }

    fn retain(&self, desired: Object, observed: &Object) -> Result<Object, RuleError> {
        match rule(&desired, |rules| rules.retain) {
            Some(retain) => retain(desired, observed),
            None => Ok(desired),
        }
    }

    fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError> {
        match rule(template, |rules| rules.aggregate) {
            Some(aggregate) => aggregate(template, items),
            None => Ok(None),
        }
    }

    fn reflect(&self, observed: &Object) -> Result<Option<Value>, RuleError> {
        match rule(observed, |rules| rules.reflect) {
            Some(reflect) => reflect(observed),
            None => reflect_whole(observed),
        }
    }

    fn is_healthy(&self, observed: &Object) -> Result<bool, RuleError> {
        match rule(observed, |rules| rules.is_healthy) {
            Some(is_healthy) => is_healthy(observed),
            None => Ok(true),
        }
    }

    fn dependencies(&self, template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
        match rule(template, |rules| rules.dependencies) {
            Some(dependencies) => dependencies(template),
            None => Ok(Vec::new()),
        }
    }
}

fn find(kind: KindRef<'_>) -> Option<&'static KindRules> {
    KINDS.into_iter().find(|rules| rules.kind == kind)
}

fn rule<F>(object: &Object, choose: impl FnOnce(&KindRules) -> Option<F>) -> Option<F> {
    find(KindRef::of(object)).and_then(choose)
}

/// The whole `.status`.
fn reflect_whole(observed: &Object) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    Ok(status.fields()?.map(|fields| Value::Object(fields.clone())))
}

/// The statuses that members have reported; a member that has not yet is left out.
fn reported(items: &[AggregatedStatusItem]) -> impl Iterator<Item = (&str, Node<'_, '_>)> {
    items
        .iter()
        .map(|item| (item.cluster_name.as_str(), Node::reported(item)))
        .filter(|(_, status)| !status.is_absent())
}

/// Puts a value into an object whose way there has been read, or says what is in the way.
fn put(object: &mut Object, path: &[&str], value: impl Into<Value>) -> Result<(), RuleError> {
    object.set(path, value).map_err(|error| RuleError::Value {
        path: error.path,
        problem: "is not an object".to_owned(),
    })
}

/// Takes what is at the path in the member's object, or its absence.
fn take(desired: &mut Object, observed: &Object, path: &[&str]) -> Result<(), RuleError> {
    match observed.at(path) {
        Some(value) => put(desired, path, value.clone()),
        None => {
            desired.remove(path);
            Ok(())
        }
    }
}

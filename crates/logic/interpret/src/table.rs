//! Rules as a table: for each kind, a function for each operation.

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use object::{Object, Value};

use crate::{
    error::RuleError,
    kind::KindRef,
    native::Options,
    node::Node,
    operation::Operation,
    rules::{Coverage, Replicas, Rules},
};

/// The rules for some kinds.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub(crate) kinds: &'static [&'static KindRules],
    /// Whether the status of every kind is carried back as a whole where no rule says which part.
    pub(crate) reflects_all: bool,
    pub(crate) options: Options,
}

/// The rules for one kind; an operation without a function has no rule.
pub(crate) struct KindRules {
    pub(crate) kind: KindRef<'static>,
    pub(crate) replicas: Option<CountReplicas>,
    pub(crate) components: Option<FindComponents>,
    pub(crate) revise: Option<Revise>,
    pub(crate) retain: Option<Retain>,
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) reflect: Option<Reflect>,
    pub(crate) is_healthy: Option<JudgeHealth>,
    pub(crate) dependencies: Option<FindDependencies>,
}

pub(crate) type CountReplicas = fn(&Object, Options) -> Result<Replicas, RuleError>;
pub(crate) type FindComponents = fn(&Object, Options) -> Result<Vec<Component>, RuleError>;
pub(crate) type Revise = fn(Object, i32) -> Result<Object, RuleError>;
pub(crate) type Retain = fn(Object, &Object) -> Result<Object, RuleError>;
pub(crate) type Aggregate =
    fn(&Object, &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError>;
pub(crate) type Reflect = fn(&Object) -> Result<Option<Value>, RuleError>;
pub(crate) type JudgeHealth = fn(&Object) -> Result<bool, RuleError>;
pub(crate) type FindDependencies = fn(&Object) -> Result<Vec<DependentObjectReference>, RuleError>;

impl KindRules {
    /// A kind without rules, to be filled in.
    pub(crate) const fn of(api_version: &'static str, kind: &'static str) -> Self {
        Self {
            kind: KindRef { api_version, kind },
            replicas: None,
            components: None,
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
            Operation::InterpretComponent => self.components.is_some(),
            Operation::ReviseReplica => self.revise.is_some(),
            Operation::Retain => self.retain.is_some(),
            Operation::AggregateStatus => self.aggregate.is_some(),
            Operation::InterpretStatus => self.reflect.is_some(),
            Operation::InterpretHealth => self.is_healthy.is_some(),
            Operation::InterpretDependency => self.dependencies.is_some(),
        }
    }
}

impl Table {
    fn find(&self, kind: KindRef<'_>) -> Option<&'static KindRules> {
        self.kinds.iter().copied().find(|rules| rules.kind == kind)
    }

    fn rule<F>(&self, object: &Object, choose: impl FnOnce(&KindRules) -> Option<F>) -> Option<F> {
        self.find(KindRef::of(object)).and_then(choose)
    }
}

impl Coverage for Table {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        (self.reflects_all && operation == Operation::InterpretStatus)
            || self.find(kind).is_some_and(|rules| rules.covers(operation))
    }
}

/// Asked about a kind without the rule, which [`Coverage`] rules out, each gives the answer that changes nothing.
impl Rules for Table {
    fn replicas(&self, template: &Object) -> Result<Replicas, RuleError> {
        match self.rule(template, |rules| rules.replicas) {
            Some(replicas) => replicas(template, self.options),
            None => Ok(Replicas::default()),
        }
    }

    fn components(&self, template: &Object) -> Result<Vec<Component>, RuleError> {
        match self.rule(template, |rules| rules.components) {
            Some(components) => components(template, self.options),
            None => Ok(Vec::new()),
        }
    }

    fn revise(&self, template: Object, replicas: i32) -> Result<Object, RuleError> {
        match self.rule(&template, |rules| rules.revise) {
            Some(revise) => revise(template, replicas),
            None => Ok(template),
        }
    }

    fn retain(&self, desired: Object, observed: &Object) -> Result<Object, RuleError> {
        match self.rule(&desired, |rules| rules.retain) {
            Some(retain) => retain(desired, observed),
            None => Ok(desired),
        }
    }

    fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError> {
        match self.rule(template, |rules| rules.aggregate) {
            Some(aggregate) => aggregate(template, items),
            None => Ok(None),
        }
    }

    fn reflect(&self, observed: &Object) -> Result<Option<Value>, RuleError> {
        match self.rule(observed, |rules| rules.reflect) {
            Some(reflect) => reflect(observed),
            None => reflect_whole(observed),
        }
    }

    fn is_healthy(&self, observed: &Object) -> Result<bool, RuleError> {
        match self.rule(observed, |rules| rules.is_healthy) {
            Some(is_healthy) => is_healthy(observed),
            None => Ok(true),
        }
    }

    fn dependencies(&self, template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
        match self.rule(template, |rules| rules.dependencies) {
            Some(dependencies) => dependencies(template),
            None => Ok(Vec::new()),
        }
    }
}

/// The whole `.status`.
pub(crate) fn reflect_whole(observed: &Object) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    Ok(status.fields()?.map(|fields| Value::Object(fields.clone())))
}

/// The statuses that members have reported; a member that has not yet is left out.
pub(crate) fn reported(
    items: &[AggregatedStatusItem],
) -> impl Iterator<Item = (&str, Node<'_, '_>)> {
    items
        .iter()
        .map(|item| (item.cluster_name.as_str(), Node::reported(item)))
        .filter(|(_, status)| !status.is_absent())
}

/// Puts a value into an object whose way there has been read, or says what is in the way.
pub(crate) fn put(
    object: &mut Object,
    path: &[&str],
    value: impl Into<Value>,
) -> Result<(), RuleError> {
    object.set(path, value).map_err(|error| RuleError::Value {
        path: error.path,
        problem: "is not an object".to_owned(),
    })
}

/// Takes what is at the path in the member's object, or its absence.
pub(crate) fn take(
    desired: &mut Object,
    observed: &Object,
    path: &[&str],
) -> Result<(), RuleError> {
    match observed.at(path) {
        Some(value) => put(desired, path, value.clone()),
        None => {
            desired.remove(path);
            Ok(())
        }
    }
}

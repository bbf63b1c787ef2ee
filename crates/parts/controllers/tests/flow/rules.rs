//! A rule that counts every Deployment as seven replicas, to be told from the native one.

use std::sync::Arc;

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use interpret::{
    Coverage, Interpreter, KindRef, Layers, Operation, Options, Replicas, RuleError, Rules,
};
use object::{Object, Value};

/// The native rules with that one above them.
pub(crate) fn seven_replicas() -> Interpreter {
    let layers = Layers {
        customization: Some(Arc::new(Seven)),
        ..Layers::default()
    };
    Interpreter::new(layers, Options::default())
}

struct Seven;

impl Coverage for Seven {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        kind.kind == "Deployment" && operation == Operation::InterpretReplica
    }
}

impl Rules for Seven {
    fn replicas(&self, _: &Object) -> Result<Replicas, RuleError> {
        Ok(Replicas {
            replicas: 7,
            requirements: None,
        })
    }

    fn components(&self, _: &Object) -> Result<Vec<Component>, RuleError> {
        Ok(Vec::new())
    }

    fn revise(&self, template: Object, _: i32) -> Result<Object, RuleError> {
        Ok(template)
    }

    fn retain(&self, desired: Object, _: &Object) -> Result<Object, RuleError> {
        Ok(desired)
    }

    fn aggregate(
        &self,
        _: &Object,
        _: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError> {
        Ok(None)
    }

    fn reflect(&self, _: &Object) -> Result<Option<Value>, RuleError> {
        Ok(None)
    }

    fn is_healthy(&self, _: &Object) -> Result<bool, RuleError> {
        Ok(true)
    }

    fn dependencies(&self, _: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
        Ok(Vec::new())
    }
}

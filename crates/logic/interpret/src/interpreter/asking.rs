//! The questions of [`Interpreter`] for those who can also ask webhooks.
//!
//! Each has an answer at once, or says whom to ask: `gather` lets [`Interpreter::settle`] send the [`WebhookCall`] and read
//! what comes back, so that decisions get answers and never know where they came from.

use std::sync::Arc;

use api::{
    config::DependentObjectReference,
    work::{
        ResourceHealth,
        v1alpha2::{AggregatedStatusItem, Component},
    },
};
use object::{Object, Value, field::FieldPath};

use crate::{
    counting,
    error::InterpretError,
    interpreter::{Interpreter, Layer, place, tidy},
    kind::KindRef,
    operation::Operation,
    retention,
    rules::Replicas,
    webhook::{Flaw, Hook, WebhookCall, patched, required},
};

/// An answer, or whom to ask for it.
#[derive(Debug)]
pub enum Answer<T> {
    /// The answer.
    Given(T),
    /// A service has it.
    Ask(Box<WebhookCall<T>>),
}

impl Interpreter {
    /// The answer itself: asks the service where one has it.
    pub async fn settle<T>(&self, answer: Answer<T>) -> Result<T, InterpretError> {
        let call = match answer {
            Answer::Given(answer) => return Ok(answer),
            Answer::Ask(call) => call,
        };
        let Some(courier) = &self.courier else {
            return Err(call.failed("nobody here can call it"));
        };
        let question = call.question()?;
        match courier.carry(&question).await {
            Ok(bytes) => call.read_bytes(&question.uid, &bytes),
            Err(problem) => Err(call.failed(problem)),
        }
    }

    /// [`Interpreter::replicas`], or the service to ask.
    pub fn ask_replicas(&self, template: &Object) -> Result<Answer<Replicas>, InterpretError> {
        let operation = Operation::InterpretReplica;
        let Some(hook) = self.hook(template, operation) else {
            return self.replicas(template).map(Answer::Given);
        };
        let (options, namespace) = (self.options, template.namespace().to_owned());
        let call = WebhookCall::new(
            hook,
            operation,
            template,
            |_| (),
            move |response| {
                let replicas = required("response.replicas", response.replicas)?;
                if let Some(problem) = counting::wrong(replicas) {
                    return Err(Flaw::new("response.replicas", problem));
                }
                let mut answer = Replicas {
                    replicas,
                    requirements: response.replica_requirements,
                };
                place(&mut answer, options, &namespace);
                Ok(answer)
            },
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::components`], or the service to ask.
    pub fn ask_components(
        &self,
        template: &Object,
    ) -> Result<Answer<Vec<Component>>, InterpretError> {
        let operation = Operation::InterpretComponent;
        let Some(hook) = self.hook(template, operation) else {
            return self.components(template).map(Answer::Given);
        };
        let call = WebhookCall::new(
            hook,
            operation,
            template,
            |_| (),
            |response| {
                let list = FieldPath::new("response.components");
                match counting::miscounted(&response.components, &list) {
                    Some((place, problem)) => Err(Flaw::new(place, problem)),
                    None => Ok(response.components),
                }
            },
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::revise`], or the service to ask.
    pub fn ask_revise(
        &self,
        template: &Object,
        replicas: i32,
    ) -> Result<Answer<Object>, InterpretError> {
        let operation = Operation::ReviseReplica;
        let Some(hook) = self.hook(template, operation) else {
            return self.revise(template, replicas).map(Answer::Given);
        };
        let before = template.clone();
        let call = WebhookCall::new(
            hook,
            operation,
            template,
            |request| request.desired_replicas = Some(replicas),
            move |response| patched(&before, &response),
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::retain_all`], or the service to ask.
    pub fn ask_retain_all(
        &self,
        desired: &Object,
        observed: &Object,
    ) -> Result<Answer<Object>, InterpretError> {
        let operation = Operation::Retain;
        let Some(hook) = self.hook(desired, operation) else {
            return self.retain_all(desired, observed).map(Answer::Given);
        };
        let merged = retention::retain_metadata(desired.clone(), observed);
        let before = merged.clone();
        let call = WebhookCall::new(
            hook,
            operation,
            &merged,
            |request| request.observed_object = Some(observed.clone().into_value()),
            move |response| patched(&before, &response),
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::aggregate`], or the service to ask.
    pub fn ask_aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Answer<Option<Value>>, InterpretError> {
        let operation = Operation::AggregateStatus;
        let Some(hook) = self.hook(template, operation) else {
            return self.aggregate(template, items).map(Answer::Given);
        };
        let before = template.clone();
        let call = WebhookCall::new(
            hook,
            operation,
            template,
            |request| request.aggregated_status = items.to_vec(),
            move |response| {
                let mut after = patched(&before, &response)?;
                let status = after.remove(&["status"]);
                Ok(status.filter(|status| before.at(&["status"]) != Some(status)))
            },
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::reflect`], or the service to ask.
    pub fn ask_reflect(&self, observed: &Object) -> Result<Answer<Option<Value>>, InterpretError> {
        let operation = Operation::InterpretStatus;
        let Some(hook) = self.hook(observed, operation) else {
            return self.reflect(observed).map(Answer::Given);
        };
        let call = WebhookCall::new(
            hook,
            operation,
            observed,
            |_| (),
            |response| {
                let field = "response.rawStatus";
                match required(field, response.raw_status)? {
                    status @ Value::Object(_) => Ok(Some(status)),
                    _ => Err(Flaw::new(field, "is no object")),
                }
            },
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::health`], or the service to ask.
    pub fn ask_health(&self, observed: &Object) -> Result<Answer<ResourceHealth>, InterpretError> {
        let operation = Operation::InterpretHealth;
        let Some(hook) = self.hook(observed, operation) else {
            return self.health(observed).map(Answer::Given);
        };
        let call = WebhookCall::new(
            hook,
            operation,
            observed,
            |_| (),
            |response| {
                let healthy = required("response.healthy", response.healthy)?;
                Ok(if healthy {
                    ResourceHealth::Healthy
                } else {
                    ResourceHealth::Unhealthy
                })
            },
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// [`Interpreter::dependencies`], or the service to ask.
    pub fn ask_dependencies(
        &self,
        template: &Object,
    ) -> Result<Answer<Vec<DependentObjectReference>>, InterpretError> {
        let operation = Operation::InterpretDependency;
        let Some(hook) = self.hook(template, operation) else {
            return self.dependencies(template).map(Answer::Given);
        };
        let call = WebhookCall::new(
            hook,
            operation,
            template,
            |_| (),
            |response| tidy(response.dependencies).map_err(|error| Flaw::new("response", error)),
        );
        Ok(Answer::Ask(Box::new(call)))
    }

    /// The service that has the answer, if a service has it.
    fn hook(&self, object: &Object, operation: Operation) -> Option<&Arc<Hook>> {
        let kind = KindRef::of(object);
        if self.layer(kind, operation) != Some(Layer::Webhook) {
            return None;
        }
        self.webhook.as_deref()?.hook(kind, operation)
    }
}

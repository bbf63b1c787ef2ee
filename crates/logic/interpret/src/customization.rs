//! The layer of ResourceInterpreterCustomizations: which script answers what, and asking it.
//!
//! Objects are taken in the order of their names. For one kind, the first that has a script for an operation has it for
//! good; only references add up, from all of them. A script that cannot be compiled keeps its place and fails whenever
//! it is asked: that another one answers instead is for its author to decide.

use std::sync::Arc;

use api::{
    config::{
        CustomizationRules, DependentObjectReference, ResourceInterpreterCustomization,
        Script as ScriptField,
    },
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use object::{Object, Value, field::FieldPath, parse};

use crate::{
    counting,
    error::RuleError,
    identity,
    kind::KindRef,
    operation::Operation,
    rules::{Coverage, Replicas, Rules},
    script::{Argument, Emptiness, Engine, Returned, Script, ScriptError},
};

/// The scripts of all customizations.
pub struct Customizations {
    engine: Arc<Engine>,
    /// Sorted by API version and kind.
    kinds: Vec<KindScripts>,
    problems: Vec<CustomizationProblem>,
}

/// Something in a customization that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomizationProblem {
    /// The name of the customization.
    pub customization: String,
    /// What it is about; `None` for the whole object.
    pub operation: Option<Operation>,
    /// What is wrong.
    pub message: String,
}

/// The scripts for one kind.
struct KindScripts {
    api_version: String,
    kind: String,
    /// In the order of [`Operation::ALL`]. All of an operation's scripts run, and only references have more than one.
    slots: [Vec<Slot>; Operation::ALL.len()],
}

struct Slot {
    customization: String,
    script: Result<Arc<Script>, ScriptError>,
}

impl Customizations {
    /// The layer that these objects make.
    ///
    /// One that cannot be read is left out, and reported by [`Customizations::problems`].
    pub fn new<'a>(engine: Arc<Engine>, objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut layer = Self {
            engine,
            kinds: Vec::new(),
            problems: Vec::new(),
        };
        let mut objects: Vec<&Object> = objects.into_iter().collect();
        objects.sort_by_key(|object| object.name());
        for object in objects {
            match object.read::<ResourceInterpreterCustomization>() {
                Ok(customization) => layer.add(&customization),
                Err(error) => layer.problems.push(CustomizationProblem {
                    customization: object.name().to_owned(),
                    operation: None,
                    message: error.to_string(),
                }),
            }
        }
        layer
    }

    /// What the authors of the customizations should know, by the names of these.
    #[must_use]
    pub fn problems(&self) -> &[CustomizationProblem] {
        &self.problems
    }

    fn add(&mut self, customization: &ResourceInterpreterCustomization) {
        let name = &customization.metadata.name;
        let target = &customization.spec.target;
        let wanted = (target.api_version.as_str(), target.kind.as_str());
        let found = self
            .kinds
            .binary_search_by(|known| known.key().cmp(&wanted));
        let position = found.unwrap_or_else(|position| {
            let scripts = KindScripts {
                api_version: target.api_version.clone(),
                kind: target.kind.clone(),
                slots: Default::default(),
            };
            self.kinds.insert(position, scripts);
            position
        });
        for operation in Operation::ALL {
            let Some(text) = text(&customization.spec.customizations, operation) else {
                continue;
            };
            let Some(slots) = self
                .kinds
                .get_mut(position)
                .and_then(|scripts| scripts.slots.get_mut(operation as usize))
            else {
                continue;
            };
            if operation != Operation::InterpretDependency
                && let Some(first) = slots.first()
            {
                self.problems.push(CustomizationProblem {
                    customization: name.clone(),
                    operation: Some(operation),
                    message: format!(
                        "not used, because {} has a script for {operation} of the same kind",
                        first.customization
                    ),
                });
                continue;
            }
            let script = self.engine.compile(text);
            let script = script.map_err(|error| error.by(name, operation));
            if let Err(error) = &script {
                self.problems.push(CustomizationProblem {
                    customization: name.clone(),
                    operation: Some(operation),
                    message: error.to_string(),
                });
            }
            slots.push(Slot {
                customization: name.clone(),
                script,
            });
        }
    }

    fn slots(&self, kind: KindRef<'_>, operation: Operation) -> &[Slot] {
        let wanted = (kind.api_version, kind.kind);
        let found = self
            .kinds
            .binary_search_by(|known| known.key().cmp(&wanted));
        let slots = found.ok().and_then(|position| self.kinds.get(position));
        let slots = slots.and_then(|scripts| scripts.slots.get(operation as usize));
        slots.map(Vec::as_slice).unwrap_or_default()
    }

    /// Runs the one script for the operation.
    fn run<'a, T>(
        &self,
        object: &Object,
        operation: Operation,
        arguments: &'a [Argument<'a>],
        read: impl FnOnce(&Returned<'a>) -> Result<T, ScriptError>,
    ) -> Result<T, RuleError> {
        let Some(slot) = self.slots(KindRef::of(object), operation).first() else {
            return Err(RuleError::Other("no customization has a script".into()));
        };
        self.run_slot(slot, operation, arguments, read)
    }

    fn run_slot<'a, T>(
        &self,
        slot: &Slot,
        operation: Operation,
        arguments: &'a [Argument<'a>],
        read: impl FnOnce(&Returned<'a>) -> Result<T, ScriptError>,
    ) -> Result<T, RuleError> {
        let script = slot.script.as_ref().map_err(ScriptError::clone)?;
        let answer = self
            .engine
            .run(script, function_name(operation), arguments, read);
        let answer = answer.map_err(|error| error.by(&slot.customization, operation));
        // That it is left alone is no news to its author: that it was stopped is.
        if let Err(error) = answer.as_ref()
            && !error.is_resting()
        {
            self.engine.tell(error);
        }
        Ok(answer?)
    }
}

impl KindScripts {
    fn key(&self) -> (&str, &str) {
        (&self.api_version, &self.kind)
    }
}

impl Coverage for Customizations {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        !self.slots(kind, operation).is_empty()
    }

    fn origin(&self, kind: KindRef<'_>, operation: Operation) -> Option<String> {
        let slots = self.slots(kind, operation);
        let names: Vec<&str> = slots
            .iter()
            .map(|slot| slot.customization.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

impl Rules for Customizations {
    fn replicas(&self, template: &Object) -> Result<Replicas, RuleError> {
        let arguments = [Argument::Object(template)];
        self.run(
            template,
            Operation::InterpretReplica,
            &arguments,
            |answer| {
                let replicas = answer.replicas()?;
                let requirements = match answer.optional_object(1)? {
                    Some(requirements) => Some(shape(answer, &requirements)?),
                    None => None,
                };
                Ok(Replicas {
                    replicas,
                    requirements,
                })
            },
        )
    }

    fn components(&self, template: &Object) -> Result<Vec<Component>, RuleError> {
        let arguments = [Argument::Object(template)];
        self.run(
            template,
            Operation::InterpretComponent,
            &arguments,
            |answer| {
                let Some(components) = answer.optional_list()? else {
                    return Ok(Vec::new());
                };
                let components: Vec<Component> = shape(answer, &components)?;
                match counting::miscounted(&components, &FieldPath::root()) {
                    Some((place, problem)) => Err(answer.part(place, problem)),
                    None => Ok(components),
                }
            },
        )
    }

    fn revise(&self, template: Object, replicas: i32) -> Result<Object, RuleError> {
        let arguments = [Argument::Object(&template), Argument::Number(replicas)];
        self.run(&template, Operation::ReviseReplica, &arguments, |answer| {
            whole_object(answer, &template)
        })
    }

    fn retain(&self, desired: Object, observed: &Object) -> Result<Object, RuleError> {
        let arguments = [Argument::Object(&desired), Argument::Object(observed)];
        self.run(&desired, Operation::Retain, &arguments, |answer| {
            whole_object(answer, &desired)
        })
    }

    fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError> {
        let arguments = [Argument::Object(template), Argument::Items(items)];
        self.run(template, Operation::AggregateStatus, &arguments, |answer| {
            let Value::Object(mut object) = answer.object(0, Emptiness::Dropped)? else {
                return Ok(None);
            };
            Ok(object.shift_remove("status"))
        })
    }

    fn reflect(&self, observed: &Object) -> Result<Option<Value>, RuleError> {
        let arguments = [Argument::Object(observed)];
        self.run(observed, Operation::InterpretStatus, &arguments, |answer| {
            answer.object(0, Emptiness::Dropped).map(Some)
        })
    }

    fn is_healthy(&self, observed: &Object) -> Result<bool, RuleError> {
        let arguments = [Argument::Object(observed)];
        self.run(
            observed,
            Operation::InterpretHealth,
            &arguments,
            Returned::truth,
        )
    }

    fn dependencies(&self, template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
        let operation = Operation::InterpretDependency;
        let arguments = [Argument::Object(template)];
        let mut references = Vec::new();
        for slot in self.slots(KindRef::of(template), operation) {
            let found: Vec<DependentObjectReference> =
                self.run_slot(slot, operation, &arguments, |answer| {
                    shape(answer, &answer.list()?)
                })?;
            references.extend(found);
        }
        Ok(references)
    }
}

/// The script for the operation, unless it is empty.
fn text(rules: &CustomizationRules, operation: Operation) -> Option<&str> {
    let field: &Option<ScriptField> = match operation {
        Operation::InterpretReplica => &rules.replica_resource,
        Operation::InterpretComponent => &rules.component_resource,
        Operation::ReviseReplica => &rules.replica_revision,
        Operation::Retain => &rules.retention,
        Operation::AggregateStatus => &rules.status_aggregation,
        Operation::InterpretStatus => &rules.status_reflection,
        Operation::InterpretHealth => &rules.health_interpretation,
        Operation::InterpretDependency => &rules.dependency_interpretation,
    };
    let text = field.as_ref()?.lua_script.as_str();
    (!text.is_empty()).then_some(text)
}

/// The function that a script for the operation defines.
#[must_use]
pub fn function_name(operation: Operation) -> &'static str {
    match operation {
        Operation::InterpretReplica => "GetReplicas",
        Operation::InterpretComponent => "GetComponents",
        Operation::ReviseReplica => "ReviseReplica",
        Operation::Retain => "Retain",
        Operation::AggregateStatus => "AggregateStatus",
        Operation::InterpretStatus => "ReflectStatus",
        Operation::InterpretHealth => "InterpretHealth",
        Operation::InterpretDependency => "GetDependencies",
    }
}

/// What a script answered, as a type.
fn shape<T: serde::de::DeserializeOwned>(
    answer: &Returned<'_>,
    value: &Value,
) -> Result<T, ScriptError> {
    parse::shape(value).map_err(|error| answer.part(error.path, error.problem))
}

/// The object that a script returned, which must still be the one it was given.
fn whole_object(answer: &Returned<'_>, given: &Object) -> Result<Object, ScriptError> {
    let value = answer.object(0, Emptiness::AsGiven)?;
    let object =
        Object::from_value(value).map_err(|error| answer.part(error.path, error.problem))?;
    match identity::changed(given, &object) {
        Some((field, problem)) => Err(answer.part(field.into(), problem)),
        None => Ok(object),
    }
}

#[cfg(test)]
mod tests;

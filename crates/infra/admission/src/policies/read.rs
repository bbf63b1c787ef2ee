//! `ValidatingAdmissionPolicy` and its bindings, compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::{Environment, Program, Type};
use object::Value;
use object::field::{FieldError, FieldPath};
use object::selector::Selector;

use crate::expression::Conditions;
use crate::matching::{Match, selector};

/// A policy, ready to judge.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) fails_open: bool,
    pub(crate) constraints: Match,
    pub(crate) conditions: Conditions,
    /// Named programs that others may speak of.
    pub(crate) variables: Vec<(String, Program)>,
    pub(crate) validations: Vec<Validation>,
    /// What is noted in the audit log, by key.
    pub(crate) notes: Vec<(String, Program)>,
    /// The `apiVersion` and kind of parameters.
    pub(crate) parameters: Option<(String, String)>,
}

/// One check of a policy.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) source: String,
    pub(crate) program: Program,
    pub(crate) message: String,
    pub(crate) message_program: Option<Program>,
    pub(crate) reason: String,
}

/// Puts a policy into force.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) policy: String,
    pub(crate) parameters: Option<ParamRef>,
    pub(crate) matches: Option<Match>,
    pub(crate) actions: Actions,
}

/// Which objects have the parameters.
#[derive(Debug)]
pub(crate) struct ParamRef {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) selector: Option<Selector>,
    /// Whether the request goes on when there are none.
    pub(crate) may_be_absent: bool,
}

/// What follows from a failed check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actions {
    pub(crate) deny: bool,
    pub(crate) warn: bool,
    pub(crate) audit: bool,
}

/// All policies by name; one that cannot be compiled with the reason.
#[derive(Default)]
pub(crate) struct Policies {
    pub(crate) by_name: BTreeMap<String, Result<Policy, String>>,
}

/// All bindings, in the order of their names.
#[derive(Default)]
pub(crate) struct Bindings {
    pub(crate) all: Vec<Binding>,
}

impl Policies {
    pub(crate) fn compile(objects: &[Value]) -> Self {
        let read = objects.iter().map(|object| {
            let policy = Policy::read(object).map_err(|errors| object::field::join(&errors));
            (name_of(object), policy)
        });
        Self {
            by_name: read.collect(),
        }
    }
}

impl Bindings {
    pub(crate) fn compile(objects: &[Value]) -> Self {
        let mut all = Vec::new();
        for object in objects {
            match Binding::read(object) {
                Ok(binding) => all.push(binding),
                // Validation lets no such binding in; one from elsewhere must not stop everything else.
                Err(error) => {
                    let name = name_of(object);
                    tracing::error!(name, error, "policy binding left out: it cannot be read");
                }
            }
        }
        Self { all }
    }
}

impl Policy {
    /// Reads a policy that is stored.
    ///
    /// # Errors
    /// Everything in it that cannot be compiled, by path.
    pub(crate) fn read(object: &Value) -> Result<Self, Vec<FieldError>> {
        Self::read_by(object, Words::ALL)
    }

    /// Everything in a policy that is refused when it is written.
    pub(crate) fn problems(old: Option<&Value>, new: &Value) -> Vec<FieldError> {
        let words = Words::of_write(old, new);
        Self::read_by(new, words).err().unwrap_or_default()
    }

    fn read_by(object: &Value, words: Words) -> Result<Self, Vec<FieldError>> {
        let nothing = Value::Null;
        let spec = object.get("spec").unwrap_or(&nothing);
        let path = FieldPath::new("spec");
        let mut reading = Reading::new(spec, words);
        let variables = reading.variables(spec, &path);
        let conditions = Conditions::read(
            spec.get("matchConditions"),
            &reading.environment_of_conditions(&variables),
        );
        let conditions = conditions.unwrap_or_else(|problems| {
            for (place, why) in problems {
                let at = path.child("matchConditions").index(place);
                reading.refuse(at.child("expression"), &why);
            }
            Conditions::default()
        });
        let environment = Arc::new(reading.environment(&variables));
        let messages = reading.environment_of_messages(&variables);
        let validations = reading.validations(spec, &path, &environment, &messages);
        let notes = reading.notes(spec, &path, &environment);
        let constraints = spec.get("matchConstraints").unwrap_or(&nothing);
        let constraints = Match::read(constraints, "resourceRules", "excludeResourceRules");
        let parameters = spec.get("paramKind").filter(|kind| kind.is_object());
        let text = |value: &Value, field: &str| {
            let text = value.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        match constraints {
            Ok(constraints) if reading.errors.is_empty() => Ok(Self {
                name: name_of(object),
                fails_open: text(spec, "failurePolicy") == "Ignore",
                constraints,
                conditions,
                variables,
                validations,
                notes,
                parameters: parameters.map(|kind| (text(kind, "apiVersion"), text(kind, "kind"))),
            }),
            Ok(_) => Err(reading.told(object)),
            Err(why) => {
                reading.refuse(path.child("matchConstraints"), &why);
                Err(reading.told(object))
            }
        }
    }
}

/// What stands at a path of an object, as an error shows it.
pub(super) fn shown_at(object: &Value, path: &FieldPath) -> Value {
    let pointer = path.as_str().replace(['.', '['], "/").replace(']', "");
    object
        .pointer(&format!("/{pointer}"))
        .cloned()
        .unwrap_or_default()
}

/// What expressions may speak of in places where Kubernetes refuses it when a policy is written, and what it nevertheless
/// understands in one that is stored.
#[derive(Clone, Copy)]
struct Words {
    /// `variables` in conditions.
    variables: bool,
    /// `authorizer` in messages.
    authorizer: bool,
}

impl Words {
    const ALL: Self = Self {
        variables: true,
        authorizer: true,
    };

    /// Nothing of it, but for what was there before. Upstream: conditions that did not change are not judged anew.
    fn of_write(old: Option<&Value>, new: &Value) -> Self {
        let keeps = |fields: &[&str]| {
            let part = |object: &Value, field: &str| {
                let part = object.get("spec").and_then(|spec| spec.get(field));
                part.cloned().unwrap_or_default()
            };
            let mut fields = fields.iter();
            old.is_some_and(|old| fields.all(|field| part(old, field) == part(new, field)))
        };
        Self {
            variables: keeps(&["paramKind", "matchConditions"]),
            authorizer: keeps(&["paramKind", "validations"]),
        }
    }
}

/// A policy being read.
struct Reading {
    words: Words,
    has_parameters: bool,
    errors: Vec<FieldError>,
}

impl Reading {
    fn new(spec: &Value, words: Words) -> Self {
        Self {
            words,
            has_parameters: spec.get("paramKind").is_some_and(Value::is_object),
            errors: Vec::new(),
        }
    }

    fn refuse(&mut self, path: FieldPath, why: &str) {
        self.errors
            .push(FieldError::invalid(path, Value::Null, why));
    }

    /// Everything that is refused, with what stands there.
    fn told(self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.errors;
        for error in &mut errors {
            error.value = Some(Box::new(shown_at(object, &error.path)));
        }
        errors
    }

    fn environment(&self, variables: &[(String, Program)]) -> Environment {
        let known = variables
            .iter()
            .map(|(name, program)| (name.as_str(), program.result().clone()));
        self.plain_environment().variables(known)
    }

    fn plain_environment(&self) -> Environment {
        let environment = Environment::admission();
        match self.has_parameters {
            true => environment.declare("params", Type::Dyn),
            false => environment,
        }
    }

    fn environment_of_conditions(&self, variables: &[(String, Program)]) -> Arc<Environment> {
        Arc::new(match self.words.variables {
            true => self.environment(variables),
            false => self.plain_environment(),
        })
    }

    fn environment_of_messages(&self, variables: &[(String, Program)]) -> Arc<Environment> {
        let environment = self.environment(variables);
        Arc::new(match self.words.authorizer {
            true => environment,
            false => environment
                .without("authorizer")
                .without("authorizer.requestResource"),
        })
    }

    fn compile(
        &mut self,
        source: &str,
        path: &FieldPath,
        environment: &Arc<Environment>,
        wanted: &[Type],
        named: &str,
    ) -> Option<Program> {
        match Program::compile(source, environment) {
            Ok(program) if wanted.is_empty() || wanted.iter().any(|ty| program.may_give(ty)) => {
                return Some(program);
            }
            Ok(_) => self.refuse(path.clone(), &format!("must evaluate to {named}")),
            Err(error) => self.refuse(path.clone(), &format!("compilation failed: {error}")),
        }
        None
    }

    fn variables(&mut self, spec: &Value, path: &FieldPath) -> Vec<(String, Program)> {
        let mut variables = Vec::new();
        for (place, variable) in list(spec, "variables") {
            let at = path.child("variables").index(place).child("expression");
            let environment = Arc::new(self.environment(&variables));
            let source = text(variable, "expression");
            if let Some(program) = self.compile(source, &at, &environment, &[], "") {
                variables.push((text(variable, "name").to_owned(), program));
            }
        }
        variables
    }

    fn validations(
        &mut self,
        spec: &Value,
        path: &FieldPath,
        environment: &Arc<Environment>,
        messages: &Arc<Environment>,
    ) -> Vec<Validation> {
        let mut validations = Vec::new();
        for (place, validation) in list(spec, "validations") {
            let at = path.child("validations").index(place);
            let source = text(validation, "expression");
            let bools = [Type::Bool];
            let program =
                self.compile(source, &at.child("expression"), environment, &bools, "bool");
            let message = text(validation, "messageExpression");
            let message_program = if message.is_empty() {
                None
            } else {
                let at = at.child("messageExpression");
                self.compile(message, &at, messages, &[Type::String], "string")
            };
            if let Some(program) = program {
                validations.push(Validation {
                    source: source.trim().to_owned(),
                    program,
                    message: text(validation, "message").trim().to_owned(),
                    message_program,
                    reason: text(validation, "reason").to_owned(),
                });
            }
        }
        validations
    }

    fn notes(
        &mut self,
        spec: &Value,
        path: &FieldPath,
        environment: &Arc<Environment>,
    ) -> Vec<(String, Program)> {
        let mut notes = Vec::new();
        for (place, note) in list(spec, "auditAnnotations") {
            let at = path.child("auditAnnotations").index(place);
            let source = text(note, "valueExpression");
            let wanted = [Type::String, Type::Null];
            let at = at.child("valueExpression");
            if let Some(program) = self.compile(source, &at, environment, &wanted, "string or null")
            {
                notes.push((text(note, "key").to_owned(), program));
            }
        }
        notes
    }
}

impl Binding {
    fn read(object: &Value) -> Result<Self, String> {
        let nothing = Value::Null;
        let spec = object.get("spec").unwrap_or(&nothing);
        let has = |action: &str| {
            let actions = spec.get("validationActions").and_then(Value::as_array);
            actions.is_some_and(|actions| actions.iter().any(|known| known == action))
        };
        let parameters = match spec.get("paramRef").filter(|param| param.is_object()) {
            None => None,
            Some(param) => Some(ParamRef {
                name: text(param, "name").to_owned(),
                namespace: text(param, "namespace").to_owned(),
                selector: match param
                    .get("selector")
                    .filter(|selector| selector.is_object())
                {
                    Some(_) => Some(selector(param, "selector")?),
                    None => None,
                },
                may_be_absent: text(param, "parameterNotFoundAction") == "Allow",
            }),
        };
        let matches = match spec.get("matchResources").filter(|one| one.is_object()) {
            None => None,
            Some(resources) => {
                let mut resources = resources.clone();
                // Upstream: a binding without rules narrows by selectors alone.
                let has_rules = !list(&resources, "resourceRules").is_empty();
                if !has_rules && let Some(fields) = resources.as_object_mut() {
                    fields.insert("resourceRules".to_owned(), everything());
                }
                Some(Match::read(
                    &resources,
                    "resourceRules",
                    "excludeResourceRules",
                )?)
            }
        };
        Ok(Self {
            name: name_of(object),
            policy: text(spec, "policyName").to_owned(),
            parameters,
            matches,
            actions: Actions {
                deny: has("Deny"),
                warn: has("Warn"),
                audit: has("Audit"),
            },
        })
    }
}

fn everything() -> Value {
    serde_json::json!([{
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*", "*/*"],
    }])
}

fn list<'a>(value: &'a Value, field: &str) -> Vec<(usize, &'a Value)> {
    let list = value.get(field).and_then(Value::as_array);
    list.into_iter().flatten().enumerate().collect()
}

pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn name_of(object: &Value) -> String {
    let metadata = object.get("metadata");
    metadata
        .map_or("", |metadata| text(metadata, "name"))
        .to_owned()
}

#[cfg(test)]
mod tests;

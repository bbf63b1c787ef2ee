//! A request held against the policies in force.

use std::sync::Arc;

use object::Value;
use serde_json::json;
use serve::cache;
use serve::resource::{Resource, Table};
use serve::status::{Cause, Status, Subject};

use super::Followed;
use super::read::{Bindings, ParamRef, Policy, Validation};
use crate::expression::{Budget, Scene};
use crate::matching::Asked;
use crate::notes::{append, note};
use crate::policies::read::Binding;
use crate::webhooks::shown_in;

/// The longest message an expression may give, in bytes. Upstream: the same.
const LONGEST_MESSAGE: usize = 5 * 1024;
/// The most objects with parameters one binding may use for a request.
const MOST_PARAMETERS: usize = 1024;
/// What failed checks with the action `Audit` are noted under.
const FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

/// A check that failed, or could not be made.
struct Failure {
    message: String,
    reason: String,
    place: usize,
}

/// What came of one policy with one binding.
#[derive(Default)]
struct Findings {
    failures: Vec<Failure>,
    /// Why the policy could not be applied, where that refuses the request.
    trouble: Option<String>,
}

impl Followed {
    /// Holds a request against every binding, in the order of their names.
    pub(super) fn judge(
        &self,
        bindings: &Bindings,
        asked: &Asked<'_>,
    ) -> Result<Vec<String>, Status> {
        let policies = self.policies.current();
        let (mut warnings, mut audited) = (Vec::new(), Vec::new());
        let mut refusal = None;
        for binding in &bindings.all {
            let Some(policy) = policies.by_name.get(&binding.policy) else {
                continue; // Upstream: a binding without its policy does nothing.
            };
            let findings = match policy {
                Ok(policy) => self.hold(policy, binding, asked),
                // Validation lets no such policy in; nobody knows what it would have refused.
                Err(why) => Findings {
                    trouble: Some(why.clone()),
                    ..Findings::default()
                },
            };
            if let Some(why) = findings.trouble {
                refusal = refusal.or_else(|| {
                    let failure = Failure {
                        message: why,
                        reason: String::new(),
                        place: 0,
                    };
                    Some(denial(asked, binding, &failure))
                });
            }
            for failure in findings.failures {
                let actions = binding.actions;
                if actions.warn {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        binding.policy, binding.name, failure.message
                    ));
                }
                if actions.audit {
                    audited.push(audit(binding, &failure));
                }
                if actions.deny && refusal.is_none() {
                    refusal = Some(denial(asked, binding, &failure));
                }
            }
        }
        if !audited.is_empty() {
            note(FAILURES, Value::from(audited).to_string());
        }
        match refusal {
            None => Ok(warnings),
            // Upstream: who is refused is warned too.
            Some(status) => Err(status.with_warnings(&warnings)),
        }
    }

    fn hold(&self, policy: &Policy, binding: &Binding, asked: &Asked<'_>) -> Findings {
        let Some(version) = policy.constraints.version(asked) else {
            return Findings::default();
        };
        let narrowed = binding.matches.as_ref().is_some_and(|matches| {
            matches.version(asked).is_none() || !matches.selects(asked, &self.cache)
        });
        if narrowed || !policy.constraints.selects(asked, &self.cache) {
            return Findings::default();
        }
        let outcome = self.hold_in(policy, binding, asked, version);
        outcome.unwrap_or_else(|why| Findings {
            trouble: (!policy.fails_open).then_some(why),
            ..Findings::default()
        })
    }

    fn hold_in(
        &self,
        policy: &Policy,
        binding: &Binding,
        asked: &Asked<'_>,
        version: &str,
    ) -> Result<Findings, String> {
        let unshown = |why| unconfigured(&format!("failed to convert object version: {why}"));
        let old = shown_in(asked.call, version, asked.old).map_err(unshown)?;
        let new = shown_in(asked.call, version, asked.new).map_err(unshown)?;
        let asked = Asked {
            old: old.as_deref(),
            new: new.as_deref(),
            ..*asked
        };
        let objects = (asked.old, asked.new);
        let scene = Scene::new(&asked, version, objects, &self.cache, Some(&self.authority));
        let parameters = match (&policy.parameters, &binding.parameters) {
            (None, _) => vec![None],
            (Some(_), None) => vec![Some(Value::Null)],
            (Some(kind), Some(wanted)) => {
                let found = self.parameters(kind, wanted, &asked);
                let found = found.map_err(|why| unconfigured(&why))?;
                if found.is_empty() && wanted.may_be_absent {
                    return Ok(Findings::default());
                }
                if found.is_empty() {
                    return Err(unconfigured(
                        "no params found for policy binding with `Deny` parameterNotFoundAction",
                    ));
                }
                found.into_iter().map(Some).collect()
            }
        };
        let mut findings = Findings::default();
        for parameter in &parameters {
            hold_with(policy, &scene, parameter.as_ref(), &mut findings)?;
        }
        Ok(findings)
    }

    /// The objects a binding takes parameters from.
    fn parameters(
        &self,
        (api_version, kind): &(String, String),
        wanted: &ParamRef,
        asked: &Asked<'_>,
    ) -> Result<Vec<Value>, String> {
        let server = self.server.upgrade().ok_or("the server is going")?;
        let table = server.table();
        let resource = served_kind(&table, api_version, kind)
            .ok_or_else(|| format!("paramKind {api_version}, Kind={kind} is not served"))?;
        let namespace = match (resource.namespaced, wanted.namespace.as_str()) {
            (false, "") => "",
            (false, _) => {
                return Err("paramRef.namespace must not be set for a cluster-scoped kind".into());
            }
            (true, "") if asked.namespace().is_empty() => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .into(),
                );
            }
            (true, "") => asked.namespace(),
            (true, named) => named,
        };
        let collection = self.cache.collection(&resource.collection);
        let records = match &wanted.selector {
            None => {
                let key = cache::object_key(namespace, &wanted.name);
                collection.find(&key).into_iter().collect::<Vec<_>>()
            }
            Some(selector) => {
                let objects = collection.snapshot().objects;
                let fitting = objects.values().filter(|record| {
                    let head = record.head();
                    head.namespace == namespace && selector.matches(|key| head.label(key))
                });
                fitting.take(MOST_PARAMETERS).cloned().collect()
            }
        };
        let shown = records.into_iter().map(|record| {
            let value = record.value();
            if value.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
                return Ok(value);
            }
            let converted = resource.rules.convert(&value, api_version);
            converted.ok_or_else(|| format!("{kind} cannot be converted to {api_version}"))
        });
        shown.collect()
    }
}

/// Why a binding cannot be applied at all. Upstream: whatever its actions are, that refuses the request.
fn unconfigured(why: &str) -> String {
    format!("failed to configure binding: {why}")
}

/// The resource whose objects are of a kind, as one version of it.
pub(super) fn served_kind<'a>(
    table: &'a Table,
    api_version: &str,
    kind: &str,
) -> Option<&'a Arc<Resource>> {
    table.iter().find(|resource| {
        let mut versions = resource.versions.iter().filter(|version| version.served);
        *resource.kind == *kind
            && versions.any(|version| resource.api_version(&version.name) == *api_version)
    })
}

/// Runs the expressions of a policy with one set of parameters.
fn hold_with(
    policy: &Policy,
    scene: &Scene<'_>,
    parameter: Option<&Value>,
    findings: &mut Findings,
) -> Result<(), String> {
    let mut inputs = scene.inputs();
    if let Some(parameter) = parameter {
        inputs = inputs.json("params", parameter);
    }
    for (name, program) in &policy.variables {
        inputs = inputs.variable(name, program);
    }
    if !policy.conditions.is_empty() {
        match policy.conditions.hold(&inputs) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(_) if policy.fails_open => return Ok(()),
            // Upstream: a condition that cannot be told counts as a check that failed, and what follows from that is the
            // binding's to say.
            Err(why) => {
                findings.failures.push(Failure {
                    message: why,
                    reason: String::new(),
                    place: 0,
                });
                return Ok(());
            }
        }
    }
    let mut budget = Budget::for_policy();
    for (place, validation) in policy.validations.iter().enumerate() {
        match budget.holds(&validation.program, &inputs) {
            Ok(true) => {}
            Ok(false) => findings.failures.push(Failure {
                message: message(validation, &inputs, &mut budget),
                reason: validation.reason.clone(),
                place,
            }),
            Err(_) if policy.fails_open => {}
            Err(why) => findings.failures.push(Failure {
                message: format!(
                    "expression '{}' resulted in error: {why}",
                    validation.source
                ),
                // The reason is for what the expression finds.
                reason: String::new(),
                place,
            }),
        }
    }
    for (key, program) in &policy.notes {
        let read = |value: &cel::Value<'_>| match value {
            cel::Value::Null => Some(None),
            other => other.as_str().map(|text| Some(text.to_owned())),
        };
        let value = budget.run(program, &inputs, read, "a string or null");
        match value {
            Ok(Some(value)) => append(format!("{}/{key}", policy.name), value.trim()),
            Ok(None) => {}
            Err(_) if policy.fails_open => {}
            Err(why) => return Err(format!("audit annotation {key:?}: {why}")),
        }
    }
    Ok(())
}

/// What to say of a check that failed. Upstream: a computed message that cannot be used gives way to the fixed one.
fn message(validation: &Validation, inputs: &cel::Inputs<'_>, budget: &mut Budget) -> String {
    let computed = validation.message_program.as_ref().and_then(|program| {
        let read = |value: &cel::Value<'_>| value.as_str().map(str::to_owned);
        let text = budget.run(program, inputs, read, "a string").ok()?;
        let text = text.trim();
        let usable = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        usable.then(|| text.to_owned())
    });
    computed.unwrap_or_else(|| {
        if validation.message.is_empty() {
            format!("failed expression: {}", validation.source)
        } else {
            validation.message.clone()
        }
    })
}

fn denial(asked: &Asked<'_>, binding: &Binding, failure: &Failure) -> Status {
    let message = format!(
        "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}",
        binding.policy, binding.name, failure.message
    );
    let code = match failure.reason.as_str() {
        "Unauthorized" => 401,
        "Forbidden" => 403,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    let subject = Subject {
        name: asked.name(),
        ..asked.call.subject()
    };
    let mut status = Status::forbidden(subject, &message);
    status.code = code;
    // Upstream: a policy gives one of four reasons, and this one unless it says otherwise.
    status.reason = match failure.reason.as_str() {
        "" => "Invalid".into(),
        reason => reason.to_owned().into(),
    };
    status.details.causes.push(Cause {
        reason: String::new(),
        message,
        field: String::new(),
    });
    status
}

fn audit(binding: &Binding, failure: &Failure) -> Value {
    let actions = binding.actions;
    let named = [
        ("Deny", actions.deny),
        ("Warn", actions.warn),
        ("Audit", actions.audit),
    ];
    let named = named.iter().filter(|(_, is_set)| *is_set);
    let actions: Vec<&str> = named.map(|(name, _)| *name).collect();
    json!({
        "message": failure.message, "policy": binding.policy, "binding": binding.name,
        "expressionIndex": failure.place, "validationActions": actions,
    })
}

//! A workbench for customizations: checks scripts, runs one rule on objects from files, says who answers.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

pub use ::interpret::Operation;
use ::interpret::script::Limits;
use ::interpret::{Engine, Interpreter, KindRef, Options, Problems};
use api::config::ResourceInterpreterCustomization;
use api::work::v1alpha2::AggregatedStatusItem;
use object::{Object, Value, parse};
use serde_json::json;

use crate::bystander::Bystander;
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::nearest;
use crate::reading::{Sink, write_document};

/// How long an answer is waited for. A script is stopped after a second, and this is for whatever cannot be stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is to be tried.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Customizations; the rules that come along if there are none.
    pub customizations: Vec<Manifest>,
    /// The question.
    pub operation: Option<Operation>,
    /// The object as it is wanted.
    pub desired: Option<Manifest>,
    /// The object as a member has it.
    pub observed: Option<Manifest>,
    /// What members reported.
    pub statuses: Vec<Value>,
    /// So many replicas.
    pub replicas: i32,
}

/// The operation of a name, in any case of letters.
pub fn operation(name: &str) -> Result<Operation, String> {
    let found = Operation::ALL
        .into_iter()
        .find(|operation| operation.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = Operation::ALL
            .iter()
            .map(|operation| operation.as_str())
            .collect();
        let (wrong, lower) = (name.to_lowercase(), |known: &str| known.to_lowercase());
        let holds_it = |known: &&&str| wrong.len() > 2 && lower(known).contains(&wrong);
        let lowered: Vec<String> = names.iter().map(|known| lower(known)).collect();
        let near = nearest(&wrong, lowered.iter().map(String::as_str));
        let near = |known: &&&str| near == Some(lower(known).as_str());
        let meant = names.iter().find(holds_it).or(names.iter().find(near));
        let meant = meant.map(|name| format!("did you mean {name:?}? "));
        format!(
            "{}operation must be one of: {}",
            meant.unwrap_or_default(),
            names.join(", ")
        )
    })
}

/// Checks the scripts of customizations, and says of each rule how it is.
pub fn check(manifests: &[Manifest], print: Sink<'_>) -> Result<(), Failure> {
    let mut has_failed = false;
    for manifest in manifests {
        let read: Result<ResourceInterpreterCustomization, _> = manifest.object.read();
        let customization = read.map_err(|error| {
            Failure::refused(
                format!("{}: {error}", manifest.place),
                "correct the named field",
            )
        })?;
        let target = &customization.spec.target;
        print(&format!(
            "-----------------------------------\nSOURCE: {}\nTARGET: {} {}\nRULERS:\n",
            manifest.place, target.api_version, target.kind
        ))?;
        let interpreter = configured(std::slice::from_ref(manifest));
        let kind = KindRef {
            api_version: &target.api_version,
            kind: &target.kind,
        };
        let Problems { customizations, .. } = interpreter.problems();
        for operation in Operation::ALL {
            let problem = customizations
                .iter()
                .find(|problem| problem.operation == Some(operation));
            let is_set =
                interpreter.layer(kind, operation) == Some(::interpret::Layer::Customization);
            let said = match problem {
                Some(problem) => {
                    has_failed = true;
                    format!("ERROR: {}", problem.message)
                }
                None if is_set => "PASS".to_owned(),
                None => "UNSET".to_owned(),
            };
            print(&format!("    {:24}{said}\n", format!("{operation}:")))?;
        }
    }
    match has_failed {
        false => Ok(()),
        true => Err(Failure::refused(
            "a script cannot be used",
            "correct the scripts that are marked as ERROR",
        )),
    }
}

/// Says who answers every question about the objects.
pub fn trace(trial: &Trial, print: Sink<'_>) -> Result<(), Failure> {
    refuse_others(&trial.customizations)?;
    let interpreter = configured(&trial.customizations);
    let about = trial.desired.iter().chain(&trial.observed);
    let mut is_empty = true;
    for manifest in about {
        is_empty = false;
        let object = &manifest.object;
        print(&format!("{} {}\n", object.api_version(), object.kind()))?;
        for operation in Operation::ALL {
            print(&format!(
                "  {}\n",
                interpreter.trace(KindRef::of(object), operation)
            ))?;
        }
    }
    match is_empty {
        false => Ok(()),
        true => Err(Failure::refused(
            "there is no object to ask about",
            "name one with --desired-file or --observed-file",
        )),
    }
}

/// Refuses what is no customization: it would be passed over.
fn refuse_others(manifests: &[Manifest]) -> Result<(), Failure> {
    let kind = "ResourceInterpreterCustomization";
    match manifests.iter().find(|other| other.object.kind() != kind) {
        None => Ok(()),
        Some(other) => Err(Failure::refused(
            format!("{}: {} is no {kind}", other.place, other.object.kind()),
            "give customizations with -f, and objects with --desired-file or --observed-file",
        )),
    }
}

/// Runs one rule, and prints what it answers.
pub fn run(trial: &Trial, print: Sink<'_>) -> Result<(), Failure> {
    let Some(operation) = trial.operation else {
        return Err(Failure::refused(
            "operation is not set for executing",
            "choose one with --operation, such as InterpretHealth",
        ));
    };
    refuse_others(&trial.customizations)?;
    let interpreter = Arc::new(configured(&trial.customizations));
    let (asked, about) = (Arc::clone(&interpreter), trial.clone());
    let answers = within(PATIENCE, move || ask(&asked, operation, &about))
        .unwrap_or_else(|| {
            Err(Failure::refused(
                format!("there is no answer after {}s", PATIENCE.as_secs()),
                "look for what takes long in the rule: a search in a long text, or a long list that is sorted",
            ))
        })
        .map_err(|failure| failure.reworded(|what| format!("Execute {operation} error: {what}")))?;
    let about = trial.desired.iter().chain(&trial.observed).next();
    let layer = about.and_then(|about| interpreter.layer(KindRef::of(&about.object), operation));
    if !trial.customizations.is_empty() && layer != Some(::interpret::Layer::Customization) {
        print(&format!(
            "# no customization has a rule for {operation}: the one that comes with the program answers\n"
        ))?;
    }
    let count = answers.len();
    for (position, (name, value)) in answers.into_iter().enumerate() {
        let text = write_document(&value, true)?;
        print(&format!(
            "---\n# [{}/{count}] {name}:\n{text}",
            position + 1
        ))?;
    }
    Ok(())
}

/// What comes of a question; `None` if that takes longer. Whoever is still busy with it then ends with the process.
fn within<T: Send + 'static>(
    limit: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (give, take) = sync_channel(1); // One answer, so nobody waits to give it.
    let asking = thread::spawn(move || give.send(ask()));
    match take.recv_timeout(limit) {
        Ok(answer) => Some(answer),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match asking.join() {
            Ok(_) => None,
            Err(panic) => resume_unwind(panic),
        },
    }
}

fn ask(
    interpreter: &Interpreter,
    operation: Operation,
    trial: &Trial,
) -> Result<Vec<(&'static str, Value)>, Failure> {
    let failed = |error: ::interpret::InterpretError| {
        Failure::refused(
            telemetry::chain(&error).to_string(),
            "correct the rule, or the object",
        )
    };
    if operation == Operation::Retain {
        let (Some(desired), Some(observed)) = (&trial.desired, &trial.observed) else {
            return Err(Failure::refused(
                "desired-file and observed-file are both needed",
                "add --desired-file and --observed-file",
            ));
        };
        if !interpreter.covers(KindRef::of(&desired.object), operation) {
            return Err(no_rule(operation, &desired.object, trial));
        }
        let kept = interpreter
            .retain(desired.object.clone(), &observed.object)
            .map_err(failed)?;
        return Ok(vec![("retained", kept.into_value())]);
    }
    let object: &Object = match (&trial.desired, &trial.observed) {
        (Some(_), Some(_)) => {
            return Err(Failure::refused(
                "you can not specify both desired-file and observed-file options",
                "leave one of them out",
            ));
        }
        (Some(one), None) | (None, Some(one)) => &one.object,
        (None, None) => {
            return Err(Failure::refused(
                "there is no object to ask about",
                "name one with --desired-file or --observed-file",
            ));
        }
    };
    // For the control plane, what nobody has a rule for is healthy; whoever tries a rule wants to know that there is none.
    if !interpreter.covers(KindRef::of(object), operation) {
        return Err(no_rule(operation, object, trial));
    }
    Ok(match operation {
        Operation::InterpretReplica => {
            let replicas = interpreter.replicas(object).map_err(failed)?;
            vec![
                ("replica", json!(replicas.replicas)),
                ("requires", json!(replicas.requirements)),
            ]
        }
        Operation::InterpretComponent => {
            vec![(
                "components",
                json!(interpreter.components(object).map_err(failed)?),
            )]
        }
        Operation::ReviseReplica => {
            let revised = interpreter.revise(object, trial.replicas).map_err(failed)?;
            vec![("revised", revised.into_value())]
        }
        Operation::InterpretStatus => {
            vec![(
                "status",
                interpreter
                    .reflect(object)
                    .map_err(failed)?
                    .unwrap_or_default(),
            )]
        }
        Operation::AggregateStatus => {
            let items = statuses(&trial.statuses)?;
            let status = interpreter.aggregate(object, &items).map_err(failed)?;
            let mut aggregated = object.clone();
            if let Some(status) = status {
                aggregated.fields_mut().insert("status".to_owned(), status);
            }
            vec![("aggregatedStatus", aggregated.into_value())]
        }
        Operation::InterpretHealth => {
            let health = interpreter.health(object).map_err(failed)?;
            vec![(
                "healthy",
                json!(health == api::work::ResourceHealth::Healthy),
            )]
        }
        Operation::InterpretDependency => {
            vec![(
                "dependencies",
                json!(interpreter.dependencies(object).map_err(failed)?),
            )]
        }
        Operation::Retain => Vec::new(),
    })
}

/// Upstream: in these words, and as if nothing were wrong.
fn no_rule(operation: Operation, object: &Object, trial: &Trial) -> Failure {
    let kind = KindRef::of(object);
    let target = |manifest: &Manifest, field: &str| {
        let text = manifest.object.text_at(&["spec", "target", field]);
        text.unwrap_or_default().to_owned()
    };
    let is_about = |manifest: &Manifest| {
        target(manifest, "apiVersion") == kind.api_version && target(manifest, "kind") == kind.kind
    };
    let hint = match trial.customizations.first() {
        None => "no rule comes with the program: write a ResourceInterpreterCustomization and give it with -f"
            .to_owned(),
        Some(_) if trial.customizations.iter().any(is_about) => {
            "add it to the customization; --check shows which rules are set".to_owned()
        }
        Some(other) => format!(
            "{} is about {} {}: correct spec.target, or the object",
            other.place,
            target(other, "apiVersion"),
            target(other, "kind"),
        ),
    };
    let what = format!("rule is not enabled: there is no {operation} for {kind}");
    let what = match operation {
        Operation::InterpretHealth => format!("{what}; the control plane takes it for healthy"),
        _ => what,
    };
    Failure::refused(what, hint)
}

fn statuses(values: &[Value]) -> Result<Vec<AggregatedStatusItem>, Failure> {
    let items = values.iter().map(|value| {
        parse::shape::<AggregatedStatusItem, _>(value).map_err(|error| {
            Failure::refused(
                format!("--status-file: {error}"),
                "write items with clusterName and status",
            )
        })
    });
    items.collect()
}

fn configured(customizations: &[Manifest]) -> Interpreter {
    let options = Options::default();
    let bystander = Arc::new(Bystander::new());
    let engine = Arc::new(Engine::new(Limits::default(), options, bystander));
    let objects = customizations.iter().map(|manifest| &manifest.object);
    Interpreter::configured(&engine, objects, [], None, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_customizations_have_rules() {
        let cart = "{apiVersion: shop.io/v1, kind: Cart, metadata: {name: a}}";
        let manifests = Manifest::parse("f.yaml", cart).unwrap();
        let trial = Trial {
            desired: manifests.first().cloned(),
            customizations: manifests,
            operation: Some(Operation::InterpretHealth),
            ..Trial::default()
        };
        let mut print = |_: &str| Ok(());
        let expected = "f.yaml: Cart is no ResourceInterpreterCustomization";
        let said = run(&trial, &mut print).unwrap_err().to_string();
        assert_eq!(said, expected);
        let said = trace(&trial, &mut print).unwrap_err().to_string();
        assert_eq!(said, expected);
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        let moment = Duration::from_millis(1);
        let (end, ended) = sync_channel::<()>(1);
        assert_eq!(within(moment, move || ended.recv()), None);
        drop(end);
        assert_eq!(within(PATIENCE, || 7), Some(7));
        // A rule that takes long by many short steps is stopped as in the control plane, by what it spends or by the clock.
        let script = "function InterpretHealth(o) local s = 'a' for i = 1, 18 do s = s .. s end while true do s:lower() end end";
        let customization = format!(
            "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {{name: c}}, spec: {{target: {{apiVersion: shop.io/v1, kind: Cart}}, customizations: {{healthInterpretation: {{luaScript: \"{script}\"}}}}}}}}"
        );
        let cart = "{apiVersion: shop.io/v1, kind: Cart, metadata: {name: a}}";
        let one = |text: &str| Manifest::parse("f.yaml", text).unwrap().remove(0);
        let trial = Trial {
            customizations: vec![one(&customization)],
            operation: Some(Operation::InterpretHealth),
            desired: Some(one(cart)),
            ..Trial::default()
        };
        let failure = run(&trial, &mut |_: &str| Ok(())).unwrap_err();
        let said = failure.to_string();
        let start = "Execute InterpretHealth error: ";
        assert!(said.starts_with(start), "{said}");
        assert!(said.contains("stopped after 1000ms"), "{said}");
        assert_eq!(failure.exit_code(), 1);
    }

    #[test]
    fn what_there_is_no_rule_for_is_told() {
        let one = |text: &str| Manifest::parse("f.yaml", text).unwrap().remove(0);
        let customization = |kind: &str| {
            one(&format!(
                "{{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {{name: c}}, spec: {{target: {{apiVersion: shop.io/v1, kind: {kind}}}, customizations: {{healthInterpretation: {{luaScript: 'function InterpretHealth(o) return false end'}}}}}}}}"
            ))
        };
        let custom = "{apiVersion: shop.io/v1, kind: Cart, metadata: {name: a}}";
        let deployment =
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}}";
        for (customizations, operation, object, expected) in [
            (
                vec![],
                Operation::InterpretHealth,
                custom,
                Err("no rule comes with the program"),
            ),
            (
                vec![customization("Cart")],
                Operation::InterpretHealth,
                custom,
                Ok("---\n# [1/1] healthy:\nfalse\n"),
            ),
            (
                vec![customization("Cart")],
                Operation::InterpretReplica,
                custom,
                Err("--check shows"),
            ),
            (
                vec![customization("Basket")],
                Operation::InterpretHealth,
                custom,
                Err("f.yaml is about shop.io/v1 Basket"),
            ),
            (
                vec![],
                Operation::InterpretReplica,
                deployment,
                Ok("---\n# [1/2] replica:\n2\n"),
            ),
            (
                vec![customization("Cart")],
                Operation::InterpretReplica,
                deployment,
                Ok(
                    "# no customization has a rule for InterpretReplica: the one that comes with the program answers\n---\n# [1/2] replica:\n2\n",
                ),
            ),
        ] {
            let trial = Trial {
                customizations,
                operation: Some(operation),
                desired: Some(one(object)),
                ..Trial::default()
            };
            let mut text = String::new();
            let mut print = |part: &str| {
                text.push_str(part);
                Ok(())
            };
            match (run(&trial, &mut print), expected) {
                (Ok(()), Ok(expected)) => assert!(text.starts_with(expected), "{text}"),
                (Err(failure), Err(expected)) => {
                    assert_eq!(failure.exit_code(), 1);
                    let said = failure.to_string();
                    assert!(
                        said.contains("error: rule is not enabled: there is no "),
                        "{said}"
                    );
                    assert!(failure.hint().contains(expected), "{}", failure.hint());
                }
                (found, expected) => panic!("{operation}: {found:?} instead of {expected:?}"),
            }
        }
    }
}

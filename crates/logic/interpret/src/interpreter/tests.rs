use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// A layer that answers with its own name, or fails.
#[derive(Default)]
struct Fake {
    name: &'static str,
    covered: BTreeSet<(&'static str, Operation)>,
    fails: bool,
    references: Vec<DependentObjectReference>,
}

impl Fake {
    fn new(name: &'static str, kind: &'static str, operation: Operation) -> Self {
        Self {
            name,
            covered: BTreeSet::from([(kind, operation)]),
            ..Self::default()
        }
    }

    fn answer<T>(&self, answer: T) -> Result<T, RuleError> {
        if self.fails {
            return Err(RuleError::Other(format!("{} is broken", self.name).into()));
        }
        Ok(answer)
    }

    fn mark(&self, mut object: Object) -> Result<Object, RuleError> {
        object
            .fields_mut()
            .insert("by".to_owned(), self.name.into());
        self.answer(object)
    }
}

impl Coverage for Fake {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        self.covered
            .iter()
            .any(|(known, on)| *known == kind.kind && *on == operation)
    }

    fn origin(&self, _: KindRef<'_>, _: Operation) -> Option<String> {
        Some(self.name.to_owned())
    }
}

impl Rules for Fake {
    fn replicas(&self, _: &Object) -> Result<Replicas, RuleError> {
        self.answer(Replicas {
            replicas: 42,
            requirements: Some(api::work::v1alpha2::ReplicaRequirements::default()),
        })
    }

    fn components(&self, _: &Object) -> Result<Vec<Component>, RuleError> {
        self.answer(vec![Component {
            name: self.name.to_owned(),
            ..Component::default()
        }])
    }

    fn revise(&self, template: Object, _: i32) -> Result<Object, RuleError> {
        self.mark(template)
    }

    fn retain(&self, desired: Object, _: &Object) -> Result<Object, RuleError> {
        self.mark(desired)
    }

    fn aggregate(
        &self,
        _: &Object,
        _: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, RuleError> {
        self.answer(Some(json!({"by": self.name})))
    }

    fn reflect(&self, _: &Object) -> Result<Option<Value>, RuleError> {
        self.answer(Some(json!({"by": self.name})))
    }

    fn is_healthy(&self, _: &Object) -> Result<bool, RuleError> {
        self.answer(false)
    }

    fn dependencies(&self, _: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
        self.answer(self.references.clone())
    }
}

fn deployment() -> Object {
    let value = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "test"},
        "spec": {"replicas": 2},
        "status": {"replicas": 2},
    });
    Object::from_value(value).unwrap()
}

/// A webhook for one operation on Deployments.
fn configuration(operation: Operation) -> Object {
    let value = json!({"metadata": {"name": "hooks"}, "webhooks": [{
        "name": "hook.example.com",
        "clientConfig": {"url": "https://example.com"},
        "interpreterContextVersions": ["v1alpha1"],
        "rules": [{
            "operations": [operation.as_str()], "apiGroups": ["apps"], "apiVersions": ["v1"], "kinds": ["Deployment"],
        }],
    }]});
    Object::from_value(value).unwrap()
}

fn all_layers(operation: Operation) -> Layers {
    Layers {
        customization: Some(Arc::new(Fake::new("script", "Deployment", operation))),
        webhook: Some(Arc::new(Hooks::new([&configuration(operation)]))),
        courier: None,
        third_party: Some(Arc::new(Fake::new("shipped", "Deployment", operation))),
    }
}

#[test]
fn the_first_layer_with_a_rule_answers() {
    for operation in Operation::ALL {
        let mut layers = all_layers(operation);
        let kind = KindRef {
            api_version: "apps/v1",
            kind: "Deployment",
        };
        let layer = |layers: &Layers| {
            Interpreter::new(layers.clone(), Options::default()).layer(kind, operation)
        };
        assert_eq!(layer(&layers), Some(Layer::Customization));
        layers.customization = None;
        assert_eq!(layer(&layers), Some(Layer::Webhook));
        layers.webhook = None;
        assert_eq!(layer(&layers), Some(Layer::ThirdParty));
        layers.third_party = None;
        let native = (operation != Operation::InterpretComponent).then_some(Layer::Native);
        assert_eq!(layer(&layers), native);
    }
}

#[test]
fn a_customization_of_health_goes_before_the_native_rule_and_before_a_webhook() {
    let layers = all_layers(Operation::InterpretHealth);
    let mut ready = deployment();
    ready
        .set(
            &["status"],
            json!({"updatedReplicas": 2, "availableReplicas": 2}),
        )
        .unwrap();
    let health = |layers: Layers| {
        Interpreter::new(layers, Options::default())
            .health(&ready)
            .unwrap()
    };
    assert_eq!(health(layers), ResourceHealth::Unhealthy);
    assert_eq!(health(Layers::default()), ResourceHealth::Healthy);
}

#[test]
fn a_rule_for_one_operation_leaves_the_others_alone() {
    let layers = all_layers(Operation::InterpretHealth);
    let interpreter = Interpreter::new(layers, Options::default());
    assert_eq!(interpreter.replicas(&deployment()).unwrap().replicas, 2);
}

#[test]
fn a_trace_names_everybody_who_has_a_rule() {
    let kind = KindRef {
        api_version: "apps/v1",
        kind: "Deployment",
    };
    let trace = |layers: Layers, operation| {
        let interpreter = Interpreter::new(layers, Options::default());
        interpreter.trace(kind, operation).to_string()
    };
    let operation = Operation::InterpretHealth;
    assert_eq!(
        trace(all_layers(operation), operation),
        "InterpretHealth: customization script (before webhook hooks/hook.example.com, third-party shipped, native)"
    );
    assert_eq!(
        trace(Layers::default(), operation),
        "InterpretHealth: native"
    );
    let operation = Operation::InterpretComponent;
    assert_eq!(
        trace(Layers::default(), operation),
        "InterpretComponent: no rule"
    );
    let interpreter = Interpreter::new(all_layers(operation), Options::default());
    let answered_by = interpreter.trace(kind, operation);
    let answered_by = answered_by.answered_by().map(|first| first.layer);
    assert_eq!(answered_by, interpreter.layer(kind, operation));
}

#[test]
fn what_users_wrote_makes_an_interpreter() {
    let script = |name: &str| {
        let value = json!({"metadata": {"name": name}, "spec": {
            "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "customizations": {"healthInterpretation": {"luaScript": "function InterpretHealth() return false end"}},
        }});
        Object::from_value(value).unwrap()
    };
    let engine = Arc::new(Engine::default());
    let interpreter = Interpreter::configured(
        &engine,
        &[script("a"), script("b")],
        &[configuration(Operation::InterpretHealth)],
        None,
        Options::default(),
    );
    let web = deployment();
    assert_eq!(interpreter.health(&web).unwrap(), ResourceHealth::Unhealthy);
    let trace = interpreter.trace(KindRef::of(&web), Operation::InterpretHealth);
    assert_eq!(
        trace.to_string(),
        "InterpretHealth: customization a (before webhook hooks/hook.example.com, native)"
    );
    let problems = interpreter.problems();
    assert_eq!(
        (problems.customizations.len(), problems.hooks.len()),
        (1, 0)
    );
    assert_eq!(problems.customizations[0].customization, "b");
}

#[test]
fn an_error_is_final_and_no_other_layer_is_tried() {
    let mut script = Fake::new("script", "Deployment", Operation::InterpretReplica);
    script.fails = true;
    let layers = Layers {
        customization: Some(Arc::new(script)),
        ..Layers::default()
    };
    let interpreter = Interpreter::new(layers, Options::default());
    let error = interpreter.replicas(&deployment()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the customization rule for InterpretReplica of apps/v1, Kind=Deployment failed"
    );
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(cause.to_string(), "script is broken");
    assert!(!error.is_terminal());
}

#[test]
fn a_webhook_is_left_to_the_caller() {
    let layers = Layers {
        customization: None,
        ..all_layers(Operation::ReviseReplica)
    };
    let interpreter = Interpreter::new(layers, Options::default());
    let error = interpreter.revise(&deployment(), 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ReviseReplica of apps/v1, Kind=Deployment is answered by a webhook"
    );
}

#[test]
fn every_operation_reaches_the_layer() {
    let mut fake = Fake::new("script", "Deployment", Operation::Retain);
    fake.covered = Operation::ALL
        .map(|operation| ("Deployment", operation))
        .into();
    let layers = Layers {
        customization: Some(Arc::new(fake)),
        ..Layers::default()
    };
    let interpreter = Interpreter::new(layers, Options::default());
    let web = deployment();
    assert_eq!(interpreter.replicas(&web).unwrap().replicas, 42);
    assert_eq!(interpreter.components(&web).unwrap()[0].name, "script");
    assert_eq!(
        interpreter.revise(&web, 1).unwrap().text_at(&["by"]),
        Some("script")
    );
    let retained = interpreter.retain(web.clone(), &web).unwrap();
    assert_eq!(retained.text_at(&["by"]), Some("script"));
    let retained = interpreter.retain_all(&web, &web).unwrap();
    assert_eq!(retained.text_at(&["by"]), Some("script"));
    let by_script = Some(json!({"by": "script"}));
    assert_eq!(interpreter.aggregate(&web, &[]).unwrap(), by_script);
    assert_eq!(interpreter.reflect(&web).unwrap(), by_script);
    assert_eq!(interpreter.health(&web).unwrap(), ResourceHealth::Unhealthy);
    assert_eq!(interpreter.dependencies(&web).unwrap(), []);
}

#[test]
fn the_namespace_is_told_for_any_layer_under_the_quota_gate() {
    for (gate, namespace) in [(false, ""), (true, "test")] {
        let options = Options {
            resource_quota_estimate: gate,
        };
        let interpreter = Interpreter::new(all_layers(Operation::InterpretReplica), options);
        let answer = interpreter.replicas(&deployment()).unwrap();
        assert_eq!(answer.requirements.unwrap().namespace, namespace);
    }
}

#[test]
fn a_status_that_a_rule_leaves_as_it_is_is_not_written() {
    let interpreter = Interpreter::new(all_layers(Operation::AggregateStatus), Options::default());
    let mut web = deployment();
    web.set(&["status"], json!({"by": "script"})).unwrap();
    assert_eq!(interpreter.aggregate(&web, &[]).unwrap(), None);
}

#[test]
fn references_are_checked_sorted_and_listed_once() {
    let reference = |api_version: &str, kind: &str, name: &str| DependentObjectReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        ..DependentObjectReference::default()
    };
    let ask = |references: &[DependentObjectReference]| {
        let mut fake = Fake::new("script", "Deployment", Operation::InterpretDependency);
        fake.references = references.to_vec();
        let layers = Layers {
            customization: Some(Arc::new(fake)),
            ..Layers::default()
        };
        match Interpreter::new(layers, Options::default()).dependencies(&deployment()) {
            Ok(found) => Ok(found),
            Err(InterpretError::Rule { source, .. }) => Err(source.to_string()),
            Err(other) => Err(other.to_string()),
        }
    };
    let (a, b) = (reference("v1", "A", "x"), reference("v1", "B", "x"));
    let found = ask(&[b.clone(), a.clone(), b.clone()]).unwrap();
    assert_eq!(found, [a.clone(), b]);
    for (broken, text) in [
        (
            reference("", "A", "x"),
            "dependencies[1].apiVersion: is required",
        ),
        (
            reference("v1", "", "x"),
            "dependencies[1].kind: is required",
        ),
        (
            reference("v1", "A", ""),
            "dependencies[1].name: is required where there is no labelSelector",
        ),
    ] {
        assert_eq!(ask(&[a.clone(), broken]), Err(text.to_owned()));
    }
    let selected = DependentObjectReference {
        label_selector: Some(LabelSelector::default()),
        ..reference("v1", "A", "")
    };
    assert_eq!(ask(std::slice::from_ref(&selected)), Ok(vec![selected]));
}

#[test]
fn what_depends_on_its_input_alone_is_not_worth_asking_again() {
    let interpreter = Interpreter::default();
    let mut web = deployment();
    web.set(&["spec", "replicas"], "two").unwrap();
    assert!(interpreter.replicas(&web).unwrap_err().is_terminal());
    assert!(interpreter.components(&web).unwrap_err().is_terminal());
}

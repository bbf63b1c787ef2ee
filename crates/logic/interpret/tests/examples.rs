//! The published examples do what they say.

use std::{path::Path, sync::Arc};

use api::work::{ResourceHealth, v1alpha2::AggregatedStatusItem};
use karavel_interpret::{Engine, Interpreter, KindRef, Layer, Operation, Options, Problems};
use object::{Object, Value};
use serde_json::json;

#[expect(
    clippy::disallowed_methods,
    reason = "the examples are files, and what is published is what is tested"
)]
fn example(name: &str) -> Object {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/interpretation");
    let text = std::fs::read_to_string(folder.join(name)).expect("the example can be read");
    let value: Value = serde_saphyr::from_str(&text).expect("the example is YAML");
    Object::from_value(value).expect("the example is an object")
}

fn interpreter() -> Interpreter {
    let interpreter = Interpreter::configured(
        &Arc::new(Engine::default()),
        &[example("customization.yaml")],
        &[example("webhook.yaml")],
        None,
        Options::default(),
    );
    assert_eq!(*interpreter.problems(), Problems::default());
    interpreter
}

#[test]
fn the_customization_explains_the_widget() {
    let interpreter = interpreter();
    let widget = example("widget.yaml");
    for operation in Operation::ALL {
        let layer = interpreter.layer(KindRef::of(&widget), operation);
        let is_scripted = operation != Operation::InterpretComponent;
        assert_eq!(layer, is_scripted.then_some(Layer::Customization));
    }
    let replicas = interpreter.replicas(&widget).unwrap();
    assert_eq!(replicas.replicas, 3);
    let needs = replicas.requirements.unwrap();
    assert_eq!(needs.resource_request["cpu"].to_string(), "250m");
    let revised = interpreter.revise(&widget, 2).unwrap();
    assert_eq!(revised.integer_at(&["spec", "size"]), Some(2));
    let references = interpreter.dependencies(&widget).unwrap();
    assert_eq!(references[0].name, "settings");

    let mut observed = widget.clone();
    observed.set(&["spec", "mode"], "lazy").unwrap();
    observed.set(&["status"], json!({"ready": 3})).unwrap();
    let retained = interpreter.retain_all(&widget, &observed).unwrap();
    assert_eq!(retained.text_at(&["spec", "mode"]), Some("lazy"));
    assert_eq!(
        interpreter.health(&observed).unwrap(),
        ResourceHealth::Healthy
    );
    let reflected = interpreter.reflect(&observed).unwrap();
    assert_eq!(reflected, Some(json!({"ready": 3})));
    let items = ["m1", "m2"].map(|cluster| AggregatedStatusItem {
        cluster_name: cluster.to_owned(),
        status: reflected.clone(),
        ..AggregatedStatusItem::default()
    });
    let status = interpreter.aggregate(&widget, &items).unwrap();
    assert_eq!(status, Some(json!({"ready": 6})));
}

#[test]
fn the_webhook_is_asked_about_gadgets() {
    let kind = KindRef {
        api_version: "example.com/v1",
        kind: "Gadget",
    };
    let layer = interpreter().layer(kind, Operation::ReviseReplica);
    assert_eq!(layer, Some(Layer::Webhook));
}

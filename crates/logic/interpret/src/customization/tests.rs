use serde_json::json;

use super::*;
use crate::script::{Limits, ScriptProblem};

/// A customization of `acme.io/v1 Widget` with these scripts.
fn customization(name: &str, scripts: &[(&str, &str)]) -> Object {
    let scripts: serde_json::Map<String, Value> = scripts
        .iter()
        .map(|(field, text)| ((*field).to_owned(), json!({"luaScript": text})))
        .collect();
    Object::from_value(json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {"target": {"apiVersion": "acme.io/v1", "kind": "Widget"}, "customizations": scripts},
    }))
    .unwrap()
}

fn widget(rest: Value) -> Object {
    let mut widget = json!({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "n"}});
    let fields = widget.as_object_mut().unwrap();
    fields.extend(rest.as_object().unwrap().clone());
    Object::from_value(widget).unwrap()
}

fn layer(objects: &[Object]) -> Customizations {
    Customizations::new(Arc::new(Engine::default()), objects)
}

fn one(field: &str, text: &str) -> Customizations {
    layer(&[customization("widget", &[(field, text)])])
}

fn message<T: std::fmt::Debug>(result: Result<T, RuleError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_operation_is_answered_by_its_function() {
    let scripts = layer(&[customization(
        "widget",
        &[
            (
                "replicaResource",
                "function GetReplicas(o) return o.spec.size, {resourceRequest = {cpu = '100m'}} end",
            ),
            (
                "componentResource",
                "function GetComponents(o) return {{name = 'a', replicas = o.spec.size}} end",
            ),
            (
                "replicaRevision",
                "function ReviseReplica(o, n) o.spec.size = n return o end",
            ),
            (
                "retention",
                "function Retain(d, o) d.spec.size = o.spec.size return d end",
            ),
            (
                "statusReflection",
                "function ReflectStatus(o) return {seen = o.status.size} end",
            ),
            (
                "statusAggregation",
                "function AggregateStatus(o, items)
                   local sum = 0
                   for _, item in ipairs(items) do sum = sum + item.status.seen end
                   o.status = {total = sum, of = #items, first = items[1].clusterName}
                   return o
                 end",
            ),
            (
                "healthInterpretation",
                "function InterpretHealth(o) return o.status.size == o.spec.size end",
            ),
            (
                "dependencyInterpretation",
                "function GetDependencies(o) return {{apiVersion = 'v1', kind = 'Secret', namespace = 'n', name = o.spec.key}} end",
            ),
        ],
    )]);
    assert_eq!(scripts.problems(), []);
    let object = widget(json!({"spec": {"size": 2, "key": "k"}, "status": {"size": 2}}));
    let answer = scripts.replicas(&object).unwrap();
    assert_eq!(answer.replicas, 2);
    assert_eq!(
        answer.requirements.unwrap().resource_request["cpu"].to_string(),
        "100m"
    );
    let components = scripts.components(&object).unwrap();
    assert_eq!(
        (components[0].name.as_str(), components[0].replicas),
        ("a", 2)
    );
    let revised = scripts.revise(object.clone(), 7).unwrap();
    assert_eq!(revised.at(&["spec"]), Some(&json!({"size": 7, "key": "k"})));
    let observed = widget(json!({"spec": {"size": 9}}));
    let retained = scripts.retain(object.clone(), &observed).unwrap();
    assert_eq!(retained.integer_at(&["spec", "size"]), Some(9));
    assert_eq!(scripts.reflect(&object).unwrap(), Some(json!({"seen": 2})));
    assert!(scripts.is_healthy(&object).unwrap());
    assert_eq!(scripts.dependencies(&object).unwrap()[0].name, "k");
    let items = ["m1", "m2"].map(|cluster| AggregatedStatusItem {
        cluster_name: cluster.to_owned(),
        status: Some(json!({"seen": 2})),
        ..AggregatedStatusItem::default()
    });
    let status = scripts.aggregate(&object, &items).unwrap();
    assert_eq!(status, Some(json!({"first": "m1", "of": 2, "total": 4})));
    for operation in Operation::ALL {
        assert!(scripts.covers(KindRef::of(&object), operation));
        assert_eq!(
            scripts.origin(KindRef::of(&object), operation).as_deref(),
            Some("widget")
        );
    }
}

#[test]
fn the_first_script_by_name_answers_and_references_add_up() {
    let size = |size: u32| format!("function GetReplicas() return {size} end");
    let to = |name: &str| {
        format!(
            "function GetDependencies() return {{{{apiVersion='v1', kind='Secret', name='{name}'}}}} end"
        )
    };
    let scripts = layer(&[
        customization(
            "c",
            &[
                ("replicaResource", &size(3)),
                ("dependencyInterpretation", &to("z")),
            ],
        ),
        customization(
            "b",
            &[
                ("replicaResource", &size(2)),
                ("dependencyInterpretation", &to("y")),
            ],
        ),
        customization("a", &[("replicaResource", "")]),
    ]);
    let object = widget(json!({}));
    assert_eq!(scripts.replicas(&object).unwrap().replicas, 2);
    let names: Vec<String> = scripts
        .dependencies(&object)
        .unwrap()
        .into_iter()
        .map(|to| to.name)
        .collect();
    assert_eq!(names, ["y", "z"]);
    let problem = CustomizationProblem {
        customization: "c".to_owned(),
        operation: Some(Operation::InterpretReplica),
        message: "not used, because b has a script for InterpretReplica of the same kind"
            .to_owned(),
    };
    assert_eq!(scripts.problems(), [problem]);
    let kind = KindRef::of(&object);
    assert_eq!(
        scripts
            .origin(kind, Operation::InterpretDependency)
            .as_deref(),
        Some("b, c")
    );
    assert!(!scripts.covers(kind, Operation::Retain));
    let other = KindRef {
        api_version: "acme.io/v2",
        ..kind
    };
    assert!(!scripts.covers(other, Operation::InterpretReplica));
}

#[test]
fn a_script_that_is_no_lua_is_reported_and_fails_when_asked() {
    let scripts = one("retention", "function Retain(d, o)\n  return d +\nend");
    let text = "widget: Retain: line 3: Expected identifier when parsing expression, got 'end'";
    assert_eq!(scripts.problems()[0].message, text);
    assert_eq!(
        message(scripts.retain(widget(json!({})), &widget(json!({})))),
        text
    );
}

#[test]
fn a_customization_that_cannot_be_read_is_reported() {
    let object =
        Object::from_value(json!({"metadata": {"name": "odd"}, "spec": {"target": 7}})).unwrap();
    let scripts = layer(&[object]);
    assert_eq!(scripts.problems()[0].customization, "odd");
}

#[test]
fn answers_of_the_wrong_sort_are_refused() {
    let object = widget(json!({}));
    let check = |field: &str, text: &str, expected: &str| {
        let scripts = one(field, text);
        let found = match field {
            "replicaResource" => message(scripts.replicas(&object)),
            "componentResource" => message(scripts.components(&object)),
            "replicaRevision" => message(scripts.revise(object.clone(), 1)),
            "statusReflection" => message(scripts.reflect(&object)),
            "statusAggregation" => message(scripts.aggregate(&object, &[])),
            "healthInterpretation" => message(scripts.is_healthy(&object)),
            _ => message(scripts.dependencies(&object)),
        };
        let found = found.strip_prefix("widget: ").unwrap();
        let (_, found) = found.split_once(": ").unwrap();
        assert_eq!(found, expected, "{text}");
    };
    let unusable = |function: &str, rest: &str| {
        format!("{function} returned a value that cannot be used: {rest}")
    };
    for (field, text, expected) in [
        (
            "replicaResource",
            "x = 1",
            "the script defines no function GetReplicas".to_owned(),
        ),
        (
            "replicaResource",
            "GetReplicas = 3",
            "the script defines no function GetReplicas".to_owned(),
        ),
        (
            "replicaResource",
            "function GetReplicas() return '3' end",
            "GetReplicas returned string and not a number".to_owned(),
        ),
        (
            "replicaResource",
            "function GetReplicas() end",
            "GetReplicas returned nil and not a number".to_owned(),
        ),
        (
            "replicaResource",
            "function GetReplicas() return -1 end",
            unusable("GetReplicas", "-1 is not between 0 and 2147483647"),
        ),
        (
            "replicaResource",
            "function GetReplicas() return 0/0 end",
            unusable("GetReplicas", "NaN is not between 0 and 2147483647"),
        ),
        (
            "replicaResource",
            "function GetReplicas() return 1, 2 end",
            "GetReplicas returned number and not a table".to_owned(),
        ),
        (
            "replicaResource",
            "function GetReplicas() return 1, {resourceRequest = {cpu = 'much'}} end",
            unusable(
                "GetReplicas",
                "resourceRequest.cpu: quantity \"much\" does not start with a number",
            ),
        ),
        (
            "componentResource",
            "function GetComponents() return {a = 1} end",
            "GetComponents returned an object and not a list".to_owned(),
        ),
        (
            "componentResource",
            "function GetComponents() return {{name = 'a', replicas = 1}, {name = 'b', replicas = -3}} end",
            unusable(
                "GetComponents",
                "[1].replicas: -3 is not between 0 and 2147483647",
            ),
        ),
        (
            "replicaRevision",
            "function ReviseReplica() return nil end",
            "ReviseReplica returned nil and not a table".to_owned(),
        ),
        (
            "replicaRevision",
            "function ReviseReplica() return {1} end",
            "ReviseReplica returned a list and not an object".to_owned(),
        ),
        (
            "replicaRevision",
            "function ReviseReplica(o) o.metadata.name = 'other' return o end",
            unusable(
                "ReviseReplica",
                "metadata.name: is \"other\" and was \"w\"; it must not change",
            ),
        ),
        (
            "statusReflection",
            "function ReflectStatus() return 'ok' end",
            "ReflectStatus returned string and not a table".to_owned(),
        ),
        (
            "statusAggregation",
            "function AggregateStatus() return true end",
            "AggregateStatus returned boolean and not a table".to_owned(),
        ),
        (
            "healthInterpretation",
            "function InterpretHealth() return 1 end",
            "InterpretHealth returned number and not true or false".to_owned(),
        ),
        (
            "healthInterpretation",
            "function InterpretHealth() return nil end",
            "InterpretHealth returned nil and not true or false".to_owned(),
        ),
        (
            "dependencyInterpretation",
            "function GetDependencies() return nil end",
            "GetDependencies returned nil and not a table".to_owned(),
        ),
        (
            "dependencyInterpretation",
            "function GetDependencies() return {{name = {}, kind = {a = 1}}} end",
            unusable(
                "GetDependencies",
                "[0].kind: invalid type: map, expected a string",
            ),
        ),
    ] {
        check(field, text, &expected);
    }
}

#[test]
fn an_error_names_the_customization_the_operation_and_the_line() {
    let scripts = one(
        "healthInterpretation",
        "function InterpretHealth(o)\n  local x = 1\n  return o.status.deep.er\nend",
    );
    let error = scripts.is_healthy(&widget(json!({}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "widget: InterpretHealth: line 3: attempt to index nil with 'deep'"
    );
    let RuleError::Script(error) = error else {
        panic!("{error}")
    };
    assert_eq!((error.line, error.is_terminal()), (Some(3), true));
}

#[test]
fn an_endless_script_is_stopped_and_the_next_one_runs() {
    let engine = Arc::new(Engine::new(
        Limits {
            effort: 10_000,
            ..Limits::default()
        },
        crate::Options::default(),
        Arc::new(crate::script::Secluded),
    ));
    let scripts = Customizations::new(
        engine,
        &[customization(
            "widget",
            &[
                (
                    "healthInterpretation",
                    "function InterpretHealth() while true do end end",
                ),
                ("replicaResource", "function GetReplicas() return 1 end"),
            ],
        )],
    );
    let object = widget(json!({}));
    let RuleError::Script(error) = scripts.is_healthy(&object).unwrap_err() else {
        panic!("no error of a script");
    };
    assert_eq!(error.problem, ScriptProblem::Effort { steps: 10_000 });
    assert_eq!(error.line, Some(1));
    assert_eq!(scripts.replicas(&object).unwrap().replicas, 1);
}

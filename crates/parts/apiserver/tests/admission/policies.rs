use access::audit::{AuditLog, AuditPolicy, LogOptions};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use karavel_apiserver::{Audit, Extensions};
use serde_json::{Value, json};
use tower_service::Service;

use crate::world::{Answer, World, master};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn policy(spec: Value) -> Value {
    let mut policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]},
            ]},
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    policy
}

fn deployment(replicas: u32, labels: Value) -> Value {
    json!({
        "metadata": {"name": "d", "labels": labels},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    })
}

/// A world with a policy in force.
async fn world(spec: Value, binding: Value) -> World {
    enforce(World::start().await, spec, binding).await
}

async fn enforce(world: World, spec: Value, binding: Value) -> World {
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, policy(spec)).await;
    let mut bound = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    for (field, value) in binding.as_object().unwrap() {
        bound["spec"][field] = value.clone();
    }
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    world.create(&path, bound).await;
    world
}

async fn create(world: &World, deployment: Value) -> Answer {
    world
        .ask(&master(), &format!("POST {DEPLOYMENTS}"), deployment)
        .await
}

fn show(answer: &Answer) -> String {
    if answer.code < 300 {
        return answer.code.to_string();
    }
    let text = |field: &str| answer.body[field].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", answer.code, text("reason"), text("message"))
}

#[tokio::test]
async fn what_follows_from_a_condition_that_cannot_be_told_is_the_bindings_to_say() {
    let spec = json!({
        "matchConditions": [{"name": "odd", "expression": "object.spec.nothing == 1"}],
        "validations": [{"expression": "true"}],
    });
    let warned = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': match condition \\\"odd\\\": ";
    for (actions, code, warnings) in [
        (json!(["Deny"]), 422, 0),
        (json!(["Deny", "Audit"]), 422, 0),
        (json!(["Warn"]), 201, 1),
        (json!(["Audit"]), 201, 0),
    ] {
        let world = world(spec.clone(), json!({"validationActions": actions})).await;
        let answer = create(&world, deployment(1, json!({}))).await;
        assert_eq!(answer.code, code, "{actions}: {}", answer.body);
        let told = answer
            .warnings
            .iter()
            .filter(|text| text.starts_with(warned));
        assert_eq!(told.count(), warnings, "{actions}: {:?}", answer.warnings);
    }
}

#[tokio::test]
async fn a_policy_sees_how_a_deletion_is_meant() {
    let spec = json!({
        "matchConstraints": {"resourceRules": [
            {"operations": ["DELETE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]},
        ]},
        "validations": [{"expression": "request.options.?propagationPolicy.orValue('') != 'Orphan'"}],
    });
    let world = world(spec, json!({})).await;
    assert_eq!(create(&world, deployment(1, json!({}))).await.code, 201);
    let line = format!("DELETE {DEPLOYMENTS}/d");
    for (policy, code) in [("Orphan", 422), ("Background", 200)] {
        let options = json!({"propagationPolicy": policy});
        let answer = world.ask(&master(), &line, options).await;
        assert_eq!(answer.code, code, "{policy}: {}", answer.body);
    }
}

#[tokio::test]
async fn who_is_refused_by_one_policy_hears_what_another_warns_of() {
    let spec = json!({"validations": [{"expression": "false", "message": "mind the gap"}]});
    let world = world(spec.clone(), json!({"validationActions": ["Warn"]})).await;
    let mut denying = policy(spec);
    denying["metadata"]["name"] = json!("q");
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, denying).await;
    let bound = json!({"metadata": {"name": "c"}, "spec": {"policyName": "q", "validationActions": ["Deny"]}});
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    world.create(&path, bound).await;
    let answer = create(&world, deployment(1, json!({}))).await;
    assert_eq!(answer.code, 422, "{}", answer.body);
    assert_eq!(
        answer.warnings,
        [
            "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': mind the gap\""
        ]
    );
}

#[tokio::test]
async fn checks_refuse_with_the_message_and_reason_they_were_given() {
    let denied = "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    for (spec, replicas, expected) in [
        (
            json!({"validations": [{"expression": "object.spec.replicas <= 5"}]}),
            3,
            "201".to_owned(),
        ),
        (
            json!({"validations": [{"expression": "object.spec.replicas <= 5"}]}),
            6,
            format!("422 Invalid {denied}failed expression: object.spec.replicas <= 5"),
        ),
        (
            json!({"validations": [{"expression": "object.spec.replicas <= 5", "message": "too many", "reason": "Forbidden"}]}),
            6,
            format!("403 Forbidden {denied}too many"),
        ),
        (
            json!({"validations": [{
                "expression": "variables.n <= 5", "messageExpression": "'at most 5, not ' + string(variables.n)",
            }], "variables": [{"name": "n", "expression": "object.spec.replicas"}]}),
            6,
            format!("422 Invalid {denied}at most 5, not 6"),
        ),
        (
            json!({"validations": [{"expression": "false"}], "matchConditions": [
                {"name": "large", "expression": "object.spec.replicas > 5"},
            ]}),
            5,
            "201".to_owned(),
        ),
        (
            json!({"validations": [{"expression": "object.spec.nothing == 1"}]}),
            1,
            format!(
                "422 Invalid {denied}expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"
            ),
        ),
        (
            json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.spec.nothing == 1"}]}),
            1,
            "201".to_owned(),
        ),
    ] {
        let world = world(spec.clone(), json!({})).await;
        let answer = create(&world, deployment(replicas, json!({}))).await;
        assert_eq!(show(&answer), expected, "{spec}");
    }
}

#[tokio::test]
async fn parameters_come_from_objects_the_binding_names_or_selects() {
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.spec.replicas <= int(params.data.most)", "message": "too many"}],
    });
    let reference = |fields: Value| {
        let mut reference = json!({"parameterNotFoundAction": "Deny", "namespace": "default"});
        for (field, value) in fields.as_object().unwrap() {
            reference[field] = value.clone();
        }
        json!({"paramRef": reference})
    };
    let denied = "422 Invalid deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    for (binding, replicas, expected) in [
        (reference(json!({"name": "small"})), 2, "201".to_owned()),
        (
            reference(json!({"name": "small"})),
            3,
            format!("{denied}too many"),
        ),
        (
            reference(json!({"selector": {"matchLabels": {"kind": "limit"}}})),
            3,
            format!("{denied}too many"),
        ),
        (
            reference(json!({"selector": {"matchLabels": {"kind": "limit"}}})),
            2,
            "201".to_owned(),
        ),
        (
            reference(json!({"name": "absent"})),
            1,
            format!(
                "{denied}failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
            ),
        ),
        (
            reference(json!({"name": "absent", "parameterNotFoundAction": "Allow"})),
            9,
            "201".to_owned(),
        ),
    ] {
        let world = world(spec.clone(), binding.clone()).await;
        for (name, most) in [("small", "2"), ("large", "5")] {
            let map = json!({"metadata": {"name": name, "labels": {"kind": "limit"}}, "data": {"most": most}});
            world
                .create("/api/v1/namespaces/default/configmaps", map)
                .await;
        }
        let answer = create(&world, deployment(replicas, json!({}))).await;
        assert_eq!(show(&answer), expected, "{binding}");
    }
}

#[tokio::test]
async fn bindings_narrow_what_a_policy_is_about() {
    let spec = json!({"validations": [{"expression": "false", "message": "no"}]});
    let narrowed = json!({"matchResources": {"objectSelector": {"matchLabels": {"tier": "web"}}}});
    let world = world(spec, narrowed).await;
    assert_eq!(create(&world, deployment(1, json!({}))).await.code, 201);
    let labelled = json!({"metadata": {"labels": {"tier": "web"}}});
    let line = format!("PATCH {DEPLOYMENTS}/d");
    assert_eq!(world.ask(&master(), &line, labelled).await.code, 422);
    // The configurations of admission are never judged by it.
    let line = format!("DELETE {GROUP}/validatingadmissionpolicybindings/b");
    assert_eq!(world.ask(&master(), &line, json!(null)).await.code, 200);
}

#[tokio::test]
async fn expressions_that_cannot_be_compiled_are_refused_when_they_are_written() {
    let world = World::start().await;
    let policies = format!("POST {GROUP}/validatingadmissionpolicies");
    for (spec, field) in [
        (
            json!({"validations": [{"expression": "object.spec.replicas <="}]}),
            "spec.validations[0].expression",
        ),
        (
            json!({"validations": [{"expression": "'text'"}]}),
            "spec.validations[0].expression",
        ),
        (
            json!({"validations": [{"expression": "params.x == 1"}]}),
            "spec.validations[0].expression",
        ),
        (
            json!({"validations": [{"expression": "true", "messageExpression": "1"}]}),
            "spec.validations[0].messageExpression",
        ),
        (
            json!({"variables": [{"name": "a", "expression": "variables.b"}], "validations": [{"expression": "true"}]}),
            "spec.variables[0].expression",
        ),
        (
            json!({"validations": [{"expression": "true"}], "matchConditions": [{"name": "a", "expression": "1"}]}),
            "spec.matchConditions[0].expression",
        ),
        (
            json!({
                "variables": [{"name": "a", "expression": "true"}], "validations": [{"expression": "variables.a"}],
                "matchConditions": [{"name": "a", "expression": "variables.a"}],
            }),
            "spec.matchConditions[0].expression",
        ),
        (
            json!({"validations": [{
                "expression": "true", "messageExpression": "authorizer.path('/x').check('get').reason()",
            }]}),
            "spec.validations[0].messageExpression",
        ),
        (
            json!({"validations": [{
                "expression": "true", "messageExpression": "authorizer.requestResource.check('get').reason()",
            }]}),
            "spec.validations[0].messageExpression",
        ),
    ] {
        let answer = world.ask(&master(), &policies, policy(spec.clone())).await;
        assert_eq!(answer.code, 422, "{spec}: {}", answer.body);
        let cause = &answer.body["details"]["causes"][0];
        assert_eq!(cause["field"], field, "{spec}");
        let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
        let wrong = json!({"spec": spec}).pointer(&pointer).unwrap().to_string();
        let message = cause["message"].as_str().unwrap();
        let expected = format!("Invalid value: {wrong}: ");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[tokio::test]
async fn expressions_that_do_not_fit_the_kind_are_doubted_in_the_status() {
    let world = World::start().await;
    let spec = json!({"validations": [
        {"expression": "object.spec.replicas <= 5"},
        {"expression": "object.spec.replicas == 'many'"},
        {"expression": "object.spec.replicsa > 1"},
    ]});
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, policy(spec)).await;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(10), async {
        loop {
            let answer = world
                .ask(&master(), &format!("GET {path}/p"), json!(null))
                .await;
            if answer.body["status"]["observedGeneration"] == 1 {
                return answer.body["status"]["typeChecking"]["expressionWarnings"].clone();
            }
            tokio::task::yield_now().await;
        }
    });
    let warnings = waited.await.unwrap();
    let fields: Vec<&str> = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["fieldRef"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        [
            "spec.validations[1].expression",
            "spec.validations[2].expression"
        ]
    );
    let warning = warnings[0]["warning"].as_str().unwrap();
    assert!(
        warning.starts_with("apps/v1, Kind=Deployment: "),
        "{warning}"
    );
}

/// A rule stands for every combination of its lists, which are as long as a body has room for. The kinds among them are
/// found without trying each combination, and told in the order of the rule.
#[tokio::test]
async fn kinds_are_found_in_rules_with_long_lists() {
    let world = World::start().await;
    let list = |last: &[&str]| -> Vec<String> {
        let others = (0..2_000).map(|number| format!("none-{number}"));
        others
            .chain(last.iter().map(|text| (*text).to_owned()))
            .collect()
    };
    let spec = json!({
        "matchConstraints": {"resourceRules": [{
            "operations": ["CREATE"], "apiGroups": list(&["apps"]), "apiVersions": list(&["v1"]),
            "resources": list(&["statefulsets", "deployments"]),
        }]},
        "validations": [{"expression": "object.spec.replicsa > 1"}],
    });
    let path = format!("{GROUP}/validatingadmissionpolicies");
    world.create(&path, policy(spec)).await;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            let line = format!("GET {path}/p");
            let answer = world.ask(&master(), &line, json!(null)).await;
            if answer.body["status"]["observedGeneration"] == 1 {
                return answer.body["status"]["typeChecking"]["expressionWarnings"].clone();
            }
            tokio::task::yield_now().await;
        }
    });
    let warnings = waited.await.unwrap();
    let warning = warnings[0]["warning"].as_str().unwrap();
    let places =
        ["StatefulSet", "Deployment"].map(|kind| warning.find(&format!("apps/v1, Kind={kind}: ")));
    assert!(places[0].is_some() && places[0] < places[1], "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_checks_may_warn_and_be_noted_instead() {
    let directory = tempfile::tempdir().unwrap();
    let options = LogOptions {
        path: directory.path().join("audit.log"),
        largest: 1 << 20,
        kept: None,
        oldest: None,
    };
    let (log, writer) = AuditLog::open(options.clone()).unwrap();
    let writer = std::thread::spawn(writer);
    let policy = AuditPolicy::read(&json!({"rules": [
        {"level": "Metadata", "resources": [{"group": "apps"}]},
    ]}));
    let audit = Audit {
        policy: policy.unwrap(),
        log: log.clone(),
    };
    let world = World::with(Extensions {
        audit: Some(audit),
        ..Extensions::default()
    })
    .await;
    let spec = json!({
        "validations": [{"expression": "object.spec.replicas > 5", "message": "too few"}],
        "auditAnnotations": [{"key": "replicas", "valueExpression": "string(object.spec.replicas)"}],
    });
    let world = enforce(world, spec, json!({"validationActions": ["Warn", "Audit"]})).await;
    let request = Request::post(DEPLOYMENTS)
        .body(Full::new(Bytes::from(deployment(3, json!({})).to_string())))
        .unwrap();
    let answer = world.handle.as_user(master()).call(request).await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(
        answer.headers()["warning"],
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': too few\""
    );
    log.flush().await;
    let text = std::fs::read_to_string(&options.path).unwrap();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let notes = &line["annotations"];
    assert_eq!(notes["p/replicas"], "3");
    let failures = notes["validation.policy.admission.k8s.io/validation_failure"].as_str();
    let failures: Value = serde_json::from_str(failures.unwrap()).unwrap();
    assert_eq!(
        failures,
        json!([{
            "message": "too few", "policy": "p", "binding": "b", "expressionIndex": 0,
            "validationActions": ["Warn", "Audit"],
        }])
    );
    drop((world, log));
    writer.join().unwrap();
}

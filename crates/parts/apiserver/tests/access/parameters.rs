use serde_json::{Value, json};

use crate::world::{Answer, World, known, master, subject, user};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const REFERENCE: &str = "does not have \"get\" permission on the object referenced by paramRef";

/// A policy whose message shows its parameters.
fn policy(name: &str, kind: Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "paramKind": kind,
            "matchConstraints": {"resourceRules": [
                {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]},
            ]},
            "validations": [{"expression": "false", "messageExpression": if kind.is_null() { "'no'" } else { "string(params.data.k)" }}],
        },
    })
}

fn kind(api_version: &str, kind: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind})
}

fn binding(name: &str, policy: &str, reference: Value) -> Value {
    let mut spec = json!({"policyName": policy, "validationActions": ["Deny"]});
    if !reference.is_null() {
        spec["paramRef"] = reference;
        spec["paramRef"]["parameterNotFoundAction"] = json!("Deny");
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

/// A world in which people write policies and bindings, each with a rule of their own: in `shop`, or everywhere.
async fn prepare() -> World {
    let world = World::start().await;
    world.namespace("shop").await;
    let writes = "create,get,patch,update admissionregistration.k8s.io validatingadmissionpolicies,validatingadmissionpolicybindings";
    world.role("", "writes", &[writes]).await;
    for (name, namespace, rule) in [
        ("vera", "", "get core configmaps"),
        ("core", "", "get core *"),
        ("lisa", "", "list,watch core secrets"),
        ("root", "", "get * *"),
        ("kept", "", "get core secrets one"),
        ("nina", "shop", "get core secrets one"),
        ("olga", "shop", "get core secrets"),
    ] {
        let role = if namespace.is_empty() {
            "ClusterRole"
        } else {
            "Role"
        };
        world.role(namespace, name, &[rule]).await;
        world.bind(namespace, (role, name), subject(name)).await;
        world
            .bind("", ("ClusterRole", "writes"), subject(name))
            .await;
    }
    for (name, kind) in [
        ("guarded", kind("v1", "Secret")),
        ("plain", Value::Null),
        ("lost", kind("nowhere.example/v1", "Thing")),
    ] {
        world.create(POLICIES, policy(name, kind)).await;
    }
    let one = json!({"name": "one", "namespace": "shop"});
    world
        .create(BINDINGS, binding("bound", "guarded", one))
        .await;
    world
}

fn check(answer: &Answer, code: u16, why: &str, case: &str) {
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert_eq!(answer.code, code, "{case}: {message}");
    assert!(message.contains(why), "{case}: {message}");
}

#[tokio::test]
async fn a_policy_takes_only_parameters_its_writer_may_read() {
    let world = prepare().await;
    let secrets = "must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)";
    let things = "(kind=Thing, apiVersion=v1)";
    for (who, wanted, code, why) in [
        ("vera", Value::Null, 201, ""),
        ("vera", kind("v1", "ConfigMap"), 201, ""),
        ("vera", kind("v1", "Secret"), 422, secrets),
        ("core", kind("v1", "Secret"), 201, ""),
        ("root", kind("v1", "Secret"), 201, ""),
        // Lists and watches are other verbs; one name or one namespace is not all of them.
        ("lisa", kind("v1", "Secret"), 422, secrets),
        ("kept", kind("v1", "Secret"), 422, secrets),
        ("olga", kind("v1", "Secret"), 422, secrets),
        // Of a kind nobody serves, all resources of its group.
        ("vera", kind("v1", "Thing"), 422, things),
        ("core", kind("v1", "Thing"), 201, ""),
        (
            "core",
            kind("a.example/v1", "Thing"),
            422,
            "apiVersion=a.example/v1",
        ),
        ("root", kind("a.example/v1", "Thing"), 201, ""),
    ] {
        let case = format!("{who} {wanted}");
        let line = format!("POST {POLICIES}?dryRun=All");
        let answer = world.ask(&known(who), &line, policy("p", wanted)).await;
        check(&answer, code, why, &case);
    }
    let answer = world
        .ask(
            &known("vera"),
            &format!("POST {POLICIES}"),
            policy("p", kind("v1", "Secret")),
        )
        .await;
    assert_eq!(answer.body["reason"], "Invalid");
    assert_eq!(
        answer.body["message"],
        format!(
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: spec.paramKind: Forbidden: user \"vera\" {secrets}"
        )
    );
    let cause = &answer.body["details"]["causes"][0];
    assert_eq!(cause["reason"], "FieldValueForbidden");
    assert_eq!(cause["field"], "spec.paramKind");
}

#[tokio::test]
async fn a_binding_takes_only_parameters_its_writer_may_read() {
    let world = prepare().await;
    let one = json!({"name": "one", "namespace": "shop"});
    let two = json!({"name": "two", "namespace": "shop"});
    let other = json!({"name": "one", "namespace": "default"});
    let everywhere = json!({"name": "one"});
    let chosen = json!({"selector": {"matchLabels": {"a": "b"}}, "namespace": "shop"});
    let chosen_everywhere = json!({"selector": {}});
    for (who, policy, reference, code) in [
        ("vera", "guarded", &Value::Null, 201),
        ("vera", "guarded", &one, 422),
        ("lisa", "guarded", &one, 422),
        ("nina", "guarded", &one, 201),
        ("nina", "guarded", &two, 422),
        ("nina", "guarded", &other, 422),
        ("nina", "guarded", &everywhere, 422),
        ("nina", "guarded", &chosen, 422),
        ("olga", "guarded", &two, 201),
        ("olga", "guarded", &chosen, 201),
        ("olga", "guarded", &other, 422),
        ("olga", "guarded", &everywhere, 422),
        ("olga", "guarded", &chosen_everywhere, 422),
        ("kept", "guarded", &everywhere, 201),
        ("kept", "guarded", &chosen_everywhere, 422),
        ("core", "guarded", &chosen_everywhere, 201),
        // Of an unknown kind: everything, as far as it is unknown.
        ("core", "absent", &one, 422),
        ("core", "plain", &one, 422),
        ("core", "lost", &one, 422),
        ("root", "absent", &one, 201),
        ("root", "plain", &one, 201),
        ("root", "lost", &one, 201),
    ] {
        let case = format!("{who} {policy} {reference}");
        let line = format!("POST {BINDINGS}?dryRun=All");
        let object = binding("b", policy, reference.clone());
        let answer = world.ask(&known(who), &line, object).await;
        let why = if code == 422 { REFERENCE } else { "" };
        check(&answer, code, why, &case);
    }
    let masters = user("m", &["system:masters"]);
    let line = format!("POST {BINDINGS}");
    let answer = world
        .ask(&masters, &line, binding("b", "absent", one))
        .await;
    check(&answer, 201, "", "masters");
}

#[tokio::test]
async fn parameters_are_asked_about_again_when_they_change() {
    let world = prepare().await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let guarded = format!("{POLICIES}/guarded");
    let plain = format!("{POLICIES}/plain");
    let bound = format!("{BINDINGS}/bound");
    let applied = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "plain"}, "spec": {"paramKind": kind("v1", "Secret")},
    });
    let merge: [(&str, &str); 0] = [];
    let apply = [("content-type", "application/apply-patch+yaml")];
    let all = "must have \"get\" permission on all objects";
    let secret = json!({"spec": {"paramKind": kind("v1", "Secret")}});
    let map = json!({"spec": {"paramKind": kind("v1", "ConfigMap")}});
    for (who, headers, path, change, code, why) in [
        ("vera", &merge[..], &guarded, &label, 200, ""),
        ("vera", &merge, &plain, &secret, 422, all),
        (
            "vera",
            &apply,
            &format!("{plain}?fieldManager=v"),
            &applied,
            422,
            all,
        ),
        ("vera", &merge, &format!("{plain}/status"), &secret, 403, ""),
        ("vera", &merge, &plain, &map, 200, ""),
        ("vera", &merge, &plain, &secret, 422, all),
        (
            "vera",
            &merge,
            &guarded,
            &json!({"spec": {"paramKind": null, "validations": [{"expression": "true"}]}}),
            200,
            "",
        ),
        ("vera", &merge, &guarded, &secret, 422, all),
        ("root", &merge, &guarded, &secret, 200, ""),
        ("vera", &merge, &bound, &label, 200, ""),
        (
            "vera",
            &merge,
            &bound,
            &json!({"spec": {"paramRef": {"name": "two"}}}),
            422,
            REFERENCE,
        ),
        (
            "nina",
            &merge,
            &bound,
            &json!({"spec": {"paramRef": {"name": "two"}}}),
            422,
            REFERENCE,
        ),
        (
            "olga",
            &merge,
            &bound,
            &json!({"spec": {"paramRef": {"name": "two"}}}),
            200,
            "",
        ),
        (
            "vera",
            &merge,
            &bound,
            &json!({"spec": {"paramRef": null}}),
            200,
            "",
        ),
        (
            "vera",
            &merge,
            &bound,
            &json!({"spec": {"paramRef": {"name": "two", "namespace": "shop", "parameterNotFoundAction": "Deny"}}}),
            422,
            REFERENCE,
        ),
    ] {
        let case = format!("{who} {path} {change}");
        let line = format!("PATCH {path}");
        let answer = world
            .ask_with(&known(who), headers, &line, change.clone())
            .await;
        check(&answer, code, why, &case);
    }
    let kept = world
        .ask(&master(), &format!("GET {plain}"), Value::Null)
        .await;
    assert_eq!(kept.body["spec"]["paramKind"], kind("v1", "ConfigMap"));
}

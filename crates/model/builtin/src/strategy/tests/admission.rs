use super::*;

const GROUP: &str = "admissionregistration.k8s.io";
const POLICY: (&str, &str) = (GROUP, "ValidatingAdmissionPolicy");
const BINDING: (&str, &str) = (GROUP, "ValidatingAdmissionPolicyBinding");
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn a_policy_says_what_it_is_about_and_what_it_checks() {
    let both = [
        "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ];
    check(
        POLICY,
        json!({"spec": null}),
        &["spec.matchConstraints: Required value", both[0], both[1]],
    );
    check(POLICY, json!({"spec": {"validations": []}}), &both);
    check(
        POLICY,
        json!({"spec": {"validations": [], "auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]}}),
        &[],
    );
    check(
        POLICY,
        json!({"spec": {"matchConstraints": {"resourceRules": []}, "failurePolicy": "Panic"}}),
        &[
            "spec.failurePolicy: Unsupported value: \"Panic\": supported values: \"Fail\", \"Ignore\"",
            "spec.matchConstraints.resourceRules: Required value",
        ],
    );
    let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": [""], "resources": ["pods"], "resourceNames": ["a", "b/c", "a"], "scope": "Everywhere"});
    check(
        POLICY,
        json!({"spec": {"matchConstraints": {"resourceRules": [rule], "matchPolicy": ""}}}),
        &[
            "spec.matchConstraints.resourceRules[0].resourceNames[1]: Invalid value: \"b/c\": may not contain '/'",
            "spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: \"a\"",
            "spec.matchConstraints.resourceRules[0].apiVersions[0]: Required value",
            "spec.matchConstraints.resourceRules[0].scope: Unsupported value: \"Everywhere\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
            "spec.matchConstraints.matchPolicy: Unsupported value: \"\": supported values: \"Equivalent\", \"Exact\"",
        ],
    );
}

#[test]
fn checks_have_expressions_and_known_reasons() {
    for (validation, errors) in [
        (
            json!({"expression": "true", "reason": "Forbidden"}),
            &[][..],
        ),
        (
            json!({"expression": " "}),
            &["spec.validations[0].expression: Required value: expression is not specified"],
        ),
        (
            json!({"expression": "true", "message": " ", "messageExpression": " "}),
            &[
                "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if specified",
                "spec.validations[0].message: Invalid value: \" \": must be non-empty if specified",
            ],
        ),
        (
            json!({"expression": "true", "message": "a\nb"}),
            &[
                "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
            ],
        ),
        (
            json!({"expression": "true", "reason": "Unauthorized"}),
            &[
                "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
            ],
        ),
        (
            json!({"expression": "true", "reason": ""}),
            &[
                "spec.validations[0].reason: Unsupported value: \"\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
            ],
        ),
    ] {
        check(
            POLICY,
            json!({"spec": {"validations": [validation]}}),
            errors,
        );
    }
}

#[test]
fn what_a_policy_names_has_a_name_that_can_be_used() {
    let variables = json!([{"name": "a", "expression": "1"}, {"name": "in", "expression": "1"}, {"name": "2b", "expression": "1"}, {"name": " ", "expression": ""}]);
    check(
        POLICY,
        json!({"spec": {"variables": variables}}),
        &[
            "spec.variables[1].name: Invalid value: \"in\": must be a valid CEL identifier",
            "spec.variables[2].name: Invalid value: \"2b\": must be a valid CEL identifier",
            "spec.variables[3].name: Required value: name is not specified",
            "spec.variables[3].expression: Required value: expression is not specified",
        ],
    );
    let notes = json!([{"key": "a/b", "valueExpression": "''"}, {"key": "c", "valueExpression": " "}, {"key": "c", "valueExpression": "'a'"}]);
    check(
        POLICY,
        json!({"spec": {"auditAnnotations": notes}}),
        &[
            "spec.auditAnnotations[0].key: Invalid value: \"web/a/b\": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
            "spec.auditAnnotations[2].key: Duplicate value: \"c\"",
        ],
    );
    for (kind, errors) in [
        (json!({"apiVersion": "v1", "kind": "ConfigMap"}), vec![]),
        (
            json!({}),
            vec![
                "spec.paramKind.apiVersion: Required value".to_owned(),
                "spec.paramKind.kind: Required value".to_owned(),
            ],
        ),
        (
            json!({"apiVersion": "a/b/c", "kind": "Two Words"}),
            vec![
                "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c".to_owned(),
                format!("spec.paramKind.kind: Invalid value: \"Two Words\": may have mixed case, but should otherwise match: {LABEL_1035}"),
            ],
        ),
        (
            json!({"apiVersion": "A_/V1", "kind": "K"}),
            vec![
                format!("spec.paramKind.apiVersion: Invalid value: \"A_\": {SUBDOMAIN}"),
                format!("spec.paramKind.apiVersion: Invalid value: \"V1\": {LABEL_1035}"),
            ],
        ),
        (
            json!({"apiVersion": "a/", "kind": "K"}),
            vec!["spec.paramKind.apiVersion: Invalid value: \"a/\": version must be specified".to_owned()],
        ),
    ] {
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        check(POLICY, json!({"spec": {"paramKind": kind}}), &errors);
    }
}

#[test]
fn conditions_have_names_of_their_own_and_are_not_too_many() {
    let conditions = json!([{"name": "a", "expression": "true"}, {"name": "a", "expression": " "}, {"name": "!", "expression": "true"}, {"expression": "true"}]);
    let errors = |at: &str| {
        [
            format!("{at}[1].expression: Required value"),
            format!("{at}[2].name: Invalid value: \"!\": {QUALIFIED}"),
            format!("{at}[3].name: Required value"),
            format!("{at}[1].name: Duplicate value: \"a\""),
        ]
    };
    let many: Vec<Value> = (0..65)
        .map(|place| json!({"name": format!("c{place}"), "expression": "true"}))
        .collect();
    let too_many = |at: &str| format!("{at}: Too many: 65: must have at most 64 items");
    let at = "spec.matchConditions";
    let expected = errors(at);
    check(
        POLICY,
        json!({"spec": {"matchConditions": conditions}}),
        &expected.each_ref().map(String::as_str),
    );
    check(
        POLICY,
        json!({"spec": {"matchConditions": many}}),
        &[&too_many(at)],
    );
    let at = "webhooks[0].matchConditions";
    let expected = errors(at);
    for kind in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        check(
            (GROUP, kind),
            configuration(json!({"matchConditions": conditions})),
            &expected.each_ref().map(String::as_str),
        );
        check(
            (GROUP, kind),
            configuration(json!({"matchConditions": many})),
            &[&too_many(at)],
        );
    }
}

#[test]
fn a_binding_names_its_policy_its_parameters_and_what_follows() {
    for (spec, errors) in [
        (
            json!({"policyName": "", "validationActions": null}),
            vec![
                "spec.policyName: Required value".to_owned(),
                "spec.validationActions: Required value: at least one validation action is required".to_owned(),
            ],
        ),
        (
            json!({"policyName": "A"}),
            vec![format!("spec.policyName: Invalid value: \"A\": {SUBDOMAIN}")],
        ),
        (
            json!({"validationActions": ["Warn", "Warn", "Shout"]}),
            vec![
                "spec.validationActions[2]: Unsupported value: \"Shout\": supported values: \"Audit\", \"Deny\", \"Warn\"".to_owned(),
                "spec.validationActions[1]: Duplicate value: \"Warn\"".to_owned(),
            ],
        ),
        (
            json!({"paramRef": {"name": "p", "parameterNotFoundAction": "Allow"}}),
            vec![],
        ),
        (
            json!({"paramRef": {}}),
            vec![
                "spec.paramRef: Required value: one of name or selector must be specified".to_owned(),
                "spec.paramRef.parameterNotFoundAction: Required value".to_owned(),
            ],
        ),
        (
            json!({"paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Shrug"}}),
            vec![
                "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'".to_owned(),
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive".to_owned(),
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive".to_owned(),
                "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Shrug\": supported values: \"Deny\", \"Allow\"".to_owned(),
            ],
        ),
    ] {
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        check(BINDING, json!({"spec": spec}), &errors);
    }
}

/// A configuration with one webhook in which only `over` may be wrong.
fn configuration(over: Value) -> Value {
    let webhook = json!({
        "name": "a.b.c", "clientConfig": {"url": "https://hook.example"}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    json!({"webhooks": [with(webhook, over)]})
}

#[test]
fn webhooks_are_told_only_what_they_know() {
    let mutating = (GROUP, "MutatingWebhookConfiguration");
    for (over, errors) in [
        (json!({"reinvocationPolicy": "IfNeeded", "failurePolicy": "Ignore", "matchPolicy": "Exact"}), vec![]),
        (
            json!({"reinvocationPolicy": "Always"}),
            vec!["webhooks[0].reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \"Never\"".to_owned()],
        ),
        (
            json!({"failurePolicy": "", "matchPolicy": "Loose", "sideEffects": "Maybe"}),
            vec![
                "webhooks[0].failurePolicy: Unsupported value: \"\": supported values: \"Fail\", \"Ignore\"".to_owned(),
                "webhooks[0].matchPolicy: Unsupported value: \"Loose\": supported values: \"Equivalent\", \"Exact\"".to_owned(),
                "webhooks[0].sideEffects: Unsupported value: \"Maybe\": supported values: \"None\", \"NoneOnDryRun\"".to_owned(),
            ],
        ),
        (
            json!({"sideEffects": null}),
            vec!["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun".to_owned()],
        ),
        (
            json!({"name": "A.b"}),
            vec![format!("webhooks[0].name: Invalid value: \"A.b\": {SUBDOMAIN}")],
        ),
        (
            json!({"admissionReviewVersions": ["V2", "v1", "v1"]}),
            vec![
                format!("webhooks[0].admissionReviewVersions[0]: Invalid value: \"V2\": {LABEL_1035}"),
                "webhooks[0].admissionReviewVersions[2]: Invalid value: \"v1\": duplicate version".to_owned(),
            ],
        ),
    ] {
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        check(mutating, configuration(over), &errors);
    }
}

#[test]
fn a_star_names_nothing_again_that_is_named_beside_it() {
    let at = "webhooks[0].rules[0].resources";
    for (resources, errors) in [
        (json!(["*", "*/status"]), vec![]),
        (json!(["pods", "pods/*"]), vec![]),
        // Upstream: only what follows a star is held against it.
        (json!(["pods/log", "pods/*"]), vec![]),
        (json!(["pods", "*"]), vec![]),
        (
            json!(["*", "pods"]),
            vec![format!(
                "{at}: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources"
            )],
        ),
        (
            json!(["pods/*", "pods/log"]),
            vec![format!(
                "{at}[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log"
            )],
        ),
        (
            json!(["*/scale", "deployments/scale"]),
            vec![format!(
                "{at}[1]: Invalid value: \"deployments/scale\": if '*/scale' is present, must not specify deployments/scale"
            )],
        ),
        (
            json!(["pods", "*/*"]),
            vec![format!(
                "{at}: Invalid value: [\"pods\",\"*/*\"]: if '*/*' is present, must not specify other resources"
            )],
        ),
        (json!([""]), vec![format!("{at}[0]: Required value")]),
    ] {
        let rule = json!({"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": resources});
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        check(
            (GROUP, "ValidatingWebhookConfiguration"),
            configuration(json!({"rules": [rule]})),
            &errors,
        );
    }
    let rule = json!({"operations": ["CREATE", ""], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"], "scope": ""});
    check(
        (GROUP, "ValidatingWebhookConfiguration"),
        configuration(json!({"rules": [rule]})),
        &[
            "webhooks[0].rules[0].operations[1]: Unsupported value: \"\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
            "webhooks[0].rules[0].scope: Unsupported value: \"\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
        ],
    );
}

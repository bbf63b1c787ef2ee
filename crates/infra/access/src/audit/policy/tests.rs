use http::Method;
use serde_json::json;

use super::*;

fn user(name: &str, group: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec![group.to_owned()],
        ..User::default()
    }
}

#[test]
fn the_first_rule_that_fits_says_how_much_is_written() {
    let policy = AuditPolicy::read(&json!({"rules": [
        {"level": "None", "users": ["prober"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/version"]},
        {"level": "RequestResponse", "resources": [{"group": "", "resources": ["pods"]}], "namespaces": ["shop"]},
        {"level": "Request", "resources": [{"group": "apps"}], "verbs": ["create", "delete"]},
        {"level": "RequestResponse", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]},
        {"level": "RequestResponse", "resources": [{"group": "cluster.karmada.io"}]},
        {"level": "Metadata", "userGroups": ["ops"]},
    ]}))
    .unwrap();
    for (name, group, line, expected) in [
        (
            "prober",
            "",
            "GET /api/v1/namespaces/shop/pods",
            Level::None,
        ),
        ("ann", "", "GET /healthz/ping", Level::None),
        (
            "ann",
            "",
            "GET /api/v1/namespaces/shop/pods",
            Level::RequestResponse,
        ),
        ("ann", "", "GET /api/v1/namespaces/other/pods", Level::None),
        (
            "ann",
            "ops",
            "GET /api/v1/namespaces/other/pods",
            Level::Metadata,
        ),
        (
            "ann",
            "",
            "POST /apis/apps/v1/namespaces/a/deployments",
            Level::Request,
        ),
        (
            "ann",
            "",
            "PUT /apis/apps/v1/namespaces/a/deployments/d",
            Level::None,
        ),
        (
            "ann",
            "",
            "GET /api/v1/namespaces/a/secrets/s",
            Level::Metadata,
        ),
        (
            "ann",
            "",
            "POST /api/v1/namespaces/a/serviceaccounts/s/token",
            Level::Metadata,
        ),
        (
            "ann",
            "",
            "POST /apis/cluster.karmada.io/v1alpha1/clusters/m/proxy/api/v1/namespaces/a/secrets",
            Level::Metadata,
        ),
        (
            "ann",
            "",
            "GET /apis/cluster.karmada.io/v1alpha1/clusters/m",
            Level::RequestResponse,
        ),
    ] {
        let (method, path) = line.split_once(' ').unwrap();
        let method: Method = method.parse().unwrap();
        let attempt = Attempt::read(&method, path, "").unwrap();
        assert_eq!(
            policy.extent(Some(&user(name, group)), &attempt).level,
            expected,
            "{name} {line}"
        );
    }
}

#[test]
fn parts_of_resources_are_named_by_star_too() {
    let of = |path: &str| Attempt::read(&Method::GET, path, "").unwrap();
    let (pods, log) = (
        of("/api/v1/namespaces/a/pods/p"),
        of("/api/v1/namespaces/a/pods/p/log"),
    );
    let (size, status) = (
        of("/apis/apps/v1/namespaces/a/deployments/d/scale"),
        of("/apis/apps/v1/namespaces/a/deployments/d/status"),
    );
    for (group, resource, expected) in [
        ("", "pods", [true, false, false, false]),
        ("", "pods/*", [true, true, false, false]),
        ("", "pods/log", [false, true, false, false]),
        ("", "*", [true, true, false, false]),
        ("apps", "deployments/*", [false, false, true, true]),
        ("apps", "*/scale", [false, false, true, false]),
        // Upstream: a star for both is no name of anything.
        ("apps", "*/*", [false; 4]),
        ("", "*/scale", [false; 4]),
    ] {
        let resources = json!([{"group": group, "resources": [resource]}]);
        let rules = json!({"rules": [{"level": "Metadata", "resources": resources}]});
        let policy = AuditPolicy::read(&rules).unwrap();
        let found = [&pods, &log, &size, &status]
            .map(|attempt| policy.extent(None, attempt).level == Level::Metadata);
        assert_eq!(found, expected, "{group}/{resource}");
    }
}

#[test]
fn stages_and_managed_fields_are_left_out_by_rule_or_by_policy() {
    let policy = AuditPolicy::read(&json!({
        "omitStages": ["RequestReceived"], "omitManagedFields": true,
        "rules": [
            {"level": "Metadata", "verbs": ["watch"], "omitStages": ["ResponseComplete"]},
            {"level": "Metadata", "omitManagedFields": false},
        ],
    }))
    .unwrap();
    for (path, query, omitted, without) in [
        (
            "/api/v1/pods",
            "watch=1",
            "RequestReceived,ResponseComplete",
            true,
        ),
        ("/api/v1/pods", "", "RequestReceived", false),
    ] {
        let attempt = Attempt::read(&Method::GET, path, query).unwrap();
        let extent = policy.extent(None, &attempt);
        let found: Vec<&str> = extent.omitted.iter().map(|stage| stage.as_str()).collect();
        assert_eq!(
            (found.join(","), extent.omits_managed_fields),
            (omitted.to_owned(), without)
        );
    }
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_with_the_place() {
    for (rule, expected) in [
        (
            json!({"level": "All"}),
            "rules[0].level: \"All\" is none of None, Metadata, Request, RequestResponse",
        ),
        (
            json!({"level": "None", "omitStages": ["Later"]}),
            "rules[0].omitStages: \"Later\" is none of RequestReceived, ResponseStarted, ResponseComplete, Panic",
        ),
        (
            json!({"level": "None", "nonResourceURLs": ["/a*b"]}),
            "rules[0].nonResourceURLs: \"/a*b\" must begin with a '/' and may have a '*' only at its end",
        ),
        (
            json!({"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["b"]}),
            "rules[0].nonResourceURLs: a rule is about resources or about other paths, not about both",
        ),
        (
            json!({"level": "None", "resources": [{"group": "", "resourceNames": ["a"]}]}),
            "rules[0].resources[0].resourceNames: names need at least one resource they are of",
        ),
        (
            json!({"level": "None", "resources": [{"group": ""}, {"group": "apps/v1"}]}),
            "rules[0].resources[1].group: \"apps/v1\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ] {
        let refused = AuditPolicy::read(&json!({"rules": [rule]})).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn a_policy_that_would_note_something_else_by_a_slip_is_refused() {
    let rule_fields = "level, users, userGroups, verbs, resources, namespaces, nonResourceURLs, omitStages, omitManagedFields";
    let unknown =
        |path: &str, fields: &str| format!("{path}: there is no such field; there are {fields}");
    let top = "apiVersion, kind, metadata, omitStages, omitManagedFields, rules";
    let none = "rules: there are none, so nothing would be noted".to_owned();
    let with = |fields: Value| {
        let mut rule = json!({"level": "Metadata"});
        rule.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"rules": [{"level": "None"}, rule]})
    };
    for (policy, expected) in [
        (json!({}), none.clone()),
        (json!({"rules": []}), none.clone()),
        (json!({"rules": null}), none),
        (json!({"rule": [{"level": "None"}]}), unknown("rule", top)),
        (json!({"Rules": [{"level": "None"}]}), unknown("Rules", top)),
        (
            json!({"rules": {"level": "None"}}),
            "rules: it must be a list".to_owned(),
        ),
        (
            json!({"rules": ["None"]}),
            "rules[0]: it is no object".to_owned(),
        ),
        (
            with(json!({"user": ["ann"]})),
            unknown("rules[1].user", rule_fields),
        ),
        (
            with(json!({"Users": ["ann"]})),
            unknown("rules[1].Users", rule_fields),
        ),
        (
            with(json!({"users": "ann"})),
            "rules[1].users: it must be a list of texts".to_owned(),
        ),
        (
            with(json!({"verbs": ["get", 1]})),
            "rules[1].verbs: it must be a list of texts".to_owned(),
        ),
        (
            with(json!({"omitManagedFields": "yes"})),
            "rules[1].omitManagedFields: it must be true or false".to_owned(),
        ),
        (
            with(json!({"resources": [{"group": "", "resource": ["pods"]}]})),
            unknown(
                "rules[1].resources[0].resource",
                "group, resources, resourceNames",
            ),
        ),
    ] {
        let refused = AuditPolicy::read(&policy).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{policy}");
    }
    // Everything there is, and what is said to be nothing.
    let whole = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "metadata": {"name": "p", "labels": {"a": "b"}},
        "omitStages": ["Panic"], "omitManagedFields": true,
        "rules": [
            {
                "level": "Metadata", "users": ["ann"], "userGroups": ["ops"], "verbs": ["get"], "namespaces": ["shop"],
                "resources": [{"group": "", "resources": ["pods"], "resourceNames": ["p"]}],
                "omitStages": ["RequestReceived"], "omitManagedFields": false,
            },
            {"level": "None", "users": null, "nonResourceURLs": ["/healthz"]},
        ],
    });
    assert!(AuditPolicy::read(&whole).is_ok());
}

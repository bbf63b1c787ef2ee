use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{World, known, master, subject};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";

#[tokio::test]
async fn reviews_answer_like_requests_would_be() {
    let world = World::start().await;
    world.namespace("shop").await;
    world
        .bind("shop", ("ClusterRole", "edit"), subject("edith"))
        .await;
    let edith = known("edith");
    let attributes = |verb: &str, namespace: &str, resource: &str| json!({"spec": {"resourceAttributes": {"verb": verb, "namespace": namespace, "resource": resource}}});
    for (verb, namespace, resource, allowed) in [
        ("create", "shop", "pods", true),
        ("list", "shop", "secrets", true),
        ("list", "other", "pods", false),
        ("delete", "shop", "resourcequotas", false),
    ] {
        let line = format!("POST {AUTHORIZATION}/selfsubjectaccessreviews");
        let answer = world
            .ask(&edith, &line, attributes(verb, namespace, resource))
            .await;
        assert_eq!(answer.code, 201, "{}", answer.body);
        assert_eq!(
            answer.body["status"]["allowed"], allowed,
            "{verb} {namespace}/{resource}"
        );
        let mut other = attributes(verb, namespace, resource);
        other["spec"]["user"] = json!("edith");
        let line = format!("POST {AUTHORIZATION}/subjectaccessreviews");
        let answer = world.ask(&master(), &line, other).await;
        assert_eq!(
            answer.body["status"]["allowed"], allowed,
            "{verb} {namespace}/{resource}"
        );
    }
    let line = format!("POST {AUTHENTICATION}/selfsubjectreviews");
    let answer = world.ask(&edith, &line, json!({})).await;
    assert_eq!(
        answer.body["status"]["userInfo"],
        json!({"username": "edith", "groups": ["system:authenticated"]})
    );
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused_by_field() {
    let world = World::start().await;
    let both = json!({"spec": {
        "user": "u", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/", "verb": "get"},
    }});
    let cases = [
        (
            "subjectaccessreviews",
            both,
            422,
            "spec.nonResourceAttributes",
        ),
        (
            "subjectaccessreviews",
            json!({"spec": {"user": "u"}}),
            422,
            "spec.resourceAttributes",
        ),
        (
            "subjectaccessreviews",
            json!({"spec": {"resourceAttributes": {}}}),
            422,
            "spec.user",
        ),
        (
            "selfsubjectrulesreviews",
            json!({}),
            400,
            "no namespace on request",
        ),
        (
            "selfsubjectaccessreviews",
            json!({"kind": "Pod"}),
            400,
            "kind",
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            json!({"spec": {"user": "u", "resourceAttributes": {"namespace": "other"}}}),
            422,
            "spec.resourceAttributes.namespace",
        ),
        (
            "subjectaccessreviews",
            json!({"spec": {"user": 5, "groups": ["g"], "resourceAttributes": {}}}),
            400,
            "cannot be handled as a SubjectAccessReview: spec.user",
        ),
        (
            "subjectaccessreviews?fieldValidation=Strict",
            json!({"spec": {"user": "u", "verb": "get", "resourceAttributes": {}}}),
            400,
            "unknown field \"spec.verb\"",
        ),
        (
            "selfsubjectaccessreviews",
            json!({"metadata": {"name": "n"}, "spec": {"resourceAttributes": {}}}),
            422,
            "metadata: Invalid value: {\"name\":\"n\"}: must be empty",
        ),
        (
            "selfsubjectaccessreviews",
            json!({"metadata": {"creationTimestamp": null}, "spec": {"resourceAttributes": {"labelSelector": {}}}}),
            422,
            "is invalid: spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
        ),
        (
            "subjectaccessreviews",
            json!({"spec": {"user": "u", "resourceAttributes": {"fieldSelector": {
                "rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
            }}}}),
            422,
            "spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: \"a=b\": may not specified at the same time as requirements",
        ),
    ];
    for (path, body, code, message) in cases {
        let line = format!("POST {AUTHORIZATION}/{path}");
        let answer = world.ask(&master(), &line, body).await;
        let text = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, code, "{path}: {text}");
        assert!(text.contains(message), "{path}: {text}");
    }
}

/// What a rules review gives, one text for each verb on each thing.
fn atoms(rules: &Value) -> BTreeSet<String> {
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        let texts = rule[field].as_array().cloned().unwrap_or_default();
        texts
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    let mut atoms = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for verb in texts(rule, "verbs") {
            for group in texts(rule, "apiGroups") {
                for resource in texts(rule, "resources") {
                    atoms.insert(format!("{verb} {group}/{resource}"));
                }
            }
        }
    }
    atoms
}

/// What a rules review gives besides objects.
fn paths(rules: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for path in rule["nonResourceURLs"].as_array().into_iter().flatten() {
            for verb in rule["verbs"].as_array().into_iter().flatten() {
                paths.insert(format!(
                    "{} path {}",
                    verb.as_str().unwrap(),
                    path.as_str().unwrap()
                ));
            }
        }
    }
    paths
}

/// FNV-1a over the lines.
fn fingerprint(lines: &[&str]) -> u64 {
    let bytes = lines.join("\n").into_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What Kubernetes 1.34 lists for whoever is bound to `view`, `edit` and `admin` in a namespace: how many rights, and their
/// fingerprint, taken from the roles it documents and not from ours.
const KUBERNETES: [(&str, usize, u64); 3] = [
    ("vera", 180, 0xeb85_2a94_207c_3cd6),
    ("edith", 404, 0xe3d9_92b2_a2b1_3c66),
    ("adam", 421, 0xd78a_bb8b_df93_21e0),
];
/// The same of the paths everybody known may read.
const PATHS: (usize, u64) = (11, 0x10bb_b2f0_f755_65be);

#[tokio::test]
async fn lists_of_rights_are_those_of_the_default_roles() {
    let world = World::start().await;
    world.namespace("shop").await;
    for (role, name) in [("admin", "adam"), ("edit", "edith"), ("view", "vera")] {
        world
            .bind("shop", ("ClusterRole", role), subject(name))
            .await;
    }
    let mut rights = Vec::new();
    for (name, count, digest) in KUBERNETES {
        let line = format!("POST {AUTHORIZATION}/selfsubjectrulesreviews");
        let review = json!({"spec": {"namespace": "shop"}});
        let answer = world.ask(&known(name), &line, review).await;
        assert_eq!(answer.body["status"]["incomplete"], false);
        let all = atoms(&answer.body["status"]["resourceRules"]);
        let kubernetes: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|right| {
                !right.contains("karmada.io/") && !right.contains(" multicluster.x-k8s.io/")
            })
            .collect();
        assert_eq!(
            (kubernetes.len(), fingerprint(&kubernetes)),
            (count, digest),
            "{name}"
        );
        let paths = paths(&answer.body["status"]["nonResourceRules"]);
        let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        // What this server has besides: what it runs with.
        paths.retain(|path| *path != "get path /configz");
        assert_eq!((paths.len(), fingerprint(&paths)), PATHS, "{name}");
        rights.push(all);
    }
    let [view, edit, admin] = rights.as_slice() else {
        panic!("three lists were asked for");
    };
    assert!(view.is_subset(edit) && edit.is_subset(admin));
    for (who, rights, has, lacks) in [
        (
            "view",
            view,
            &[
                "get /pods",
                "get /pods/log",
                "watch apps/deployments",
                "list policy.karmada.io/propagationpolicies",
                "create authorization.k8s.io/selfsubjectrulesreviews",
            ][..],
            &[
                "get /secrets",
                "create /pods",
                "get /pods/exec",
                "get /serviceaccounts/token",
                "list rbac.authorization.k8s.io/roles",
            ][..],
        ),
        (
            "edit",
            edit,
            &[
                "get /secrets",
                "create /pods/exec",
                "impersonate /serviceaccounts",
                "create /serviceaccounts/token",
                "delete apps/statefulsets",
                "patch work.karmada.io/resourcebindings",
            ],
            &[
                "create rbac.authorization.k8s.io/rolebindings",
                "update /resourcequotas",
                "create /namespaces",
                "update apps/deployments/status",
            ],
        ),
        (
            "admin",
            admin,
            &[
                "create rbac.authorization.k8s.io/rolebindings",
                "create authorization.k8s.io/localsubjectaccessreviews",
            ],
            &[
                "create /namespaces",
                "update /resourcequotas",
                "get /nodes",
                "escalate rbac.authorization.k8s.io/roles",
            ],
        ),
    ] {
        for right in has {
            assert!(rights.contains(*right), "{who} has {right}");
        }
        for right in lacks {
            assert!(!rights.contains(*right), "{who} lacks {right}");
        }
    }
}

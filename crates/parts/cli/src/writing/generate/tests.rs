//! What words make.

use serde_json::json;

use super::*;

#[test]
fn a_few_words_make_an_object() {
    let pairs = |text: &str| -> Vec<(String, String)> {
        let pairs = text
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    for (kind, words, path, expected) in [
        ("namespace", "", "kind", Ok(json!("Namespace"))),
        (
            "deployment",
            "image=docker.io/library/nginx:1.27 replicas=3",
            "spec.replicas",
            Ok(json!(3)),
        ),
        (
            "deployment",
            "image=docker.io/library/nginx:1.27 port=80 =sleep =9",
            "spec.template.spec.containers",
            Ok(
                json!([{"name": "nginx", "image": "docker.io/library/nginx:1.27", "ports": [{"containerPort": 80}], "command": ["sleep", "9"]}]),
            ),
        ),
        (
            "job",
            "image=busybox =date",
            "spec.template.spec",
            Ok(
                json!({"containers": [{"name": "n", "image": "busybox", "command": ["date"]}], "restartPolicy": "Never"}),
            ),
        ),
        (
            "cronjob",
            "image=busybox schedule=@hourly",
            "spec.schedule",
            Ok(json!("@hourly")),
        ),
        (
            "configmap",
            "from-literal=a=b=c",
            "data",
            Ok(json!({"a": "b=c"})),
        ),
        (
            "secret",
            "from-literal=a=b",
            "data",
            Ok(json!({"a": "Yg=="})),
        ),
        (
            "service clusterip",
            "tcp=80:8080",
            "spec.ports",
            Ok(json!([{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}])),
        ),
        (
            "service nodeport",
            "tcp=80 node-port=30080",
            "spec.ports",
            Ok(
                json!([{"name": "80", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080}]),
            ),
        ),
        (
            "service externalname",
            "external-name=x.io",
            "spec.externalName",
            Ok(json!("x.io")),
        ),
        (
            "rolebinding",
            "role=r user=jane serviceaccount=a:b",
            "subjects",
            Ok(
                json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}, {"kind": "ServiceAccount", "namespace": "a", "name": "b"}]),
            ),
        ),
        (
            "clusterrolebinding",
            "clusterrole=view group=devs",
            "roleRef.name",
            Ok(json!("view")),
        ),
        (
            "quota",
            "hard=cpu=4,pods=10",
            "spec.hard",
            Ok(json!({"cpu": "4", "pods": "10"})),
        ),
        ("priorityclass", "value=7", "value", Ok(json!(7))),
        (
            "deployment",
            "image=a/one:1,b/two",
            "spec.template.spec.containers",
            Ok(json!([{"name": "one", "image": "a/one:1"}, {"name": "two", "image": "b/two"}])),
        ),
        (
            "pdb",
            "selector=app=x,tier=y min-available=50%",
            "spec",
            Ok(
                json!({"selector": {"matchLabels": {"app": "x", "tier": "y"}}, "minAvailable": "50%"}),
            ),
        ),
        (
            "poddisruptionbudget",
            "selector=app=x max-unavailable=1",
            "spec.maxUnavailable",
            Ok(json!(1)),
        ),
        (
            "role",
            "verb=get,list verb=get resource=pods,pods/log resource=*",
            "rules",
            Ok(
                json!([{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log", "*"]}]),
            ),
        ),
        (
            "role",
            "verb=get verb=* resource=pods resource-name=a resource-name=b",
            "rules",
            Ok(
                json!([{"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a", "b"]}]),
            ),
        ),
        (
            "clusterrole",
            "verb=get non-resource-url=/logs/*",
            "rules",
            Ok(json!([{"verbs": ["get"], "nonResourceURLs": ["/logs/*"]}])),
        ),
        (
            "clusterrole",
            "aggregation-rule=a/b=true",
            "aggregationRule",
            Ok(json!({"clusterRoleSelectors": [{"matchLabels": {"a/b": "true"}}]})),
        ),
        (
            "ingress",
            "class=nginx default-backend=d:80 rule=foo.io/p*=svc:8080,tls=sec rule=foo.io/=svc:8080 rule=/=web:http annotation=a=b",
            "spec",
            Ok(json!({
                "ingressClassName": "nginx",
                "defaultBackend": {"service": {"name": "d", "port": {"number": 80}}},
                "rules": [
                    {"host": "foo.io", "http": {"paths": [
                        {"path": "/p", "pathType": "Prefix", "backend": {"service": {"name": "svc", "port": {"number": 8080}}}},
                        {"path": "/", "pathType": "Exact", "backend": {"service": {"name": "svc", "port": {"number": 8080}}}},
                    ]}},
                    {"http": {"paths": [
                        {"path": "/", "pathType": "Exact", "backend": {"service": {"name": "web", "port": {"name": "http"}}}},
                    ]}},
                ],
                "tls": [{"hosts": ["foo.io"], "secretName": "sec"}],
            })),
        ),
        (
            "secret docker-registry",
            "docker-username=u docker-password=p docker-server=s.io",
            "data",
            Ok(
                json!({".dockerconfigjson": "eyJhdXRocyI6eyJzLmlvIjp7InVzZXJuYW1lIjoidSIsInBhc3N3b3JkIjoicCIsImF1dGgiOiJkVHB3In19fQ=="}),
            ),
        ),
        (
            "cronjob",
            "image=x schedule=@hourly restart=Never",
            "spec.jobTemplate.spec.template.spec.restartPolicy",
            Ok(json!("Never")),
        ),
        (
            "quota",
            "hard=cpu=1 scopes=BestEffort",
            "spec.scopes",
            Ok(json!(["BestEffort"])),
        ),
        (
            "priorityclass",
            "value=1 global-default=true description=d",
            "globalDefault",
            Ok(json!(true)),
        ),
        ("pdb", "selector=app=x", "", Err("one of min-available")),
        (
            "pdb",
            "selector=app=x min-available=1 max-unavailable=1",
            "",
            Err("cannot be both"),
        ),
        ("pdb", "min-available=1", "", Err("selector")),
        ("role", "resource=pods", "", Err("at least one verb")),
        ("role", "verb=get", "", Err("at least one resource")),
        (
            "clusterrole",
            "verb=get",
            "",
            Err("one of resource or nonResourceURL"),
        ),
        (
            "clusterrole",
            "verb=list non-resource-url=/x",
            "",
            Err("invalid verb"),
        ),
        (
            "clusterrole",
            "aggregation-rule=a=b verb=get",
            "",
            Err("without nonResourceURLs, verbs"),
        ),
        (
            "clusterrole",
            "verb=get non-resource-url=x",
            "",
            Err("should start with /"),
        ),
        ("ingress", "", "", Err("default-backend or a list of rules")),
        ("ingress", "rule=foo.io=svc:80", "", Err("is no rule")),
        ("ingress", "rule=foo.io/=svc", "", Err("is no rule")),
        ("ingress", "default-backend=d", "", Err("no SERVICE:PORT")),
        ("secret tls", "", "", Err("key and cert must be specified")),
        (
            "secret tls",
            "cert=/no/such key=/no/such",
            "",
            Err("cannot read"),
        ),
        (
            "secret docker-registry",
            "docker-username=u",
            "",
            Err("docker-password"),
        ),
        (
            "configmap",
            "from-literal=a=b from-literal=a=c",
            "",
            Err("already exists"),
        ),
        (
            "configmap",
            "from-literal=a=b from-env-file=x",
            "",
            Err("cannot be combined"),
        ),
        (
            "configmap",
            "from-literal=a!=b",
            "",
            Err("not valid as a key"),
        ),
        (
            "cronjob",
            "image=x schedule=@hourly restart=Always",
            "",
            Err("--restart"),
        ),
        ("service web", "", "", Err("service web")),
        ("deployment", "", "", Err("image")),
        ("deployment", "image=x replicas=many", "", Err("--replicas")),
        ("cronjob", "image=x", "", Err("schedule")),
        ("configmap", "from-literal=a", "", Err("no KEY=VALUE")),
        (
            "configmap",
            "from-file=/no/such/file",
            "",
            Err("cannot read"),
        ),
        ("service clusterip", "", "", Err("at least one tcp port")),
        ("service clusterip", "tcp=web", "", Err("--tcp")),
        ("clusterrolebinding", "role=r", "", Err("exactly one role")),
        (
            "rolebinding",
            "role=r serviceaccount=x",
            "",
            Err("NAMESPACE:NAME"),
        ),
        ("quota", "hard=cpu", "", Err("--hard")),
        ("unicorn", "", "", Err("unicorn")),
    ] {
        match (generate_alone(kind, "n", &pairs(words)), expected) {
            (Ok(made), Ok(expected)) => {
                let path: Vec<&str> = path.split('.').collect();
                assert_eq!(made.object.at(&path), Some(&expected), "{kind} {words}");
                assert_eq!(made.object.name(), "n");
            }
            (Err(failure), Err(expected)) => {
                assert!(failure.to_string().contains(expected), "{failure}");
            }
            (found, expected) => panic!("{kind}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn files_are_entries_called_as_the_file_or_as_was_said() {
    let directory = tempfile::tempdir().unwrap();
    let (text, raw) = (directory.path().join("a.txt"), directory.path().join("raw"));
    std::fs::write(&text, "hello").unwrap();
    std::fs::write(&raw, [0xff, 0]).unwrap();
    let pairs = [
        ("from-file".to_owned(), text.display().to_string()),
        ("from-file".to_owned(), format!("other={}", raw.display())),
    ];
    let made = generate_alone("configmap", "n", &pairs).unwrap().object;
    assert_eq!(made.at(&["data"]), Some(&json!({"a.txt": "hello"})));
    assert_eq!(made.at(&["binaryData"]), Some(&json!({"other": "/wA="})));
    let made = generate_alone("secret generic", "n", &pairs)
        .unwrap()
        .object;
    assert_eq!(made.at(&["data", "other"]), Some(&json!("/wA=")));
}

#[test]
fn lines_of_an_environment_are_entries() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.env");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let pairs = [("from-env-file".to_owned(), file.display().to_string())];
        let made = generate_alone("configmap", "n", &pairs);
        made.map(|made| made.object.at(&["data"]).cloned().unwrap_or_default())
            .map_err(|failure| failure.to_string())
    };
    assert_eq!(
        check("# c\n\nA=1\n  B=x y=z\nNOBODY_HAS_SET_THIS\n"),
        Ok(json!({"A": "1", "B": "x y=z"}))
    );
    for text in ["1A=1", "export B=2", "B =2"] {
        let said = check(text).unwrap_err();
        assert!(
            said.contains("line 1") && said.contains("not a valid key name"),
            "{said}"
        );
    }
}

#[test]
fn a_directory_is_an_entry_for_each_file_in_it() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [("b.txt", "2"), ("a.txt", "1"), ("no key", "3")] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    std::fs::create_dir(directory.path().join("below")).unwrap();
    let pairs = [(
        "from-file".to_owned(),
        directory.path().display().to_string(),
    )];
    let made = generate_alone("configmap", "n", &pairs).unwrap().object;
    assert_eq!(
        made.at(&["data"]),
        Some(&json!({"a.txt": "1", "b.txt": "2"}))
    );
}

#[test]
fn a_certificate_needs_its_own_key() {
    let directory = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let write = |name: &str| {
        let place = directory.path().join(name);
        std::fs::create_dir(&place).unwrap();
        listen::Authority::open(&place, now).unwrap();
        let found = |ending: &str| {
            let mut files = std::fs::read_dir(&place).unwrap();
            let is_it = |path: &std::path::Path| path.to_string_lossy().ends_with(ending);
            let path = files.find_map(|file| Some(file.unwrap().path()).filter(|path| is_it(path)));
            path.unwrap().display().to_string()
        };
        (found(".crt"), found(".key"))
    };
    let ((certificate, key), (_, other)) = (write("one"), write("two"));
    let make = |certificate: &str, key: &str| {
        let pairs = [("cert", certificate), ("key", key)];
        let pairs = pairs.map(|(flag, value)| (flag.to_owned(), value.to_owned()));
        generate_alone("secret tls", "n", &pairs)
    };
    let made = make(&certificate, &key).unwrap().object;
    assert_eq!(made.text_at(&["type"]), Some("kubernetes.io/tls"));
    assert!(make(&certificate, &other).is_err());
    assert!(make(&key, &certificate).is_err());
}

#[test]
fn a_job_is_made_as_its_cronjob_would_make_it() {
    let cronjob = Object::from_value(json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "uid": "u"},
        "spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {"backoffLimit": 3}}},
    }))
    .unwrap();
    let made = finish("job", "n", (workloads::jobs(), workloads::job_of(&cronjob))).unwrap();
    assert_eq!(
        made.object.into_value(),
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": "n", "labels": {"a": "b"},
                "annotations": {"cronjob.kubernetes.io/instantiate": "manual", "x": "y"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u", "controller": true}],
            },
            "spec": {"backoffLimit": 3},
        })
    );
    for (from, expected) in [
        ("cronjob/c", Some("c")),
        ("cj/c", Some("c")),
        ("deployment/c", None),
        ("c", None),
    ] {
        let pairs = [("from".to_owned(), from.to_owned())];
        let words = Words {
            name: "n",
            pairs: &pairs,
        };
        assert_eq!(workloads::source(&words).ok(), expected);
    }
    for (hash, expected) in [
        (None, None),
        (Some("append-hash"), Some("unknown flag: --append-hash")),
    ] {
        let pairs = [Some("from"), hash].into_iter().flatten();
        let pairs: Vec<(String, String)> = pairs
            .map(|flag| (flag.to_owned(), "cronjob/c".to_owned()))
            .collect();
        let refused = check_words("job", "n", &pairs).err();
        let refused = refused.map(|failure| failure.to_string());
        assert_eq!(refused.as_deref(), expected);
    }
}

/// What kubectl 1.32 makes of the same words with `--dry-run=client -o yaml`.
#[test]
fn rules_of_roles_are_those_of_kubectl() {
    let served = |word: &str| {
        let known = match word {
            "pods" | "po" | "pod" => ("", "pods"),
            "services" => ("", "services"),
            "configmaps" => ("", "configmaps"),
            "deploy" | "deployments" | "deployments.apps" => ("apps", "deployments"),
            "jobs.batch" => ("batch", "jobs"),
            "clusterroles" | "clusterroles.rbac.authorization.k8s.io" => (RBAC, "clusterroles"),
            _ => return Err(Failure::refused(format!("no {word}"), "")),
        };
        Ok(Some((known.0.to_owned(), known.1.to_owned())))
    };
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"verbs": verbs, "apiGroups": [group], "resources": resources});
    for (words, expected) in [
        (
            "verb=get,list verb=watch resource=pods,services",
            Ok(json!([rule(
                "",
                &["pods", "services"],
                &["get", "list", "watch"]
            )])),
        ),
        (
            "verb=get resource=pods resource=deployments.apps resource=jobs.batch,configmaps",
            Ok(json!([
                rule("", &["pods", "configmaps"], &["get"]),
                rule("apps", &["deployments"], &["get"]),
                rule("batch", &["jobs"], &["get"])
            ])),
        ),
        (
            "verb=get resource=deploy",
            Ok(json!([rule("apps", &["deployments"], &["get"])])),
        ),
        (
            "verb=get resource=deployments.apps/scale",
            Ok(json!([rule("apps", &["deployments/scale"], &["get"])])),
        ),
        (
            "verb=get resource=pods/log,pods/exec,pods",
            Ok(json!([rule(
                "",
                &["pods/log", "pods/exec", "pods"],
                &["get"]
            )])),
        ),
        (
            "verb=get resource=pods/",
            Ok(json!([rule("", &["pods"], &["get"])])),
        ),
        (
            "verb=get,get resource=pods,po",
            Ok(json!([rule("", &["pods"], &["get"])])),
        ),
        (
            "verb=get,*,list resource=pods",
            Ok(json!([rule("", &["pods"], &["*"])])),
        ),
        ("verb=* resource=*", Ok(json!([rule("", &["*"], &["*"])]))),
        (
            "verb=get resource=*.apps",
            Ok(json!([rule("apps", &["*"], &["get"])])),
        ),
        (
            "verb=get resource=pods,services resource-name=a,b resource-name=c resource-name=a,b",
            Ok(
                json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "services"], "resourceNames": ["a,b", "c"]}]),
            ),
        ),
        (
            "verb=impersonate resource=users",
            Ok(json!([rule("", &["users"], &["impersonate"])])),
        ),
        (
            "verb=escalate,bind resource=clusterroles",
            Ok(json!([rule(
                RBAC,
                &["clusterroles"],
                &["escalate", "bind"]
            )])),
        ),
        (
            "verb=get resource=pods non-resource-url=/healthz,/x/*",
            Ok(
                json!([rule("", &["pods"], &["get"]), {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/x/*"]}]),
            ),
        ),
        (
            "verb=use resource=pods",
            Err("can not perform 'use' on 'pods' in group ''"),
        ),
        ("verb=get resource=users", Err("no users")),
        ("verb=get resource=nosuch", Err("no nosuch")),
        (
            "verb=get resource=/log",
            Err("resource must be specified if apiGroup/subresource specified"),
        ),
    ] {
        let pairs: Vec<(String, String)> = words
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let words_of = Words {
            name: "r",
            pairs: &pairs,
        };
        let made = make("clusterrole", &words_of, &served);
        match (made, expected) {
            (Ok((_, made)), Ok(expected)) => assert_eq!(made["rules"], expected, "{words}"),
            (Err(failure), Err(expected)) => assert_eq!(failure.to_string(), expected, "{words}"),
            (found, expected) => panic!("{words}: {found:?} instead of {expected:?}"),
        }
    }
}

use access::audit::{AuditLog, AuditPolicy, LogOptions};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use karavel_apiserver::{Audit, Extensions};
use serde_json::{Value, json};
use serve::call::Call;
use serve::encoding::base64;
use serve::handler::{Asked, Handler, Outcome};
use serve::server::Server;
use tower_service::Service;

use crate::tokens::eventually;
use crate::world::{World, known, master};

/// Never to be seen anywhere but in the object itself.
const PLANTED: &str = "planted-c0ffee-secret";

/// A world whose audit log is written by a policy, and what was written so far.
struct Watched {
    world: World,
    log: AuditLog,
    path: std::path::PathBuf,
    writer: std::thread::JoinHandle<()>,
    _directory: tempfile::TempDir,
}

/// Stumbles over everything.
struct Clumsy;

impl Handler for Clumsy {
    fn answer<'a>(&'a self, _: &'a Server, _: &'a Call, _: Asked) -> Outcome<'a> {
        Box::pin(async { panic!("over its own feet") })
    }
}

impl Watched {
    async fn start(policy: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions {
            path: path.clone(),
            largest: 1 << 20,
            kept: None,
            oldest: None,
        };
        let (log, writer) = AuditLog::open(options).unwrap();
        let writer = std::thread::spawn(writer);
        let audit = Audit {
            policy: AuditPolicy::read(&policy).unwrap(),
            log: log.clone(),
        };
        let mut extensions = Extensions {
            audit: Some(audit),
            ..Extensions::default()
        };
        let bindings = ("work.karmada.io", "resourcebindings", "decisions");
        let clumsy = std::sync::Arc::new(Clumsy);
        extensions
            .handlers
            .insert(bindings.0, bindings.1, bindings.2, clumsy);
        Self {
            world: World::with(extensions).await,
            log,
            path,
            writer,
            _directory: directory,
        }
    }

    /// What is in the log about these users.
    async fn lines(&self, users: &[&str]) -> Vec<Value> {
        self.log.flush().await;
        let text = std::fs::read_to_string(&self.path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let is_meant = |line: &Value| users.iter().any(|user| line["user"]["username"] == *user);
        lines.filter(is_meant).collect()
    }

    fn end(self) {
        let Self {
            world, log, writer, ..
        } = self;
        drop((world, log));
        writer.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_noted_by_rule_and_secrets_never_are() {
    let watched = Watched::start(json!({"omitStages": ["RequestReceived"], "rules": [
        {"level": "None", "nonResourceURLs": ["/version"]},
        {"level": "RequestResponse", "resources": [{"group": ""}]},
        {"level": "Metadata"},
    ]}))
    .await;
    let (world, path) = (&watched.world, &watched.path);
    let maps = "POST /api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "v"}});
    world.ask(&master(), maps, map).await;
    let secrets = "POST /api/v1/namespaces/default/secrets";
    let encoded = base64(PLANTED.as_bytes());
    let secret = json!({"metadata": {"name": "s"}, "data": {"k": encoded}});
    assert_eq!(world.ask(&master(), secrets, secret).await.code, 201);
    let token = format!("abcdef.{PLANTED}");
    let headers = [
        ("authorization", token.as_str()),
        ("impersonate-user", "eve"),
    ];
    let line = "GET /api/v1/nodes";
    let refused = world
        .ask_with(&known("ann"), &headers, line, json!(null))
        .await;
    assert_eq!(refused.code, 403);
    // The rules let it, admission does not.
    let kept = "DELETE /api/v1/namespaces/default";
    assert_eq!(world.ask(&master(), kept, json!(null)).await.code, 403);
    world.ask(&master(), "GET /version", json!(null)).await;
    world.ask(&master(), "GET /apis", json!(null)).await;
    let text = eventually(async || {
        let text = std::fs::read_to_string(path).unwrap();
        (text.ends_with('\n') && text.lines().count() >= 5).then_some(text)
    })
    .await;
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            format!(
                "{} {} {} {} {} {} body={}",
                line["level"].as_str().unwrap(),
                line["user"]["username"].as_str().unwrap(),
                line["verb"].as_str().unwrap(),
                line["requestURI"].as_str().unwrap(),
                line["responseStatus"]["code"],
                line["annotations"]["authorization.k8s.io/decision"]
                    .as_str()
                    .unwrap(),
                line["requestObject"]["data"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "RequestResponse root create /api/v1/namespaces/default/configmaps 201 allow body={\"k\":\"v\"}",
            "Metadata root create /api/v1/namespaces/default/secrets 201 allow body=null",
            "RequestResponse ann list /api/v1/nodes 403 forbid body=null",
            "RequestResponse root delete /api/v1/namespaces/default 403 allow body=null",
            "Metadata root get /apis 200 allow body=null",
        ]
    );
    for secret in [PLANTED, &encoded] {
        assert!(!text.contains(secret), "a secret is in the log");
    }
    watched.end();
}

/// A line as `Stage user[>acting] verb path code decision`.
fn shown(line: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let acting = match line["impersonatedUser"]["username"].as_str() {
        Some(acting) => format!(">{acting}"),
        None => String::new(),
    };
    format!(
        "{} {}{acting} {} {} {} {}",
        text(&line["stage"]),
        text(&line["user"]["username"]),
        text(&line["verb"]),
        text(&line["requestURI"]),
        line["responseStatus"]["code"],
        text(&line["annotations"]["authorization.k8s.io/decision"]),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_noted_when_it_comes_and_when_it_ends_and_a_watch_also_when_it_begins() {
    let watched = Watched::start(json!({"rules": [{"level": "Metadata"}]})).await;
    let (world, root) = (&watched.world, master());
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "m"}});
    world.ask(&root, &format!("POST {maps}"), map.clone()).await;
    // Refused by admission, which the rules of access let.
    world
        .ask(&root, "DELETE /api/v1/namespaces/default", json!(null))
        .await;
    // Refused by the rules.
    world
        .ask(&known("ann"), "GET /api/v1/nodes?limit=5", json!(null))
        .await;
    let acting = [("impersonate-user", "eve")];
    world
        .ask_with(&root, &acting, "GET /api/v1/nodes", json!(null))
        .await;
    world
        .ask_with(&known("ann"), &acting, "GET /api/v1/nodes", json!(null))
        .await;
    let whole = format!("http://localhost:1{maps}");
    let request = Request::get(&whole).body(Full::<Bytes>::default()).unwrap();
    let answer = world.handle.as_user(root.clone()).call(request).await;
    let id = answer.unwrap().headers()["audit-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let request = Request::get(format!("{maps}?watch=true"))
        .header("audit-id", "my-own-id")
        .body(Full::<Bytes>::default());
    let answer = world.handle.as_user(root).call(request.unwrap()).await;
    let mut watch = answer.unwrap().into_body();
    watch.frame().await.unwrap().unwrap();
    let all = watched.lines(&["root", "ann"]).await;
    let lines: Vec<String> = all.iter().map(shown).collect();
    let began = [
        "RequestReceived root create /api/v1/namespaces/default/configmaps null -",
        "ResponseComplete root create /api/v1/namespaces/default/configmaps 201 allow",
        "RequestReceived root delete /api/v1/namespaces/default null -",
        "ResponseComplete root delete /api/v1/namespaces/default 403 allow",
        "RequestReceived ann list /api/v1/nodes?limit=5 null -",
        "ResponseComplete ann list /api/v1/nodes?limit=5 403 forbid",
        "RequestReceived root list /api/v1/nodes null -",
        "ResponseComplete root>eve list /api/v1/nodes 403 forbid",
        "RequestReceived ann list /api/v1/nodes null -",
        "ResponseComplete ann list /api/v1/nodes 403 forbid",
        "RequestReceived root list /api/v1/namespaces/default/configmaps null -",
        "ResponseComplete root list /api/v1/namespaces/default/configmaps 200 allow",
        "RequestReceived root watch /api/v1/namespaces/default/configmaps?watch=true null -",
        "ResponseStarted root watch /api/v1/namespaces/default/configmaps?watch=true 200 allow",
    ];
    assert_eq!(lines, began);
    assert_eq!(all[1]["objectRef"]["name"], "m", "the path does not say it");
    assert_eq!(all[3]["responseStatus"]["reason"], "Forbidden");
    assert_eq!(all[10]["auditID"], id.as_str());
    assert_eq!(all[13]["auditID"], "my-own-id");
    drop(watch);
    let ended = watched.lines(&["root", "ann"]).await;
    assert_eq!(
        shown(&ended[began.len()]),
        "ResponseComplete root watch /api/v1/namespaces/default/configmaps?watch=true 200 allow"
    );
    assert_eq!(ended[began.len()]["auditID"], "my-own-id");
    drop(ended);
    watched.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_go_by_who_sent_a_request_and_leave_stages_out() {
    let watched = Watched::start(json!({"rules": [
        {"level": "None", "users": ["eve"]},
        {"level": "Metadata", "verbs": ["watch"], "omitStages": ["RequestReceived", "ResponseComplete"]},
        {"level": "Request", "omitStages": ["RequestReceived"], "omitManagedFields": true},
    ]}))
    .await;
    let (world, root) = (&watched.world, master());
    let acting = [
        ("impersonate-user", "eve"),
        ("impersonate-group", "system:masters"),
    ];
    let map = json!({"metadata": {"name": "m", "managedFields": []}, "data": {"k": "v"}});
    let maps = "POST /api/v1/namespaces/default/configmaps";
    world.ask_with(&root, &acting, maps, map).await;
    world
        .ask(&root, "GET /api/v1/pods?watch=true", json!(null))
        .await;
    let line = "GET /apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/b/decisions";
    let answer = world.ask(&root, line, json!(null)).await;
    assert_eq!(answer.code, 500, "{}", answer.body);
    // The server has survived it.
    assert_eq!(
        world
            .ask(&known("eve"), "GET /version", json!(null))
            .await
            .code,
        200
    );
    let token = "POST /api/v1/namespaces/default/serviceaccounts/default/token";
    let made = eventually(async || {
        let made = world.ask(&root, token, json!({})).await;
        (made.code == 201).then_some(made.body)
    })
    .await;
    let lines = watched.lines(&["root", "eve"]).await;
    let told: Vec<String> = lines.iter().take(3).map(shown).collect();
    assert_eq!(
        told,
        [
            "ResponseComplete root>eve create /api/v1/namespaces/default/configmaps 201 allow",
            "ResponseStarted root watch /api/v1/pods?watch=true 200 allow",
            &format!("Panic root get {} 500 allow", &line[4..]),
        ]
    );
    assert_eq!(lines[0]["requestObject"]["data"]["k"], "v");
    assert!(
        lines[0]["requestObject"]["metadata"]
            .get("managedFields")
            .is_none()
    );
    assert_eq!(
        lines[2]["responseStatus"]["message"],
        "APIServer panic'd: over its own feet"
    );
    let last = lines.last().unwrap();
    let id = last["annotations"]["authentication.kubernetes.io/issued-credential-id"].as_str();
    assert!(id.unwrap().starts_with("JTI="));
    assert!(
        !last
            .to_string()
            .contains(made["status"]["token"].as_str().unwrap())
    );
    watched.end();
}

/// A request with a body of any form, and the head of its answer.
async fn send(
    world: &World,
    line: &str,
    content: &str,
    accept: &str,
    body: impl Into<Bytes>,
) -> http::response::Parts {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .header("accept", accept)
        .header("accept-encoding", "gzip")
        .body(Full::<Bytes>::new(body.into()));
    let answer = world.handle.as_user(master()).call(request.unwrap()).await;
    let (head, body) = answer.unwrap().into_parts();
    // To the end of it: a log is not to take anything out of an answer.
    assert!(!body.collect().await.unwrap().to_bytes().is_empty());
    head
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_noted_in_whatever_form_they_travel_and_secrets_in_none() {
    let watched = Watched::start(json!({"omitStages": ["RequestReceived"], "rules": [
        {"level": "RequestResponse", "omitManagedFields": true},
    ]}))
    .await;
    let world = &watched.world;
    let wire = world.handle.server().table().wire().unwrap();
    let (json, yaml) = ("application/json", "application/yaml");
    let protobuf = "application/vnd.kubernetes.protobuf";
    let written = |object: &Value, form: &str| -> Bytes {
        let text = object.to_string();
        match form {
            "application/vnd.kubernetes.protobuf" => wire.0.encode(text.as_bytes()).unwrap().into(),
            // So that it is no JSON.
            "application/yaml" => format!("# YAML\n? apiVersion\n: v1\n{}", yaml_of(object)).into(),
            _ => text.into(),
        }
    };
    let (maps, secrets) = (
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/secrets",
    );
    let encoded = base64(PLANTED.as_bytes());
    let forms = [
        (json, json),
        (yaml, yaml),
        (protobuf, protobuf),
        (protobuf, yaml),
    ];
    let mut expected = Vec::new();
    for (place, (content, accept)) in forms.into_iter().enumerate() {
        let name = format!("m{place}");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"k": encoded}});
        let post = |path: &str| format!("POST {path}");
        let made = send(world, &post(maps), content, accept, written(&map, content)).await;
        assert_eq!(made.status, 201, "{content}");
        let secret = written(&secret, content);
        let made = send(world, &post(secrets), content, accept, secret.clone()).await;
        assert_eq!(made.status, 201, "{content}");
        // A secret in the wrong place is one nevertheless.
        let refused = send(world, &post(maps), content, accept, secret).await;
        assert_eq!(refused.status, 400, "{content}");
        let listed = send(world, &format!("GET {secrets}"), content, accept, "").await;
        assert_eq!(listed.status, 200, "{accept}");
        expected.extend([
            format!("create {name} 201 ConfigMap ConfigMap"),
            format!("create {name} 201 - -"),
            "create - 400 - -".to_owned(),
            "list - 200 - -".to_owned(),
        ]);
    }
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    let line = format!("DELETE {maps}/m0");
    let gone = send(
        world,
        &line,
        protobuf,
        protobuf,
        written(&options, protobuf),
    )
    .await;
    assert_eq!(gone.status, 200);
    expected.push("delete m0 200 DeleteOptions Status".to_owned());
    let applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
    let line = format!("PATCH {maps}/a?fieldManager=f");
    let made = send(world, &line, "application/apply-patch+yaml", yaml, applied).await;
    assert_eq!(made.status, 201);
    expected.push("patch a 201 ConfigMap ConfigMap".to_owned());
    let large = json!({"metadata": {"name": "l"}, "data": {"k": "large ".repeat(40_000)}});
    let made = send(
        world,
        &format!("POST {maps}"),
        json,
        json,
        large.to_string(),
    )
    .await;
    assert_eq!(made.headers["content-encoding"], "gzip");
    expected.push("create l 201 - ConfigMap".to_owned());
    let lines = watched.lines(&["root"]).await;
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {}",
                text(&line["verb"]),
                text(&line["objectRef"]["name"]),
                line["responseStatus"]["code"],
                text(&line["requestObject"]["kind"]),
                text(&line["responseObject"]["kind"]),
            )
        })
        .collect();
    assert_eq!(told, expected);
    for line in lines
        .iter()
        .filter(|line| line["responseObject"]["kind"] == "ConfigMap")
    {
        assert_eq!(
            line["requestObject"]["data"],
            line["responseObject"]["data"]
        );
        assert!(line["responseObject"]["metadata"].get("uid").is_some());
    }
    let text = std::fs::read_to_string(&watched.path).unwrap();
    for secret in [PLANTED, &encoded] {
        assert!(!text.contains(secret), "a secret is in the log");
    }
    watched.end();
}

/// The fields of an object but for its version, as YAML.
fn yaml_of(object: &Value) -> String {
    let fields = object.as_object().unwrap().iter();
    let fields = fields.filter(|(name, _)| *name != "apiVersion");
    fields
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

//! Interpreter webhooks, asked over real HTTPS: what is sent, what an answer does, and what each way of failing is called.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use api::work::v1alpha2::ResourceBinding;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use control::{Cx, Recorder};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use interpret::Interpreter;
use karavel_controllers::{Options, customizations};
use listen::{Arriving, Authority, Issued, Limits, Listener, ServerIdentity, Subject};
use object::{Object, Value};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use runtime::Tasks;
use serde_json::json;
use tokio::sync::watch;

use crate::plane::{Plane, of};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";

/// What a service does when it is asked.
#[derive(Clone, Debug)]
enum Reply {
    /// Answers with these fields, and that it succeeded.
    Fields(Value),
    /// Answers with this response as it is.
    Response(Value),
    /// Answers with a code and a text.
    Code(u16, &'static str),
    /// Never answers.
    Hang,
    /// Hangs up in the middle of its answer.
    HangUp,
}

/// A service with a certificate of an authority of its own.
struct Service {
    url: String,
    authority: String,
    /// What it shows.
    certificate: String,
    asked: Arc<Mutex<Vec<Value>>>,
    // Dropping these ends the server and its files.
    _tasks: Tasks,
    _directory: tempfile::TempDir,
}

impl Service {
    async fn start(reply: Reply) -> Self {
        Self::showing(reply, |issued| issued).await
    }

    /// A service with a certificate that is its own authority.
    async fn alone(reply: Reply) -> Self {
        Self::showing(reply, |issued| {
            let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            Issued {
                certificate_pem: params.self_signed(&key).unwrap().pem(),
                key_pem: key.serialize_pem(),
                ..issued
            }
        })
        .await
    }

    async fn showing(reply: Reply, certificate: impl Fn(Issued) -> Issued) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let authority = Authority::open(directory.path(), now).unwrap();
        let subject = Subject::Server {
            names: vec!["127.0.0.1".to_owned()],
        };
        let day = Duration::from_secs(24 * 3600);
        let issued = certificate(authority.issue(&subject, day, now).unwrap());
        let identity = ServerIdentity::new(&issued).unwrap();
        let tls = identity.tls_config(authority.certificate_pem()).unwrap();
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await;
        let listener = listener.unwrap();
        let url = format!("https://{}/interpret", listener.address());
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let noting = Arc::clone(&asked);
        let handler = move |request: Request<Arriving>| {
            let (reply, noting) = (reply.clone(), Arc::clone(&noting));
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let mut question: Value = serde_json::from_slice(&body).unwrap();
                let uid = question["request"]["uid"].clone();
                question["path"] = json!(path);
                noting.lock().unwrap().push(question);
                respond(reply, uid).await
            }
        };
        let mut tasks = Tasks::new();
        tasks.spawn("service", |stop| async move {
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Self {
            url,
            authority: BASE64_STANDARD.encode(authority.certificate_pem()),
            certificate: BASE64_STANDARD.encode(&issued.certificate_pem),
            asked,
            _tasks: tasks,
            _directory: directory,
        }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// The configuration that has this service asked everything about Deployments.
    fn configuration(&self, authority: &str) -> String {
        let configuration = json!({
            "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterWebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [{
                "name": "hook.example.com", "timeoutSeconds": 1, "interpreterContextVersions": ["v1alpha1"],
                "clientConfig": {"url": self.url, "caBundle": authority},
                "rules": [{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "kinds": ["Deployment"]}],
            }],
        });
        configuration.to_string()
    }
}

async fn respond(reply: Reply, uid: Value) -> Response<Full<Bytes>> {
    let response = match reply {
        Reply::Fields(mut fields) => {
            fields["uid"] = uid;
            fields["successful"] = json!(true);
            fields
        }
        Reply::Response(mut response) => {
            if response["uid"].is_null() {
                response["uid"] = uid;
            }
            response
        }
        Reply::Code(code, text) => {
            let mut response = Response::new(Full::from(text));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            return response;
        }
        Reply::Hang => return std::future::pending().await,
        Reply::HangUp => {
            // More is promised than comes.
            let mut response = Response::new(Full::from("{"));
            let length = http::HeaderValue::from_static("1000");
            response
                .headers_mut()
                .insert(header::CONTENT_LENGTH, length);
            return response;
        }
    };
    let context = json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext", "response": response,
    });
    Response::new(Full::from(context.to_string()))
}

/// The interpreter of a control plane whose configuration names the service.
async fn interpreter(
    plane: &Plane,
    service: &Service,
    authority: &str,
) -> watch::Receiver<Arc<Interpreter>> {
    let spawner = plane.tasks.spawner();
    let mut rules = customizations::follow(
        &plane.caches,
        &cx(plane),
        &spawner,
        &api::well_known::feature_gates::FeatureGates::default(),
    );
    plane.create(&service.configuration(authority)).await;
    let web = web();
    let knows =
        |rules: &Arc<Interpreter>| matches!(rules.ask_health(&web), Ok(interpret::Answer::Ask(_)));
    rules.wait_for(knows).await.unwrap();
    rules
}

fn cx(plane: &Plane) -> Cx {
    let (client, clock) = (plane.client.clone(), plane.clock.clone());
    Cx::new(client, clock, Recorder::silent(), "karavel")
}

fn web() -> Object {
    serde_saphyr::from_str(WEB).unwrap()
}

/// What comes of asking the service for replicas.
async fn check(reply: Reply, expected: Result<i32, &[&str]>) {
    let plane = Plane::without_controllers().await;
    let shown = format!("{reply:?}");
    let service = Service::start(reply).await;
    let rules = interpreter(&plane, &service, &service.authority).await;
    let rules = Arc::clone(&rules.borrow());
    let answer = rules.settle(rules.ask_replicas(&web()).unwrap()).await;
    let answer = answer
        .map(|answer| answer.replicas)
        .map_err(|error| telemetry::chain(&error).to_string());
    match (answer, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{shown}"),
        (Err(text), Err(parts)) => {
            for part in parts
                .iter()
                .chain(&["hooks/hook.example.com", "InterpretReplica"])
            {
                assert!(text.contains(part), "{shown}: {part:?} is not in {text:?}");
            }
        }
        (found, expected) => panic!("{shown}: {found:?} instead of {expected:?}"),
    }
}

#[tokio::test]
async fn answers_are_read_and_failures_say_what_went_wrong() {
    let cases: [(Reply, Result<i32, &[&str]>); 8] = [
        (Reply::Fields(json!({"replicas": 7})), Ok(7)),
        (Reply::Fields(json!({})), Err(&["response.replicas"])),
        (
            Reply::Response(
                json!({"successful": false, "status": {"code": 418, "message": "no tea"}}),
            ),
            Err(&["418", "no tea"]),
        ),
        (
            Reply::Response(json!({"uid": "another", "successful": true, "replicas": 7})),
            Err(&["response.uid", "another"]),
        ),
        (
            Reply::Code(500, "out of order"),
            Err(&["500", "out of order"]),
        ),
        (Reply::Code(200, "not JSON"), Err(&["the body"])),
        (Reply::Hang, Err(&["no answer within 1s"])),
        (Reply::HangUp, Err(&["https://127.0.0.1:"])),
    ];
    for (reply, expected) in cases {
        check(reply, expected).await;
    }
}

#[tokio::test]
async fn a_service_with_a_certificate_of_somebody_else_is_not_asked() {
    let plane = Plane::without_controllers().await;
    let service = Service::start(Reply::Fields(json!({"replicas": 7}))).await;
    let other = Service::start(Reply::Hang).await;
    let rules = interpreter(&plane, &service, &other.authority).await;
    let rules = Arc::clone(&rules.borrow());
    let answer = rules.settle(rules.ask_replicas(&web()).unwrap()).await;
    let text = telemetry::chain(&answer.unwrap_err()).to_string();
    assert!(text.contains("certificate"), "{text}");
    assert_eq!(service.asked(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_service_whose_certificate_is_its_own_authority_is_asked_if_it_is_in_the_bundle() {
    let service = Service::alone(Reply::Fields(json!({"replicas": 7}))).await;
    let other = Service::alone(Reply::Hang).await;
    for (bundle, is_believed) in [(&service.certificate, true), (&other.certificate, false)] {
        let plane = Plane::without_controllers().await;
        let rules = interpreter(&plane, &service, bundle).await;
        let rules = Arc::clone(&rules.borrow());
        let answer = rules.settle(rules.ask_replicas(&web()).unwrap()).await;
        assert_eq!(answer.is_ok(), is_believed, "{answer:?}");
    }
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test]
async fn every_operation_is_asked_once_with_what_it_is_about() {
    let plane = Plane::without_controllers().await;
    let patch = json!([{"op": "add", "path": "/metadata/annotations", "value": {"by": "hook"}}]);
    let service = Service::start(Reply::Fields(json!({
        "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(patch.to_string()),
        "rawStatus": {"ok": 1}, "healthy": false,
        "dependencies": [{"apiVersion": "v1", "kind": "Secret", "namespace": "test", "name": "s"}],
    })))
    .await;
    let rules = interpreter(&plane, &service, &service.authority).await;
    let rules = Arc::clone(&rules.borrow());
    let web = web();
    let by = |object: Object| object.annotation("by").map(str::to_owned);
    // Twice each: the second answer is the first one, kept.
    for _ in 0..2 {
        let revised = rules.settle(rules.ask_revise(&web, 3).unwrap()).await;
        assert_eq!(by(revised.unwrap()).as_deref(), Some("hook"));
        let retained = rules
            .settle(rules.ask_retain_all(&web, &web).unwrap())
            .await;
        assert_eq!(by(retained.unwrap()).as_deref(), Some("hook"));
        let status = rules.settle(rules.ask_reflect(&web).unwrap()).await;
        assert_eq!(status.unwrap(), Some(json!({"ok": 1})));
        let health = rules.settle(rules.ask_health(&web).unwrap()).await;
        assert_eq!(health.unwrap(), api::work::ResourceHealth::Unhealthy);
        let needed = rules.settle(rules.ask_dependencies(&web).unwrap()).await;
        assert_eq!(needed.unwrap()[0].name, "s");
    }
    let asked: Vec<String> = service
        .asked()
        .iter()
        .map(|question| {
            let request = &question["request"];
            assert_eq!(question["path"], "/interpret");
            assert_eq!(question["kind"], "ResourceInterpreterContext");
            assert_eq!(
                request["kind"],
                json!({"group": "apps", "version": "v1", "kind": "Deployment"})
            );
            assert_eq!(request["object"]["metadata"]["name"], "web");
            let more = [
                ("replicas", &request["replicas"]),
                ("observed", &request["observedObject"]["kind"]),
            ];
            let more: Vec<String> = more
                .iter()
                .filter(|(_, value)| !value.is_null() && **value != json!(0))
                .map(|(name, value)| format!(" {name} {value}"))
                .collect();
            format!(
                "{}{}",
                request["operation"].as_str().unwrap(),
                more.concat()
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            "ReviseReplica replicas 3",
            "Retain observed \"Deployment\"",
            "InterpretStatus",
            "InterpretHealth",
            "InterpretDependency",
        ]
    );
}

#[tokio::test]
async fn a_binding_has_the_replicas_that_the_service_counts() {
    let plane = Plane::without_controllers().await;
    let service = Service::start(Reply::Fields(json!({"replicas": 7}))).await;
    let rules = interpreter(&plane, &service, &service.authority).await;
    let spawner = plane.tasks.spawner();
    karavel_controllers::run(
        &cx(&plane),
        &plane.caches,
        &spawner,
        rules,
        Options::default(),
    );
    plane.create(WEB).await;
    plane.create("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p, namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: i}}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: test}], placement: {}}}").await;
    plane
        .until(&of::<ResourceBinding>(), "test/web-deployment", |binding| {
            binding.is_some_and(|binding| binding.integer_at(&["spec", "replicas"]) == Some(7))
        })
        .await;
}

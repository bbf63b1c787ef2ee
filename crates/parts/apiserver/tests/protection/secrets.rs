use std::path::Path;
use std::sync::{Arc, Mutex};

use access::audit::{AuditPolicy, LogOptions};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use karavel_apiserver::{Security, Storage};
use serde_json::{Value, json};
use serve::call::User;
use serve::encoding::base64;
use tower_service::Service;
use tracing_subscriber::fmt::MakeWriter;

use crate::served::{Credentials, Served, find};

const PLANTED: &str = "planted-tulip-secret";

/// Everything logged, in one buffer.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn master() -> User {
    User {
        name: "root".to_owned(),
        groups: vec![
            "system:masters".to_owned(),
            "system:authenticated".to_owned(),
        ],
        ..User::default()
    }
}

async fn ask(served: &Served, line: &str, token: &str, body: Value) -> (u16, Bytes) {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    if method == "PATCH" {
        let form = match path.contains("fieldManager=") {
            true => "application/apply-patch+yaml",
            false => "application/merge-patch+json",
        };
        request = request.header("content-type", form);
    }
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let request = request.body(Full::new(body)).unwrap();
    let response = served.handle.as_user(master()).call(request).await.unwrap();
    let code = response.status().as_u16();
    (
        code,
        response.into_body().collect().await.unwrap().to_bytes(),
    )
}

fn files(directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_appear_neither_in_logs_nor_errors_nor_files_nor_backups() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let policy = json!({"rules": [{"level": "RequestResponse"}]});
    let options = LogOptions {
        path: directory.path().join("audit.log"),
        largest: 1 << 30,
        kept: None,
        oldest: None,
    };
    let security = Security {
        audit: Some((AuditPolicy::read(&policy).unwrap(), options)),
        ..Security::default()
    };
    let served = Served::start(directory.path(), Storage::Embedded, security)
        .await
        .unwrap();
    let encoded = base64(PLANTED.as_bytes());
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "s"}, "data": {"password": encoded}, "stringData": {"again": PLANTED},
    });
    let work = json!({
        "metadata": {"name": "w"},
        "spec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "data": {"password": encoded}},
        ]}},
    });
    let works = "/apis/work.karmada.io/v1alpha1/namespaces/default/works";
    let maps = "POST /api/v1/namespaces/default/configmaps";
    let misspelt = "POST /api/v1/namespaces/default/secretz";
    let proxied = "POST /apis/cluster.karmada.io/v1alpha1/clusters/m/proxy";
    let bare = secret.clone();
    let mut named = secret.clone();
    (named["apiVersion"], named["kind"]) = (json!("v1"), json!("Secret"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [named]});
    let mut answers = Vec::new();
    for (line, token, body, expected) in [
        (format!("POST {secrets}"), "", secret.clone(), 201),
        (
            format!("PATCH {secrets}/s"),
            "",
            json!({"data": {"more": encoded}}),
            200,
        ),
        (format!("POST {works}"), "", work, 201),
        (
            "POST /apis/cluster.karmada.io/v1alpha1/clusters".to_owned(),
            "",
            json!({
                "metadata": {"name": "m"},
                "spec": {"syncMode": "Pull", "proxyURL": format!("http://u:{PLANTED}@p"), "proxyHeader": {"X": PLANTED}},
            }),
            201,
        ),
        // What goes wrong says so without saying what it was.
        (format!("POST {secrets}"), "", secret, 409),
        (
            format!("POST {secrets}"),
            "",
            json!({"metadata": {"name": "bad"}, "data": {"x": format!("{PLANTED}!")}}),
            400,
        ),
        (
            format!("PUT {secrets}/s"),
            "",
            json!({"metadata": {"name": "s"}, "type": PLANTED, "data": {}}),
            422,
        ),
        // Patches that make no such object of what is stored, and declarations that fit no such object.
        (
            format!("PATCH {secrets}/s"),
            "",
            json!({"data": {"password": 5}, "stringData": {"again": PLANTED}}),
            422,
        ),
        (format!("PATCH {secrets}/s"), "", json!({"kind": null}), 422),
        (
            format!("PATCH {secrets}/s?fieldValidation=Strict"),
            "",
            json!({"unheard": PLANTED}),
            422,
        ),
        (
            format!("PATCH {works}/w?fieldValidation=Strict"),
            "",
            json!({"unheard": PLANTED}),
            422,
        ),
        (
            format!("PATCH {secrets}/s?fieldManager=m"),
            "",
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"again": [PLANTED]},
            }),
            500,
        ),
        (
            format!("PATCH {secrets}/new?fieldManager=m"),
            "",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "new"}, "data": PLANTED}),
            500,
        ),
        (
            format!("PATCH {works}/w?fieldManager=m"),
            "",
            json!({
                "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "w"},
                "spec": {"workload": {"manifests": PLANTED}},
            }),
            500,
        ),
        // What is sent to the wrong place is a secret nevertheless.
        (maps.to_owned(), "", named.clone(), 400),
        (maps.to_owned(), "", list.clone(), 400),
        (misspelt.to_owned(), "", named.clone(), 404),
        (misspelt.to_owned(), "", bare.clone(), 404),
        (misspelt.to_owned(), "", list, 404),
        (format!("{proxied}{secrets}"), "", named, 404),
        (format!("{proxied}{secrets}"), "", bare, 404),
        ("GET /api/v1/nodes".to_owned(), PLANTED, json!(null), 200),
    ] {
        let (code, answer) = ask(&served, &line, token, body).await;
        assert_eq!(
            code,
            expected,
            "{line}: {}",
            String::from_utf8_lossy(&answer)
        );
        if code >= 400 {
            answers.push((line, answer.to_vec()));
        }
    }
    let trusted = Credentials::of(directory.path()).authority;
    let (code, text) = served.ask(&trusted, PLANTED, "GET /api", "").await.unwrap();
    assert_eq!(code, 401);
    answers.push(("a bad token".to_owned(), text.into_bytes()));
    let (code, backup) = ask(&served, "GET /karavel/v1/backup", "", json!(null)).await;
    assert_eq!(code, 200);
    assert!(
        backup.len() > 1000 && find(&backup, b"karmada-cluster").is_some(),
        "a whole backup"
    );
    answers.push(("the backup".to_owned(), backup.to_vec()));
    served.stop().await;
    files(directory.path(), &mut answers);
    let logged = log.0.lock().unwrap().clone();
    assert!(find(&logged, b"renewed").is_some() || !logged.is_empty());
    answers.push(("the log".to_owned(), logged));
    assert!(answers.iter().any(|(name, _)| name.ends_with("audit.log")));
    // A type of a secret is no secret; its field error may name it, the rest may not.
    for (name, bytes) in answers.iter().filter(|(name, _)| !name.starts_with("PUT ")) {
        for form in [PLANTED, &encoded] {
            assert!(
                find(bytes, form.as_bytes()).is_none(),
                "{name} has a planted secret"
            );
        }
    }
}

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use karavel_apiserver::{EtcdOptions, Security, StartError, Storage};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::served::{Credentials, Served, connect, exchange};

/// An etcd of one member, gone when the test is over.
struct Etcd {
    url: String,
    child: Child,
    _directory: TempDir,
}

impl Etcd {
    fn start() -> Self {
        let free = || {
            TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port()
        };
        let directory = tempfile::tempdir().unwrap();
        let (client, peer) = (free(), free());
        let (url, peer) = (
            format!("http://127.0.0.1:{client}"),
            format!("http://127.0.0.1:{peer}"),
        );
        let child = Command::new(program())
            .arg(format!("--data-dir={}", directory.path().display()))
            .args([
                format!("--listen-client-urls={url}"),
                format!("--advertise-client-urls={url}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            url,
            child,
            _directory: directory,
        }
    }

    fn storage(&self) -> Storage {
        Storage::Etcd {
            options: Box::new(EtcdOptions::new([self.url.clone()], "/karavel")),
            compaction: None,
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A server, once its etcd answers.
async fn start(etcd: &Etcd, directory: &Path) -> Result<Served, StartError> {
    let begun = Instant::now();
    loop {
        match Served::start(directory, etcd.storage(), Security::default()).await {
            Err(StartError::Etcd(_)) if begun.elapsed() < Duration::from_secs(20) => {}
            outcome => return outcome,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_on_one_etcd_accept_each_others_certificates_and_tokens() {
    let etcd = Etcd::start();
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = start(&etcd, one.path()).await.unwrap();
    // Without the key that what is stored is encrypted with, a second server does not start, and says what it needs.
    let Err(StartError::Sealing(refused)) = start(&etcd, two.path()).await else {
        panic!("a server without the key started");
    };
    assert!(
        refused.to_string().contains("--encryption-key-file"),
        "{refused}"
    );
    let key = Path::new("pki/encryption.key");
    std::fs::copy(one.path().join(key), two.path().join(key)).unwrap();
    let second = start(&etcd, two.path()).await.unwrap();
    let (here, there) = (Credentials::of(one.path()), Credentials::of(two.path()));
    assert_eq!(here.authority, there.authority);
    let account = "/api/v1/namespaces/default/serviceaccounts";
    let body = json!({"metadata": {"name": "till"}}).to_string();
    let mut stream = connect(first.address, &here.authority, Some(&there), "localhost")
        .await
        .unwrap();
    let (code, text) = exchange(&mut stream, &format!("POST {account}"), "", &body)
        .await
        .unwrap();
    assert_eq!(code, 201, "{text}");
    let line = format!("POST {account}/till/token");
    let (code, text) = exchange(&mut stream, &line, "", r#"{"spec":{}}"#)
        .await
        .unwrap();
    assert_eq!(code, 201, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let token = answer["status"]["token"].as_str().unwrap().to_owned();
    let line = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let begun = Instant::now();
    let review: Value = loop {
        let (code, text) = second
            .ask(&there.authority, &token, line, "{}")
            .await
            .unwrap();
        if code == 201 {
            break serde_json::from_str(&text).unwrap();
        }
        // The second server hears of the account from etcd.
        assert!(begun.elapsed() < Duration::from_secs(10), "{code} {text}");
    };
    assert_eq!(
        review["status"]["userInfo"]["username"],
        "system:serviceaccount:default:till"
    );
    drop(stream);
    first.stop().await;
    second.stop().await;
}

/// The etcd to test against: on PATH, or where `cargo xtask setup` puts it.
fn program() -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = std::env::var_os("KARAVEL_TOOLS").map(std::path::PathBuf::from);
    std::env::split_paths(&path)
        .chain(tools)
        .map(|directory| directory.join("etcd"))
        .find(|program| program.is_file())
        .expect("etcd is neither on PATH nor in KARAVEL_TOOLS: run cargo xtask setup")
}

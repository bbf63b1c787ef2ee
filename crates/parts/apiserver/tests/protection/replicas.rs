use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use karavel_apiserver::{EtcdOptions, Security, StartError, Storage};
use serde_json::{Value, json};
use store::etcd::Etcd as Client;
use store::sealed::Keyring;
use store::{Query, Store};
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

/// Where etcd keeps which keys are needed.
const MARK: &str = "/karavel/sealing";

/// What is in etcd, as etcd has it.
async fn raw(etcd: &Etcd, prefix: &'static str) -> Vec<(String, Vec<u8>)> {
    let options = EtcdOptions::new([etcd.url.clone()], "/karavel");
    let store = Store::Etcd(Client::connect(options).await.unwrap());
    let page = store.range(&Query::prefix(prefix)).await.unwrap();
    let entries = page.entries.iter();
    entries
        .map(|entry| {
            let key = String::from_utf8_lossy(entry.key.as_ref()).into_owned();
            (key, entry.value.to_vec())
        })
        .collect()
}

/// Asks as the administrator, on a connection of its own.
async fn ask(served: &Served, shown: &Credentials, line: &str, body: &Value) -> (u16, Value) {
    let stream = connect(served.address, &shown.authority, Some(shown), "localhost").await;
    let mut stream = stream.unwrap();
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let (code, text) = exchange(&mut stream, line, "", &body).await.unwrap();
    (code, serde_json::from_str(&text).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_etcd_are_sealed_and_sealed_anew_when_the_key_changes() {
    let etcd = Etcd::start();
    let directory = tempfile::tempdir().unwrap();
    let secrets = "/api/v1/namespaces/default/secrets";
    let file = directory.path().join("pki/encryption.key");
    let planted = b"cGxhbnRlZC10dWxpcA==";
    let served = start(&etcd, directory.path()).await.unwrap();
    let shown = Credentials::of(directory.path());
    let secret =
        json!({"metadata": {"name": "s"}, "data": {"p": String::from_utf8_lossy(planted)}});
    let (code, answer) = ask(&served, &shown, &format!("POST {secrets}"), &secret).await;
    assert_eq!(code, 201, "{answer}");
    served.stop().await;
    let find = |entries: &[(String, Vec<u8>)]| -> Vec<u8> {
        assert!(entries.len() > 50, "{} entries", entries.len());
        for (key, value) in entries {
            assert!(
                crate::served::find(value, planted).is_none(),
                "{key} is in the clear"
            );
        }
        let secret = entries
            .iter()
            .find(|(key, _)| key.ends_with("/secrets/default/s"));
        secret.unwrap().1.clone()
    };
    let objects = "/registry/";
    let before = find(&raw(&etcd, objects).await);
    let first_mark = raw(&etcd, MARK).await;
    // The new key goes first, the old one stays until everything has been written anew.
    let old = std::fs::read_to_string(&file).unwrap();
    let new = Keyring::generate().unwrap();
    std::fs::write(&file, format!("{new}{old}")).unwrap();
    let served = start(&etcd, directory.path()).await.unwrap();
    let begun = Instant::now();
    let is_done = async || {
        let mark = raw(&etcd, MARK).await;
        // As long as before, with another key: the old one is not needed any more.
        mark != first_mark && mark[0].1.len() == first_mark[0].1.len()
    };
    while !is_done().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "not sealed anew");
    }
    assert_ne!(find(&raw(&etcd, objects).await), before);
    served.stop().await;
    // Then the new one is enough, and the old one is not.
    std::fs::write(&file, &new).unwrap();
    let served = start(&etcd, directory.path()).await.unwrap();
    let shown = Credentials::of(directory.path());
    let (code, answer) = ask(&served, &shown, &format!("GET {secrets}/s"), &Value::Null).await;
    assert_eq!((code, &answer["data"]["p"]), (200, &secret["data"]["p"]));
    served.stop().await;
    std::fs::write(&file, &old).unwrap();
    assert!(start(&etcd, directory.path()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_servers_one_does_the_chores_and_another_takes_over() {
    let etcd = Etcd::start();
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = start(&etcd, one.path()).await.unwrap();
    let shown = Credentials::of(one.path());
    let key = Path::new("pki/encryption.key");
    std::fs::create_dir_all(two.path().join("pki")).unwrap();
    std::fs::copy(one.path().join(key), two.path().join(key)).unwrap();
    let lease = "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karavel-apiserver";
    let holder = async |served: &Served| -> String {
        let (_, lease) = ask(served, &shown, lease, &Value::Null).await;
        let holder = lease["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    };
    let until = async |what: &str, served: &Served, address: std::net::SocketAddr| {
        let mut writes = served.handle.server().cache().progress();
        let led = async {
            while !holder(served).await.starts_with(&format!("{address}_")) {
                writes.changed().await.unwrap();
            }
        };
        let led = tokio::time::timeout(Duration::from_secs(30), led).await;
        assert!(led.is_ok(), "{what}");
    };
    until("the first server leads", &first, first.address).await;
    let second = start(&etcd, two.path()).await.unwrap();
    let address = second.address;
    first.stop().await;
    until("the second server takes over", &second, address).await;
    // What it does then is seen: a new namespace gets its account.
    let body = json!({"metadata": {"name": "later"}});
    let (code, _) = ask(&second, &shown, "POST /api/v1/namespaces", &body).await;
    assert_eq!(code, 201);
    let line = "GET /api/v1/namespaces/later/serviceaccounts/default";
    let mut writes = second.handle.server().cache().progress();
    let given = async {
        while ask(&second, &shown, line, &Value::Null).await.0 != 200 {
            writes.changed().await.unwrap();
        }
    };
    let given = tokio::time::timeout(Duration::from_secs(20), given).await;
    assert!(given.is_ok(), "no account");
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

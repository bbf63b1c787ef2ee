//! Getting to an etcd: TLS, users, several endpoints, a prefix of one's own.

use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use store::etcd::{Etcd, EtcdError, OpenError, Options, Tls, User};
use store::{CommitError, Notice, Query, ReadError, Txn};

use crate::conformance::{drain, key, soon};
use crate::peer::{Peer, connect, free_port};

/// A certificate authority and what it has signed.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn tls_with_client_certificates_lets_in_who_has_one() {
    let directory = tempfile::TempDir::new().unwrap();
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (certificate, server_key) = authority.sign("etcd");
    let file = |name: &str, text: &str| write(directory.path(), name, text);
    let peer = Peer::with_tls(&[
        &format!("--cert-file={}", file("cert", &certificate)),
        &format!("--key-file={}", file("key", &server_key)),
        &format!("--trusted-ca-file={}", file("ca", &authority.pem)),
        "--client-cert-auth",
    ]);
    let trusting = |ca: &Authority, identity| Options {
        tls: Some(Tls {
            ca: ca.pem.clone(),
            identity,
            server_name: None,
        }),
        timeout: Duration::from_millis(700),
        ..peer.options()
    };
    let store = peer
        .connect_with(trusting(&authority, Some(authority.sign("karavel"))))
        .await;
    store.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    assert_eq!(
        store.get(&key("k"), None).await.unwrap().unwrap().value,
        "1"
    );
    let cases = [
        ("no certificate", trusting(&authority, None)),
        (
            "a stranger's certificate",
            trusting(&authority, Some(stranger.sign("karavel"))),
        ),
        (
            "an authority that did not sign etcd's",
            trusting(&stranger, Some(authority.sign("karavel"))),
        ),
    ];
    for (what, options) in cases {
        let refused = Etcd::connect(options).await;
        assert!(
            matches!(refused, Err(OpenError::Etcd { .. })),
            "{what}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_with_the_reason() {
    let tls = Some(Tls {
        ca: Authority::new().pem,
        identity: None,
        server_name: None,
    });
    let broken = Some(Tls {
        ca: Authority::new().pem,
        identity: Some(("no".to_owned(), "pem".to_owned())),
        server_name: None,
    });
    let cases = [
        (vec![], None, "no etcd endpoint is given"),
        (vec!["127.0.0.1:2379"], None, "is not a URL"),
        (vec!["unix:///etcd"], None, "is not a URL"),
        (vec!["not a url"], None, "is not a URL"),
        (
            vec!["https://127.0.0.1:2379"],
            None,
            "give the certificate of the authority",
        ),
        (vec!["http://127.0.0.1:2379"], tls, "write https://"),
        (
            vec!["https://127.0.0.1:2379"],
            broken,
            "certificates for etcd cannot be used",
        ),
    ];
    for (endpoints, tls, reason) in cases {
        let mut options = Options::new(endpoints.clone(), "/karavel");
        options.tls = tls;
        let error = Etcd::connect(options).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{endpoints:?}: {error}");
    }
}

/// Switches authentication on, with a user who has everything below `/karavel`.
fn require_users(peer: &Peer) {
    // Base64 of `/karavel` and of the least key after all that begin so.
    let range = r#""key":"L2thcmF2ZWw=","range_end":"L2thcmF2ZW0=""#;
    let permission = format!(r#"{{"name":"karavel","perm":{{"permType":"READWRITE",{range}}}}}"#);
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("role/add", r#"{"name":"karavel"}"#),
        ("role/grant", &permission),
        ("user/add", r#"{"name":"karavel","password":"word"}"#),
        ("user/grant", r#"{"user":"karavel","role":"karavel"}"#),
        ("user/add", r#"{"name":"nobody","password":"word"}"#),
        ("enable", "{}"),
    ] {
        peer.post(&format!("/v3/auth/{path}"), body);
    }
}

#[tokio::test]
async fn a_user_with_a_password_works_also_when_etcd_forgets_the_token() {
    let mut peer = Peer::alone().await;
    let before = peer.connect().await;
    require_users(&peer);
    let by = |name: &str, password: &str| Options {
        user: Some(User {
            name: name.to_owned(),
            password: password.to_owned(),
        }),
        ..peer.options()
    };
    let cases = [
        (by("karavel", "wrong"), "does not accept the user"),
        (by("stranger", "word"), "does not accept the user"),
        (peer.options(), "does not accept the user"),
        (by("nobody", "word"), "grant the user's role"),
    ];
    for (options, reason) in cases {
        let user = options.user.clone();
        let Err(OpenError::Etcd { source }) = Etcd::connect(options).await else {
            panic!("{user:?} was let in");
        };
        assert!(source.to_string().contains(reason), "{user:?}: {source}");
    }
    let refused = before.get(&key("k"), None).await;
    assert!(
        matches!(refused, Err(ReadError::Unavailable { .. })),
        "{refused:?}"
    );

    let store = peer.connect_with(by("karavel", "word")).await;
    let first = store.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    let mut watch = store.watch("", first.revision).await.unwrap();
    // Tokens live in the memory of etcd alone.
    peer.kill();
    peer.start();
    let second = loop {
        match soon("a put", store.commit(Txn::new().put(key("k"), "2"))).await {
            Ok(committed) => break committed,
            Err(CommitError::Unavailable { .. } | CommitError::Unknown { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let seen = drain(&mut watch, second.revision).await;
    assert_eq!(seen.last().unwrap().revision, second.revision);
}

#[tokio::test]
async fn a_write_without_permission_says_what_to_grant() {
    let peer = Peer::alone().await;
    require_users(&peer);
    let options = Options {
        prefix: "/karavel".to_owned(),
        user: Some(User {
            name: "karavel".to_owned(),
            password: "word".to_owned(),
        }),
        ..peer.options()
    };
    let store = peer.connect_with(options).await;
    store.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    // The root user takes the permission to write away again.
    let token = peer.post(
        "/v3/auth/authenticate",
        r#"{"name":"root","password":"secret"}"#,
    );
    let (_, token) = token.split_once(r#""token":""#).unwrap();
    let token = token.split('"').next().unwrap();
    let read = r#"{"name":"karavel","perm":{"permType":"READ","key":"L2thcmF2ZWw=","range_end":"L2thcmF2ZW0="}}"#;
    peer.post_as("/v3/auth/role/grant", read, token);
    let refused = store.commit(Txn::new().put(key("k"), "2")).await;
    let Err(CommitError::ReadOnly { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("readwrite"), "{reason}");
    assert_eq!(
        store.get(&key("k"), None).await.unwrap().unwrap().value,
        "1"
    );
}

#[tokio::test]
async fn the_first_endpoint_may_be_dead() {
    let peer = Peer::alone().await;
    let mut options = peer.options();
    options
        .endpoints
        .insert(0, format!("http://127.0.0.1:{}", free_port()));
    let store = peer.connect_with(options).await;
    let committed = store.commit(Txn::new().put(key("k"), "1")).await.unwrap();
    let mut watch = store.watch("", committed.revision).await.unwrap();
    let next = store.commit(Txn::new().put(key("k"), "2")).await.unwrap();
    assert_eq!(drain(&mut watch, next.revision).await.len(), 1);
}

#[tokio::test]
async fn nobody_there_is_said_within_the_deadline() {
    let options = Options {
        timeout: Duration::from_millis(500),
        ..Options::new([format!("http://127.0.0.1:{}", free_port())], "/karavel")
    };
    let refused = soon("a refusal", Etcd::connect(options)).await;
    let Err(OpenError::Etcd {
        source: EtcdError::Unreachable { detail, .. },
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(detail.contains("refused"), "{detail}");
}

#[tokio::test]
async fn stores_below_different_prefixes_do_not_see_each_other() {
    let peer = Peer::alone().await;
    let below = |prefix: &str| Options {
        prefix: prefix.to_owned(),
        ..peer.options()
    };
    let mine = connect(below("/a")).await.unwrap();
    let others = [
        connect(below("/ab")).await.unwrap(),
        connect(below("/a-b")).await.unwrap(),
        connect(below("")).await.unwrap(),
    ];
    let start = mine.revision().await.unwrap();
    let mut watch = mine.watch("", start).await.unwrap();
    for other in &others {
        other
            .commit(Txn::new().put(key("k"), "other"))
            .await
            .unwrap();
    }
    assert_eq!(mine.get(&key("k"), None).await.unwrap(), None);
    let newest = mine.revision().await.unwrap();
    // Only the others have written: that the watch has missed nothing shows all the same.
    assert_eq!(drain(&mut watch, newest).await, []);
    mine.commit(Txn::new().put(key("k"), "mine")).await.unwrap();
    let Notice::Changes(changes) = soon("the change", watch.next()).await.unwrap() else {
        panic!("not a change");
    };
    assert_eq!(changes.events[0].current.as_ref().unwrap().value, "mine");
    let page = mine.range(&Query::default().counting()).await.unwrap();
    assert_eq!(page.entries.len(), 1);
    assert_eq!(page.entries[0].key, key("k"));
    assert_eq!(mine.status().await.unwrap().entries, Some(1));
    let others = others[0].range(&Query::default()).await.unwrap();
    assert_eq!(others.entries[0].value, "other");
}

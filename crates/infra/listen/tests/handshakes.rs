//! Who gets in, and as whom: real handshakes over loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use karavel_listen::{
    Authority, AuthorityError, Issued, Limits, Listener, Peer, ServerIdentity, Subject,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use x509_parser::prelude::{FromDer, X509Certificate};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A listener that answers everybody with their own name.
struct Mirror {
    address: SocketAddr,
    authority: Authority,
    identity: ServerIdentity,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Mirror {
    async fn start(directory: &Path) -> Self {
        Self::on("127.0.0.1:0", directory).await
    }

    async fn on(address: &str, directory: &Path) -> Self {
        Self::with(address, directory, Limits::default()).await
    }

    async fn with(address: &str, directory: &Path, limits: Limits) -> Self {
        let authority = Authority::open(directory, SystemTime::now()).unwrap();
        let issued = authority.issue(&server(), DAY, SystemTime::now()).unwrap();
        let identity = ServerIdentity::new(&issued).unwrap();
        let tls = identity.tls_config(authority.certificate_pem()).unwrap();
        let listener = Listener::bind(address.parse().unwrap()).await.unwrap();
        let address = listener.address();
        let stop = CancellationToken::new();
        let handler = |request: http::Request<karavel_listen::Arriving>| async move {
            let peer = request.extensions().get::<Peer>().unwrap();
            let name = match &peer.user {
                None if peer.is_distrusted => "somebody who is not believed".to_owned(),
                None => "nobody".to_owned(),
                Some(user) => format!("{} of {}", user.name, user.groups.join(",")),
            };
            Response::new(Full::new(Bytes::from(name)))
        };
        let serving = listener.serve(tls, limits, handler, stop.clone());
        #[expect(clippy::disallowed_methods, reason = "joined by `end`")]
        let task = tokio::spawn(serving);
        Self {
            address,
            authority,
            identity,
            stop,
            task,
        }
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// What the server answers to a client that shows `shown` and trusts `trusted`; `Err` if they part at the handshake.
    async fn answer(
        &self,
        shown: Option<&Issued>,
        trusted: &str,
        host: &'static str,
    ) -> Result<String, std::io::Error> {
        let mut stream = self.connect(shown, trusted, host).await?;
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: mirror\r\nConnection: close\r\n\r\n")
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer
            .rsplit("\r\n\r\n")
            .next()
            .unwrap_or_default()
            .to_owned())
    }

    async fn connect(
        &self,
        shown: Option<&Issued>,
        trusted: &str,
        host: &'static str,
    ) -> Result<TlsStream<TcpStream>, std::io::Error> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match shown {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = vec![
                    CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap(),
                ];
                let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let tcp = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from(host).unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, tcp)
            .await
    }
}

fn server() -> Subject {
    Subject::Server {
        names: ["localhost", "127.0.0.1", "::1"]
            .map(str::to_owned)
            .to_vec(),
    }
}

fn user(name: &str, group: &str) -> Subject {
    Subject::User {
        name: name.to_owned(),
        group: Some(group.to_owned()),
    }
}

#[tokio::test]
async fn a_certificate_of_the_authority_names_its_user_and_none_is_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = Mirror::start(directory.path()).await;
    let trusted = mirror.authority.certificate_pem();
    let admin = mirror
        .authority
        .issue(&user("ann", "system:masters"), DAY, SystemTime::now())
        .unwrap();
    assert_eq!(
        mirror
            .answer(Some(&admin), trusted, "localhost")
            .await
            .unwrap(),
        "ann of system:masters"
    );
    assert_eq!(
        mirror.answer(None, trusted, "127.0.0.1").await.unwrap(),
        "nobody"
    );
    mirror.end().await;
}

#[tokio::test]
async fn foreign_expired_and_misused_certificates_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = Mirror::start(directory.path()).await;
    let trusted = mirror.authority.certificate_pem().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = Authority::open(elsewhere.path(), SystemTime::now()).unwrap();
    let foreign = stranger
        .issue(&user("ann", "system:masters"), DAY, SystemTime::now())
        .unwrap();
    let past = SystemTime::now() - 2 * DAY;
    let expired = mirror
        .authority
        .issue(&user("ann", "system:masters"), DAY, past)
        .unwrap();
    let misused = mirror
        .authority
        .issue(&server(), DAY, SystemTime::now())
        .unwrap();
    // They are told so and not cut off: a token on the same connection may be good.
    for (case, shown) in [
        ("foreign", &foreign),
        ("expired", &expired),
        ("misused", &misused),
    ] {
        let answer = mirror.answer(Some(shown), &trusted, "localhost").await;
        assert_eq!(answer.unwrap(), "somebody who is not believed", "{case}");
    }
    assert!(
        mirror
            .answer(None, &trusted, "elsewhere.example")
            .await
            .is_err(),
        "a name the server does not have"
    );
    assert!(
        mirror
            .answer(None, stranger.certificate_pem(), "localhost")
            .await
            .is_err(),
        "another authority"
    );
    mirror.end().await;
}

#[tokio::test]
async fn a_replaced_certificate_is_shown_from_the_next_handshake_on() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = Mirror::start(directory.path()).await;
    let trusted = mirror.authority.certificate_pem().to_owned();
    let other = Subject::Server {
        names: vec!["renewed.example".to_owned()],
    };
    let renewed = mirror
        .authority
        .issue(&other, DAY, SystemTime::now())
        .unwrap();
    mirror.identity.replace(&renewed).unwrap();
    assert_eq!(
        mirror
            .answer(None, &trusted, "renewed.example")
            .await
            .unwrap(),
        "nobody"
    );
    assert!(mirror.answer(None, &trusted, "localhost").await.is_err());
    mirror.end().await;
}

#[test]
fn an_authority_survives_a_restart_and_half_of_one_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let first = Authority::open(directory.path(), SystemTime::now()).unwrap();
    let again = Authority::open(directory.path(), SystemTime::now()).unwrap();
    assert_eq!(first.certificate_pem(), again.certificate_pem());
    let key = directory.path().join("ca.key");
    assert_eq!(
        std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    std::fs::remove_file(&key).unwrap();
    let refused = Authority::open(directory.path(), SystemTime::now());
    assert!(matches!(refused, Err(AuthorityError::Half { .. })));
}

#[tokio::test]
async fn an_unspecified_address_is_reached_by_both_families() {
    let directory = tempfile::tempdir().unwrap();
    let mut mirror = Mirror::on("[::]:0", directory.path()).await;
    let trusted = mirror.authority.certificate_pem().to_owned();
    let port = mirror.address.port();
    for host in ["127.0.0.1", "::1"] {
        mirror.address = SocketAddr::new(host.parse().unwrap(), port);
        assert_eq!(
            mirror.answer(None, &trusted, host).await.unwrap(),
            "nobody",
            "{host}"
        );
    }
    mirror.end().await;
}

/// The first line of what comes back for a head; empty if the connection ends without a word.
async fn first_line(mirror: &Mirror, head: &str) -> String {
    let trusted = mirror.authority.certificate_pem();
    let stream = mirror.connect(None, trusted, "localhost").await;
    let mut stream = stream.unwrap();
    // The server may have heard enough before the end.
    drop(stream.write_all(head.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    let answer = String::from_utf8_lossy(&answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn heads_that_are_too_large_or_too_slow_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits {
        head: Duration::from_millis(300),
        head_bytes: 16 * 1024,
        ..Limits::default()
    };
    let mirror = Mirror::with("127.0.0.1:0", directory.path(), limits).await;
    let long = "x".repeat(20 * 1024);
    for (head, expected) in [
        (
            "GET / HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: m\r\nX-Long: {long}\r\n\r\n"),
            "HTTP/1.1 431 Request Header Fields Too Large",
        ),
        (
            format!("GET /{long} HTTP/1.1\r\nHost: m\r\n\r\n"),
            "HTTP/1.1 431 Request Header Fields Too Large",
        ),
        // It never ends; the server does not wait for it.
        ("GET / HTTP/1.1\r\nHost: m\r\n".to_owned(), ""),
    ] {
        let line = first_line(&mirror, &head).await;
        assert_eq!(line, expected, "{} bytes", head.len());
    }
    mirror.end().await;
}

/// Writes an authority that is in force for so many seconds from now on, as `ca.crt` and `ca.key`; and one certificate of it
/// for whatever use.
fn authority(directory: &Path, begins: i64, ends: i64, usage: ExtendedKeyUsagePurpose) -> Issued {
    let now = time::OffsetDateTime::now_utc();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = now + time::Duration::seconds(begins);
    params.not_after = now + time::Duration::seconds(ends);
    let certificate = params.self_signed(&key).unwrap().pem();
    std::fs::write(directory.join("ca.crt"), certificate).unwrap();
    std::fs::write(directory.join("ca.key"), key.serialize_pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    Issued {
        certificate_pem: params.signed_by(&key, &issuer).unwrap().pem(),
        key_pem: key.serialize_pem(),
        renew_at: SystemTime::now(),
        expires_at: SystemTime::now(),
    }
}

#[tokio::test]
async fn a_certificate_for_any_use_is_one_for_clients() {
    let directory = tempfile::tempdir().unwrap();
    let ann = authority(directory.path(), -9, 3600, ExtendedKeyUsagePurpose::Any);
    let mirror = Mirror::start(directory.path()).await;
    let trusted = mirror.authority.certificate_pem().to_owned();
    let answer = mirror.answer(Some(&ann), &trusted, "localhost").await;
    assert_eq!(answer.unwrap(), "ann of ");
    mirror.end().await;
}

#[test]
fn an_authority_that_is_not_in_force_is_refused_and_signs_nothing() {
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    let place = tempfile::tempdir().unwrap();
    for (begins, ends, expected) in [(-3600, -9, "ended at "), (3600, 7200, "is in force from ")] {
        authority(place.path(), begins, ends, client.clone());
        let (certificate, key) = (place.path().join("ca.crt"), place.path().join("ca.key"));
        let given = Authority::load(&certificate, &key, SystemTime::now());
        let own = Authority::open(place.path(), SystemTime::now());
        for (refused, advice) in [
            (given, "--ca-cert-file"),
            (own, "move ca.crt and ca.key away"),
        ] {
            let text = refused.err().unwrap().to_string();
            let begin = format!(
                "the certificate authority in {} {expected}20",
                certificate.display()
            );
            assert!(text.starts_with(&begin) && text.contains(advice), "{text}");
        }
    }
    // One that ends while it is used.
    authority(place.path(), -3600, 600, client);
    let authority = Authority::open(place.path(), SystemTime::now()).unwrap();
    let (_, end) = authority.life();
    assert!(authority.issue(&server(), DAY, end - DAY).is_ok());
    let refused = authority.issue(&server(), DAY, end).err().unwrap();
    let refused = refused.to_string();
    assert!(
        refused.starts_with("the signer has expired: the certificate authority ended at 20"),
        "{refused}"
    );
}

#[test]
fn no_certificate_outlives_its_authority() {
    let place = tempfile::tempdir().unwrap();
    authority(place.path(), -3600, 600, ExtendedKeyUsagePurpose::Any);
    let authority = Authority::open(place.path(), SystemTime::now()).unwrap();
    let now = SystemTime::now();
    let (_, end) = authority.life();
    let left = end.duration_since(now).unwrap();
    let [short, renewed] = [90, 60].map(Duration::from_secs);
    for (life, lasts, renewed) in [(DAY, left, left * 2 / 3), (short, short, renewed)] {
        let issued = authority.issue(&server(), life, now).unwrap();
        assert_eq!(issued.expires_at, now + lasts);
        assert_eq!(issued.renew_at, now + renewed);
        let der = CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap();
        let (_, written) = X509Certificate::from_der(&der).unwrap();
        let written = written.validity().not_after.timestamp();
        let told = issued
            .expires_at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        assert!(written.unsigned_abs() - told.as_secs() <= 1);
        assert!(
            written
                <= i64::try_from(
                    end.duration_since(SystemTime::UNIX_EPOCH)
                        .unwrap()
                        .as_secs()
                )
                .unwrap()
        );
    }
    // Towards the end it is not made anew ever more often.
    let late = end - Duration::from_secs(3);
    let issued = authority.issue(&server(), DAY, late).unwrap();
    assert_eq!(issued.renew_at, late + Duration::from_secs(60));
}

#[tokio::test]
async fn strangers_who_say_nothing_keep_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits {
        connections: 4,
        ..Limits::default()
    };
    let mirror = Mirror::with("127.0.0.1:0", directory.path(), limits).await;
    let trusted = mirror.authority.certificate_pem().to_owned();
    let ann = user("ann", "ops");
    let ann = mirror
        .authority
        .issue(&ann, DAY, SystemTime::now())
        .unwrap();
    let mut friend = mirror
        .connect(Some(&ann), &trusted, "localhost")
        .await
        .unwrap();
    let mut silent = Vec::new();
    // From the third round on somebody has to go.
    for round in 0..4 {
        silent.push(mirror.connect(None, &trusted, "localhost").await.unwrap());
        let answer = mirror.answer(None, &trusted, "localhost");
        let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
        assert_eq!(answer.unwrap().unwrap(), "nobody", "round {round}");
    }
    friend
        .write_all(b"GET / HTTP/1.1\r\nHost: mirror\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    friend.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("ann of ops"), "{answer}");
    mirror.end().await;
}

use std::time::{Duration, Instant, SystemTime};

use karavel_apiserver::{AuthorityFiles, Lifetimes, Options, Security, Storage};
use listen::{Authority, Subject};

use crate::served::{Credentials, Served, connect, exchange};

const NAMESPACES: &str = "GET /api/v1/namespaces";

/// Whether somebody with these credentials is served.
async fn is_served(served: &Served, trusted: &str, shown: &Credentials) -> bool {
    let stream = connect(served.address, trusted, Some(shown), "localhost").await;
    let Ok(mut stream) = stream else { return false };
    let answer = exchange(&mut stream, NAMESPACES, "", "").await;
    answer.is_ok_and(|(code, _)| code == 200)
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_stay_connected_while_certificates_of_seconds_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let life = Duration::from_secs(2);
    let security = Security {
        lifetimes: Lifetimes {
            server: life,
            administrator: life,
        },
        ..Security::default()
    };
    let served = Served::start(directory.path(), Storage::Memory, security)
        .await
        .unwrap();
    let trusted = Credentials::of(directory.path()).authority;
    let subject = Subject::User {
        name: "steady".to_owned(),
        group: Some("system:masters".to_owned()),
    };
    let authority = Authority::open(&directory.path().join("pki"), SystemTime::now()).unwrap();
    let lasting = authority.issue(&subject, 100 * life, SystemTime::now());
    let lasting = lasting.unwrap();
    let lasting = Credentials {
        certificate: lasting.certificate_pem,
        key: lasting.key_pem,
        authority: trusted.clone(),
    };
    // These are opened once and used throughout.
    let mut steady = connect(served.address, &trusted, Some(&lasting), "localhost")
        .await
        .unwrap();
    // On a busy machine a certificate may end before anybody gets to show it.
    let (first, mut old) = loop {
        let first = Credentials::of(directory.path());
        let connected = connect(served.address, &trusted, Some(&first), "localhost").await;
        let Ok(mut old) = connected else { continue };
        let answered = exchange(&mut old, NAMESPACES, "", "").await;
        if answered.is_ok_and(|(code, _)| code == 200) {
            break (first, old);
        }
    };
    let (begun, mut certificates, mut asked) = (Instant::now(), Vec::new(), 0);
    while begun.elapsed() < 3 * life {
        let (code, _) = exchange(&mut steady, NAMESPACES, "", "").await.unwrap();
        assert_eq!(code, 200, "the open connection goes on");
        // A newcomer with the kubeconfig as it is now is served by a certificate that is valid now.
        let now = Credentials::of(directory.path());
        assert!(
            is_served(&served, &trusted, &now).await,
            "after {:?}",
            begun.elapsed()
        );
        if certificates.last() != Some(&now.certificate) {
            certificates.push(now.certificate);
        }
        asked += 1;
    }
    assert!(
        certificates.len() >= 4,
        "{} certificates in {asked} rounds",
        certificates.len()
    );
    assert!(
        !is_served(&served, &trusted, &first).await,
        "the first certificate has expired"
    );
    let (code, _) = exchange(&mut old, NAMESPACES, "", "").await.unwrap();
    assert_eq!(
        code, 401,
        "also on a connection it opened while it was good"
    );
    drop((steady, old));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_others_and_of_an_authority_that_was_replaced_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let old = Credentials::of(directory.path());
    assert!(is_served(&served, &old.authority, &old).await);
    let elsewhere = connect(
        served.address,
        &old.authority,
        Some(&old),
        "elsewhere.example",
    )
    .await;
    assert!(elsewhere.is_err(), "a name the server does not have");
    let foreign = tempfile::tempdir().unwrap();
    let stranger = Authority::open(foreign.path(), SystemTime::now()).unwrap();
    let forged = Subject::User {
        name: "system:admin".to_owned(),
        group: Some("system:masters".to_owned()),
    };
    let forged = stranger
        .issue(&forged, Duration::from_secs(3600), SystemTime::now())
        .unwrap();
    let forged = Credentials {
        certificate: forged.certificate_pem,
        key: forged.key_pem,
        ..old.clone()
    };
    assert!(
        !is_served(&served, &old.authority, &forged).await,
        "a foreign authority"
    );
    served.stop().await;
    // Replacing the authority is how everything it ever signed is taken back.
    for file in ["ca.crt", "ca.key"] {
        std::fs::remove_file(directory.path().join("pki").join(file)).unwrap();
    }
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let new = Credentials::of(directory.path());
    assert!(is_served(&served, &new.authority, &new).await);
    assert!(
        !is_served(&served, &new.authority, &old).await,
        "taken back"
    );
    assert!(
        !is_served(&served, &old.authority, &new).await,
        "the client notices too"
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_and_names_given_by_the_operator_are_used() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = Authority::open(elsewhere.path(), SystemTime::now()).unwrap();
    let served = Served::with(Options {
        data_dir: directory.path().to_owned(),
        storage: Storage::Memory,
        listen: "[::1]:0".parse().unwrap(),
        names: ["fleet.example.com", "10.1.2.3", "fd00::7"]
            .map(str::to_owned)
            .to_vec(),
        security: Security {
            authority: Some(AuthorityFiles {
                certificate: elsewhere.path().join("ca.crt"),
                key: elsewhere.path().join("ca.key"),
            }),
            ..Security::default()
        },
    })
    .await
    .unwrap();
    assert!(!directory.path().join("pki/ca.key").exists());
    let kubeconfig = directory.path().join("kubeconfig");
    let mode = std::fs::metadata(&kubeconfig).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let url = format!("https://[::1]:{}", served.address.port());
    assert!(text.contains(&url), "{url}");
    let shown = Credentials::of(directory.path());
    assert_eq!(shown.authority, own.certificate_pem());
    for (host, expected) in [
        ("fleet.example.com", true),
        ("10.1.2.3", true),
        ("fd00::7", true),
        ("::1", true),
        ("localhost", true),
        ("kubernetes.default.svc", true),
        ("other.example.com", false),
        ("10.1.2.4", false),
    ] {
        let stream = connect(served.address, &shown.authority, Some(&shown), host).await;
        let Ok(mut stream) = stream else {
            assert!(!expected, "{host}");
            continue;
        };
        let (code, _) = exchange(&mut stream, NAMESPACES, "", "").await.unwrap();
        assert!(expected && code == 200, "{host}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_authority_is_refused_by_name() {
    let [directory, one, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    for place in [&one, &other] {
        Authority::open(place.path(), SystemTime::now()).unwrap();
    }
    let (certificate, key) = (one.path().join("ca.crt"), other.path().join("ca.key"));
    let expected = format!(
        "cannot use the certificate authority: {} is not the key of the certificate in {}",
        key.display(),
        certificate.display()
    );
    let security = Security {
        authority: Some(AuthorityFiles { certificate, key }),
        ..Security::default()
    };
    let refused = Served::start(directory.path(), Storage::Memory, security).await;
    let refused = refused
        .err()
        .map(|error| telemetry::chain(&error).to_string());
    assert_eq!(refused, Some(expected));
}

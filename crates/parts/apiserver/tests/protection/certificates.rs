use std::time::{Duration, Instant};

use karavel_apiserver::{Lifetimes, Security, Storage};
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
    let first = Credentials::of(directory.path());
    let trusted = first.authority.clone();
    // This one is opened once and used throughout.
    let mut steady = connect(served.address, &trusted, Some(&first), "localhost")
        .await
        .unwrap();
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
    drop(steady);
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
    let stranger = Authority::open(foreign.path(), std::time::SystemTime::now()).unwrap();
    let forged = Subject::User {
        name: "system:admin".to_owned(),
        group: Some("system:masters".to_owned()),
    };
    let forged = stranger
        .issue(
            &forged,
            Duration::from_secs(3600),
            std::time::SystemTime::now(),
        )
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

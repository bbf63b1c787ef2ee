use object::time::Time;
use serde_json::json;

use super::*;
use crate::keys::Keys;

const ISSUER: &str = "https://issuer.example/realm";
const NOW: i64 = 1_800_000_000;

struct At;

impl Surroundings for At {
    fn now(&self) -> Time {
        Time::from_unix_seconds(NOW)
    }
    fn uid(&self) -> String {
        String::new()
    }
    fn suffix(&self) -> String {
        String::new()
    }
}

/// An issuer in this process.
struct Issuer {
    discovery: Value,
    keys: Value,
}

impl Fetch for Issuer {
    fn fetch<'a>(&'a self, url: &'a str) -> Fetched<'a> {
        let found = match url {
            "https://issuer.example/realm/.well-known/openid-configuration" => &self.discovery,
            "https://issuer.example/keys" => &self.keys,
            _ => return Box::pin(async { Err("404".to_owned()) }),
        };
        Box::pin(async move { Ok(found.to_string().into()) })
    }
}

fn options() -> OidcOptions {
    OidcOptions {
        groups_claim: Some("groups".to_owned()),
        groups_prefix: "corp:".to_owned(),
        required_claims: BTreeMap::from([("tenant".to_owned(), "blue".to_owned())]),
        algorithms: vec!["ES256".to_owned()],
        ..OidcOptions::new(ISSUER, "karavel")
    }
}

fn claims(change: &[(&str, Value)]) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": "karavel", "sub": "ann", "exp": NOW + 60, "tenant": "blue",
        "groups": ["dev", "ops"],
    });
    for (name, value) in change {
        claims[*name] = value.clone();
    }
    claims
}

async fn believing(keys: &Keys) -> Oidc {
    let oidc = Oidc::new(options(), Arc::new(At)).unwrap();
    let issuer = Issuer {
        discovery: json!({"issuer": ISSUER, "jwks_uri": "https://issuer.example/keys"}),
        keys: keys.key_set(),
    };
    oidc.refresh(&issuer).await.unwrap();
    oidc
}

fn show(outcome: Result<Option<Authenticated>, TokenError>) -> String {
    match outcome {
        Ok(None) => "not ours".to_owned(),
        Ok(Some(known)) => format!("{} [{}]", known.user.name, known.user.groups.join(",")),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn claims_make_users_or_are_refused_with_the_reason() {
    let keys = Keys::ephemeral().unwrap();
    let oidc = believing(&keys).await;
    for (change, expected) in [
        (
            vec![],
            "https://issuer.example/realm#ann [corp:dev,corp:ops]",
        ),
        (
            vec![("aud", json!(["x", "karavel"])), ("groups", json!("dev"))],
            "https://issuer.example/realm#ann [corp:dev]",
        ),
        (vec![("iss", json!("https://other.example"))], "not ours"),
        (
            vec![("aud", json!("x"))],
            "oidc: the token is meant for somebody else",
        ),
        (
            vec![("exp", json!(NOW - 60))],
            "oidc: the token has expired",
        ),
        (vec![("exp", json!(NOW))], "oidc: the token has expired"),
        (
            vec![("exp", json!(NOW + 1)), ("nbf", json!(NOW + 10))],
            "https://issuer.example/realm#ann [corp:dev,corp:ops]",
        ),
        (vec![("exp", json!(null))], "oidc: the token has no end"),
        (
            vec![("nbf", json!(NOW + 60))],
            "oidc: the token is not valid yet",
        ),
        (vec![("sub", json!(7))], "oidc: no claim \"sub\""),
        (
            vec![("groups", json!([]))],
            "https://issuer.example/realm#ann []",
        ),
        (
            vec![("groups", json!(null))],
            "https://issuer.example/realm#ann []",
        ),
        (
            vec![("groups", json!([1]))],
            "oidc: the claim \"groups\" is neither a text nor a list of texts",
        ),
        (
            vec![("groups", json!(["dev", {"name": "ops"}]))],
            "oidc: the claim \"groups\" is neither a text nor a list of texts",
        ),
        (
            vec![("groups", json!({"dev": true}))],
            "oidc: the claim \"groups\" is neither a text nor a list of texts",
        ),
        (
            vec![("tenant", json!("red"))],
            "oidc: the required claim \"tenant\" has another value",
        ),
    ] {
        let token = keys.sign(&claims(&change)).unwrap();
        assert_eq!(show(oidc.authenticate(&token, &[])), expected, "{change:?}");
    }
    let other = Keys::ephemeral().unwrap();
    let token = other.sign(&claims(&[])).unwrap();
    assert_eq!(
        show(oidc.authenticate(&token, &[])),
        "oidc: the token's key is not known"
    );
    assert_eq!(show(oidc.authenticate("no.token", &[])), "not ours");
}

#[tokio::test]
async fn what_a_header_calls_critical_must_be_understood() {
    let keys = Keys::ephemeral().unwrap();
    let oidc = believing(&keys).await;
    let token = keys.sign(&claims(&[])).unwrap();
    let plain = decode(token.split('.').next().unwrap()).unwrap();
    let ann = "https://issuer.example/realm#ann [corp:dev,corp:ops]";
    let refused = "oidc: the token's header calls something critical that is not understood";
    for (name, value, expected) in [
        ("x", json!("y"), ann),
        ("crit", json!(["x"]), refused),
        ("crit", json!(["exp"]), refused),
        ("crit", json!([]), refused),
        ("crit", json!("x"), refused),
    ] {
        let mut header = plain.clone();
        header[name] = value;
        let token = keys.sign_under(&header, &claims(&[])).unwrap();
        assert_eq!(show(oidc.authenticate(&token, &[])), expected, "{header}");
    }
}

#[tokio::test]
async fn an_issuer_makes_nobody_one_of_the_system() {
    let keys = Keys::ephemeral().unwrap();
    let mut oidc = believing(&keys).await;
    oidc.options.username_prefix = Some(String::new());
    oidc.options.groups_prefix = String::new();
    for change in [
        ("sub", json!("system:admin")),
        ("groups", json!(["system:masters"])),
    ] {
        let token = keys.sign(&claims(&[change])).unwrap();
        assert_eq!(
            show(oidc.authenticate(&token, &[])),
            "oidc: names that begin with system: are not for issuers to give"
        );
    }
    oidc.options.username_claim = "email".to_owned();
    for (verified, expected) in [
        (json!(true), "a@b.example [dev,ops]"),
        (json!(false), "oidc: email not verified"),
        (json!("true"), "oidc: email not verified"),
    ] {
        let change = [
            ("email", json!("a@b.example")),
            ("email_verified", verified),
        ];
        let token = keys.sign(&claims(&change)).unwrap();
        assert_eq!(show(oidc.authenticate(&token, &[])), expected);
    }
}

#[tokio::test]
async fn keys_come_only_from_the_issuer_that_was_named() {
    let keys = Keys::ephemeral().unwrap();
    for (discovery, expected) in [
        (
            json!({"issuer": "https://evil.example", "jwks_uri": "https://issuer.example/keys"}),
            "the discovery document names another issuer",
        ),
        (
            json!({"issuer": ISSUER, "jwks_uri": "http://issuer.example/keys"}),
            "the discovery document has no https jwks_uri",
        ),
    ] {
        let oidc = Oidc::new(options(), Arc::new(At)).unwrap();
        let issuer = Issuer {
            discovery,
            keys: keys.key_set(),
        };
        assert_eq!(oidc.refresh(&issuer).await.unwrap_err(), expected);
    }
    for (issuer, client, algorithm) in [
        ("http://issuer.example", "c", "RS256"),
        ("https://issuer.example?x", "c", "RS256"),
        (ISSUER, "", "RS256"),
        (ISSUER, "c", "none"),
        (ISSUER, "c", "HS256"),
    ] {
        let options = OidcOptions {
            algorithms: vec![algorithm.to_owned()],
            ..OidcOptions::new(issuer, client)
        };
        assert!(
            Oidc::new(options, Arc::new(At)).is_err(),
            "{issuer} {algorithm}"
        );
    }
}

/// An issuer that changes its keys.
struct Changing {
    keys: std::sync::Mutex<Value>,
    fetched: std::sync::atomic::AtomicUsize,
}

impl Fetch for Changing {
    fn fetch<'a>(&'a self, url: &'a str) -> Fetched<'a> {
        let document = if url.ends_with("/keys") {
            self.fetched
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.keys.lock().unwrap().clone()
        } else {
            json!({"issuer": ISSUER, "jwks_uri": "https://issuer.example/keys"})
        };
        Box::pin(async move { Ok(document.to_string().into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_fetched_when_somebody_shows_it_and_the_old_one_is_forgotten() {
    let (old, new) = (Keys::ephemeral().unwrap(), Keys::ephemeral().unwrap());
    let issuer = Changing {
        keys: std::sync::Mutex::new(old.key_set()),
        fetched: 0.into(),
    };
    let unknown = "oidc: the token's key is not known";
    let unfetched = Oidc::new(options(), Arc::new(At)).unwrap();
    let token = old.sign(&claims(&[])).unwrap();
    assert_eq!(show(unfetched.authenticate(&token, &[])), unknown);
    let oidc = Oidc::new(options(), Arc::new(At)).unwrap();
    let show = |keys: &Keys| show(oidc.authenticate(&keys.sign(&claims(&[])).unwrap(), &[]));
    let ann = "https://issuer.example/realm#ann [corp:dev,corp:ops]";
    let asking = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(show(&old), ann);
        *issuer.keys.lock().unwrap() = new.key_set();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(show(&old), ann, "nobody has asked for another yet");
        assert_eq!(show(&new), unknown);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(show(&new), ann);
        assert_eq!(show(&old), unknown);
        // A stranger who makes up keys does not make us ask the issuer all the time.
        let before = issuer.fetched.load(std::sync::atomic::Ordering::Relaxed);
        for _ in 0..600 {
            show(&Keys::ephemeral().unwrap());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let after = issuer.fetched.load(std::sync::atomic::Ordering::Relaxed);
        assert!(after - before <= 7, "{} times in a minute", after - before);
    };
    tokio::select! {
        () = oidc.follow(&issuer) => panic!("it goes on for ever"),
        () = asking => {}
    }
}

use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P521_SHA512};
use serde_json::{Value, json};
use serve::call::User;
use serve::encoding::base64;

use crate::tokens::{decode, eventually};
use crate::world::{World, known, master, subject, user};

/// `CN=ann+O=system:masters`, both in one place of the subject.
const MASTERS_TOGETHER: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHgMIGHAgEAMCUxIzAKBgNVBAMMA2FubjAVBgNVBAoMDnN5c3RlbTptYXN0ZXJz\n\
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErmmII50Gb1gCXMZ1KcWq9RbK0/HD\n\
VQJxcWERtWerk+yQT0RQ7MSXAjvJ2Bs2q1q2OLHMq/z2jeTaluZWsenWZqAAMAoG\n\
CCqGSM49BAMCA0gAMEUCIDxmjXkp4Z9T03H04tMXvE/J6jPnxFac2RmvrIHpyDKE\n\
AiEA2SCHlX/O2iCRHOAZM9D1FudkoT13sNj1ugw/x9/2lm0=\n\
-----END CERTIFICATE REQUEST-----\n";

pub(crate) const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

pub(crate) fn request(name: &str, group: &str, hosts: &[&str]) -> String {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, group);
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    base64(pem.as_bytes())
}

/// A request whose key is on the largest of the usual curves.
fn large(name: &str, group: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, group);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    base64(pem.as_bytes())
}

/// A request that is for two names: `CN=first, CN=second`.
pub(crate) fn twice(first: &str, second: &str, group: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, text) in [
        (DnType::CommonName, first),
        (DnType::OrganizationName, group),
        (DnType::CustomDnType(vec![2, 5, 4, 3]), second),
    ] {
        params.distinguished_name.push(kind, text);
    }
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    base64(pem.as_bytes())
}

pub(crate) fn object(name: &str, signer: &str, request: &str, usages: &[&str]) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "request": request, "signerName": signer, "usages": usages, "username": "system:masters-friend",
        },
    })
}

pub(crate) fn newcomer() -> User {
    user(
        "system:bootstrap:abcdef",
        &[
            "system:bootstrappers",
            "system:bootstrappers:karmada:default-cluster-token",
            "system:authenticated",
        ],
    )
}

async fn approve(world: &World, who: &User, name: &str) -> (u16, String) {
    let line = format!("GET {REQUESTS}/{name}");
    let mut object = world.ask(&master(), &line, json!(null)).await.body;
    object["status"]["conditions"] = json!([{
        "type": "Approved", "status": "True", "reason": "AutoApproved", "message": "m",
    }]);
    let line = format!("PUT {REQUESTS}/{name}/approval");
    let answer = world.ask(who, &line, object).await;
    let message = answer.body["message"].as_str().unwrap_or_default();
    (answer.code, message.to_owned())
}

#[tokio::test]
async fn what_is_approved_and_sound_is_signed() {
    let world = World::start().await;
    let client = "kubernetes.io/kube-apiserver-client";
    let agent = |hosts: &[&str]| request("system:karmada:agent:m1", "system:karmada:agents", hosts);
    let node = |hosts: &[&str]| request("system:node:n1", "system:nodes", hosts);
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let usual = &["digital signature", "key encipherment", "client auth"][..];
    for (name, signer, request, usages, failure) in [
        ("user", client, request("ann", "devs", &[]), usual, ""),
        ("large", client, large("ann", "devs"), usual, ""),
        (
            "twice",
            client,
            twice("ann", "root", "devs"),
            usual,
            "a subject that says something twice is not supported",
        ),
        (
            "server",
            client,
            agent(&[]),
            &["digital signature", "server auth"],
            "usage \"server auth\" is not permitted by kubernetes.io/kube-apiserver-client",
        ),
        (
            "useless",
            client,
            agent(&[]),
            &["digital signature"],
            "usage \"client auth\" is required by kubernetes.io/kube-apiserver-client",
        ),
        ("node", kubelet, node(&[]), usual, ""),
        (
            "hosts",
            kubelet,
            node(&["n1"]),
            usual,
            "DNS names and IP addresses are not allowed",
        ),
        (
            "stranger",
            kubelet,
            agent(&[]),
            usual,
            "subject organization is not system:nodes",
        ),
    ] {
        let line = format!("POST {REQUESTS}");
        let answer = world
            .ask(&newcomer(), &line, object(name, signer, &request, usages))
            .await;
        assert_eq!(answer.code, 201, "{name}: {}", answer.body);
        assert_eq!(answer.body["spec"]["username"], "system:bootstrap:abcdef");
        assert_eq!(approve(&world, &master(), name).await.0, 200, "{name}");
        let line = format!("GET {REQUESTS}/{name}");
        let status = eventually(async || {
            let status = world.ask(&master(), &line, json!(null)).await.body["status"].clone();
            let is_done =
                status["certificate"].is_string() || status["conditions"].as_array()?.len() > 1;
            is_done.then_some(status)
        })
        .await;
        if failure.is_empty() {
            let pem = decode(status["certificate"].as_str().unwrap());
            assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{name}");
        } else {
            assert_eq!(status["conditions"][1]["type"], "Failed", "{name}");
            assert_eq!(status["conditions"][1]["message"], failure, "{name}");
        }
    }
}

#[tokio::test]
async fn approving_needs_leave_for_the_signer_and_nobody_becomes_a_master() {
    let world = World::start().await;
    world
        .role(
            "",
            "approver",
            &[
                "update certificates.k8s.io certificatesigningrequests/approval",
                "approve certificates.k8s.io signers example.com/*",
            ],
        )
        .await;
    world
        .bind("", ("ClusterRole", "approver"), subject("ann"))
        .await;
    let line = format!("POST {REQUESTS}");
    let usual = &["client auth"][..];
    let client = "kubernetes.io/kube-apiserver-client";
    for (name, signer) in [("ours", client), ("theirs", "example.com/x")] {
        let object = object(name, signer, &request("u", "g", &[]), usual);
        world.create(REQUESTS, object).await;
    }
    assert_eq!(
        approve(&world, &known("ann"), "ours").await,
        (
            403,
            "certificatesigningrequests.certificates.k8s.io \"ours\" is forbidden: user not permitted to approve requests with signerName \"kubernetes.io/kube-apiserver-client\"".to_owned()
        )
    );
    assert_eq!(approve(&world, &known("ann"), "theirs").await.0, 200);
    for request in [
        request("u", "system:masters", &[]),
        large("u", "system:masters"),
        base64(MASTERS_TOGETHER.as_bytes()),
    ] {
        let root = object("root", client, &request, usual);
        let answer = world.ask(&newcomer(), &line, root).await;
        assert_eq!(answer.code, 403, "{}", answer.body);
    }
}

#[tokio::test]
async fn requests_and_what_comes_of_them_are_what_they_say() {
    let world = World::start().await;
    let line = format!("POST {REQUESTS}");
    let usual = &["client auth"][..];
    for (request, expected) in [
        ("", "spec.request: Required value"),
        ("eA==", "PEM block type must be CERTIFICATE REQUEST"),
        (
            &base64(
                b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
            ),
            "the PEM block is not a certificate request",
        ),
    ] {
        let answer = world
            .ask(
                &newcomer(),
                &line,
                object("bad", "example.com/x", request, usual),
            )
            .await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, 422, "{}", answer.body);
        assert!(message.contains(expected), "{message}");
    }
    let good = request("u", "g", &[]);
    world
        .create(REQUESTS, object("r", "example.com/x", &good, usual))
        .await;
    assert_eq!(approve(&world, &master(), "r").await.0, 200);
    let line = format!("GET {REQUESTS}/r");
    let approved = world.ask(&master(), &line, json!(null)).await.body;
    let condition = approved["status"]["conditions"][0].clone();
    for field in ["lastUpdateTime", "lastTransitionTime"] {
        assert!(condition[field].is_string(), "{condition}");
    }
    let denied = json!([condition, {"type": "Denied", "status": "True"}]);
    let junk = base64(b"no certificate");
    for (part, status, expected) in [
        (
            "approval",
            json!({"conditions": denied}),
            "Approved and Denied conditions are mutually exclusive",
        ),
        (
            "approval",
            json!({"conditions": []}),
            "updates may not remove a condition of type \"Approved\"",
        ),
        (
            "status",
            json!({"conditions": denied}),
            "updates may not add a condition of type \"Denied\"",
        ),
        (
            "status",
            json!({"certificate": junk}),
            "must contain at least one CERTIFICATE PEM block",
        ),
        (
            "status",
            json!({"certificate": good}),
            "only CERTIFICATE PEM blocks are allowed, found \"CERTIFICATE REQUEST\"",
        ),
    ] {
        let line = format!("PATCH {REQUESTS}/r/{part}");
        let answer = world.ask(&master(), &line, json!({"status": status})).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.code, 422, "{part} {status}: {}", answer.body);
        assert!(message.contains(expected), "{message}");
    }
    // Whoever says why nothing is signed speaks for the signer, too.
    world
        .role(
            "",
            "status",
            &["patch certificates.k8s.io certificatesigningrequests/status"],
        )
        .await;
    world
        .bind("", ("ClusterRole", "status"), subject("ann"))
        .await;
    let failed =
        json!({"status": {"conditions": [condition, {"type": "Failed", "status": "True"}]}});
    let line = format!("PATCH {REQUESTS}/r/status");
    let answer = world.ask(&known("ann"), &line, failed.clone()).await;
    assert_eq!(answer.code, 403, "{}", answer.body);
    let answer = world.ask(&master(), &line, failed).await;
    assert_eq!(answer.code, 200, "{}", answer.body);
    let conditions = &answer.body["status"]["conditions"];
    assert_eq!(conditions[0], condition, "an old condition keeps its time");
    assert!(conditions[1]["lastTransitionTime"].is_string());
    // What is asked for stays.
    let line = format!("PATCH {REQUESTS}/r");
    let change = json!({"spec": {"signerName": "example.com/y", "username": "root"}});
    let answer = world.ask(&master(), &line, change).await;
    assert_eq!(answer.body["spec"], approved["spec"], "{}", answer.body);
}

#[tokio::test]
async fn tokens_vouch_for_the_address_newcomers_are_told() {
    let world = World::start().await;
    let nobody = user("system:anonymous", &["system:unauthenticated"]);
    let line = "GET /api/v1/namespaces/kube-public/configmaps/cluster-info";
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let secret = |id: &str, expiration: &str| {
        let mut data = json!({
            "token-id": base64(id.as_bytes()), "token-secret": base64(b"0123456789abcdef"),
            "usage-bootstrap-signing": base64(b"true"),
        });
        if !expiration.is_empty() {
            data["expiration"] = json!(base64(expiration.as_bytes()));
        }
        json!({
            "metadata": {"name": format!("bootstrap-token-{id}")}, "type": "bootstrap.kubernetes.io/token", "data": data,
        })
    };
    world.create(secrets, secret("abcdef", "")).await;
    let data = eventually(async || {
        let data = world.ask(&nobody, line, json!(null)).await.body["data"].clone();
        data["jws-kubeconfig-abcdef"].is_string().then_some(data)
    })
    .await;
    let told: Value = serde_json::from_str(data["kubeconfig"].as_str().unwrap()).unwrap();
    assert!(
        told["clusters"][0]["cluster"]["server"]
            .as_str()
            .unwrap()
            .starts_with("https://127.0.0.1:")
    );
    assert_eq!(told["users"], json!([]));
    world
        .create(secrets, secret("oldold", "2020-01-01T00:00:00Z"))
        .await;
    let old = format!("GET {secrets}/bootstrap-token-oldold");
    eventually(async || (world.ask(&master(), &old, json!(null)).await.code == 404).then_some(()))
        .await;
}

const MAP: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// Something, if servers beside this one can learn by whom its clients are known.
async fn told(world: &World) -> Option<()> {
    let line = format!("GET {MAP}");
    let answer = world.ask(&master(), &line, json!(null)).await;
    let pem = answer.body["data"]["client-ca-file"].as_str();
    pem.filter(|pem| pem.contains("BEGIN CERTIFICATE"))
        .map(|_| ())
}

#[tokio::test]
async fn servers_beside_this_one_learn_by_whom_its_clients_are_known() {
    let world = World::start().await;
    eventually(async || told(&world).await).await;
    for line in [format!("DELETE {MAP}"), format!("PATCH {MAP}")] {
        let spoilt = match line.starts_with("PATCH") {
            true => json!({"data": {"client-ca-file": "other"}}),
            false => json!(null),
        };
        let code = world.ask(&master(), &line, spoilt).await.code;
        assert_eq!(code, 200, "{line}");
        eventually(async || told(&world).await).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_servers_beside_this_one_are_told_is_written_again_after_it_was_refused() {
    const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    const BINDINGS: &str =
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    let world = World::start().await;
    eventually(async || told(&world).await).await;
    let policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]},
            ]},
            "validations": [{"expression": "false"}],
        },
    });
    world.create(POLICIES, policy).await;
    let binding = json!({
        "metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]},
    });
    world.create(BINDINGS, binding).await;
    for (line, expected) in [
        (format!("DELETE {MAP}"), None),
        // Nothing happens to any ConfigMap from here on.
        (format!("DELETE {BINDINGS}/b"), Some(())),
    ] {
        let code = world.ask(&master(), &line, json!(null)).await.code;
        assert_eq!(code, 200, "{line}");
        // Time that passes at once: everybody waits.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(told(&world).await, expected, "{line}");
    }
}

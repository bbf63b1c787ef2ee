use access::audit::{AuditLog, AuditPolicy, LogOptions};
use karavel_apiserver::{Audit, Extensions};
use serde_json::{Value, json};
use serve::encoding::base64;

use crate::tokens::eventually;
use crate::world::{World, known, master};

/// Never to be seen anywhere but in the object itself.
const PLANTED: &str = "planted-c0ffee-secret";

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_noted_by_rule_and_secrets_never_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    let options = LogOptions {
        path: path.clone(),
        largest: 1 << 20,
        kept: 1,
        oldest: None,
    };
    let (log, writer) = AuditLog::open(options).unwrap();
    let writer = std::thread::spawn(writer);
    let policy = AuditPolicy::read(&json!({"rules": [
        {"level": "None", "nonResourceURLs": ["/version"]},
        {"level": "RequestResponse", "resources": [{"group": ""}]},
        {"level": "Metadata"},
    ]}))
    .unwrap();
    let world = World::with(Extensions {
        audit: Some(Audit { policy, log }),
        ..Extensions::default()
    })
    .await;
    let maps = "POST /api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "v"}});
    world.ask(&master(), maps, map).await;
    let secrets = "POST /api/v1/namespaces/default/secrets";
    let encoded = base64(PLANTED.as_bytes());
    let secret = json!({"metadata": {"name": "s"}, "data": {"k": encoded}});
    assert_eq!(world.ask(&master(), secrets, secret).await.code, 201);
    let token = format!("abcdef.{PLANTED}");
    let headers = [
        ("authorization", token.as_str()),
        ("impersonate-user", "eve"),
    ];
    let line = "GET /api/v1/nodes";
    let refused = world
        .ask_with(&known("ann"), &headers, line, json!(null))
        .await;
    assert_eq!(refused.code, 403);
    // The rules let it, admission does not.
    let kept = "DELETE /api/v1/namespaces/default";
    assert_eq!(world.ask(&master(), kept, json!(null)).await.code, 403);
    world.ask(&master(), "GET /version", json!(null)).await;
    world.ask(&master(), "GET /apis", json!(null)).await;
    let text = eventually(async || {
        let text = std::fs::read_to_string(&path).unwrap();
        (text.lines().count() >= 5).then_some(text)
    })
    .await;
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            format!(
                "{} {} {} {} {} {} body={}",
                line["level"].as_str().unwrap(),
                line["user"]["username"].as_str().unwrap(),
                line["verb"].as_str().unwrap(),
                line["requestURI"].as_str().unwrap(),
                line["responseStatus"]["code"],
                line["annotations"]["authorization.k8s.io/decision"]
                    .as_str()
                    .unwrap(),
                line["requestObject"]["data"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "RequestResponse root create /api/v1/namespaces/default/configmaps 201 allow body={\"k\":\"v\"}",
            "Metadata root create /api/v1/namespaces/default/secrets 201 allow body=null",
            "RequestResponse ann list /api/v1/nodes 403 forbid body=null",
            "RequestResponse root delete /api/v1/namespaces/default 403 allow body=null",
            "Metadata root get /apis 200 allow body=null",
        ]
    );
    for secret in [PLANTED, &encoded] {
        assert!(!text.contains(secret), "a secret is in the log");
    }
    drop(world);
    writer.join().unwrap();
}

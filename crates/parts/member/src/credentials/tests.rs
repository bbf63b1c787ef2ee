//! Which tokens are replaced, and when.

use api::cluster::Cluster;
use object::base64::encode;
use object::{Object, Value};
use serde_json::json;

use crate::credentials::plan::{Decision, Inputs, decide};
use crate::testing::{at, object};

fn cluster(mode: &str, annotations: Value) -> Object {
    object(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "m1", "uid": "c", "resourceVersion": "1", "annotations": annotations},
        "spec": {"syncMode": mode},
    }))
}

/// A Secret with a token that lasts from one second to another; `None` for one that never ends.
fn secret(name: &str, lasts: Option<(i64, i64)>) -> Object {
    let mut claims = json!({"kubernetes.io": {"namespace": "karmada-cluster", "serviceaccount": {"name": name}}});
    if let Some((issued, expires)) = lasts {
        claims["iat"] = (1_800_000_000 + issued).into();
        claims["exp"] = (1_800_000_000 + expires).into();
    }
    let payload = encode(claims.to_string().as_bytes());
    let token = format!("e30.{}.", payload.trim_end_matches('='));
    object(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "karmada-cluster"},
        "data": {"token": encode(token.as_bytes())},
    }))
}

fn decided(object: &Object, secrets: &[Object], second: i64) -> Decision {
    let cluster: Cluster = api::read::read(object).unwrap();
    let secrets: Vec<&Object> = secrets.iter().collect();
    decide(&Inputs {
        object,
        cluster: &cluster,
        secrets: &secrets,
        now: at(second),
    })
}

#[test]
fn tokens_are_replaced_once_a_third_of_their_time_has_passed() {
    let cluster = cluster("Push", Value::Null);
    let secrets = [
        secret("m1", Some((0, 3600))),
        secret("m1-impersonator", Some((0, 7200))),
    ];
    for (second, due, wake) in [
        (0, &[][..], Some(1200)),
        (1199, &[], Some(1200)),
        (1200, &["m1 3600"], Some(2400)),
        (2400, &["m1 3600", "m1-impersonator 7200"], None),
    ] {
        let decision = decided(&cluster, &secrets, second);
        let found: Vec<String> = decision
            .due
            .iter()
            .map(|due| format!("{} {}", due.secret.name, due.seconds))
            .collect();
        assert_eq!(found, due, "{second}");
        let wake = wake.map_or(intent::Wake::OnChange, |second: i64| {
            intent::Wake::At(at(second))
        });
        assert_eq!(decision.plan.wake, wake, "{second}");
    }
}

#[test]
fn a_cluster_says_when_its_credentials_end() {
    let ends = "2027-01-15T09:00:00Z";
    let secrets = [
        secret("m1", Some((0, 7200))),
        secret("m1-impersonator", Some((0, 3600))),
    ];
    let told = |annotations: Value, secrets: &[Object]| {
        let decision = decided(&cluster("Push", annotations), secrets, 0);
        decision.plan.actions.first().map(|action| match action {
            intent::Action::Patch { patch, .. } => {
                patch["metadata"]["annotations"][super::EXPIRES_AT].clone()
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(told(Value::Null, &secrets), Some(json!(ends)));
    assert_eq!(told(json!({super::EXPIRES_AT: ends}), &secrets), None);
    // Tokens that never end are left alone, and so are clusters whose agents have their own.
    let endless = [secret("m1", None)];
    assert_eq!(told(Value::Null, &endless), None);
    assert_eq!(
        told(json!({super::EXPIRES_AT: ends}), &endless),
        Some(Value::Null)
    );
    let pulled = decided(&cluster("Pull", Value::Null), &secrets, 5000);
    assert!(pulled.due.is_empty() && pulled.plan.is_empty());
}

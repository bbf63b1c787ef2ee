//! Which API servers there are: each holds a Lease in `kube-system` and renews it, like Kubernetes' own.
//!
//! Reads:  Leases with the label of API servers.
//! Writes: the Lease of this server; deletes those nobody renews.
//! Keeps:  one Lease for each server that runs. Because it is renewed, the store's revision moves even where nobody
//!         writes, so that whoever reads a list for longer than history is kept finds a newer state to go on in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::following::{Follower, write};
use http::Method;
use object::Value;
use object::time::MicroTime;
use serde_json::json;
use serve::cache;
use serve::server::Server;

const NAMESPACE: &str = "kube-system";
const LABEL: &str = "apiserver.kubernetes.io/identity";
const KIND_OF_SERVER: &str = "kube-apiserver";
/// What the names of these Leases begin with.
const PREFIX: &str = "apiserver-";
/// How long a Lease is good for after it was renewed. Upstream: the same.
const LASTS: i64 = 3600;
/// How often it is renewed. Upstream: every ten seconds, which nobody who is told an hour needs.
const RENEWED: Duration = Duration::from_secs(60);

/// Holds the Lease of a server, until it is dropped. `address` tells servers on one store apart.
pub(crate) async fn hold(server: Arc<Server>, address: SocketAddr, holder: String) {
    let leases = Follower::new(&server, "coordination.k8s.io", "leases");
    let name = name_of(address);
    let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    loop {
        let now = MicroTime::from(server.now());
        let existing = leases.collection.find(&cache::object_key(NAMESPACE, &name));
        let existing = existing.map(|record| record.value());
        let (method, path) = match existing {
            None => (Method::POST, collection.clone()),
            Some(_) => (Method::PUT, format!("{collection}/{name}")),
        };
        let wanted = renewed(existing, &name, &holder, now);
        write(&server, method, &path, &wanted).await;
        for key in leases.keys_in(NAMESPACE) {
            let Some(record) = leases.collection.find(&key) else {
                continue;
            };
            let head = record.head();
            if is_abandoned(&record.value(), now) {
                let options = json!({"preconditions": {"uid": head.uid}});
                let path = format!("{collection}/{}", head.name);
                write(&server, Method::DELETE, &path, &options).await;
            }
        }
        tokio::time::sleep(RENEWED).await;
    }
}

/// What the Lease of a server is called: short, and the same after a restart.
fn name_of(address: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let text = format!("{}/{address}", host.trim());
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{PREFIX}{hash:016x}")
}

/// The Lease after a renewal. What others wrote beside stays.
fn renewed(existing: Option<Value>, name: &str, holder: &str, now: MicroTime) -> Value {
    let fresh = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: KIND_OF_SERVER}},
    });
    let mut lease = existing.unwrap_or(fresh);
    lease["metadata"]["labels"][LABEL] = json!(KIND_OF_SERVER);
    lease["spec"] = json!({
        "holderIdentity": holder, "leaseDurationSeconds": LASTS, "renewTime": now.to_string(),
    });
    lease
}

/// Whether a Lease is that of an API server which has not renewed it for as long as it lasts.
fn is_abandoned(lease: &Value, now: MicroTime) -> bool {
    if lease["metadata"]["labels"][LABEL] != KIND_OF_SERVER {
        return false;
    }
    let renewed = lease["spec"]["renewTime"].as_str();
    let renewed = renewed.and_then(|text| text.parse::<MicroTime>().ok());
    let lasts = lease["spec"]["leaseDurationSeconds"].as_i64();
    match (renewed, lasts) {
        (Some(renewed), Some(lasts)) => now.since(renewed).seconds() > lasts,
        // Upstream: one that says neither is nobody's.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_in_place_and_given_up_when_nobody_renews_it() {
        let at = |text: &str| text.parse::<MicroTime>().unwrap();
        let start = at("2026-01-01T00:00:00.000000Z");
        let made = renewed(None, "apiserver-1", "me", start);
        assert_eq!(made["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
        let mut labelled = made.clone();
        labelled["metadata"]["labels"]["mine"] = json!("yes");
        let later = renewed(
            Some(labelled),
            "apiserver-1",
            "me",
            at("2026-01-01T00:30:00Z"),
        );
        assert_eq!(later["metadata"]["labels"]["mine"], "yes");
        let mut foreign = made.clone();
        foreign["metadata"]["labels"] = json!({});
        let mut silent = made.clone();
        silent["spec"] = json!({});
        let now = at("2026-01-01T01:00:01Z");
        for (lease, expected) in [
            (&made, true),
            (&later, false),
            (&foreign, false),
            (&silent, true),
        ] {
            assert_eq!(is_abandoned(lease, now), expected, "{lease}");
        }
    }

    #[test]
    fn servers_have_names_of_their_own_that_stay() {
        let name = |text: &str| name_of(text.parse().unwrap());
        assert_eq!(name("127.0.0.1:5443"), name("127.0.0.1:5443"));
        assert_ne!(name("127.0.0.1:5443"), name("127.0.0.1:5444"));
    }
}

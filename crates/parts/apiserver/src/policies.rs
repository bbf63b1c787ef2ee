//! The status of policies: whether their expressions fit the kinds they are about.

use std::sync::Arc;

use access::following::{Follower, write};
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serve::server::Server;

const GROUP: &str = "admissionregistration.k8s.io";
const RESOURCE: &str = "validatingadmissionpolicies";

/// Looks at every generation of every policy once, until it is dropped.
pub(crate) async fn follow(server: Arc<Server>) {
    let mut policies = Follower::new(&server, GROUP, RESOURCE);
    loop {
        for name in policies.changed_keys() {
            let Some(record) = policies.collection.find(&name) else {
                continue;
            };
            let mut policy = record.value();
            let generation = &policy["metadata"]["generation"];
            if policy["status"]["observedGeneration"] == *generation {
                continue;
            }
            policy["status"] = admission::policy_status(&policy, &server.table());
            let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
            let path = format!("/apis/{GROUP}/v1/{RESOURCE}/{name}/status");
            write(&server, Method::PUT, &path, &policy).await;
        }
        policies.changed().await;
    }
}

//! Member clusters from the moment they are introduced until they are gone. `c01` and so on are the numbers of the
//! acceptance checks that a test stands for, `p01` and so on those of the pitfalls.

mod absences;
mod additions;
mod agents;
mod all_members;
mod applications;
mod by_hand;
mod claims;
mod contests;
mod credentials;
mod evictions;
mod faults;
mod figures;
mod health;
mod identity;
mod joining;
mod leaving;
mod objects;
mod proxying;
mod pulled;
mod reports;
mod several;

use std::time::Duration;

/// How long anything may take, in virtual time.
const SOON: Duration = Duration::from_secs(60);

/// A Deployment of two pods.
const WEB: &str = "
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: nginx}]}
";

/// So many seconds.
const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Brings everything of a kind to all members.
fn everywhere(api_version: &str, kind: &str) -> String {
    format!(
        "
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {{name: {lower}}}
        spec:
          resourceSelectors: [{{apiVersion: {api_version}, kind: {kind}}}]
          placement: {{}}
        ",
        lower = kind.to_ascii_lowercase()
    )
}

/// A ConfigMap with one value.
fn config_map(name: &str, value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{value: {value}}}}}"
    )
}

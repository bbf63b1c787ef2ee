//! Replaces the tokens by which the control plane and its users are known in members, long before they end.
//!
//! Reads:  clusters and the Secrets they name; asks members for new tokens, with the old ones.
//! Writes: the tokens in those Secrets; on the cluster, when the first of them ends.
//! Keeps:  a token that does not end is left alone; one that cannot be replaced stays until it can be.

mod plan;
#[cfg(test)]
mod tests;
pub(crate) mod token;

use std::sync::Arc;
use std::time::Duration;

use api::cluster::Cluster;
use api::names::CLUSTER_NAMESPACE;
use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, Part, Plan};
use object::base64::encode;
use object::{Object, ObjectKey};
use runtime::{RetryAfter, Spawner};
use serde_json::json;
use telemetry::chain;

pub use self::token::LIFETIME_SECONDS;

use crate::connect::{is_own_secret, secret_key};
use crate::credentials::plan::{Due, Inputs, decide};
use crate::fleet::Members;
use crate::resources;

/// The annotation of a cluster that says when the first of its credentials ends, if nobody replaces it.
pub const EXPIRES_AT: &str = "karavel.io/credentials-expire-at";
/// How long a member that refuses is left in peace. A token has weeks left when it is first asked for another.
const RETRY: RetryAfter = RetryAfter {
    first: Duration::from_secs(5),
    longest: Duration::from_secs(600),
};

/// What the name of the Secret ends with that is for impersonating; the cluster's name comes before.
const IMPERSONATOR: &str = "-impersonator";

struct Credentials {
    clusters: Cache,
    secrets: Cache,
    members: Members,
}

/// Starts replacing tokens of the members that are faced.
pub fn run(caches: &Caches, cx: Cx, members: Members, spawner: &Spawner) {
    let credentials = Credentials {
        clusters: caches.follow(&resources::of::<Cluster>(), Scope::all()),
        secrets: caches.follow(
            &resources::secrets(),
            Scope::all().in_namespace(CLUSTER_NAMESPACE),
        ),
        members,
    };
    let (clusters, secrets) = (credentials.clusters.clone(), credentials.secrets.clone());
    Controller::new("credentials", credentials)
        .retry(RETRY)
        .workers(4)
        .watch(&clusters, |change| match (&change.before, &change.after) {
            // What members report of themselves is of no interest.
            (Some(before), Some(after)) if before.at(&["spec"]) == after.at(&["spec"]) => None,
            _ => Some(change.object().name().to_owned()),
        })
        .watch(&secrets, |change| clusters_of(change.object()))
        .run(spawner, cx);
}

impl Reconcile for Credentials {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(object) = self.clusters.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        let cluster: Cluster = api::read::read(&object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        let held = self.held(&cluster, cx).await?;
        let is_own = |secret: &&Object| is_own_secret(&cluster, secret);
        let secrets: Vec<&Object> = held.iter().map(Arc::as_ref).filter(is_own).collect();
        let decision = decide(&Inputs {
            object: &object,
            cluster: &cluster,
            secrets: &secrets,
            now: cx.now(),
        });
        cx.carry_out(&decision.plan).await?;
        for due in &decision.due {
            self.replace(name, due, &secrets, cx).await?;
        }
        Ok(decision.plan.wake)
    }
}

impl Credentials {
    /// The Secrets that the cluster names.
    async fn held(&self, cluster: &Cluster, cx: &Cx) -> Result<Vec<Arc<Object>>, ReconcileError> {
        let spec = &cluster.spec;
        let named = [&spec.secret_ref, &spec.impersonator_secret_ref];
        let mut held = Vec::new();
        for key in named.into_iter().flatten().map(secret_key) {
            if key.namespace == CLUSTER_NAMESPACE {
                held.extend(self.secrets.get(&key));
                continue;
            }
            match cx.client.get(&resources::secrets(), &key).await {
                Ok(secret) => held.push(Arc::new(secret)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(held)
    }

    async fn replace(
        &self,
        cluster: &str,
        due: &Due,
        secrets: &[&Object],
        cx: &Cx,
    ) -> Result<(), ReconcileError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ReconcileError::Failed {
            doing: format!("cannot replace the token of {} in {cluster}", due.account),
            source,
        };
        let client = self.members.client(cluster).await;
        let client = client.ok_or_else(|| failed("the member is not reached".into()))?;
        let issued = token::issue(&client, &due.account, due.seconds).await;
        let issued = issued.map_err(|error| failed(error.into()))?;
        let token = issued.ok_or_else(|| failed("the member issues none".into()))?;
        let Some(secret) = secrets.iter().find(|secret| secret.key() == due.secret) else {
            return Ok(());
        };
        let patch = json!({"data": {"token": encode(token.as_bytes())}});
        let mut plan = Plan::default();
        plan.push(Action::patch(
            resources::secrets(),
            secret,
            patch,
            Part::Object,
        ));
        cx.carry_out(&plan).await?;
        tracing::info!(cluster, account = %due.account, "credentials replaced");
        Ok(())
    }
}

/// The clusters whose credentials a Secret may hold, by its owner and by its name.
fn clusters_of(secret: &Object) -> Vec<String> {
    let owners = secret.owner_references();
    let mut names: Vec<String> = owners
        .filter(|owner| owner.kind == "Cluster")
        .map(|owner| owner.name)
        .collect();
    if names.is_empty() {
        let name = secret.name();
        names.push(name.strip_suffix(IMPERSONATOR).unwrap_or(name).to_owned());
    }
    names
}

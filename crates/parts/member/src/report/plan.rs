//! What is written into a cluster's status.

use api::{
    cluster::{ApiEnablement, Cluster, ClusterStatus, NodeSummary, ResourceSummary},
    well_known::conditions::cluster::{COMPLETE, COMPLETE_API_ENABLEMENTS, EMPTY, PARTIAL},
};
use intent::{Action, Part, Plan};
use object::condition::{Condition, ConditionStatus, with_condition};
use object::{Object, Value, patch, time::Time};

use crate::join::remains::some_of;
use crate::resources;

/// What was found out about a cluster that answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Findings {
    /// Its version, unless it did not say.
    pub(crate) version: Option<String>,
    pub(crate) apis: Apis,
    /// How many nodes there are and what they offer, unless that is not counted or not counted yet.
    pub(crate) room: Option<(NodeSummary, ResourceSummary)>,
}

/// What a cluster said about the kinds it serves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Apis {
    /// It was not asked, or its answer is the one that was written last.
    #[default]
    Unasked,
    /// Nothing, for this reason.
    Failed,
    /// These; the groups that did not answer are named.
    Found {
        enablements: Vec<ApiEnablement>,
        /// Groups or groups with versions, such as `metrics.k8s.io` or `metrics.k8s.io/v1beta1`.
        silent: Vec<String>,
    },
}

/// The condition of a cluster that has joined under another name, too; it is there only where that is so.
const UNIQUE_IDENTITY: &str = "UniqueIdentity";
/// Why it is not.
const SHARED_IDENTITY: &str = "SharedIdentity";

/// The patch of a cluster's status, or nothing if it says all that already. `twins` are the other clusters with the same id.
pub(crate) fn plan(
    object: &Object,
    cluster: &Cluster,
    ready: Condition,
    findings: Option<Findings>,
    twins: &[String],
    now: Time,
) -> Plan {
    let before = &cluster.status;
    let mut after = before.clone();
    let mut conditions = std::mem::take(&mut after.conditions);
    if let Some(findings) = findings {
        if let Some(version) = findings.version {
            after.kubernetes_version = version;
        }
        if let Some((enablements, condition)) = enablements(before, findings.apis) {
            after.api_enablements = enablements;
            conditions = with_condition(conditions, condition, now).0;
        }
        if let Some((nodes, resources)) = findings.room {
            after.node_summary = Some(nodes);
            after.resource_summary = Some(resources);
        }
    }
    match shared(&cluster.spec.id, twins) {
        Some(shared) => conditions = with_condition(conditions, shared, now).0,
        None => conditions.retain(|known| known.r#type != UNIQUE_IDENTITY),
    }
    after.conditions = with_condition(conditions, ready, now).0;
    let mut plan = Plan::default();
    if after == *before {
        return plan;
    }
    let difference = patch::diff(&to_value(before), &to_value(&after));
    let change = serde_json::json!({ "status": difference });
    plan.push(Action::patch(
        resources::of::<Cluster>(),
        object,
        change,
        Part::Status,
    ));
    plan
}

/// What a cluster says that has joined under other names, too.
///
/// Upstream: whoever joins looks first whether the cluster has joined, and what comes about all the same goes unsaid.
fn shared(id: &str, twins: &[String]) -> Option<Condition> {
    if twins.is_empty() {
        return None;
    }
    let names = some_of(twins);
    let has = match twins.len() {
        1 => "has",
        _ => "have",
    };
    let message = format!(
        "it has joined as cluster {names}, too, which {has} the same ID {id}: what is counted there is counted twice, and each undoes what the other brings; unjoin one of them"
    );
    let status = ConditionStatus::False;
    Some(Condition::new(
        UNIQUE_IDENTITY,
        status,
        SHARED_IDENTITY,
        message,
    ))
}

/// What to keep and say of the kinds a cluster serves.
///
/// Upstream: a discovery that fails empties the list, and one that is partial forgets the groups that were silent, so that
/// nothing of their kinds can be scheduled there. Here what was known of them stays, and the condition says that it may
/// be old.
fn enablements(before: &ClusterStatus, apis: Apis) -> Option<(Vec<ApiEnablement>, Condition)> {
    let known = &before.api_enablements;
    let (found, silent) = match apis {
        Apis::Unasked => return None,
        Apis::Failed => (known.clone(), Vec::new()),
        Apis::Found {
            enablements,
            silent,
        } if silent.is_empty() && !enablements.is_empty() => {
            let message = "collected complete APIEnablements from the cluster";
            let status = ConditionStatus::True;
            let condition = Condition::new(COMPLETE_API_ENABLEMENTS, status, COMPLETE, message);
            return Some((sorted(enablements), condition));
        }
        Apis::Found {
            enablements,
            silent,
        } if enablements.is_empty() && silent.is_empty() => (known.clone(), Vec::new()),
        Apis::Found {
            enablements,
            silent,
        } => (enablements, silent),
    };
    let is_silent = |group_version: &str| {
        let group = group_version.split_once('/').map_or("", |(group, _)| group);
        silent
            .iter()
            .any(|name| name == group_version || (!group.is_empty() && name == group))
    };
    let mut all = found;
    for old in known {
        let is_there = all.iter().any(|new| new.group_version == old.group_version);
        if !is_there && is_silent(&old.group_version) {
            all.push(old.clone());
        }
    }
    let (reason, message) = if all.is_empty() {
        (
            EMPTY,
            "collected empty APIEnablements from the cluster".to_owned(),
        )
    } else {
        let count = all.len();
        (
            PARTIAL,
            format!("might collect partial APIEnablements({count}) from the cluster"),
        )
    };
    let condition = Condition::new(
        COMPLETE_API_ENABLEMENTS,
        ConditionStatus::False,
        reason,
        message,
    );
    Some((sorted(all), condition))
}

fn sorted(mut enablements: Vec<ApiEnablement>) -> Vec<ApiEnablement> {
    for enablement in &mut enablements {
        enablement
            .resources
            .retain(|resource| !resource.name.contains('/'));
        enablement.resources.sort_by(|a, b| a.name.cmp(&b.name));
    }
    enablements.sort_by(|a, b| a.group_version.cmp(&b.group_version));
    enablements
}

fn to_value(status: &ClusterStatus) -> Value {
    serde_json::to_value(status).expect(
        "invariant: a status has text keys and finite numbers, so it can be written as JSON",
    )
}

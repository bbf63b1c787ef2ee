//! Ray's RayService: applications on a RayCluster, counted as one head and its workers.

use api::work::v1alpha2::{AggregatedStatusItem, ReplicaRequirements};
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status},
    node::Node,
    pod,
    rules::Replicas,
    table::{KindRules, put, reported},
    third_party::{
        conditions,
        fold::{Field, Fold, fold, single},
        groups, ray,
    },
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    revise: Some(revise),
    aggregate: Some(aggregate),
    is_healthy: Some(|observed| conditions::is_true(observed, "Ready")),
    dependencies: Some(|template| {
        ray::cluster_references(Node::of(template).at(&CLUSTER)?, template.namespace())
    }),
    ..KindRules::of("ray.io/v1", "RayService")
};

const CLUSTER: [&str; 2] = ["spec", "rayClusterConfig"];
const WORKERS: [&str; 3] = ["spec", "rayClusterConfig", "workerGroupSpecs"];
const HEAD_PODS: [&str; 3] = ["headGroupSpec", "template", "spec"];

const STATUS: [Field; 5] = [
    ("numServeEndpoints", Fold::Sum),
    ("lastUpdateTime", Fold::Largest),
    ("observedGeneration", Fold::Largest),
    ("activeServiceStatus", Fold::First),
    ("pendingServiceStatus", Fold::First),
];

/// The head and all workers. A replica needs as much as the largest pod, and the head's nodes.
fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    let cluster = root.at(&CLUSTER)?;
    let head = cluster.at(&HEAD_PODS)?;
    if head.is_absent() {
        return Ok(Replicas::default());
    }
    let mut count = 1_i32;
    let mut requirements = pod::requirements(head, options)?;
    for group in cluster.at(&["workerGroupSpecs"])?.list()? {
        count = count.saturating_add(groups::replicas(group.at(&["replicas"])?, 0)?);
        let needs = pod::requirements(group.at(&["template", "spec"])?, options)?;
        raise(&mut requirements, needs);
    }
    Ok(Replicas {
        replicas: count,
        requirements,
    })
}

/// Raises processors and memory to what another pod needs, if that is more.
fn raise(requirements: &mut Option<ReplicaRequirements>, other: Option<ReplicaRequirements>) {
    let Some(other) = other else {
        return;
    };
    let mine = requirements.get_or_insert_default();
    for name in ["cpu", "memory"] {
        if let Some(theirs) = other.resource_request.get(name) {
            let amount = mine
                .resource_request
                .entry(name.to_owned())
                .or_insert(*theirs);
            *amount = (*amount).max(*theirs);
        }
    }
}

/// Shares all but the head among the groups of workers, as they are to each other now.
fn revise(mut template: Object, replicas: i32) -> Result<Object, RuleError> {
    let root = Node::of(&template);
    let list = root.at(&WORKERS)?;
    let mut shares = Vec::new();
    for group in list.list()? {
        shares.push(groups::replicas(group.at(&["replicas"])?, 0)?);
    }
    if shares.is_empty() {
        return Ok(template);
    }
    let parts = share(replicas.saturating_sub(1).max(0), &shares);
    let mut workers = list.raw().cloned().unwrap_or_default();
    for (group, part) in workers.as_array_mut().into_iter().flatten().zip(parts) {
        if let Some(group) = group.as_object_mut() {
            group.insert("replicas".to_owned(), part.into());
        }
    }
    put(&mut template, &WORKERS, workers)?;
    Ok(template)
}

/// Parts `total` in the proportion of `shares`, or evenly where all of them are nothing. The last part is what is left.
///
/// Upstream: rounding the others up can leave less than nothing for the last.
fn share(total: i32, shares: &[i32]) -> Vec<i32> {
    let sum: i64 = shares.iter().map(|share| i64::from(*share)).sum();
    let groups = i64::try_from(shares.len()).unwrap_or(i64::MAX);
    let mut left = i64::from(total);
    let last = shares.len().saturating_sub(1);
    let mut parts = Vec::with_capacity(shares.len());
    for (position, share) in shares.iter().enumerate() {
        let wanted = if position == last {
            left
        } else if sum == 0 {
            let even = i64::from(total) / groups;
            let extra = i64::try_from(position).unwrap_or(i64::MAX) < i64::from(total) % groups;
            even + i64::from(extra)
        } else {
            // To the nearest, halves up.
            (2 * i64::from(total) * i64::from(*share) + sum) / (2 * sum)
        };
        let part = wanted.min(left);
        left -= part;
        parts.push(i32::try_from(part).unwrap_or(i32::MAX));
    }
    parts
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(current_status(template)?, items, &STATUS)?;
    ray::put_conditions(&mut status, items)?;
    let mut service = "Running";
    let mut applications = Map::new();
    for (_, member) in reported(items) {
        // A member says nothing while the service does not run there.
        if member.at(&["serviceStatus"])?.text()? == Some("") {
            service = "";
        }
        let reports = member.at(&["activeServiceStatus", "applicationStatuses"])?;
        for (name, report) in reports.fields()?.into_iter().flatten() {
            let worry = |report: &Value| {
                let status = report.get("status").and_then(Value::as_str);
                application_worry(status.unwrap_or_default())
            };
            let is_worse = applications
                .get(name)
                .is_none_or(|known| worry(report) > worry(known));
            if is_worse {
                applications.insert(name.clone(), report.clone());
            }
        }
    }
    status.insert("serviceStatus".to_owned(), service.into());
    if let Some(active) = status
        .get_mut("activeServiceStatus")
        .and_then(Value::as_object_mut)
        && !applications.is_empty()
    {
        active.insert("applicationStatuses".to_owned(), applications.into());
    }
    Ok(Some(Value::Object(status)))
}

/// Of several members, the state of an application that should worry most is shown.
fn application_worry(status: &str) -> u8 {
    match status {
        "NOT_STARTED" => 1,
        "DEPLOYING" => 2,
        "DELETING" => 3,
        "UNHEALTHY" => 4,
        "DEPLOY_FAILED" => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_shared_in_proportion_and_none_is_lost() {
        for (total, shares, parts) in [
            (6, vec![3], vec![6]),
            (6, vec![1, 2], vec![2, 4]),
            (5, vec![0, 0], vec![3, 2]),
            (0, vec![3, 4], vec![0, 0]),
            (1, vec![1, 1, 1], vec![0, 0, 1]),
            (2, vec![1, 1, 1, 1], vec![1, 1, 0, 0]),
            (3, vec![5, 0], vec![3, 0]),
        ] {
            assert_eq!(share(total, &shares), parts, "{total} by {shares:?}");
        }
    }
}

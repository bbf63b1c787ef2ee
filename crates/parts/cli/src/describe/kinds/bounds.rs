//! How much may be used in a namespace: quotas for all of it, limits for each.

use std::collections::BTreeSet;

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, field, items, plain_or, text, texts};

/// What a quota counts, in words. Upstream: the words of kubectl.
const SCOPES: [(&str, &str); 5] = [
    (
        "Terminating",
        "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system.",
    ),
    (
        "NotTerminating",
        "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.",
    ),
    (
        "BestEffort",
        "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.",
    ),
    (
        "NotBestEffort",
        "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service.",
    ),
    (
        "CrossNamespacePodAffinity",
        "Matches all pods with at least one cross-namespace pod affinity term.",
    ),
];

/// The headline over limits.
const LIMITS: [&str; 7] = [
    "Type",
    "Resource",
    "Min",
    "Max",
    "Default Request",
    "Default Limit",
    "Max Limit/Request Ratio",
];

/// The page about a quota.
pub(in crate::describe) fn quota(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    whole(sheet, facts.object, 0);
}

/// Quotas on the page of their namespace.
pub(in crate::describe) fn quotas(sheet: &mut Sheet, quotas: &[Object]) {
    for quota in quotas {
        sheet.field(2, "Name", quota.name());
        whole(sheet, quota, 2);
    }
}

/// What a quota counts, and how far it is used up.
fn whole(sheet: &mut Sheet, quota: &Object, indent: usize) {
    let mut scopes = texts(&field(quota, "spec")["scopes"]);
    scopes.sort_unstable();
    if !scopes.is_empty() {
        sheet.field(indent, "Scopes", scopes.join(", "));
    }
    for scope in scopes {
        if let Some((_, words)) = SCOPES.iter().find(|(name, _)| *name == scope) {
            sheet.text(indent.max(1), &format!("* {words}"));
        }
    }
    let status = field(quota, "status");
    let row = |(name, hard): (&str, &Value)| {
        let used = plain_or(&status["used"][name], "0");
        vec![name.to_owned(), used, plain_or(hard, "0")]
    };
    let rows: Vec<Vec<String>> = entries(&status["hard"]).into_iter().map(row).collect();
    sheet.table(indent, &["Resource", "Used", "Hard"], &rows);
}

/// The page about limits.
pub(in crate::describe) fn limits(sheet: &mut Sheet, facts: &Facts<'_>) {
    metadata::names(sheet, facts);
    sheet.table(0, &LIMITS, &limit_rows(facts.object));
}

/// Limits on the page of their namespace.
pub(in crate::describe) fn all_limits(sheet: &mut Sheet, limits: &[Object]) {
    let rows: Vec<Vec<String>> = limits.iter().flat_map(limit_rows).collect();
    sheet.table(1, &LIMITS, &rows);
}

/// A row for each resource of each kind of thing that is limited.
fn limit_rows(limits: &Object) -> Vec<Vec<String>> {
    let fields = [
        "min",
        "max",
        "defaultRequest",
        "default",
        "maxLimitRequestRatio",
    ];
    let mut rows = Vec::new();
    for limit in items(&field(limits, "spec")["limits"]) {
        let named = fields.iter().flat_map(|name| entries(&limit[*name]));
        let resources: BTreeSet<&str> = named.map(|(resource, _)| resource).collect();
        for resource in resources {
            let mut row = vec![text(&limit["type"]).to_owned(), resource.to_owned()];
            let cells = fields.iter().map(|name| &limit[*name][resource]);
            row.extend(cells.map(|cell| plain_or(cell, "-")));
            rows.push(row);
        }
    }
    rows
}

//! A Node, what runs on it, and how much of it that takes.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::parts::amounts::{Amounts, of_pod, share};
use crate::describe::parts::conditions::{self, Column};
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, field, items, moment, or, plain, since, text, texts};

/// The labels that say what a node is for.
const ROLE: &str = "node-role.kubernetes.io/";
const OLD_ROLE: &str = "kubernetes.io/role";

const CONDITIONS: [Column; 6] = [
    ("Type", "type"),
    ("Status", "status"),
    ("LastHeartbeatTime", "lastHeartbeatTime"),
    ("LastTransitionTime", "lastTransitionTime"),
    ("Reason", "reason"),
    ("Message", "message"),
];

const SYSTEM: [(&str, &str); 10] = [
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
];

/// Upstream: names stand a little further from what comes after them than other cells do.
const PODS: [&str; 8] = [
    "Namespace",
    "Name",
    "",
    "CPU Requests",
    "CPU Limits",
    "Memory Requests",
    "Memory Limits",
    "Age",
];

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    sheet.field(0, "Roles", roles(facts.object));
    metadata::marks(sheet, facts.object);
    metadata::created(sheet, facts.object);
    sheet.list(0, "Taints", &taints(&spec["taints"]));
    let is_closed = spec["unschedulable"].as_bool().unwrap_or_default();
    sheet.field(0, "Unschedulable", is_closed.to_string());
    lease(sheet, facts);
    conditions::write(sheet, &status["conditions"], &CONDITIONS, 5);
    sheet.title(0, "Addresses");
    for address in items(&status["addresses"]) {
        sheet.field(2, text(&address["type"]), text(&address["address"]));
    }
    for (title, name) in [("Capacity", "capacity"), ("Allocatable", "allocatable")] {
        let amounts = entries(&status[name]);
        if amounts.is_empty() {
            continue;
        }
        sheet.title(0, title);
        for (resource, amount) in amounts {
            sheet.field(2, resource, plain(amount));
        }
    }
    sheet.title(0, "System Info");
    for (title, name) in SYSTEM {
        sheet.field(2, title, text(&status["nodeInfo"][name]));
    }
    sheet.field_if(0, "PodCIDR", text(&spec["podCIDR"]));
    sheet.field_if(0, "PodCIDRs", texts(&spec["podCIDRs"]).join(","));
    sheet.field_if(0, "ProviderID", text(&spec["providerID"]));
    match facts.beside.all("pods") {
        Ok(pods) => load(sheet, facts, pods),
        Err(failure) => sheet.field(0, "Non-terminated Pods", format!("<unknown: {failure}>")),
    }
}

fn roles(node: &Object) -> String {
    let labels = node.labels();
    let role = |(key, value): (&str, &str)| match key.strip_prefix(ROLE) {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        _ => (key == OLD_ROLE && !value.is_empty()).then(|| value.to_owned()),
    };
    let mut roles: Vec<String> = labels.into_iter().filter_map(role).collect();
    roles.sort();
    or(roles.join(","), "<none>")
}

fn taints(taints: &Value) -> Vec<String> {
    let taint = |taint: &Value| {
        let (key, effect) = (text(&taint["key"]), text(&taint["effect"]));
        match text(&taint["value"]) {
            "" => format!("{key}:{effect}"),
            value => format!("{key}={value}:{effect}"),
        }
    };
    let mut taints: Vec<String> = items(taints).iter().map(taint).collect();
    taints.sort();
    taints
}

/// When the node was heard of last.
fn lease(sheet: &mut Sheet, facts: &Facts<'_>) {
    let found = match facts.beside.all("leases") {
        Ok([lease, ..]) => lease,
        Ok([]) => {
            let name = facts.object.name();
            let said = format!("Failed to get lease: leases {name:?} not found");
            return sheet.field(0, "Lease", said);
        }
        Err(failure) => {
            return sheet.field(0, "Lease", format!("Failed to get lease: {failure}"));
        }
    };
    let spec = field(found, "spec");
    sheet.title(0, "Lease");
    for (title, value) in [
        ("HolderIdentity", plain(&spec["holderIdentity"])),
        ("AcquireTime", moment(&spec["acquireTime"])),
        ("RenewTime", moment(&spec["renewTime"])),
    ] {
        sheet.field(2, title, or(value, "<unset>"));
    }
}

/// What runs on the node, and how much is asked for by all of it together.
fn load(sheet: &mut Sheet, facts: &Facts<'_>, pods: &[Object]) {
    let status = facts.at("status");
    let whole = match entries(&status["allocatable"]).is_empty() {
        true => Amounts::read(&status["capacity"]),
        false => Amounts::read(&status["allocatable"]),
    };
    let (mut asked, mut most) = (Amounts::default(), Amounts::default());
    let mut rows = Vec::new();
    for pod in pods {
        let spec = field(pod, "spec");
        let (requests, limits) = (of_pod(spec, "requests"), of_pod(spec, "limits"));
        let names = [pod.namespace(), pod.name(), ""];
        let mut row: Vec<String> = names.map(str::to_owned).to_vec();
        for resource in ["cpu", "memory"] {
            for amounts in [&requests, &limits] {
                row.push(share(amounts.of(resource), whole.of(resource)));
            }
        }
        row.push(since(
            &field(pod, "metadata")["creationTimestamp"],
            facts.now,
        ));
        rows.push(row);
        asked.add(&requests);
        most.add(&limits);
    }
    let count = format!("({} in total)", pods.len());
    sheet.field(0, "Non-terminated Pods", count);
    sheet.table(2, &PODS, &rows);
    sheet.title(0, "Allocated resources");
    sheet.text(
        2,
        "(Total limits may be over 100 percent, i.e., overcommitted.)",
    );
    let shared = |name: &str| {
        vec![
            name.to_owned(),
            share(asked.of(name), whole.of(name)),
            share(most.of(name), whole.of(name)),
        ]
    };
    let mut rows: Vec<Vec<String>> = ["cpu", "memory", "ephemeral-storage"]
        .into_iter()
        .map(shared)
        .collect();
    let pages = whole.names().filter(|name| name.starts_with("hugepages-"));
    rows.extend(pages.map(shared));
    // Whatever else a node has is counted in pieces.
    let pieces = whole.names().filter(|name| name.contains('/'));
    rows.extend(pieces.map(|name| {
        let amounts = [asked.of(name), most.of(name)];
        let mut row = vec![name.to_owned()];
        row.extend(amounts.map(|amount| amount.to_string()));
        row
    }));
    sheet.table(2, &["Resource", "Requests", "Limits"], &rows);
}

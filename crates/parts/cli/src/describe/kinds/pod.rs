//! A Pod.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::amounts::{Amounts, of_pod};
use crate::describe::parts::containers::{self, Within};
use crate::describe::parts::{conditions, metadata, template, volumes};
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, moment, or, plain, since, text};

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    sheet.field_if(0, "Priority", plain(&spec["priority"]));
    for (title, name) in [
        ("Priority Class Name", "priorityClassName"),
        ("Runtime Class Name", "runtimeClassName"),
        ("Service Account", "serviceAccountName"),
    ] {
        sheet.field_if(0, title, text(&spec[name]));
    }
    let node = match text(&spec["nodeName"]) {
        "" => "<none>".to_owned(),
        node => format!("{node}/{}", text(&status["hostIP"])),
    };
    sheet.field(0, "Node", node);
    sheet.field_if(0, "Start Time", moment(&status["startTime"]));
    metadata::marks(sheet, facts.object);
    phase(sheet, facts);
    sheet.field_if(0, "Reason", text(&status["reason"]));
    sheet.field_if(0, "Message", text(&status["message"]));
    containers::seccomp(sheet, 0, &spec["securityContext"]);
    addresses(sheet, status);
    metadata::controller(sheet, facts.object);
    sheet.field_if(0, "NominatedNodeName", text(&status["nominatedNodeName"]));
    let within = Within::Pod(facts.object);
    for (title, list, statuses) in [
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
        (
            "Ephemeral Containers",
            "ephemeralContainers",
            "ephemeralContainerStatuses",
        ),
    ] {
        if list == "containers" || !items(&spec[list]).is_empty() {
            containers::write(sheet, title, &spec[list], &status[statuses], &within);
        }
    }
    gates(sheet, spec, status);
    states(sheet, "Conditions", items(&status["conditions"]));
    volumes::write(sheet, &spec["volumes"], &within);
    let known = text(&status["qosClass"]).to_owned();
    sheet.field(0, "QoS Class", or(known, quality(spec)));
    metadata::labels(sheet, 0, "Node-Selectors", &spec["nodeSelector"]);
    template::tolerations(sheet, 0, spec);
    template::spread(sheet, 0, spec);
}

fn phase(sheet: &mut Sheet, facts: &Facts<'_>) {
    let about = facts.at("metadata");
    if about["deletionTimestamp"].is_null() {
        return sheet.field(0, "Status", text(&facts.at("status")["phase"]));
    }
    let age = since(&about["deletionTimestamp"], facts.now);
    sheet.field(0, "Status", format!("Terminating (lasts {age})"));
    let grace = plain(&about["deletionGracePeriodSeconds"]);
    sheet.field(0, "Termination Grace Period", format!("{grace}s"));
}

fn addresses(sheet: &mut Sheet, status: &Value) {
    sheet.field(0, "IP", text(&status["podIP"]));
    let addresses = items(&status["podIPs"]);
    if addresses.is_empty() {
        return sheet.field(0, "IPs", "<none>");
    }
    sheet.title(0, "IPs");
    for address in addresses {
        sheet.field(2, "IP", text(&address["ip"]));
    }
}

/// What else must hold before a pod is ready, if anything.
fn gates(sheet: &mut Sheet, spec: &Value, status: &Value) {
    let conditions = items(&status["conditions"]);
    let gate = |gate: &Value| {
        let kind = &gate["conditionType"];
        let known = conditions.iter().find(|one| one["type"] == *kind);
        let state = known.map_or("<none>", |one| text(&one["status"]));
        serde_json::json!({"type": kind, "status": state})
    };
    let gates: Vec<Value> = items(&spec["readinessGates"]).iter().map(gate).collect();
    states(sheet, "Readiness Gates", &gates);
}

fn states(sheet: &mut Sheet, title: &str, states: &[Value]) {
    if states.is_empty() {
        return;
    }
    sheet.title(0, title);
    sheet.line(2, ["Type", "Status"]);
    let columns = [("Type", "type"), ("Status", "status")];
    for row in conditions::rows(states, &columns, 2) {
        sheet.line(2, row);
    }
}

/// How sure a pod may be of what it asks for, where its server does not say.
fn quality(spec: &Value) -> &'static str {
    let (asked, most) = (of_pod(spec, "requests"), of_pod(spec, "limits"));
    let names = ["cpu", "memory"];
    let none = |amounts: &Amounts| names.iter().all(|name| amounts.of(name).is_zero());
    if none(&asked) && none(&most) {
        return "BestEffort";
    }
    let is_sure = items(&spec["containers"]).iter().all(|container| {
        let resources = &container["resources"];
        let most = Amounts::read(&resources["limits"]);
        let asked = Amounts::read(&resources["requests"]);
        names.iter().all(|name| {
            let (most, asked) = (most.of(name), asked.of(name));
            !most.is_zero() && (asked.is_zero() || asked.nanos() == most.nanos())
        })
    });
    match is_sure {
        true => "Guaranteed",
        false => "Burstable",
    }
}

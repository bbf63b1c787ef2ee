//! Room for data: what is claimed, and the volumes that are there.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::conditions::{self, Column};
use crate::describe::parts::{metadata, volumes};
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, items, plain, since, text, texts};

const CONDITIONS: [Column; 6] = [
    ("Type", "type"),
    ("Status", "status"),
    ("LastProbeTime", "lastProbeTime"),
    ("LastTransitionTime", "lastTransitionTime"),
    ("Reason", "reason"),
    ("Message", "message"),
];

/// The page about a claim.
pub(in crate::describe) fn claim(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    sheet.field(0, "StorageClass", text(&spec["storageClassName"]));
    sheet.field(0, "Status", phase(facts));
    let volume = text(&spec["volumeName"]);
    sheet.field(0, "Volume", volume);
    metadata::marks(sheet, facts.object);
    finalizers(sheet, facts);
    // Before there is a volume nobody knows how large it is.
    let of_volume = |value: String| {
        if volume.is_empty() {
            String::new()
        } else {
            value
        }
    };
    let size = of_volume(plain(&status["capacity"]["storage"]));
    sheet.field(0, "Capacity", size);
    let modes = of_volume(volumes::modes(&status["accessModes"]));
    sheet.field(0, "Access Modes", modes);
    sheet.field_if(0, "VolumeMode", text(&spec["volumeMode"]));
    let source = &spec["dataSource"];
    if source.is_object() {
        sheet.title(0, "DataSource");
        sheet.field_if(2, "APIGroup", text(&source["apiGroup"]));
        sheet.field(2, "Kind", text(&source["kind"]));
        sheet.field(2, "Name", text(&source["name"]));
    }
    sheet.list(0, "Used By", &users(facts));
    conditions::write(sheet, &status["conditions"], &CONDITIONS, 4);
}

/// The pods that use a claim.
fn users(facts: &Facts<'_>) -> Vec<String> {
    let uses = |volume: &Value| {
        let claim = &volume["persistentVolumeClaim"]["claimName"];
        *claim == facts.object.name()
    };
    let pods = match facts.beside.all("pods") {
        Ok(pods) => pods.iter(),
        Err(failure) => return vec![format!("<unknown: {failure}>")],
    };
    let users = pods.filter(|pod| items(&field(pod, "spec")["volumes"]).iter().any(uses));
    users.map(|pod| pod.name().to_owned()).collect()
}

/// The page about a volume.
pub(in crate::describe) fn volume(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    finalizers(sheet, facts);
    sheet.field(0, "StorageClass", text(&spec["storageClassName"]));
    sheet.field(0, "Status", phase(facts));
    let claim = &spec["claimRef"];
    let claim = match claim.is_object() {
        true => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
        false => String::new(),
    };
    sheet.field(0, "Claim", claim);
    let fate = text(&spec["persistentVolumeReclaimPolicy"]);
    sheet.field(0, "Reclaim Policy", fate);
    sheet.field(0, "Access Modes", volumes::modes(&spec["accessModes"]));
    sheet.field_if(0, "VolumeMode", text(&spec["volumeMode"]));
    sheet.field(0, "Capacity", plain(&spec["capacity"]["storage"]));
    nodes(sheet, &spec["nodeAffinity"]);
    sheet.field(0, "Message", text(&status["message"]));
    sheet.title(0, "Source");
    volumes::source(sheet, spec);
}

/// From which nodes a volume can be reached.
fn nodes(sheet: &mut Sheet, affinity: &Value) {
    let required = &affinity["required"];
    if !required.is_object() {
        return sheet.field(0, "Node Affinity", "<none>");
    }
    let terms = items(&required["nodeSelectorTerms"]);
    sheet.field(0, "Node Affinity", "");
    if terms.is_empty() {
        return sheet.field(2, "Required Terms", "<none>");
    }
    sheet.field(2, "Required Terms", "");
    for (place, term) in terms.iter().enumerate() {
        let lines: Vec<String> = items(&term["matchExpressions"])
            .iter()
            .map(|one| {
                let operator = text(&one["operator"]).to_lowercase();
                let said = format!("{} {operator}", text(&one["key"]));
                match texts(&one["values"]).join(", ") {
                    values if values.is_empty() => said,
                    values => format!("{said} [{values}]"),
                }
            })
            .collect();
        sheet.list(4, &format!("Term {place}"), &lines);
    }
}

fn finalizers(sheet: &mut Sheet, facts: &Facts<'_>) {
    let all: Vec<&str> = facts.object.finalizers().collect();
    sheet.field(0, "Finalizers", format!("[{}]", all.join(" ")));
}

fn phase(facts: &Facts<'_>) -> String {
    match &facts.at("metadata")["deletionTimestamp"] {
        Value::Null => text(&facts.at("status")["phase"]).to_owned(),
        leaving => format!("Terminating (lasts {})", since(leaving, facts.now)),
    }
}

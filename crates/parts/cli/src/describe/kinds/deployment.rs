//! A Deployment, and the ReplicaSets it has made.

use object::{Object, Value};

use crate::describe::Facts;
use crate::describe::parts::{conditions, metadata, selectors, template};
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, number, or, plain, text};

/// The label by which the pods of one template are told from those of the next.
const HASH: &str = "pod-template-hash";

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    metadata::created(sheet, facts.object);
    metadata::marks(sheet, facts.object);
    sheet.field(0, "Selector", selectors::selector(&spec["selector"]));
    let count = |name: &str| number(&status[name]);
    let replicas = format!(
        "{} desired | {} updated | {} total | {} available | {} unavailable",
        number(&spec["replicas"]),
        count("updatedReplicas"),
        count("replicas"),
        count("availableReplicas"),
        count("unavailableReplicas")
    );
    sheet.field(0, "Replicas", replicas);
    sheet.field(0, "StrategyType", text(&spec["strategy"]["type"]));
    let ready = number(&spec["minReadySeconds"]);
    sheet.field(0, "MinReadySeconds", ready.to_string());
    let rolling = &spec["strategy"]["rollingUpdate"];
    if rolling.is_object() {
        let (less, more) = (
            plain(&rolling["maxUnavailable"]),
            plain(&rolling["maxSurge"]),
        );
        let said = format!("{less} max unavailable, {more} max surge");
        sheet.field(0, "RollingUpdateStrategy", said);
    }
    template::write(sheet, &spec["template"]);
    conditions::write(sheet, &status["conditions"], &conditions::BRIEF, 1);
    if let Ok(found) = facts.beside.all("replicasets") {
        replica_sets(sheet, facts.object, found);
    }
}

fn replica_sets(sheet: &mut Sheet, deployment: &Object, found: &[Object]) {
    let mut own: Vec<&Object> = found
        .iter()
        .filter(|set| metadata::is_controlled_by(set, deployment))
        .collect();
    // In a control plane nobody makes any: members do.
    if own.is_empty() {
        return;
    }
    own.sort_by_key(|set| {
        let made = set.text_at(&["metadata", "creationTimestamp"]);
        (made, set.name())
    });
    let wanted = without_hash(deployment);
    let new = own.iter().position(|set| without_hash(set) == wanted);
    let new = new.map(|at| own.remove(at));
    let old: Vec<String> = own.into_iter().map(created).collect();
    sheet.field(0, "OldReplicaSets", or(old.join(", "), "<none>"));
    sheet.field(0, "NewReplicaSet", new.map_or("<none>".to_owned(), created));
}

/// What pods are made from, without what is different in every ReplicaSet.
fn without_hash(owner: &Object) -> Value {
    let mut template = field(owner, "spec")["template"].clone();
    let labels = template.pointer_mut("/metadata/labels");
    if let Some(Value::Object(labels)) = labels {
        labels.shift_remove(HASH);
    }
    template
}

fn created(set: &Object) -> String {
    let wanted = number(&field(set, "spec")["replicas"]);
    let there = number(&field(set, "status")["replicas"]);
    format!("{} ({there}/{wanted} replicas created)", set.name())
}

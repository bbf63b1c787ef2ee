//! What keeps pods running: ReplicaSets, StatefulSets, DaemonSets.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::{conditions, metadata, selectors, template};
use crate::describe::sheet::Sheet;
use crate::describe::values::{field, items, number, or, plain, text, texts};

/// The page about a ReplicaSet.
pub(in crate::describe) fn replica_set(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    sheet.field(0, "Selector", selectors::selector(&spec["selector"]));
    metadata::marks(sheet, facts.object);
    metadata::controller(sheet, facts.object);
    let (there, wanted) = (number(&status["replicas"]), number(&spec["replicas"]));
    sheet.field(0, "Replicas", format!("{there} current / {wanted} desired"));
    pods(sheet, facts);
    template::write(sheet, &spec["template"]);
    conditions::write(sheet, &status["conditions"], &conditions::BRIEF, 1);
}

/// The page about a StatefulSet.
pub(in crate::describe) fn stateful_set(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    metadata::created(sheet, facts.object);
    sheet.field(0, "Selector", selectors::selector(&spec["selector"]));
    metadata::marks(sheet, facts.object);
    let (wanted, there) = (number(&spec["replicas"]), number(&status["replicas"]));
    sheet.field(0, "Replicas", format!("{wanted} desired | {there} total"));
    let strategy = &spec["updateStrategy"];
    sheet.field(0, "Update Strategy", text(&strategy["type"]));
    let rolling = &strategy["rollingUpdate"];
    for (title, name) in [
        ("Partition", "partition"),
        ("MaxUnavailable", "maxUnavailable"),
    ] {
        sheet.field_if(2, title, plain(&rolling[name]));
    }
    pods(sheet, facts);
    template::write(sheet, &spec["template"]);
    claims(sheet, &spec["volumeClaimTemplates"]);
}

/// What is claimed for every pod.
fn claims(sheet: &mut Sheet, claims: &Value) {
    let claims = items(claims);
    match claims.is_empty() {
        true => sheet.field(0, "Volume Claims", "<none>"),
        false => sheet.title(0, "Volume Claims"),
    }
    for claim in claims {
        let (about, spec) = (&claim["metadata"], &claim["spec"]);
        sheet.field(2, "Name", text(&about["name"]));
        sheet.field(2, "StorageClass", text(&spec["storageClassName"]));
        metadata::labels(sheet, 2, "Labels", &about["labels"]);
        metadata::labels(sheet, 2, "Annotations", &about["annotations"]);
        let size = plain(&spec["resources"]["requests"]["storage"]);
        sheet.field(2, "Capacity", or(size, "<default>"));
        let modes = texts(&spec["accessModes"]).join(" ");
        sheet.field(2, "Access Modes", format!("[{modes}]"));
    }
}

/// The page about a DaemonSet.
pub(in crate::describe) fn daemon_set(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    sheet.field(0, "Selector", selectors::selector(&spec["selector"]));
    let nodes = selectors::labels(&spec["template"]["spec"]["nodeSelector"]);
    sheet.field(0, "Node-Selector", nodes);
    metadata::marks(sheet, facts.object);
    for (title, name) in [
        (
            "Desired Number of Nodes Scheduled",
            "desiredNumberScheduled",
        ),
        (
            "Current Number of Nodes Scheduled",
            "currentNumberScheduled",
        ),
        (
            "Number of Nodes Scheduled with Up-to-date Pods",
            "updatedNumberScheduled",
        ),
        (
            "Number of Nodes Scheduled with Available Pods",
            "numberAvailable",
        ),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        sheet.text(0, &format!("{title}: {}", number(&status[name])));
    }
    pods(sheet, facts);
    template::write(sheet, &spec["template"]);
}

/// How many of its pods are how far.
fn pods(sheet: &mut Sheet, facts: &Facts<'_>) {
    let found = match facts.beside.all("pods") {
        Ok(found) => found,
        Err(failure) => {
            let said = format!("error in fetching pods: {failure}");
            return sheet.field(0, "Pods Status", said);
        }
    };
    let own = || {
        let pods = found.iter();
        pods.filter(|pod| metadata::is_controlled_by(pod, facts.object))
    };
    let phase = |phase: &str| {
        let pods = own().filter(|pod| field(pod, "status")["phase"] == *phase);
        pods.count()
    };
    let said = format!(
        "{} Running / {} Waiting / {} Succeeded / {} Failed",
        phase("Running"),
        phase("Pending"),
        phase("Succeeded"),
        phase("Failed")
    );
    sheet.field(0, "Pods Status", said);
}

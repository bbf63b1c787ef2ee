//! A HorizontalPodAutoscaler: what is measured, what is aimed at, and how fast it goes there.

use object::Value;

use crate::describe::Facts;
use crate::describe::parts::conditions::{self, Column};
use crate::describe::parts::metadata;
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, number, or, plain, plain_or, text};

const CONDITIONS: [Column; 4] = [
    ("Type", "type"),
    ("Status", "status"),
    ("Reason", "reason"),
    ("Message", "message"),
];

/// The page.
pub(in crate::describe) fn write(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    metadata::created(sheet, facts.object);
    let target = &spec["scaleTargetRef"];
    let kind = text(&target["kind"]);
    sheet.field(0, "Reference", format!("{kind}/{}", text(&target["name"])));
    sheet.field(0, "Metrics", "( current / target )");
    let measured = items(&status["currentMetrics"]);
    for (place, metric) in items(&spec["metrics"]).iter().enumerate() {
        let known = measured.get(place);
        let current = known.filter(|known| known["type"] == metric["type"]);
        let (title, values) = measure(metric, current.unwrap_or(&Value::Null));
        sheet.field(2, &title, values);
    }
    let least = plain_or(&spec["minReplicas"], "<unset>");
    sheet.field(0, "Min replicas", least);
    sheet.field(0, "Max replicas", plain(&spec["maxReplicas"]));
    behaviour(sheet, &spec["behavior"]);
    let (there, wanted) = ("currentReplicas", "desiredReplicas");
    let (there, wanted) = (number(&status[there]), number(&status[wanted]));
    let said = format!("{there} current / {wanted} desired");
    sheet.field(0, &format!("{kind} pods"), said);
    conditions::write(sheet, &status["conditions"], &CONDITIONS, 0);
}

/// What is measured, and what came of it beside what is aimed at.
fn measure(metric: &Value, current: &Value) -> (String, String) {
    let kind = text(&metric["type"]);
    // The field is called as the kind is, with a small letter.
    let name: String = kind
        .chars()
        .enumerate()
        .map(|(place, letter)| {
            if place == 0 {
                letter.to_ascii_lowercase()
            } else {
                letter
            }
        })
        .collect();
    let (metric, current) = (&metric[&name], &current[&name]["current"]);
    let (title, target) = (text(&metric["metric"]["name"]), &metric["target"]);
    let aim = if target["value"].is_null() {
        "averageValue"
    } else {
        "value"
    };
    let values = format!(
        "{} / {}",
        plain_or(&current[aim], "<unknown>"),
        plain_or(&target[aim], "<auto>")
    );
    let aim = if aim == "value" {
        "target value"
    } else {
        "target average value"
    };
    match kind {
        "Pods" => (format!("{title:?} on pods"), values),
        "Object" => {
            let object = &metric["describedObject"];
            let (kind, name) = (text(&object["kind"]), text(&object["name"]));
            (format!("{title:?} on {kind}/{name} ({aim})"), values)
        }
        "External" => (format!("{title:?} ({aim})"), values),
        "Resource" | "ContainerResource" => {
            let container = match text(&metric["container"]) {
                "" => String::new(),
                container => format!(" of container {container:?}"),
            };
            let title = format!("resource {}{container} on pods", text(&metric["name"]));
            if !target["averageValue"].is_null() {
                return (title, values);
            }
            let share = format!("{title}  (as a percentage of request)");
            (share, shares(current, target))
        }
        other => (format!("<unknown metric type {other:?}>"), values),
    }
}

/// Shares in percent of what is asked for.
fn shares(current: &Value, target: &Value) -> String {
    let now = match plain(&current["averageUtilization"]) {
        share if share.is_empty() => "<unknown>".to_owned(),
        share => format!("{share}% ({})", plain(&current["averageValue"])),
    };
    let aim = match plain(&target["averageUtilization"]) {
        share if share.is_empty() => "<auto>".to_owned(),
        share => format!("{share}%"),
    };
    format!("{now} / {aim}")
}

fn behaviour(sheet: &mut Sheet, behaviour: &Value) {
    if !behaviour.is_object() {
        return;
    }
    sheet.title(0, "Behavior");
    for (title, name) in [("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")] {
        let rules = &behaviour[name];
        if !rules.is_object() {
            continue;
        }
        sheet.title(2, title);
        let window = &rules["stabilizationWindowSeconds"];
        if !window.is_null() {
            let said = format!("Stabilization Window: {} seconds", plain(window));
            sheet.text(4, &said);
        }
        let policies = items(&rules["policies"]);
        if policies.is_empty() {
            continue;
        }
        let which = or(text(&rules["selectPolicy"]), "Max");
        sheet.text(4, &format!("Select Policy: {which}"));
        sheet.title(4, "Policies");
        for policy in policies {
            let kind = format!("- Type: {}", text(&policy["type"]));
            let value = format!("Value: {}", plain(&policy["value"]));
            let period = format!("Period: {} seconds", plain(&policy["periodSeconds"]));
            sheet.line(6, [kind, value, period]);
        }
    }
}

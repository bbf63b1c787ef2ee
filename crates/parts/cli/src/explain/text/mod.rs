//! An explanation for people, in 80 columns.

mod selection;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use super::decisions::folded;
use crate::page::{Page, WIDTH};
use crate::reading::clean;
use crate::simulate::Line;
use crate::table::Table;

/// Where what is said about a thing begins, behind what the thing is called.
const INDENT: usize = 12;
/// How many clusters the table of verdicts shows; with more, those that were not refused go first.
const ROWS: usize = 40;
/// How many earlier decisions are shown.
const EARLIER: usize = 4;

/// Writes what [`super::facts::tell`] has told.
pub(super) fn write(told: &Value) -> String {
    let mut page = Page::default();
    let template = &told["template"];
    line(
        &mut page,
        text(&template["kind"]),
        &format!(
            "{} ({}, generation {})",
            full_name(template),
            text(&template["apiVersion"]),
            template["generation"]
        ),
    );
    write_policy(&mut page, told);
    for note in items(&told["unknownClusters"])
        .iter()
        .chain(items(&told["doubts"]))
    {
        line(&mut page, "Note", text(note));
    }
    let binding = &told["binding"];
    if binding.is_null() {
        line(&mut page, "Binding", "none");
        if !told["travels"].is_null() {
            write_clusters(&mut page, told);
        }
        return page.into_text();
    }
    let mut about = format!("{} {}", text(&binding["kind"]), full_name(binding));
    if let Some(replicas) = binding["replicas"].as_i64() {
        about.push_str(&format!(", {}", count(replicas)));
    }
    line(&mut page, "Binding", &about);
    if let Some(version) = sent_as(told) {
        let said = format!("clusters get it as {version}");
        line(&mut page, "", &said);
    }
    // What somebody else decides about, this scheduler does not look at.
    match told["leftAlone"].as_str() {
        Some(why) => line(&mut page, "", why),
        None if !is_looked_at(binding) => line(
            &mut page,
            "",
            "the scheduler has not looked at its newest state yet",
        ),
        None => {}
    }
    line(&mut page, "", text(&told["heldBack"]));
    conditions(&mut page, &binding["conditions"]);
    if told["leftAlone"].is_null() || !told["decision"].is_null() {
        write_decision(&mut page, told);
    }
    write_clusters(&mut page, told);
    page.into_text()
}

/// The version in which clusters get the template, if it is another than the one that was asked for.
fn sent_as(told: &Value) -> Option<&str> {
    let version = told["binding"]["sentAs"].as_str()?;
    (version != text(&told["template"]["apiVersion"])).then_some(version)
}

/// What was held of all clusters, then each that has to do with it, or that was asked for.
fn write_clusters(page: &mut Page, told: &Value) {
    let clusters = items(&told["clusters"]);
    write_verdicts(page, clusters);
    let is_asked =
        |cluster: &Value| cluster["name"].is_string() && cluster["name"] == told["asked"];
    let concerned = clusters
        .iter()
        .filter(|cluster| is_concerned(cluster) || is_asked(cluster));
    let shown: Vec<&Value> = concerned.collect();
    if shown.is_empty() {
        line(page, "Clusters", "none");
    }
    for cluster in shown {
        write_cluster(page, cluster);
    }
}

/// Whether the scheduler has looked at a binding as it is. Its generation is noted only where it found a place: a refusal
/// is known by its condition.
fn is_looked_at(binding: &Value) -> bool {
    let is_refusal =
        |condition: &Value| condition["type"] == "Scheduled" && condition["status"] == "False";
    binding["generation"] == binding["schedulerObservedGeneration"]
        || items(&binding["conditions"]).iter().any(is_refusal)
}

fn write_policy(page: &mut Page, told: &Value) {
    let (policy, travels) = (&told["policy"], &told["travels"]);
    let required_by = items(&told["requiredBy"]);
    let chosen = &policy["chosen"];
    if travels["everywhere"] == true {
        line(
            page,
            "Policy",
            "none is needed: namespaces go to every cluster by themselves",
        );
    } else if let Some(why) = travels["why"].as_str() {
        line(
            page,
            "Policy",
            &format!("none: it goes to no cluster: {why}"),
        );
    } else if chosen.is_null() && !required_by.is_empty() {
        line(
            page,
            "Policy",
            "none of its own: it comes along with others",
        );
    } else if chosen.is_null() {
        let why = policy["why"].as_str().unwrap_or("no policy selects it");
        line(page, "Policy", &format!("none: {why}"));
    } else {
        line(
            page,
            "Policy",
            &format!(
                "{} {}, selects {}, priority {}",
                text(&chosen["kind"]),
                full_name(chosen),
                text(&chosen["selects"]),
                chosen["priority"]
            ),
        );
        line(page, "", text(&policy["why"]));
    }
    for one in required_by {
        let template = match one["template"].is_null() {
            true => format!("binding {}", full_name(&one["binding"])),
            false => format!(
                "{} {}",
                text(&one["template"]["kind"]),
                full_name(&one["template"])
            ),
        };
        let names = items(&one["clusters"])
            .iter()
            .map(|cluster| text(&cluster["name"]));
        let names: Vec<&str> = names.collect();
        let said = format!("{template} needs it in {}", names.join(", "));
        line(page, "", &said);
    }
    for other in items(&policy["others"]) {
        let said = format!(
            "not {} {}: {}",
            text(&other["kind"]),
            full_name(other),
            text(&other["lost"])
        );
        line(page, "", &said);
    }
}

fn write_decision(page: &mut Page, told: &Value) {
    if let Some(why) = told["decisionsUnknown"].as_str() {
        line(page, "Decision", &format!("unknown: {why}"));
        return;
    }
    let decision = &told["decision"];
    if decision.is_null() {
        line(page, "Decision", "none is on record");
        return;
    }
    let earlier = items(&told["earlier"]).iter();
    let all: Vec<Value> = std::iter::once(decision).chain(earlier).cloned().collect();
    let mut folded = folded(&all).into_iter().map(in_a_line);
    line(page, "Decision", &folded.next().unwrap_or_default());
    if decision["diagnosis"].is_null() {
        line(
            page,
            "",
            "its reasons were not kept: too many decisions were made at once",
        );
    }
    for missed in items(&decision["diagnosis"]["unheard"]) {
        let (plugin, why) = (text(&missed["plugin"]), text(&missed["why"]));
        line(page, "", &format!("without the plugin {plugin}: {why}"));
    }
    for change in items(&told["changed"]) {
        line(page, "", &format!("changed: {}", text(change)));
    }
    for earlier in folded.take(EARLIER) {
        line(page, "", &format!("before: {earlier}"));
    }
    let attempts = items(&decision["diagnosis"]["attempts"]);
    for attempt in attempts {
        if let Some(group) = attempt["group"].as_str() {
            let said = match attempt["refusal"].as_str() {
                Some(refusal) => format!("group {group} was given up: {refusal}"),
                None => format!("group {group} was taken"),
            };
            line(page, "", &said);
        }
    }
    let last = attempts.last().unwrap_or(&Value::Null);
    for (index, said) in selection::told(&last["selection"]).iter().enumerate() {
        line(page, if index == 0 { "Selection" } else { "" }, said);
    }
    for step in items(&last["steps"]) {
        line(
            page,
            "Division",
            &format!(
                "{} of {}",
                text(&step["mode"]),
                count(step["replicas"].as_i64().unwrap_or(0))
            ),
        );
        if let Some(first) = broken_tie(items(&step["rows"])) {
            let said =
                format!("of equal weights the {first} name comes first, by the template's uid");
            line(page, "", &said);
        }
    }
}

/// Which name came first where clusters with the same weight got different numbers; `None` if none did.
fn broken_tie(rows: &[Value]) -> Option<&'static str> {
    // By weight, what the first and the last name got.
    let mut ends: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut rows: Vec<&Value> = rows.iter().collect();
    rows.sort_by_key(|row| text(&row["cluster"]));
    for row in rows {
        let (weight, given) = (row["weight"].as_i64()?, row["given"].as_i64()?);
        ends.entry(weight).or_insert((given, given)).1 = given;
    }
    let (first, last) = ends.into_values().find(|(first, last)| first != last)?;
    Some(if first > last { "first" } else { "last" })
}

/// When, why and what; and how often, if decisions before it said the same.
fn in_a_line((record, count, oldest): (&Value, usize, &Value)) -> String {
    let attempt = record["attempt"].as_i64().unwrap_or(0);
    let again = if attempt > 1 {
        format!(", attempt {attempt}")
    } else {
        String::new()
    };
    let said = format!(
        "{} {} ({}{again})",
        text(&record["at"]),
        text(&record["outcome"]),
        text(&record["trigger"])
    );
    match count {
        1 => said,
        _ => format!(
            "{said}; the same {count} times since {}",
            text(&oldest["at"])
        ),
    }
}

/// What the decision held of every cluster, in a table.
fn write_verdicts(page: &mut Page, clusters: &[Value]) {
    let mut judged: Vec<&Value> = clusters
        .iter()
        .filter(|cluster| !cluster["verdict"].is_null())
        .collect();
    if judged.is_empty() {
        return;
    }
    judged.sort_by_key(|cluster| {
        (
            cluster["verdict"]["passed"] != true,
            text(&cluster["name"]).to_owned(),
        )
    });
    let more = judged.len().saturating_sub(ROWS);
    judged.truncate(ROWS);
    let mut table = Table::new(&[
        "CLUSTER", "VERDICT", "SCORE", "FITS", "HAD", "WEIGHT", "QUOTA", "GETS",
    ]);
    for cluster in &judged {
        let verdict = &cluster["verdict"];
        let scores = verdict["scores"].as_object();
        let score: Option<i64> =
            scores.map(|scores| scores.values().filter_map(Value::as_i64).sum());
        let share = items(&verdict["shares"])
            .last()
            .cloned()
            .unwrap_or_default();
        let word = match (verdict["passed"].as_bool(), verdict["selected"].as_bool()) {
            (_, Some(true)) => "selected",
            (Some(true), _) => "passed",
            _ if verdict["leaving"] == true => "leaving",
            _ if verdict["considered"] == false => "not seen",
            _ => "refused",
        };
        table.rows.push(vec![
            clean(text(&cluster["name"])),
            word.to_owned(),
            score.map_or_else(dash, |score| score.to_string()),
            number(&verdict["fits"]),
            number(&verdict["running"]),
            number(&share["weight"]),
            share["quota"].as_str().map_or_else(dash, str::to_owned),
            number(&cluster["replicas"]),
        ]);
    }
    table.narrow(WIDTH);
    page.blank();
    page.push(&table.to_string());
    if more > 0 {
        page.wrap(
            0,
            &format!("and {more} more; --cluster NAME shows one, -o json all"),
        );
    }
    let unseen = judged.iter();
    let unseen = unseen.filter(|cluster| cluster["verdict"]["considered"] == false);
    let unseen: Vec<&str> = unseen.map(|cluster| text(&cluster["name"])).collect();
    // One alone that was asked for says so itself.
    if !unseen.is_empty() && judged.len() > 1 {
        let said = "not there at the last decision, and not considered yet";
        page.wrap(0, &format!("{}: {said}", unseen.join(", ")));
    }
    for (limit, names) in full(&judged) {
        page.wrap(0, &format!("no room in {}: {limit}", names.join(", ")));
    }
    for cluster in judged {
        for refusal in items(&cluster["verdict"]["refusals"]) {
            let said = format!(
                "{}: {} says: {}",
                text(&cluster["name"]),
                text(&refusal["filter"]),
                text(&refusal["reason"])
            );
            page.wrap(0, &said);
        }
    }
}

/// The clusters that have room for none, by what limits it.
fn full<'a>(judged: &[&'a Value]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut full: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cluster in judged {
        let verdict = &cluster["verdict"];
        if verdict["fits"] == 0 {
            let names = full.entry(text(&verdict["estimate"])).or_default();
            names.push(text(&cluster["name"]));
        }
    }
    full
}

/// Whether there is more to say of a cluster than what the decision held of it.
fn is_concerned(cluster: &Value) -> bool {
    cluster["target"] == true
        || !items(&cluster["works"]).is_empty()
        || !cluster["health"].is_null()
}

fn write_cluster(page: &mut Page, cluster: &Value) {
    page.blank();
    let target = match (cluster["target"].as_bool(), cluster["replicas"].as_i64()) {
        (Some(true), Some(replicas)) => count(replicas),
        (Some(true), None) => "chosen".to_owned(),
        _ if is_concerned(cluster) => "not chosen any more".to_owned(),
        _ => "not chosen".to_owned(),
    };
    let target = match cluster["notChosen"].as_str() {
        Some(why) => format!("{target}: {why}"),
        None => target,
    };
    let health = cluster["health"].as_str();
    let health = health.map_or_else(String::new, |health| format!(", {health}"));
    line(page, text(&cluster["name"]), &format!("{target}{health}"));
    for rule in items(&cluster["overrides"]["rules"]) {
        write_rule(page, rule);
    }
    if let Some(problem) = cluster["overrides"]["problem"].as_str() {
        line(page, "", &format!("cannot be made for it: {problem}"));
    }
    let works = items(&cluster["works"]);
    if works.is_empty() && !cluster["works"].is_null() && is_concerned(cluster) {
        line(page, "", "no Work");
    }
    for work in works {
        let held = match (&work["deleting"], &work["suspended"]) {
            (Value::Bool(true), _) => ", being deleted",
            (_, Value::Bool(true)) => ", held back",
            _ => "",
        };
        line(page, "", &format!("Work {}{held}", full_name(work)));
        conditions(page, &work["conditions"]);
    }
    // Where works are seen, they have said it.
    let said = text(&cluster["appliedMessage"]);
    let is_said = |work: &Value| {
        let mut conditions = items(&work["conditions"]).iter();
        conditions.any(|condition| text(&condition["message"]) == said)
    };
    if !works.iter().any(is_said) {
        line(page, "", said);
    }
    let member = &cluster["member"];
    match member["present"].as_bool() {
        Some(true) => {
            let said = plain_fields(&member["status"]);
            let leaving = if member["deleting"] == true {
                ", being deleted"
            } else {
                ""
            };
            line(
                page,
                "",
                &format!(
                    "in the member: generation {}{leaving} {said}",
                    member["generation"]
                ),
            );
        }
        Some(false) => line(
            page,
            "",
            &format!("in the member: {}", text(&member["why"])),
        ),
        None => {
            let why = text(&member["why"]);
            if !why.is_empty() {
                line(page, "", &format!("in the member: {why}"));
            }
            let reported = plain_fields(&cluster["status"]);
            if !reported.is_empty() {
                line(page, "", &format!("last reported: {reported}"));
            }
        }
    }
}

/// What an override rule did.
fn write_rule(page: &mut Page, rule: &Value) {
    let place = rule["rule"]
        .as_u64()
        .map_or_else(String::new, |rule| format!(", rule {}", rule + 1));
    let name = format!("{} {}{place}", text(&rule["kind"]), full_name(rule));
    if rule["applied"] != true {
        line(
            page,
            "",
            &format!("{name}: not for it: {}", text(&rule["why"])),
        );
        return;
    }
    let changes = items(&rule["changes"]);
    let nothing = if changes.is_empty() {
        " changes nothing"
    } else {
        ""
    };
    line(page, "", &format!("{name}{nothing}"));
    for change in changes {
        let some = |value: &Value| (!value.is_null()).then(|| value.clone());
        let change = Line {
            path: text(&change["path"]).to_owned(),
            before: some(&change["before"]),
            after: some(&change["after"]),
        };
        page.wrap(INDENT + 2, &change.to_string());
    }
}

fn plain_fields(status: &Value) -> String {
    let fields = status.as_object().into_iter().flatten();
    let plain = fields.filter(|(_, value)| !value.is_object() && !value.is_array());
    let said: Vec<String> = plain
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    said.join(" ")
}

/// The order in which conditions come about; others follow by name. They are kept in the order in which they were written,
/// which says nothing.
const ORDER: [&str; 4] = ["Scheduled", "FullyApplied", "Dispatching", "Applied"];

fn conditions(page: &mut Page, conditions: &Value) {
    let mut sorted: Vec<&Value> = items(conditions).iter().collect();
    sorted.sort_by_key(|condition| {
        let name = text(&condition["type"]);
        let place = ORDER.iter().position(|known| *known == name);
        (place.unwrap_or(ORDER.len()), name)
    });
    for condition in sorted {
        let said = format!(
            "{} {} ({}): {}",
            text(&condition["type"]),
            text(&condition["status"]),
            text(&condition["reason"]),
            text(&condition["message"]),
        );
        line(page, "", said.trim_end_matches([':', ' ']));
    }
}

/// A thing and what is said about it; nothing if nothing is said.
fn line(page: &mut Page, name: &str, said: &str) {
    if !said.is_empty() {
        page.titled(INDENT, name, said);
    }
}

fn count(replicas: i64) -> String {
    match replicas {
        1 => "1 replica".to_owned(),
        _ => format!("{replicas} replicas"),
    }
}

fn number(value: &Value) -> String {
    value.as_i64().map_or_else(dash, |number| match number {
        // What has no requirements fits as often as anybody asks.
        i64::MAX => "any".to_owned(),
        number if number == i64::from(i32::MAX) => "any".to_owned(),
        number => number.to_string(),
    })
}

fn dash() -> String {
    "-".to_owned()
}

fn full_name(thing: &Value) -> String {
    let name = text(&thing["name"]);
    match text(&thing["namespace"]) {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

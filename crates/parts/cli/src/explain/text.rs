//! An explanation for people, in 80 columns.

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
    for step in items(&attempts.last().cloned().unwrap_or_default()["steps"]) {
        line(
            page,
            "Division",
            &format!(
                "{} of {}",
                text(&step["mode"]),
                count(step["replicas"].as_i64().unwrap_or(0))
            ),
        );
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(told: Value, expected: &str) {
        let page = write(&told);
        assert_eq!(page.trim_end(), expected.trim());
        assert!(
            page.lines().all(|line| line.chars().count() <= 80),
            "{page}"
        );
    }

    #[test]
    fn a_template_nobody_claims_says_so() {
        check(
            json!({
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
                "policy": {"state": "unclaimed"},
            }),
            "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     none",
        );
    }

    #[test]
    fn what_found_no_place_was_looked_at_and_doubts_are_told() {
        let told = |conditions: Value| {
            json!({
                "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "shop", "generation": 1},
                "policy": {"state": "unclaimed"},
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-deployment", "generation": 2, "conditions": conditions},
                "decision": null,
                "doubts": ["nobody knows"],
            })
        };
        check(
            told(
                json!([{"type": "Scheduled", "status": "False", "reason": "NoClusterFit", "message": "0/3"}]),
            ),
            "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Note        nobody knows
Binding     ResourceBinding shop/a-deployment
            Scheduled False (NoClusterFit): 0/3
Decision    none is on record
Clusters    none",
        );
        check(
            told(json!([])),
            "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Note        nobody knows
Binding     ResourceBinding shop/a-deployment
            the scheduler has not looked at its newest state yet
Decision    none is on record
Clusters    none",
        );
    }

    #[test]
    fn what_comes_along_with_others_says_with_whom_and_where() {
        check(
            json!({
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "namespace": "shop", "generation": 0},
                "policy": {"state": "unclaimed"},
                "requiredBy": [{
                    "binding": {"namespace": "shop", "name": "web-deployment"},
                    "template": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
                    "clusters": [{"name": "east", "replicas": 2}, {"name": "west", "replicas": 1}],
                }],
                "leftAlone": "where it goes is decided with those that need it",
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "settings-configmap", "generation": 3},
                "clusters": [
                    {"name": "east", "target": true, "replicas": null, "works": [{"namespace": "karmada-es-east", "name": "w"}], "member": {"present": true, "generation": 0}},
                    {"name": "west", "target": true, "replicas": null, "works": [], "health": "Healthy", "member": {"present": null, "why": "it cannot be asked now (no answer)"}},
                ],
            }),
            "
ConfigMap   shop/settings (v1, generation 0)
Policy      none of its own: it comes along with others
            Deployment shop/web needs it in east, west
Binding     ResourceBinding shop/settings-configmap
            where it goes is decided with those that need it

east        chosen
            Work karmada-es-east/w
            in the member: generation 0

west        chosen, Healthy
            no Work
            in the member: it cannot be asked now (no answer)",
        );
    }

    #[test]
    fn a_namespace_goes_everywhere_or_says_why_not() {
        let told = |travels: Value, clusters: Value| {
            json!({
                "template": {"apiVersion": "v1", "kind": "Namespace", "name": "shop", "generation": 0},
                "policy": {"state": "unclaimed"}, "travels": travels, "clusters": clusters,
            })
        };
        check(
            told(
                json!({"everywhere": true}),
                json!([{"name": "east", "target": true, "works": [{"namespace": "karmada-es-east", "name": "w"}], "member": {"present": true, "generation": 0, "status": {"phase": "Active"}}}]),
            ),
            "
Namespace   shop (v1, generation 0)
Policy      none is needed: namespaces go to every cluster by themselves
Binding     none

east        chosen
            Work karmada-es-east/w
            in the member: generation 0 phase=\"Active\"",
        );
        check(
            told(
                json!({"everywhere": false, "why": "it has opted out"}),
                json!([]),
            ),
            "
Namespace   shop (v1, generation 0)
Policy      none: it goes to no cluster: it has opted out
Binding     none
Clusters    none",
        );
    }

    #[test]
    fn why_something_did_not_arrive_is_said_once() {
        let told = |works: Value| {
            json!({
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
                "policy": {"state": "unclaimed"},
                "leftAlone": "nobody decides",
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
                "clusters": [{"name": "east", "target": true, "works": works, "appliedMessage": "it stands in the way", "member": null}],
            })
        };
        let head = "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-configmap
            nobody decides

east        chosen";
        let condition = json!({"type": "Applied", "status": "False", "reason": "AppliedFailed", "message": "it stands in the way"});
        check(
            told(
                json!([{"namespace": "karmada-es-east", "name": "w", "conditions": [condition.clone()]}]),
            ),
            &format!(
                "{head}
            Work karmada-es-east/w
            Applied False (AppliedFailed): it stands in the way"
            ),
        );
        check(
            told(
                json!([{"namespace": "karmada-es-east", "name": "w", "suspended": true, "deleting": true, "conditions": [condition]}]),
            ),
            &format!(
                "{head}
            Work karmada-es-east/w, being deleted
            Applied False (AppliedFailed): it stands in the way"
            ),
        );
        // Whoever may not see works is told by the binding.
        check(
            told(Value::Null),
            &format!(
                "{head}
            it stands in the way"
            ),
        );
    }

    #[test]
    fn a_cluster_that_was_asked_for_is_told_of_and_decisions_are_not_repeated() {
        let made = |at: &str| json!({"at": at, "outcome": "{west:1}", "trigger": "every cluster gets the same"});
        let mut decision = made("T3");
        decision["diagnosis"] = json!({"attempts": []});
        check(
            json!({
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
                "policy": {"state": "unclaimed"},
                "asked": "east",
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
                "decision": decision,
                "earlier": [made("T2"), made("T1"), {"at": "T0", "outcome": "{east:1}", "trigger": "it had no place"}],
                "clusters": [{
                    "name": "east", "target": false, "notChosen": "refused by ClusterAffinity", "works": [],
                    "verdict": {"passed": false, "refusals": [{"filter": "ClusterAffinity", "reason": "it is not named"}]},
                }],
            }),
            "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-configmap
Decision    T3 {west:1} (every cluster gets the same); the same 3 times since T1
            before: T0 {east:1} (it had no place)

CLUSTER   VERDICT   SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
east      refused   -       -      -     -        -       -
east: ClusterAffinity says: it is not named

east        not chosen: refused by ClusterAffinity",
        );
    }

    #[test]
    fn a_cluster_that_came_later_is_not_refused_and_one_that_is_not_there_is_named() {
        check(
            json!({
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "shop", "generation": 0},
                "policy": {"state": "unclaimed"},
                "unknownClusters": ["the placement names the cluster \"tokyo\", and there is none"],
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-configmap"},
                "decision": {"at": "T1", "outcome": "{west:1}", "trigger": "it had no place", "diagnosis": {"attempts": []}},
                "clusters": [
                    {"name": "east", "target": false, "verdict": {"considered": false, "passed": false, "refusals": []}},
                    {"name": "west", "target": false, "verdict": {"considered": true, "passed": true, "selected": true}},
                ],
            }),
            "
ConfigMap   shop/a (v1, generation 0)
Policy      none: no policy selects it
Note        the placement names the cluster \"tokyo\", and there is none
Binding     ResourceBinding shop/a-configmap
Decision    T1 {west:1} (it had no place)

CLUSTER   VERDICT    SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
west      selected   -       -      -     -        -       -
east      not seen   -       -      -     -        -       -
east: not there at the last decision, and not considered yet
Clusters    none",
        );
    }

    #[test]
    fn what_another_scheduler_decides_is_not_waited_for_here() {
        check(
            json!({
                "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "shop", "generation": 1},
                "policy": {"state": "unclaimed"},
                "leftAlone": "where it goes is left to the scheduler \"mine\"",
                "heldBack": "what its author changes is held back",
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "a-deployment", "generation": 2, "placement": {},
                    "conditions": [{"type": "FullyApplied", "status": "True", "reason": "Fine"}, {"type": "Scheduled", "status": "True", "reason": "Fine"}]},
                "decision": null,
            }),
            "
Deployment  shop/a (apps/v1, generation 1)
Policy      none: no policy selects it
Binding     ResourceBinding shop/a-deployment
            where it goes is left to the scheduler \"mine\"
            what its author changes is held back
            Scheduled True (Fine)
            FullyApplied True (Fine)
Clusters    none",
        );
    }

    #[test]
    fn every_cluster_says_why_it_was_chosen_and_what_became_of_it() {
        let condition =
            json!({"type": "Applied", "status": "True", "reason": "Fine", "message": ""});
        check(
            json!({
                "template": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop", "generation": 3},
                "policy": {
                    "state": "applied",
                    "chosen": {"kind": "PropagationPolicy", "namespace": "shop", "name": "p", "selects": "by name", "priority": 0},
                    "others": [{"kind": "ClusterPropagationPolicy", "name": "all", "lost": "it lost"}],
                },
                "binding": {"kind": "ResourceBinding", "namespace": "shop", "name": "web-deployment", "replicas": 3, "generation": 2, "schedulerObservedGeneration": 2},
                "decision": {"at": "2026-01-01T00:00:00Z", "outcome": "{west:3}", "trigger": "replicas changed", "attempt": 2, "diagnosis": {"attempts": [
                    {"steps": [{"mode": "static weights", "replicas": 3}]},
                ]}},
                "changed": ["3 replicas are wanted instead of 2"],
                "earlier": [],
                "clusters": [
                    {"name": "east", "target": false, "verdict": {"passed": false, "refusals": [{"filter": "TaintToleration", "reason": "it is tainted"}]}},
                    {
                        "name": "west", "target": true, "replicas": 3, "health": "Healthy",
                        "verdict": {"passed": true, "selected": true, "scores": {"a": 100}, "fits": 9, "running": 2, "shares": [{"weight": 1, "quota": "3"}]},
                        "overrides": {"rules": [
                            {"kind": "OverridePolicy", "namespace": "shop", "name": "o", "rule": 0, "applied": true, "changes": [{"path": "/spec/x", "before": 1, "after": 2}]},
                            {"kind": "OverridePolicy", "namespace": "shop", "name": "q", "rule": 0, "applied": false, "why": "the cluster is excluded"},
                        ]},
                        "works": [{"namespace": "karmada-es-west", "name": "w", "conditions": [condition]}],
                        "member": {"present": true, "generation": 4, "status": {"replicas": 3, "conditions": []}},
                    },
                ],
            }),
            "
Deployment  shop/web (apps/v1, generation 3)
Policy      PropagationPolicy shop/p, selects by name, priority 0
            not ClusterPropagationPolicy all: it lost
Binding     ResourceBinding shop/web-deployment, 3 replicas
Decision    2026-01-01T00:00:00Z {west:3} (replicas changed, attempt 2)
            changed: 3 replicas are wanted instead of 2
Division    static weights of 3 replicas

CLUSTER   VERDICT    SCORE   FITS   HAD   WEIGHT   QUOTA   GETS
west      selected   100     9      2     1        3       3
east      refused    -       -      -     -        -       -
east: TaintToleration says: it is tainted

west        3 replicas, Healthy
            OverridePolicy shop/o, rule 1
              ~ /spec/x 1 -> 2
            OverridePolicy shop/q, rule 1: not for it: the cluster is excluded
            Work karmada-es-west/w
            Applied True (Fine)
            in the member: generation 4 replicas=3",
        );
    }
}

//! A simulation for people, in 80 columns, and for programs.

use serde_json::{Value, json};

use super::change::Line;
use super::fate::{ClusterFate, Fate, Simulated, What};
use crate::page::{Page, WIDTH};
use crate::table::Table;

/// Where clusters stand.
const INDENT: usize = 2;

/// The page about what would happen.
pub(super) fn write(simulated: &Simulated, all: bool, refused: usize) -> String {
    let mut page = Page::default();
    let affected = simulated.templates.iter().filter(|fate| fate.is_affected());
    let count = affected.count();
    let suppose = match simulated.lost.as_slice() {
        [] => String::new(),
        lost => format!("Without {}: ", lost.join(", ")),
    };
    let total = simulated.templates.len();
    page.wrap(
        0,
        &match count {
            0 if refused > 0 => format!("{suppose}nothing else would change."),
            0 => format!("{suppose}nothing would change ({total} templates looked at)."),
            _ => format!("{suppose}{count} of {total} templates would change. Nothing was done."),
        },
    );
    if refused > 0 {
        let said = match refused {
            1 => "1 object of those supposed would be refused, and is not counted.".to_owned(),
            _ => format!(
                "{refused} objects of those supposed would be refused, and are not counted."
            ),
        };
        page.wrap(0, &said);
    }
    write_unplaced(&mut page, simulated, all);
    for doubt in &simulated.doubts {
        page.wrap(0, &format!("Note: {doubt}."));
    }
    for fate in &simulated.templates {
        if fate.is_told() || all {
            write_fate(&mut page, fate);
        }
    }
    let mut clusters = simulated.templates.iter().flat_map(|fate| &fate.clusters);
    if clusters.any(ClusterFate::is_affected) {
        page.blank();
        page.push(&summary(simulated).to_string());
    }
    page.into_text()
}

/// What has no place now, and would have none: nothing happens to it, but somebody may wait for it.
fn write_unplaced(page: &mut Page, simulated: &Simulated, all: bool) {
    let stuck = simulated
        .templates
        .iter()
        .filter(|fate| fate.is_old_problem && !fate.is_affected());
    let names: Vec<String> = stuck.map(called).collect();
    let how = if all { "" } else { "; --all shows why" };
    match names.as_slice() {
        [] => {}
        [name] => page.wrap(
            0,
            &format!("{name} has no place now, and would have none{how}."),
        ),
        names => page.wrap(
            0,
            &format!(
                "{} templates have no place now, and would have none{how}.",
                names.len()
            ),
        ),
    }
}

/// The kind and the name of a template.
fn called(fate: &Fate) -> String {
    match fate.namespace.as_str() {
        "" => format!("{} {}", fate.kind, fate.name),
        namespace => format!("{} {namespace}/{}", fate.kind, fate.name),
    }
}

fn write_fate(page: &mut Page, fate: &Fate) {
    page.blank();
    let new = if fate.is_new { " (new)" } else { "" };
    page.wrap(0, &format!("{}{new}", called(fate)));
    match (&fate.policy, &fate.was_of) {
        (Some(policy), Some(was)) => {
            page.wrap(INDENT, &format!("claimed by {policy} instead of {was}"))
        }
        (Some(policy), None) => page.wrap(INDENT, &format!("claimed by {policy}")),
        (None, Some(was)) => page.wrap(INDENT, &format!("claimed by nobody instead of {was}")),
        (None, None) => {}
    }
    if !fate.with.is_empty() {
        page.wrap(
            INDENT,
            &format!("comes along with {}", fate.with.join(", ")),
        );
    }
    for said in fate.problem.iter().chain(&fate.remarks) {
        page.wrap(INDENT, said);
    }
    let mut table = Table::default();
    for cluster in &fate.clusters {
        table.rows.push(vec![
            cluster.cluster.clone(),
            replicas(cluster),
            told(cluster),
        ]);
    }
    table.narrow(WIDTH - INDENT);
    let mut widths = Vec::new();
    let _ = table.write(&mut widths);
    for (cluster, row) in fate.clusters.iter().zip(table.rows) {
        let line = Table {
            rows: vec![row],
            header: Vec::new(),
        };
        page.push(&format!("  {}", line.write(&mut widths)));
        if let Some(note) = &cluster.note {
            page.wrap(INDENT * 3, note);
        }
        match &cluster.what {
            What::Changed(lines) | What::Held(lines) => {
                for line in lines {
                    page.wrap(INDENT * 3, &line.to_string());
                }
            }
            What::Created => {
                for line in &cluster.overridden {
                    page.wrap(INDENT * 3, &line.to_string());
                }
            }
            What::Refused(why) | What::Conflict(why) => page.wrap(INDENT * 3, why),
            _ => {}
        }
    }
}

/// How many objects each cluster would get, lose and see changed.
fn summary(simulated: &Simulated) -> Table {
    let mut clusters: std::collections::BTreeMap<&str, [i64; 5]> = Default::default();
    for cluster in simulated.templates.iter().flat_map(|fate| &fate.clusters) {
        let counts = clusters.entry(&cluster.cluster).or_default();
        if cluster.is_old {
            continue;
        }
        let place = match cluster.what {
            What::Created => 0,
            What::Changed(_) => 1,
            What::Deleted => 2,
            What::Lost => 3,
            What::Stays
            | What::LetGo
            | What::Absent
            | What::Held(_)
            | What::Refused(_)
            | What::Conflict(_) => usize::MAX,
        };
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
        // What is held back or cannot come moves nothing.
        if place != usize::MAX || matches!(cluster.what, What::LetGo | What::Absent) {
            let count = |replicas: Option<i32>| i64::from(replicas.unwrap_or(0));
            counts[4] += count(cluster.after) - count(cluster.before);
        }
    }
    let mut table = Table::new(&[
        "CLUSTER", "CREATED", "CHANGED", "DELETED", "LOST", "REPLICAS",
    ]);
    for (cluster, [created, changed, deleted, lost, moved]) in clusters {
        let mut row = vec![cluster.to_owned()];
        row.extend([created, changed, deleted, lost].map(|count| count.to_string()));
        row.push(if moved == 0 {
            "0".to_owned()
        } else {
            format!("{moved:+}")
        });
        table.rows.push(row);
    }
    table.narrow(WIDTH);
    table
}

fn replicas(cluster: &ClusterFate) -> String {
    match (cluster.before, cluster.after) {
        (None, None) => String::new(),
        (Some(before), Some(after)) if before == after => format!("{before} replicas"),
        (Some(before), Some(after)) => format!("{before} -> {after} replicas"),
        (Some(before), None) => format!("{before} -> 0 replicas"),
        (None, Some(after)) => format!("0 -> {after} replicas"),
    }
}

/// What happens in a cluster, in a few words. What happens whatever is supposed is not counted, and said to be so.
fn told(cluster: &ClusterFate) -> String {
    let word = word(&cluster.what);
    match cluster.what {
        What::Created | What::Changed(_) if cluster.is_old => format!("{word} anyway"),
        What::Refused(_) | What::Conflict(_) if cluster.is_old => format!("{word} already"),
        _ => word.to_owned(),
    }
}

fn word(what: &What) -> &'static str {
    match what {
        What::Stays => "stays",
        What::Created => "created",
        What::Deleted => "deleted",
        What::LetGo => "stays, no longer managed",
        What::Absent => "is not there",
        What::Lost => "lost with its cluster",
        What::Changed(_) => "changed",
        What::Held(_) => "held back: dispatching is suspended",
        What::Refused(_) => "refused",
        What::Conflict(_) => "conflict",
    }
}

/// The same in one word, for programs.
fn action(what: &What) -> &'static str {
    match what {
        What::LetGo => "let go",
        What::Held(_) => "held back",
        What::Absent => "absent",
        other => word(other),
    }
}

/// Everything, for programs.
pub(super) fn to_value(simulated: &Simulated) -> Value {
    let lines = |lines: &[Line]| -> Vec<Value> {
        let lines = lines.iter();
        lines
            .map(|line| json!({"path": line.path, "before": line.before, "after": line.after}))
            .collect()
    };
    let cluster = |cluster: &ClusterFate| {
        json!({
            "name": cluster.cluster,
            "replicasBefore": cluster.before,
            "replicasAfter": cluster.after,
            "action": action(&cluster.what),
            "isAffected": cluster.is_affected(),
            "note": cluster.note,
            "changes": match &cluster.what {
                What::Changed(changes) | What::Held(changes) => lines(changes),
                _ => Vec::new(),
            },
            "overrides": lines(&cluster.overridden),
            "reason": match &cluster.what {
                What::Refused(why) | What::Conflict(why) => Some(why),
                _ => None,
            },
        })
    };
    let template = |fate: &Fate| {
        json!({
            "kind": fate.kind,
            "namespace": fate.namespace,
            "name": fate.name,
            "isNew": fate.is_new,
            "isAffected": fate.is_affected(),
            "policy": fate.policy,
            "formerPolicy": fate.was_of,
            "comesAlongWith": fate.with,
            "problem": fate.problem,
            "isOldProblem": fate.is_old_problem,
            "isEdited": fate.is_edited,
            "remarks": fate.remarks,
            "clusters": fate.clusters.iter().map(cluster).collect::<Vec<Value>>(),
        })
    };
    json!({
        "lost": simulated.lost,
        "doubts": simulated.doubts,
        "templates": simulated.templates.iter().map(template).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_moves_and_what_changes() {
        let cluster = |name: &str, before, after, what| ClusterFate {
            cluster: name.to_owned(),
            before,
            after,
            what,
            ..ClusterFate::default()
        };
        let simulated = Simulated {
            lost: vec!["east".to_owned()],
            doubts: vec!["nobody knows".to_owned()],
            templates: vec![
                Fate {
                    kind: "Deployment".to_owned(),
                    namespace: "shop".to_owned(),
                    name: "web".to_owned(),
                    policy: Some("PropagationPolicy shop/p".to_owned()),
                    clusters: vec![
                        cluster("east", Some(2), None, What::Lost),
                        cluster(
                            "west",
                            Some(4),
                            Some(6),
                            What::Changed(vec![Line {
                                path: "/spec/replicas".to_owned(),
                                before: Some(json!(4)),
                                after: Some(json!(6)),
                            }]),
                        ),
                    ],
                    ..Fate::default()
                },
                Fate {
                    kind: "ConfigMap".to_owned(),
                    name: "same".to_owned(),
                    clusters: vec![ClusterFate {
                        is_old: true,
                        ..cluster("west", None, None, What::Refused("as before".to_owned()))
                    }],
                    ..Fate::default()
                },
                Fate {
                    kind: "ConfigMap".to_owned(),
                    name: "held".to_owned(),
                    clusters: vec![
                        cluster("north", None, None, What::Held(Vec::new())),
                        ClusterFate {
                            note: Some("is there already".to_owned()),
                            ..cluster("west", None, None, What::Stays)
                        },
                    ],
                    ..Fate::default()
                },
                Fate {
                    kind: "ConfigMap".to_owned(),
                    name: "unselected".to_owned(),
                    is_supposed: true,
                    remarks: vec!["goes to no cluster".to_owned()],
                    ..Fate::default()
                },
                Fate {
                    kind: "Job".to_owned(),
                    name: "stuck".to_owned(),
                    problem: Some("no cluster has room".to_owned()),
                    is_old_problem: true,
                    ..Fate::default()
                },
            ],
        };
        assert_eq!(
            write(&simulated, false, 0),
            "Without east: 2 of 5 templates would change. Nothing was done.
Job stuck has no place now, and would have none; --all shows why.
Note: nobody knows.

Deployment shop/web
  claimed by PropagationPolicy shop/p
  east   2 -> 0 replicas   lost with its cluster
  west   4 -> 6 replicas   changed
      ~ /spec/replicas 4 -> 6

ConfigMap held
  north      held back: dispatching is suspended
  west       stays
      is there already

ConfigMap unselected
  goes to no cluster

CLUSTER   CREATED   CHANGED   DELETED   LOST   REPLICAS
east      0         0         0         1      -2
north     0         0         0         0      0
west      0         1         0         0      +2
"
        );
    }
}

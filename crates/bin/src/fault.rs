//! `karavel sim fault`: stages trouble in simulated members that run.
//!
//! A member answers for its faults on a path of its own API, past the faults themselves and behind the same roles as
//! everything else, so a kubeconfig is all that is needed to reach it.

use cli::{Failure, Reach};
use client::{CallError, Client};
use http::Method;
use object::Value;
use object::duration::Duration;
use serde_json::json;

use crate::arguments::{Fault, Trouble};
use crate::{print, running};

const MERGE: &str = "application/merge-patch+json";

/// Does it to every member that is named.
pub(crate) fn run(reach: &Reach, typed: &Fault) -> Result<(), Failure> {
    let members: Vec<Option<String>> = if typed.members.is_empty() {
        vec![reach.context.clone()]
    } else {
        typed.members.iter().cloned().map(Some).collect()
    };
    running::block_on(async {
        for context in members {
            let reach = Reach {
                context: context.clone(),
                ..reach.clone()
            };
            let name = context.unwrap_or_else(|| "the member".to_owned());
            let client = reach.connect().await?;
            let said = stage(&client, &typed.trouble)
                .await
                .map_err(|failure| failure.prefixed(&format!("{name}: ")))?;
            print(&format!("{name}: {said}\n"))?;
        }
        Ok(())
    })?
}

/// Does it to one member; what is wrong with it afterwards.
async fn stage(client: &Client, trouble: &Trouble) -> Result<String, Failure> {
    match trouble {
        Trouble::Show => Ok(describe(
            &ask(client, Method::GET, sim::FAULTS_PATH, None).await?,
        )),
        Trouble::Restart { lose_data } => {
            let query = if *lose_data { "?data=lost" } else { "" };
            let path = format!("{}{query}", sim::RESTART_PATH);
            ask(client, Method::POST, &path, None).await?;
            Ok(match lose_data {
                true => "has restarted without its data".to_owned(),
                false => "has restarted with its data".to_owned(),
            })
        }
        Trouble::Heal { fault: None, .. } => Ok(describe(
            &ask(client, Method::DELETE, sim::FAULTS_PATH, None).await?,
        )),
        other => {
            let present = ask(client, Method::GET, sim::FAULTS_PATH, None).await?;
            let patch = change(&present, other)?;
            let after = ask(client, Method::PATCH, sim::FAULTS_PATH, Some(&patch)).await?;
            Ok(describe(&after))
        }
    }
}

async fn ask(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Failure> {
    let bytes = body.map(ToString::to_string).unwrap_or_default();
    let answer = client.request(method, path, MERGE, bytes.into()).await;
    let answer = answer.map_err(|error| explain(&error))?;
    serde_json::from_slice(&answer).map_err(|_| not_simulated())
}

fn explain(error: &CallError) -> Failure {
    match error.code() {
        404 => not_simulated(),
        400 => match error.refusal() {
            Some(refusal) => Failure::refused(
                refusal.message.clone(),
                "look at what there is with kubectl, and at what is wrong with `karavel sim fault show`",
            ),
            None => cli::call_failure(error),
        },
        _ => cli::call_failure(error),
    }
}

fn not_simulated() -> Failure {
    Failure::refused(
        "this is no simulated member",
        "name one with --member: a context of the kubeconfig that `karavel sim` or `karavel up` wrote",
    )
}

/// The fields of the faults' document that change.
fn change(present: &Value, trouble: &Trouble) -> Result<Value, Failure> {
    let with = |field: &str, added: &[String]| {
        let mut names: Vec<Value> = list(present, field).to_vec();
        names.extend(added.iter().map(|name| json!(name)));
        json!({ field: names })
    };
    Ok(match trouble {
        Trouble::CutOff => json!({"cutOff": true}),
        Trouble::Slow { by } => json!({"delayMillis": millis(by)?}),
        Trouble::Fail { share } => json!({"failPercent": percent(share)?}),
        Trouble::LoseNode { nodes } => with("lostNodes", nodes),
        Trouble::FillNode { nodes } => with("fullNodes", nodes),
        Trouble::AddNodes { count } => json!({"extraNodes": count}),
        Trouble::FailPods { workloads } => with("failingWorkloads", &qualified(workloads)),
        Trouble::DropGroup { groups } => with("droppedGroups", groups),
        Trouble::Heal {
            fault: Some(fault),
            names,
        } => healed(present, fault, names)?,
        // These are calls of their own.
        Trouble::Show | Trouble::Restart { .. } | Trouble::Heal { fault: None, .. } => json!({}),
    })
}

fn healed(present: &Value, fault: &str, names: &[String]) -> Result<Value, Failure> {
    let (field, none) = match fault {
        "cut-off" => ("cutOff", json!(false)),
        "slow" => ("delayMillis", json!(0)),
        "fail" => ("failPercent", json!(0)),
        "add-nodes" => ("extraNodes", json!(0)),
        "lose-node" => ("lostNodes", json!([])),
        "fill-node" => ("fullNodes", json!([])),
        "fail-pods" => ("failingWorkloads", json!([])),
        _ => ("droppedGroups", json!([])),
    };
    if names.is_empty() {
        return Ok(json!({ field: none }));
    }
    if !none.is_array() {
        return Err(Failure::refused(
            format!("{fault} has no names"),
            format!("say `heal {fault}` alone"),
        ));
    }
    let names = match field {
        "failingWorkloads" => qualified(names),
        _ => names.to_vec(),
    };
    let known = list(present, field);
    if let Some(name) = names.iter().find(|name| !known.contains(&json!(name))) {
        return Err(Failure::refused(
            format!("{fault}: {name} is not in trouble"),
            "`karavel sim fault show` says what is wrong",
        ));
    }
    let rest = known
        .iter()
        .filter(|known| !names.iter().any(|name| *known == name));
    Ok(json!({ field: rest.collect::<Vec<_>>() }))
}

/// Names with their namespace; the default one unless they say another.
fn qualified(names: &[String]) -> Vec<String> {
    let with_namespace = |name: &String| match name.contains('/') {
        true => name.clone(),
        false => format!("default/{name}"),
    };
    names.iter().map(with_namespace).collect()
}

fn millis(text: &str) -> Result<u64, Failure> {
    let wait = text.parse::<Duration>().ok().map(Duration::to_wait);
    wait.and_then(|wait| u64::try_from(wait.as_millis()).ok())
        .ok_or_else(|| {
            Failure::refused(
                format!("slow: {text:?} is no time"),
                "write a time such as 500ms or 3s",
            )
        })
}

fn percent(text: &str) -> Result<u8, Failure> {
    let number = text.trim_end_matches('%').parse::<u8>().ok();
    number.filter(|number| *number <= 100).ok_or_else(|| {
        Failure::refused(
            format!("fail: {text:?} is no share"),
            "write how many of a hundred calls fail, such as 30 or 30%",
        )
    })
}

fn list<'v>(document: &'v Value, field: &str) -> &'v [Value] {
    let items = document.get(field).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// What is wrong, in a line.
fn describe(document: &Value) -> String {
    let number = |field: &str| document.get(field).and_then(Value::as_u64).unwrap_or(0);
    let mut parts: Vec<String> = Vec::new();
    if document.get("cutOff").and_then(Value::as_bool) == Some(true) {
        parts.push("cut off".to_owned());
    }
    if number("delayMillis") > 0 {
        parts.push(format!(
            "every call takes {} ms longer",
            number("delayMillis")
        ));
    }
    if number("failPercent") > 0 {
        parts.push(format!("{} of 100 calls fail", number("failPercent")));
    }
    if number("extraNodes") > 0 {
        parts.push(format!("{} nodes were added", number("extraNodes")));
    }
    for (field, what) in [
        ("lostNodes", "lost nodes"),
        ("fullNodes", "full nodes"),
        ("failingWorkloads", "failing workloads"),
        ("droppedGroups", "dropped groups"),
    ] {
        let names: Vec<&str> = list(document, field)
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if !names.is_empty() {
            parts.push(format!("{what}: {}", names.join(", ")));
        }
    }
    if parts.is_empty() {
        return "nothing is wrong".to_owned();
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn heal(fault: &str, which: &[&str]) -> Trouble {
        Trouble::Heal {
            fault: Some(fault.to_owned()),
            names: names(which),
        }
    }

    #[test]
    fn trouble_is_added_to_what_there_is_and_taken_from_it() {
        let present = json!({
            "cutOff": true, "lostNodes": ["n1"], "failingWorkloads": ["default/web"], "droppedGroups": ["batch"],
        });
        for (trouble, patch) in [
            (Trouble::CutOff, json!({"cutOff": true})),
            (
                Trouble::Slow {
                    by: "1.5s".to_owned(),
                },
                json!({"delayMillis": 1500}),
            ),
            (
                Trouble::Fail {
                    share: "30%".to_owned(),
                },
                json!({"failPercent": 30}),
            ),
            (
                Trouble::LoseNode {
                    nodes: names(&["n2"]),
                },
                json!({"lostNodes": ["n1", "n2"]}),
            ),
            (Trouble::AddNodes { count: 2 }, json!({"extraNodes": 2})),
            (
                Trouble::FailPods {
                    workloads: names(&["db", "shop/web"]),
                },
                json!({"failingWorkloads": ["default/web", "default/db", "shop/web"]}),
            ),
            (heal("cut-off", &[]), json!({"cutOff": false})),
            (heal("lose-node", &["n1"]), json!({"lostNodes": []})),
            (heal("fail-pods", &["web"]), json!({"failingWorkloads": []})),
            (heal("drop-group", &[]), json!({"droppedGroups": []})),
        ] {
            assert_eq!(change(&present, &trouble).unwrap(), patch, "{trouble:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        for (trouble, why) in [
            (
                Trouble::Slow {
                    by: "soon".to_owned(),
                },
                "slow: \"soon\" is no time",
            ),
            (
                Trouble::Fail {
                    share: "101".to_owned(),
                },
                "fail: \"101\" is no share",
            ),
            (heal("slow", &["n1"]), "slow has no names"),
            (
                heal("lose-node", &["n9"]),
                "lose-node: n9 is not in trouble",
            ),
        ] {
            let failure = change(&json!({}), &trouble).unwrap_err();
            assert_eq!(
                (failure.to_string().as_str(), failure.exit_code()),
                (why, 1)
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_line() {
        assert_eq!(
            describe(&json!({"cutOff": false, "lostNodes": []})),
            "nothing is wrong"
        );
        let document = json!({"cutOff": true, "failPercent": 30, "fullNodes": ["a", "b"]});
        assert_eq!(
            describe(&document),
            "cut off; 30 of 100 calls fail; full nodes: a, b"
        );
    }
}

//! What the tests of several plans share: objects from JSON, and plans as lines of text.

use intent::{Action, Plan, Wake};
use object::{Object, Value, time::Time};

/// An object from JSON.
pub(crate) fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// A time so many seconds after the tests began.
pub(crate) fn at(seconds: i64) -> Time {
    Time::from_unix_seconds(1_800_000_000 + seconds)
}

/// One line for each action, problem and wake.
pub(crate) fn lines(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan.actions.iter().map(line).collect();
    for problem in &plan.problems {
        lines.push(format!("problem {}: {}", problem.subject, problem.message));
    }
    match plan.wake {
        Wake::OnChange => {}
        Wake::After(span) => lines.push(format!("wake after {}s", span.as_secs())),
        Wake::At(time) => lines.push(format!("wake at {time}")),
    }
    lines
}

/// One action in one line; times as seconds since the tests began.
pub(crate) fn line(action: &Action) -> String {
    let (kind, key) = (&action.kind().kind, action.key());
    let rest = match action {
        Action::Create { object, .. } => short(object),
        Action::Apply {
            object,
            manager,
            force,
            ..
        } => {
            format!(
                "by {manager}{} {}",
                if *force { ", forced" } else { "" },
                short(object)
            )
        }
        Action::Patch {
            uid,
            revision,
            patch,
            part,
            ..
        } => {
            let at = [uid, revision]
                .into_iter()
                .flatten()
                .map(|text| format!("@{text}"));
            let part = part
                .subresource()
                .map_or(String::new(), |part| format!("/{part}"));
            format!("{}{part} {patch}", at.collect::<String>())
        }
        Action::Replace { object, .. } => short(object),
        Action::Delete {
            uid,
            propagation,
            cause,
            ..
        } => {
            let propagation = propagation.map_or("", |propagation| propagation.as_str());
            format!("@{uid} {propagation} because {cause}")
        }
        Action::Report {
            kind,
            reason,
            message,
            ..
        } => {
            format!("{} {reason}: {message}", kind.as_str())
        }
    };
    let start = at(0).to_string();
    format!("{} {kind} {key} {rest}", action.verb()).replace(&start, "<t0>")
}

/// Without what the line says already.
fn short(object: &Object) -> String {
    let mut object = object.clone();
    for path in [
        &["apiVersion"][..],
        &["kind"],
        &["metadata", "name"],
        &["metadata", "namespace"],
    ] {
        object.remove(path);
    }
    serde_json::to_string(&object).unwrap()
}

/// Compares the lines of a plan with what is expected.
pub(crate) fn check(claim: &str, plan: &Plan, expected: &[&str]) {
    assert_eq!(lines(plan), expected, "{claim}");
}

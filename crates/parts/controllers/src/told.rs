//! Plans as lines of text, for the cases of all controllers.

use intent::{Action, Plan};
use object::Object;

/// The documents of a case.
pub(crate) fn documents(text: &str) -> Vec<Object> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// One document.
pub(crate) fn one(text: &str) -> Object {
    serde_saphyr::from_str(text).unwrap()
}

/// Each action as a line; objects and patches as compact JSON.
pub(crate) fn told(plan: &Plan) -> String {
    if plan.actions.is_empty() {
        return "nothing".to_owned();
    }
    plan.actions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The same without events.
pub(crate) fn done(plan: &Plan) -> String {
    let lines: Vec<String> = plan
        .actions
        .iter()
        .filter(|action| !matches!(action, Action::Report { .. }))
        .map(line)
        .collect();
    if lines.is_empty() {
        return "nothing".to_owned();
    }
    lines.join("\n")
}

fn line(action: &Action) -> String {
    let head = format!("{} {} {}", action.verb(), action.kind().kind, action.key());
    match action {
        Action::Create { object, .. } => {
            let mut fields = object.fields().clone();
            for known in ["apiVersion", "kind"] {
                fields.shift_remove(known);
            }
            format!("{head} {}", serde_json::to_string(&fields).unwrap())
        }
        Action::Patch {
            revision,
            patch,
            part,
            ..
        } => {
            let at = revision
                .as_deref()
                .map_or(String::new(), |revision| format!("@{revision}"));
            let part = part
                .subresource()
                .map_or(String::new(), |part| format!("/{part}"));
            format!("{head}{part}{at} {patch}")
        }
        Action::Delete { cause, .. } => format!("{head}: {cause}"),
        Action::Report {
            kind,
            reason,
            message,
            ..
        } => format!("{head} {} {reason}: {message}", kind.as_str()),
        Action::Apply { .. } | Action::Replace { .. } => head,
    }
}

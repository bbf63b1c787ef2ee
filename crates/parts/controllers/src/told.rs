//! Plans as lines of text, for the cases of all controllers.

use intent::{Action, EventKind, Plan};
use object::Object;

/// The documents of a case.
pub(crate) fn documents(text: &str) -> Vec<Object> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// One document.
pub(crate) fn one(text: &str) -> Object {
    serde_saphyr::from_str(text).unwrap()
}

/// Each action as a line, but for steps that went as they should; objects and patches as compact JSON.
pub(crate) fn told(plan: &Plan) -> String {
    lines(plan, |action| !is_step(action))
}

/// The steps that went as they should, each as a line.
pub(crate) fn steps(plan: &Plan) -> String {
    lines(plan, is_step)
}

/// The same without events.
pub(crate) fn done(plan: &Plan) -> String {
    lines(plan, |action| !matches!(action, Action::Report { .. }))
}

fn is_step(action: &Action) -> bool {
    let step = EventKind::Progress;
    matches!(action, Action::Report { kind, .. } if *kind == step)
}

fn lines(plan: &Plan, wanted: impl Fn(&Action) -> bool) -> String {
    let actions = plan.actions.iter().filter(|action| wanted(action));
    let lines: Vec<String> = actions.map(line).collect();
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

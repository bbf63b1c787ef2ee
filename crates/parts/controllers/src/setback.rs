//! What keeps a binding from being carried out as its author meant, told as a condition of the binding.
//!
//! A condition that was never needed is not there. One that was stays and says that all is well again, so that whoever
//! mended it sees when that was noticed. Each type has one writer; `FullyApplied` does not hold while one of them is false.

use api::{
    well_known::conditions::binding::{POLICY_APPLIED, RENDERED, SUCCESS},
    work::v1alpha2::ResourceBindingStatus,
};
use intent::{Action, Part};
use object::{
    Object, Value,
    condition::{Condition, is_false, with_condition},
    time::Time,
};
use serde_json::json;

use crate::binding_view;

/// Why a binding is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// The reason of the condition; that of the event about the same.
    pub reason: &'static str,
    /// What went wrong and where.
    pub message: String,
}

/// Makes the condition of that type say what it should; `None` if it does.
///
/// The list of conditions is everybody's, so it is written only to the revision that was looked at.
#[must_use]
pub fn tell(
    binding: &Object,
    current: &ResourceBindingStatus,
    r#type: &str,
    setback: Option<&Setback>,
    now: Time,
) -> Option<Action> {
    let next = match setback {
        Some(setback) => Condition::new(
            r#type,
            false.into(),
            setback.reason,
            setback.message.as_str(),
        ),
        None if is_false(&current.conditions, r#type) => {
            Condition::new(r#type, true.into(), SUCCESS, "")
        }
        None => return None,
    };
    let (conditions, is_new) = with_condition(current.conditions.clone(), next, now);
    is_new.then(|| {
        Action::patch(
            binding_view::resource(binding.namespace()),
            binding,
            json!({"status": {"conditions": conditions}}),
            Part::Status,
        )
    })
}

/// The messages of all setbacks that a binding has.
#[must_use]
pub fn of_binding(binding: &Object) -> Vec<&str> {
    let conditions = binding
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| {
            text(condition, "status") == "False"
                && [POLICY_APPLIED, RENDERED].contains(&text(condition, "type"))
        })
        .map(|condition| text(condition, "message"))
        .collect()
}

fn text<'v>(condition: &'v Value, field: &str) -> &'v str {
    let found = condition.get(field).and_then(Value::as_str);
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        binding_view::Binding,
        told::{one, told},
    };

    /// What is written to a binding with these conditions.
    fn story(conditions: &str, setback: Option<&str>) -> String {
        let object = one(&format!(
            "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: b, namespace: test, resourceVersion: '9'}}, spec: {{resource: {{apiVersion: v1, kind: X, name: x}}}}, status: {{conditions: [{conditions}]}}}}"
        ));
        let current = Binding::read(&object).unwrap().status;
        let setback = setback.map(|message| Setback {
            reason: "R",
            message: message.to_owned(),
        });
        let now: Time = "2026-01-02T03:04:05Z".parse().unwrap();
        let action = tell(&object, &current, RENDERED, setback.as_ref(), now);
        let mut plan = intent::Plan::default();
        plan.extend(action);
        told(&plan)
    }

    const BAD: &str = "{type: Rendered, status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z', reason: R, message: m1}";

    #[test]
    fn a_condition_comes_with_the_first_setback_and_says_when_it_is_over() {
        assert_eq!(story("", None), "nothing");
        assert_eq!(
            story("", Some("m1")),
            r#"patch ResourceBinding test/b/status@9 {"status":{"conditions":[{"type":"Rendered","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R","message":"m1"}]}}"#
        );
        assert_eq!(story(BAD, Some("m1")), "nothing");
        assert_eq!(
            story(BAD, None),
            r#"patch ResourceBinding test/b/status@9 {"status":{"conditions":[{"type":"Rendered","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Success","message":""}]}}"#
        );
        let over = BAD
            .replace("'False'", "'True'")
            .replace("reason: R", "reason: Success");
        assert_eq!(story(&over, None), "nothing");
    }

    #[test]
    fn only_setbacks_are_found() {
        let binding = one(&format!(
            "{{status: {{conditions: [{BAD}, {{type: Scheduled, status: 'False', message: no}}, {{type: PolicyApplied, status: 'True', message: ''}}]}}}}"
        ));
        assert_eq!(of_binding(&binding), ["m1"]);
        assert!(of_binding(&Object::default()).is_empty());
    }
}

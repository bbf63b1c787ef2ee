use std::sync::Arc;

use serde_json::{Value, json};

use super::plan::{Inputs, plan};
use object::Object;

fn role(name: &str, labels: Value, rules: Value) -> Arc<Object> {
    let role = json!({"metadata": {"name": name, "labels": labels}, "rules": rules});
    Arc::new(Object::from_value(role).unwrap())
}

fn together(selectors: Value, rules: Value) -> Arc<Object> {
    let role = json!({"metadata": {"name": "admin", "uid": "u", "labels": {"a": "1"}},
                      "aggregationRule": {"clusterRoleSelectors": selectors}, "rules": rules});
    Arc::new(Object::from_value(role).unwrap())
}

fn rule(word: &str) -> Value {
    json!({"verbs": ["get"], "apiGroups": [""], "resources": [word]})
}

/// The rules it is to have; `None` if nothing is to be done.
fn planned(role: Arc<Object>, others: &[Arc<Object>]) -> (Option<Value>, usize) {
    let mut roles = vec![Arc::clone(&role)];
    roles.extend_from_slice(others);
    let plan = plan(&Inputs {
        role: &role,
        roles: &roles,
    });
    let patch = match plan.actions.as_slice() {
        [intent::Action::Patch { patch, .. }] => Some(patch["rules"].clone()),
        _ => None,
    };
    (patch, plan.problems.len())
}

#[test]
fn a_role_has_the_rules_of_all_it_selects_each_once() {
    let others = [
        role(
            "edit",
            json!({"a": "1"}),
            json!([rule("pods"), rule("secrets")]),
        ),
        role("other", json!({"b": "1"}), json!([rule("nodes")])),
        role("view", json!({"a": "1", "b": "1"}), json!([rule("pods")])),
        role("empty", json!({"a": "1"}), json!(null)),
    ];
    let both = json!([{"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}]);
    let all = json!([rule("pods"), rule("secrets"), rule("nodes")]);
    assert_eq!(
        planned(together(both.clone(), json!(null)), &others),
        (Some(all.clone()), 0)
    );
    assert_eq!(planned(together(both, all.clone()), &others), (None, 0));
    // Its own rules are not among those it selects, and what nobody gives any more goes.
    let one = json!([{"matchLabels": {"a": "1"}}]);
    assert_eq!(
        planned(together(one.clone(), all), &[]),
        (Some(json!([])), 0)
    );
    assert_eq!(planned(together(one, json!(null)), &[]), (None, 0));
}

#[test]
fn a_selector_that_makes_no_sense_is_a_problem_and_not_a_change() {
    for selector in [
        json!(7),
        json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
    ] {
        let (patch, problems) = planned(together(json!([selector]), json!([rule("pods")])), &[]);
        assert_eq!((patch, problems), (None, 1));
    }
}

use serde_json::json;

use super::*;

const CHECKS: &str = "authorizer.requestResource.check('get').allowed()";
const TELLS: &str = "authorizer.requestResource.check('get').reason()";

/// A policy with one variable, a condition, and a check with a message.
fn policy(condition: &str, check: &str, message: &str) -> Value {
    json!({
        "metadata": {"name": "p"},
        "spec": {
            "variables": [{"name": "mine", "expression": CHECKS}],
            "matchConditions": [{"name": "c", "expression": condition}],
            "validations": [{"expression": check, "messageExpression": message}],
            "auditAnnotations": [{"key": "k", "valueExpression": TELLS}],
        },
    })
}

fn places(old: Option<&Value>, new: &Value) -> Vec<String> {
    let problems = Policy::problems(old, new).into_iter();
    problems.map(|problem| problem.path.to_string()).collect()
}

#[test]
fn conditions_know_no_variables_and_messages_nobodys_rights() {
    let (condition, message) = (
        "spec.matchConditions[0].expression",
        "spec.validations[0].messageExpression",
    );
    for (policy, refused) in [
        (policy(CHECKS, CHECKS, "string(variables.mine)"), vec![]),
        (policy("true", "variables.mine", "'no'"), vec![]),
        (policy("variables.mine", "true", "'no'"), vec![condition]),
        (policy("true", "true", TELLS), vec![message]),
        (
            policy("variables.mine", "true", TELLS),
            vec![condition, message],
        ),
    ] {
        assert_eq!(places(None, &policy), refused, "{policy}");
        assert!(
            Policy::read(&policy).is_ok(),
            "one that is stored is understood: {policy}"
        );
    }
}

#[test]
fn what_was_there_before_is_not_held_against_a_change_elsewhere() {
    let old = policy("variables.mine", "true", TELLS);
    let mut labelled = old.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(places(Some(&old), &labelled), [""; 0]);
    let mut judged = old.clone();
    judged["spec"]["validations"][0]["expression"] = json!("false");
    assert_eq!(
        places(Some(&old), &judged),
        ["spec.validations[0].messageExpression"]
    );
    let mut chosen = old.clone();
    chosen["spec"]["matchConditions"][0]["name"] = json!("d");
    assert_eq!(
        places(Some(&old), &chosen),
        ["spec.matchConditions[0].expression"]
    );
}

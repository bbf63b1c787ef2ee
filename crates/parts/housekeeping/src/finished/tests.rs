use serde_json::{Value, json};

use super::plan::plan;
use object::Object;
use object::time::Time;

const END: &str = "2026-01-01T00:00:00Z";

fn check(ttl: Value, condition: &str, after: i64, expected: &str) {
    let job = json!({
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "3"},
        "spec": {"ttlSecondsAfterFinished": ttl},
        "status": {"conditions": [
            {"type": "Suspended", "status": "True", "lastTransitionTime": END},
            {"type": condition, "status": "True", "lastTransitionTime": END},
        ]},
    });
    let job = Object::from_value(job).unwrap();
    let now = END.parse::<Time>().unwrap().plus_seconds(after);
    let plan = plan(&job, now);
    let verbs: Vec<&str> = plan.actions.iter().map(|action| action.verb()).collect();
    let wake = serde_json::to_value(plan.wake).unwrap();
    let found = format!("{} {}", verbs.join(" "), wake.as_str().unwrap());
    assert_eq!(found.trim(), expected);
}

#[test]
fn a_finished_job_goes_when_its_time_is_over_and_not_before() {
    check(json!(60), "Complete", 59, "2026-01-01T00:01:00Z");
    check(json!(60), "Complete", 60, "delete onChange");
    check(json!(60), "Failed", 61, "delete onChange");
    check(json!(0), "Complete", 0, "delete onChange");
    check(json!(i64::MAX), "Complete", 60, "9999-12-31T23:59:59Z");
    check(json!(null), "Complete", 9_999, "onChange");
    check(json!(60), "FailureTarget", 9_999, "onChange");
}

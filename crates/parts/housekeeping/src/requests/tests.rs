use serde_json::{Value, json};

use super::plan::plan;
use object::Object;
use object::time::Time;

const START: &str = "2026-01-01T00:00:00Z";

/// How many minutes after the request was made and decided it goes.
fn goes_after(status: Value) -> i64 {
    let request = json!({"metadata": {"name": "r", "uid": "u", "creationTimestamp": START}, "status": status});
    let request = Object::from_value(request).unwrap();
    let start: Time = START.parse().unwrap();
    let minutes = (0..10_000).find(|minutes| {
        let plan = plan(&request, start.plus_seconds(minutes * 60));
        !plan.is_empty()
    });
    minutes.unwrap_or(-1)
}

#[test]
fn requests_go_an_hour_after_the_decision_or_a_day_after_nobody_decided() {
    let condition = |r#type: &str| json!([{"type": r#type, "lastUpdateTime": START}]);
    assert_eq!(goes_after(json!({})), 24 * 60);
    assert_eq!(
        goes_after(json!({"conditions": condition("Approved"), "certificate": "eA=="})),
        60
    );
    assert_eq!(
        goes_after(json!({"conditions": condition("Approved")})),
        24 * 60
    );
    assert_eq!(goes_after(json!({"conditions": condition("Denied")})), 60);
    assert_eq!(goes_after(json!({"conditions": condition("Failed")})), 60);
}

#[test]
fn a_request_without_a_time_stays() {
    let request = Object::from_value(json!({"metadata": {"name": "r"}})).unwrap();
    assert!(plan(&request, Time::MAX).is_empty());
}

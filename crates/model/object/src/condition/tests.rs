use serde_json::json;

use super::*;

/// Minutes into a day.
fn minute(minute: i64) -> Time {
    "2026-01-01T00:00:00Z"
        .parse::<Time>()
        .unwrap()
        .plus_seconds(minute * 60)
}

/// `Ready=True@0 reason message #3` in short: status, minute of transition, reason, message and generation.
fn show(conditions: &[Condition]) -> String {
    let lines = conditions.iter().map(|condition| {
        let since = condition.last_transition_time.map_or_else(
            || "never".to_owned(),
            |time| format!("{}m", time.seconds_since(minute(0)) / 60),
        );
        format!(
            "{}={}@{since} {} {:?} #{}",
            condition.r#type,
            condition.status,
            condition.reason,
            condition.message,
            condition.observed_generation
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

fn ready() -> Vec<Condition> {
    let condition =
        Condition::new("Ready", ConditionStatus::True, "Up", "all is well").observed_at(3);
    with_condition(Vec::new(), condition, minute(0)).0
}

#[test]
fn setting_a_condition_moves_its_time_only_with_its_status() {
    let check = |new: Condition, expected: &str, changed: bool| {
        let (conditions, is_changed) = with_condition(ready(), new, minute(5));
        assert_eq!(
            (show(&conditions).as_str(), is_changed),
            (expected, changed)
        );
    };
    let up = || Condition::new("Ready", ConditionStatus::True, "Up", "all is well").observed_at(3);
    let at = |condition: Condition, time| Condition {
        last_transition_time: Some(time),
        ..condition
    };
    check(up(), r#"Ready=True@0m Up "all is well" #3"#, false);
    check(
        at(up(), minute(2)),
        r#"Ready=True@0m Up "all is well" #3"#,
        false,
    );
    check(
        up().observed_at(4),
        r#"Ready=True@0m Up "all is well" #4"#,
        true,
    );
    check(
        Condition {
            message: "fine".to_owned(),
            ..up()
        },
        r#"Ready=True@0m Up "fine" #3"#,
        true,
    );
    check(
        Condition {
            reason: "Fine".to_owned(),
            ..up()
        },
        r#"Ready=True@0m Fine "all is well" #3"#,
        true,
    );
    let down = || Condition::new("Ready", ConditionStatus::False, "Down", "");
    check(down(), r#"Ready=False@5m Down "" #0"#, true);
    check(at(down(), minute(2)), r#"Ready=False@2m Down "" #0"#, true);
    let other = || Condition::new("Synced", ConditionStatus::Unknown, "New", "");
    check(
        other(),
        r#"Ready=True@0m Up "all is well" #3; Synced=Unknown@5m New "" #0"#,
        true,
    );
    check(
        at(other(), minute(1)),
        r#"Ready=True@0m Up "all is well" #3; Synced=Unknown@1m New "" #0"#,
        true,
    );
}

#[test]
fn a_condition_without_a_time_gets_one_only_when_its_status_changes() {
    let timeless = vec![Condition::new("Ready", ConditionStatus::True, "Up", "")];
    let same = Condition::new("Ready", ConditionStatus::True, "Up", "");
    assert_eq!(
        with_condition(timeless.clone(), same, minute(1)),
        (timeless.clone(), false)
    );
    let other = Condition::new("Ready", ConditionStatus::False, "Up", "");
    assert_eq!(
        show(&with_condition(timeless, other, minute(1)).0),
        r#"Ready=False@1m Up "" #0"#
    );
}

#[test]
fn conditions_are_found_by_type() {
    let conditions = ready();
    assert!(is_true(&conditions, "Ready"));
    assert!(!is_false(&conditions, "Ready"));
    assert!(!is_true(&conditions, "ready"));
    assert!(!is_false(&conditions, "Synced"));
    assert!(find(&conditions, "Ready").is_some_and(Condition::is_true));
    assert!(find(&conditions, "Synced").is_none());
    assert_eq!(
        without_condition(conditions.clone(), "Synced"),
        (conditions.clone(), false)
    );
    assert_eq!(without_condition(conditions, "Ready"), (Vec::new(), true));
    assert_eq!(ConditionStatus::from(true), ConditionStatus::True);
    assert_eq!(ConditionStatus::from(false), ConditionStatus::False);
}

#[test]
fn documents_hold_fields_in_the_usual_order_and_leave_generation_zero_out() {
    let text = |condition: &Condition| serde_json::to_string(condition).unwrap();
    let [condition] = ready().try_into().unwrap();
    assert_eq!(
        text(&condition),
        r#"{"type":"Ready","status":"True","observedGeneration":3,"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Up","message":"all is well"}"#
    );
    assert_eq!(
        serde_json::from_str::<Condition>(&text(&condition)).unwrap(),
        condition
    );
    let bare: Condition =
        serde_json::from_value(json!({"type": "Ready", "status": "Unknown"})).unwrap();
    assert_eq!(
        text(&bare),
        r#"{"type":"Ready","status":"Unknown","lastTransitionTime":null,"reason":"","message":""}"#
    );
    for (wrong, complaint) in [
        (json!({"type": "Ready"}), "missing field `status`"),
        (json!({"status": "True"}), "missing field `type`"),
        (
            json!({"type": "Ready", "status": "true"}),
            "unknown variant `true`, expected one of `True`, `False`, `Unknown`",
        ),
        (
            json!({"type": "Ready", "status": "True", "lastTransitionTime": 5}),
            "expected a time such as",
        ),
    ] {
        let problem = serde_json::from_value::<Condition>(wrong)
            .unwrap_err()
            .to_string();
        assert!(problem.contains(complaint), "{problem}");
    }
}

#[test]
fn the_schema_states_the_limits() {
    let schema = schemars::schema_for!(Condition);
    assert_eq!(
        schema.get("required"),
        Some(&json!([
            "lastTransitionTime",
            "message",
            "reason",
            "status",
            "type"
        ]))
    );
    let limits = |field: &str, limit: &str| {
        schema
            .pointer(&format!("/properties/{field}/{limit}"))
            .cloned()
    };
    assert_eq!(limits("type", "maxLength"), Some(json!(316)));
    assert_eq!(limits("reason", "minLength"), Some(json!(1)));
    assert_eq!(limits("reason", "maxLength"), Some(json!(1024)));
    assert_eq!(limits("message", "maxLength"), Some(json!(32768)));
    assert_eq!(limits("observedGeneration", "minimum"), Some(json!(0)));
    assert_eq!(
        limits("status", "enum"),
        Some(json!(["True", "False", "Unknown"]))
    );
    assert_eq!(
        limits("lastTransitionTime", "format"),
        Some(json!("date-time"))
    );
}

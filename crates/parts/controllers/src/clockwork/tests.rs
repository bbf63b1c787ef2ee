//! Cases: a CronFederatedHPA and the time in; what is due, what is written and when it is looked at again out.

use api::{autoscaling::CronFederatedHPA, read::read};
use object::{ResourceType, time::Time};

use super::plan::{Run, Target, due, scale, tell};
use crate::told::{one, told};

/// A rule for nine o'clock, and what is known of it.
fn cron(rule: &str, history: &str) -> String {
    format!(
        "{{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, metadata: {{name: c, namespace: test, uid: u}}, spec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}, rules: [{{name: up, schedule: '0 9 * * *', targetReplicas: 4{rule}}}]}}, status: {{executionHistories: [{{ruleName: up{history}}}]}}}}"
    )
}

fn story(document: &str, outcome: Result<(), &str>, now: &str) -> String {
    let object = one(document);
    let cron: CronFederatedHPA = read(&object).unwrap();
    let now: Time = now.parse().unwrap();
    let runs: Vec<Run<'_>> = due(&cron, now)
        .into_iter()
        .map(|due| Run {
            due,
            outcome: outcome.map_err(str::to_owned),
        })
        .collect();
    let plan = tell(&object, &cron, &runs, now);
    format!(
        "{}\n{}",
        told(&plan),
        serde_json::to_string(&plan.wake).unwrap()
    )
}

const NEXT: &str = ", nextExecutionTime: '2026-01-02T09:00:00Z'";

#[test]
fn a_rule_acts_when_its_time_has_come() {
    insta::assert_snapshot!(story(&cron("", ""), Ok(()), "2026-01-02T08:00:00Z"), @r#"
    patch CronFederatedHPA test/c/status {"status":{"executionHistories":[{"ruleName":"up","nextExecutionTime":"2026-01-02T09:00:00Z"}]}}
    "2026-01-02T09:00:00Z"
    "#);
    insta::assert_snapshot!(story(&cron("", NEXT), Ok(()), "2026-01-02T08:59:00Z"), @r#"
    nothing
    "2026-01-02T09:00:00Z"
    "#);
    insta::assert_snapshot!(story(&cron("", NEXT), Ok(()), "2026-01-02T09:00:01Z"), @r#"
    patch CronFederatedHPA test/c/status {"status":{"executionHistories":[{"ruleName":"up","nextExecutionTime":"2026-01-03T09:00:00Z","successfulExecutions":[{"scheduleTime":"2026-01-02T09:00:00Z","executionTime":"2026-01-02T09:00:01Z","appliedReplicas":4}]}]}}
    "2026-01-03T09:00:00Z"
    "#);
    insta::assert_snapshot!(story(&cron("", NEXT), Err("no room"), "2026-01-02T09:00:01Z"), @r#"
    patch CronFederatedHPA test/c/status {"status":{"executionHistories":[{"ruleName":"up","nextExecutionTime":"2026-01-03T09:00:00Z","failedExecutions":[{"scheduleTime":"2026-01-02T09:00:00Z","executionTime":"2026-01-02T09:00:01Z","message":"no room"}]}]}}
    report CronFederatedHPA test/c Warning ScaleFailed: rule up: no room
    "2026-01-03T09:00:00Z"
    "#);
}

#[test]
fn what_is_not_due_is_not_done() {
    let cases = [
        // It passed while nobody looked.
        (cron("", NEXT), "2026-01-02T09:05:00Z"),
        // It is one of a schedule that the rule had before.
        (
            cron("", ", nextExecutionTime: '2026-01-02T08:30:00Z'"),
            "2026-01-02T08:30:01Z",
        ),
        // It rests.
        (cron(", suspend: true", NEXT), "2026-01-02T09:00:01Z"),
        // Nobody can tell when it acts.
        (
            cron(", timeZone: Mars/Olympus", NEXT),
            "2026-01-02T09:00:01Z",
        ),
    ];
    for (document, now) in cases {
        let read: CronFederatedHPA = read(&one(&document)).unwrap();
        assert_eq!(due(&read, now.parse().unwrap()), [], "{document}");
    }
    insta::assert_snapshot!(story(&cron(", suspend: true", NEXT), Ok(()), "2026-01-02T08:00:00Z"), @r#"
    patch CronFederatedHPA test/c/status {"status":{"executionHistories":[{"ruleName":"up"}]}}
    "onChange"
    "#);
    let unknown = story(
        &cron(", timeZone: Mars/Olympus", ""),
        Ok(()),
        "2026-01-02T08:00:00Z",
    );
    assert!(
        unknown.contains("StartRuleFailed: rule up: unknown time zone"),
        "{unknown}"
    );
}

#[test]
fn a_rule_acts_by_the_clocks_of_its_zone() {
    for (zone, next) in [
        ("", "2026-01-02T09:00:00Z"),
        (", timeZone: ''", "2026-01-02T09:00:00Z"),
        (", timeZone: UTC", "2026-01-02T09:00:00Z"),
        (", timeZone: Local", "2026-01-02T09:00:00Z"),
        (", timeZone: Europe/Berlin", "2026-01-03T08:00:00Z"),
    ] {
        let text = story(&cron(zone, ""), Ok(()), "2026-01-02T08:00:00Z");
        let noted = format!(r#""nextExecutionTime":"{next}""#);
        assert!(text.contains(&noted), "{zone}: {text}");
        assert!(!text.contains("Warning"), "{zone}: {text}");
    }
}

#[test]
fn the_latest_runs_are_kept_and_rules_that_went_are_forgotten() {
    let old = "{scheduleTime: '2026-01-01T09:00:00Z', executionTime: '2026-01-01T09:00:00Z', appliedReplicas: 4}";
    let history = format!("{NEXT}, successfulExecutions: [{old}, {old}]");
    let text = story(
        &cron(", successfulHistoryLimit: 2", &history),
        Ok(()),
        "2026-01-02T09:00:00Z",
    );
    assert_eq!(text.matches("appliedReplicas").count(), 2, "{text}");
    assert!(text.find("2026-01-02T09:00:00Z").unwrap() < text.find("2026-01-01").unwrap());
    let none = story(
        &cron(", failedHistoryLimit: 0", NEXT),
        Err("no room"),
        "2026-01-02T09:00:00Z",
    );
    assert!(!none.contains("failedExecutions"), "{none}");
    let renamed = cron("", NEXT).replace("ruleName: up", "ruleName: down");
    let text = story(&renamed, Ok(()), "2026-01-02T08:00:00Z");
    assert!(
        text.contains("\"up\"") && !text.contains("\"down\""),
        "{text}"
    );
}

#[test]
fn bounds_are_moved_where_they_differ_and_anything_else_is_scaled() {
    let document = cron(", targetMinReplicas: 2, targetMaxReplicas: 9", "");
    let read: CronFederatedHPA = read(&one(&document)).unwrap();
    let rule = &read.spec.rules[0];
    let bounds = |spec: &str| {
        let text = format!(
            "{{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {{name: f, namespace: test, uid: v}}, spec: {{{spec}}}}}"
        );
        told(&scale(rule, &Target::Autoscaler(&one(&text))))
    };
    insta::assert_snapshot!(bounds("minReplicas: 1, maxReplicas: 9"), @r#"patch FederatedHPA test/f {"spec":{"minReplicas":2}}"#);
    insta::assert_snapshot!(bounds("minReplicas: 2, maxReplicas: 9"), @"nothing");
    let template = one(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}, spec: {replicas: 1}}",
    );
    let target = Target::Template {
        resource: &ResourceType::namespaced("apps", "v1", "Deployment", "deployments"),
        object: &template,
    };
    insta::assert_snapshot!(told(&scale(rule, &target)), @r#"patch Deployment test/web/scale {"spec":{"replicas":4}}"#);
}

//! What a failed pod means for its Job: the rules of `podFailurePolicy`.

use object::{Object, Value};

use crate::read;

/// What becomes of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It counts, as any failure does without rules.
    Counts,
    /// It does not count; the pod is made anew.
    Ignored,
    /// The Job fails at once, because of this.
    FailsJob(String),
    /// The index fails for good.
    FailsIndex,
}

/// Judges a failed pod by the first rule that is about it.
pub(crate) fn judge(job: &Object, pod: &Object) -> Verdict {
    let rules = read::list(job, &["spec", "podFailurePolicy", "rules"]);
    for (place, rule) in rules.iter().enumerate() {
        let Some(why) = by_exit_code(rule, pod).or_else(|| by_condition(rule, pod)) else {
            continue;
        };
        return match read::text(rule, "action") {
            "Ignore" => Verdict::Ignored,
            "FailIndex" => Verdict::FailsIndex,
            "FailJob" => Verdict::FailsJob(format!("{why} matching FailJob rule at index {place}")),
            _ => Verdict::Counts,
        };
    }
    Verdict::Counts
}

fn by_exit_code(rule: &Value, pod: &Object) -> Option<String> {
    let wanted = rule.get("onExitCodes")?;
    let only = read::text(wanted, "containerName");
    let values = read::items(wanted, "values");
    let is_in = |code: i64| values.iter().any(|value| value.as_i64() == Some(code));
    ["containerStatuses", "initContainerStatuses"]
        .iter()
        .flat_map(|list| read::list(pod, &["status", list]))
        .find_map(|status| {
            let name = read::text(status, "name");
            let code = status
                .pointer("/state/terminated/exitCode")
                .and_then(Value::as_i64)
                .filter(|code| *code != 0 && (only.is_empty() || only == name))?;
            let is_meant = match read::text(wanted, "operator") {
                "NotIn" => !is_in(code),
                _ => is_in(code),
            };
            let (namespace, pod) = (pod.namespace(), pod.name());
            is_meant.then(|| {
                format!("Container {name} for pod {namespace}/{pod} failed with exit code {code}")
            })
        })
}

fn by_condition(rule: &Value, pod: &Object) -> Option<String> {
    read::items(rule, "onPodConditions")
        .iter()
        .find_map(|wanted| {
            let kind = read::text(wanted, "type");
            let state = match read::text(wanted, "status") {
                "" => "True",
                state => state,
            };
            let found = read::condition(pod, kind)?;
            let (namespace, pod) = (pod.namespace(), pod.name());
            (read::text(found, "status") == state)
                .then(|| format!("Pod {namespace}/{pod} has condition {kind}"))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rule_about_a_pod_counts() {
        let job = json!({"spec": {"podFailurePolicy": {"rules": [
            {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}},
            {"action": "Count", "onExitCodes": {"operator": "In", "values": [2]}},
        ]}}});
        let job = Object::from_value(job).unwrap();
        let fails =
            "Container main for pod d/p failed with exit code 42 matching FailJob rule at index 0";
        for (container, code, condition, verdict) in [
            ("main", 42, "", Verdict::FailsJob(fails.to_owned())),
            ("side", 42, "", Verdict::FailsIndex),
            ("main", 1, "DisruptionTarget", Verdict::Ignored),
            ("main", 1, "", Verdict::Counts),
            ("main", 2, "", Verdict::Counts),
            ("main", 3, "", Verdict::FailsIndex),
            ("main", 0, "", Verdict::Counts),
        ] {
            let pod = json!({"metadata": {"name": "p", "namespace": "d"}, "status": {
                "containerStatuses": [{"name": container, "state": {"terminated": {"exitCode": code}}}],
                "conditions": [{"type": condition, "status": "True"}],
            }});
            let pod = Object::from_value(pod).unwrap();
            assert_eq!(judge(&job, &pod), verdict, "{container} {code} {condition}");
        }
    }
}

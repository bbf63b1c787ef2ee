//! Holds what is asked for against limit ranges. Upstream: these sentences.

use object::Value;

use crate::amounts;
use crate::pod::{self, Asked};

/// Everything in which a new object exceeds one limit range; `resource` says whether it is a pod or a claim.
#[must_use]
pub fn problems(resource: &str, object: &Value, items: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for item in items {
        let sort = item.get("type").and_then(Value::as_str).unwrap_or_default();
        match (sort, resource) {
            ("Container", "pods") => {
                for container in pod::all_containers(object) {
                    let asked = Asked::read(container.get("resources"));
                    check(item, sort, &asked, &mut problems);
                }
            }
            ("Pod", "pods") => check(item, sort, &pod::whole(object), &mut problems),
            ("PersistentVolumeClaim", "persistentvolumeclaims") => {
                let asked = Asked::read(object.pointer("/spec/resources"));
                check_claim(item, sort, &asked, &mut problems);
            }
            _ => {}
        }
    }
    problems
}

fn check(item: &Value, sort: &str, asked: &Asked, problems: &mut Vec<String>) {
    for (resource, least) in amounts::read(item.get("min")) {
        let text = format!("minimum {resource} usage per {sort} is {least}");
        match (asked.requests.get(&resource), asked.limits.get(&resource)) {
            (None, _) => problems.push(format!("{text}.  No request is specified")),
            (Some(request), _) if *request < least => {
                problems.push(format!("{text}, but request is {request}"));
            }
            (_, Some(limit)) if *limit < least => {
                problems.push(format!("{text}, but limit is {limit}"));
            }
            _ => {}
        }
    }
    for (resource, most) in amounts::read(item.get("max")) {
        let text = format!("maximum {resource} usage per {sort} is {most}");
        match (asked.requests.get(&resource), asked.limits.get(&resource)) {
            (_, None) => problems.push(format!("{text}.  No limit is specified")),
            (_, Some(limit)) if *limit > most => {
                problems.push(format!("{text}, but limit is {limit}"));
            }
            (Some(request), _) if *request > most => {
                problems.push(format!("{text}, but request is {request}"));
            }
            _ => {}
        }
    }
    for (resource, most) in amounts::read(item.get("maxLimitRequestRatio")) {
        let text = format!("{resource} max limit to request ratio per {sort} is {most}");
        let given = |amounts: &amounts::Amounts| {
            let amount = amounts.get(&resource).copied();
            amount.filter(|amount| !amount.is_zero())
        };
        match (given(&asked.requests), given(&asked.limits)) {
            (None, _) => {
                problems.push(format!(
                    "{text}, but no request is specified or request is 0"
                ));
            }
            (_, None) => problems.push(format!("{text}, but no limit is specified or limit is 0")),
            (Some(request), Some(limit)) => {
                let ratio = limit.to_f64() / request.to_f64();
                if ratio > most.to_f64() {
                    problems.push(format!("{text}, but provided ratio is {ratio:.6}"));
                }
            }
        }
    }
}

/// A claim has no limits: it gets what it asks for.
fn check_claim(item: &Value, sort: &str, asked: &Asked, problems: &mut Vec<String>) {
    for (bound, word) in [("min", "minimum"), ("max", "maximum")] {
        for (resource, amount) in amounts::read(item.get(bound)) {
            let text = format!("{word} {resource} usage per {sort} is {amount}");
            let Some(request) = asked.requests.get(&resource) else {
                problems.push(format!("{text}.  No request is specified"));
                continue;
            };
            let is_beyond = match bound {
                "min" => *request < amount,
                _ => *request > amount,
            };
            if is_beyond {
                problems.push(format!("{text}, but request is {request}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(resource: &str, item: &Value, object: &Value, expected: &[&str]) {
        assert_eq!(
            problems(resource, object, std::slice::from_ref(item)),
            expected,
            "{item} {object}"
        );
    }

    #[test]
    fn what_exceeds_a_limit_range_is_told_in_kubernetes_words() {
        let item = json!({"type": "Container", "min": {"cpu": "50m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "4"}});
        let pod = |requests: Value, limits: Value| json!({"spec": {"containers": [{"resources": {"requests": requests, "limits": limits}}]}});
        let cpu = |amount: &str| json!({"cpu": amount});
        check("pods", &item, &pod(cpu("100m"), cpu("400m")), &[]);
        check(
            "pods",
            &item,
            &pod(json!({}), json!({})),
            &[
                "minimum cpu usage per Container is 50m.  No request is specified",
                "maximum cpu usage per Container is 1.  No limit is specified",
                "cpu max limit to request ratio per Container is 4, but no request is specified or request is 0",
            ],
        );
        check(
            "pods",
            &item,
            &pod(cpu("20m"), cpu("2")),
            &[
                "minimum cpu usage per Container is 50m, but request is 20m",
                "maximum cpu usage per Container is 1, but limit is 2",
                "cpu max limit to request ratio per Container is 4, but provided ratio is 100.000000",
            ],
        );
        let whole = json!({"type": "Pod", "max": {"memory": "1Gi"}});
        let memory = json!({"memory": "600Mi"});
        let two = json!({"spec": {"containers": [{"resources": {"limits": memory}}, {"resources": {"limits": memory}}]}});
        check(
            "pods",
            &whole,
            &two,
            &["maximum memory usage per Pod is 1Gi, but limit is 1200Mi"],
        );
        let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
        let item = json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}});
        let resource = "persistentvolumeclaims";
        for size in ["1Gi", "3Gi", "5Gi"] {
            check(resource, &item, &claim(size), &[]);
        }
        check(
            resource,
            &item,
            &claim("6Gi"),
            &["maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"],
        );
        check(
            resource,
            &item,
            &claim("1Mi"),
            &["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"],
        );
    }
}

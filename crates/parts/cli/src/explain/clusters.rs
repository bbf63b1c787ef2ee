//! What is known of a template in each cluster.

use std::collections::BTreeSet;

use api::names::cluster_of_execution_space;
use overrides::{Effect, RulePlace, Step};
use serde_json::{Value, json};

use super::facts::{Facts, targets};
use super::{Travels, Unseen, decisions};
use crate::masking::{self, When};
use crate::picture::{Placed, Share, completions};

/// A part for each cluster that a decision looked at, that has come since, is a target, has a work or has reported a status,
/// by name.
pub(super) fn tell(facts: &Facts<'_>, record: Option<&Value>) -> Vec<Value> {
    let (targets, statuses) = (
        facts.binding.map(targets).unwrap_or_default(),
        list(facts, &["status", "aggregatedStatus"]),
    );
    let mut names: BTreeSet<String> = decisions::clusters(record);
    // A decision looks at all clusters there are: others have come since.
    if !names.is_empty() {
        names.extend(facts.picture.clusters.keys().cloned());
    }
    let named = |items: &[&Value], field: &str| -> Vec<String> {
        let names = items.iter().filter_map(|item| item[field].as_str());
        names.map(str::to_owned).collect()
    };
    names.extend(named(&targets, "name"));
    names.extend(named(&statuses, "clusterName"));
    names.extend(facts.members.iter().map(|(name, _)| name.clone()));
    let is_everywhere = facts.travels == Some(&Travels::Everywhere);
    names.retain(|name| facts.cluster.is_none_or(|only| only == name));
    // Asked about explicitly, a cluster is told of even if nobody looked at it.
    names.extend(facts.cluster.map(str::to_owned));
    // What is brought along carries the number of whoever brings it, which means nothing without replicas of its own.
    let is_workload = facts.binding.is_some_and(|binding| {
        binding.integer_at(&["spec", "replicas"]).unwrap_or(0) > 0
            || binding.at(&["spec", "replicaRequirements"]).is_some()
    });
    // Where somebody else decides, there is nothing that this scheduler could say.
    let is_decided = facts.binding.is_some() && facts.left_alone.is_none();
    let part = |name: String| {
        let target = targets
            .iter()
            .find(|target| target["name"] == name.as_str());
        let status = statuses
            .iter()
            .find(|item| item["clusterName"] == name.as_str());
        let replicas = target.and_then(|target| target["replicas"].as_i64());
        let is_target = target.is_some() || is_everywhere;
        json!({
            "name": name,
            "verdict": decisions::verdict(record, &name),
            "target": is_target,
            "notChosen": (!is_target && is_decided).then(|| decisions::why_not(record, &name)),
            "replicas": target.filter(|_| is_workload).map(|target| target["replicas"].clone()),
            "overrides": (is_target && facts.picture.sees_clusters)
                .then(|| overrides(facts, &name, replicas)),
            "works": facts.sees_works.then(|| works(facts, &name)),
            "applied": status.map(|item| item["applied"].clone()),
            "appliedMessage": status.map(|item| item["appliedMessage"].clone()),
            "health": status.map(|item| item["health"].clone()),
            "status": status.map(|item| item["status"].clone()),
            "member": member(facts, &name),
        })
    };
    names.into_iter().map(part).collect()
}

fn list<'a>(facts: &Facts<'a>, path: &[&str]) -> Vec<&'a Value> {
    let found = facts.binding.and_then(|binding| binding.at(path));
    let found = found.and_then(Value::as_array);
    found.into_iter().flatten().collect()
}

fn works(facts: &Facts<'_>, cluster: &str) -> Vec<Value> {
    let works = facts
        .works
        .iter()
        .filter(|work| cluster_of_execution_space(work.namespace()) == Some(cluster));
    let told = works.map(|work| {
        json!({
            "namespace": work.namespace(),
            "name": work.name(),
            "suspended": work.at(&["spec", "suspendDispatching"]),
            "deleting": work.is_terminating(),
            "conditions": work.at(&["status", "conditions"]),
        })
    });
    told.collect()
}

/// What the member itself says.
fn member(facts: &Facts<'_>, cluster: &str) -> Value {
    match facts.members.iter().find(|(name, _)| name == cluster) {
        None => Value::Null,
        Some((_, Err(Unseen::Absent))) => {
            json!({"present": false, "why": Unseen::Absent.to_string()})
        }
        Some((_, Err(unknown))) => json!({"present": null, "why": unknown.to_string()}),
        Some((_, Ok(object))) => json!({
            "present": true,
            "uid": object.uid(),
            "generation": object.generation(),
            "resourceVersion": object.resource_version(),
            "deleting": object.is_terminating(),
            "status": object.at(&["status"]),
        }),
    }
}

/// The rules for a cluster: what each changed, or why it is not for it.
fn overrides(facts: &Facts<'_>, cluster: &str, replicas: Option<i64>) -> Value {
    let placed = facts.binding.and_then(|binding| Placed::read(binding).ok());
    let is_workload = placed
        .as_ref()
        .is_some_and(|placed| placed.spec.is_workload());
    let replicas = replicas
        .and_then(|count| i32::try_from(count).ok())
        .unwrap_or(0);
    let shares = placed
        .as_ref()
        .map(|placed| completions(facts.template, &placed.spec, facts.works))
        .unwrap_or_default();
    let share = Share {
        replicas: Some(replicas).filter(|_| is_workload),
        completions: shares.get(cluster).copied(),
    };
    let rendering = facts.picture.render(facts.template, share, cluster);
    let is_secret = masking::is_secret(facts.template.fields());
    let rules = rendering.steps.iter().map(|rule| step(rule, is_secret));
    json!({
        "rules": rules.collect::<Vec<Value>>(),
        "problem": rendering.result.err(),
    })
}

/// What a rule changed; of a Secret it is told which entries, and not how.
fn step(step: &Step, is_secret: bool) -> Value {
    let rule = match step.rule {
        RulePlace::Listed(position) => Some(position),
        RulePlace::Alone => None,
    };
    let mut told = json!({
        "kind": step.policy.kind(),
        "namespace": step.policy.namespace,
        "name": step.policy.name,
        "rule": rule,
    });
    match &step.effect {
        Effect::Skipped(mismatch) => {
            told["applied"] = Value::from(false);
            told["why"] = Value::from(mismatch.to_string());
        }
        Effect::Applied(changed) => {
            let changes = changed.iter().flat_map(|(overrider, changes)| {
                changes.iter().map(move |change| {
                    let path = change.path.to_string();
                    let shown = |value: &Option<Value>, when| match is_secret {
                        true => masking::masked(&path, value.clone(), when),
                        false => value.clone(),
                    };
                    json!({
                        "overrider": overrider.to_string(),
                        "before": shown(&change.before, When::Before),
                        "after": shown(&change.after, When::After),
                        "path": path,
                    })
                })
            });
            told["applied"] = Value::from(true);
            told["changes"] = Value::from(changes.collect::<Vec<Value>>());
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use overrides::{ClusterFacts, Overrides, Policy, Template, explain};

    use super::*;

    #[test]
    fn of_a_secret_it_is_told_what_rules_change_and_not_to_what() {
        let rule = |overrider: Value| json!({"overriders": {"plaintext": [overrider]}});
        let policy = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": {"name": "o", "namespace": "n"},
            "spec": {"overrideRules": [
                rule(json!({"path": "/data/key", "operator": "replace", "value": "bmV3"})),
                rule(json!({"path": "/immutable", "operator": "add", "value": true})),
            ]},
        });
        let policy: api::policy::OverridePolicy =
            object::Object::from_value(policy).unwrap().read().unwrap();
        let mut overrides = Overrides::default();
        overrides.insert(Policy::from(&policy));
        let cluster = api::cluster::Cluster::default();
        for (kind, expected) in [
            (
                "Secret",
                r#"[["/data/key","*** (before)","*** (after)"],["/immutable",null,true]]"#,
            ),
            (
                "ConfigMap",
                r#"[["/data/key","b2xk","bmV3"],["/immutable",null,true]]"#,
            ),
        ] {
            let template = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "n"}, "data": {"key": "b2xk"}});
            let template = object::Object::from_value(template).unwrap();
            let cluster = ClusterFacts::from(&cluster);
            let (steps, _) = explain(&overrides, &Template::new(&template), &cluster);
            let is_secret = masking::is_secret(template.fields());
            let steps = steps.iter().map(|rule| step(rule, is_secret));
            let told: Vec<Value> = steps
                .flat_map(|told| told["changes"].as_array().cloned().unwrap_or_default())
                .map(|change| json!([change["path"], change["before"], change["after"]]))
                .collect();
            assert_eq!(Value::from(told).to_string(), expected, "{kind}");
        }
    }
}

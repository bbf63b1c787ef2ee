//! What is known of a template, as one value: the same for people and programs.

use std::collections::BTreeSet;

use api::names::cluster_of_execution_space;
use api::well_known::labels::permanent_id as ids;
use object::Object;
use policy::claim::outranked;
use policy::{Outcome, Verdict};
use serde_json::{Value, json};

use super::{Travels, Unseen, clusters, decisions};
use crate::picture::{HELD_BACK, Picture, Placed, speaks_of};
use crate::writing::{absent_cluster, named_clusters, policy_mentions};

/// What an explanation is made from.
pub(super) struct Facts<'a> {
    /// The template in the version that somebody asked for.
    pub(super) asked: &'a Object,
    /// In the version that its policy means.
    pub(super) meant: &'a Object,
    /// In the version that its binding names, which clusters get.
    pub(super) template: &'a Object,
    pub(super) binding: Option<&'a Object>,
    pub(super) works: &'a [Object],
    /// Whether these are all there are.
    pub(super) sees_works: bool,
    /// The templates it comes along with.
    pub(super) required_by: &'a [Value],
    /// How it gets around, if it is a namespace that no policy claims.
    pub(super) travels: Option<&'a Travels>,
    pub(super) picture: &'a Picture,
    /// The newest first; or why there are none.
    pub(super) decisions: &'a Result<Vec<Value>, String>,
    /// What members have; or why it is not known.
    pub(super) members: &'a [(String, Result<Object, Unseen>)],
    /// Only what concerns this cluster.
    pub(super) cluster: Option<&'a str>,
    /// Why the control plane's scheduler does not look at the binding, if it does not.
    pub(super) left_alone: Option<String>,
}

/// The label and its value by which the works of a binding are known.
pub(super) fn permanent_id(binding: &Object) -> Option<(&'static str, &str)> {
    let id = |label: &'static str| Some((label, binding.label(label)?));
    id(ids::RESOURCE_BINDING).or_else(|| id(ids::CLUSTER_RESOURCE_BINDING))
}

/// Whether a binding is that of the template.
pub(super) fn is_about(binding: &Object, template: &Object) -> bool {
    let group = |api_version: &str| {
        let group = api_version.split_once('/').map(|(group, _)| group);
        group.unwrap_or_default().to_owned()
    };
    let about = binding.text_at(&["spec", "resource", "apiVersion"]);
    group(about.unwrap_or_default()) == group(template.api_version())
}

/// The members that have or should have something of the template, by name.
pub(super) fn members(binding: Option<&Object>, works: &[Object]) -> Vec<String> {
    let mut names: BTreeSet<String> = binding
        .map(targets)
        .into_iter()
        .flatten()
        .filter_map(|target| Some(target["name"].as_str()?.to_owned()))
        .collect();
    let places = works.iter().map(Object::namespace);
    names.extend(
        places
            .filter_map(cluster_of_execution_space)
            .map(str::to_owned),
    );
    names.into_iter().collect()
}

/// The clusters that get the template: those the scheduler chose, then those that others bring it along to.
pub(super) fn targets(binding: &Object) -> Vec<&Value> {
    let mut all: Vec<&Value> = Vec::new();
    let own = list(binding.at(&["spec", "clusters"]));
    let others = list(binding.at(&["spec", "requiredBy"]));
    let brought = others
        .iter()
        .flat_map(|other| other["clusters"].as_array().into_iter().flatten());
    for target in own.iter().chain(brought) {
        if !all.iter().any(|known| known["name"] == target["name"]) {
            all.push(target);
        }
    }
    all
}

fn list(value: Option<&Value>) -> &[Value] {
    let items = value.and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// Everything in one value; `binding` is null if there is none.
pub(super) fn tell(facts: &Facts<'_>) -> Value {
    let template = facts.asked;
    let (records, unknown) = match facts.decisions {
        Ok(records) => (records.as_slice(), None),
        Err(why) => (&[][..], Some(why)),
    };
    json!({
        "template": {
            "apiVersion": template.api_version(),
            "kind": template.kind(),
            "namespace": template.namespace(),
            "name": template.name(),
            "generation": template.generation(),
            "resourceVersion": template.resource_version(),
        },
        "policy": policy(facts),
        "requiredBy": facts.required_by,
        "travels": facts.travels.map(|travels| match travels {
            Travels::Everywhere => json!({"everywhere": true, "why": null}),
            Travels::Nowhere(why) => json!({"everywhere": false, "why": why}),
        }),
        "asked": facts.cluster,
        "leftAlone": facts.left_alone,
        "heldBack": held_back(facts),
        "binding": facts.binding.map(|found| binding(found, facts.template)),
        "decision": records.first(),
        "decisionsUnknown": unknown,
        "changed": decisions::changes(records),
        "earlier": records.iter().skip(1).map(decisions::without_diagnosis).collect::<Vec<Value>>(),
        "clusters": clusters::tell(facts, records.first()),
        "unknownClusters": unknown_clusters(facts),
        "unreadable": facts.picture.unreadable,
        "doubts": facts.picture.settings.doubts,
    })
}

/// What is said of clusters that there are not, and that the placement names, or the object itself if it is a policy. They
/// may join yet, so nothing is wrong; but nothing goes there either.
fn unknown_clusters(facts: &Facts<'_>) -> Vec<String> {
    if !facts.picture.sees_clusters {
        return Vec::new();
    }
    let known: BTreeSet<&str> = facts.picture.clusters.keys().map(String::as_str).collect();
    let own = policy_mentions(facts.template).into_iter();
    let own = own.map(|name| ("it", name));
    let placed = facts.binding.and_then(|binding| binding.at(&["spec"]));
    let placed = placed.map(named_clusters).into_iter().flatten();
    let placed = placed.map(|name| ("the placement", name));
    own.chain(placed)
        .filter(|(_, name)| !known.contains(name))
        .map(|(who, name)| absent_cluster(who, name, &known))
        .collect()
}

/// Whose the template is, and why not others'.
fn policy(facts: &Facts<'_>) -> Value {
    let decision = facts.picture.claim(facts.meant, facts.binding);
    let (state, why) = match &decision.outcome {
        Outcome::Exempt(exemption) => ("exempt", Some(exemption.to_string())),
        Outcome::Unclaimed => ("unclaimed", None),
        Outcome::Awaiting { missing, .. } => (
            "awaiting",
            Some(format!(
                "waits for override policies that do not exist: {}",
                missing.join(", ")
            )),
        ),
        Outcome::Held(_) => (
            "held",
            Some("it is lazy: what it says now counts from the template's next change".to_owned()),
        ),
        Outcome::Applied(_) => ("applied", None),
    };
    let one = |found: &policy::Match<'_>| {
        json!({
            "kind": found.policy.id.kind(),
            "namespace": found.policy.id.namespace,
            "name": found.policy.id.name,
            "selects": found.specificity.to_string(),
            "priority": found.policy.priority(),
        })
    };
    let others = decision.claim.considered.iter().map(|(found, verdict)| {
        let mut other = one(found);
        // That the template is held keeps only those out who would have it otherwise.
        let chosen = decision.claim.chosen.as_ref();
        let outranked = chosen.and_then(|chosen| outranked(found, chosen));
        let verdict = match verdict {
            Verdict::HeldByOther(_) => outranked.unwrap_or(*verdict),
            verdict => *verdict,
        };
        other["lost"] = Value::from(verdict.to_string());
        other
    });
    json!({
        "state": state,
        "why": why,
        "chosen": decision.claim.chosen.as_ref().map(one),
        "others": others.collect::<Vec<Value>>(),
    })
}

/// Why the control plane's scheduler does not look at a binding, if it does not.
pub(super) fn left_alone(binding: Option<&Object>, picture: &Picture) -> Option<String> {
    let placed = Placed::read(binding?).ok()?;
    if placed.spec.placement.is_none() {
        let why = match placed.spec.required_by.is_empty() {
            true => "it has no placement: the scheduler leaves it alone",
            false => "where it goes is decided with those that need it",
        };
        return Some(why.to_owned());
    }
    picture.left_alone(&placed)
}

/// What is said if the template was changed since and nobody speaks for it. A change that a policy speaks for, or that
/// others need, is on its way.
fn held_back(facts: &Facts<'_>) -> Option<&'static str> {
    let binding = facts.binding?;
    let decision = facts.picture.claim(facts.meant, Some(binding));
    let is_claimed = matches!(decision.outcome, Outcome::Applied(_));
    let is_held = !is_claimed && facts.required_by.is_empty();
    (is_held && !speaks_of(binding, facts.template)).then_some(HELD_BACK)
}

fn binding(binding: &Object, template: &Object) -> Value {
    let at = |path: &[&str]| binding.at(path).cloned().unwrap_or_default();
    json!({
        "kind": binding.kind(),
        "namespace": binding.namespace(),
        "name": binding.name(),
        "generation": binding.generation(),
        "sentAs": template.api_version(),
        "replicas": at(&["spec", "replicas"]),
        "placement": at(&["spec", "placement"]),
        "suspension": at(&["spec", "suspension"]),
        "gracefulEvictionTasks": at(&["spec", "gracefulEvictionTasks"]),
        "schedulerObservedGeneration": at(&["status", "schedulerObservedGeneration"]),
        "affinity": at(&["status", "schedulerObservingAffinityName"]),
        "lastScheduledTime": at(&["status", "lastScheduledTime"]),
        "conditions": at(&["status", "conditions"]),
    })
}

//! Clusters that policies name and that are none, told beside what was written.
//!
//! A policy may name a cluster before it joins, so this refuses nothing, and only what looks like a slip is told.

use std::collections::BTreeSet;

use client::{Client, ListOptions};
use object::{Object, ResourceType, Value};

use crate::manifests::Manifest;
use crate::nearest::nearest;

/// The group of policies.
const POLICIES: &str = "policy.karmada.io";

/// What is said of policies among the objects that name a cluster which nobody has, and which is nearly the name of one.
pub(super) async fn note_slips(control: &Client, manifests: &[Manifest]) -> Vec<String> {
    let objects = manifests.iter().map(|manifest| &manifest.object);
    let mentions: Vec<(&Object, &str)> = objects.flat_map(mentions).collect();
    if mentions.is_empty() {
        return Vec::new();
    }
    let kind = ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters");
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    // What is only a hint is left out for those who may not list clusters.
    let Ok(listed) = control.list_all(&kind, "", &options).await else {
        return Vec::new();
    };
    let known: BTreeSet<&str> = listed.items.iter().map(Object::name).collect();
    slips(&mentions, &known)
}

fn slips(mentions: &[(&Object, &str)], known: &BTreeSet<&str>) -> Vec<String> {
    let unknown = mentions.iter().filter(|(_, name)| !known.contains(name));
    let note = |(policy, name): &(&Object, &str)| {
        nearest(name, known.iter().copied())?;
        let who = format!("{} {}", policy.kind(), policy.name());
        Some(absent_cluster(&who, name, known))
    };
    unknown.filter_map(note).collect()
}

/// What is said of a cluster that somebody names and that there is not, with the one that was probably meant.
pub(crate) fn absent_cluster(who: &str, name: &str, known: &BTreeSet<&str>) -> String {
    let said = format!("{who} names the cluster {name:?}, and there is none");
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("{said}: did you mean {near:?}?"),
        None => said,
    }
}

fn mentions(object: &Object) -> Vec<(&Object, &str)> {
    let names = policy_mentions(object).into_iter();
    names.map(|name| (object, name)).collect()
}

/// The clusters that a policy names, each once; none if the object is something else.
pub(crate) fn policy_mentions(object: &Object) -> BTreeSet<&str> {
    if object.group_version_kind().group != POLICIES {
        return BTreeSet::new();
    }
    object.at(&["spec"]).map(named_clusters).unwrap_or_default()
}

/// The clusters that the spec of a policy or of a binding names, each once.
pub(crate) fn named_clusters(spec: &Value) -> BTreeSet<&str> {
    let placement = &spec["placement"];
    let affinities = std::iter::once(&placement["clusterAffinity"])
        .chain(items(&placement["clusterAffinities"]))
        .chain(items(&spec["overrideRules"]).map(|rule| &rule["targetCluster"]));
    affinities
        .flat_map(|affinity| [&affinity["clusterNames"], &affinity["exclude"]])
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slips_are_told() {
        let known = BTreeSet::from(["member1", "member2"]);
        for (text, expected) in [
            (
                "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {placement: {clusterAffinity: {clusterNames: [membr1, member2, tokyo]}}}}",
                "PropagationPolicy web names the cluster \"membr1\", and there is none: did you mean \"member1\"?",
            ),
            (
                "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: all}, spec: {placement: {clusterAffinities: [{affinityName: a, exclude: [memeber2]}]}}}",
                "ClusterPropagationPolicy all names the cluster \"memeber2\", and there is none: did you mean \"member2\"?",
            ),
            (
                "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {overrideRules: [{targetCluster: {clusterNames: [membr1]}}]}}",
                "OverridePolicy o names the cluster \"membr1\", and there is none: did you mean \"member1\"?",
            ),
            (
                "{apiVersion: example.io/v1, kind: PropagationPolicy, metadata: {name: web}, spec: {placement: {clusterAffinity: {clusterNames: [membr1]}}}}",
                "",
            ),
            (
                "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {placement: 3}}",
                "",
            ),
        ] {
            let all = Manifest::parse("f", text).unwrap();
            let found: Vec<(&Object, &str)> = all
                .iter()
                .flat_map(|manifest| mentions(&manifest.object))
                .collect();
            assert_eq!(slips(&found, &known).join("\n"), expected, "{text}");
        }
    }
}

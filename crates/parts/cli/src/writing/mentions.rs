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
        let near = nearest(name, known.iter().copied())?;
        Some(format!(
            "{} {} names the cluster {name:?}, and there is none: did you mean {near:?}?",
            policy.kind(),
            policy.name()
        ))
    };
    unknown.filter_map(note).collect()
}

/// The clusters that a policy names, each once.
fn mentions(object: &Object) -> Vec<(&Object, &str)> {
    if object.group_version_kind().group != POLICIES {
        return Vec::new();
    }
    let items = |path: &[&str]| {
        let items = object.at(path).and_then(Value::as_array);
        items.into_iter().flatten()
    };
    let affinities = object.at(&["spec", "placement", "clusterAffinity"]);
    let affinities = affinities
        .into_iter()
        .chain(items(&["spec", "placement", "clusterAffinities"]))
        .chain(items(&["spec", "overrideRules"]).map(|rule| &rule["targetCluster"]));
    let names = affinities
        .flat_map(|affinity| [&affinity["clusterNames"], &affinity["exclude"]])
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str);
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().map(|name| (object, name)).collect()
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

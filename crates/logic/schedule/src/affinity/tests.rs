//! Affinities against one cluster: `west`, label `tier=gold`, provider `cloud`, region `eu`, zones `a` and `b`.

use std::{collections::BTreeMap, sync::Arc};

use api::{
    kubernetes::scheduling::NodeSelectorRequirement,
    policy::{ClusterAffinity, FieldSelector},
};
use object::selector::{LabelSelector, LabelSelectorRequirement};

use super::Affinity;
use crate::{
    cluster::{ClusterFacts, Pool, Snapshot},
    examples::world::cluster,
};

fn west() -> ClusterFacts {
    let mut west = cluster("west", 1);
    west.metadata
        .labels
        .insert("tier".to_owned(), "gold".to_owned());
    west.spec.provider = "cloud".to_owned();
    west.spec.region = "eu".to_owned();
    west.spec.zones = vec!["a".to_owned(), "b".to_owned()];
    ClusterFacts::of(&west, &mut Pool::default())
}

/// What the affinity says of the cluster.
fn verdict(affinity: &ClusterAffinity, cluster: &ClusterFacts) -> String {
    match Affinity::compile(affinity).check(cluster) {
        Ok(()) => "matches".to_owned(),
        Err(mismatch) => mismatch.to_string(),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn names_and_exclusions_are_taken_by_the_letter() {
    let cases = [
        ("", "", "matches"),
        ("west", "", "matches"),
        ("east west", "", "matches"),
        ("east", "", "not listed in clusterNames"),
        ("west", "west", "listed in exclude"),
        ("", "east", "matches"),
    ];
    for (names, exclude, expected) in cases {
        let affinity = ClusterAffinity {
            cluster_names: words(names),
            exclude: words(exclude),
            ..Default::default()
        };
        assert_eq!(
            verdict(&affinity, &west()),
            expected,
            "{names} without {exclude}"
        );
    }
}

#[test]
fn labels_are_matched_as_everywhere() {
    let by_label = |selector: LabelSelector| {
        verdict(
            &ClusterAffinity {
                label_selector: Some(selector),
                ..Default::default()
            },
            &west(),
        )
    };
    let exactly = |value: &str| {
        LabelSelector::with_labels(BTreeMap::from([("tier".to_owned(), value.to_owned())]))
    };
    assert_eq!(by_label(LabelSelector::default()), "matches");
    assert_eq!(by_label(exactly("gold")), "matches");
    assert_eq!(
        by_label(exactly("silver")),
        "labels do not satisfy tier=silver"
    );
    let expression = |operator: &str| LabelSelector {
        match_expressions: vec![LabelSelectorRequirement {
            key: "rack".to_owned(),
            operator: operator.to_owned(),
            values: Vec::new(),
        }],
        ..Default::default()
    };
    assert_eq!(by_label(expression("Exists")), "labels do not satisfy rack");
    assert_eq!(by_label(expression("DoesNotExist")), "matches");
    assert!(by_label(expression("Near")).starts_with("the selector is not valid: "));
}

#[test]
fn fields_are_matched_with_zones_as_a_set() {
    let cases = [
        ("zone", "In", "b c", "matches"),
        ("zone", "In", "c", "fields do not satisfy zone In (c)"),
        ("zone", "NotIn", "c", "matches"),
        (
            "zone",
            "NotIn",
            "b c",
            "fields do not satisfy zone NotIn (b,c)",
        ),
        ("zone", "Exists", "", "matches"),
        (
            "zone",
            "DoesNotExist",
            "",
            "fields do not satisfy zone DoesNotExist",
        ),
        ("zone", "Gt", "1", "fields do not satisfy zone Gt (1)"),
        ("provider", "In", "cloud", "matches"),
        (
            "provider",
            "NotIn",
            "cloud",
            "fields do not satisfy provider notin (cloud)",
        ),
        (
            "region",
            "In",
            "us asia",
            "fields do not satisfy region in (asia,us)",
        ),
        ("region", "NotIn", "us", "matches"),
        ("planet", "NotIn", "mars", "matches"),
        ("planet", "Exists", "", "fields do not satisfy planet"),
    ];
    for (key, operator, values, expected) in cases {
        let expression = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: words(values),
        };
        let selector = FieldSelector {
            match_expressions: vec![expression],
        };
        let affinity = ClusterAffinity {
            field_selector: Some(selector),
            ..Default::default()
        };
        assert_eq!(
            verdict(&affinity, &west()),
            expected,
            "{key} {operator} {values}"
        );
    }
}

#[test]
fn an_absent_field_is_not_any_of_the_values() {
    let bare = ClusterFacts::of(&cluster("bare", 1), &mut Pool::default());
    let ask = |key: &str, operator: &str| {
        let expression = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: vec!["x".to_owned()],
        };
        let selector = FieldSelector {
            match_expressions: vec![expression],
        };
        Affinity::compile(&ClusterAffinity {
            field_selector: Some(selector),
            ..Default::default()
        })
        .matches(&bare)
    };
    for key in ["provider", "region", "zone"] {
        assert!(ask(key, "NotIn") && !ask(key, "In"), "{key}");
    }
    assert!(!ask("provider", "Near"));
    assert!(
        !ask("region", "Exists"),
        "a test for existence takes no values"
    );
}

#[test]
fn clusters_are_found_by_name_and_share_what_they_have_in_common() {
    let mut pool = Pool::default();
    let facts: Vec<Arc<ClusterFacts>> = ["c", "a", "b"]
        .map(|name| Arc::new(ClusterFacts::of(&cluster(name, 1), &mut pool)))
        .into();
    assert!(Arc::ptr_eq(&facts[0].apis, &facts[1].apis));
    assert!(facts[0].apis.has("apps/v1", "Deployment") && !facts[0].apis.has("v1", "Deployment"));
    let snapshot = Snapshot::new(facts);
    let names: Vec<&str> = snapshot.iter().map(|cluster| &*cluster.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let mut finder = snapshot.finder();
    let found: Vec<_> = ["a", "b", "x", "c", "a"]
        .map(|name| finder.find(name))
        .into();
    assert_eq!(found, [Some(0), Some(1), None, Some(2), Some(0)]);
    let mut roomier = (*Arc::new(ClusterFacts::of(&cluster("a", 1), &mut pool))).clone();
    roomier.is_deleting = true;
    let replaced = Snapshot::new(snapshot.iter().cloned().chain([roomier]).map(Arc::new));
    assert_eq!(
        (replaced.len(), replaced.at(0).unwrap().is_deleting),
        (3, true)
    );
}

//! Affinities against one cluster: `west`, label `tier=gold`, provider `cloud`, region `eu`, zones `a` and `b`.

use std::collections::BTreeMap;

use object::selector::{LabelSelector, LabelSelectorRequirement};

use super::*;

fn west() -> Cluster {
    let mut west = Cluster::default();
    west.metadata.name = "west".to_owned();
    west.metadata
        .labels
        .insert("tier".to_owned(), "gold".to_owned());
    west.spec.provider = "cloud".to_owned();
    west.spec.region = "eu".to_owned();
    west.spec.zones = vec!["a".to_owned(), "b".to_owned()];
    west
}

/// What the affinity says of the cluster.
fn verdict(affinity: &ClusterAffinity, cluster: &Cluster) -> String {
    match Affinity::compile(affinity, &FieldPath::new("clusterAffinity")).check(cluster) {
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
        ("east", "", "the cluster is not named"),
        ("west", "west", "the cluster is excluded"),
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
        "the cluster's labels do not satisfy tier=silver"
    );
    let expression = |operator: &str| LabelSelector {
        match_expressions: vec![LabelSelectorRequirement {
            key: "rack".to_owned(),
            operator: operator.to_owned(),
            values: Vec::new(),
        }],
        ..Default::default()
    };
    assert_eq!(
        by_label(expression("Exists")),
        "the cluster's labels do not satisfy rack"
    );
    assert_eq!(by_label(expression("DoesNotExist")), "matches");
    assert!(by_label(expression("Near")).starts_with(
        "the affinity is not valid: clusterAffinity.labelSelector.matchExpressions[0].operator"
    ));
}

#[test]
fn fields_are_matched_with_zones_as_a_set() {
    let cases = [
        ("zone", "In", "b c", "matches"),
        (
            "zone",
            "In",
            "c",
            "the cluster's fields do not satisfy zone In (c)",
        ),
        ("zone", "NotIn", "c", "matches"),
        (
            "zone",
            "NotIn",
            "b c",
            "the cluster's fields do not satisfy zone NotIn (b,c)",
        ),
        ("zone", "Exists", "", "matches"),
        (
            "zone",
            "DoesNotExist",
            "",
            "the cluster's fields do not satisfy zone DoesNotExist",
        ),
        (
            "zone",
            "Gt",
            "1",
            "the cluster's fields do not satisfy zone Gt (1)",
        ),
        ("provider", "In", "cloud", "matches"),
        (
            "provider",
            "NotIn",
            "cloud",
            "the cluster's fields do not satisfy provider notin (cloud)",
        ),
        (
            "region",
            "In",
            "us asia",
            "the cluster's fields do not satisfy region in (asia,us)",
        ),
        ("region", "NotIn", "us", "matches"),
        ("planet", "NotIn", "mars", "matches"),
        (
            "planet",
            "Exists",
            "",
            "the cluster's fields do not satisfy planet",
        ),
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
    let bare = Cluster::default();
    let ask = |key: &str, operator: &str| {
        let expression = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: vec!["x".to_owned()],
        };
        let selector = FieldSelector {
            match_expressions: vec![expression],
        };
        let affinity = ClusterAffinity {
            field_selector: Some(selector),
            ..Default::default()
        };
        Affinity::compile(&affinity, &FieldPath::root()).matches(&bare)
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

//! What rules and annotations come to.

use serde_json::json;

use super::*;

fn pod(owner: &str, annotations: Value) -> Object {
    let value = json!({
        "metadata": {
            "name": "p", "namespace": "shop", "annotations": annotations,
            "ownerReferences": [{"kind": owner, "uid": "o", "controller": true}],
        },
        "spec": {"containers": [{"name": "c", "image": "registry/shop:1"}]},
    });
    Object::from_value(value).unwrap()
}

fn behaviour(rules: &str, owner: &str, annotations: Value) -> Behaviour {
    let rules = Rules::parse(rules).unwrap().before(Rules::defaults());
    rules.behaviour(&pod(owner, annotations))
}

#[test]
fn a_pod_that_nobody_has_an_opinion_on_starts_in_a_second_and_stays() {
    let plain = behaviour("[]", "ReplicaSet", json!({}));
    assert_eq!((plain.start, plain.ready, plain.ending), (1, Some(0), None));
    let job = behaviour("[]", "Job", json!({}));
    assert_eq!(job.ending, Some(Ending { after: 2, code: 0 }));
}

#[test]
fn annotations_come_before_rules_and_rules_before_defaults() {
    let rules = r#"[{"image": "shop", "ready-after": "7s", "start-after": "1500ms"}, {"namespace": "other", "start-after": "9s"}]"#;
    let both = behaviour(
        rules,
        "ReplicaSet",
        json!({"sim.karavel.io/ready-after": "never"}),
    );
    assert_eq!((both.start, both.ready), (2, None));
}

#[test]
fn a_rule_says_which_images_are_missing() {
    let rules = r#"[{"image": "shop", "pull": "missing"}]"#;
    assert!(behaviour(rules, "ReplicaSet", json!({})).image_missing);
    let present = json!({"sim.karavel.io/image": "present"});
    assert!(!behaviour(rules, "ReplicaSet", present).image_missing);
    let rules = r#"[{"image": "other", "pull": "missing"}]"#;
    assert!(!behaviour(rules, "ReplicaSet", json!({})).image_missing);
}

#[test]
fn who_says_how_containers_end_says_it_whole() {
    for (annotations, ending) in [
        (
            json!({"sim.karavel.io/crash-after": "0s"}),
            Some(Ending { after: 1, code: 1 }),
        ),
        (
            json!({"sim.karavel.io/crash-after": "4s", "sim.karavel.io/exit-code": "3"}),
            Some(Ending { after: 4, code: 3 }),
        ),
        (json!({"sim.karavel.io/complete-after": "never"}), None),
        (
            json!({"sim.karavel.io/complete-after": "soon"}),
            Some(Ending { after: 2, code: 0 }),
        ),
    ] {
        let found = behaviour("[]", "Job", annotations.clone());
        assert_eq!(found.ending, ending, "{annotations}");
    }
}

#[test]
fn rules_that_are_not_understood_are_refused_by_name() {
    for (text, why) in [
        ("{}", "rules must be a JSON list of objects"),
        ("[7]", "rules must be a JSON list of objects"),
        (
            r#"[{}, {"sleep": "1s"}]"#,
            r#"rule 1: sleep: "\"1s\"" is not understood"#,
        ),
        (
            r#"[{"start-after": 3}]"#,
            r#"rule 0: start-after: "3" is not understood"#,
        ),
    ] {
        assert_eq!(Rules::parse(text).unwrap_err().to_string(), why);
    }
}

#[test]
fn annotations_that_are_not_understood_are_named() {
    let annotations = json!({
        "sim.karavel.io/crash-after": "banana", "sim.karavel.io/ready-after": "never", "sim.karavel.io/sleep": "1s",
        "sim.karavel.io/image": "there", "other": "banana",
    });
    let found: Vec<String> = misunderstood(&pod("ReplicaSet", annotations)).collect();
    assert_eq!(
        found,
        [
            r#"sim.karavel.io/crash-after: "banana""#,
            r#"sim.karavel.io/sleep: "1s""#,
            r#"sim.karavel.io/image: "there""#,
        ]
    );
}

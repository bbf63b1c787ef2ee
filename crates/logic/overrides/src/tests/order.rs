//! Which policies apply, and in which order.

use insta::assert_snapshot;

use super::{chain, cluster, one, policies, rendered};
use crate::{ClusterFacts, Effect, Overrides, Template, concerns, explain};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, labels: {app: web}}}";

/// A policy written as `<kind> <name> <selectors> <label>=<value>`.
fn written(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, name, selectors, label] = words.as_slice() else {
        panic!("{line} is not four words");
    };
    let (kind, namespace) = match *kind {
        "OP" => ("OverridePolicy", "namespace: test, "),
        _ => ("ClusterOverridePolicy", ""),
    };
    let selectors = match *selectors {
        "none" => String::new(),
        "all" => selector(""),
        "app" => selector(", labelSelector: {matchLabels: {app: web}}"),
        "any" => selector(", labelSelector: {}"),
        "web" => selector(", name: web"),
        "db" => selector(", name: db"),
        "v2" => selector("").replace("apps/v1", "apps/v2"),
        other => panic!("{other}"),
    };
    let (key, value) = label.split_once('=').unwrap();
    format!(
        "---\n{{kind: {kind}, metadata: {{{namespace}name: {name}}}, spec: {{{selectors}overrideRules: [{{overriders: {{labelsOverrider: [{{operator: add, value: {{{key}: {value}}}}}]}}}}]}}}}\n"
    )
}

fn selector(rest: &str) -> String {
    format!("resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment{rest}}}], ")
}

fn set(lines: &[&str]) -> Overrides {
    policies(&lines.iter().map(|line| written(line)).collect::<String>())
}

/// The names of the applied policies in order, and the labels that came out.
fn result(lines: &[&str]) -> String {
    let rendered = rendered(&set(lines), &one(WEB)).unwrap();
    let names: Vec<&str> = rendered
        .applied
        .iter()
        .map(|applied| applied.policy.name.as_str())
        .collect();
    format!(
        "{} -> {}",
        names.join(" "),
        serde_json::to_string(rendered.object.at(&["metadata", "labels"]).unwrap()).unwrap()
    )
}

#[test]
fn cluster_wide_policies_go_first_so_that_namespaced_ones_have_the_last_word() {
    assert_snapshot!(result(&["OP op all env=op", "COP cop web env=cop"]), @r#"cop op -> {"app":"web","env":"op"}"#);
}

#[test]
fn the_more_specific_policy_is_applied_last() {
    assert_snapshot!(result(&["OP a web v=name", "OP b all v=all", "OP c app v=labels"]), @r#"b c a -> {"app":"web","v":"name"}"#);
}

#[test]
fn of_equal_specificity_the_greater_name_is_applied_last_and_no_selectors_count_as_all() {
    assert_snapshot!(result(&["OP z none v=z", "OP a all v=a", "OP m none v=m"]), @r#"a m z -> {"app":"web","v":"z"}"#);
    assert_snapshot!(result(&["OP w any v=w1", "OP b app v=b1"]), @r#"b w -> {"app":"web","v":"w1"}"#);
}

#[test]
fn policies_for_other_templates_and_namespaces_do_not_apply() {
    assert_snapshot!(result(&["OP a db v=a", "OP b v2 v=b", "COP c db v=c"]), @r#" -> {"app":"web"}"#);
    let other =
        one("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: other}}");
    assert!(
        rendered(&set(&["OP a web v=a"]), &other)
            .unwrap()
            .applied
            .is_empty()
    );
    let wide = one("{apiVersion: v1, kind: Namespace, metadata: {name: test}}");
    let rendered = rendered(&set(&["OP a none v=a", "COP b none v=b"]), &wide).unwrap();
    assert_eq!(rendered.applied.len(), 1);
}

#[test]
fn namespaced_policies_are_chosen_by_what_cluster_wide_ones_left() {
    let lines = ["COP cop web tier=front"];
    let mut documents: String = lines.iter().map(|line| written(line)).collect();
    documents.push_str("---\n{kind: OverridePolicy, metadata: {namespace: test, name: op}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {tier: front}}}], overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {seen: 'true'}}]}}]}}\n");
    let rendered = rendered(&policies(&documents), &one(WEB)).unwrap();
    assert_eq!(rendered.object.label("seen"), Some("true"));
}

#[test]
fn a_rule_applies_its_sorts_of_change_in_a_fixed_order() {
    // Plaintext has the last word over labels, though it is written first, and sees the image as changed.
    let documents = "
kind: OverridePolicy
metadata: {namespace: test, name: op}
spec:
  overrideRules:
  - overriders:
      plaintext: [{path: /metadata/labels/v, operator: replace, value: plain}, {path: /spec/containers/0/image, operator: replace, value: 'web:last'}]
      annotationsOverrider: [{operator: add, value: {a: b}}]
      labelsOverrider: [{operator: add, value: {v: label}}]
      argsOverrider: [{containerName: c, operator: add, value: [x]}]
      commandOverrider: [{containerName: c, operator: add, value: [w]}]
      imageOverrider: [{component: Tag, operator: replace, value: v2}]
";
    let pod = one(
        "{kind: Pod, metadata: {name: p, namespace: test}, spec: {containers: [{name: c, image: 'web:v1'}]}}",
    );
    let m1 = cluster("{kind: Cluster, metadata: {name: m1}}");
    let (steps, result) = explain(
        &policies(documents),
        &Template::new(&pod),
        &ClusterFacts::from(&m1),
    );
    assert_eq!(
        serde_json::to_string(&result.unwrap().object).unwrap(),
        r#"{"kind":"Pod","metadata":{"name":"p","namespace":"test","labels":{"v":"plain"},"annotations":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"web:last","command":["w"],"args":["x"]}]}}"#
    );
    let Effect::Applied(told) = &steps[0].effect else {
        panic!("{steps:?}");
    };
    let lines: Vec<String> = told
        .iter()
        .flat_map(|(overrider, changes)| changes.iter().map(move |change| (overrider, change)))
        .map(|(overrider, change)| {
            format!(
                "{overrider} {} {} -> {}",
                change.path,
                json(&change.before),
                json(&change.after)
            )
        })
        .collect();
    assert_snapshot!(lines.join("\n"), @r#"
    imageOverrider /spec/containers/0/image "web:v1" -> "web:v2"
    commandOverrider /spec/containers/0/command nothing -> ["w"]
    argsOverrider /spec/containers/0/args nothing -> ["x"]
    labelsOverrider /metadata/labels nothing -> {"v":"label"}
    annotationsOverrider /metadata/annotations nothing -> {"a":"b"}
    plaintext /metadata/labels/v "label" -> "plain"
    plaintext /spec/containers/0/image "web:v2" -> "web:last"
    "#);
}

fn json(value: &Option<serde_json::Value>) -> String {
    value
        .as_ref()
        .map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

#[test]
fn rules_apply_as_listed_and_only_where_they_are_meant() {
    let documents = "
kind: ClusterOverridePolicy
metadata: {name: cop}
spec:
  overrideRules:
  - targetCluster: {clusterNames: [m1]}
    overriders: {labelsOverrider: [{operator: add, value: {v: one}}]}
  - targetCluster: {exclude: [m1]}
    overriders: {labelsOverrider: [{operator: add, value: {v: two}}]}
  - overriders: {labelsOverrider: [{operator: replace, value: {v: three}}]}
";
    let overrides = policies(documents);
    for (name, expected) in [
        (
            "m1",
            "0: applied, 1: the cluster is excluded, 2: applied = three",
        ),
        (
            "m2",
            "0: the cluster is not named, 1: applied, 2: applied = three",
        ),
    ] {
        let cluster = cluster(&format!("{{kind: Cluster, metadata: {{name: {name}}}}}"));
        let (steps, result) = explain(
            &overrides,
            &Template::new(&one(WEB)),
            &ClusterFacts::from(&cluster),
        );
        let told: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(position, step)| match &step.effect {
                Effect::Skipped(mismatch) => format!("{position}: {mismatch}"),
                Effect::Applied(_) => format!("{position}: applied"),
            })
            .collect();
        let object = result.unwrap().object;
        assert_eq!(
            format!("{} = {}", told.join(", "), object.label("v").unwrap()),
            expected
        );
    }
}

#[test]
fn the_older_form_is_one_rule_and_idle_beside_a_list() {
    let older = "targetCluster: {clusterNames: [m1]}, overriders: {labelsOverrider: [{operator: add, value: {v: older}}]}";
    let newer =
        "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {v: newer}}]}}]";
    let value = |spec: &str| {
        let overrides = policies(&format!(
            "{{kind: OverridePolicy, metadata: {{name: op, namespace: test}}, spec: {{{spec}}}}}"
        ));
        rendered(&overrides, &one(WEB))
            .unwrap()
            .object
            .label("v")
            .map(str::to_owned)
    };
    assert_eq!(value(older).as_deref(), Some("older"));
    assert_eq!(value(&older.replace("m1", "m2")), None);
    assert_eq!(
        value(&format!("{older}, {newer}")).as_deref(),
        Some("newer")
    );
    assert_eq!(value(""), None);
    let broken = policies(
        "{kind: OverridePolicy, metadata: {name: op, namespace: test}, spec: {overriders: {plaintext: [{path: /x, operator: remove}]}}}",
    );
    assert_eq!(
        chain(&rendered(&broken, &one(WEB)).unwrap_err()),
        "cannot apply OverridePolicy test/op: spec.overriders.plaintext[0] at /x: operation 0 (remove /x): nothing exists at /x"
    );
}

#[test]
fn an_error_ends_the_way_and_the_steps_before_it_are_told() {
    let documents = format!(
        "{}{}",
        written("COP a none v=x"),
        "---\n{kind: ClusterOverridePolicy, metadata: {name: b}, spec: {overrideRules: [{overriders: {plaintext: [{path: /none, operator: remove}]}}]}}\n"
    );
    let object = one(WEB);
    let m1 = cluster("{kind: Cluster, metadata: {name: m1}}");
    let (steps, result) = explain(
        &policies(&documents),
        &Template::new(&object),
        &ClusterFacts::from(&m1),
    );
    assert_eq!(steps.len(), 1);
    assert_eq!(
        chain(&result.unwrap_err()),
        "cannot apply ClusterOverridePolicy b: spec.overrideRules[0].overriders.plaintext[0] at /none: operation 0 (remove /none): nothing exists at /none"
    );
    assert_eq!(object, one(WEB));
}

#[test]
fn a_change_of_policy_is_about_what_it_selects_or_selected() {
    let policy = |line: &str| super::policy(&one(written(line).trim_start_matches("---\n")));
    let web = one(WEB);
    let web = Template::new(&web);
    let (by_name, other, none) = (
        policy("OP a web v=x"),
        policy("OP a db v=x"),
        policy("COP a none v=x"),
    );
    assert!(concerns(None, Some(&by_name), &web));
    assert!(concerns(Some(&by_name), None, &web));
    assert!(concerns(Some(&by_name), Some(&other), &web));
    assert!(concerns(None, Some(&none), &web));
    assert!(!concerns(None, Some(&other), &web));
    assert!(!concerns(Some(&by_name), Some(&by_name.clone()), &web));
}

#[test]
fn any_served_version_of_the_kind_may_be_named() {
    let overrides = set(&["OP a v2 v=a"]);
    let object = one(WEB);
    let versions = ["v2".to_owned()];
    let template = Template {
        object: &object,
        other_versions: &versions,
    };
    assert_eq!(overrides.matches("test", &template).len(), 1);
    assert!(
        overrides
            .matches("test", &Template::new(&object))
            .is_empty()
    );
}

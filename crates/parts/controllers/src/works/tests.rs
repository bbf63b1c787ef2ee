//! Cases: a binding with its template, policies, clusters and works in, what is done out.

mod jobs;
mod shares;

use std::{collections::BTreeMap, sync::Arc};

use api::{
    cluster::Cluster,
    policy::{ClusterOverridePolicy, OverridePolicy},
    read::read,
};
use binding::{targets, work};
use client::Change;
use intent::Action;
use interpret::Interpreter;
use object::{GroupKind, Object, ObjectKey, patch, time::Time};
use overrides::{Overrides, Policy, Template};
use policy::activation::Fingerprint;
use serde_json::json;

use super::{
    keys,
    leaving::plan_gone,
    plan::{Decision, Inputs, Works, plan},
    undecided::{self, Undecided},
};
use crate::{
    binding_view::Binding,
    bindings::misplacement,
    told::{documents, one, told},
};

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test, uid: u1, generation: 3, labels: {app: web}}, spec: {replicas: 5}}";

fn binding(spec: &str) -> String {
    format!(
        "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: web-deployment, namespace: test, uid: b, resourceVersion: '9', labels: {{resourcebinding.karmada.io/permanent-id: rb1}}, finalizers: [karmada.io/binding-controller, x]}}, spec: {{resource: {{apiVersion: apps/v1, kind: Deployment, namespace: test, name: web, uid: u1}}, {spec}}}}}"
    )
}

const DIVIDED: &str = "replicas: 5, placement: {replicaScheduling: {replicaSchedulingType: Divided}}, clusters: [{name: m1, replicas: 3}, {name: m2, replicas: 2}]";

fn now() -> Time {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// What is there before the decision.
struct Scene {
    binding: Object,
    template: Option<Object>,
    overrides: Overrides,
    clusters: BTreeMap<String, Arc<Cluster>>,
    works: Vec<Object>,
    are_all: bool,
    policy_preserves: bool,
}

fn scene(text: &str) -> Scene {
    let mut scene = Scene {
        binding: Object::default(),
        template: None,
        overrides: Overrides::default(),
        clusters: BTreeMap::new(),
        works: Vec::new(),
        are_all: true,
        policy_preserves: false,
    };
    for name in ["m1", "m2"] {
        let mut cluster = Cluster::default();
        cluster.metadata.name = name.to_owned();
        scene.clusters.insert(name.to_owned(), Arc::new(cluster));
    }
    for document in documents(text) {
        match document.kind() {
            "ResourceBinding" => scene.binding = document,
            "OverridePolicy" => {
                let policy = Policy::from(&read::<OverridePolicy>(&document).unwrap());
                scene.overrides.insert(policy);
            }
            "ClusterOverridePolicy" => {
                let policy = Policy::from(&read::<ClusterOverridePolicy>(&document).unwrap());
                scene.overrides.insert(policy);
            }
            "Work" => scene.works.push(document),
            _ => scene.template = Some(document),
        }
    }
    scene
}

impl Scene {
    fn decide(&self) -> Decision {
        let read = Binding::read(&self.binding).unwrap();
        let misplacement = misplacement(&self.binding, |_| false);
        let interpreter = Interpreter::default();
        let works: Vec<&Object> = self.works.iter().collect();
        let undecided: Undecided = undecided::clusters(&read.view())
            .into_iter()
            .map(|cluster| {
                let manifest = undecided::manifest(&works, cluster);
                let present = manifest.map(|manifest| interpreter.replicas(&manifest).unwrap());
                (cluster.to_owned(), present.map(|present| present.replicas))
            })
            .collect();
        let mut revised = BTreeMap::new();
        if let Some(template) = self.template.as_ref().filter(|_| read.spec.is_workload()) {
            for target in targets::targets(&read.spec) {
                let Some(replicas) = undecided::replicas(&undecided, target) else {
                    continue;
                };
                let answer = interpreter.revise(template, replicas);
                revised.insert(replicas, answer.map_err(|error| error.to_string()));
            }
        }
        plan(&Inputs {
            binding: &self.binding,
            view: read.view(),
            policy_preserves: self.policy_preserves,
            misplacement: misplacement.as_deref(),
            template: self.template.as_ref().map(Template::new),
            revised: &revised,
            undecided: &undecided,
            overrides: &self.overrides,
            clusters: &self.clusters,
            works: self.known_works(),
            hands_state_over: false,
            now: now(),
        })
    }

    fn known_works(&self) -> Works<'_> {
        Works {
            owned: self.works.iter().collect(),
            namesakes: Vec::new(),
            are_all: self.are_all,
        }
    }

    /// All plans, one after the other, without those that do nothing.
    fn story(&self) -> String {
        let decision = self.decide();
        let plans = decision.plans.iter().chain([&decision.news]);
        let lines: Vec<String> = plans.filter(|plan| !plan.is_empty()).map(told).collect();
        lines.join("\n")
    }

    /// The manifest that a cluster is sent.
    fn manifest(&self, cluster: &str) -> Object {
        let space = format!("karmada-es-{cluster}");
        let decision = self.decide();
        let mut actions = decision.plans.iter().flat_map(|plan| &plan.actions);
        let action = actions.find(|action| action.key().namespace == space);
        let Some(Action::Create { object, .. }) = action else {
            panic!("no work is made for {cluster}: {action:?}");
        };
        let manifests = object.at(&["spec", "workload", "manifests"]).unwrap();
        Object::from_value(manifests[0].clone()).unwrap()
    }

    /// The scene after the plans have been carried out, as the server stores it.
    fn after(mut self) -> Self {
        let decision = self.decide();
        for action in decision.plans.iter().flat_map(|plan| &plan.actions) {
            match action {
                Action::Create { object, .. } => self.works.push(object.clone()),
                Action::Patch { key, patch, .. } => {
                    let mut works = self.works.iter_mut();
                    let Some(work) = works.find(|work| work.key() == *key) else {
                        continue;
                    };
                    let merged = patch::merge(&work.clone().into_value(), patch);
                    *work = Object::from_value(merged).unwrap();
                }
                _ => {}
            }
        }
        self
    }
}

#[test]
fn each_target_gets_one_work_with_its_share_of_the_replicas() {
    let scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED)));
    for (cluster, replicas) in [("m1", 3), ("m2", 2)] {
        let manifest = scene.manifest(cluster);
        assert_eq!(manifest.integer_at(&["spec", "replicas"]), Some(replicas));
        assert_eq!(manifest.label("karmada.io/managed"), Some("true"));
        assert_eq!(
            manifest.annotation("resourcetemplate.karmada.io/generation"),
            Some("3")
        );
        assert_eq!(
            manifest.annotation("work.karmada.io/conflict-resolution"),
            Some("abort")
        );
    }
    let text = scene.story();
    let key = work::key(&one(WEB), "m1");
    for line in [
        format!("create Work {key}"),
        "report Deployment test/web Normal SyncWorkSucceed: works of test/web-deployment are up to date".to_owned(),
    ] {
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn what_is_as_it_should_be_is_not_written_again() {
    let scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    assert_eq!(scene.works.len(), 2);
    assert_eq!(scene.story(), "");
}

#[test]
fn a_changed_share_is_a_patch_of_that_work_alone() {
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    scene
        .binding
        .set(
            &["spec", "clusters"],
            json!([{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 4}]),
        )
        .unwrap();
    let text = scene.story();
    assert_eq!(text.matches("patch Work").count(), 1, "{text}");
    assert!(
        text.contains("patch Work karmada-es-m2/") && text.contains(r#""replicas":4"#),
        "{text}"
    );
    assert!(!text.contains("status"), "{text}");
}

#[test]
fn a_cluster_that_is_no_longer_wanted_loses_its_work_if_all_works_are_in_view() {
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    scene
        .binding
        .set(
            &["spec", "clusters"],
            json!([{"name": "m1", "replicas": 3}]),
        )
        .unwrap();
    let key = work::key(&one(WEB), "m2");
    assert_eq!(
        scene.story().lines().next().unwrap(),
        format!("delete Work {key}: cluster m2 is not among those of binding test/web-deployment")
    );
    scene.are_all = false;
    assert_eq!(scene.story(), "");
}

#[test]
fn a_work_says_whether_its_copy_stays_before_it_goes() {
    // What the binding says, whether a policy placed it, what its policy says by now, what the work says, and what it
    // says before it goes.
    for (binding_says, is_placed, policy_says, work_says, told) in [
        (true, true, false, Some(false), Some(true)),
        (true, true, false, Some(true), Some(true)),
        (false, true, true, Some(false), Some(true)),
        (false, true, false, Some(true), Some(false)),
        (false, true, false, Some(false), None),
        (true, false, false, Some(false), Some(true)),
        // What is brought along stays as long as those who brought it wanted that.
        (false, false, false, Some(true), Some(true)),
        (false, false, false, Some(false), None),
        // A work that others made may say nothing.
        (true, true, false, None, Some(true)),
        (false, true, true, None, Some(true)),
        (false, true, false, None, None),
    ] {
        let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
        let flag = ["spec", "preserveResourcesOnDeletion"];
        scene.policy_preserves = policy_says;
        scene.binding.set(&flag, binding_says).unwrap();
        if !is_placed {
            scene.binding.remove(&["spec", "placement"]);
        }
        for work in &mut scene.works {
            match work_says {
                Some(says) => work.set(&flag, says).unwrap(),
                None => drop(work.remove(&flag)),
            }
        }
        let left = json!([{"name": "m1", "replicas": 3}]);
        let mut leaving = scene.binding.clone();
        leaving.set(&["spec", "clusters"], left).unwrap();
        let mut ending = scene.binding.clone();
        ending
            .set(&["metadata", "deletionTimestamp"], "2026-01-02T03:04:05Z")
            .unwrap();
        for (binding, cluster) in [(leaving, "m2"), (ending.clone(), "m1"), (ending, "m2")] {
            scene.binding = binding;
            let key = work::key(&one(WEB), cluster);
            let story = scene.story();
            let mut lines = story.lines().filter(|line| line.contains(&key.to_string()));
            if let Some(stays) = told {
                let patch = format!(r#"{{"spec":{{"preserveResourcesOnDeletion":{stays}}}}}"#);
                assert_eq!(lines.next(), Some(&*format!("patch Work {key} {patch}")));
            }
            let last = lines.next().unwrap_or_default();
            assert!(last.starts_with(&format!("delete Work {key}")), "{story}");
            assert_eq!(lines.next(), None, "{story}");
        }
    }
}

#[test]
fn a_binding_on_its_way_out_takes_its_works_along_and_then_lets_go() {
    let ends = ["metadata", "deletionTimestamp"];
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    scene.binding.set(&ends, "2026-01-02T03:04:05Z").unwrap();
    scene.policy_preserves = true;
    let both = std::mem::take(&mut scene.works);
    let (m1, m2) = (&both[0], &both[1]);
    let ending = |work: &Object| {
        let mut work = work.clone();
        work.set(&ends, "2026-01-02T03:04:05Z").unwrap();
        work
    };
    let withdrawn = |work: &Object| {
        let key = work.key();
        format!(
            "patch Work {key} {{\"spec\":{{\"preserveResourcesOnDeletion\":true}}}}\n\
             delete Work {key}: its binding test/web-deployment is being deleted"
        )
    };
    let let_go = r#"patch ResourceBinding test/web-deployment@9 {"metadata":{"finalizers":["x"]}}"#;
    // The works in view, whether they are all, and the plans, which know nothing of each other.
    for (works, are_all, expected) in [
        (both.clone(), true, vec![withdrawn(m1), withdrawn(m2)]),
        (vec![m1.clone(), ending(m2)], true, vec![withdrawn(m1)]),
        (vec![ending(m1), ending(m2)], true, vec![let_go.to_owned()]),
        (vec![], true, vec![let_go.to_owned()]),
        (both.clone(), false, vec![]),
        (vec![], false, vec![]),
    ] {
        scene.works = works;
        scene.are_all = are_all;
        let decision = scene.decide();
        let plans: Vec<String> = decision.plans.iter().map(told).collect();
        assert_eq!(plans, expected);
        assert!(decision.news.is_empty());
    }
}

#[test]
fn works_without_binding_go_if_all_works_are_in_view() {
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    let key = ObjectKey::namespaced("test", "web-deployment");
    let gone = |scene: &Scene| -> Vec<String> {
        let plans = plan_gone(&key, &scene.known_works());
        plans.iter().map(told).collect()
    };
    let cause = "its binding test/web-deployment is gone";
    let deleted = |work: &Object| format!("delete Work {}: {cause}", work.key());
    let expected: Vec<String> = scene.works.iter().map(deleted).collect();
    assert_eq!(gone(&scene), expected, "each whatever becomes of the other");
    scene.are_all = false;
    assert!(gone(&scene).is_empty());
}

#[test]
fn an_override_that_does_not_fit_keeps_its_cluster_back_and_no_other() {
    let op = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: op, namespace: test}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /spec/nothing, operator: remove}]}}]}}";
    let scene = scene(&format!("{WEB}\n---\n{}\n---\n{op}", binding(DIVIDED)));
    let text = scene.story();
    assert!(text.contains("report Deployment test/web Warning ApplyOverridePolicyFailed: m1: cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.plaintext[0] at /spec/nothing"), "{text}");
    assert!(
        text.contains("create Work karmada-es-m2/") && !text.contains("create Work karmada-es-m1/"),
        "{text}"
    );
    let condition = r#"patch ResourceBinding test/web-deployment/status@9 {"status":{"conditions":[{"type":"Rendered","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"ApplyOverridePolicyFailed","message":"m1: cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.plaintext[0] at /spec/nothing"#;
    assert!(text.contains(condition), "{text}");
    // Nothing says that all went well.
    assert!(!text.contains("Normal"), "{text}");
    let refusal = scene.decide().refusal.unwrap_or_default();
    assert!(refusal.starts_with("m1: cannot apply"), "{refusal}");
}

#[test]
fn the_overrides_of_the_namespace_have_the_last_word() {
    let label = |kind: &str, name: &str, selector: &str, value: &str| {
        let namespace = if kind == "OverridePolicy" {
            ", namespace: test"
        } else {
            ""
        };
        format!(
            "\n---\n{{apiVersion: policy.karmada.io/v1alpha1, kind: {kind}, metadata: {{name: {name}{namespace}}}, spec: {{resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment{selector}}}], overrideRules: [{{overriders: {{labelsOverrider: [{{operator: add, value: {{env: {value}}}}}]}}}}]}}}}"
        )
    };
    let cop = label("ClusterOverridePolicy", "cop", ", name: web", "cop");
    let op = label("OverridePolicy", "op", "", "op");
    let scene = scene(&format!("{WEB}\n---\n{}{cop}{op}", binding(DIVIDED)));
    assert_eq!(scene.manifest("m1").label("env"), Some("op"));
}

#[test]
fn a_cluster_that_does_not_exist_is_told_and_holds_nobody_back() {
    let spec = DIVIDED.replace("name: m2", "name: m9");
    let scene = scene(&format!("{WEB}\n---\n{}", binding(&spec)));
    let text = scene.story();
    assert!(
        text.contains("Warning SyncWorkFailed: m9: the cluster does not exist"),
        "{text}"
    );
    assert!(text.contains("create Work karmada-es-m1/"), "{text}");
    // The scheduler is about to notice.
    assert!(!text.contains("Rendered"), "{text}");
    assert_eq!(scene.decide().refusal, None);
    assert!(!text.contains("Normal"), "{text}");
}

#[test]
fn a_suspended_cluster_is_marked_and_the_others_are_not() {
    let spec = format!("{DIVIDED}, suspension: {{dispatchingOnClusters: {{clusterNames: [m1]}}}}");
    let text = scene(&format!("{WEB}\n---\n{}", binding(&spec))).story();
    for (cluster, suspended) in [("m1", true), ("m2", false)] {
        let line = text
            .lines()
            .find(|line| line.contains(&format!("karmada-es-{cluster}/")))
            .unwrap();
        assert!(
            line.contains(&format!(r#""suspendDispatching":{suspended}"#)),
            "{line}"
        );
    }
}

#[test]
fn members_keep_what_they_have_while_the_binding_does_not_speak_of_the_template() {
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED)));
    let template = scene.template.clone().unwrap();
    let note = [
        "metadata",
        "annotations",
        "resourcetemplate.karmada.io/activation-fingerprint",
    ];
    scene
        .binding
        .set(&note, Fingerprint::of(&template).to_string())
        .unwrap();
    let mut scene = scene.after();
    assert_eq!(scene.works.len(), 2);
    // The author edits; the binding has not followed, be it because the policy is lazy or because it is gone.
    scene
        .template
        .as_mut()
        .unwrap()
        .set(&["spec", "paused"], true)
        .unwrap();
    assert_eq!(scene.story(), "");
    let template = scene.template.clone().unwrap();
    scene
        .binding
        .set(&note, Fingerprint::of(&template).to_string())
        .unwrap();
    assert_eq!(scene.story().matches("patch Work").count(), 2);
}

/// A scene in which all is as it should be, but the author has edited the template and nobody speaks for it any more.
fn unspoken(spec: &str) -> Scene {
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(spec)));
    let template = scene.template.clone().unwrap();
    let note = [
        "metadata",
        "annotations",
        "resourcetemplate.karmada.io/activation-fingerprint",
    ];
    scene
        .binding
        .set(&note, Fingerprint::of(&template).to_string())
        .unwrap();
    let mut scene = scene.after();
    scene
        .template
        .as_mut()
        .unwrap()
        .set(&["spec", "paused"], true)
        .unwrap();
    scene
}

#[test]
fn clusters_with_nothing_to_keep_get_the_template_as_it_is_now() {
    const BOTH: &str = "replicas: 5, clusters: [{name: m1, replicas: 5}, {name: m2, replicas: 5}]";
    const SECOND: &str = "replicas: 5, clusters: [{name: m2, replicas: 5}]";
    let made = |text: &str| text.matches("create Work").count();
    let changed = |text: &str| text.matches("patch Work").count();
    // It moved: the old cluster loses its copy, and the new one gets what there is now.
    let mut moved = unspoken(&SECOND.replace("m2", "m1"));
    moved
        .binding
        .set(
            &["spec", "clusters"],
            json!([{"name": "m2", "replicas": 5}]),
        )
        .unwrap();
    let text = moved.story();
    assert!(text.starts_with("delete Work karmada-es-m1/"), "{text}");
    assert_eq!((made(&text), changed(&text)), (1, 0), "{text}");
    let manifest = moved.manifest("m2");
    assert_eq!(manifest.at(&["spec", "paused"]), Some(&json!(true)));
    assert!(text.contains("SyncWorkSucceed"), "{text}");
    // It came back to a cluster that had been away: the other keeps what it has.
    let mut back = unspoken(BOTH);
    back.works
        .retain(|work| work.namespace() != "karmada-es-m2");
    let text = back.story();
    assert_eq!((made(&text), changed(&text)), (1, 0), "{text}");
    let settled = back.after();
    assert_eq!(settled.works.len(), 2);
    assert_eq!(settled.story(), "");
    // A work that is going is no copy to keep: its place is taken once it is gone.
    let mut going = unspoken(BOTH);
    let going_work = going.works.last_mut().unwrap();
    going_work
        .set(&["metadata", "deletionTimestamp"], "2026-01-02T03:04:05Z")
        .unwrap();
    let text = going.story();
    assert!(
        text.contains("is being deleted") && made(&text) == 0,
        "{text}"
    );
}

#[test]
fn a_cluster_that_takes_replicas_over_runs_as_many_as_it_is_given() {
    let mut scene = unspoken(DIVIDED);
    let targets = json!([{"name": "m2", "replicas": 5}]);
    scene.binding.set(&["spec", "clusters"], targets).unwrap();
    let text = scene.story();
    assert!(
        text.contains(r#""replicas":5"#) && text.contains(r#""paused":true"#),
        "{text}"
    );
    assert_eq!(scene.after().story().matches("patch Work").count(), 0);
    // What cannot be rendered replaces nothing, and is not told as if it did.
    let op = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: op, namespace: test}, spec: {overrideRules: [{overriders: {plaintext: [{path: /spec/nothing, operator: remove}]}}]}}";
    let mut refused = unspoken(DIVIDED);
    let policy = Policy::from(&read::<OverridePolicy>(&one(op)).unwrap());
    refused.overrides.insert(policy);
    assert_eq!(refused.story(), "");
}

#[test]
fn a_member_that_is_left_directly_must_be_left_before_another_is_entered() {
    let spec = "replicas: 5, clusters: [{name: m2, replicas: 5}], gracefulEvictionTasks: [{fromCluster: m1, purgeMode: Directly, reason: R, producer: P}]";
    let mut scene = scene(&format!("{WEB}\n---\n{}", binding(DIVIDED))).after();
    scene
        .works
        .retain(|work| work.namespace() == "karmada-es-m1");
    scene.binding = one(&binding(spec));
    let text = scene.story();
    assert!(
        text.starts_with("delete Work karmada-es-m1/") && !text.contains("create"),
        "{text}"
    );
    scene.works.clear();
    assert!(scene.story().contains("create Work karmada-es-m2/"));
}

#[test]
fn a_token_without_data_is_written_whole() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: test, uid: u1}, type: kubernetes.io/service-account-token, data: {token: dA==}}";
    let mut scene = scene(&format!(
        "{secret}\n---\n{}",
        binding("clusters: [{name: m1}]")
    ))
    .after();
    assert_eq!(scene.story(), "");
    scene
        .template
        .as_mut()
        .unwrap()
        .set(&["metadata", "labels", "a"], "b")
        .unwrap();
    assert!(scene.story().starts_with("replace Work karmada-es-m1/"));
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn works_and_bindings_wake_when_more_than_their_status_changed() {
    let work = "{metadata: {name: w, namespace: karmada-es-m1, annotations: {clusterresourcebinding.karmada.io/name: b}}}";
    let reported = work.replace("{metadata", "{status: {x: 1}, metadata");
    let changed = work.replace("{metadata", "{spec: {x: 1}, metadata");
    for (before, after, wakes) in [
        (None, Some(work), true),
        (Some(work), None, true),
        (Some(work), Some(changed.as_str()), true),
        (Some(work), Some(reported.as_str()), false),
    ] {
        let change = change(before, after);
        let expected = if wakes {
            vec![ObjectKey::cluster("b")]
        } else {
            vec![]
        };
        assert_eq!(keys::of_work(&change, |_, _| false), expected);
    }
    let placed = "{metadata: {name: b}, spec: {clusters: [{name: m1}]}}";
    let unplaced = "{metadata: {name: b}, spec: {clusters: []}}";
    let scheduled = placed.replace("spec", "status: {x: 1}, spec");
    for (before, after, wakes) in [
        (None, Some(placed), true),
        // There is nothing to do for it before the scheduler has looked.
        (None, Some(unplaced), false),
        (Some(unplaced), Some(placed), true),
        (Some(placed), Some(unplaced), true),
        (Some(placed), None, true),
        (Some(placed), Some(scheduled.as_str()), false),
    ] {
        assert_eq!(keys::of_binding(&change(before, after)).is_some(), wakes);
    }
}

#[test]
fn a_work_that_came_and_is_wanted_wakes_nobody() {
    let work = "{metadata: {name: w, namespace: karmada-es-m1, annotations: {clusterresourcebinding.karmada.io/name: b}}}";
    let changed = work.replace("{metadata", "{spec: {x: 1}, metadata");
    for (before, after, wakes) in [
        (None, Some(work), false),
        (Some(work), None, true),
        (Some(work), Some(changed.as_str()), true),
    ] {
        let keys = keys::of_work(&change(before, after), |_, _| true);
        assert_eq!(!keys.is_empty(), wakes);
    }
}

#[test]
fn a_cluster_wakes_its_bindings_when_rules_could_tell_the_difference() {
    let cluster = "{metadata: {name: m1, labels: {a: b}}, spec: {region: r}}";
    let ready = cluster.replace("spec:", "status: {x: 1}, spec:");
    let moved = cluster.replace("region: r", "region: s");
    let on_cluster = |_: &str| vec![one(&binding(DIVIDED)).key()];
    for (before, after, wakes) in [
        (None, Some(cluster), true),
        (Some(cluster), Some(moved.as_str()), true),
        (Some(cluster), Some(ready.as_str()), false),
    ] {
        let keys = keys::of_cluster(&change(before, after), on_cluster);
        assert_eq!(!keys.is_empty(), wakes);
    }
}

#[test]
fn a_template_wakes_its_binding_when_it_comes_or_only_our_own_keys_change() {
    let adopted = WEB.replace(
        "uid: u1,",
        "uid: u1, annotations: {work.karmada.io/conflict-resolution: overwrite},",
    );
    let edited = WEB.replace("replicas: 5", "replicas: 6");
    let of_template = |_: &crate::templates::TemplateKey| vec![one(&binding(DIVIDED)).key()];
    for (before, after, wakes) in [
        (None, Some(WEB), true),
        (Some(WEB), Some(adopted.as_str()), true),
        (Some(WEB), Some(edited.as_str()), false),
        (Some(WEB), None, false),
    ] {
        let kind = GroupKind::new("apps", "Deployment");
        let keys = keys::of_template(&kind, &change(before, after), of_template);
        assert_eq!(!keys.is_empty(), wakes);
    }
}

#[test]
fn a_binding_for_what_is_elsewhere_makes_no_work_and_takes_none_away() {
    for elsewhere in ["namespace: kube-system, ", ""] {
        let binding = binding("clusters: [{name: m1}]").replace(
            "kind: Deployment, namespace: test, ",
            &format!("kind: Deployment, {elsewhere}"),
        );
        let work = "{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: w, namespace: karmada-es-m2, uid: w, resourceVersion: '1'}}";
        let story = scene(&format!("---\n{binding}\n---\n{WEB}\n---\n{work}\n")).story();
        let lines: Vec<&str> = story.lines().collect();
        assert!(
            story.contains(
                "a ResourceBinding in namespace test is for objects of that namespace alone"
            ) && story.contains("SyncWorkFailed")
                && story.contains(r#""type":"Rendered","status":"False""#),
            "{story}"
        );
        assert!(
            lines
                .iter()
                .all(|line| !line.starts_with("create") && !line.starts_with("delete")),
            "{story}"
        );
    }
}

#[test]
fn what_is_held_back_is_not_sent_to_clusters_that_may_be_left() {
    let moving = |suspension: &str, noted: &str| {
        let spec = format!(
            "{suspension}placement: {{clusterAffinity: {{clusterNames: [m2]}}}}, clusters: [{{name: m1, replicas: 5}}]"
        );
        let note = format!(
            "labels: {{propagationpolicy.karmada.io/permanent-id: id, resourcebinding.karmada.io/permanent-id: rb1}}, annotations: {{policy.karmada.io/applied-placement: '{{\"clusterAffinity\":{{\"clusterNames\":[\"{noted}\"]}}}}'}}"
        );
        let labels = "labels: {resourcebinding.karmada.io/permanent-id: rb1}";
        binding(&spec).replacen(labels, &note, 1)
    };
    let held = moving("suspension: {dispatching: true}, ", "m1");
    let mut scene = scene(&format!("{WEB}\n---\n{held}")).after();
    let is_held = |scene: &Scene| {
        let work = scene.works.first().unwrap();
        work.at(&["spec", "suspendDispatching"]) == Some(&json!(true))
    };
    assert!(is_held(&scene));
    // Set free and moved in one change: nobody has decided yet whether m1 is to have it.
    scene.binding = one(&moving("", "m1"));
    scene = scene.after();
    assert!(is_held(&scene));
    scene.binding = one(&moving("", "m2"));
    assert!(!is_held(&scene.after()));
}

//! Jobs, whose completions are shared among clusters.

use super::*;
use crate::works::completions::are_to_be_given;

#[test]
fn a_jobs_completions_are_shared_like_its_replicas() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: pi, namespace: test, uid: u1}, spec: {parallelism: 4, completions: 9, ttlSecondsAfterFinished: 5}}";
    let spec = DIVIDED
        .replace("replicas: 5", "replicas: 4")
        .replace("replicas: 3", "replicas: 2");
    let scene = scene(&format!("{job}\n---\n{}", binding(&spec)));
    let of = |cluster: &str| {
        let manifest = scene.manifest(cluster);
        assert_eq!(manifest.integer_at(&["spec", "parallelism"]), Some(2));
        assert_eq!(manifest.at(&["spec", "ttlSecondsAfterFinished"]), None);
        manifest.integer_at(&["spec", "completions"]).unwrap()
    };
    let mut shares = [of("m1"), of("m2")];
    shares.sort_unstable();
    assert_eq!(shares, [4, 5]);
}

/// A Job that is there takes no other number of completions, so its cluster keeps what it has: what it runs goes on with
/// any parallelism, and what nobody is left for is told.
#[test]
fn a_job_that_runs_keeps_its_completions() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: pi, namespace: test, uid: u1}, spec: {parallelism: 3, completions: 9}}";
    let spec = |clusters: &str| {
        format!(
            "replicas: 3, placement: {{replicaScheduling: {{replicaSchedulingType: Divided}}}}, clusters: [{clusters}]"
        )
    };
    let first = spec("{name: m1, replicas: 1}, {name: m2, replicas: 2}");
    let mut scene = scene(&format!("{job}\n---\n{}", binding(&first))).after();
    for (clusters, expected, told) in [
        (
            "{name: m1, replicas: 1}, {name: m2, replicas: 3}",
            "m1 has 1 of 3, m2 has 3 of 6",
            Some(
                "Normal CompletionsKept: completions of a Job that is there cannot change: of 9 in all m1 has 3, m2 has 6",
            ),
        ),
        (
            "{name: m1, replicas: 2}, {name: m2, replicas: 4}",
            "m1 has 2 of 3, m2 has 4 of 6",
            None,
        ),
        (
            "{name: m1, replicas: 3}",
            "m1 has 3 of 3, m2 has 4 of 6",
            Some(
                "Warning CompletionsMissing: 6 of 9 completions have no cluster left, and those of a Job that is there cannot change: m1 has 3; run what is missing by another Job",
            ),
        ),
    ] {
        scene.binding = one(&binding(&spec(clusters)));
        let story = scene.story();
        let about = "Completions";
        match told {
            Some(told) => assert!(story.contains(told), "{story}"),
            None => assert!(!story.contains(about), "{story}"),
        }
        let is_missing = story.contains("CompletionsMissing");
        assert_eq!(
            story.contains(r#""type":"Rendered","status":"False""#),
            is_missing,
            "{story}"
        );
        assert_eq!(scene.decide().refusal.is_some(), is_missing);
        scene = scene.after();
        let has = |work: &Object| {
            let manifests = work.at(&["spec", "workload", "manifests"]).unwrap();
            let spec = &manifests[0]["spec"];
            let cluster = work.namespace().trim_start_matches("karmada-es-");
            format!(
                "{cluster} has {} of {}",
                spec["parallelism"], spec["completions"]
            )
        };
        let all: Vec<String> = scene.works.iter().map(has).collect();
        assert_eq!(all.join(", "), expected);
    }
}

const PI: &str = "{apiVersion: batch/v1, kind: Job, metadata: {name: pi, namespace: test, uid: u1}, spec: {parallelism: 3, completions: 9}}";

/// The spec of a binding that divides a Job among clusters, given with their replicas.
fn dividing(clusters: &[(&str, i32)]) -> String {
    let clusters: Vec<String> = clusters
        .iter()
        .map(|(name, replicas)| format!("{{name: {name}, replicas: {replicas}}}"))
        .collect();
    format!(
        "replicas: 3, placement: {{replicaScheduling: {{replicaSchedulingType: Divided}}}}, clusters: [{}]",
        clusters.join(", ")
    )
}

/// A Job of which m1 has 3 completions and m2 has 6, and a third cluster.
fn with_a_job(more: &str) -> Scene {
    let divided = binding(&dividing(&[("m1", 1), ("m2", 2)]));
    let mut scene = scene(&format!("{PI}\n---\n{divided}{more}"));
    let mut cluster = Cluster::default();
    cluster.metadata.name = "m3".to_owned();
    scene.clusters.insert("m3".to_owned(), Arc::new(cluster));
    scene.after()
}

/// The completions that clusters are sent by works.
fn completions_of<'w>(works: impl IntoIterator<Item = &'w Object>) -> String {
    let told = works.into_iter().map(|work| {
        let manifests = work.at(&["spec", "workload", "manifests"]).unwrap();
        let cluster = work.namespace().trim_start_matches("karmada-es-");
        format!("{cluster}={}", manifests[0]["spec"]["completions"])
    });
    told.collect::<Vec<String>>().join(" ")
}

/// What a cluster is given it keeps, so the server itself is asked who has what.
#[test]
fn shares_that_last_are_given_by_what_the_server_says() {
    let two = [("m1", 1), ("m2", 2)];
    let three = [("m1", 1), ("m2", 2), ("m3", 3)];
    let elastic = PI.replace("completions: 9", "completions: 3, completionMode: Indexed");
    let whole = PI.replace("completions: 9", "activeDeadlineSeconds: 9");
    // The Job, its clusters, and those whose works there are; whether somebody is to be asked, and what is made then.
    for (job, clusters, there, is_asked, expected) in [
        (PI, &two[..], &["m1", "m2"][..], false, ""),
        (PI, &two, &[], true, "m1=3 m2=6"),
        (PI, &three, &["m1", "m2"], true, "m3=0"),
        (PI, &three, &["m2"], true, "m1=1 m3=2"),
        // These follow their parallelism whatever they were given before.
        (&elastic, &two, &[], false, "m1=1 m2=2"),
        // Nothing is shared.
        (&whole, &two, &[], false, "m1=null m2=null"),
    ] {
        let mut scene = with_a_job("");
        scene.works.retain(|work| {
            let is_of = |name: &&str| work.namespace() == format!("karmada-es-{name}");
            there.iter().any(is_of)
        });
        scene.template = Some(one(job));
        scene.binding = one(&binding(&dividing(clusters)));
        let read = Binding::read(&scene.binding).unwrap();
        let case = format!("{job} {clusters:?} {there:?}");
        let asked = are_to_be_given(&one(job), &read.spec, &scene.works);
        assert_eq!(asked, is_asked, "{case}");
        let decision = scene.decide();
        let actions = decision.plans.iter().flat_map(|plan| &plan.actions);
        let made = actions.filter_map(|action| match action {
            Action::Create { object, .. } => Some(object),
            _ => None,
        });
        assert_eq!(completions_of(made), expected, "{case}");
        assert_eq!(decision.refusal, None, "{case}");
    }
}

#[test]
fn completions_that_an_override_takes_are_not_missing() {
    let op = "\n---\n{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: op, namespace: test}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /spec/completions, operator: replace, value: 1}]}}]}}";
    let mut scene = with_a_job(op);
    assert_eq!(completions_of(&scene.works), "m1=1 m2=6");
    assert_eq!(scene.story(), "");
    assert_eq!(scene.decide().refusal, None);
    // Nobody else gets them.
    scene.binding = one(&binding(&dividing(&[("m1", 1), ("m2", 1), ("m3", 1)])));
    let scene = scene.after();
    assert_eq!(completions_of(&scene.works), "m1=1 m2=6 m3=0");
    assert_eq!(scene.story(), "");
}

#[test]
fn a_job_at_rest_is_not_multiplied() {
    let resting =
        dividing(&[("m1", 0), ("m2", 0), ("m3", 0)]).replace("replicas: 3", "replicas: 0");
    let mut scene = with_a_job("");
    scene.binding = one(&binding(&resting));
    let scene = scene.after();
    assert_eq!(completions_of(&scene.works), "m1=3 m2=6 m3=0");
    // Nor is one that has rested from the start.
    let mut scene = with_a_job("");
    scene.works.clear();
    scene.binding = one(&binding(&resting));
    let mut scene = scene.after();
    assert_eq!(completions_of(&scene.works), "m1=3 m2=3 m3=3");
    scene.binding = one(&binding(&dividing(&[("m1", 1), ("m2", 1), ("m3", 1)])));
    assert_eq!(completions_of(&scene.after().works), "m1=3 m2=3 m3=3");
}

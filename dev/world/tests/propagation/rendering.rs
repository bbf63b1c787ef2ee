//! What a template looks like for one cluster: its replicas, its completions, its overrides.

use world::json;

use crate::stage::{
    DEPLOYMENTS, Stage, WHILE, all, config_map, customization, deployment, divided, on,
    one_deployment, overriding, policy,
};

#[tokio::test(start_paused = true)]
async fn a14_and_p11_each_cluster_gets_its_replicas() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("split", 5),
            deployment("both", 5),
            policy(
                "split",
                &one_deployment("split"),
                &divided(&[("m1", 3), ("m2", 2)]),
            ),
            policy("both", &one_deployment("both"), &on("m1, m2")),
            // Duplicated copies are revised as well, although their number is the template's.
            customization(
                "revising",
                "apps/v1/Deployment",
                &[(
                    "replicaRevision",
                    "function ReviseReplica(o, n) o.spec.replicas = n o.metadata.annotations = {revised = tostring(n)} return o end",
                )],
            ),
        ]))
        .await;
    for (member, name, replicas) in [
        ("m1", "split", 3),
        ("m2", "split", 2),
        ("m1", "both", 5),
        ("m2", "both", 5),
    ] {
        let name = format!("test/{name}");
        stage
            .copy(member, "deployments", &name)
            .shows("spec.replicas", json!(replicas))
            .await;
        stage
            .copy(member, "deployments", &name)
            .shows("metadata.annotations.revised", replicas.to_string())
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a15_completions_of_a_job_are_shared_and_its_lifetime_stays_here() {
    let stage = Stage::with(2).await;
    let job = |name: &str, more: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, namespace: test}}, spec: {{parallelism: 4, {more}template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}}}"
        )
    };
    stage
        .apply(&all(&[
            job("counted", "completions: 9, ttlSecondsAfterFinished: 100, "),
            job("open", ""),
            policy(
                "p",
                "{apiVersion: batch/v1, kind: Job}",
                &divided(&[("m1", 1), ("m2", 1)]),
            ),
        ]))
        .await;
    let mut shares = Vec::new();
    for member in ["m1", "m2"] {
        stage
            .copy(member, "jobs", "test/counted")
            .shows("spec.parallelism", 2)
            .await;
        shares.push(
            stage
                .copy(member, "jobs", "test/counted")
                .field("spec.completions")
                .await,
        );
        stage
            .copy(member, "jobs", "test/open")
            .shows("spec.parallelism", 2)
            .await;
        let work = stage.work("Job", "counted", member).await.unwrap();
        let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
        assert_eq!(manifest["spec"].get("ttlSecondsAfterFinished"), None);
        let work = stage.work("Job", "open", member).await.unwrap();
        let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
        assert_eq!(manifest["spec"].get("completions"), None);
    }
    shares.sort_by_key(ToString::to_string);
    assert_eq!(shares, [json!(4), json!(5)]);
}

const JOBS: &str = "{apiVersion: batch/v1, kind: Job}";
const PI: &str = "{apiVersion: batch/v1, kind: Job, metadata: {name: pi, namespace: test}, spec: {parallelism: 3, completions: 9, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";

/// Members refuse other completions of a Job that is there, so it keeps those it has: it goes on with any parallelism, and
/// whoever wrote it is told.
#[tokio::test(start_paused = true)]
async fn a_job_that_runs_goes_on_when_its_parallelism_changes() {
    let stage = Stage::with(2).await;
    let to = |weights: &[(&str, u32)]| policy("p", JOBS, &divided(weights));
    stage
        .apply(&all(&[PI.to_owned(), to(&[("m1", 1), ("m2", 2)])]))
        .await;
    let shares = [("m1", 1, 3), ("m2", 2, 6)];
    let mut uids = Vec::new();
    for (member, parallelism, completions) in shares {
        let copy = stage.copy(member, "jobs", "test/pi");
        copy.shows("spec.parallelism", parallelism).await;
        copy.shows("spec.completions", completions).await;
        uids.push(copy.field("metadata.uid").await);
    }
    let job = stage.template("jobs", "test/pi");
    job.patch(json!({"spec": {"parallelism": 4}})).await;
    stage
        .copy("m2", "jobs", "test/pi")
        .shows("spec.parallelism", 3)
        .await;
    let binding = stage.template("rb", "test/pi-job");
    binding
        .says("FullyApplied", "True FullyAppliedSuccess")
        .await;
    for ((member, _, completions), uid) in shares.into_iter().zip(uids) {
        let copy = stage.copy(member, "jobs", "test/pi");
        copy.shows("spec.completions", completions).await;
        copy.shows("metadata.uid", uid).await;
        let work = stage.work_of("Job", "pi", member).await;
        work.says("Applied", "True AppliedSuccessful").await;
    }
    stage
        .told(
            "Job",
            "pi",
            "CompletionsKept",
            "of 9 in all m1 has 3, m2 has 6",
        )
        .await;

    // What a cluster had that is left cannot go to one that has the Job already.
    stage.apply(&to(&[("m1", 1)])).await;
    stage.copy("m2", "jobs", "test/pi").goes().await;
    let m1 = stage.copy("m1", "jobs", "test/pi");
    m1.shows("spec.parallelism", 4).await;
    m1.shows("spec.completions", 3).await;
    binding.says("Rendered", "False CompletionsMissing").await;
    stage
        .told(
            "Job",
            "pi",
            "CompletionsMissing",
            "6 of 9 completions have no cluster left",
        )
        .await;
}

/// While nothing runs every cluster may have the Job; together they still have as many completions as were asked for.
#[tokio::test(start_paused = true)]
async fn a_job_at_rest_is_not_multiplied() {
    let stage = Stage::with(3).await;
    let weights = divided(&[("m1", 1), ("m2", 2)]);
    stage
        .apply(&all(&[PI.to_owned(), policy("p", JOBS, &weights)]))
        .await;
    let shows = async |member: &str, parallelism: i32, completions: i32| {
        let copy = stage.copy(member, "jobs", "test/pi");
        copy.shows("spec.parallelism", parallelism).await;
        copy.shows("spec.completions", completions).await;
    };
    for (member, parallelism, completions) in [("m1", 1, 3), ("m2", 2, 6)] {
        shows(member, parallelism, completions).await;
    }
    let job = stage.template("jobs", "test/pi");
    job.patch(json!({"spec": {"parallelism": 0}})).await;
    for (member, completions) in [("m1", 3), ("m2", 6), ("m3", 0)] {
        shows(member, 0, completions).await;
    }
    job.patch(json!({"spec": {"parallelism": 3}})).await;
    for (member, parallelism, completions) in [("m1", 1, 3), ("m2", 2, 6)] {
        shows(member, parallelism, completions).await;
    }
    stage.copy("m3", "jobs", "test/pi").goes().await;
}

#[tokio::test(start_paused = true)]
async fn completions_that_an_override_takes_are_not_missing() {
    let stage = Stage::with(2).await;
    let fewer = "{plaintext: [{path: /spec/completions, operator: replace, value: 1}]}";
    stage
        .apply(&all(&[
            overriding("fewer", JOBS, "m1", fewer),
            PI.to_owned(),
            policy("p", JOBS, &divided(&[("m1", 1), ("m2", 2)])),
        ]))
        .await;
    let m2 = stage.copy("m2", "jobs", "test/pi");
    m2.shows("spec.completions", 6).await;
    let job = stage.template("jobs", "test/pi");
    job.patch(json!({"spec": {"parallelism": 4}})).await;
    m2.shows("spec.parallelism", 3).await;
    stage.advance(WHILE).await;
    m2.shows("spec.completions", 6).await;
    let m1 = stage.copy("m1", "jobs", "test/pi");
    m1.shows("spec.completions", 1).await;
    let told = stage.events("Job", "pi").await;
    let is_missed = told
        .iter()
        .any(|event| event.contains("CompletionsMissing"));
    assert!(!is_missed, "{told:?}");
    let binding = stage.template("rb", "test/pi-job");
    binding
        .says("FullyApplied", "True FullyAppliedSuccess")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a16_and_p10_the_most_specific_override_lands_last() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let label = |pair: &str| format!("{{labelsOverrider: [{{operator: add, value: {{{pair}}}}}]}}");
    let cluster_wide = overriding("cop", &one_deployment("web"), "", &label("env: cop"))
        .replace("kind: OverridePolicy", "kind: ClusterOverridePolicy")
        .replacen(", namespace: test", "", 1);
    stage
        .apply(&all(&[
            cluster_wide,
            overriding("any", DEPLOYMENTS, "", &label("env: op, v: \"1\"")),
            overriding("named", &one_deployment("web"), "", &label("v: \"2\"")),
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    web_in_m1.shows("metadata.labels.env", "op").await;
    web_in_m1.shows("metadata.labels.v", "2").await;
}

#[tokio::test(start_paused = true)]
async fn a17_images_are_rewritten_part_by_part() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let stage = Stage::with(1).await;
    let cases = [
        (
            "registry",
            "Registry",
            "add",
            ".cn",
            "reg.io.cn/app/web:v1".to_owned(),
        ),
        (
            "repository",
            "Repository",
            "replace",
            "x/y",
            "reg.io/x/y:v1".to_owned(),
        ),
        ("untagged", "Tag", "remove", "", "reg.io/app/web".to_owned()),
        (
            "digest",
            "Tag",
            "replace",
            digest.as_str(),
            format!("reg.io/app/web@{digest}"),
        ),
        (
            "unchanged",
            "Tag",
            "replace",
            "bad tag",
            "reg.io/app/web:v1".to_owned(),
        ),
    ];
    let mut documents = vec![policy("p", DEPLOYMENTS, &on("m1"))];
    for (name, component, operator, value, _) in &cases {
        documents.push(overriding(
            name,
            &one_deployment(name),
            "",
            &format!(
                "{{imageOverrider: [{{component: {component}, operator: {operator}, value: '{value}'}}]}}"
            ),
        ));
        documents.push(deployment(name, 1));
    }
    stage.apply(&all(&documents)).await;
    for (name, .., image) in cases {
        let name = format!("test/{name}");
        let path = "spec.template.spec.containers.0.image";
        stage
            .copy("m1", "deployments", &name)
            .shows(path, json!(image))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a18_and_p14_words_of_commands_are_added_and_removed() {
    let stage = Stage::with(1).await;
    let cases = [
        ("added", "web", "add", json!(["a", "b"])),
        // What is taken from a list that is not there leaves an empty list, which the member's server drops.
        ("removed", "web", "remove", json!(null)),
        ("unknown", "nobody", "add", json!(null)),
    ];
    let mut documents = vec![policy("p", DEPLOYMENTS, &on("m1"))];
    for (name, container, operator, _) in &cases {
        documents.push(overriding(
            name,
            &one_deployment(name),
            "",
            &format!("{{commandOverrider: [{{containerName: {container}, operator: {operator}, value: [a, b]}}]}}"),
        ));
        documents.push(deployment(name, 1));
    }
    stage.apply(&all(&documents)).await;
    for (name, _, operator, expected) in cases {
        let full = format!("test/{name}");
        stage.copy("m1", "deployments", &full).comes().await;
        let work = stage.work("Deployment", name, "m1").await.unwrap();
        let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
        let command = &manifest["spec"]["template"]["spec"]["containers"][0]["command"];
        if operator == "remove" {
            assert_eq!(*command, json!([]), "{name}");
            continue;
        }
        assert_eq!(*command, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a19_an_override_that_fails_holds_no_other_cluster_back() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            overriding(
                "op",
                DEPLOYMENTS,
                "m1",
                "{plaintext: [{path: /spec/template/spec/nodeName, operator: remove}]}",
            ),
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1, m2")),
        ]))
        .await;
    stage.copy("m2", "deployments", "test/web").comes().await;
    stage
        .told(
            "Deployment",
            "test/web",
            "ApplyOverridePolicyFailed",
            "/spec/template/spec/nodeName",
        )
        .await;
    stage.advance(WHILE).await;
    assert!(stage.work("Deployment", "web", "m1").await.is_none());
    stage.template("overridepolicies", "test/op").delete().await;
    stage.copy("m1", "deployments", "test/web").comes().await;
}

#[tokio::test(start_paused = true)]
async fn a20_a_document_inside_a_field_is_changed_at_one_leaf() {
    let stage = Stage::with(1).await;
    let leaf_in_m1 = stage.copy("m1", "configmaps", "test/leaf");
    let rule = |path: &str| {
        format!(
            "{{fieldOverrider: [{{fieldPath: {path}, yaml: [{{subPath: /db/port, operator: replace, value: 5433}}]}}]}}"
        )
    };
    stage
        .apply(&all(&[
            overriding(
                "leaf",
                "{apiVersion: v1, kind: ConfigMap, name: leaf}",
                "",
                &rule("/data/app.yaml"),
            ),
            overriding(
                "bad",
                "{apiVersion: v1, kind: ConfigMap, name: bad}",
                "",
                &rule("/data"),
            ),
            config_map("leaf", r#"{app.yaml: "db:\n  host: a\n  port: 5432\n"}"#),
            config_map("bad", "{a: b}"),
            policy("p", crate::stage::CONFIG_MAPS, &on("m1")),
        ]))
        .await;
    leaf_in_m1.comes().await;
    let copy = leaf_in_m1.found().await;
    assert_eq!(
        copy.text_at(&["data", "app.yaml"]),
        Some("db:\n  host: a\n  port: 5433\n")
    );
    stage
        .told(
            "ConfigMap",
            "test/bad",
            "ApplyOverridePolicyFailed",
            "/data",
        )
        .await;
    assert!(
        stage
            .copy("m1", "configmaps", "test/bad")
            .is_missing()
            .await
    );
}

#[tokio::test(start_paused = true)]
async fn p13_a_predicate_that_points_nowhere_is_told_and_hurts_nobody_else() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            overriding(
                "op",
                &one_deployment("bad"),
                "",
                "{imageOverrider: [{predicate: {path: /spec/template/spec/containers/7/image}, component: Tag, operator: replace, value: v2}]}",
            ),
            deployment("bad", 1),
            deployment("good", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.copy("m1", "deployments", "test/good").comes().await;
    stage
        .told(
            "Deployment",
            "test/bad",
            "ApplyOverridePolicyFailed",
            "/spec/template/spec/containers/7/image",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn p15_a_note_of_overrides_that_are_gone_changes_nothing() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .apply(&all(&[
            overriding(
                "op",
                DEPLOYMENTS,
                "",
                "{labelsOverrider: [{operator: add, value: {o: p}}]}",
            ),
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    web_in_m1.shows("metadata.labels.o", "p").await;
    stage.template("overridepolicies", "test/op").delete().await;
    web_in_m1.shows("metadata.labels.o", json!(null)).await;
}

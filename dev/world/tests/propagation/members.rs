//! What happens to objects in members.

use object::Value;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, all, config_map, deployment, on, policy,
};

#[tokio::test(start_paused = true)]
async fn a21_and_p20_dispatch_to_a_cluster_can_be_suspended() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let web = stage.template("deployments", "test/web");
    let binding = stage.template("rb", "test/web-deployment");
    let spec = format!(
        "suspension: {{dispatchingOnClusters: {{clusterNames: [m1]}}}}, {}",
        on("m1, m2")
    );
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    web_in_m1.shows("status.readyReplicas", 1).await;
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    let work = stage.work_of("Deployment", "web", "m1").await;
    work.shows("spec.suspendDispatching", true).await;
    work.says("Dispatching", "False SuspendDispatching").await;
    web.patch(json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}))
        .await;
    let path = "spec.template.spec.terminationGracePeriodSeconds";
    stage
        .copy("m2", "deployments", "test/web")
        .shows(path, 7)
        .await;
    web_in_m1.keeps(path, 30).await;
    // Status still comes back.
    web_in_m1.patch(json!({"spec": {"replicas": 2}})).await;
    binding
        .shows(
            "status.aggregatedStatus.clusterName=m1.status.readyReplicas",
            2,
        )
        .await;
    web_in_m1.delete().await;
    stage.advance(WHILE).await;
    assert!(web_in_m1.is_missing().await);
    // What is not there is neither applied nor healthy.
    let item = "status.aggregatedStatus.clusterName=m1";
    for (field, expected) in [
        ("health", json!("Unknown")),
        ("status", json!(null)),
        ("applied", json!(null)),
        (
            "appliedMessage",
            json!(
                "gone from the member, and not made again while dispatching is suspended: Deployment test/web"
            ),
        ),
    ] {
        let path = format!("{item}.{field}");
        binding.shows(&path, expected).await;
    }
    assert_eq!(
        binding.condition("FullyApplied").await,
        "False FullyAppliedFailed"
    );
    // Deletion is not held back.
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1, m2"))).await;
    web_in_m1.comes().await;
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    work.shows("spec.suspendDispatching", true).await;
    web.delete().await;
    web_in_m1.goes().await;
}

#[tokio::test(start_paused = true)]
async fn a22_and_p19_what_was_there_before_is_adopted_only_on_request() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let binding = stage.template("rb", "test/web-deployment");
    stage.copy("m1", "namespaces", "test").comes().await;
    stage.member("m1").apply(&deployment("web", 2)).await;
    web_in_m1.shows("status.readyReplicas", 2).await;
    let pods = stage.member("m1").names("pods", "test").await;
    stage
        .spread(&[deployment("web", 2)], DEPLOYMENTS, "m1")
        .await;
    let why = "resource(kind=Deployment, test/web) already exists in the cluster m1";
    let told = "status.aggregatedStatus.0.appliedMessage";
    stage
        .until("the binding says why not", SOON, async || {
            let message = binding.field(told).await;
            message.as_str().is_some_and(|text| text.contains(why))
        })
        .await;
    let applied = "status.aggregatedStatus.0.applied";
    let applied = binding.field(applied).await;
    assert!(
        matches!(applied, Value::Null | Value::Bool(false)),
        "{applied}"
    );
    assert_eq!(
        binding.condition("FullyApplied").await,
        "False FullyAppliedFailed"
    );
    let work = stage.work_of("Deployment", "web", "m1").await;
    assert_eq!(work.condition("Applied").await, "False AppliedFailed");
    let overwrite =
        json!({"metadata": {"annotations": {"work.karmada.io/conflict-resolution": "overwrite"}}});
    stage
        .template("deployments", "test/web")
        .patch(overwrite)
        .await;
    stage
        .until("it is adopted", SOON, async || {
            let copy = web_in_m1.get().await;
            copy.is_some_and(|copy| copy.label("karmada.io/managed") == Some("true"))
        })
        .await;
    stage.advance(WHILE).await;
    assert_eq!(
        stage.member("m1").names("pods", "test").await,
        pods,
        "no pod restarts"
    );

    // What was refused is never deleted.
    stage
        .member("m1")
        .apply(&config_map("theirs", "{a: b}"))
        .await;
    stage
        .apply(&all(&[
            config_map("theirs", "{c: d}"),
            policy("q", CONFIG_MAPS, &on("m1")),
        ]))
        .await;
    stage
        .see(
            "the work is refused",
            "False AppliedFailed",
            async || match stage.work("ConfigMap", "theirs", "m1").await {
                Some(work) => stage
                    .template("works", &work.key().to_string())
                    .condition("Applied")
                    .await
                    .into(),
                None => json!(null),
            },
        )
        .await;
    stage.template("configmaps", "test/theirs").delete().await;
    stage
        .until("the work is gone", SOON, async || {
            stage.works_of("ConfigMap", "theirs").await.is_empty()
        })
        .await;
    let kept = stage
        .copy("m1", "configmaps", "test/theirs")
        .field("data.a")
        .await;
    assert_eq!(kept, json!("b"));
}

#[tokio::test(start_paused = true)]
async fn a23_what_is_deleted_or_changed_in_a_member_comes_back() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web_in_m1.shows("status.readyReplicas", 1).await;
    web_in_m1.delete().await;
    web_in_m1.shows("status.readyReplicas", 1).await;
    let work = stage.work_of("Deployment", "web", "m1").await;
    work.says("Applied", "True ReCreateSuccessful").await;
    web_in_m1.patch(json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "evil"}]}}}})).await;
    let path = "spec.template.spec.containers.0.image";
    web_in_m1.shows(path, "reg.io/app/web:v1").await;
}

#[tokio::test(start_paused = true)]
async fn a24_labels_of_others_stay_and_labels_that_left_the_template_go() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let labelled = deployment("web", 1).replacen(
        "namespace: test",
        "namespace: test, labels: {ours: here}",
        1,
    );
    stage.spread(&[labelled], DEPLOYMENTS, "m1").await;
    web_in_m1.shows("metadata.labels.ours", "here").await;
    web_in_m1
        .patch(json!({"metadata": {"labels": {"k": "v"}}}))
        .await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"labels": {"ours": null}}, "spec": {"replicas": 2}}))
        .await;
    web_in_m1.shows("spec.replicas", 2).await;
    web_in_m1.shows("metadata.labels.ours", json!(null)).await;
    web_in_m1.keeps("metadata.labels.k", "v").await;
}

#[tokio::test(start_paused = true)]
async fn a25_p12_and_p17_what_a_member_fills_in_stays() {
    let stage = Stage::with(1).await;
    let s_in_m1 = stage.copy("m1", "services", "test/s");
    let scaled_in_m1 = stage.copy("m1", "deployments", "test/scaled");
    let disk_in_m1 = stage.copy("m1", "persistentvolumeclaims", "test/disk");
    let retained = deployment("scaled", 1).replacen(
        "namespace: test",
        "namespace: test, labels: {resourcetemplate.karmada.io/retain-replicas: \"true\"}",
        1,
    );
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, namespace: test}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    stage.spread(&["{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test}, spec: {ports: [{port: 80}], selector: {a: b}}}".to_owned(), claim.to_owned(), retained], &format!("{DEPLOYMENTS}, {{apiVersion: v1, kind: Service}}, {{apiVersion: v1, kind: PersistentVolumeClaim}}"), "m1").await;
    s_in_m1.comes().await;
    scaled_in_m1.comes().await;
    disk_in_m1.comes().await;
    let address = s_in_m1.field("spec.clusterIP").await;
    assert!(address.is_string(), "{address}");
    stage
        .template("services", "test/s")
        .patch(json!({"spec": {"ports": [{"port": 81}]}}))
        .await;
    s_in_m1.shows("spec.ports.0.port", 81).await;
    s_in_m1.keeps("spec.clusterIP", address).await;

    scaled_in_m1.patch(json!({"spec": {"replicas": 4}})).await;
    stage
        .template("deployments", "test/scaled")
        .patch(json!({"metadata": {"annotations": {"touched": "yes"}}}))
        .await;
    scaled_in_m1
        .shows("metadata.annotations.touched", "yes")
        .await;
    scaled_in_m1.keeps("spec.replicas", 4).await;

    stage
        .until("the claim has a volume", SOON, async || {
            disk_in_m1.field("spec.volumeName").await.is_string()
        })
        .await;
    let volume = disk_in_m1.field("spec.volumeName").await;
    stage
        .template("persistentvolumeclaims", "test/disk")
        .patch(json!({"metadata": {"annotations": {"touched": "yes"}}}))
        .await;
    disk_in_m1
        .shows("metadata.annotations.touched", "yes")
        .await;
    disk_in_m1.keeps("spec.volumeName", volume).await;
}

#[tokio::test(start_paused = true)]
async fn p16_nothing_is_written_where_nothing_changes() {
    let stage = Stage::with(1).await;
    stage.spread(&[deployment("web", 1), "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test}, spec: {ports: [{port: 80}]}}".to_owned()], &format!("{DEPLOYMENTS}, {{apiVersion: v1, kind: Service}}"), "m1").await;
    stage
        .template("deployments", "test/web")
        .shows("status.readyReplicas", 1)
        .await;
    stage.copy("m1", "services", "test/s").comes().await;
    stage.advance(WHILE).await;
    let revisions = async || {
        let mut all = Vec::new();
        for kind in ["works", "rb", "deployments", "services"] {
            for object in stage.list(kind, "").await {
                all.push(format!(
                    "{} {} {}",
                    object.kind(),
                    object.key(),
                    object.resource_version()
                ));
            }
        }
        for kind in ["deployments", "services"] {
            for object in stage.member("m1").list(kind, "test").await {
                all.push(format!(
                    "m1 {} {} {}",
                    object.kind(),
                    object.key(),
                    object.resource_version()
                ));
            }
        }
        all.sort();
        all
    };
    let before = revisions().await;
    stage.restart().await;
    stage.advance(SOON).await;
    assert_eq!(before, revisions().await, "a restart writes nothing");
}

#[tokio::test(start_paused = true)]
async fn p33_an_object_that_hides_is_found_with_the_next_change() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web_in_m1.comes().await;
    web_in_m1
        .patch(json!({"metadata": {"annotations": {"work.karmada.io/namespace": null}}}))
        .await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"spec": {"replicas": 3}}))
        .await;
    web_in_m1.shows("spec.replicas", 3).await;
    stage
        .see(
            "its annotation is back",
            json!("karmada-es-m1"),
            async || {
                let copy = web_in_m1.get().await;
                copy.and_then(|copy| {
                    copy.annotation("work.karmada.io/namespace")
                        .map(str::to_owned)
                })
                .into()
            },
        )
        .await;
}

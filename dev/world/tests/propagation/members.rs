//! What happens to objects in members.

use object::Value;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, all, config_map, deployment, on, policy,
};

#[tokio::test(start_paused = true)]
async fn a21_and_p20_dispatch_to_a_cluster_can_be_suspended() {
    let stage = Stage::with(2).await;
    let spec = format!(
        "suspension: {{dispatchingOnClusters: {{clusterNames: [m1]}}}}, {}",
        on("m1, m2")
    );
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1, m2")),
        ]))
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "status.readyReplicas",
            json!(1),
        )
        .await;
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    let work = stage
        .work("Deployment", "web", "m1")
        .await
        .unwrap()
        .key()
        .to_string();
    stage
        .shows("works", &work, "spec.suspendDispatching", json!(true))
        .await;
    stage
        .see(
            "dispatching is suspended",
            "False SuspendDispatching",
            async || stage.condition("works", &work, "Dispatching").await.into(),
        )
        .await;
    stage
        .patch(
            "deployments",
            "test/web",
            json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}),
        )
        .await;
    let path = "spec.template.spec.terminationGracePeriodSeconds";
    stage
        .has("m2", "deployments", "test/web", path, json!(7))
        .await;
    stage
        .keeps("m1", "deployments", "test/web", path, json!(30))
        .await;
    // Status still comes back.
    stage
        .member("m1")
        .patch("deployments", "test/web", json!({"spec": {"replicas": 2}}))
        .await;
    stage
        .see("the status of m1 comes back", json!(2), async || {
            stage
                .field(
                    "rb",
                    "test/web-deployment",
                    "status.aggregatedStatus.clusterName=m1.status.readyReplicas",
                )
                .await
        })
        .await;
    stage.member("m1").delete("deployments", "test/web").await;
    stage.advance(WHILE).await;
    assert!(
        stage
            .member("m1")
            .get("deployments", "test/web")
            .await
            .is_none()
    );
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
        stage
            .shows("rb", "test/web-deployment", &path, expected)
            .await;
    }
    assert_eq!(
        stage
            .condition("rb", "test/web-deployment", "FullyApplied")
            .await,
        "False FullyAppliedFailed"
    );
    // Deletion is not held back.
    stage.apply(&policy("p", DEPLOYMENTS, &on("m1, m2"))).await;
    stage.there("m1", "deployments", "test/web", true).await;
    stage.apply(&policy("p", DEPLOYMENTS, &spec)).await;
    stage
        .shows("works", &work, "spec.suspendDispatching", json!(true))
        .await;
    stage.delete("deployments", "test/web").await;
    stage.there("m1", "deployments", "test/web", false).await;
}

#[tokio::test(start_paused = true)]
async fn a22_and_p19_what_was_there_before_is_adopted_only_on_request() {
    let stage = Stage::with(1).await;
    stage.there("m1", "namespaces", "test", true).await;
    stage.member("m1").apply(&deployment("web", 2)).await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "status.readyReplicas",
            json!(2),
        )
        .await;
    let pods = stage.member("m1").names("pods", "test").await;
    stage
        .apply(&all(&[
            deployment("web", 2),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    let why = "resource(kind=Deployment, test/web) already exists in the cluster m1";
    let told = "status.aggregatedStatus.0.appliedMessage";
    stage
        .until("the binding says why not", SOON, async || {
            let message = stage.field("rb", "test/web-deployment", told).await;
            message.as_str().is_some_and(|text| text.contains(why))
        })
        .await;
    let applied = "status.aggregatedStatus.0.applied";
    let applied = stage.field("rb", "test/web-deployment", applied).await;
    assert!(
        matches!(applied, Value::Null | Value::Bool(false)),
        "{applied}"
    );
    assert_eq!(
        stage
            .condition("rb", "test/web-deployment", "FullyApplied")
            .await,
        "False FullyAppliedFailed"
    );
    let work = stage
        .work("Deployment", "web", "m1")
        .await
        .unwrap()
        .key()
        .to_string();
    assert_eq!(
        stage.condition("works", &work, "Applied").await,
        "False AppliedFailed"
    );
    let overwrite =
        json!({"metadata": {"annotations": {"work.karmada.io/conflict-resolution": "overwrite"}}});
    stage.patch("deployments", "test/web", overwrite).await;
    stage
        .until("it is adopted", SOON, async || {
            let copy = stage.member("m1").get("deployments", "test/web").await;
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
                    .condition("works", &work.key().to_string(), "Applied")
                    .await
                    .into(),
                None => json!(null),
            },
        )
        .await;
    stage.delete("configmaps", "test/theirs").await;
    stage
        .until("the work is gone", SOON, async || {
            stage.works_of("ConfigMap", "theirs").await.is_empty()
        })
        .await;
    let kept = stage
        .member("m1")
        .field("configmaps", "test/theirs", "data.a")
        .await;
    assert_eq!(kept, json!("b"));
}

#[tokio::test(start_paused = true)]
async fn a23_what_is_deleted_or_changed_in_a_member_comes_back() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "status.readyReplicas",
            json!(1),
        )
        .await;
    stage.member("m1").delete("deployments", "test/web").await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "status.readyReplicas",
            json!(1),
        )
        .await;
    let work = stage
        .work("Deployment", "web", "m1")
        .await
        .unwrap()
        .key()
        .to_string();
    stage
        .see("the work says so", "True ReCreateSuccessful", async || {
            stage.condition("works", &work, "Applied").await.into()
        })
        .await;
    stage
        .member("m1")
        .patch("deployments", "test/web", json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "evil"}]}}}}))
        .await;
    let path = "spec.template.spec.containers.0.image";
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            path,
            json!("reg.io/app/web:v1"),
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a24_labels_of_others_stay_and_labels_that_left_the_template_go() {
    let stage = Stage::with(1).await;
    let labelled = deployment("web", 1).replacen(
        "namespace: test",
        "namespace: test, labels: {ours: here}",
        1,
    );
    stage
        .apply(&all(&[labelled, policy("p", DEPLOYMENTS, &on("m1"))]))
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "metadata.labels.ours",
            json!("here"),
        )
        .await;
    stage
        .member("m1")
        .patch(
            "deployments",
            "test/web",
            json!({"metadata": {"labels": {"k": "v"}}}),
        )
        .await;
    stage
        .patch(
            "deployments",
            "test/web",
            json!({"metadata": {"labels": {"ours": null}}, "spec": {"replicas": 2}}),
        )
        .await;
    stage
        .has("m1", "deployments", "test/web", "spec.replicas", json!(2))
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "metadata.labels.ours",
            json!(null),
        )
        .await;
    stage
        .keeps(
            "m1",
            "deployments",
            "test/web",
            "metadata.labels.k",
            json!("v"),
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a25_p12_and_p17_what_a_member_fills_in_stays() {
    let stage = Stage::with(1).await;
    let retained = deployment("scaled", 1).replacen(
        "namespace: test",
        "namespace: test, labels: {resourcetemplate.karmada.io/retain-replicas: \"true\"}",
        1,
    );
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, namespace: test}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test}, spec: {ports: [{port: 80}], selector: {a: b}}}".to_owned(),
            claim.to_owned(),
            retained,
            policy(
                "p",
                &format!("{DEPLOYMENTS}, {{apiVersion: v1, kind: Service}}, {{apiVersion: v1, kind: PersistentVolumeClaim}}"),
                &on("m1"),
            ),
        ]))
        .await;
    stage.there("m1", "services", "test/s", true).await;
    stage.there("m1", "deployments", "test/scaled", true).await;
    stage
        .there("m1", "persistentvolumeclaims", "test/disk", true)
        .await;
    let address = stage
        .member("m1")
        .field("services", "test/s", "spec.clusterIP")
        .await;
    assert!(address.is_string(), "{address}");
    stage
        .patch(
            "services",
            "test/s",
            json!({"spec": {"ports": [{"port": 81}]}}),
        )
        .await;
    stage
        .has("m1", "services", "test/s", "spec.ports.0.port", json!(81))
        .await;
    stage
        .keeps("m1", "services", "test/s", "spec.clusterIP", address)
        .await;

    stage
        .member("m1")
        .patch(
            "deployments",
            "test/scaled",
            json!({"spec": {"replicas": 4}}),
        )
        .await;
    stage
        .patch(
            "deployments",
            "test/scaled",
            json!({"metadata": {"annotations": {"touched": "yes"}}}),
        )
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/scaled",
            "metadata.annotations.touched",
            json!("yes"),
        )
        .await;
    stage
        .keeps(
            "m1",
            "deployments",
            "test/scaled",
            "spec.replicas",
            json!(4),
        )
        .await;

    let volume = stage
        .member("m1")
        .field("persistentvolumeclaims", "test/disk", "spec.volumeName")
        .await;
    stage
        .patch(
            "persistentvolumeclaims",
            "test/disk",
            json!({"metadata": {"annotations": {"touched": "yes"}}}),
        )
        .await;
    stage
        .has(
            "m1",
            "persistentvolumeclaims",
            "test/disk",
            "metadata.annotations.touched",
            json!("yes"),
        )
        .await;
    stage
        .keeps(
            "m1",
            "persistentvolumeclaims",
            "test/disk",
            "spec.volumeName",
            volume,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn p16_nothing_is_written_where_nothing_changes() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test}, spec: {ports: [{port: 80}]}}".to_owned(),
            policy("p", &format!("{DEPLOYMENTS}, {{apiVersion: v1, kind: Service}}"), &on("m1")),
        ]))
        .await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(1))
        .await;
    stage.there("m1", "services", "test/s", true).await;
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
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
    stage
        .member("m1")
        .patch(
            "deployments",
            "test/web",
            json!({"metadata": {"annotations": {"work.karmada.io/namespace": null}}}),
        )
        .await;
    stage
        .patch("deployments", "test/web", json!({"spec": {"replicas": 3}}))
        .await;
    stage
        .has("m1", "deployments", "test/web", "spec.replicas", json!(3))
        .await;
    stage
        .see(
            "its annotation is back",
            json!("karmada-es-m1"),
            async || {
                let copy = stage.member("m1").get("deployments", "test/web").await;
                copy.and_then(|copy| {
                    copy.annotation("work.karmada.io/namespace")
                        .map(str::to_owned)
                })
                .into()
            },
        )
        .await;
}

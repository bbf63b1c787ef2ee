//! What the commands that write send, refuse and print is what those of kubectl do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use asking::{check, until};
use running::Up;

const NIGHTLY: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: nightly}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sleep, '9999']}]}}}
";

#[test]
fn jobs_that_are_deleted_go_in_members_too_unless_they_are_orphaned() {
    let up = Up::start(1);
    let made = [
        "job.batch/nightly created",
        "propagationpolicy.policy.karmada.io/nightly-",
    ];
    for delete in ["karavel delete job nightly", "karavel delete -f -"] {
        check(&up, "karavel apply -f - --all-clusters", NIGHTLY, 0, &made);
        until(&up, "karavel get jobs -s members", "", &["nightly"]);
        check(&up, delete, NIGHTLY, 0, &["job.batch \"nightly\" deleted"]);
        until(
            &up,
            "karavel get jobs -s members",
            "",
            &["No resources found"],
        );
    }
    let owned = "{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: nightly, uid: UID}]}}";
    check(&up, "karavel apply -f -", NIGHTLY, 0, &["created"]);
    let line = "uid=$(karavel get job nightly -o jsonpath='{.metadata.uid}') && sed s/UID/$uid/ | karavel create -f -";
    check(&up, line, owned, 0, &["configmap/owned created"]);
    let line = "karavel delete job nightly --cascade=orphan && karavel get configmap owned -o yaml";
    let said = check(&up, line, "", 0, &["name: owned"]);
    assert!(!said.contains("ownerReferences"), "{said}");
}

#[test]
fn objects_of_another_namespace_than_the_one_asked_for_are_left_alone() {
    let up = Up::start(1);
    let settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {a: b}}";
    let prepare =
        "cat > settings.yaml && karavel create namespace big && karavel apply -f settings.yaml";
    check(&up, prepare, settings, 0, &["configmap/settings created"]);
    for words in [
        "apply",
        "create",
        "delete",
        "label x=y",
        "annotate x=y",
        "patch -p '{\"data\":{\"a\":\"c\"}}'",
        "edit",
        "get",
        "describe",
        "simulate",
    ] {
        check(
            &up,
            &format!("karavel {words} -n big -f settings.yaml"),
            "",
            1,
            &[
                "the namespace from the provided object \"default\" does not match the namespace \"big\". You must pass '--namespace=default' to perform this operation.",
            ],
        );
    }
    let said = check(
        &up,
        "karavel get -n default -f settings.yaml -o yaml",
        "",
        0,
        &["a: b"],
    );
    assert!(!said.contains("x: y"), "{said}");
    let made = "karavel create configmap c --dry-run=client -o yaml";
    let said = check(&up, made, "", 0, &["name: c"]);
    assert!(!said.contains("namespace"), "{said}");
    check(&up, &format!("{made} -n big"), "", 0, &["namespace: big"]);
}

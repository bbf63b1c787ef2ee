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

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

#[test]
fn what_was_written_is_printed_as_it_would_be_read() {
    let up = Up::start(1);
    let two = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";
    for (line, input, expected) in [
        (
            "karavel create -f - -o jsonpath='{.metadata.name} '",
            two,
            "a b ",
        ),
        (
            "karavel apply -f - -o jsonpath='{.kind} {.items[*].metadata.name}'",
            two,
            "List a b",
        ),
        (
            "karavel apply -f - -o custom-columns=NAME:.metadata.name",
            two,
            "NAME\na\nb\n",
        ),
        (
            "karavel label configmap a x=y -o go-template='{{.metadata.labels.x}}'",
            "",
            "y",
        ),
        (
            "karavel annotate configmap a x=z -o jsonpath='{.metadata.annotations.x}'",
            "",
            "z",
        ),
        (
            "karavel patch configmap a -p '{\"data\":{\"k\":\"v\"}}' -o jsonpath='{.data.k}'",
            "",
            "v",
        ),
        (
            "karavel apply -f - -o name",
            two,
            "configmap/a\nconfigmap/b\n",
        ),
    ] {
        assert_eq!(check(&up, line, input, 0, &[]), expected, "{line}");
    }
    for output in ["json", "yaml"] {
        let list = format!("karavel apply -f - -o {output} | karavel get -f - -o name");
        check(&up, &list, two, 0, &["configmap/a", "configmap/b"]);
    }
    check(
        &up,
        "karavel label configmap a q=r -o wide",
        "",
        1,
        &["has no columns"],
    );
}

#[test]
fn fields_of_others_are_taken_over_with_server_side_only_where_that_is_said() {
    let up = Up::start(1);
    let file = |value: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{a: {value}}}}}"
        )
    };
    let hers = "kubectl apply --server-side --field-manager alice -f -";
    check(&up, hers, &file("hers"), 0, &["serverside-applied"]);
    let conflict = ["conflict with \"alice\"", ".data.a", "--force-conflicts"];
    let apply = "karavel apply -f - --server-side";
    check(&up, apply, &file("ours"), 1, &conflict);
    let value = "karavel get configmap a -o jsonpath='{.data.a}'";
    check(&up, value, "", 0, &["hers"]);
    let forced = format!("{apply} --force-conflicts");
    check(&up, &forced, &file("ours"), 0, &["configured"]);
    check(&up, value, "", 0, &["ours"]);
    // Without the flag it is as it always is.
    check(&up, hers, &file("ours"), 0, &["serverside-applied"]);
    check(&up, "karavel apply -f -", &file("anew"), 0, &["configured"]);
}

#[test]
fn one_object_of_one_named_member_is_printed_alone() {
    let up = Up::start(1);
    let named =
        "karavel get namespace default -s members -C member1 -o jsonpath='{.metadata.name}'";
    assert_eq!(check(&up, named, "", 0, &[]), "default");
    let all = "karavel get namespaces -n other -A -o name";
    check(&up, all, "", 0, &["namespace/default"]);
    let empty = "karavel get namespaces -s members -C member1,,member2";
    check(&up, empty, "", 1, &["must specify a cluster"]);
}

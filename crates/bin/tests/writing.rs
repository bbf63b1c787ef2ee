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
fn objects_without_a_name_are_refused_where_a_name_is_needed() {
    let up = Up::start(1);
    let made = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x-}}";
    let bare = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}";
    let prepare = "cat > bare.yaml && karavel create configmap kept";
    let two = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: kept}}}}\n---\n{bare}");
    check(&up, prepare, &two, 0, &["configmap/kept created"]);
    let said = [
        "error: resource name may not be empty\n",
        "bare.yaml (document 2): metadata.name is missing",
    ];
    for words in [
        "delete",
        "label x=y",
        "annotate x=y",
        "patch -p '{}'",
        "edit",
        "get",
        "describe",
        "apply",
        "apply --server-side",
        "apply view-last-applied",
    ] {
        let line = format!("karavel {words} -f bare.yaml");
        check(&up, &line, "", 1, &said);
        // Nobody has to be asked for that; and what stands beside it is left alone.
        if !words.starts_with("apply") {
            let line = format!("karavel {words} -f bare.yaml --kubeconfig /nowhere");
            check(&up, &line, "", 1, &said);
        }
        let line = format!("karavel {words} -f -");
        let hint = match words {
            "apply" | "apply --server-side" => "cannot use generate name with apply",
            _ => "only `karavel create -f FILE` makes names of metadata.generateName",
        };
        check(&up, &line, made, 1, &[hint]);
    }
    for words in [
        "delete cm ''",
        "delete cm kept ''",
        "label cm '' a=b",
        "annotate cm '' a=b",
        "patch cm '' -p '{}'",
        "edit cm ''",
        "get cm ''",
        "describe cm ''",
        "label cluster '' a=b",
        "delete cluster ''",
    ] {
        let line = format!("karavel {words}");
        check(
            &up,
            &line,
            "",
            1,
            &["error: resource name may not be empty\n"],
        );
    }
    let kept = "karavel get cm kept -o yaml";
    let said = check(&up, kept, "", 0, &["name: kept"]);
    assert!(!said.contains("x: y"), "{said}");
    check(&up, "karavel create -f -", made, 0, &["configmap/x-"]);
    for (line, expected) in [
        ("create --dry-run=client", "configmap/<unknown> created"),
        ("label --local a=b", "configmap/<unknown> labeled"),
    ] {
        check(&up, &format!("karavel {line} -f -"), made, 0, &[expected]);
    }
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
    for output in ["json", "yaml", "kyaml"] {
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
fn objects_of_files_are_read_as_one_list() {
    let up = Up::start(1);
    let file = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
    let prepare = "cat > f.yaml && karavel create ns shop && karavel create cm a -n shop && karavel create cm a";
    check(&up, prepare, file, 0, &["created", "created", "created"]);
    for (output, expected) in [
        (
            "jsonpath='{.kind} {range .items[*]}{.metadata.namespace}/{.metadata.name} {end}'",
            "List shop/a /shop default/a ",
        ),
        ("name", "configmap/a\nnamespace/shop\nconfigmap/a\n"),
        ("go-template='{{len .items}}'", "3"),
    ] {
        let line = format!("karavel get -f f.yaml -o {output}");
        assert_eq!(check(&up, &line, "", 0, &[]), expected, "{output}");
    }
    let yaml = "karavel get -f f.yaml -o yaml";
    let said = check(&up, yaml, "", 0, &["kind: List", "namespace: default"]);
    assert_eq!(said.matches("\napiVersion:").count(), 0, "{said}");
    let said = check(&up, "karavel get -f f.yaml", "", 0, &["namespace/shop"]);
    assert_eq!(said.matches("NAME ").count(), 2, "{said}");
    check(&up, "karavel get -f f.yaml -w", "", 1, &["at once"]);
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

//! What scripts rely on that were written for other tools: the words and exit codes of Karmada's own, and that `kubectl
//! apply` and `karavel apply` leave each other their records.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use asking::{check, until};
use running::Up;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
";

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {containers: [{name: main, image: busybox}]}
";

#[test]
fn words_that_suites_look_for_are_said() {
    let up = Up::start(2);
    check(&up, "ln -s $(command -v karavel) karmadactl", "", 0, &[]);
    // Suites name the control plane first, then the namespace.
    let ctl = |words: &str| {
        format!("./karmadactl --kubeconfig=$KUBECONFIG --karmada-context=karmada-apiserver {words}")
    };
    check(&up, &ctl("apply -f -"), WEB, 0, &["created", "created"]);
    check(
        &up,
        "karavel --karmada-context member1 apply -f -",
        POD,
        0,
        &["pod/lone created"],
    );
    until(
        &up,
        &ctl("get deployment web --operation-scope members"),
        "",
        &["member1", "member2"],
    );
    until(
        &up,
        "karavel --karmada-context member1 get pod lone",
        "",
        &["Running"],
    );
    for (words, code, said) in [
        (
            "get deployment web",
            0,
            &["NAME", "CLUSTER", "ADOPTION", "web", "Karmada", "-"][..],
        ),
        (
            "--namespace=default get deployment web --operation-scope all -C member1",
            0,
            &["Karmada", "member1"],
        ),
        (
            "--namespace=default get pods lone --operation-scope members -C member1",
            0,
            &["lone", "member1"],
        ),
        (
            "--namespace=default get pods nosuch --operation-scope members -C member1",
            1,
            &["cluster(member1): ", "pods \"nosuch\" not found"],
        ),
        (
            "--namespace=nosuch-space get pods nosuch --operation-scope members -C member1",
            1,
            &["namespaces \"nosuch-space\" not found"],
        ),
        (
            "--namespace=nosuch-space get pods nosuch --operation-scope members",
            1,
            &["namespaces \"nosuch-space\" not found"],
        ),
        (
            "get invalidresource invalidname",
            1,
            &["the server doesn't have a resource type \"invalidresource\""],
        ),
        (
            "describe deployments web --operation-scope members --cluster member1",
            0,
            &["web", "karmada.io/managed=true"],
        ),
        ("describe pods nosuch", 1, &["pods \"nosuch\" not found"]),
        (
            "--namespace=nosuch-space describe pods nosuch",
            1,
            &["namespaces \"nosuch-space\" not found"],
        ),
        (
            "describe invalidresource invalidname",
            1,
            &["the server doesn't have a resource type \"invalidresource\""],
        ),
        (
            "describe deploy web -s all",
            1,
            &["not support operation scope: all"],
        ),
        (
            "describe pod x -s members",
            1,
            &["must specify a member cluster"],
        ),
        ("logs lone", 1, &["must specify a cluster"]),
        (
            "logs lone -c nosuch -C member1",
            1,
            &["container nosuch is not valid for pod lone"],
        ),
        ("logs nosuch -C member1", 1, &["pods \"nosuch\" not found"]),
        (
            "logs nosuch -c nosuch -C member1",
            1,
            &["pods \"nosuch\" not found"],
        ),
        (
            "logs lone -C nosuch-cluster",
            1,
            &["clusters.cluster.karmada.io \"nosuch-cluster\" not found"],
        ),
        (
            "logs lone --invalidflag -C member1",
            1,
            &["unknown flag: --invalidflag"],
        ),
        (
            "exec lone --operation-scope members --cluster member1 -- echo hello",
            0,
            &["hello"],
        ),
        (
            "exec lone -s members --cluster member1 -- sh -c 'exit 7'",
            7,
            &[],
        ),
        ("version --invalidflag", 1, &["unknown flag: --invalidflag"]),
        ("options --invalidflag", 1, &["unknown flag: --invalidflag"]),
        (
            "options",
            0,
            &["The following options can be passed to any command"],
        ),
        (
            "version",
            0,
            &["karmadactl version", "GitVersion", "GoVersion", "Platform"],
        ),
        (
            "top pod nosuch -n default -C member1",
            1,
            &["pods \"nosuch\" not found"],
        ),
        ("top pod lone -C member1", 0, &["lone", "member1"]),
        ("top pod -A", 0, &["NAMESPACE", "NAME", "CLUSTER"]),
        (
            "top pod -s members",
            1,
            &["unknown shorthand flag: 's' in -s"],
        ),
        (
            "taint clusters member2 environment=production:NoSchedule --dry-run",
            0,
            &["cluster/member2 tainted"],
        ),
        (
            "taint clusters member2 environment=production:NoSchedule",
            0,
            &["cluster/member2 tainted"],
        ),
        (
            "taint clusters member2 environment=test:NoSchedule",
            1,
            &[
                "cluster member2 already has environment taint(s) with same effect(s) and --overwrite is false",
            ],
        ),
        (
            "taint clusters member2 environment=test:NoSchedule --overwrite",
            0,
            &["cluster/member2 modified"],
        ),
        (
            "taint clusters member2 environment=test:NoSchedule-",
            0,
            &["untainted"],
        ),
        (
            "taint clusters member2 environment:NoSchedule-",
            1,
            &["taint \"environment:NoSchedule\" not found"],
        ),
        (
            "taint clusters nosuch environment=test:NoSchedule",
            1,
            &["clusters.cluster.karmada.io \"nosuch\" not found"],
        ),
        ("cordon member2", 0, &["member2 cluster cordoned"]),
        ("cordon member2", 0, &["member2 cluster already cordoned"]),
        ("uncordon member2", 0, &["member2 cluster uncordoned"]),
        (
            "uncordon member2",
            0,
            &["member2 cluster already uncordoned"],
        ),
        ("cordon", 1, &["cluster name is required"]),
        (
            "cordon member1 member2",
            1,
            &["more than one cluster name is not supported"],
        ),
        (
            "get deploy -s foo",
            1,
            &["not support OperationScope: foo", "karmada, members, all"],
        ),
        (
            "token delete 0123456789abcdef",
            1,
            &["given token didn't match pattern"],
        ),
        (
            "token delete abcdef",
            1,
            &["err: secrets \"bootstrap-token-abcdef\" not found"],
        ),
        (
            "apply -f /tmp/non-existent.yaml",
            1,
            &["error: the path \"/tmp/non-existent.yaml\" does not exist"],
        ),
    ] {
        check(&up, &ctl(words), "", code, said);
    }
    let policy = &ctl("apply -f - --all-clusters");
    let nginx = WEB.split("---").next().unwrap().replace("web", "nginx");
    check(
        &up,
        policy,
        &nginx,
        0,
        &[
            "deployment.apps/nginx created\n",
            "propagationpolicy.policy.karmada.io/nginx-6d7f8d5f5b created\n",
        ],
    );
    check(&up, policy, &nginx, 0, &["unchanged", "unchanged"]);
    // What was made for it alone goes with it.
    check(
        &up,
        &ctl("delete -f -"),
        &nginx,
        0,
        &[
            "deployment.apps \"nginx\" deleted",
            "propagationpolicy.policy.karmada.io \"nginx-6d7f8d5f5b\" deleted",
        ],
    );
    check(
        &up,
        &ctl("get propagationpolicy nginx-6d7f8d5f5b"),
        "",
        1,
        &["not found"],
    );
}

/// Kubectl takes what begins with a brace for JSON.
fn settings(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{{data}}}\n")
}

#[test]
fn apply_at_the_client_and_at_the_server_go_on_from_each_other() {
    let up = Up::start(1);
    let note = "kubectl get configmap settings -o jsonpath='{.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}'";
    let data = "karavel get configmap settings -o jsonpath='{.data}'";
    let (kubectl, karavel) = ("kubectl apply -f -", "karavel apply -f -");
    check(&up, kubectl, &settings("a: one, b: two"), 0, &["created"]);
    check(&up, karavel, &settings("a: one, b: two"), 0, &["unchanged"]);
    // What leaves the file leaves the object, whoever applied it before; and the note says what was applied.
    check(
        &up,
        karavel,
        &settings("a: one, c: three"),
        0,
        &["configured"],
    );
    check(&up, data, "", 0, &["{\"a\":\"one\",\"c\":\"three\"}"]);
    let said = check(&up, note, "", 0, &["\"c\":\"three\""]);
    assert!(!said.contains("two"), "{said}");
    check(
        &up,
        karavel,
        &settings("a: one, c: three"),
        0,
        &["unchanged"],
    );
    let said = check(&up, kubectl, &settings("a: one"), 0, &["configured"]);
    assert!(!said.contains("missing"), "{said}");
    check(&up, data, "", 0, &["{\"a\":\"one\"}"]);
    // The same with the client's own way to apply at the server.
    let server_side = "kubectl apply --server-side --force-conflicts -f -";
    check(
        &up,
        server_side,
        &settings("a: one, d: four"),
        0,
        &["applied"],
    );
    check(&up, karavel, &settings("a: two"), 0, &["configured"]);
    check(&up, note, "", 0, &["\"a\":\"two\""]);
    // Where nobody notes anything, nothing is noted.
    let other = settings("a: one").replace("settings", "other");
    check(&up, karavel, &other, 0, &["created"]);
    check(
        &up,
        karavel,
        &other.replace("one", "two"),
        0,
        &["configured"],
    );
    let said = check(&up, "karavel get configmap other -o yaml", "", 0, &["two"]);
    assert!(!said.contains("last-applied"), "{said}");
}

#[test]
fn words_without_quotes_are_told_from_text() {
    let up = Up::start(1);
    let hint = "put it in quotes";
    check(
        &up,
        "karavel apply -f -",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}",
        1,
        &["metadata.name: expected text, found true", hint],
    );
    for verb in ["apply", "create"] {
        check(
            &up,
            &format!("karavel {verb} -f -"),
            &settings("enabled: yes"),
            1,
            &["from server", hint],
        );
    }
    // As kubectl reads it, 0644 is octal.
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, secret: {secretName: s, defaultMode: 0644}}]}}";
    let line = "karavel apply -f - && karavel get pod p -o jsonpath='{.spec.volumes[0].secret.defaultMode}'";
    check(&up, line, pod, 0, &["created", "420"]);
    // What kustomize makes.
    let overlay = "mkdir -p base && cat > base/cm.yaml && printf 'resources: [cm.yaml]\nnamePrefix: my-\n' > base/kustomization.yaml && karavel apply -k base && karavel simulate -k base && karavel delete -k base";
    check(
        &up,
        overlay,
        &settings("a: one"),
        0,
        &[
            "configmap/my-settings created",
            "nothing would change",
            "configmap \"my-settings\" deleted",
        ],
    );
    // A definition and what it defines, in one file.
    let gadgets = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.shop.io}
spec:
  group: shop.io
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
{apiVersion: shop.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3}}
";
    check(
        &up,
        "karavel apply -f -",
        gadgets,
        0,
        &["gadgets.shop.io created", "gadget.shop.io/g created"],
    );
}

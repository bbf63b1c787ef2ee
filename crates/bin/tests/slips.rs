//! What makes no sense to a running control plane is refused, told and corrected as users of kubectl and karmadactl expect.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use asking::{check, until};
use running::Up;

const OBJECTS: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web}}, data: {x: '1'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: web}}, data: {x: '2'}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: nginx}]}
";

#[test]
fn slips_are_told_by_a_running_control_plane() {
    let up = Up::start(1);
    check(&up, "karavel apply -f -", OBJECTS, 0, &["created"]);
    for (line, code, said) in [
        // Names beside selectors.
        (
            "get cm a --field-selector metadata.name=b",
            1,
            &["name cannot be provided when a selector is specified"][..],
        ),
        (
            "describe cm a -l app=web",
            1,
            &["name cannot be provided when a selector is specified"],
        ),
        ("get cm --sort-by {", 1, &["--sort-by: \"{\""]),
        // Values without their equals sign: nothing is done.
        (
            "delete cm a --cascade orphan",
            1,
            &["write --cascade=orphan"],
        ),
        (
            "apply -f x --dry-run server",
            1,
            &["write --dry-run=server"],
        ),
        // Deleting.
        ("delete cm a -o json", 1, &["only '-o name' is supported"]),
        ("delete cm -l app=nope", 0, &["No resources found"]),
        (
            "delete cm -n shpo --all",
            0,
            &["No resources found", "did you mean -n shop?"],
        ),
        ("delete cm a -o name", 0, &["configmap/a\n"]),
        ("delete cm a --ignore-not-found", 0, &[""]),
        ("label cm -l app=nope a=b", 0, &["No resources found"]),
        // Namespaces that are not there.
        (
            "create cm x -n shpo --from-literal=a=b",
            1,
            &[
                "namespaces \"shpo\" not found",
                "did you mean -n shop? `karavel create namespace shpo` makes it",
            ],
        ),
        (
            "get cm -n shpo",
            0,
            &[
                "No resources found in shpo namespace.\nthere is no namespace \"shpo\": did you mean -n shop?",
            ],
        ),
        (
            "describe cm -n shpo",
            0,
            &["there is no namespace \"shpo\""],
        ),
        ("events -n shpo", 0, &["there is no namespace \"shpo\""]),
        ("top pod -n shpo", 0, &["there is no namespace \"shpo\""]),
        // Members.
        (
            "get deploy nope -s members",
            1,
            &["error: cluster(member1): deployments.apps \"nope\" not found"],
        ),
        (
            "logs -C member1 nope",
            1,
            &["error: cluster(member1): pods \"nope\" not found"],
        ),
        (
            "logs -C member1 ''",
            1,
            &["the name of a pod may not be empty"],
        ),
        (
            "logs -C member1 x --since-time foo",
            1,
            &["--since-time: ", "2026-01-31T12:00:00Z"],
        ),
        (
            "logs -C member1 x --tail -5",
            1,
            &["--tail must be greater than or equal to -1"],
        ),
        ("promote deploy -C member1", 1, &["write deploy/NAME"]),
        ("clusters member1 --no-headers", 0, &["member1 ", "Push"]),
        (
            "clusters membr1",
            1,
            &["\"membr1\" not found", "did you mean \"member1\"?"],
        ),
        ("clusters -l zone=nope", 0, &["No resources found"]),
        ("clusters member1 -l a=b", 1, &["name cannot be provided"]),
        (
            "clusters -o jsonpath='{.items[0].metadata.name}'",
            0,
            &["member1"],
        ),
        ("uncordon", 1, &["karavel uncordon member1"]),
        // Events in every way that objects are shown.
        (
            "events -o jsonpath='{.kind}-{.items[0].nope}'",
            0,
            &["List-"],
        ),
        // What nobody keeps of a patch.
        (
            "patch deploy web -p '{\"spec\":{\"replicaz\":3}}'",
            0,
            &[
                "deployment.apps/web patched (no change)",
                "Warning: unknown field \"spec.replicaz\"",
                "did you mean \"replicas\" for \"replicaz\"?",
            ],
        ),
        (
            "patch deploy web -p '{\"spec\":{\"replicas\":\"x\"}}'",
            1,
            &["the change does not fit: spec.replicas: "],
        ),
        (
            "get deploy WEB",
            1,
            &["\"WEB\" not found", "did you mean \"web\"?"],
        ),
        (
            "patch cluster member1 -p '{\"spec\":{\"zone\":\"a\"}}'",
            1,
            &["UnsupportedMediaType", "add --type merge"],
        ),
        (
            "delete ns default",
            1,
            &["may not be deleted", "deletes what is in it"],
        ),
        // Pods are in members.
        (
            "exec nope -- date",
            1,
            &["pods \"nope\" not found", "--cluster"],
        ),
        // Paths and parts.
        ("get --raw /readyz", 0, &["ok"]),
        ("get --raw readyz", 1, &["--raw must be a path"]),
        (
            "get deploy web --subresource scale -o jsonpath='{.kind} {.spec.replicas}'",
            0,
            &["Scale 2"],
        ),
        (
            "get deploy web --subresource scale",
            0,
            &["NAME", "DESIRED", "AVAILABLE", "web", "2"],
        ),
        ("get deploy --subresource scale", 1, &["bulk resources"]),
        ("get deploy web --subresource nope", 1, &["NotFound"]),
        ("apply -f x --subresource status", 1, &["--server-side"]),
    ] {
        check(&up, &format!("karavel {line}"), "", code, said);
    }
    let line = "karavel join m9 --cluster-kubeconfig $KUBECONFIG --cluster-context membr1";
    check(&up, line, "", 1, &["did you mean \"member1\"?"]);
    let missing = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: nope1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: nope2}}
";
    let both = ["\"nope1\" not found", "\"nope2\" not found"];
    check(&up, "karavel describe -f -", missing, 1, &both);
    check(&up, "karavel apply -f /dev/zero", "", 1, &["larger than"]);
    let large = "head -c 12000000 /dev/zero | tr '\\0' a > large && karavel create cm large --from-file large";
    check(&up, large, "", 1, &["RequestEntityTooLarge", "3 MiB"]);
    let line = "KUBECONFIG=/nowhere/at/all:$KUBECONFIG karavel get deploy web";
    check(&up, line, "", 0, &["web"]);
    let policy = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [membr1]}}}}";
    let said = "names the cluster \"membr1\", and there is none: did you mean \"member1\"?";
    check(&up, "karavel apply -f -", policy, 0, &["created", said]);
    let made = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"raw\"}}";
    let path = "/api/v1/namespaces/default/configmaps";
    let line = format!("karavel create --raw {path} -f -");
    check(&up, &line, made, 0, &["\"name\":\"raw\""]);
    let line = format!("karavel delete --raw {path}/raw");
    check(&up, &line, "", 0, &["\"status\":\"Success\""]);
    let line = "cat > c.yaml; KUBE_EDITOR='sed -i s/before/after/' karavel create --edit -f c.yaml";
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: before}}";
    check(&up, line, text, 0, &["configmap/after created"]);
    let line = "KUBE_EDITOR=true karavel create --edit -f c.yaml";
    check(&up, line, "", 0, &["Edit cancelled, no changes made."]);
    let status =
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {replicas: 7}}";
    let line = "karavel apply --server-side --force-conflicts --subresource status -f - && karavel get deploy web --subresource status -o jsonpath='{.status.replicas}'";
    check(&up, line, status, 0, &["deployment.apps/web configured"]);
    let line = "KUBE_EDITOR='sed -i s/replicas:.2/replicas:\\ 3/' karavel edit deploy web --subresource scale && karavel get deploy web -o jsonpath='{.spec.replicas}'";
    check(&up, line, "", 0, &["edited", "3"]);
}

#[test]
fn a_rehearsed_promotion_says_where_it_was_rehearsed() {
    let up = Up::start(1);
    let make = "karavel --karmada-context member1 create configmap lone --from-literal=a=b";
    check(&up, make, "", 0, &["configmap/lone created"]);
    until(&up, "karavel get cm lone -s members", "", &["member1"]);
    let slip = "karavel promote configmap lnoe -C member1";
    check(
        &up,
        slip,
        "",
        1,
        &["don't exist in cluster(member1)", "did you mean \"lone\"?"],
    );
    for (how, said) in [
        ("client", "created (dry run)"),
        ("server", "created (server dry run)"),
    ] {
        let line = format!("karavel promote configmap lone -C member1 --dry-run={how}");
        check(&up, &line, "", 0, &[said]);
    }
}

//! What a cluster has besides workloads: services, quotas, nodes.

use crate::walk::Walk;

#[test]
fn what_is_served_and_exposed_is_shown_and_changed() {
    let walk = Walk::begin();
    walk.goes(&[
        (
            "get apiservices",
            "NAME SERVICE AVAILABLE AGE
             v1. Local True *
             v1.apps Local True *
             v1beta1.metrics.k8s.io kube-system/metrics-server True *",
        ),
        (
            "create service loadbalancer lb --tcp=80",
            "service/lb created",
        ),
        (
            "patch svc lb -p {\"spec\":{\"type\":\"ClusterIP\"}}",
            "service/lb patched",
        ),
        (
            "get svc lb",
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE\nlb ClusterIP 10.* <none> 80/TCP *",
        ),
        ("create service nodeport np --tcp=80 --node-port=31080", "service/np created"),
        (
            "create service nodeport twin --tcp=80 --node-port=31080",
            "error: failed to create NodePort service: Service \"twin\" is invalid: spec.ports[0].nodePort: Invalid value: 31080: provided port is already allocated",
        ),
    ]);
    let plain = "
apiVersion: v1
kind: Service
metadata: {name: np, labels: {app: np}}
spec: {type: ClusterIP, selector: {app: np}, ports: [{name: '80', port: 80, targetPort: 80}]}
";
    for arguments in ["apply -f -", "apply --server-side --force-conflicts -f -"] {
        walk.answers(arguments, plain, 0, "");
    }
    walk.goes(&[
        ("get svc np", "np ClusterIP 10.* <none> 80/TCP *"),
        (
            "patch svc np -p {\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"example.com\"}}",
            "service/np patched",
        ),
        ("get svc np", "np ExternalName <none> example.com 80/TCP *"),
        (
            "run p1 --image=nginx --overrides={\"spec\":{\"serviceAccountName\":\"nobody\"}}",
            "Error from server (Forbidden): pods \"p1\" is forbidden: error looking up service account default/nobody: ...",
        ),
        (
            "get priorityclasses",
            "NAME VALUE GLOBAL-DEFAULT AGE ...
             system-cluster-critical 2000000000 false * PreemptLowerPriority
             system-node-critical 2000001000 false * PreemptLowerPriority",
        ),
        ("get endpoints,endpointslices", "endpoints/kubernetes 172.*:6443 *\nendpointslice.discovery.k8s.io/kubernetes IPv4 6443 172.* *"),
        ("create quota few --hard=requests.cpu=500m,limits.memory=1Gi", "resourcequota/few created"),
        (
            "run p0 --image=nginx",
            "Error from server (Forbidden): pods \"p0\" is forbidden: failed quota: few: must specify ...",
        ),
    ]);
}

#[test]
fn nodes_are_drained_as_far_as_budgets_allow() {
    let walk = Walk::begin();
    let budget = "
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
";
    walk.deploys(3);
    let made = "poddisruptionbudget.policy/web created";
    walk.answers("apply -f -", budget, 0, made);
    walk.goes(&[
        ("wait --for=jsonpath={.status.currentHealthy}=3 pdb/web --timeout=60s", "poddisruptionbudget.policy/web condition met"),
        ("get pdb web", "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE\nweb 3 N/A 0 *"),
        (
            "drain m1-node-1 --ignore-daemonsets --timeout=3s",
            "node/m1-node-1 cordoned
             evicting pod default/web-*
             error when evicting pods/\"web-*\" -n \"default\" (will retry after 5s): Cannot evict pod as it would violate the pod's disruption budget.",
        ),
        ("patch pdb web --type=merge -p {\"spec\":{\"minAvailable\":2}}", "poddisruptionbudget.policy/web patched"),
        (
            "drain m1-node-1 --ignore-daemonsets --timeout=60s",
            "evicting pod default/web-*
             pod/web-* evicted
             node/m1-node-1 drained",
        ),
        ("get nodes", "m1-node-1 Ready,SchedulingDisabled ...\nm1-node-2 Ready ..."),
        ("get pods --field-selector spec.nodeName=m1-node-1", "No resources found in default namespace."),
        ("rollout status deployment/web --timeout=60s", "deployment \"web\" successfully rolled out"),
        ("uncordon m1-node-1", "node/m1-node-1 uncordoned"),
    ]);
}

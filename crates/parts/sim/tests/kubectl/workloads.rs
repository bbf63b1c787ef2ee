//! What keeps pods: deployments, sets and jobs.

use crate::walk::Walk;

#[test]
fn deployments_roll_scale_and_go_back() {
    let walk = Walk::begin();
    walk.goes(&[
        (
            "get nodes -o wide",
            "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME
             m1-node-1 Ready <none> * v1.* 172.* <none> ...
             m1-node-3 Ready ...",
        ),
        ("create deployment web --image=nginx:1.26 --replicas=3", "deployment.apps/web created"),
        ("rollout status deployment/web --timeout=60s", "deployment \"web\" successfully rolled out"),
        (
            "get pods -o wide",
            "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES
             web-*-* 1/1 Running 0 * 10.* m1-node-* <none> <none>
             web-*-* 1/1 Running 0 * 10.* m1-node-* <none> <none>
             web-*-* 1/1 Running 0 * 10.* m1-node-* <none> <none>",
        ),
        ("set image deployment/web nginx=nginx:1.27", "deployment.apps/web image updated"),
        (
            "rollout status deployment/web --timeout=60s",
            "Waiting for deployment \"web\" rollout to finish: ...
             deployment \"web\" successfully rolled out",
        ),
        ("rollout history deployment/web", "REVISION CHANGE-CAUSE\n1 <none>\n2 <none>"),
        ("rollout undo deployment/web", "deployment.apps/web rolled back"),
        ("rollout status deployment/web --timeout=60s", "deployment \"web\" successfully rolled out"),
        ("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "nginx:1.26"),
        ("scale deployment web --replicas=5", "deployment.apps/web scaled"),
        ("rollout status deployment/web --timeout=60s", "deployment \"web\" successfully rolled out"),
        ("get deployments", "NAME READY UP-TO-DATE AVAILABLE AGE\nweb 5/5 5 5 *"),
        (
            "describe deployment web",
            "Name: web
             Annotations: deployment.kubernetes.io/revision: 3
             Replicas: 5 desired | 5 updated | 5 total | 5 available | 0 unavailable
             Available True MinimumReplicasAvailable
             Progressing True NewReplicaSetAvailable
             NewReplicaSet: web-* (5/5 replicas created)
             Type Reason Age From Message
             Normal ScalingReplicaSet * deployment-controller Scaled up replica set web-* from 0 to 3",
        ),
        ("expose deployment web --port=80", "service/web exposed"),
        ("get endpointslices -l kubernetes.io/service-name=web", "web-* IPv4 80 10.* ..."),
        ("autoscale deployment web --min=2 --max=6 --cpu-percent=50", "horizontalpodautoscaler.autoscaling/web autoscaled"),
        ("get hpa web", "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE\nweb Deployment/web cpu: * 2 6 ..."),
        ("delete deployment web", "deployment.apps \"web\" deleted"),
        ("wait --for=delete pod -l app=web --timeout=60s", ""),
        ("get pods", "No resources found in default namespace."),
    ]);
}

#[test]
fn sets_and_jobs_behave_as_one_knows_them() {
    let walk = Walk::begin();
    let sets = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: 'db:1'}]}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: 'agent:1'}]}
";
    let made = "statefulset.apps/db created\ndaemonset.apps/agent created";
    walk.answers("apply -f -", sets, 0, made);
    walk.goes(&[
        (
            "rollout status statefulset/db --timeout=60s",
            "Waiting for * pods to be ready...
             partitioned roll out complete: 2 new pods have been updated...",
        ),
        ("rollout status daemonset/agent --timeout=60s", "daemon set \"agent\" successfully rolled out"),
        ("get pvc", "data-db-0 Bound pvc-* 1Gi RWO standard ...\ndata-db-1 Bound ..."),
        ("set image statefulset/db db=db:2", "statefulset.apps/db image updated"),
        ("rollout status statefulset/db --timeout=60s", "partitioned roll out complete: ..."),
        ("rollout history statefulset/db", "REVISION CHANGE-CAUSE\n1 <none>\n2 <none>"),
        ("rollout undo statefulset/db", "statefulset.apps/db rolled back"),
        ("rollout status statefulset/db --timeout=60s", "partitioned roll out complete: ..."),
        ("get pod db-0 -o jsonpath={.spec.containers[0].image}", "db:1"),
        ("rollout restart daemonset/agent", "daemonset.apps/agent restarted"),
        ("rollout status daemonset/agent --timeout=60s", "daemon set \"agent\" successfully rolled out"),
        ("rollout history daemonset/agent", "1 <none>\n2 <none>"),
        ("create job hello --image=busybox -- echo hi", "job.batch/hello created"),
        ("wait --for=condition=complete job/hello --timeout=60s", "job.batch/hello condition met"),
        ("get jobs", "NAME STATUS COMPLETIONS DURATION AGE\nhello Complete 1/1 ..."),
        ("logs job/hello --tail=1", "hello ..."),
        ("logs -f job/hello", "hello started in pod hello-*"),
        ("describe job hello", "Pods Statuses: 0 Active (0 Ready) / 1 Succeeded / 0 Failed\nNormal SuccessfulCreate * job-controller Created pod: hello-*\nNormal Completed * job-controller Job completed"),
    ]);
}

//! A walk through a simulated member with the real kubectl: what a user of Kubernetes types, and the shape of what is
//! printed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use karavel_sim::{SimConfig, run};
use runtime::Tasks;

/// A member on a socket, and kubectl.
struct Walk {
    kubeconfig: PathBuf,
    _runtime: tokio::runtime::Runtime,
    _tasks: Tasks,
    _directory: tempfile::TempDir,
}

impl Walk {
    fn begin() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let mut tasks = Tasks::new();
        let config = SimConfig::new("m1", directory.path());
        let running = runtime.block_on(run(&config, &mut tasks)).unwrap();
        Self {
            kubeconfig: running.kubeconfig,
            _runtime: runtime,
            _tasks: tasks,
            _directory: directory,
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What kubectl prints, on either stream, and its exit code.
    fn kubectl(&self, arguments: &str, input: &str) -> (String, i32) {
        let mut child = self
            .command(arguments)
            .spawn()
            .expect("kubectl must be installed to run this test");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (printed, output.status.code().unwrap_or(-1))
    }

    /// Runs each command and holds what it prints against lines of words, in their order; `*` stands for any letters.
    fn goes(&self, steps: &[(&str, &str)]) {
        for (arguments, wanted) in steps {
            let (printed, _) = self.kubectl(arguments, "");
            check(arguments, &printed, wanted);
        }
    }

    /// The name of the first pod of a label.
    fn pod(&self, label: &str) -> String {
        let list = format!("get pods -l {label} -o jsonpath={{.items[0].metadata.name}}");
        self.kubectl(&list, "").0
    }

    /// A command that runs on, and the first line it prints that has a word in it.
    fn begins(&self, arguments: &str, word: &str) -> (Running, String) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains(word))
            .unwrap_or_else(|| panic!("{arguments} never said {word:?}"));
        let running = Running {
            child,
            _lines: lines,
        };
        (running, line)
    }
}

/// A command that is ended when it is dropped. What it prints is taken until then.
struct Running {
    child: Child,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn check(arguments: &str, printed: &str, wanted: &str) {
    let mut lines = printed.lines();
    for pattern in wanted
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let found = lines.any(|line| is_like(line, pattern));
        assert!(
            found,
            "kubectl {arguments}\nno line is like: {pattern}\nprinted:\n{printed}"
        );
    }
}

/// Whether a line has the words of a pattern, one after the other from its beginning; `...` ends the comparison.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut words = line.split_whitespace();
    for wanted in pattern.split_whitespace() {
        if wanted == "..." {
            return true;
        }
        if !words.next().is_some_and(|word| is_word(word, wanted)) {
            return false;
        }
    }
    words.next().is_none()
}

fn is_word(word: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => word == pattern,
        Some((before, after)) => {
            let rest = word.strip_prefix(before);
            let after = after.trim_start_matches('*');
            rest.is_some_and(|rest| {
                (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|tail| is_word(tail, after)))
            })
        }
    }
}

#[test]
fn words_are_compared_as_patterns_say() {
    for (line, pattern, expected) in [
        ("web-1   1/1  Running", "web-* 1/1 Running", true),
        ("web-1   1/1  Running   0", "web-* 1/1 Running", false),
        ("web-1   1/1  Running   0", "web-* 1/1 ...", true),
        ("10.1.2.3", "10.*.3", true),
        ("10.1.2.4", "10.*.3", false),
    ] {
        assert_eq!(is_like(line, pattern), expected, "{line} {pattern}");
    }
}

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
    let (printed, _) = walk.kubectl("apply -f -", sets);
    check(
        "apply -f -",
        &printed,
        "statefulset.apps/db created\ndaemonset.apps/agent created",
    );
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

#[test]
fn containers_are_looked_into() {
    let walk = Walk::begin();
    walk.goes(&[
        (
            "create deployment web --image=nginx:1.27",
            "deployment.apps/web created",
        ),
        (
            "rollout status deployment/web --timeout=60s",
            "deployment \"web\" successfully rolled out",
        ),
        ("logs deployment/web --tail=1", "nginx ..."),
        ("exec deployment/web -- hostname", "web-*-*"),
        (
            "exec deployment/web -- cat /etc/nothing",
            "cat: /etc/nothing: No such file or directory\ncommand terminated with exit code 1",
        ),
        (
            "top nodes",
            "NAME CPU(cores) CPU(%) MEMORY(bytes) MEMORY(%)\nm1-node-1 *m *% *Mi *%",
        ),
        ("top pods", "NAME CPU(cores) MEMORY(bytes)\nweb-*-* *m *Mi"),
        (
            "describe node m1-node-1",
            "Name: m1-node-1
             Lease:
             Ready True ...
             Allocatable:
             Kubelet Version: v1.*
             Non-terminated Pods: ...
             Allocated resources:",
        ),
    ]);
    let pod = walk.pod("app=web");
    walk.goes(&[
        (
            &format!("describe pod {pod}"),
            "Controlled By: ReplicaSet/web-*
             State: Running
             Mounts:
             /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-* (ro)
             Ready True
             QoS Class: BestEffort
             Normal Scheduled * default-scheduler Successfully assigned default/web-* to m1-node-*
             Normal Pulled * kubelet Container image \"nginx:1.27\" already present on machine
             Normal Created * kubelet Created container: nginx
             Normal Started * kubelet Started container nginx",
        ),
        (
            &format!("logs {pod} --previous"),
            "Error from server (BadRequest): previous terminated container \"nginx\" in pod \"web-*\" not found",
        ),
    ]);
    let (printed, code) = walk.kubectl(&format!("exec -i {pod} -- sh"), "hostname\nexit 4\n");
    assert_eq!(code, 4, "{printed}");
    check("exec -i sh", &printed, "web-*");

    // To a container and back.
    let directory = tempfile::tempdir().unwrap();
    let (file, back) = (directory.path().join("a"), directory.path().join("b"));
    std::fs::write(&file, "content").unwrap();
    let (printed, code) = walk.kubectl(&format!("cp {} {pod}:/tmp/a", file.display()), "");
    assert_eq!((printed.as_str(), code), ("", 0));
    let (printed, code) = walk.kubectl(&format!("cp {pod}:/etc/hostname {}", back.display()), "");
    assert_eq!(code, 0, "{printed}");
    assert_eq!(std::fs::read_to_string(&back).unwrap(), format!("{pod}\n"));

    // A log that is followed goes on; what is attached to says that it is there.
    let (_following, line) = walk.begins(&format!("logs -f {pod}"), "started");
    assert_eq!(line, format!("nginx started in pod {pod}"));
    let (_attached, line) = walk.begins(&format!("attach {pod}"), "nginx");
    assert!(line.starts_with("nginx "), "{line}");

    let (_forwarding, line) = walk.begins(&format!("port-forward {pod} :80"), "Forwarding");
    let port: u16 = line
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{line}"));
    for path in ["/", "/health"] {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let page = format!("pod {pod} of namespace default answers GET {path} on port 80\n");
        assert!(answer.ends_with(&page), "{answer}");
    }
}

#[test]
fn pods_are_debugged_and_talked_to() {
    let walk = Walk::begin();
    walk.goes(&[
        (
            "run web --image=nginx:1.27 --annotations=sim.karavel.io/crash-after=banana",
            "pod/web created
             Warning: annotation is not understood and ignored: sim.karavel.io/crash-after: \"banana\"",
        ),
        ("wait --for=condition=ready pod/web --timeout=60s", "pod/web condition met"),
        ("exec web -- uname -a", "Linux web 6.1.0 ..."),
        ("exec web -- ls /etc", "hostname\nhosts"),
    ]);
    let (printed, _) = walk.kubectl("logs web --limit-bytes=9", "");
    assert_eq!(printed, "web start");

    // A container beside those of the pod; it ends with the shell that is left.
    let typed = "hostname\nexit 4\n";
    let (printed, code) = walk.kubectl("debug web -i --image=busybox -c debugger", typed);
    assert_eq!(code, 0, "{printed}");
    check("debug web -i", &printed, "web");
    walk.goes(&[(
        "wait --for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=4 pod/web --timeout=60s",
        "pod/web condition met",
    )]);

    // A pod that is talked to ends with what is said to it.
    let (printed, code) = walk.kubectl(
        "run talk -i --image=busybox --restart=Never -- sh",
        "echo hi\nexit 3\n",
    );
    assert_eq!(code, 3, "{printed}");
    check("run talk -i", &printed, "hi");
    let (printed, code) = walk.kubectl(
        "run gone -i --rm --image=busybox --restart=Never -- sh",
        "echo hi\n",
    );
    assert_eq!(code, 0, "{printed}");
    check("run gone -i", &printed, "hi\npod \"gone\" deleted");

    // A directory and what is in it.
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("etc");
    let (printed, code) = walk.kubectl(&format!("cp web:/etc {}", copy.display()), "");
    assert_eq!(code, 0, "{printed}");
    assert_eq!(
        std::fs::read_to_string(copy.join("hostname")).unwrap(),
        "web\n"
    );
}

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
        ("create service nodeport np --tcp=80", "service/np created"),
    ]);
    let plain = "
apiVersion: v1
kind: Service
metadata: {name: np, labels: {app: np}}
spec: {type: ClusterIP, selector: {app: np}, ports: [{name: '80', port: 80, targetPort: 80}]}
";
    for arguments in ["apply -f -", "apply --server-side --force-conflicts -f -"] {
        let (printed, code) = walk.kubectl(arguments, plain);
        assert_eq!(code, 0, "{printed}");
    }
    walk.goes(&[
        ("get svc np", "np ClusterIP 10.* <none> 80/TCP *"),
        (
            "patch svc np -p {\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"example.com\"}}",
            "service/np patched",
        ),
        ("get svc np", "np ExternalName <none> example.com 80/TCP *"),
        ("create quota few --hard=requests.cpu=500m,limits.memory=1Gi", "resourcequota/few created"),
        (
            "run p0 --image=nginx",
            "Error from server (Forbidden): pods \"p0\" is forbidden: failed quota: few: must specify ...",
        ),
    ]);
}

#[test]
fn clients_that_know_no_websocket_are_understood() {
    let walk = Walk::begin();
    walk.goes(&[
        (
            "create deployment web --image=nginx:1.27",
            "deployment.apps/web created",
        ),
        (
            "rollout status deployment/web --timeout=60s",
            "deployment \"web\" successfully rolled out",
        ),
    ]);
    let pod = walk.pod("app=web");
    let old = |arguments: &str| {
        let mut command = walk.command(arguments);
        command
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false");
        command
    };
    let output = old(&format!("exec {pod} -- hostname")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{pod}\n"));
    let output = old(&format!("exec {pod} -- false")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let mut child = old(&format!("exec -i {pod} -- cat")).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"to and fro\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "to and fro\n");
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
    walk.goes(&[
        (
            "create deployment web --image=nginx:1.27 --replicas=3",
            "deployment.apps/web created",
        ),
        (
            "rollout status deployment/web --timeout=60s",
            "deployment \"web\" successfully rolled out",
        ),
    ]);
    let (printed, _) = walk.kubectl("apply -f -", budget);
    check(
        "apply -f -",
        &printed,
        "poddisruptionbudget.policy/web created",
    );
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

//! Into containers: logs, commands, files and ports.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::walk::Walk;

#[test]
fn containers_are_looked_into() {
    let walk = Walk::begin();
    walk.deploys(1);
    walk.goes(&[
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
    let typed = "hostname\nexit 4\n";
    walk.answers(&format!("exec -i {pod} -- sh"), typed, 4, "web-*");

    // To a container and back.
    let directory = tempfile::tempdir().unwrap();
    let (file, back) = (directory.path().join("a"), directory.path().join("b"));
    std::fs::write(&file, "content").unwrap();
    let (printed, code) = walk.kubectl(&format!("cp {} {pod}:/tmp/a", file.display()), "");
    assert_eq!((printed.as_str(), code), ("", 0));
    walk.answers(
        &format!("cp {pod}:/etc/hostname {}", back.display()),
        "",
        0,
        "",
    );
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
        ("get --raw /api/v1/namespaces/default/pods/web:80/proxy/a", "pod web of namespace default answers GET /a on port 80"),
    ]);
    let mut command = walk.command("exec web -- sh -c");
    let output = command.arg("echo a; echo b >&2").output().unwrap();
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(printed, ["a\n", "b\n"]);
    let (printed, _) = walk.kubectl("logs web --limit-bytes=9", "");
    assert_eq!(printed, "web start");

    // A container beside those of the pod; it ends with the shell that is left.
    let typed = "hostname\nexit 4\n";
    walk.answers("debug web -i --image=busybox -c debugger", typed, 0, "web");
    walk.goes(&[(
        "wait --for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=4 pod/web --timeout=60s",
        "pod/web condition met",
    )]);

    // A pod that is talked to ends with what is said to it.
    for (arguments, typed, code, wanted) in [
        ("run talk -i", "echo hi\nexit 3\n", 3, "hi"),
        (
            "run gone -i --rm",
            "echo hi\n",
            0,
            "hi\npod \"gone\" deleted",
        ),
    ] {
        let arguments = format!("{arguments} --image=busybox --restart=Never -- sh");
        walk.answers(&arguments, typed, code, wanted);
    }

    // A directory and what is in it.
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("etc");
    walk.answers(&format!("cp web:/etc {}", copy.display()), "", 0, "");
    assert_eq!(
        std::fs::read_to_string(copy.join("hostname")).unwrap(),
        "web\n"
    );
}

#[test]
fn clients_that_know_no_websocket_are_understood() {
    let walk = Walk::begin();
    walk.deploys(1);
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

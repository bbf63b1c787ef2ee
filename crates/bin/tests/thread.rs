//! The whole thread, as its users pull it: a template and a policy by `kubectl`, pods in two members, status back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod waiting;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// Everything in one process; killed without warning when it is dropped.
struct Up {
    process: Child,
    kubeconfig: std::path::PathBuf,
}

impl Up {
    fn start(data_dir: &Path) -> Self {
        let mut process = Command::new(KARAVEL)
            .args([
                "up",
                "--listen",
                "127.0.0.1:0",
                "--members",
                "2",
                "--data-dir",
            ])
            .arg(data_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let said: Vec<String> = lines
            .map(Result::unwrap)
            .take_while(|line| !line.starts_with("Ctrl-C stops it"))
            .collect();
        assert!(
            said.iter()
                .any(|line| line.ends_with("all members are ready")),
            "{said:?}"
        );
        Self {
            process,
            kubeconfig: data_dir.join("kubeconfig"),
        }
    }

    fn run(&self, program: &str, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8(both).unwrap()
    }

    fn kubectl(&self, arguments: &str, input: &str) -> String {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.run("kubectl", &arguments, input)
    }

    /// Asks until the answer is the expected one.
    fn until(&self, arguments: &str, expected: &str) {
        wait_for(|| match self.kubectl(arguments, "") {
            found if found.trim() == expected => Ok(()),
            found => Err(format!(
                "kubectl {arguments}\nexpected: {expected}\nfound: {found}"
            )),
        });
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/first-steps");

const READY: &str = "get deployment web -o jsonpath={.status.readyReplicas}";
const IMAGE: &str = "-o jsonpath={.spec.template.spec.containers[0].image}";

#[test]
fn a_template_reaches_its_members_and_its_status_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(directory.path());
    let applied = up.kubectl(
        &format!("apply -f {EXAMPLE}/web.yaml -f {EXAMPLE}/policy.yaml"),
        "",
    );
    assert!(applied.contains("deployment.apps/web created"), "{applied}");
    up.until(READY, "6");
    up.until(&format!("--context member1 {READY}"), "2");
    up.until(&format!("--context member2 {READY}"), "4");

    // Members are reached through the control plane, also by watches.
    let all = up.run(KARAVEL, &["get", "deployments", "-s", "all"], "");
    assert_eq!(all.matches("web ").count(), 3, "{all}");
    let proxy = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy";
    let pods = "api/v1/namespaces/default/pods?watch=true&timeoutSeconds=1";
    // It lasts a second, in which a busy machine may not come to it.
    wait_for(|| {
        let watched = up.kubectl(&format!("get --raw {proxy}/{pods}"), "");
        match watched.matches("\"ADDED\"").count() {
            2 => Ok(()),
            _ => Err(watched),
        }
    });

    // More of it, and a difference for one member.
    up.kubectl("scale deployment web --replicas=9", "");
    up.kubectl(&format!("apply -f {EXAMPLE}/override.yaml"), "");
    up.until(READY, "9");
    up.until(
        &format!("--context member1 get deployment web {IMAGE}"),
        "nginx:1.27",
    );
    up.until(
        &format!("--context member2 get deployment web {IMAGE}"),
        "nginx:1.28",
    );

    // What somebody deletes in a member comes back.
    up.kubectl("--context member1 delete deployment web --wait=true", "");
    up.until(&format!("--context member1 {READY}"), "3");

    // A process that is killed goes on where it was.
    drop(up);
    let up = Up::start(directory.path());
    up.until(READY, "9");
    let clusters = up.run(KARAVEL, &["clusters"], "");
    assert_eq!(clusters.matches("True").count(), 2, "{clusters}");
    assert_eq!(
        up.run(KARAVEL, &["cordon", "member1"], ""),
        "member1 cluster cordoned\n"
    );
    assert_eq!(
        up.run(KARAVEL, &["cordon", "member1"], ""),
        "member1 cluster already cordoned\n"
    );

    // Without the template nothing is left anywhere.
    up.kubectl("delete deployment web", "");
    up.until("get resourcebindings -A -o name", "");
    up.until(
        "get works -A -l resourcebinding.karmada.io/permanent-id -o name",
        "",
    );
    for member in ["member1", "member2"] {
        up.until(
            &format!("--context {member} get deployments,replicasets,pods -o name"),
            "",
        );
    }
}

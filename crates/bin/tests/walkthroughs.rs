//! The published walk-throughs, driven by `kubectl` as their readers would.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod waiting;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Everything in one process; killed when it is dropped.
struct Up {
    process: Child,
    kubeconfig: PathBuf,
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
        let is_up = lines
            .map(Result::unwrap)
            .any(|line| line.starts_with("Ctrl-C stops it"));
        assert!(is_up, "karavel did not come up");
        Self {
            process,
            kubeconfig: data_dir.join("kubeconfig"),
        }
    }

    fn kubectl(&self, arguments: &str) -> String {
        let output = Command::new("kubectl")
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    /// Applies files of a walk-through.
    fn apply(&self, walkthrough: &str, files: &[&str]) {
        for file in files {
            let said = self.kubectl(&format!("apply -f {EXAMPLES}/{walkthrough}/{file}.yaml"));
            assert!(
                said.contains("created") || said.contains("configured"),
                "{file}: {said}"
            );
        }
    }

    /// Asks until the answer is the expected one.
    fn until(&self, arguments: &str, expected: &str) {
        wait_for(|| match self.kubectl(arguments) {
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

#[test]
fn nginx_runs_in_two_members_and_one_has_a_mirror() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(directory.path());
    up.apply("nginx", &["nginx", "policy"]);
    up.until(
        "get deployment nginx -o jsonpath={.status.readyReplicas}",
        "4",
    );
    for member in ["member1", "member2"] {
        let ready = "get deployment nginx -o jsonpath={.status.readyReplicas}";
        up.until(&format!("--context {member} {ready}"), "2");
        up.until(
            &format!("--context {member} get service nginx -o name"),
            "service/nginx",
        );
    }
    up.apply("nginx", &["mirror"]);
    let shown = "get deployment nginx -o jsonpath={.spec.template.spec.containers[0].image}{.metadata.labels.image-source}";
    up.until(
        &format!("--context member2 {shown}"),
        "mirror.example.com/library/nginx:1.27mirror",
    );
    up.until(
        &format!("--context member1 {shown}"),
        "docker.io/library/nginx:1.27",
    );
    up.kubectl(&format!("delete -f {EXAMPLES}/nginx/mirror.yaml"));
    up.until(
        &format!("--context member2 {shown}"),
        "docker.io/library/nginx:1.27",
    );
    // A policy that goes leaves what runs; a template that goes takes everything along.
    up.kubectl(&format!("delete -f {EXAMPLES}/nginx/policy.yaml"));
    up.until("get propagationpolicies -o name", "");
    up.until(
        "--context member1 get deployment nginx -o name",
        "deployment.apps/nginx",
    );
    up.kubectl(&format!("delete -f {EXAMPLES}/nginx/nginx.yaml"));
    for member in ["member1", "member2"] {
        up.until(
            &format!("--context {member} get deployments,pods -o name"),
            "",
        );
        up.until(
            &format!("--context {member} get service nginx --ignore-not-found -o name"),
            "",
        );
    }
}

#[test]
fn a_guestbook_follows_its_definition_and_differs_in_one_member() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(directory.path());
    up.apply("guestbook", &["definition"]);
    up.until(
        "get crd guestbooks.example.com -o jsonpath={.status.conditions[?(@.type==\"Established\")].status}",
        "True",
    );
    up.apply(
        "guestbook",
        &["guestbook", "policy", "override", "definition-policy"],
    );
    let shown = "get guestbook lobby -o jsonpath={.spec.size},{.spec.alias},{.spec.greeting},{.metadata.labels.where}";
    up.until(
        &format!("--context member1 {shown}"),
        "4,Address,welcome,first",
    );
    up.until(&format!("--context member2 {shown}"), "2,Name,welcome,");
    up.kubectl("patch guestbook lobby --type merge -p {\"spec\":{\"greeting\":\"hello\"}}");
    up.until(
        &format!("--context member1 {shown}"),
        "4,Address,hello,first",
    );
    up.until(&format!("--context member2 {shown}"), "2,Name,hello,");
    up.kubectl(&format!("delete -f {EXAMPLES}/guestbook/guestbook.yaml"));
    up.until("--context member2 get guestbooks -o name", "");
    up.kubectl(&format!("delete -f {EXAMPLES}/guestbook/definition.yaml"));
    up.until(
        "--context member1 get crd guestbooks.example.com --ignore-not-found -o name",
        "",
    );
}

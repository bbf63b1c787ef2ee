//! The binary with the flags an operator protects it with, as `kubectl` and a thief meet it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod waiting;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");
const PLANTED: &str = "planted-tulip-secret";
/// The same in base64, as objects have it.
const ENCODED: &str = "cGxhbnRlZC10dWxpcC1zZWNyZXQ=";

/// A server in a process of its own, whose log goes to a file; killed when it is dropped.
struct Server {
    process: Child,
    url: String,
    kubeconfig: PathBuf,
}

impl Server {
    fn start(data_dir: &Path, log: &Path, further: &[&str]) -> Self {
        let mut process = Command::new(KARAVEL)
            .args(["server", "--log", "debug", "--data-dir"])
            .arg(data_dir)
            .args(further)
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the server says that it is ready");
        let first = first.unwrap();
        let url = first.split(' ').find(|word| word.starts_with("https://"));
        Self {
            process,
            url: url.expect(&first).to_owned(),
            kubeconfig: data_dir.join("kubeconfig"),
        }
    }

    /// Runs `kubectl`; what it prints, on either stream, and whether it was content.
    fn kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("kubectl")
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .expect("kubectl must be installed to run this test");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    fn expect(&self, line: &str, expected: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let (is_content, printed) = self.kubectl(&words);
        assert!(is_content, "{line}: {printed}");
        assert!(printed.contains(expected), "{line}: {printed}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn flags_name_the_authority_the_addresses_the_key_and_the_audit_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let log = at("log");
    // Another server's authority and key, as an operator would bring them.
    let first = Server::start(&at("first"), &at("first.log"), &["--listen", "127.0.0.1:0"]);
    let old_kubeconfig = first.kubeconfig.clone();
    drop(first);
    let pki = at("first").join("pki");
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";
    fs::write(at("policy.yaml"), policy).unwrap();
    let second = Server::start(
        &at("second"),
        &log,
        &[
            "--listen",
            "[::]:0",
            "--tls-san",
            "fleet.example.com",
            "--tls-san",
            "10.9.8.7",
            "--ca-cert-file",
            text(&pki.join("ca.crt")),
            "--ca-key-file",
            text(&pki.join("ca.key")),
            "--encryption-key-file",
            text(&pki.join("encryption.key")),
            "--audit-policy-file",
            text(&at("policy.yaml")),
            "--audit-log-path",
            text(&at("audit.log")),
        ],
    );
    assert!(!at("second").join("pki/ca.key").exists());
    assert!(!at("second").join("pki/encryption.key").exists());
    second.expect("get --raw /readyz", "ok");
    second.expect(
        "get namespaces --tls-server-name=fleet.example.com",
        "kube-system",
    );
    second.expect("get namespaces --tls-server-name=10.9.8.7", "kube-system");
    let (is_content, printed) =
        second.kubectl(&["get", "ns", "--tls-server-name=evil.example.com"]);
    assert!(
        !is_content && printed.contains("evil.example.com"),
        "{printed}"
    );
    // Both families; and a certificate that the same authority gave out before is believed.
    let port = second.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "[::1]"] {
        let server = format!("--server=https://{host}:{port}");
        let kubeconfig = format!("--kubeconfig={}", text(&old_kubeconfig));
        let (is_content, printed) = second.kubectl(&["get", "ns", &server, &kubeconfig]);
        assert!(is_content && printed.contains("kube-system"), "{printed}");
    }
    second.expect(
        &format!("create secret generic s --from-literal=password={PLANTED}"),
        "created",
    );
    second.expect(
        &format!("patch secret s -p {{\"stringData\":{{\"more\":\"{PLANTED}\"}}}}"),
        "patched",
    );
    second.expect("get secret s -o yaml", ENCODED);
    let backup = Command::new(KARAVEL)
        .args(["backup", text(&at("saved"))])
        .args(["--kubeconfig", text(&second.kubeconfig)])
        .output()
        .unwrap();
    assert!(backup.status.success());
    // What was asked last is in the log before anybody looks.
    let audited = wait_for(|| {
        let audited = fs::read_to_string(at("audit.log")).unwrap();
        match audited.matches("/secrets").count() >= 3 {
            true => Ok(audited),
            false => Err(audited),
        }
    });
    drop(second);
    for (name, bytes) in [
        ("the log", fs::read(&log).unwrap()),
        ("the audit log", audited.into_bytes()),
        ("the backup", fs::read(at("saved")).unwrap()),
        (
            "what backup printed",
            [backup.stdout, backup.stderr].concat(),
        ),
    ] {
        let shown = String::from_utf8_lossy(&bytes);
        assert!(!shown.is_empty(), "{name} is empty");
        for secret in [PLANTED, ENCODED] {
            assert!(!shown.contains(secret), "{name} has a planted secret");
        }
    }
}

#[test]
fn kubectl_lists_what_the_default_roles_give() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let server = Server::start(directory.path(), &log, &["--listen", "127.0.0.1:0"]);
    server.expect("create namespace shop", "created");
    for role in ["view", "edit", "admin"] {
        let line = format!("create rolebinding {role} -n shop --clusterrole={role} --user={role}");
        server.expect(&line, "created");
    }
    let list = |user: &str| {
        let line = format!("auth can-i --list -n shop --as={user} --as-group=system:authenticated");
        let words: Vec<&str> = line.split(' ').collect();
        let (is_content, printed) = server.kubectl(&words);
        assert!(is_content, "{printed}");
        printed
    };
    let row = |printed: &str, resource: &str| {
        let rows = printed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.into_iter().find(|row| row.first() == Some(&resource));
        row.map(|row| row[1..].join(" ")).unwrap_or_default()
    };
    for (user, resource, expected) in [
        ("view", "configmaps", "[] [] [get list watch]"),
        ("view", "secrets", ""),
        (
            "view",
            "selfsubjectaccessreviews.authorization.k8s.io",
            "[] [] [create]",
        ),
        ("edit", "rolebindings.rbac.authorization.k8s.io", ""),
        ("edit", "serviceaccounts/token", "[] [] [create]"),
        (
            "admin",
            "rolebindings.rbac.authorization.k8s.io",
            "[] [] [create delete deletecollection get list patch update watch]",
        ),
        ("nobody", "configmaps", ""),
        ("nobody", "[/healthz]", "[] [get]"),
    ] {
        // Roles are heeded a moment after they were given.
        wait_for(|| {
            let printed = list(user);
            let found = match resource.starts_with('[') {
                true => {
                    let line = printed.lines().find(|line| line.contains(resource));
                    let words = line.unwrap_or_default().split_whitespace().skip(1);
                    words.collect::<Vec<_>>().join(" ")
                }
                false => row(&printed, resource),
            };
            match found == expected {
                true => Ok(()),
                false => Err(format!(
                    "{user} {resource}: {found} instead of {expected}: {printed}"
                )),
            }
        });
    }
}

#[test]
fn kubectl_goes_on_while_certificates_of_seconds_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let life = [
        "--listen",
        "127.0.0.1:0",
        "--server-certificate-lifetime",
        "5s",
        "--admin-certificate-lifetime",
        "5s",
    ];
    let server = Server::start(directory.path(), &log, &life);
    let seen = directory.path().join("seen");
    // Opened with the first certificate and never again.
    let mut watch = Command::new("kubectl")
        .args(["get", "configmaps", "--watch", "--output-watch-events"])
        .env("KUBECONFIG", &server.kubeconfig)
        .stdout(File::create(&seen).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut certificates: Vec<String> = Vec::new();
    // Whoever is held up between reading a certificate and showing it finds it expired, and reads the next one.
    let patiently = |words: &[&str], further: &str| {
        wait_for(|| match server.kubectl(words) {
            (true, _) => Ok(()),
            (false, printed) if printed.contains(further) => Ok(()),
            (false, printed) => Err(printed),
        });
    };
    while certificates.len() < 4 {
        let replaced = wait_for(|| {
            let kubeconfig = fs::read_to_string(&server.kubeconfig).unwrap();
            let document: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
            let shown = &document["users"][0]["user"]["client-certificate-data"];
            let shown = shown.as_str().unwrap().to_owned();
            match certificates.last() == Some(&shown) {
                true => Err("the certificate is not replaced".to_owned()),
                false => Ok(shown),
            }
        });
        let name = format!("m{}", certificates.len());
        patiently(&["create", "configmap", &name], "AlreadyExists");
        certificates.push(replaced);
    }
    wait_for(|| {
        assert!(watch.try_wait().unwrap().is_none(), "the watch has ended");
        let seen = fs::read_to_string(&seen).unwrap();
        match seen.contains(" m3 ") {
            true => Ok(()),
            false => Err(seen),
        }
    });
    drop(watch.kill());
    drop(watch.wait());
    patiently(&["version", "--request-timeout=5s"], "Server Version");
    let refused = Command::new(KARAVEL)
        .args([
            "server",
            "--server-certificate-lifetime",
            "1s",
            "--data-dir",
        ])
        .arg(directory.path().join("other"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        printed.contains("is not between 2s and 87600h"),
        "{printed}"
    );
}

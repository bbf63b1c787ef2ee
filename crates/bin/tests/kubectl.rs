//! The binary as its users meet it: started, talked to with `kubectl`, killed, started again, saved and restored.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod waiting;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// A server in a process of its own; killed without warning when it is dropped.
struct Server {
    process: Child,
    kubeconfig: PathBuf,
}

impl Server {
    fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    fn start_with(data_dir: &Path, further: &[&str]) -> Self {
        let mut process = Command::new(KARAVEL)
            .args(["server", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .args(further)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines
            .next()
            .expect("the server says that it is ready")
            .unwrap();
        assert!(
            first.starts_with("karavel is ready on https://127.0.0.1:"),
            "{first}"
        );
        Self {
            process,
            kubeconfig: data_dir.join("kubeconfig"),
        }
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Runs `kubectl`; what it prints, on either stream.
    fn kubectl(&self, arguments: &str, input: &str) -> String {
        let mut child = Command::new("kubectl")
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl must be installed to run this test");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        both_streams(&child.wait_with_output().unwrap())
    }

    /// Runs each line of a script and looks for a text in what it prints. A line behind `until` is run until the text is
    /// there: what it asks for follows what was written, and nobody promises when.
    fn expect(&self, script: &[(&str, &str, &str)]) {
        for (line, input, expected) in script {
            let (arguments, is_repeated) = match line.strip_prefix("until ") {
                Some(arguments) => (arguments, true),
                None => (*line, false),
            };
            wait_for(|| {
                let printed = self.kubectl(arguments, input);
                if printed.contains(expected) {
                    return Ok(());
                }
                let instead =
                    format!("kubectl {arguments}\nexpected: {expected}\nprinted: {printed}");
                assert!(is_repeated, "{instead}");
                Err(instead)
            });
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn both_streams(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn karavel(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(KARAVEL).args(arguments).output().unwrap();
    (output.status.code().unwrap(), both_streams(&output))
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: nginx, image: nginx:1.25}]
";

const POLICY: &str = "
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
";

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.io}
spec:
  group: test.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
";

#[test]
fn kubectl_finds_what_it_expects() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    server.expect(&[
        ("get namespaces", "", "default"),
        ("version", "", "Server Version: v1.34"),
        (
            "api-resources --api-group=policy.karmada.io",
            "",
            "propagationpolicies",
        ),
        ("get --raw /readyz", "", "ok"),
        ("apply -f -", DEPLOYMENT, "deployment.apps/web created"),
        ("apply -f -", DEPLOYMENT, "deployment.apps/web unchanged"),
        (
            "get deployments -o wide",
            "",
            "web    0/2     0            0",
        ),
        ("scale deployment web --replicas=5", "", "scaled"),
        (
            "get deployment web -o jsonpath={.spec.replicas}:{.metadata.generation}",
            "",
            "5:2",
        ),
        (
            "set image deployment/web nginx=nginx:2",
            "",
            "image updated",
        ),
        (
            "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}",
            "",
            "nginx:2",
        ),
        ("diff -f -", DEPLOYMENT, "-  replicas: 5\n+  replicas: 2"),
        (
            "apply --server-side -f -",
            DEPLOYMENT,
            "Apply failed with 2 conflicts",
        ),
        (
            "apply --server-side --force-conflicts -f -",
            DEPLOYMENT,
            "serverside-applied",
        ),
        ("label deployment web tier=front", "", "labeled"),
        (
            "get deployments -l tier=front -o name",
            "",
            "deployment.apps/web",
        ),
        ("explain deployment.spec.replicas", "", "How many pods"),
        (
            "explain propagationpolicy.spec.placement",
            "",
            "clusterAffinity",
        ),
        (
            "apply -f -",
            POLICY,
            "propagationpolicy.policy.karmada.io/web created",
        ),
        (
            "get pp web -o jsonpath={.spec.resourceSelectors[0].namespace}",
            "",
            "default",
        ),
        ("get pp", "", "CONFLICT-RESOLUTION"),
        (
            "get karmada-io",
            "",
            "propagationpolicy.policy.karmada.io/web",
        ),
        (
            "patch pp web --type=merge -p {\"spec\":{\"schedulerName\":\"other\"}}",
            "",
            "denied the request",
        ),
        ("delete deployment web", "", "deleted"),
        ("get deployment web", "", "NotFound"),
        (
            "-n nowhere apply -f -",
            DEPLOYMENT,
            "namespaces \"nowhere\" not found",
        ),
    ]);
}

#[test]
fn users_own_kinds_come_and_go_with_their_definitions() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let widget = |size: i32| {
        format!(
            "apiVersion: test.io/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {{size: {size}}}\n"
        )
    };
    server.expect(&[
        ("apply -f -", DEFINITION, "created"),
        (
            "wait --for=condition=Established crd/widgets.test.io --timeout=120s",
            "",
            "condition met",
        ),
        ("apply -f -", &widget(3), "widget.test.io/w created"),
        ("get wd", "", "w      3"),
        (
            "apply -f -",
            &widget(0),
            "spec.size in body should be greater than or equal to 1",
        ),
        (
            "patch wd w --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/size\",\"value\":9}]",
            "",
            "patched",
        ),
        ("get wd w -o jsonpath={.spec.size}", "", "9"),
        ("until explain widgets.spec.size", "", "<integer>"),
        ("delete crd widgets.test.io", "", "deleted"),
        ("until get --raw /apis/test.io/v1", "", "NotFound"),
    ]);
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_a_restore() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data);
    server.expect(&[("apply -f -", DEPLOYMENT, "created")]);
    let uid = server.kubectl("get deployment web -o jsonpath={.metadata.uid}", "");
    server.kill();
    let server = Server::start(&data);
    assert_eq!(
        server.kubectl("get deployment web -o jsonpath={.metadata.uid}", ""),
        uid
    );

    let file = directory.path().join("saved.karavel");
    let file = file.to_str().unwrap();
    let kubeconfig = server.kubeconfig.to_str().unwrap().to_owned();
    let (code, printed) = karavel(&["backup", file, "--kubeconfig", &kubeconfig]);
    assert_eq!(code, 0, "{printed}");
    let count = printed
        .strip_prefix("saved ")
        .and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    // Namespaces, roles, bindings and the Deployment, at least.
    let count = count.filter(|count| *count > 100).expect(&printed);
    let (code, printed) = karavel(&["backup", file, "--kubeconfig", &kubeconfig]);
    assert!(code == 1 && printed.contains("exists already"), "{printed}");

    let restored = directory.path().join("restored");
    let (code, printed) = karavel(&["restore", file, "--data-dir", restored.to_str().unwrap()]);
    assert!(
        code == 0 && printed.starts_with(&format!("restored {count} objects")),
        "{printed}"
    );
    for made in [restored.clone(), restored.join("store")] {
        let mode = std::fs::metadata(&made).unwrap().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", made.display());
    }
    // What is encrypted stays so in a backup: the key is kept apart from it.
    bring_key(&data, &restored);
    let server = Server::start(&restored);
    assert_eq!(
        server.kubectl("get deployment web -o jsonpath={.metadata.uid}", ""),
        uid
    );
}

/// Gives a server the key that another encrypts with, as an operator would.
fn bring_key(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("pki")).unwrap();
    let key = "pki/encryption.key";
    std::fs::copy(from.join(key), to.join(key)).unwrap();
}

#[test]
fn two_servers_on_one_etcd_serve_each_others_writes_and_either_may_die() {
    let directory = tempfile::tempdir().unwrap();
    let etcd = Etcd::start(&directory.path().join("etcd"));
    let further = [
        "--store",
        "etcd",
        "--etcd-servers",
        &etcd.url,
        "--etcd-compaction-seconds",
        "1",
    ];
    let first = Server::start_with(&directory.path().join("first"), &further);
    bring_key(
        &directory.path().join("first"),
        &directory.path().join("second"),
    );
    let second = Server::start_with(&directory.path().join("second"), &further);
    first.expect(&[("apply -f -", DEPLOYMENT, "created")]);
    second.expect(&[
        ("get deployment web -o jsonpath={.spec.replicas}", "", "2"),
        ("scale deployment web --replicas=7", "", "scaled"),
    ]);
    first.expect(&[("get deployment web -o jsonpath={.spec.replicas}", "", "7")]);
    first.kill();
    second.expect(&[
        ("get deployment web -o jsonpath={.spec.replicas}", "", "7"),
        ("delete deployment web", "", "deleted"),
    ]);
    let first = Server::start_with(&directory.path().join("first"), &further);
    first.expect(&[
        ("get deployment web", "", "NotFound"),
        ("apply -f -", DEPLOYMENT, "created"),
    ]);
    second.expect(&[("get deployment web -o name", "", "deployment.apps/web")]);
    let kubeconfig = first.kubeconfig.to_str().unwrap();
    let file = directory.path().join("saved");
    let (code, printed) = karavel(&["backup", file.to_str().unwrap(), "--kubeconfig", kubeconfig]);
    assert!(
        code == 2 && printed.contains("etcdctl snapshot save"),
        "{printed}"
    );
    let half_done = file.with_extension("unfinished");
    assert!(!half_done.exists(), "nothing half done is left behind");
}

/// An etcd of one member, killed when it is dropped.
struct Etcd {
    process: Child,
    url: String,
}

impl Etcd {
    fn start(data_dir: &Path) -> Self {
        let free = || {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let (url, peer) = (free(), free());
        // `cargo xtask setup` puts it there; `KARAVEL_TOOLS` is set for every cargo command of this workspace.
        let tools = std::env::var_os("KARAVEL_TOOLS").map(|tools| Path::new(&tools).join("etcd"));
        let program = tools
            .filter(|path| path.exists())
            .unwrap_or_else(|| "etcd".into());
        let process = Command::new(program)
            .args([
                "--log-level",
                "error",
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args([
                "--initial-cluster",
                &format!("default={peer}"),
                "--data-dir",
            ])
            .arg(data_dir)
            .spawn()
            .expect("etcd must be there to run this test: cargo xtask setup");
        let address = url.trim_start_matches("http://").to_owned();
        wait_for(|| {
            let reached = std::net::TcpStream::connect(&address);
            reached.map_err(|error| format!("etcd does not listen: {error}"))
        });
        Self { process, url }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data);
    let data = data.to_str().unwrap();
    let junk = directory.path().join("junk");
    std::fs::write(&junk, "not a backup").unwrap();
    let address = server.kubectl(
        "config view --minify -o jsonpath={.clusters[0].cluster.server}",
        "",
    );
    let address = address.trim_start_matches("https://").to_owned();
    for (arguments, code, expected) in [
        (
            vec!["server", "--data-dir", data, "--listen", "127.0.0.1:0"],
            1,
            "stop that one first",
        ),
        (
            vec!["server", "--data-dir", data, "--listen", &address],
            1,
            "is in use by another process",
        ),
        (
            vec!["server", "--data-dir", "/proc/nowhere"],
            1,
            "choose a directory you own",
        ),
        (
            vec!["restore", junk.to_str().unwrap(), "--data-dir", "unused"],
            1,
            "this is not a backup",
        ),
        (
            vec!["restore", junk.to_str().unwrap(), "--data-dir", "."],
            1,
            "is no data directory of karavel",
        ),
        (
            vec!["backup", "x", "--kubeconfig", "/nowhere"],
            1,
            "name the control plane's kubeconfig",
        ),
        (vec!["crds", "wroks"], 1, "choose one of"),
        (vec!["sevrer"], 1, "did you mean \"server\"?"),
        (
            vec!["server", "--data-dri", "x"],
            1,
            "similar argument exists: '--data-dir'",
        ),
        (vec!["--help"], 0, "multi-cluster"),
        (vec!["crds", "works"], 0, "name: works.work.karmada.io"),
    ] {
        let output = Command::new(KARAVEL)
            .args(&arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        let printed = both_streams(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(
            printed.contains(expected),
            "{arguments:?}\nexpected: {expected}\nprinted: {printed}"
        );
    }
}

//! Real servers, each with an etcd of its own: the judges.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cache::{Cache, run};
use crate::certificates::Authority;
use crate::kubernetes;
use crate::process::{Running, free_port, wait_until};

const START: Duration = Duration::from_secs(120);

/// An etcd of one member.
pub struct Etcd {
    /// Where clients reach it.
    pub url: String,
    running: Running,
}

impl Etcd {
    /// Starts one; `cargo xtask setup` brings the program in.
    pub fn start(folder: &Path) -> Result<Self> {
        let (port, peer) = (free_port()?, free_port()?);
        let url = format!("http://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer}");
        let tools = std::env::var_os("KARAVEL_TOOLS").map(|tools| Path::new(&tools).join("etcd"));
        let program = tools
            .filter(|path| path.exists())
            .unwrap_or_else(|| "etcd".into());
        let running = Running::start(
            Command::new(program)
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
                .arg(folder.join("etcd")),
            &folder.join("etcd.log"),
        )
        .context("etcd must be there: cargo xtask setup")?;
        wait_until("etcd listening", START, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })?;
        Ok(Self { url, running })
    }
}

/// A real API server.
pub struct Judge {
    /// Its administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Whoever signs for it.
    pub authority: Authority,
    /// Where it listens.
    pub port: u16,
    further: Vec<Running>,
    server: Running,
    etcd: Etcd,
}

impl Judge {
    /// The API server for users' own kinds, of 1.36: it serves no built-in kind and knows no namespaces.
    pub fn extensions(cache: &Cache, folder: &Path) -> Result<Self> {
        let program = kubernetes::extensions(cache);
        ensure!(
            program.is_file(),
            "{} is not there: cargo xtask kubernetes",
            program.display()
        );
        let etcd = Etcd::start(folder)?;
        let authority = Authority::create(folder)?;
        let port = free_port()?;
        let serving = authority.sign("apiserver", "")?;
        let kubeconfig = authority.kubeconfig(port, "admin", "system:masters")?;
        let server = Running::start(
            Command::new(program)
                .args(["--etcd-servers", &etcd.url, "--bind-address", "127.0.0.1"])
                .args(["--secure-port", &port.to_string(), "--authentication-skip-lookup"])
                .arg("--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy")
                .arg("--kubeconfig").arg(&kubeconfig)
                .arg("--authentication-kubeconfig").arg(&kubeconfig)
                .arg("--authorization-kubeconfig").arg(&kubeconfig)
                .arg("--client-ca-file").arg(authority.certificate())
                .arg("--tls-cert-file").arg(&serving.certificate)
                .arg("--tls-private-key-file").arg(&serving.key)
                .arg("--enable-priority-and-fairness=false"),
            &folder.join("extensions.log"),
        )?;
        let judge = Self {
            kubeconfig,
            authority,
            port,
            further: Vec::new(),
            server,
            etcd,
        };
        // It looks for services in vain, so it never calls itself ready.
        judge.wait_ready("/healthz", folder)?;
        Ok(judge)
    }

    /// A whole API server of 1.20, without some of its admission plugins.
    pub fn kubernetes(cache: &Cache, folder: &Path, without: &str) -> Result<Self> {
        let program = kubernetes::programs(cache).join("kube-apiserver");
        ensure!(
            program.is_file(),
            "{} is not there: cargo xtask kubernetes",
            program.display()
        );
        let etcd = Etcd::start(folder)?;
        let authority = Authority::create(folder)?;
        let port = free_port()?;
        let serving = authority.sign("apiserver", "")?;
        let accounts = authority.sign("service-accounts", "")?;
        let kubeconfig = authority.kubeconfig(port, "admin", "system:masters")?;
        let server = Running::start(
            Command::new(program)
                .args([
                    "--etcd-servers",
                    &etcd.url,
                    "--bind-address",
                    "127.0.0.1",
                    "--advertise-address",
                    "127.0.0.1",
                ])
                .args([
                    "--secure-port",
                    &port.to_string(),
                    "--authorization-mode",
                    "Node,RBAC",
                ])
                .args([
                    "--service-cluster-ip-range",
                    "10.0.0.0/16",
                    "--allow-privileged=true",
                ])
                .args([
                    "--service-account-issuer",
                    "https://kubernetes.default.svc",
                    "--api-audiences",
                    "https://kubernetes.default.svc",
                ])
                .arg("--client-ca-file")
                .arg(authority.certificate())
                .arg("--tls-cert-file")
                .arg(&serving.certificate)
                .arg("--tls-private-key-file")
                .arg(&serving.key)
                .arg("--service-account-key-file")
                .arg(&accounts.certificate)
                .arg("--service-account-signing-key-file")
                .arg(&accounts.key)
                .args(["--disable-admission-plugins", without])
                .args(["--feature-gates", "ServerSideApply=true"]),
            &folder.join("kube-apiserver.log"),
        )?;
        let judge = Self {
            kubeconfig,
            authority,
            port,
            further: Vec::new(),
            server,
            etcd,
        };
        judge.wait_ready("/readyz", folder)?;
        Ok(judge)
    }

    /// Starts the controllers and the scheduler beside it: a cluster that lacks only its nodes.
    pub fn start_controllers(&mut self, cache: &Cache, folder: &Path) -> Result<()> {
        let programs = kubernetes::programs(cache);
        let manager = self
            .authority
            .kubeconfig(self.port, "system:kube-controller-manager", "")?;
        let scheduler = self
            .authority
            .kubeconfig(self.port, "system:kube-scheduler", "")?;
        let port = free_port()?.to_string();
        self.further.push(Running::start(
            Command::new(programs.join("kube-controller-manager"))
                .arg("--kubeconfig")
                .arg(&manager)
                .args([
                    "--use-service-account-credentials=true",
                    "--leader-elect=false",
                    "--port=0",
                    "--secure-port",
                    &port,
                ])
                .arg("--cluster-signing-cert-file")
                .arg(self.authority.certificate())
                .arg("--cluster-signing-key-file")
                .arg(self.authority.key())
                .arg("--root-ca-file")
                .arg(self.authority.certificate())
                .arg("--service-account-private-key-file")
                .arg(folder.join("service-accounts.key")),
            &folder.join("controller-manager.log"),
        )?);
        let port = free_port()?.to_string();
        self.further.push(Running::start(
            Command::new(programs.join("kube-scheduler"))
                .arg("--kubeconfig")
                .arg(&scheduler)
                .args(["--leader-elect=false", "--port=0", "--secure-port", &port]),
            &folder.join("scheduler.log"),
        )?);
        Ok(())
    }

    /// The processes an API server is: itself and its etcd.
    #[must_use]
    pub fn processes(&self) -> [u32; 2] {
        [self.server.id(), self.etcd.running.id()]
    }

    fn wait_ready(&self, path: &str, folder: &Path) -> Result<()> {
        let question = format!("get --raw {path}");
        wait_until("the real server getting ready", START, || {
            self.kubectl(&question).is_ok()
        })
        .with_context(|| format!("its words are in {}", folder.display()))
    }

    /// Asks it with the kubectl at hand.
    pub fn kubectl(&self, arguments: &str) -> Result<String> {
        run(Command::new("kubectl")
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig))
    }
}

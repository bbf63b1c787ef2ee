//! What is measured: servers that are there already, or processes started for the purpose.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::{Door, KubeconfigSource};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::error::BenchError;
use crate::weight::Weight;
use crate::wire::{Ask, Wire};
use crate::workload::Stage;

/// How long a process may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that is starting.
const LOOK: Duration = Duration::from_millis(2);
/// What simulated members are called, before their number.
const MEMBER: &str = "bench";

/// Servers that are there already.
#[derive(Clone, Debug)]
pub struct Given {
    /// The control plane.
    pub control: KubeconfigSource,
    /// Its members, by name.
    pub members: Vec<(String, KubeconfigSource)>,
    /// The control plane's processes on this machine, to be weighed.
    pub processes: Vec<u32>,
}

/// How to start servers.
#[derive(Clone, Debug)]
pub struct Own {
    /// The program.
    pub program: PathBuf,
    /// Further arguments for the control plane, such as those for another store.
    pub arguments: Vec<String>,
}

/// What a step speaks to.
pub(crate) struct Target {
    pub(crate) control: Door,
    pub(crate) members: Vec<(String, Door)>,
    processes: Vec<u32>,
    pub(crate) started: Option<Started>,
}

/// Processes of our own, which end with this value.
pub(crate) struct Started {
    own: Own,
    directory: TempDir,
    server: Child,
    sim: Option<Child>,
    flags: Vec<String>,
}

impl Given {
    pub(crate) async fn open(&self) -> Result<Target, BenchError> {
        let control = open("the control plane", &self.control).await?;
        let mut members = Vec::new();
        for (name, source) in &self.members {
            members.push((name.clone(), open(name, source).await?));
        }
        Ok(Target {
            control,
            members,
            processes: self.processes.clone(),
            started: None,
        })
    }
}

impl Own {
    /// Starts what a stage needs and waits until it answers.
    pub(crate) async fn start(&self, stage: Stage) -> Result<Target, BenchError> {
        let directory = tempfile::tempdir().map_err(|source| BenchError::File {
            doing: "make a directory in",
            path: std::env::temp_dir(),
            source,
        })?;
        let mut flags = self.arguments.clone();
        if stage == Stage::Scheduler {
            flags.extend(["--controllers".to_owned(), "scheduler".to_owned()]);
        }
        let (server, control) =
            serve(self, directory.path(), "127.0.0.1:0".to_owned(), &flags).await?;
        let mut target = Target {
            control,
            members: Vec::new(),
            processes: server.id().into_iter().collect(),
            started: Some(Started {
                own: self.clone(),
                directory,
                server,
                sim: None,
                flags,
            }),
        };
        if let Stage::Members(count) = stage {
            target.add_members(count).await?;
        }
        Ok(target)
    }
}

impl Target {
    /// What the control plane weighs, as far as its processes are known.
    pub(crate) fn weight(&self) -> Weight {
        Weight::of_all(self.processes.iter().copied())
    }

    pub(crate) fn is_weighed(&self) -> bool {
        !self.processes.is_empty()
    }

    /// Starts simulated members and joins them.
    async fn add_members(&mut self, count: usize) -> Result<(), BenchError> {
        let Some(started) = &mut self.started else {
            return Ok(());
        };
        let directory = started.directory.path().join("members");
        let number = count.max(2).to_string();
        // Room for every pod of a run: what is waited for must be able to come.
        let arguments = [
            "sim", "--count", &number, "--name", MEMBER, "--pods", "100000", "--log", "error",
        ];
        let mut command = Command::new(&started.own.program);
        command.args(arguments).arg("--data-dir").arg(&directory);
        let log = started.directory.path().join("sim.log");
        let mut sim = spawn(command, &log)?;
        let kubeconfig = directory.join("kubeconfig");
        wait_for_file(&mut sim, &kubeconfig, &log).await?;
        started.sim = Some(sim);
        for index in 1..=count {
            let name = format!("{MEMBER}-{index}");
            let source = KubeconfigSource::File {
                path: kubeconfig.clone(),
                context: Some(name.clone()),
            };
            started.join(&name, &kubeconfig).await?;
            self.members
                .push((name.clone(), open(&name, &source).await?));
        }
        let mut wire = Wire::open(&self.control).await?;
        let deadline = Instant::now() + PATIENCE + Duration::from_millis(100) * clamp(count);
        while ready_clusters(&mut wire).await? < count {
            if Instant::now() > deadline {
                return Err(BenchError::Late {
                    what: format!("{count} members being ready"),
                    seconds: PATIENCE.as_secs(),
                    seen: format!("{}", ready_clusters(&mut wire).await?),
                });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Kills the control plane and starts it again; says how long it took from there until it answered.
    pub(crate) async fn restart(&mut self) -> Result<Duration, BenchError> {
        let Some(started) = &mut self.started else {
            return Err(BenchError::Unfit {
                workload: "restart".to_owned(),
                needs: "a control plane it may kill",
            });
        };
        let failed = |error: std::io::Error| BenchError::Process {
            what: "kill".to_owned(),
            why: error.to_string(),
        };
        started.server.kill().await.map_err(failed)?;
        let address = self
            .control
            .server
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default();
        let begun = Instant::now();
        let directory = started.directory.path();
        let (server, control) = serve(&started.own, directory, address, &started.flags).await?;
        let took = begun.elapsed();
        self.processes = server.id().into_iter().collect();
        started.server = server;
        self.control = control;
        Ok(took)
    }
}

impl Started {
    async fn join(&self, name: &str, kubeconfig: &Path) -> Result<(), BenchError> {
        let mut command = Command::new(&self.own.program);
        command
            .args(["join", name, "--cluster-context", name])
            .arg("--cluster-kubeconfig")
            .arg(kubeconfig)
            .arg("--kubeconfig")
            .arg(self.directory.path().join("control/kubeconfig"));
        let output = command
            .output()
            .await
            .map_err(|error| BenchError::Process {
                what: format!("{} join", self.own.program.display()),
                why: error.to_string(),
            })?;
        if output.status.success() {
            return Ok(());
        }
        Err(BenchError::Process {
            what: format!("join {name}"),
            why: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

async fn open(whose: &str, source: &KubeconfigSource) -> Result<Door, BenchError> {
    source.door().await.map_err(|error| BenchError::Kubeconfig {
        whose: whose.to_owned(),
        source: Box::new(error),
    })
}

/// Starts a control plane and waits until it is ready.
async fn serve(
    own: &Own,
    directory: &Path,
    address: String,
    flags: &[String],
) -> Result<(Child, Door), BenchError> {
    let data = directory.join("control");
    let log = directory.join("server.log");
    let mut command = Command::new(&own.program);
    command
        .args(["server", "--log", "warn", "--listen", &address])
        .arg("--data-dir")
        .arg(&data)
        .args(flags);
    let mut server = spawn(command, &log)?;
    let path = data.join("kubeconfig");
    wait_for_file(&mut server, &path, &log).await?;
    let source = KubeconfigSource::File {
        path,
        context: None,
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let door = open("the control plane", &source).await?;
        if let Ok(mut wire) = Wire::open(&door).await
            && let Ok(answer) = wire.ask(Ask::get("/readyz")).await
            && answer.status.is_success()
        {
            return Ok((server, door));
        }
        alive(&mut server, &log)?;
        if Instant::now() > deadline {
            return Err(BenchError::Late {
                what: "the control plane's being ready".to_owned(),
                seconds: PATIENCE.as_secs(),
                seen: "no answer".to_owned(),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn spawn(mut command: Command, log: &Path) -> Result<Child, BenchError> {
    let what = command.as_std().get_program().display().to_string();
    let failed = |error: std::io::Error| BenchError::Process {
        what: what.clone(),
        why: error.to_string(),
    };
    let file = std::fs::File::create(log).map_err(failed)?;
    let again = file.try_clone().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::from(file))
        .stderr(Stdio::from(again))
        .kill_on_drop(true);
    command.spawn().map_err(failed)
}

/// What a process that has ended said last.
fn alive(process: &mut Child, log: &Path) -> Result<(), BenchError> {
    let Ok(Some(status)) = process.try_wait() else {
        return Ok(());
    };
    let said = std::fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(BenchError::Process {
        what: "the server".to_owned(),
        why: format!("it ended with {status}: {}", last.join("; ")),
    })
}

async fn wait_for_file(process: &mut Child, path: &Path, log: &Path) -> Result<(), BenchError> {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        alive(process, log)?;
        if Instant::now() > deadline {
            return Err(BenchError::Late {
                what: format!("the writing of {}", path.display()),
                seconds: PATIENCE.as_secs(),
                seen: "nothing".to_owned(),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

async fn ready_clusters(wire: &mut Wire) -> Result<usize, BenchError> {
    let answer = wire.ask(Ask::get(crate::objects::CLUSTERS)).await?;
    let body = answer.accepted("list clusters")?;
    let list: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let clusters = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let ready = |cluster: &&serde_json::Value| {
        let conditions = cluster["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            let ready = |one: &serde_json::Value| one["type"] == "Ready" && one["status"] == "True";
            conditions.iter().any(ready)
        })
    };
    Ok(clusters.iter().filter(ready).count())
}

fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

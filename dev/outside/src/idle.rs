//! Many members that have joined and do nothing: what they cost the control plane, and how soon it sees that they are gone.
//!
//! The members run in a process of their own, on sockets and with TLS, as far away as one machine allows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::process::{Karavel, Running, pause, wait_until};
use crate::script::make_folder;

/// What to run.
#[derive(Debug)]
pub struct Choice {
    /// The control plane under test.
    pub karavel: PathBuf,
    /// How many members.
    pub members: usize,
}

/// How many join at once: joining is mostly waiting for the other side.
const JOINERS: usize = 8;
/// After how many members it is told how far joining has come.
const STEP: usize = 100;
/// Nothing is measured before everything that joining set off is over.
const REST: Duration = Duration::from_secs(45);
/// How long is measured.
const LOOK: Duration = Duration::from_secs(60);
/// How long all members together may take to be seen as gone: the threshold, two periods and the look itself.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// Between two counts of members, which are work for the server too.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Where the table of clusters says whether one is ready: after its name, its version and its mode.
const READY_COLUMN: usize = 3;
/// Ticks of the processor's clock in a second, as every Linux counts them for processes.
const TICKS: f64 = 100.0;

/// Joins so many members, leaves them alone, and takes them away; true when all were seen as gone in time.
pub fn run(choice: &Choice) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let folder = make_folder(directory.path(), "idle")?;
    let server = Karavel::start(&choice.karavel, &folder.join("server"), &[])?;
    pause(Duration::from_secs(5));
    let empty = memory(&server)?;
    let mut sim = start_members(&choice.karavel, &folder, choice.members)?;
    split(&folder.join("sim/kubeconfig"), &folder)?;
    let begun = Instant::now();
    join(&choice.karavel, &folder, &server, choice.members)?;
    let joined = begun.elapsed();
    wait_until("all members' being ready", Duration::from_secs(600), || {
        count(&server, "True").is_ok_and(|ready| ready == choice.members)
    })?;
    let ready = begun.elapsed();
    pause(REST);
    let (full, used) = (memory(&server)?, processor(&server)?);
    let looked = Instant::now();
    pause(LOOK);
    let share = (processor(&server)? - used) / looked.elapsed().as_secs_f64();
    let later = memory(&server)?;
    println!(
        "idle-members: {} joined in {:.1} s, all ready after {:.1} s",
        choice.members,
        joined.as_secs_f64(),
        ready.as_secs_f64()
    );
    println!(
        "idle-members: {:.1} % of a core; {} MiB without members, {} MiB with them, {} MiB a minute later: {} KiB a member",
        share * 100.0,
        empty / 1024,
        full / 1024,
        later / 1024,
        later.saturating_sub(empty) / choice.members.max(1) as u64
    );
    sim.kill();
    let killed = Instant::now();
    let mut first = None;
    let gone = wait_until("all members' being seen as gone", GONE_WITHIN * 3, || {
        let gone = count(&server, "False").unwrap_or_default();
        if gone > 0 {
            first.get_or_insert_with(|| killed.elapsed());
        }
        gone == choice.members
    });
    let last = killed.elapsed();
    println!(
        "idle-members: the first was seen as gone after {:.1} s, the last after {:.1} s",
        first.unwrap_or_default().as_secs_f64(),
        last.as_secs_f64()
    );
    gone?;
    Ok(last <= GONE_WITHIN)
}

fn start_members(program: &Path, folder: &Path, members: usize) -> Result<Running> {
    let data = folder.join("sim");
    let sim = Running::start(
        Command::new(program)
            .args(["sim", "--name", "m", "--nodes", "2", "--count"])
            .arg(members.to_string())
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data),
        &folder.join("sim.log"),
    )?;
    let kubeconfig = data.join("kubeconfig");
    wait_until("the members' start", Duration::from_secs(600), || {
        kubeconfig.is_file()
            && std::fs::read_to_string(folder.join("sim.log"))
                .is_ok_and(|log| log.contains("Ctrl-C"))
    })?;
    Ok(sim)
}

/// Writes a kubeconfig for each member, as it would have: one with all of them is a megabyte that every joiner would read.
fn split(all: &Path, folder: &Path) -> Result<()> {
    let folder = make_folder(folder, "contexts")?;
    let text = std::fs::read_to_string(all).context("the members wrote no kubeconfig")?;
    let all: Value = serde_saphyr::from_str(&text).context("the members' kubeconfig is odd")?;
    let named = |list: &str, name: &Value| -> Result<Value> {
        let items = all[list].as_array().context("a list is missing")?;
        let found = items.iter().find(|item| item["name"] == *name);
        found
            .cloned()
            .with_context(|| format!("{list} lacks {name}"))
    };
    for context in all["contexts"]
        .as_array()
        .context("there are no contexts")?
    {
        let name = context["name"].as_str().context("a context has no name")?;
        let one = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [context],
            "clusters": [named("clusters", &context["context"]["cluster"])?],
            "users": [named("users", &context["context"]["user"])?],
        });
        std::fs::write(folder.join(name), one.to_string())?;
    }
    Ok(())
}

fn join(program: &Path, folder: &Path, server: &Karavel, members: usize) -> Result<()> {
    let (next, begun) = (AtomicUsize::new(1), Instant::now());
    let joined = std::thread::scope(|scope| {
        let joiners: Vec<_> = (0..JOINERS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number > members {
                            return Ok(());
                        }
                        join_one(program, folder, server, &format!("m-{number}"))?;
                        if number.is_multiple_of(STEP) {
                            let seconds = begun.elapsed().as_secs_f64();
                            println!("idle-members: {number} joined after {seconds:.1} s");
                        }
                    }
                })
            })
            .collect();
        joiners
            .into_iter()
            .map(|joiner| match joiner.join() {
                Ok(result) => result,
                Err(_) => bail!("a joiner panicked"),
            })
            .collect::<Result<Vec<()>>>()
    });
    joined.map(drop)
}

fn join_one(program: &Path, folder: &Path, server: &Karavel, name: &str) -> Result<()> {
    let output = Command::new(program)
        .args(["join", name, "--cluster-kubeconfig"])
        .arg(folder.join("contexts").join(name))
        .arg("--kubeconfig")
        .arg(server.kubeconfig())
        .stdin(Stdio::null())
        .output()
        .context("cannot run karavel")?;
    if !output.status.success() {
        bail!(
            "{name} does not join: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// How many clusters say so of being ready. By the table that the server makes: whole clusters list every kind they
/// serve, and reading a thousand of them again and again would take the core that is to be measured.
fn count(server: &Karavel, status: &str) -> Result<usize> {
    pause(BETWEEN_LOOKS);
    let output = Command::new("kubectl")
        .args(["get", "clusters", "--no-headers"])
        .env("KUBECONFIG", server.kubeconfig())
        .stdin(Stdio::null())
        .output()
        .context("cannot run kubectl")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let says_so = |line: &&str| line.split_whitespace().nth(READY_COLUMN) == Some(status);
    Ok(text.lines().filter(says_so).count())
}

/// Kibibytes that a server has in memory.
fn memory(server: &Karavel) -> Result<u64> {
    let status = about(server, "status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .context("the server's memory is not told")
}

/// Seconds that a server has used a core.
fn processor(server: &Karavel) -> Result<f64> {
    let text = about(server, "stat")?;
    // The name in brackets may hold anything; user and system time are the 12th and 13th fields after it.
    let (_, rest) = text.rsplit_once(") ").context("an odd process")?;
    let ticks = rest.split(' ').skip(11).take(2);
    let ticks: Vec<f64> = ticks.map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS)
}

fn about(server: &Karavel, file: &str) -> Result<String> {
    let id = server.id().context("the server does not run")?;
    std::fs::read_to_string(format!("/proc/{id}/{file}")).context("the server has ended")
}

//! A real Kubernetes cluster as a member, taken through the same list as a simulated one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::nodes::Nodes;
use crate::peer::Judge;
use crate::process::{Karavel, Running, wait_until};
use crate::script::{Script, Setting, make_folder};

/// What to run.
#[derive(Debug)]
pub struct Choice {
    /// The control plane under test.
    pub karavel: PathBuf,
    /// Only these: `real`, `simulated`; both if empty.
    pub only: Vec<String>,
}

/// Runs the list against both sorts of member; true when both did what is expected.
pub fn run(cache: &Cache, choice: &Choice) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let wants = |sort: &str| choice.only.is_empty() || choice.only.iter().any(|only| only == sort);
    let mut failed = 0;
    if wants("real") {
        let folder = make_folder(directory.path(), "real")?;
        let mut judge = Judge::kubernetes(cache, &folder, "")?;
        judge.start_controllers(cache, &folder)?;
        let _nodes = Nodes::start(&judge.kubeconfig, 3)?;
        wait_until(
            "the default service account",
            Duration::from_secs(60),
            || judge.kubectl("get serviceaccount default").is_ok(),
        )?;
        failed += take_through("real", &folder, &judge.kubeconfig, choice)?;
    }
    if wants("simulated") {
        let folder = make_folder(directory.path(), "simulated")?;
        let data = folder.join("sim");
        let _sim = Running::start(
            std::process::Command::new(&choice.karavel)
                .args(["sim", "--name", "simulated", "--data-dir"])
                .arg(&data),
            &folder.join("sim.log"),
        )?;
        let kubeconfig = data.join("kubeconfig");
        wait_until("the simulated member", Duration::from_secs(30), || {
            kubeconfig.is_file()
        })?;
        failed += take_through("simulated", &folder, &kubeconfig, choice)?;
    }
    Ok(failed == 0)
}

fn take_through(sort: &str, folder: &Path, member: &Path, choice: &Choice) -> Result<usize> {
    let started = Instant::now();
    let server = Karavel::start(&choice.karavel, &folder.join("server"), &[])?;
    let setting = Setting {
        folder: make_folder(folder, "script")?,
        kubeconfig: server.kubeconfig(),
        programs: Vec::new(),
        minor: 32,
        variables: vec![
            (String::from("MEMBER"), member.display().to_string()),
            (
                String::from("KARAVEL_PROGRAM"),
                choice.karavel.display().to_string(),
            ),
        ],
    };
    let script = Script::load("member")?;
    let problems = script.run(&setting)?;
    for problem in &problems {
        println!("--- {sort}: {problem}");
    }
    if !problems.is_empty() {
        let log =
            std::fs::read_to_string(folder.join("server.log")).context("the server left no log")?;
        let lines: Vec<&str> = log.lines().collect();
        let last = lines
            .get(lines.len().saturating_sub(25)..)
            .unwrap_or_default();
        println!("last of the server's log:\n{}", last.join("\n"));
    }
    println!(
        "real-members, {sort}: {} of {} steps as expected, {} s",
        script.steps.len() - problems.len(),
        script.steps.len(),
        started.elapsed().as_secs()
    );
    Ok(problems.len())
}

//! The same requests to a real Kubernetes API server on etcd and to ours, one after the other on one machine.
//!
//! `karavel bench api` asks both; what they did is held against one another by `karavel bench compare`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cache::Cache;
use crate::peer::Judge;
use crate::script::make_folder;

/// What to run.
#[derive(Debug)]
pub struct Choice {
    /// The program that measures, and is measured. Its figures mean something only if it was built for release.
    pub karavel: PathBuf,
    /// How much of everything is done, as `karavel bench --size` says.
    pub size: String,
}

/// Measures both and prints what they did and how that compares; true when both went through.
pub fn run(cache: &Cache, choice: &Choice) -> Result<bool> {
    let size = choice.size.as_str();
    let directory = tempfile::tempdir()?;
    let folder = make_folder(directory.path(), "versus")?;
    let theirs = folder.join("kubernetes.json");
    {
        let judge = Judge::kubernetes(cache, &folder, "ServiceAccount")?;
        let mut bench = measure(&choice.karavel, size, &theirs);
        bench.arg("--control").arg(&judge.kubeconfig);
        for process in judge.processes() {
            bench.args(["--pid", &process.to_string()]);
        }
        go(&mut bench)?;
    }
    let ours = folder.join("karavel.json");
    go(measure(&choice.karavel, size, &ours).arg("--self"))?;
    println!("\nKubernetes' API server on etcd, then ours:\n");
    go(Command::new(&choice.karavel)
        .args(["bench", "compare"])
        .args([&theirs, &ours]))?;
    Ok(true)
}

fn measure(karavel: &Path, size: &str, report: &Path) -> Command {
    let mut command = Command::new(karavel);
    command
        .args(["bench", "api", "--size", size, "--report"])
        .arg(report);
    command
}

fn go(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

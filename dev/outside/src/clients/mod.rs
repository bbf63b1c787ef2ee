//! Real clients against our server: every kubectl, helm 3 and 4, the Python and Node clients, and an operator.

mod controllers;
mod helm;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

use crate::cache::Cache;
use crate::install::{MINORS, Tools, ensure_node, ensure_python, ensure_tools};
use crate::process::Karavel;
use crate::script::{Script, Setting, make_folder};

/// What to run.
#[derive(Debug)]
pub struct Choice {
    /// The server under test.
    pub karavel: PathBuf,
    /// Only these: `kubectl`, `kubectl-1.30`, `helm`, `controllers`; all when empty.
    pub only: Vec<String>,
    /// How long the controllers run.
    pub minutes: u64,
}

impl Choice {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|wanted| name == wanted || name.starts_with(&format!("{wanted}-")))
    }
}

/// Runs the suite and reports on the terminal; true when everything went as Kubernetes does it.
pub fn run(cache: &Cache, choice: &Choice) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let mut report = Report::default();
    let server = Karavel::start(&choice.karavel, &directory.path().join("server"), &[])?;
    let mut helms = Vec::new();
    for minor in MINORS {
        let tools = ensure_tools(cache, *minor)?;
        let name = format!("kubectl-1.{minor}");
        if choice.wants(&name) {
            let setting = setting(
                directory.path(),
                &name,
                &server.kubeconfig(),
                &tools.kubectl,
                *minor,
            )?;
            report.time(&name, || run_kubectl(&setting))?;
        }
        // Several packages carry the same helm.
        if !helms
            .iter()
            .any(|found: &Tools| found.helm_version == tools.helm_version)
        {
            helms.push(tools);
        }
    }
    for tools in &helms {
        let name = format!("helm-{}", tools.helm_version.trim_start_matches('v'));
        if choice.wants(&name) {
            let mut setting = setting(
                directory.path(),
                &name,
                &server.kubeconfig(),
                &tools.kubectl,
                tools.minor,
            )?;
            setting.programs.push(tools.helm.clone());
            report.time(&name, || helm::run(&setting))?;
        }
    }
    drop(server);
    if choice.wants("controllers") {
        let python = ensure_python(cache)?;
        let node = ensure_node(cache)?;
        let folder = make_folder(directory.path(), "controllers")?;
        report.time("controllers", || {
            controllers::run(&choice.karavel, &folder, &python, &node, choice.minutes)
        })?;
    }
    report.print();
    Ok(report.failed() == 0)
}

/// Runs the script for kubectl; what went differently.
pub fn run_kubectl(setting: &Setting) -> Result<(usize, Vec<String>)> {
    let script = Script::load("kubectl")?;
    Ok((script.steps.len(), script.run(setting)?))
}

/// A folder and a kubeconfig of its own for one client, as several change it.
pub fn setting(
    parent: &Path,
    name: &str,
    kubeconfig: &Path,
    programs: &Path,
    minor: u32,
) -> Result<Setting> {
    let folder = make_folder(parent, name)?;
    let own = folder.join("kubeconfig");
    std::fs::copy(kubeconfig, &own)?;
    Ok(Setting {
        folder,
        kubeconfig: own,
        programs: vec![programs.to_owned()],
        minor,
        variables: Vec::new(),
    })
}

/// What each client found.
#[derive(Default)]
struct Report {
    lines: Vec<(String, usize, usize, f64)>,
}

impl Report {
    fn time(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<(usize, Vec<String>)>,
    ) -> Result<()> {
        let started = Instant::now();
        let (steps, problems) = run()?;
        for problem in &problems {
            println!("--- {name}: {problem}");
        }
        println!(
            "{name}: {} of {steps} steps as expected",
            steps - problems.len().min(steps)
        );
        self.lines.push((
            name.to_owned(),
            steps,
            problems.len(),
            started.elapsed().as_secs_f64(),
        ));
        Ok(())
    }

    fn failed(&self) -> usize {
        self.lines.iter().map(|(_, _, failed, _)| failed).sum()
    }

    fn print(&self) {
        println!();
        for (name, steps, failed, took) in &self.lines {
            println!("{name:<16} {steps:>4} steps {failed:>4} differ {took:>7.1} s");
        }
    }
}

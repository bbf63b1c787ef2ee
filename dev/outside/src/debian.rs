//! Debian's archive, read with a private set of package lists: nothing is installed, no root is needed.
//!
//! The mirror is the one that the machine's own package manager uses; only the suites differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cache::{Cache, run};

/// Debian's archive with lists of its own.
pub struct Debian {
    state: PathBuf,
}

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Debian {
    /// Fetches the lists of the stable release that carries Kubernetes' source and of the one that carries its libraries.
    pub fn open(cache: &Cache) -> Result<Self> {
        let state = cache.folder("apt")?;
        for folder in ["lists/partial", "cache/archives/partial", "state"] {
            cache.folder(&format!("apt/{folder}"))?;
        }
        let mirror = mirror()?;
        let sources = format!(
            "deb-src [signed-by={KEYRING}] {mirror} bookworm main\n\
             deb [signed-by={KEYRING}] {mirror} bookworm main\n\
             deb [signed-by={KEYRING}] {mirror} sid main\n"
        );
        fs::write(state.join("sources.list"), sources).context("cannot name the suites")?;
        fs::write(state.join("state/status"), "")
            .context("cannot claim to have nothing installed")?;
        let debian = Self { state };
        println!("kubernetes: fetching Debian's package lists");
        run(debian.apt("apt-get").arg("update")).context("cannot fetch Debian's package lists")?;
        Ok(debian)
    }

    /// Fetches a source package of the stable suite into a folder; its description file.
    pub fn source(&self, package: &str, version: &str, folder: &Path) -> Result<PathBuf> {
        let wanted = format!("{package}={version}");
        run(self
            .apt("apt-get")
            .args(["source", "--download-only", &wanted])
            .current_dir(folder))
        .with_context(|| gone(&wanted))?;
        find_ending(folder, ".dsc")?.with_context(|| gone(&wanted))
    }

    /// Unpacks one package of the stable suite into a folder.
    pub fn unpack(&self, package: &str, folder: &Path) -> Result<()> {
        let staging = folder.join(format!("{package}.fetched"));
        fs::create_dir_all(&staging)
            .with_context(|| format!("cannot create {}", staging.display()))?;
        run(self
            .apt("apt-get")
            .args(["download", &format!("{package}/bookworm")])
            .current_dir(&staging))
        .with_context(|| gone(package))?;
        let archive = find_ending(&staging, ".deb")?.with_context(|| gone(package))?;
        extract(&archive, folder)?;
        fs::remove_dir_all(&staging).with_context(|| format!("cannot remove {}", staging.display()))
    }

    /// Unpacks a package in one version, and everything it needs whose name begins like it should, into a folder.
    pub fn unpack_closure(
        &self,
        package: &str,
        version: &str,
        prefix: &str,
        folder: &Path,
    ) -> Result<usize> {
        let wanted = format!("{package}={version}");
        run(self.apt("apt-get").args([
            "install",
            "--yes",
            "--no-install-recommends",
            "--download-only",
            &wanted,
        ]))
        .with_context(|| gone(&wanted))?;
        let archives = self.state.join("cache/archives");
        let mut unpacked = 0;
        for entry in fs::read_dir(&archives).context("cannot list what was fetched")? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.starts_with(prefix) && name.ends_with(".deb") {
                extract(&path, folder)?;
                unpacked += 1;
            }
        }
        Ok(unpacked)
    }

    fn apt(&self, program: &str) -> Command {
        let state = self.state.display();
        let mut command = Command::new(program);
        for option in [
            format!("Dir::Etc::sourcelist={state}/sources.list"),
            String::from("Dir::Etc::sourceparts=-"),
            format!("Dir::State={state}/state"),
            format!("Dir::State::lists={state}/lists"),
            format!("Dir::State::status={state}/state/status"),
            format!("Dir::Cache={state}/cache"),
            String::from("APT::Sandbox::User=root"),
            String::from("Acquire::Languages=none"),
            String::from("Debug::NoLocking=1"),
        ] {
            command.args(["-o", &option]);
        }
        command
    }
}

/// The archive that the machine's own lists come from.
fn mirror() -> Result<String> {
    let targets = run(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI) $(ORIGIN) $(COMPONENT)",
    ]))
    .context("this needs Debian's package manager")?;
    targets
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
        .map(|uri| uri.trim_end_matches('/').to_owned())
        .context(
            "the machine's package manager knows no Debian archive: run `apt-get update` first",
        )
}

fn extract(archive: &Path, folder: &Path) -> Result<()> {
    run(Command::new("dpkg-deb")
        .arg("--extract")
        .arg(archive)
        .arg(folder))?;
    Ok(())
}

fn find_ending(folder: &Path, ending: &str) -> Result<Option<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().ends_with(ending)))
}

fn gone(package: &str) -> String {
    format!(
        "DEBIAN NO LONGER CARRIES `{package}`: choose the version it carries now in dev/outside/src/kubernetes.rs, \
         and expect other answers from it"
    )
}

/// Unpacks a source package.
pub fn unpack_source(description: &Path, folder: &Path) -> Result<()> {
    ensure!(!folder.exists(), "{} is there already", folder.display());
    let status = run(Command::new("dpkg-source")
        .args(["--no-check", "--extract"])
        .arg(description)
        .arg(folder));
    match status {
        Ok(_) => Ok(()),
        Err(problem) => bail!("cannot unpack {}: {problem:#}", description.display()),
    }
}

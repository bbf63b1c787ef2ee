//! Where fetched and built programs are kept: outside the clone, one copy for all clones.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The folder of fetched and built programs.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `KARAVEL_CACHE`, or `karavel` in the user's folder for caches.
    pub fn open() -> Result<Self> {
        let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let root = match (
            given("KARAVEL_CACHE"),
            given("XDG_CACHE_HOME"),
            given("HOME"),
        ) {
            (Some(folder), _, _) => PathBuf::from(folder),
            (None, Some(folder), _) => Path::new(&folder).join("karavel"),
            (None, None, Some(home)) => Path::new(&home).join(".cache/karavel"),
            (None, None, None) => bail!("name a folder for fetched programs in KARAVEL_CACHE"),
        };
        fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        Ok(Self { root })
    }

    /// A file or folder in the cache.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A folder in the cache, made if need be.
    pub fn folder(&self, relative: &str) -> Result<PathBuf> {
        let folder = self.path(relative);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// An empty folder in the cache for something half done; an earlier attempt's remains are removed.
    pub fn fresh(&self, relative: &str) -> Result<PathBuf> {
        let folder = self.path(relative);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        self.folder(relative)
    }
}

/// Runs a command to its end; what it prints is shown only when it fails.
pub fn run(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .with_context(|| format!("cannot run {shown}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{shown} failed\n{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(printed)
}

/// Lets a program be run; archives made by Python's tools forget that it may.
pub fn make_programs(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_file() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .with_context(|| format!("cannot make {} a program", path.display()))?;
        }
    }
    Ok(())
}

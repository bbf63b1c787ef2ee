//! What the checks look at: every file's text and every crate's manifest, read once.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::lockfile::ABSENT;

/// The work tree as data.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    /// Text by path, relative to the root with forward slashes. Empty for files that are not UTF-8: nothing is said
    /// about their contents.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) crates: Vec<Crate>,
    /// Which of the crates that must stay out are built all the same, and who uses them. The lock file alone cannot
    /// tell: it also lists what a feature would bring in if another one were on.
    pub(crate) built: BTreeMap<String, Vec<String>>,
}

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    /// Where its manifest lies, relative to the root: `crates/model/object`.
    pub(crate) folder: String,
    /// As written under `[package.metadata.karavel]`.
    pub(crate) layer: Option<String>,
    /// Only those on other members; crates from the registry have their own checks.
    pub(crate) dependencies: Vec<Dependency>,
}

/// An arrow from one member to another.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The key in the manifest.
    pub(crate) key: String,
    /// The folder of the crate it points to.
    pub(crate) folder: String,
    pub(crate) kind: DependencyKind,
}

/// The manifest's section that a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Dev,
    Build,
}

impl DependencyKind {
    /// The section's name.
    pub(crate) fn section(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Dev => "dev-dependencies",
            Self::Build => "build-dependencies",
        }
    }
}

impl Crate {
    /// The short name that the drawing of the layers uses: the last part of the folder.
    pub(crate) fn name(&self) -> &str {
        short_name(&self.folder)
    }

    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// The last part of a crate's folder.
pub(crate) fn short_name(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

impl Repository {
    /// Reads the work tree: what git tracks or would track, and what cargo says about it.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let files = read_files(root, &list_files(root)?)?;
        let lockfile = files.get("Cargo.lock").map_or("", String::as_str);
        let mut built = BTreeMap::new();
        for (name, _) in ABSENT {
            // Cargo need not be asked about what is not even listed, which is the rule.
            if !lockfile.contains(&format!("name = \"{name}\"\n")) {
                continue;
            }
            let users = parse_tree(&cargo_tree(root, name)?);
            built.extend(users.map(|users| ((*name).to_owned(), users)));
        }
        let crates = parse_metadata(&cargo_metadata(root)?)?;
        Ok(Self {
            files,
            crates,
            built,
        })
    }

    /// Files whose name ends so, in order.
    pub(crate) fn files_ending<'a>(
        &'a self,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(suffix))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file, if it is there.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

fn list_files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        // A clone that belongs to another user is still only read.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot run git to list the files")?;
    if !output.status.success() {
        bail!(
            "git cannot list the files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let list = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

fn read_files(root: &Path, paths: &[String]) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for path in paths {
        let file = root.join(path);
        // Tracked but deleted, or a link to a folder: not a file of this work tree.
        if !file.is_file() {
            continue;
        }
        match fs::read(&file) {
            Ok(bytes) => {
                files.insert(path.clone(), String::from_utf8(bytes).unwrap_or_default());
            }
            // Deleted since the line above.
            Err(problem) if problem.kind() == ErrorKind::NotFound => {}
            Err(problem) => return Err(problem).with_context(|| format!("cannot read {path}")),
        }
    }
    Ok(files)
}

fn cargo_metadata(root: &Path) -> Result<Value> {
    let output = cargo_output(root, &["metadata", "--format-version", "1", "--no-deps"])?;
    serde_json::from_str(&output).context("cannot parse the output of cargo metadata")
}

/// A crate and its direct users, a line each; empty when nothing that is built needs it.
fn cargo_tree(root: &Path, name: &str) -> Result<String> {
    let scope = ["--workspace", "--all-features", "--target", "all"];
    let shape = ["--prefix", "none", "--depth", "1", "--invert", name];
    cargo_output(root, &[&["tree"], &scope[..], &shape[..]].concat())
}

fn cargo_output(root: &Path, arguments: &[&str]) -> Result<String> {
    let shown = arguments.join(" ");
    let output = crate::workspace::cargo(arguments)?
        .current_dir(root)
        .output()
        .with_context(|| format!("cannot run cargo {shown}"))?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        bail!("cargo {shown} failed: {}", problem.trim());
    }
    String::from_utf8(output.stdout).context("cargo printed something that is not UTF-8")
}

/// The users named in a tree turned upside down: the first line is the crate itself. `None` for an empty tree.
fn parse_tree(tree: &str) -> Option<Vec<String>> {
    let mut names = tree.lines().filter_map(|line| line.split(' ').next());
    names.next().filter(|name| !name.is_empty())?;
    Some(
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn parse_metadata(metadata: &Value) -> Result<Vec<Crate>> {
    let root = metadata["workspace_root"]
        .as_str()
        .context("cargo metadata names no workspace root")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    packages
        .iter()
        .map(|package| parse_package(root, package))
        .collect()
}

fn parse_package(root: &str, package: &Value) -> Result<Crate> {
    let manifest = package["manifest_path"]
        .as_str()
        .context("cargo metadata has a package without a manifest")?;
    let dependencies = package["dependencies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    Ok(Crate {
        folder: relative(
            root,
            manifest.strip_suffix("/Cargo.toml").unwrap_or(manifest),
        ),
        layer: package["metadata"]["karavel"]["layer"]
            .as_str()
            .map(str::to_owned),
        dependencies: dependencies
            .iter()
            .filter_map(|dependency| parse_dependency(root, dependency))
            .collect(),
    })
}

/// `None` for a crate from a registry.
fn parse_dependency(root: &str, dependency: &Value) -> Option<Dependency> {
    let key = dependency["rename"]
        .as_str()
        .or(dependency["name"].as_str())?;
    Some(Dependency {
        key: key.to_owned(),
        folder: relative(root, dependency["path"].as_str()?),
        kind: match dependency["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        },
    })
}

fn relative(root: &str, path: &str) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .trim_start_matches('/')
        .to_owned()
}

#[cfg(test)]
mod fixtures {
    use super::*;

    /// A repository is planted file by file and crate by crate.
    impl Repository {
        pub(crate) fn with_file(mut self, path: &str, text: &str) -> Self {
            self.files.insert(path.to_owned(), text.to_owned());
            self
        }

        pub(crate) fn with_crate(mut self, folder: &str, layer: Option<&str>) -> Self {
            self.crates.push(Crate {
                folder: folder.to_owned(),
                layer: layer.map(str::to_owned),
                dependencies: Vec::new(),
            });
            self
        }

        pub(crate) fn with_built(mut self, name: &str, users: &[&str]) -> Self {
            let users = users.iter().map(|user| (*user).to_owned()).collect();
            self.built.insert(name.to_owned(), users);
            self
        }

        /// Lets the crate planted last depend on another.
        pub(crate) fn using(mut self, folder: &str, kind: DependencyKind) -> Self {
            let last = self.crates.last_mut().expect("a crate was planted before");
            last.dependencies.push(Dependency {
                key: short_name(folder).to_owned(),
                folder: folder.to_owned(),
                kind,
            });
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_gives_folders_layers_and_arrows_between_members() {
        let metadata = json!({
            "workspace_root": "/src/product",
            "packages": [{
                "manifest_path": "/src/product/crates/model/api/Cargo.toml",
                "metadata": { "karavel": { "layer": "model" } },
                "dependencies": [
                    { "name": "serde", "kind": null },
                    { "name": "karavel-object", "rename": "object", "kind": null, "path": "/src/product/crates/model/object" },
                    { "name": "karavel-testkit", "kind": "dev", "path": "/src/product/dev/testkit" },
                ],
            }],
        });
        let crates = parse_metadata(&metadata).unwrap();
        assert_eq!(crates[0].folder, "crates/model/api");
        assert_eq!(crates[0].name(), "api");
        assert_eq!(crates[0].layer.as_deref(), Some("model"));
        let arrows: Vec<_> = crates[0]
            .dependencies
            .iter()
            .map(|arrow| (arrow.key.as_str(), arrow.folder.as_str(), arrow.kind))
            .collect();
        assert_eq!(
            arrows,
            [
                ("object", "crates/model/object", DependencyKind::Normal),
                ("karavel-testkit", "dev/testkit", DependencyKind::Dev),
            ]
        );
    }

    #[test]
    fn a_tree_names_the_users_of_what_is_built() {
        assert_eq!(parse_tree(""), None);
        assert_eq!(parse_tree("\n"), None);
        assert_eq!(
            parse_tree("ring v0.17.14\nrcgen v0.14.0\nwebpki v0.103.0 (*)\n"),
            Some(vec![String::from("rcgen"), String::from("webpki")])
        );
    }

    #[test]
    fn a_work_tree_is_read_without_ignored_and_deleted_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join(".gitignore"), "/target\n").unwrap();
        fs::create_dir_all(root.join("target")).unwrap();
        fs::write(root.join("target/built.rs"), "").unwrap();
        fs::write(root.join("kept.rs"), "//! text\n").unwrap();
        fs::write(root.join("picture.png"), [0xff, 0xd8, 0xff]).unwrap();
        fs::write(root.join("deleted.rs"), "").unwrap();
        for arguments in [&["init", "--quiet"][..], &["add", "."]] {
            let status = Command::new("git")
                .args(arguments)
                .current_dir(root)
                .status()
                .unwrap();
            assert!(status.success());
        }
        fs::remove_file(root.join("deleted.rs")).unwrap();

        let files = read_files(root, &list_files(root).unwrap()).unwrap();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(
            files,
            [
                (".gitignore", "/target\n"),
                ("kept.rs", "//! text\n"),
                ("picture.png", "")
            ]
        );
    }
}

//! Scripts of commands with what they must print, as data.
//!
//! ```text
//! # what the step shows
//! $ kubectl get deployments -o wide
//! NAME READY UP-TO-DATE AVAILABLE AGE
//! web  0/2   …
//! ! Error
//! ```
//!
//! A line that begins with `$` is run by a shell; a line after it that begins with `|` goes on with it. Other lines must
//! be printed, on either stream, in this order; spaces count as one and `…` stands for anything. A line that begins with
//! `!` must not be printed. `[1.31+]` before a line asks it only of kubectl 1.31 or later, `[-1.30]` of 1.30 and earlier.
//! `exit N` is the code expected, otherwise 0. `@file NAME` begins a file that lasts until `@end`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Commands with what they must print, and the files they read.
#[derive(Debug, Default)]
pub struct Script {
    /// Files to write before the first step, by name.
    pub files: Vec<(String, String)>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Debug, Default)]
pub struct Step {
    /// What it shows.
    pub claim: String,
    /// What the shell runs.
    pub command: String,
    /// What it must print, line by line.
    pub expected: Vec<Expected>,
    /// What it must not print.
    pub unwanted: Vec<String>,
    /// The exit code it must end with.
    pub code: i32,
}

/// A line that must be printed.
#[derive(Debug)]
pub struct Expected {
    /// From this minor version on.
    pub since: u32,
    /// Up to this minor version.
    pub until: u32,
    /// The line; `…` stands for anything.
    pub line: String,
}

/// Where and as whom a script runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The folder to run in, with the script's files.
    pub folder: PathBuf,
    /// The kubeconfig that every command finds.
    pub kubeconfig: PathBuf,
    /// Folders whose programs come first.
    pub programs: Vec<PathBuf>,
    /// The minor version of kubectl, for lines that not all versions print.
    pub minor: u32,
    /// What else commands find in their environment.
    pub variables: Vec<(String, String)>,
}

impl Script {
    /// Reads one of this crate's own scripts; at run time, so that a script can be mended without a build.
    pub fn load(name: &str) -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scripts/{name}.script"));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Understands a script.
    pub fn parse(text: &str) -> Result<Self> {
        let mut script = Self::default();
        let mut claim = String::new();
        let mut file: Option<(String, String)> = None;
        for (number, line) in text.lines().enumerate() {
            if let Some((name, mut content)) = file.take() {
                if line == "@end" {
                    script.files.push((name, content));
                } else {
                    content.push_str(line);
                    content.push('\n');
                    file = Some((name, content));
                }
                continue;
            }
            if let Some(name) = line.strip_prefix("@file ") {
                file = Some((name.to_owned(), String::new()));
            } else if let Some(text) = line.strip_prefix("# ") {
                claim = text.to_owned();
            } else if let Some(command) = line.strip_prefix("$ ") {
                script.steps.push(Step {
                    claim: claim.clone(),
                    command: command.to_owned(),
                    ..Step::default()
                });
            } else if !line.trim().is_empty() {
                let Some(step) = script.steps.last_mut() else {
                    bail!(
                        "line {}: nothing was run yet that could print this",
                        number + 1
                    );
                };
                step.take_line(line)
                    .with_context(|| format!("line {}", number + 1))?;
            }
        }
        Ok(script)
    }

    /// Runs the steps and tells what went differently, one text for each step that did.
    pub fn run(&self, setting: &Setting) -> Result<Vec<String>> {
        for (name, content) in &self.files {
            fs::write(setting.folder.join(name), content)
                .with_context(|| format!("cannot write {name}"))?;
        }
        let mut problems = Vec::new();
        for step in &self.steps {
            if let Some(problem) = step.run(setting)? {
                problems.push(problem);
            }
        }
        Ok(problems)
    }
}

impl Step {
    fn take_line(&mut self, line: &str) -> Result<()> {
        if let Some(more) = line.strip_prefix("| ") {
            self.command.push('\n');
            self.command.push_str(more);
        } else if let Some(unwanted) = line.strip_prefix("! ") {
            self.unwanted.push(unwanted.to_owned());
        } else if let Some(code) = line.strip_prefix("exit ") {
            self.code = code.trim().parse().context("not an exit code")?;
        } else {
            self.expected.push(Expected::parse(line)?);
        }
        Ok(())
    }

    fn run(&self, setting: &Setting) -> Result<Option<String>> {
        let inherited = std::env::var("PATH").unwrap_or_default();
        let mut path: String = String::new();
        for folder in &setting.programs {
            write!(path, "{}:", folder.display())?;
        }
        path.push_str(&inherited);
        let output = Command::new("timeout")
            .args(["60", "sh", "-c", &format!("exec 2>&1\n{}", self.command)])
            .current_dir(&setting.folder)
            .env("PATH", path)
            .env("KUBECONFIG", &setting.kubeconfig)
            .env("HOME", &setting.folder)
            .envs(setting.variables.iter().cloned())
            .output()
            .context("cannot run a shell")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Ok(self.judge(&printed, code, setting.minor).map(|problem| {
            format!(
                "{}\n$ {}\n{problem}\nprinted:\n{}",
                self.claim,
                self.command,
                indent(&printed)
            )
        }))
    }

    /// What is wrong with what was printed.
    pub fn judge(&self, printed: &str, code: i32, minor: u32) -> Option<String> {
        let lines: Vec<String> = printed.lines().map(squeeze).collect();
        let mut rest = lines.as_slice();
        for expected in self
            .expected
            .iter()
            .filter(|expected| expected.asked_of(minor))
        {
            let found = rest.iter().position(|line| matches(&expected.line, line));
            let Some(position) = found else {
                return Some(format!("expected: {}", expected.line));
            };
            rest = rest.get(position + 1..).unwrap_or_default();
        }
        if let Some(unwanted) = self.unwanted.iter().find(|text| printed.contains(*text)) {
            return Some(format!("must not print: {unwanted}"));
        }
        (code != self.code).then(|| format!("exit code {code} instead of {}", self.code))
    }
}

impl Expected {
    fn parse(line: &str) -> Result<Self> {
        let all = |line: &str| Self {
            since: 0,
            until: u32::MAX,
            line: squeeze(line),
        };
        let Some((versions, rest)) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        else {
            return Ok(all(line));
        };
        if let Some(minor) = versions
            .strip_suffix('+')
            .and_then(|text| text.strip_prefix("1."))
        {
            return Ok(Self {
                since: minor.parse().context("not a minor version")?,
                ..all(rest)
            });
        }
        if let Some(minor) = versions.strip_prefix("-1.") {
            return Ok(Self {
                until: minor.parse().context("not a minor version")?,
                ..all(rest)
            });
        }
        Ok(all(line))
    }

    fn asked_of(&self, minor: u32) -> bool {
        (self.since..=self.until).contains(&minor)
    }
}

/// Whether a line is as a pattern says; `…` stands for anything, and each other part must come in its place.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(position) => rest = rest.get(position + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    // Without a wildcard nothing may be left; with one at the end anything may, else the line must end like the pattern.
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || line.ends_with(part),
    }
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indent(text: &str) -> String {
    text.lines()
        .take(60)
        .map(|line| format!("    {line}\n"))
        .collect()
}

/// A folder beside others, made for one run of a script.
pub fn make_folder(parent: &Path, name: &str) -> Result<PathBuf> {
    let folder = parent.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_by_shape() {
        for (pattern, line, same) in [
            ("web 0/2 …", "web 0/2 0 0 3s", true),
            ("web 0/2", "web 0/2 0", false),
            ("…created", "namespace/a created", true),
            ("…created", "namespace/a created late", false),
            ("a … c", "a b c", true),
            ("a … c", "a c", false),
            ("…b…", "abc", true),
        ] {
            assert_eq!(matches(pattern, line), same, "{pattern} | {line}");
        }
    }

    #[test]
    fn a_script_holds_files_steps_and_what_they_print() {
        let script = Script::parse(
            "@file a.yaml\nkind: A\n@end\n# it works\n$ one\n| two\n[1.31+] new\n[-1.30] old\nboth …\n! Error\nexit 3\n",
        )
        .unwrap();
        assert_eq!(
            script.files,
            [("a.yaml".to_owned(), "kind: A\n".to_owned())]
        );
        let step = &script.steps[0];
        assert_eq!((step.command.as_str(), step.code), ("one\ntwo", 3));
        assert_eq!(step.judge("new\nboth x\n", 3, 31), None);
        assert_eq!(step.judge("old\nboth   x\n", 3, 30), None);
        for (printed, code, problem) in [
            ("both x\n", 3, "expected: new"),
            ("new\nboth x\nError\n", 3, "must not print: Error"),
            ("new\nboth x\n", 0, "exit code 0 instead of 3"),
        ] {
            assert_eq!(step.judge(printed, code, 31).as_deref(), Some(problem));
        }
        assert!(Script::parse("stray\n").is_err());
    }
}

//! A chart of our own with every sort of thing in it, through its whole life.

use anyhow::Result;

use crate::script::{Script, Setting};

/// Runs the script for helm; what went differently.
pub(crate) fn run(setting: &Setting) -> Result<(usize, Vec<String>)> {
    for folder in ["chart/templates", "chart/crds"] {
        std::fs::create_dir_all(setting.folder.join(folder))?;
    }
    let script = Script::load("helm")?;
    Ok((script.steps.len(), script.run(setting)?))
}
